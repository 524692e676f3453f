#pragma once
// A 128-bit structural hash. Two different structures that share one would run the wrong program, so 64 bits
// are not enough; not meant to resist an attacker.

#include <cstdint>
#include <string>
#include <string_view>

namespace tp {

struct Digest {
  uint64_t high = 0, low = 0;
  friend bool operator==(const Digest&, const Digest&) = default;
  std::string hex() const;
};

struct DigestHash {
  size_t operator()(const Digest& d) const { return d.low; }
};

class Hasher {
 public:
  void add(uint64_t v) {
    a_ = mix(a_ ^ v, 0x9e3779b97f4a7c15ull);
    b_ = mix(b_ + v, 0xc2b2ae3d27d4eb4full) ^ a_;
  }
  void add(std::string_view text);
  Digest digest() const { return {mix(a_, 0x165667b19e3779f9ull), mix(b_, 0x85ebca77c2b2ae63ull)}; }

 private:
  static uint64_t mix(uint64_t x, uint64_t k) {
    __uint128_t wide = static_cast<__uint128_t>(x ^ (x >> 29)) * (k | 1);
    return static_cast<uint64_t>(wide) ^ static_cast<uint64_t>(wide >> 64) ^ (x << 7);
  }
  uint64_t a_ = 0x243f6a8885a308d3ull, b_ = 0x13198a2e03707344ull;
};

Digest digest_of(std::string_view bytes);

}  // namespace tp
