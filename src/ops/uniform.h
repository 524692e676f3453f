#pragma once
// Floating random numbers, from bits (random.cc).

#include "ops/op.h"

namespace tp {

// In [0, 1), with as many bits as `dtype` has mantissa (so that narrowing never gives 1); computed in accumulate_type.
Value uniform_bits(Build& b, const Dims& dims, Dtype dtype);
// In (0, 1): both ends excluded, so that a logarithm of either side is finite.
Value open_uniform(Build& b, const Dims& dims, Dtype dtype);
// Mean 0, deviation 1; in accumulate_type.
Value standard_normal(Build& b, const Dims& dims, Dtype dtype);

}  // namespace tp
