// Greatest common divisors.

#include "ops/op.h"
#include "ops/promote.h"

namespace tp {
namespace {

// Euclid's steps, as many as the largest numbers of the dtype need: neighbours in Fibonacci's series.
Value gcd(Build& b, Value x, Value y) {
  auto [l, r] = promoted(b, x, y);
  if (!l || !r) return Value();
  if (!b.require(is_integral(l.dtype()), Code::unimplemented,
                 std::string("not implemented for ") + dtype_name(l.dtype()))) {
    return Value();
  }
  Dims dims = b.broadcast_dims(l.dims(), r.dims());
  Value a = b.broadcast_to(b.abs(l), dims), c = b.broadcast_to(b.abs(r), dims);
  const int steps = 12 * static_cast<int>(dtype_size(l.dtype()));  // 1.44 steps a bit
  Value zero = b.like(a, 0), one = b.like(a, 1);
  for (int i = 0; i < steps; ++i) {
    Value done = b.compare(Direction::eq, c, zero);
    Value rest = b.remainder(a, b.select(done, one, c));
    a = b.select(done, a, c);
    c = b.select(done, zero, rest);
  }
  return a;
}

Value lcm(Build& b, Value x, Value y) {
  auto [l, r] = promoted(b, x, y);
  Value common = gcd(b, x, y);
  if (!common) return Value();
  Value none = b.compare(Direction::eq, common, 0);
  return b.select(none, common, b.abs(b.mul(b.div(l, b.select(none, b.like(common, 1), common)), r)));
}

TP_OP("aten::gcd", gcd, Layout::pointwise);
TP_OP("aten::lcm", lcm, Layout::pointwise);

}  // namespace
}  // namespace tp
