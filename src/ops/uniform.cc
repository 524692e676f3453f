#include "ops/uniform.h"

#include <cmath>
#include <numbers>

namespace tp {
namespace {

int mantissa_bits(Dtype dtype) {
  switch (dtype) {
    case Dtype::f64: return 53;
    case Dtype::f32: return 24;
    case Dtype::f16: return 11;
    case Dtype::bf16: return 8;
    default: return 3;
  }
}

double power_of_two(int exponent) { return std::ldexp(1.0, exponent); }

// The top `bits` of each word, as an integer in `wide`.
Value top_bits(Build& b, const Value& words, Dtype wide, int bits) {
  if (!b.ok() || !words) return Value();
  Value shift = b.constant_int(words.dtype(), 8 * dtype_size(words.dtype()) - bits);
  return b.convert(b.binary(Op::shift_right_logical, words, shift), wide);
}

// In [0, 1).
Value fraction(Build& b, const Value& words, Dtype wide, int bits) {
  return b.mul(top_bits(b, words, wide, bits), power_of_two(-bits));
}

Value words_for(Build& b, const Dims& dims, Dtype wide) {
  return b.random_bits(dims, wide == Dtype::f64 ? Dtype::u64 : Dtype::u32);
}

}  // namespace

Value uniform_bits(Build& b, const Dims& dims, Dtype dtype) {
  Dtype wide = accumulate_type(dtype);
  return fraction(b, words_for(b, dims, wide), wide, mantissa_bits(dtype));
}

Value open_uniform(Build& b, const Dims& dims, Dtype dtype) {
  Dtype wide = accumulate_type(dtype);
  int bits = mantissa_bits(wide) - 1;
  return b.mul(b.add(top_bits(b, words_for(b, dims, wide), wide, bits), 0.5), power_of_two(-bits));
}

// Box-Muller's cosine half. Each element has its own pair of uniforms, so that no element depends on another's place.
Value standard_normal(Build& b, const Dims& dims, Dtype dtype) {
  Dtype wide = accumulate_type(dtype);
  if (numel(dims) == 0) return b.constant_int(wide, 0, dims);
  Value u, v;
  if (wide == Dtype::f64) {
    u = uniform_bits(b, dims, wide);
    v = uniform_bits(b, dims, wide);
  } else {
    Value words = b.random_bits(dims, Dtype::u64);
    Value low = b.convert(words, Dtype::u32);
    Value high = b.convert(b.binary(Op::shift_right_logical, words, b.constant_int(Dtype::u64, 32)), Dtype::u32);
    u = fraction(b, low, wide, 24);
    v = fraction(b, high, wide, 24);
  }
  Value radius = b.sqrt(b.mul(b.log(b.sub(b.like(u, 1), u)), -2));
  return b.mul(radius, b.cosine(b.mul(v, 2 * std::numbers::pi)));
}

}  // namespace tp
