#pragma once
// Philox 4x32-10 as integer operations, so that a seed means the same numbers on every plugin.

#include "base/target.h"
#include "stablehlo/build.h"

namespace tp {

// "philox_bits": inputs seed u64, offset u64; result u32 or u64. The word of flat index i is word i % 4 of the block
// with counter offset + i / 4 and key seed; a u64 takes two words, the low one first.
Values expand_philox_bits(Build& b, const Node& node, const Target& target);

}  // namespace tp
