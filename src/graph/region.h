#pragma once
// What one execution computes: everything pending that some roots need, and its structural key.
// All of this runs under the graph's lock (exec/runner.h): nodes carry the traversal's marks.

#include <cstdint>
#include <span>
#include <vector>

#include "base/digest.h"
#include "stablehlo/node.h"

namespace tp {

// A host number inside a region: a constant's value, or a start of a slice or of an update. Programs are keyed with
// the numbers left out; one that changes becomes a runtime scalar.
struct NumberSlot {
  int32_t node;   // index in Region::order
  int32_t which;  // for a slice or an update: the dimension
  int64_t bits;   // the integer, or the double's bits
};

struct Region {
  std::vector<Node*> order;        // topological; node->index is the position here
  std::vector<Node*> leaves;       // in order of first use; node->index is the position here
  std::vector<uint8_t> held;       // by order: somebody outside the region holds the node, so it must become a leaf
  std::vector<uint8_t> leaf_held;  // by leaf: the same; such a leaf cannot be donated
  std::vector<NumberSlot> numbers;
  Digest structure;
};

// Collects what `roots` need. `live` are nodes that storages hold: those among them that are other results of an
// operation in the region join it.
Region collect(std::span<Node* const> roots, std::span<Node* const> live);

// True for nodes that cost nothing to make again (constants, iota, moved leaves): held ones may stay pending.
bool is_cheap(const Node& node);

}  // namespace tp
