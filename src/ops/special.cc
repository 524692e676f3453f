// Functions from torch.special: polygamma, and logarithms that stay exact near their poles.

#include <cmath>
#include <numbers>
#include <vector>

#include "ops/op.h"
#include "ops/promote.h"

namespace tp {
namespace {

template <class F>
Value floating_pair(Build& b, const Value& x, const Value& y, F compute) {
  auto [l, r] = promoted_floating(b, x, y);
  if (!l || !r) return Value();
  Dtype wide = accumulate_type(l.dtype());
  return b.convert(compute(b.convert(l, wide), b.convert(r, wide)), l.dtype());
}

// CHLO's polygamma adds up a fixed number of terms, too few below zero: there the reflection rule is used.
Value trigamma(Build& b, const Value& x) {
  Value below = b.compare(Direction::lt, x, 0.5);
  Value at = b.select(below, b.sub(b.like(x, 1), x), x);
  Value direct = b.binary(Op::polygamma, b.like(x, 1), at);
  Value sine = b.sine(b.mul(x, std::numbers::pi));
  Value reflected = b.sub(b.div(b.like(x, std::numbers::pi * std::numbers::pi), b.mul(sine, sine)), direct);
  return b.select(below, reflected, direct);
}

// The sum of 1 / (q + k)^x over k >= 0 by Euler and Maclaurin: some terms, the integral of the rest, and corrections
// with the Bernoulli numbers. In double, since corrections cancel. Right where q + terms is 9 or more.
Value hurwitz_zeta(Build& b, const Value& x, const Value& q, int terms) {
  // (2k)! / B2k
  constexpr double kFactors[] = {12.0,
                                 -720.0,
                                 30240.0,
                                 -1209600.0,
                                 47900160.0,
                                 -1.8924375803183791606e9,
                                 7.47242496e10,
                                 -2.950130727918164224e12,
                                 1.1646782814350067249e14,
                                 -4.5979787224074726105e15,
                                 1.8152105401943546773e17,
                                 -7.1661652561756670113e18};
  Value sum = b.like(q, 0), at = q, term;
  for (int k = 0; k <= terms; ++k) {
    at = k == 0 ? q : b.add(q, k);
    term = b.power(at, b.negate(x));
    sum = b.add(sum, term);
  }
  sum = b.add(sum, b.sub(b.div(b.mul(term, at), b.sub(x, 1)), b.mul(term, 0.5)));
  Value factor = b.like(x, 1), rest = term;
  double k = 0;
  for (double bernoulli : kFactors) {
    factor = b.mul(factor, b.add(x, k));
    rest = b.div(rest, at);
    sum = b.add(sum, b.mul(b.mul(factor, rest), 1 / bernoulli));
    factor = b.mul(factor, b.add(x, k + 1));
    rest = b.div(rest, at);
    k += 2;
  }
  // Poles: x = 1, and q = 0, -1, …; below 1 and for a negative q with a broken x there is no value.
  Value whole = b.compare(Direction::eq, b.floor(q), q), at_or_below = b.compare(Direction::le, q, 0);
  Value undefined = b.and_(at_or_below, b.compare(Direction::ne, b.floor(x), x));
  sum = b.select(undefined, b.like(x, NAN), sum);
  sum = b.select(b.and_(at_or_below, whole), b.like(x, INFINITY), sum);
  sum = b.select(b.compare(Direction::lt, x, 1), b.like(x, NAN), sum);
  return b.select(b.compare(Direction::eq, x, 1), b.like(x, INFINITY), sum);
}

Value zeta(Build& b, Value x, Value q) {
  auto [l, r] = promoted_floating(b, x, q);
  if (!l || !r) return Value();
  constexpr int kTerms = 40;
  Value wide = b.convert(r, Dtype::f64);
  Value out = hurwitz_zeta(b, b.convert(l, Dtype::f64), wide, kTerms);
  // Further below zero the number of terms would have to depend on q: no value rather than a wrong one.
  return b.convert(b.select(b.compare(Direction::lt, wide, 9 - kTerms), b.like(wide, NAN), out), l.dtype());
}
Value zeta_self_scalar(Build& b, Scalar x, Value q) { return zeta(b, number(b, x), q); }
Value zeta_other_scalar(Build& b, Value x, Scalar q) { return zeta(b, x, number(b, q)); }

// The n-th derivative of cot(pi x), as a polynomial in c = cot(pi x): D P(c) = -pi (1 + c^2) P'(c).
Value cotangent_derivative(Build& b, int64_t n, const Value& cotangent) {
  std::vector<double> p = {0, 1};
  for (int64_t step = 0; step < n; ++step) {
    std::vector<double> next(p.size() + 1, 0);
    for (size_t k = 1; k < p.size(); ++k) {
      double slope = -std::numbers::pi * static_cast<double>(k) * p[k];
      next[k - 1] += slope;
      next[k + 1] += slope;
    }
    p = std::move(next);
  }
  Value sum = b.like(cotangent, 0);
  for (size_t k = p.size(); k-- > 0;) sum = b.add(b.mul(sum, cotangent), p[k]);
  return sum;
}

// (-1)^(n+1) n! zeta(n + 1, x); below 1/2 by reflection.
Value polygamma_in_double(Build& b, int64_t n, const Value& x) {
  const double order = static_cast<double>(n), odd = n % 2 ? 1 : -1;
  Value below = b.compare(Direction::lt, x, 0.5);
  Value at = b.select(below, b.sub(b.like(x, 1), x), x);
  Value direct = b.mul(hurwitz_zeta(b, b.like(x, order + 1), at, 9), odd * std::tgamma(order + 1));
  Value angle = b.mul(b.sub(x, b.floor(x)), std::numbers::pi);
  Value cotangent = b.div(b.cosine(angle), b.sine(angle));
  Value reflected = b.sub(b.mul(direct, -odd), b.mul(cotangent_derivative(b, n, cotangent), std::numbers::pi));
  Value pole = b.and_(b.compare(Direction::le, x, 0), b.compare(Direction::eq, b.floor(x), x));
  return b.select(pole, b.like(x, odd * INFINITY), b.select(below, reflected, direct));
}

Value polygamma(Build& b, int64_t n, Value x) {
  if (!b.require(n >= 0, "polygamma(n, x) does not support negative n.")) return Value();
  return in_accumulate(b, to_floating(b, x), [&](const Value& w) {
    if (n == 0) return b.unary(Op::digamma, w);
    if (n == 1) return trigamma(b, w);
    return b.convert(polygamma_in_double(b, n, b.convert(w, Dtype::f64)), w.dtype());
  });
}

// sin(x) / x, and 1 at 0.
Value spherical_bessel_j0(Build& b, Value x) {
  return in_accumulate(b, to_floating(b, x), [&](const Value& w) {
    Value is_infinite = b.compare(Direction::eq, b.abs(w), INFINITY), is_zero = b.compare(Direction::eq, w, 0);
    Value plain = b.div(b.sine(w), b.select(is_zero, b.like(w, 1), w));
    return b.select(is_infinite, b.like(w, 0), b.select(is_zero, b.like(w, 1), plain));
  });
}

Value nextafter(Build& b, Value x, Value y) {
  auto [l, r] = promoted(b, x, y);
  if (!b.require_floating(l)) return Value();
  return b.binary(Op::next_after, l, r);
}

// x * log1p(y), and 0 where x is.
Value xlog1py(Build& b, Value x, Value y) {
  return floating_pair(b, x, y, [&](const Value& l, const Value& r) {
    Value out = b.select(b.compare(Direction::eq, l, 0), b.like(l, 0), b.mul(l, b.log1p(r)));
    return b.select(b.is_nan(r), r, out);
  });
}
Value xlog1py_other_scalar(Build& b, Value x, Scalar y) { return xlog1py(b, x, number(b, y)); }
Value xlog1py_self_scalar(Build& b, Scalar x, Value y) { return xlog1py(b, number(b, x), y); }

// -x log(x): 0 at 0, -inf below.
Value entr(Build& b, Value x) {
  return in_accumulate(b, to_floating(b, x), [&](const Value& w) {
    Value above = b.negate(b.mul(w, b.log(w)));
    Value out = b.select(b.compare(Direction::eq, w, 0), b.like(w, 0), b.like(w, -INFINITY));
    return b.select(b.or_(b.compare(Direction::gt, w, 0), b.is_nan(w)), above, out);
  });
}

Value logaddexp2(Build& b, Value x, Value y) {
  return floating_pair(b, x, y, [&](const Value& l, const Value& r) {
    Value apart = b.negate(b.abs(b.sub(l, r)));
    Value more = b.div(b.log1p(b.power(b.like(apart, 2), apart)), std::numbers::ln2);
    Value same_infinity = b.and_(b.compare(Direction::eq, l, r), b.compare(Direction::eq, b.abs(l), INFINITY));
    return b.select(same_infinity, l, b.add(b.maximum(l, r), more));
  });
}

Value logit(Build& b, Value x, std::optional<double> eps) {
  return in_accumulate(b, to_floating(b, x), [&](const Value& w) {
    Value p = eps ? b.clamp(b.like(w, *eps), w, b.like(w, 1 - *eps)) : w;
    return b.log(b.div(p, b.sub(b.like(p, 1), p)));
  });
}

Value logit_backward(Build& b, Value grad, Value x, std::optional<double> eps) {
  if (!grad || !b.require_floating(x)) return Value();
  Dtype wide = accumulate_type(x.dtype());
  Value w = b.convert(x, wide), one = b.like(w, 1);
  double low = eps.value_or(0);
  Value outside = b.or_(b.compare(Direction::lt, w, low), b.compare(Direction::gt, w, 1 - low));
  Value slope = b.div(b.convert(grad, wide), b.mul(w, b.sub(one, w)));
  return b.convert(b.select(outside, b.like(w, eps ? 0 : NAN), slope), grad.dtype());
}

TP_OP("aten::polygamma", polygamma, Layout::pointwise);
TP_OP("aten::special_zeta", zeta, Layout::pointwise);
TP_OP("aten::special_zeta.self_scalar", zeta_self_scalar, Layout::pointwise);
TP_OP("aten::special_zeta.other_scalar", zeta_other_scalar, Layout::pointwise);
TP_OP("aten::special_spherical_bessel_j0", spherical_bessel_j0, Layout::pointwise);
TP_OP("aten::nextafter", nextafter, Layout::pointwise);
TP_OP("aten::special_xlog1py", xlog1py, Layout::pointwise);
TP_OP("aten::special_xlog1py.other_scalar", xlog1py_other_scalar, Layout::pointwise);
TP_OP("aten::special_xlog1py.self_scalar", xlog1py_self_scalar, Layout::pointwise);
TP_OP("aten::special_entr", entr, Layout::pointwise);
TP_OP("aten::logaddexp2", logaddexp2, Layout::pointwise);
TP_OP("aten::logit", logit, Layout::pointwise);
TP_OP("aten::logit_backward", logit_backward, Layout::pointwise);

}  // namespace
}  // namespace tp
