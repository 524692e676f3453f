#include "graph/region.h"

#include <bit>

namespace tp {
namespace {

uint64_t g_mark = 0;  // under the graph's lock

bool is_movement(Op op) {
  return op == Op::reshape || op == Op::transpose || op == Op::broadcast_in_dim || op == Op::slice;
}

bool has_unit_strides(const Node& node) {
  size_t rank = node.ints.size() / 3;
  for (size_t i = 0; i < rank; ++i) {
    if (node.ints[2 * rank + i] != 1) return false;
  }
  return true;
}

class Collector {
 public:
  explicit Collector(Region& region) : region_(region), mark_(++g_mark) {}

  void visit(Node* root) {
    if (!enter(root)) return;
    while (!stack_.empty()) {
      auto& [node, next] = stack_.back();
      if (next < node->inputs.size()) {
        Node* input = node->inputs[next++].get();
        enter(input);
        ++input->uses;
        continue;
      }
      finish(node);
      stack_.pop_back();
    }
  }

  bool seen(const Node* node) const { return node->mark == mark_; }

  void close() {
    for (Node* node : region_.order) region_.held.push_back(is_held(node));
    for (Node* leaf : region_.leaves) region_.leaf_held.push_back(is_held(leaf));
    region_.structure = hasher_.digest();
  }

 private:
  static bool is_held(const Node* node) {
    return node->refs.load(std::memory_order_relaxed) > static_cast<uint32_t>(node->uses);
  }

  bool enter(Node* node) {
    if (node->mark == mark_) return false;
    node->mark = mark_;
    node->uses = 0;
    if (node->op != Op::leaf) {
      stack_.push_back({node, 0});
      return true;
    }
    node->index = static_cast<int32_t>(region_.leaves.size());
    region_.leaves.push_back(node);
    hasher_.add(0xf00 + static_cast<uint64_t>(node->type.dtype));
    add_dims(node->type.dims);
    return false;
  }

  void add_dims(const Dims& dims) {
    hasher_.add(dims.size() << 1 | 1);
    for (int64_t d : dims) hasher_.add(static_cast<uint64_t>(d));
  }

  void finish(Node* node) {
    int32_t index = static_cast<int32_t>(region_.order.size());
    node->index = index;
    region_.order.push_back(node);
    hasher_.add(static_cast<uint64_t>(node->op) | static_cast<uint64_t>(node->kind) << 8 |
                static_cast<uint64_t>(node->type.dtype) << 16 | static_cast<uint64_t>(node->runtime_number) << 24 |
                static_cast<uint64_t>(node->device) << 32 | static_cast<uint64_t>(node->inputs.size()) << 40);
    add_dims(node->type.dims);
    for (const Value& input : node->inputs) {
      hasher_.add(static_cast<uint64_t>(input->index) << 1 | (input->op == Op::leaf));
    }
    add_attributes(node, index);
  }

  void add_attributes(Node* node, int32_t index) {
    switch (node->op) {
      case Op::constant: return add_constant(node, index);
      case Op::slice:
        if (!has_unit_strides(*node)) break;
        hasher_.add(0x511ce);
        for (size_t i = 0; i < node->ints.size() / 3; ++i) add_start(node, index, i);
        return;
      case Op::dynamic_update_slice:
        for (size_t i = 0; i < node->ints.size(); ++i) add_start(node, index, i);
        return;
      default: break;
    }
    if (!node->ints.empty()) add_dims(node->ints);
    if (node->op != Op::composite && node->op != Op::custom_call) return;
    hasher_.add(node->text);
    hasher_.add(static_cast<uint64_t>(std::bit_cast<int64_t>(node->number.real())));
    for (const Type& type : node->more_types) {
      hasher_.add(static_cast<uint64_t>(type.dtype));
      add_dims(type.dims);
    }
  }

  // A start in a dimension that is taken whole is 0 and never a number.
  void add_start(Node* node, int32_t index, size_t dim) {
    const Node& part = node->op == Op::slice ? *node : *node->inputs[1].get();
    if (part.type.dims[dim] == node->inputs[0].dims()[dim]) return;
    region_.numbers.push_back({index, static_cast<int32_t>(dim), node->ints[dim]});
  }

  void add_constant(Node* node, int32_t index) {
    const Scalar& n = node->number;
    if (is_complex(node->type.dtype) || node->type.dtype == Dtype::pred) {
      hasher_.add(static_cast<uint64_t>(std::bit_cast<int64_t>(n.real())));
      hasher_.add(static_cast<uint64_t>(std::bit_cast<int64_t>(n.imag())));
      return;
    }
    bool integer = is_integral(node->type.dtype);
    region_.numbers.push_back({index, 0, integer ? n.integer() : std::bit_cast<int64_t>(n.real())});
  }

  Region& region_;
  Hasher hasher_;
  uint64_t mark_;
  std::vector<std::pair<Node*, size_t>> stack_;
};

}  // namespace

bool is_cheap(const Node& node) {
  const Node* at = &node;
  while (is_movement(at->op)) at = at->inputs[0].get();
  return at->op == Op::leaf || at->op == Op::constant || at->op == Op::iota;
}

Region collect(std::span<Node* const> roots, std::span<Node* const> live) {
  Region region;
  Collector collector(region);
  for (Node* root : roots) {
    if (root->op != Op::leaf) collector.visit(root);
  }
  for (Node* node : live) {
    if (node->op == Op::project && !collector.seen(node) && collector.seen(node->inputs[0].get())) {
      collector.visit(node);
    }
  }
  collector.close();
  return region;
}

}  // namespace tp
