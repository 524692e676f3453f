#pragma once
// Big pieces that lowering kept whole, and the form each takes on a target.

#include "base/target.h"
#include "stablehlo/build.h"

namespace tp {

// The results of a composite node, in StableHLO operations.
using Expand = Values (*)(Build&, const Node& node, const Target& target);

// Null when no rewrite knows the name.
Expand find_composite(const std::string& name);

}  // namespace tp
