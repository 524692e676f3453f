// Ops on the bits of numbers.

#include <bit>

#include "ops/op.h"
#include "ops/promote.h"

namespace tp {
namespace {

// Mantissa in [0.5, 1) and exponent; 0, infinity and NaN are their own mantissa, with exponent 0.
std::tuple<Value, Value> frexp(Build& b, Value x) {
  if (!is_floating(x.dtype())) {
    b.fail(Code::invalid_argument, "torch.frexp() only supports floating-point dtypes");
    return {};
  }
  bool is_double = x.dtype() == Dtype::f64;
  Dtype wide = is_double ? Dtype::f64 : Dtype::f32, bits = is_double ? Dtype::s64 : Dtype::s32;
  const int64_t fraction = is_double ? 52 : 23, bias = is_double ? 1022 : 126, mask = is_double ? 2047 : 255;
  auto number = [&](int64_t n) { return b.constant_int(bits, n, x.dims()); };
  Value v = b.convert(x, wide);
  Value plain = b.and_(b.is_finite(v), b.compare(Direction::ne, v, 0));
  Value shown = b.and_(b.binary(Op::shift_right_logical, b.bitcast(v, bits, x.dims()), number(fraction)), number(mask));
  Value is_small = b.compare(Direction::eq, shown, number(0));
  // What has no leading one gets one first.
  Value scaled = b.select(is_small, b.mul(v, is_double ? 0x1p54 : 0x1p25), v);
  Value raw = b.bitcast(scaled, bits, x.dims());
  Value field = b.and_(b.binary(Op::shift_right_logical, raw, number(fraction)), number(mask));
  Value exponent = b.sub(b.sub(field, number(bias)), b.select(is_small, number(is_double ? 54 : 25), number(0)));
  Value kept = b.and_(raw, number(is_double ? ~(int64_t{2047} << 52) : ~(int64_t{255} << 23)));
  Value mantissa = b.bitcast(b.or_(kept, number(bias << fraction)), wide, x.dims());
  return {b.convert(b.select(plain, mantissa, v), x.dtype()),
          b.convert(b.select(plain, exponent, number(0)), Dtype::s32)};
}

// The exclusive or of the numbers as 64 bits each: of floating ones as doubles.
Value hash_tensor(Build& b, Value x, Dims dim, bool keepdim, int64_t mode) {
  if (!b.require(mode == 0, "hash_tensor: unknown mode " + std::to_string(mode))) return Value();
  if (!b.require(!is_complex(x.dtype()), Code::unimplemented, "not implemented for complex numbers")) return Value();
  Dims reduced = b.wrap_dims(dim, x.rank());
  if (!b.ok()) return Value();
  Value bits = is_floating(x.dtype()) ? b.bitcast(b.convert(x, Dtype::f64), Dtype::u64, x.dims())
                                      : b.convert(b.convert(x, Dtype::s64), Dtype::u64);
  for (int64_t d : reduced) {
    if (x.rank() == 0) break;
    if (bits.size(d) == 0) {
      Dims one = bits.dims();
      one[d] = 1;
      bits = b.constant_int(Dtype::u64, 0, one);
    }
    while (bits.size(d) > 1) {  // halves; an odd row waits
      int64_t size = bits.size(d), half = size / 2;
      Value folded = b.xor_(b.slice_dim(bits, d, 0, half), b.slice_dim(bits, d, half, 2 * half));
      bits = size % 2 ? b.concatenate({folded, b.slice_dim(bits, d, size - 1, size)}, d) : folded;
    }
  }
  Dims dims;
  for (int64_t d = 0; d < x.rank(); ++d) {
    bool gone = std::find(reduced.begin(), reduced.end(), d) != reduced.end();
    if (!gone) dims.push_back(x.size(d));
    if (gone && keepdim) dims.push_back(1);
  }
  return b.reshape(bits, dims);
}

TP_OP("aten::frexp.Tensor", frexp, Layout::pointwise);
TP_OP("aten::hash_tensor", hash_tensor);

}  // namespace
}  // namespace tp
