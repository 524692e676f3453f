#include "ops/uniform.h"

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

// The top `bits` of each random word, as a float: an integer in [0, 2^bits).
Value top_bits(Build& b, const Dims& dims, Dtype wide, int bits) {
  bool f64 = wide == Dtype::f64;
  Dtype word = f64 ? Dtype::u64 : Dtype::u32;
  Value raw = b.random_bits(dims, word);
  Value shift = b.constant_int(word, (f64 ? 64 : 32) - bits, dims);
  return b.convert(b.binary(Op::shift_right_logical, raw, shift), wide);
}

double power_of_two(int exponent) {
  return exponent < 0 ? 1 / power_of_two(-exponent) : static_cast<double>(1ull << exponent);
}

}  // namespace

Value uniform_bits(Build& b, const Dims& dims, Dtype dtype) {
  int bits = mantissa_bits(dtype);
  return b.mul(top_bits(b, dims, accumulate_type(dtype), bits), power_of_two(-bits));
}

Value open_uniform(Build& b, const Dims& dims, Dtype dtype) {
  Dtype wide = accumulate_type(dtype);
  int bits = mantissa_bits(wide) - 1;
  return b.mul(b.add(top_bits(b, dims, wide, bits), 0.5), power_of_two(-bits));
}

// Box-Muller: flat elements 2j and 2j+1 share one pair of uniforms, of the same flat indices.
Value standard_normal(Build& b, const Dims& dims, Dtype dtype) {
  Dtype wide = accumulate_type(dtype);
  int64_t count = numel(dims), half = (count + 1) / 2;
  if (count == 0) return b.constant_int(wide, 0, dims);
  Value pairs = b.reshape(uniform_bits(b, {2 * half}, wide), {half, 2});
  Value u = b.slice_dim(pairs, 1, 0, 1), v = b.slice_dim(pairs, 1, 1, 2);
  Value radius = b.sqrt(b.mul(b.log(b.sub(b.like(u, 1), u)), -2));
  Value angle = b.mul(v, 2 * std::numbers::pi);
  Value both = b.concatenate({b.mul(radius, b.cosine(angle)), b.mul(radius, b.sine(angle))}, 1);
  return b.reshape(b.slice_dim(b.flatten(both), 0, 0, count), dims);
}

}  // namespace tp
