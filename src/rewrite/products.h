#pragma once
// How a product is emitted on a plugin: the one place that knows.

#include "base/target.h"
#include "stablehlo/build.h"

namespace tp {

// The form of a dot_general or convolution for the target; empty when it stays as it is.
Value rewrite_product(Build& b, const Node& node, const Target& target);

}  // namespace tp
