// Programs over placeholders: what torch.compile and export keep.

#include <algorithm>
#include <cstring>
#include <unordered_map>

#include "exec/runner.h"

namespace tp {
namespace {

// Where the words of the random numbers lie: a Philox composite takes the seed, then the offset.
std::vector<CapturedProgram::Random> find_random(const Program& program, const Region& region, uint64_t offset) {
  std::unordered_map<const Node*, bool> is_offset;
  for (const Node* node : region.order) {
    if (node->op != Op::composite || node->text != "philox_bits") continue;
    is_offset[node->inputs[0].get()] = false;
    is_offset[node->inputs[1].get()] = true;
  }
  std::vector<CapturedProgram::Random> found;
  for (size_t p = 0; p < program.packing.size(); ++p) {
    const NumberSlot& slot = region.numbers[program.packing[p].slot];
    auto it = is_offset.find(region.order[slot.node]);
    if (it == is_offset.end()) continue;
    found.push_back({p, it->second, it->second ? static_cast<uint64_t>(slot.bits) - offset : 0});
  }
  return found;
}

int position_of(std::span<const Value> values, const Node* node) {
  for (size_t i = 0; i < values.size(); ++i) {
    if (values[i].get() == node) return static_cast<int>(i);
  }
  return -1;
}

}  // namespace

Result<std::unique_ptr<CapturedProgram>> Runner::capture(std::span<const Value> placeholders,
                                                         std::span<const uint8_t> updated,
                                                         std::span<const Value> outputs, uint64_t offset,
                                                         uint64_t blocks) {
  std::lock_guard<std::recursive_mutex> lock(mutex_);
  auto captured = std::make_unique<CapturedProgram>();
  std::vector<Node*> roots;
  for (const Value& output : outputs) roots.push_back(output.get());
  int device = placeholders.empty() ? 0 : placeholders[0]->device;
  Region region = collect(roots, {});
  std::vector<uint8_t> wanted(region.order.size(), 0), promoted(region.numbers.size(), 0);
  for (Node* root : roots) {
    if (root->op != Op::leaf) wanted[root->index] = 1;
  }
  for (size_t s = 0; s < promoted.size(); ++s) promoted[s] = region.order[region.numbers[s].node]->runtime_number;
  captured->updated.assign(updated.begin(), updated.end());
  for (size_t i = 0; i < region.leaves.size(); ++i) {
    int placeholder = position_of(placeholders, region.leaves[i]);
    region.leaf_held[i] = placeholder < 0 || !updated[placeholder];
  }
  if (!region.order.empty()) {
    TP_TRY(Program program, rewrite({region, wanted, promoted, target_}));
    captured->words = pack_numbers(program, region);
    captured->random = find_random(program, region, offset);
    TP_TRY(captured->loaded, load(std::move(program), region, device));
  }
  captured->random_blocks = blocks;
  std::unordered_map<const Node*, int> placeholder_of, result_of;
  for (size_t i = 0; i < placeholders.size(); ++i) placeholder_of[placeholders[i].get()] = static_cast<int>(i);
  for (Node* leaf : region.leaves) {
    auto it = placeholder_of.find(leaf);
    captured->argument_of.push_back(it == placeholder_of.end() ? -1 : it->second);
    captured->constants.push_back(it == placeholder_of.end() ? Value(leaf) : Value());
  }
  if (captured->loaded) {
    const std::vector<int32_t>& results = captured->loaded->program.results;
    for (size_t k = 0; k < results.size(); ++k) result_of[region.order[results[k]]] = static_cast<int>(k);
  }
  for (const Value& output : outputs) {
    captured->types.push_back(output.type());
    bool leaf = output->op == Op::leaf;
    int placeholder = leaf ? position_of(placeholders, output.get()) : -1;
    captured->output_of.push_back(leaf ? -1 - std::max(placeholder, 0) : result_of[output.get()]);
    captured->fixed.push_back(leaf && placeholder < 0 ? output : Value());
  }
  return captured;
}

Result<Values> Runner::run_captured(CapturedProgram& captured, std::span<const Value> arguments, uint64_t seed,
                                    uint64_t offset, int device) {
  std::lock_guard<std::recursive_mutex> lock(mutex_);
  std::vector<Buffer> outputs;
  if (captured.loaded) {
    std::vector<PJRT_Buffer*> buffers;
    std::vector<int64_t> withheld;
    for (size_t p = 0; p < captured.argument_of.size(); ++p) {
      const Value& leaf = captured.argument_of[p] >= 0 ? arguments[captured.argument_of[p]] : captured.constants[p];
      DeviceBuffer* held = device_buffer(*leaf.get());
      if (!held) return make_error(Code::failed_precondition, "a captured graph was called inside of another");
      buffers.push_back(held->buffer().get());
      // The caller's storage and its argument list are the two references that go when the storage is rebound.
      bool shared = captured.argument_of[p] < 0 || !captured.updated[captured.argument_of[p]] ||
                    leaf->refs.load() > 2 || leaf->resident.use_count() > 1;
      if (shared) withheld.push_back(static_cast<int64_t>(p));
    }
    for (const CapturedProgram::Random& random : captured.random) {
      uint64_t v = random.is_offset ? offset + random.delta : seed;
      std::memcpy(&captured.words[captured.loaded->program.packing[random.packing].word], &v, sizeof(v));
    }
    TP_TRY(outputs, launch(*captured.loaded, std::move(buffers), captured.words, withheld, device));
    for (int64_t p : captured.loaded->program.donated) {
      bool kept = std::find(withheld.begin(), withheld.end(), p) != withheld.end();
      if (!kept) device_buffer(*arguments[captured.argument_of[p]].get())->give_away();
    }
  }
  // Two asked outputs may be one result; they share its leaf.
  Values leaves(outputs.size()), results;
  for (size_t i = 0; i < captured.output_of.size(); ++i) {
    int k = captured.output_of[i];
    if (captured.fixed[i]) {
      results.push_back(captured.fixed[i]);
    } else if (k < 0) {
      results.push_back(arguments[-1 - k]);
    } else {
      if (!leaves[k])
        leaves[k] = new_leaf(captured.types[i], adopt(std::move(outputs[k]), captured.types[i], device), device);
      results.push_back(leaves[k]);
    }
  }
  return results;
}

}  // namespace tp
