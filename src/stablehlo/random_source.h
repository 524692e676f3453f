#pragma once

#include <cstdint>

namespace tp {

// Gives random ops their place in the stream of a generator (torch_bridge implements it on torch's Generator).
class RandomSource {
 public:
  virtual ~RandomSource() = default;
  struct Position {
    uint64_t seed, offset;
  };
  // Reserves `count` 128-bit Philox blocks and returns where they start.
  virtual Position reserve(uint64_t count) = 0;
};

}  // namespace tp
