#pragma once
// Writes a program as StableHLO text, within the features of StableHLO 1.20. Equal programs give equal bytes: the
// text is a cache key. Reads the nodes only; the caller keeps them alive and unchanged meanwhile.

#include <string>
#include <utility>
#include <vector>

#include "stablehlo/node.h"

namespace tp {

struct Parameter {
  Type type;
  int alias_output = -1;      // donated to this result (tf.aliasing_output)
  bool donor = false;         // donated to whichever result fits (jax.buffer_donor)
  std::string sharding = {};  // "#sdy.sharding<…>", else the text of an mhlo.sharding; empty is "none"
};

struct Module {
  std::string name = "main";
  // Operands first; every node of the program that is no parameter. No composite is left.
  std::vector<const Node*> order;
  // A leaf, or a constant that is a runtime scalar, and its parameter's index. A 0-d parameter is spread to the
  // node's sizes.
  std::vector<std::pair<const Node*, int>> parameters_of;
  std::vector<Parameter> parameters;
  std::vector<const Node*> results;
  // The target's maximum and minimum keep NaN. Those of XLA on the CPU don't: 2025-11 drops it between two elements,
  // 2026-06 and later in reductions; so floating ones are written as comparisons, which reduce faster there, too.
  bool native_extremes = false;
};

std::string print_module(const Module& module);

}  // namespace tp
