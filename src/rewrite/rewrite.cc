// The pass over a region: numbers that travel become slices of the packed words, composites and products take the
// target's form, everything else is kept. Then the result is put in order and printed.

#include <bit>
#include <cmath>
#include <cstring>
#include <unordered_map>

#include "rewrite/composites.h"
#include "rewrite/donors.h"
#include "rewrite/products.h"
#include "rewrite/program.h"
#include "stablehlo/print.h"

namespace tp {
namespace {

int words_of(Dtype dtype) { return dtype_size(dtype) > 4 ? 2 : 1; }

class Rewriter {
 public:
  explicit Rewriter(const RewriteInput& input) : in_(input), replaced_(input.region.order.size()) {}

  Result<Program> run() {
    program_.num_leaves = static_cast<int>(in_.region.leaves.size());
    place_numbers();
    for (size_t i = 0; i < in_.region.order.size(); ++i) {
      TP_TRY(Done unused, step(i));
      (void)unused;
    }
    for (size_t i = 0; i < in_.region.order.size(); ++i) {
      if (in_.wanted[i]) program_.results.push_back(static_cast<int32_t>(i));
    }
    print();
    return std::move(program_);
  }

 private:
  // Gives every promoted number its words.
  void place_numbers() {
    const Region& region = in_.region;
    for (size_t s = 0; s < region.numbers.size(); ++s) {
      if (!in_.promoted[s]) continue;
      const NumberSlot& slot = region.numbers[s];
      const Node& node = *region.order[slot.node];
      Dtype dtype = node.op == Op::constant ? node.type.dtype : Dtype::s64;
      word_of_[{slot.node, slot.which}] = program_.num_words;
      program_.packing.push_back({static_cast<int32_t>(s), program_.num_words, dtype});
      program_.num_words += words_of(dtype);
    }
    if (program_.num_words) words_ = new_leaf(Type{Dtype::s32, Dims{program_.num_words}}, nullptr);
  }

  // The run-time form of a number, 0-d; empty when it is constant.
  Value number(int32_t node, int32_t which, Dtype dtype) {
    auto it = word_of_.find({node, which});
    if (it == word_of_.end()) return Value();
    int64_t at = it->second, count = words_of(dtype);
    Value word = b_.slice_dim(words_, 0, at, at + count);
    if (dtype == Dtype::f64) return b_.bitcast(word, Dtype::f64, {});
    if (count == 2) {
      // high << 32 | low, since not every plugin can bitcast to 64 bits.
      Value low = b_.convert(b_.bitcast(b_.reshape(b_.slice_dim(word, 0, 0, 1), {}), Dtype::u32, {}), Dtype::u64);
      Value high = b_.convert(b_.bitcast(b_.reshape(b_.slice_dim(word, 0, 1, 2), {}), Dtype::u32, {}), Dtype::u64);
      Value both = b_.or_(b_.binary(Op::shift_left, high, b_.constant_int(Dtype::u64, 32)), low);
      return dtype == Dtype::s64 ? b_.bitcast(both, Dtype::s64, {}) : both;
    }
    Value scalar = b_.reshape(word, {});
    if (is_floating(dtype)) return b_.convert(b_.bitcast(scalar, Dtype::f32, {}), dtype);
    return b_.convert(scalar, dtype);
  }

  Value now(const Value& old) {
    if (old->op == Op::leaf) return old;
    const Value& fresh = replaced_[old->index];
    return fresh ? fresh : old;
  }

  bool inputs_changed(const Node& node) {
    for (const Value& input : node.inputs) {
      if (input->op != Op::leaf && replaced_[input->index]) return true;
    }
    return false;
  }

  // The node itself, or a copy of it over the rewritten inputs.
  Value copied(Node* node) {
    if (!inputs_changed(*node)) return Value(node);
    Values inputs;
    for (const Value& input : node->inputs) inputs.push_back(now(input));
    Value copy = new_node(node->op, node->type, Inputs(std::move(inputs)));
    copy->kind = node->kind;
    copy->ints = node->ints;
    copy->number = node->number;
    copy->text = node->text;
    copy->more_types = node->more_types;
    copy->aten = node->aten;
    copy->loc = node->loc;
    return copy;
  }

