#pragma once
// A graph as text for people: one line a node, in the order of evaluation. Golden tests compare it; it is not
// StableHLO.

#include <string>

#include "stablehlo/node.h"

namespace tp {

// "%1 = convert %0 : f32[2,3]". `arguments` are numbered first, then other leaves and nodes as they are met. A constant
// stands where it is used, as its number; a Combine's identity is left out. With `origins` a line ends with the op that
// the user called and where: "# aten::silu model.py:88 in forward".
std::string dump(const Values& results, const Values& arguments = {}, bool origins = false);

}  // namespace tp
