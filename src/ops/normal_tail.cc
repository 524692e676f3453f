// The normal distribution far from its middle: erfcx, log_ndtr and ndtri, in double.

#include <cmath>
#include <numbers>

#include "ops/op.h"
#include "ops/promote.h"

namespace tp {
namespace {

constexpr double kRootTwoPi = 2.50662827463100050242;

// exp(x^2) erfc(x). From 10 on the asymptotic series, since erfc runs out of exponents.
Value scaled_erfc(Build& b, const Value& x) {
  Value far = b.compare(Direction::ge, x, 10);
  Value near = b.select(far, b.like(x, 0), x), large = b.select(far, x, b.like(x, 10));
  Value direct = b.mul(b.exponential(b.mul(near, near)), b.unary(Op::erfc, near));
  Value t = b.div(b.like(x, -0.5), b.mul(large, large));
  Value series = b.like(x, 1);
  for (int k = 11; k >= 1; k -= 2) series = b.add(b.mul(b.mul(series, t), k), 1);
  Value tail = b.div(b.mul(series, std::numbers::inv_sqrtpi), large);
  return b.select(far, tail, direct);
}

Value log_cumulative(Build& b, const Value& x) {
  Value low = b.compare(Direction::lt, x, -1);
  Value at = b.mul(x, 1 / std::numbers::sqrt2);
  Value below = b.select(low, at, b.like(x, -1));
  Value tail = b.sub(b.log(b.mul(scaled_erfc(b, b.negate(below)), 0.5)), b.mul(below, below));
  Value body = b.log1p(b.mul(b.unary(Op::erfc, at), -0.5));
  return b.select(b.compare(Direction::eq, x, -INFINITY), x, b.select(low, tail, body));
}

// Of the smaller side q <= 1/2, by Newton's steps on the logarithm.
Value quantile(Build& b, const Value& p) {
  Value upper = b.compare(Direction::gt, p, 0.5);
  Value q = b.select(upper, b.sub(b.like(p, 1), p), p);
  Value inner = b.and_(b.compare(Direction::gt, q, 0), b.compare(Direction::lt, q, 1));
  Value safe = b.select(inner, q, b.like(q, 0.25)), target = b.log(safe);
  Value small = b.compare(Direction::lt, safe, 1e-6);
  Value x = b.select(small, b.negate(b.sqrt(b.mul(target, -2))),
                     b.mul(b.unary(Op::erf_inv, b.sub(b.mul(safe, 2), 1)), std::numbers::sqrt2));
  for (int step = 0; step < 3; ++step) {
    Value now = log_cumulative(b, x);
    Value slope = b.mul(b.exponential(b.add(now, b.mul(b.mul(x, x), 0.5))), kRootTwoPi);
    x = b.sub(x, b.mul(b.sub(now, target), slope));
  }
  x = b.select(upper, b.negate(x), x);
  x = b.select(b.compare(Direction::eq, p, 0), b.like(x, -INFINITY), x);
  x = b.select(b.compare(Direction::eq, p, 1), b.like(x, INFINITY), x);
  Value outside = b.or_(b.compare(Direction::lt, p, 0), b.compare(Direction::gt, p, 1));
  return b.select(b.or_(outside, b.is_nan(p)), b.like(x, NAN), x);
}

template <Value (*F)(Build&, const Value&)>
Value evaluated(Build& b, Value x) {
  return in_double(b, x, [&](const Value& wide) { return F(b, wide); });
}

TP_OP("aten::special_erfcx", evaluated<scaled_erfc>, Layout::pointwise);
TP_OP("aten::special_log_ndtr", evaluated<log_cumulative>, Layout::pointwise);
TP_OP("aten::special_ndtri", evaluated<quantile>, Layout::pointwise);

}  // namespace
}  // namespace tp