  Status step(size_t i) {
    Node* node = in_.region.order[i];
    if (node->op == Op::project && !expanded_.empty()) {
      auto it = expanded_.find(node->inputs[0].get());
      if (it != expanded_.end()) {
        replaced_[i] = it->second[node->ints[0]];
        return done();
      }
    }
    Value fresh = copied(node);
    if (node->op == Op::constant) {
      Value scalar = number(static_cast<int32_t>(i), 0, node->type.dtype);
      if (scalar) fresh = b_.broadcast_in_dim(scalar, node->type.dims, {});
    } else if (node->op == Op::slice || (node->op == Op::dynamic_update_slice && node->kind == 1)) {
      fresh = with_starts(fresh, static_cast<int32_t>(i));
    } else if (node->op == Op::composite) {
      Expand expand = find_composite(node->text);
      if (!expand) return make_error(Code::internal, "no rewrite knows the composite " + node->text);
      Values results = expand(b_, *fresh.get(), in_.target);
      if (b_.ok() && results.size() == 1) fresh = results[0];
      expanded_[node] = std::move(results);
    } else if (node->op == Op::dot_general || node->op == Op::convolution) {
      Value better = rewrite_product(b_, *fresh.get(), in_.target);
      if (better) fresh = better;
    }
    if (!b_.ok()) return b_.take_error();
    if (fresh.get() != node) replaced_[i] = std::move(fresh);
    return done();
  }

  // A slice or update with a start that travels takes the dynamic form.
  Value with_starts(const Value& node, int32_t index) {
    bool update = node->op == Op::dynamic_update_slice;
    const Value& x = node->inputs[0];
    Values starts;
    bool any = false;
    for (int d = 0; d < x.rank(); ++d) {
      Value start = number(index, d, Dtype::s64);
      any = any || start;
      starts.push_back(start ? start : b_.constant_int(Dtype::s64, node->ints[d]));
    }
    if (!any) return node;
    return update ? b_.dynamic_update_slice(x, node->inputs[1], starts) : b_.dynamic_slice(x, starts, node.dims());
  }

  void print() {
    Module module;
    module.native_extremes = in_.target.platform != "cpu";  // the CPU plugins' own lose NaN
    for (Node* leaf : in_.region.leaves) add_parameter(module, leaf);
    if (words_) add_parameter(module, words_.get());
    for (int32_t r : program_.results) {
      const Value& fresh = replaced_[r];
      module.results.push_back(fresh ? fresh.get() : in_.region.order[r]);
    }
    std::vector<int> donors = choose_donors(in_.region, program_.results);
    for (size_t i = 0; i < donors.size(); ++i) {
      module.parameters[i].alias_output = donors[i];
      if (donors[i] >= 0) program_.donated.push_back(static_cast<int64_t>(i));
    }
    put_in_order(module);
    program_.text = print_module(module);
  }

  static void add_parameter(Module& module, const Node* leaf) {
    module.parameters_of.push_back({leaf, static_cast<int>(module.parameters.size())});
    Parameter parameter;
    parameter.type = leaf->type;
    module.parameters.push_back(parameter);
  }

  static void put_in_order(Module& module) {
    std::unordered_map<const Node*, bool> seen;
    std::vector<std::pair<const Node*, size_t>> stack;
    auto enter = [&](const Node* node) {
      if (node->op != Op::leaf && seen.emplace(node, true).second) stack.push_back({node, 0});
    };
    for (const Node* result : module.results) {
      enter(result);
      while (!stack.empty()) {
        auto& [node, next] = stack.back();
        if (next < node->inputs.size()) {
          enter(node->inputs[next++].get());
          continue;
        }
        module.order.push_back(node);
        stack.pop_back();
      }
    }
  }

  struct SlotHash {
    size_t operator()(const std::pair<int32_t, int32_t>& p) const {
      return static_cast<size_t>(p.first) * 67 + p.second;
    }
  };

  const RewriteInput& in_;
  Build b_;
  Program program_;
  Values replaced_;  // by order; empty when the node stays
  std::unordered_map<const Node*, Values> expanded_;
  std::unordered_map<std::pair<int32_t, int32_t>, int, SlotHash> word_of_;
  Value words_;
};

}  // namespace

Result<Program> rewrite(const RewriteInput& input) { return Rewriter(input).run(); }

std::vector<int32_t> pack_numbers(const Program& program, const Region& region) {
  std::vector<int32_t> words(program.num_words);
  for (const PackedNumber& p : program.packing) {
    int64_t bits = region.numbers[p.slot].bits;
    if (words_of(p.dtype) == 2) {
      std::memcpy(&words[p.word], &bits, sizeof(bits));
    } else if (is_floating(p.dtype)) {
      words[p.word] = std::bit_cast<int32_t>(static_cast<float>(std::bit_cast<double>(bits)));
    } else {
      words[p.word] = static_cast<int32_t>(bits);
    }
  }
  return words;
}

}  // namespace tp
