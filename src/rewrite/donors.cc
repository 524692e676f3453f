#include "rewrite/donors.h"

namespace tp {
namespace {

// Looks no further back than this along one result's history.
constexpr int kMaxSteps = 48;

struct Found {
  int leaf = -1;
  bool partial = false;  // the last step before the leaf replaced only a part of it
};

bool replaces_part(Op op) { return op == Op::dynamic_update_slice || op == Op::scatter; }

// Follows operands of the result's own type back to a leaf.
Found find_leaf(const Node* node, const Type& type, bool partial, int& steps) {
  if (++steps > kMaxSteps) return {};
  for (const Value& input : node->inputs) {
    if (!(input.type() == type)) continue;
    bool part = partial || replaces_part(node->op);
    if (input->op == Op::leaf) return {input->index, part};
    Found found = find_leaf(input.get(), type, part, steps);
    if (found.leaf >= 0) return found;
    if (replaces_part(node->op)) break;  // only the first operand is being updated
  }
  return {};
}

}  // namespace

std::vector<int> choose_donors(const Region& region, const std::vector<int32_t>& results) {
  std::vector<int> donors(region.leaves.size(), -1);
  for (size_t r = 0; r < results.size(); ++r) {
    const Node* node = region.order[results[r]];
    if (node->type.bytes() == 0) continue;
    int steps = 0;
    Found found = find_leaf(node, node->type, false, steps);
    if (found.leaf < 0 || donors[found.leaf] >= 0) continue;
    if (!found.partial && region.leaf_held[found.leaf]) continue;
    donors[found.leaf] = static_cast<int>(r);
  }
  return donors;
}

}  // namespace tp
