#pragma once
// A program as rewrite leaves it: text for the compiler, and how its parameters and results relate to the region.

#include <cstdint>
#include <string>
#include <vector>

#include "base/target.h"
#include "graph/region.h"

namespace tp {

// A number that travels at run time: where it lies in the packed s32 words, and as what.
struct PackedNumber {
  int32_t slot;  // index in Region::numbers
  int32_t word;
  Dtype dtype;  // of the constant; s64 for starts
};

struct Program {
  std::string text;
  int num_leaves = 0;  // parameters 0 … num_leaves-1 are the region's leaves
  int num_words = 0;   // > 0: one more parameter, s32[num_words]
  std::vector<PackedNumber> packing;
  std::vector<int32_t> results;  // by output: index in Region::order
  std::vector<int64_t> donated;  // parameters whose bytes become an output's
};

struct RewriteInput {
  const Region& region;
  const std::vector<uint8_t>& wanted;    // by order: it must be a result
  const std::vector<uint8_t>& promoted;  // by number slot: it travels at run time
  const Target& target;
};

// The program of a region. Only our own mistakes make it fail.
Result<Program> rewrite(const RewriteInput& input);

// Writes the region's numbers as the program's words.
std::vector<int32_t> pack_numbers(const Program& program, const Region& region);

}  // namespace tp
