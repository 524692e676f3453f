#include "stablehlo/literal.h"

#include <bit>
#include <cmath>
#include <cstring>

namespace tp {
namespace {

struct Format {
  int exponent_bits, mantissa_bits, bias;
  uint32_t nan, overflow;  // without the sign; what a magnitude above the largest becomes
  bool unsigned_zero;      // -0 and signed NaNs do not exist (the "fnuz" formats)
};

Format format_of(Dtype dtype) {
  switch (dtype) {
    case Dtype::f8e4m3fn: return {4, 3, 7, 0x7f, 0x7f, false};
    case Dtype::f8e4m3fnuz: return {4, 3, 8, 0x80, 0x80, true};
    case Dtype::f8e5m2: return {5, 2, 15, 0x7e, 0x7c, false};
    case Dtype::f8e5m2fnuz: return {5, 2, 16, 0x80, 0x80, true};
    case Dtype::f16: return {5, 10, 15, 0x7e00, 0x7c00, false};
    default: return {8, 7, 127, 0x7fc0, 0x7f80, false};  // bf16
  }
}

// The largest finite magnitude's bits.
uint32_t largest(Dtype dtype, const Format& f) {
  if (dtype == Dtype::f8e4m3fn) return 0x7e;
  if (f.unsigned_zero) return 0x7f;
  return f.overflow - 1;
}

uint32_t narrow_bits(Dtype dtype, float number) {
  Format f = format_of(dtype);
  int width = 1 + f.exponent_bits + f.mantissa_bits;
  uint32_t sign = std::signbit(number) ? 1u << (width - 1) : 0;
  if (std::isnan(number)) return f.unsigned_zero ? f.nan : sign | f.nan;
  float magnitude = std::fabs(number);
  if (std::isinf(magnitude)) return f.unsigned_zero ? f.overflow : sign | f.overflow;
  int exponent = magnitude == 0 ? 1 - f.bias : std::max(std::ilogb(magnitude), 1 - f.bias);
  // In units of the last place; nearbyint rounds to even, and a carry moves into the exponent field by itself.
  double units = std::nearbyint(std::ldexp(static_cast<double>(magnitude), f.mantissa_bits - exponent));
  uint32_t bits = static_cast<uint32_t>(units) + (static_cast<uint32_t>(exponent + f.bias - 1) << f.mantissa_bits);
  if (bits > largest(dtype, f)) return f.unsigned_zero ? f.overflow : sign | f.overflow;
  if (bits == 0 && f.unsigned_zero) return 0;
  return sign | bits;
}

}  // namespace

uint64_t float_bits(Dtype dtype, double number) {
  if (dtype == Dtype::f64) return std::bit_cast<uint64_t>(number);
  float narrow = static_cast<float>(number);
  if (dtype == Dtype::f32) return std::bit_cast<uint32_t>(narrow);
  return narrow_bits(dtype, narrow);
}

uint64_t integer_bits(Dtype dtype, const Scalar& number) {
  if (dtype == Dtype::pred) return number.truth();
  uint64_t bits = static_cast<uint64_t>(number.integer());
  int width = 8 * dtype_size(dtype);
  return width == 64 ? bits : bits & ((uint64_t{1} << width) - 1);
}

void write_scalar(Dtype dtype, const Scalar& number, void* bytes) {
  size_t size = static_cast<size_t>(dtype_size(dtype));
  if (is_complex(dtype)) {
    uint64_t re = float_bits(real_type(dtype), number.real()), im = float_bits(real_type(dtype), number.imag());
    std::memcpy(bytes, &re, size / 2);
    std::memcpy(static_cast<char*>(bytes) + size / 2, &im, size / 2);
    return;
  }
  uint64_t bits = is_floating(dtype) ? float_bits(dtype, number.real()) : integer_bits(dtype, number);
  std::memcpy(bytes, &bits, size);  // little-endian hosts only, as all that we build for
}

}  // namespace tp
