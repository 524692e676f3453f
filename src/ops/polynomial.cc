// Polynomials whose degree n each element tells: Chebyshev's of four kinds in their trigonometric form, in double, and
// Hermite's by their recurrence.

#include <cmath>

#include "ops/op.h"
#include "ops/promote.h"

namespace tp {
namespace {

enum class Kind { t, u, v, w };

// x and n in double, n without its fraction.
struct Operands {
  Value x, n;
};

// cos and sin of k times the angle whose cosine is x; beyond [-1, 1] cosh and sinh of it, for |x|.
Value inside(Build& b, const Operands& o, Kind kind, const Value& angle) {
  Value n = o.n;
  switch (kind) {
    case Kind::t: return b.cosine(b.mul(n, angle));
    case Kind::u: return b.div(b.sine(b.mul(b.add(n, 1), angle)), b.sine(angle));
    case Kind::v: return b.div(b.cosine(b.mul(b.add(n, 0.5), angle)), b.cosine(b.mul(angle, 0.5)));
    case Kind::w: return b.div(b.sine(b.mul(b.add(n, 0.5), angle)), b.sine(b.mul(angle, 0.5)));
  }
  return Value();
}

Value outside(Build& b, const Operands& o, Kind kind, const Value& angle) {
  Value n = o.n;
  auto cosh = [&](const Value& x) { return b.unary(Op::cosh, x); };
  auto sinh = [&](const Value& x) { return b.unary(Op::sinh, x); };
  switch (kind) {
    case Kind::t: return cosh(b.mul(n, angle));
    case Kind::u: return b.div(sinh(b.mul(b.add(n, 1), angle)), sinh(angle));
    case Kind::v: return b.div(cosh(b.mul(b.add(n, 0.5), angle)), cosh(b.mul(angle, 0.5)));
    case Kind::w: return b.div(sinh(b.mul(b.add(n, 0.5), angle)), sinh(b.mul(angle, 0.5)));
  }
  return Value();
}

// At x = 1.
Value at_one(Build& b, const Operands& o, Kind kind) {
  switch (kind) {
    case Kind::t:
    case Kind::v: return b.like(o.n, 1);
    case Kind::u: return b.add(o.n, 1);
    case Kind::w: return b.add(b.mul(o.n, 2), 1);
  }
  return Value();
}

// P(-x) = (-1)^n P(x) for T and U; V(-x) = (-1)^n W(x) and the other way round.
Kind mirrored(Kind kind) { return kind == Kind::v ? Kind::w : kind == Kind::w ? Kind::v : kind; }

Value chebyshev(Build& b, const Operands& o, Kind kind) {
  if (!o.x || !o.n) return Value();
  Value size = b.abs(o.x), is_negative = b.compare(Direction::lt, o.x, 0);
  Value odd = b.compare(Direction::ne, b.remainder(o.n, b.like(o.n, 2)), 0);
  Value sign = b.select(b.and_(is_negative, odd), b.like(o.x, -1), b.like(o.x, 1));
  auto mirror = [&](auto form) {
    Value plain = form(kind);
    return mirrored(kind) == kind ? plain : b.select(is_negative, form(mirrored(kind)), plain);
  };
  Value angle = b.unary(Op::acos, b.minimum(size, b.like(size, 1)));
  Value far = b.unary(Op::acosh, b.maximum(size, b.like(size, 1)));
  Value low = mirror([&](Kind k) { return inside(b, o, k, angle); });
  Value high = mirror([&](Kind k) { return outside(b, o, k, far); });
  Value edge = mirror([&](Kind k) { return at_one(b, o, k); });
  Value out = b.select(b.compare(Direction::lt, size, 1), low, high);
  out = b.mul(b.select(b.compare(Direction::eq, size, 1), edge, out), sign);
  out = b.select(b.compare(Direction::eq, o.n, 0), b.like(out, 1), out);
  out = b.select(b.compare(Direction::lt, o.n, 0), b.like(out, 0), out);
  return b.select(b.is_nan(o.x), o.x, out);
}

template <Kind kind, bool shifted>
Value evaluated(Build& b, const Value& x, const Value& n) {
  auto [l, r] = promoted_floating(b, x, n);
  if (!l || !r) return Value();
  Operands o{b.convert(l, Dtype::f64), b.convert(r, Dtype::f64)};
  if (shifted) o.x = b.sub(b.mul(o.x, 2), 1);
  o.n = b.convert(b.convert(o.n, Dtype::s64), Dtype::f64);
  return b.convert(chebyshev(b, o, kind), l.dtype());
}

template <Kind kind>
Value plain(Build& b, Value x, Value n) {
  return evaluated<kind, false>(b, x, n);
}
// The polynomial of 2x - 1.
template <Kind kind>
Value shifted(Build& b, Value x, Value n) {
  return evaluated<kind, true>(b, x, n);
}
// PyTorch has NaN for float32 beyond this degree.
constexpr int kHighestHermite = 128;

// H of the physicists (twice: 2) or He of the probabilists (twice: 1): P(k + 1) = twice x P(k) - twice k P(k - 1).
template <int twice>
Value hermite(Build& b, Value x, Value n) {
  auto [l, r] = promoted_floating(b, x, n);
  if (!l || !r) return Value();
  if (l.dtype() != Dtype::f32) return b.decline("degrees go up to 512 in double, too many to write out");
  // Neither infinity nor NaN is a degree.
  Value degree = b.convert(b.select(b.is_finite(r), r, b.like(r, -1)), Dtype::s64);
  Value step = b.mul(l, twice), before = b.like(l, 1), now = step;
  for (int k = 1; k < kHighestHermite; ++k) {
    Value next = b.sub(b.mul(step, now), b.mul(before, twice * k));
    Value more = b.compare(Direction::gt, degree, b.constant_int(Dtype::s64, k));
    before = b.select(more, now, before);
    now = b.select(more, next, now);
  }
  now = b.select(b.compare(Direction::eq, degree, b.constant_int(Dtype::s64, 0)), b.like(now, 1), now);
  now = b.select(b.compare(Direction::lt, degree, b.constant_int(Dtype::s64, 0)), b.like(now, 0), now);
  return b.select(b.compare(Direction::gt, degree, b.constant_int(Dtype::s64, kHighestHermite)), b.like(now, NAN), now);
}

template <auto F>
Value of_number(Build& b, Scalar x, Value n) {
  return F(b, number(b, x), n);
}
template <auto F>
Value of_degree(Build& b, Value x, Scalar n) {
  return F(b, x, number(b, n));
}

TP_OP("aten::special_chebyshev_polynomial_t", plain<Kind::t>, Layout::pointwise);
TP_OP("aten::special_chebyshev_polynomial_t.x_scalar", of_number<plain<Kind::t>>, Layout::pointwise);
TP_OP("aten::special_chebyshev_polynomial_t.n_scalar", of_degree<plain<Kind::t>>, Layout::pointwise);
TP_OP("aten::special_chebyshev_polynomial_u", plain<Kind::u>, Layout::pointwise);
TP_OP("aten::special_chebyshev_polynomial_u.x_scalar", of_number<plain<Kind::u>>, Layout::pointwise);
TP_OP("aten::special_chebyshev_polynomial_u.n_scalar", of_degree<plain<Kind::u>>, Layout::pointwise);
TP_OP("aten::special_chebyshev_polynomial_v", plain<Kind::v>, Layout::pointwise);
TP_OP("aten::special_chebyshev_polynomial_v.x_scalar", of_number<plain<Kind::v>>, Layout::pointwise);
TP_OP("aten::special_chebyshev_polynomial_v.n_scalar", of_degree<plain<Kind::v>>, Layout::pointwise);
TP_OP("aten::special_chebyshev_polynomial_w", plain<Kind::w>, Layout::pointwise);
TP_OP("aten::special_chebyshev_polynomial_w.x_scalar", of_number<plain<Kind::w>>, Layout::pointwise);
TP_OP("aten::special_chebyshev_polynomial_w.n_scalar", of_degree<plain<Kind::w>>, Layout::pointwise);
TP_OP("aten::special_shifted_chebyshev_polynomial_t", shifted<Kind::t>, Layout::pointwise);
TP_OP("aten::special_shifted_chebyshev_polynomial_t.x_scalar", of_number<shifted<Kind::t>>, Layout::pointwise);
TP_OP("aten::special_shifted_chebyshev_polynomial_t.n_scalar", of_degree<shifted<Kind::t>>, Layout::pointwise);
TP_OP("aten::special_shifted_chebyshev_polynomial_u", shifted<Kind::u>, Layout::pointwise);
TP_OP("aten::special_shifted_chebyshev_polynomial_u.x_scalar", of_number<shifted<Kind::u>>, Layout::pointwise);
TP_OP("aten::special_shifted_chebyshev_polynomial_u.n_scalar", of_degree<shifted<Kind::u>>, Layout::pointwise);
TP_OP("aten::special_shifted_chebyshev_polynomial_v", shifted<Kind::v>, Layout::pointwise);
TP_OP("aten::special_shifted_chebyshev_polynomial_v.x_scalar", of_number<shifted<Kind::v>>, Layout::pointwise);
TP_OP("aten::special_shifted_chebyshev_polynomial_v.n_scalar", of_degree<shifted<Kind::v>>, Layout::pointwise);
TP_OP("aten::special_shifted_chebyshev_polynomial_w", shifted<Kind::w>, Layout::pointwise);
TP_OP("aten::special_shifted_chebyshev_polynomial_w.x_scalar", of_number<shifted<Kind::w>>, Layout::pointwise);
TP_OP("aten::special_shifted_chebyshev_polynomial_w.n_scalar", of_degree<shifted<Kind::w>>, Layout::pointwise);
TP_OP("aten::special_hermite_polynomial_h", hermite<2>, Layout::pointwise);
TP_OP("aten::special_hermite_polynomial_h.x_scalar", of_number<hermite<2>>, Layout::pointwise);
TP_OP("aten::special_hermite_polynomial_h.n_scalar", of_degree<hermite<2>>, Layout::pointwise);
TP_OP("aten::special_hermite_polynomial_he", hermite<1>, Layout::pointwise);
TP_OP("aten::special_hermite_polynomial_he.x_scalar", of_number<hermite<1>>, Layout::pointwise);
TP_OP("aten::special_hermite_polynomial_he.n_scalar", of_degree<hermite<1>>, Layout::pointwise);

}  // namespace
}  // namespace tp
