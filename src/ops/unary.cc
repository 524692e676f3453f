// Functions of one operand. Integers become the default dtype; half types compute in f32 and round once.

#include <cmath>
#include <numbers>

#include "ops/op.h"
#include "ops/promote.h"

namespace tp {
namespace {

template <Op op>
Value floating(Build& b, Value x) {
  return in_accumulate(b, to_floating(b, x), [&](const Value& w) { return b.unary(op, w); });
}

// Where the second argument is the number 1 the XLA of jaxlib 0.11 gives wrong values on the CPU, from 64 elements on.
// Twice both is the same angle, exactly.
Value angle_of(Build& b, const Value& y, const Value& x) {
  if (!x || x->op != Op::constant || x->number.real() != 1) return b.binary(Op::atan2, y, x);
  return b.binary(Op::atan2, b.mul(y, 2), b.like(x, 2));
}

Value atan(Build& b, Value x) {
  return in_accumulate(b, to_floating(b, x), [&](const Value& w) {
    return is_complex(w.dtype()) ? b.unary(Op::atan, w) : angle_of(b, w, b.like(w, 1));
  });
}

Value exp2(Build& b, Value x) {
  return in_accumulate(b, to_floating(b, x), [&](const Value& w) { return b.power(b.like(w, 2), w); });
}
// A logarithm of a power of the base is exact: division by a constant would round it.
Value log_to_base(Build& b, const Value& x, double base) {
  return in_accumulate(b, to_floating(b, x), [&](const Value& w) {
    Value plain = b.div(b.log(w), std::log(base));
    if (is_complex(w.dtype())) return plain;
    Value whole = b.unary(Op::round_nearest_even, plain);
    return b.select(b.compare(Direction::eq, b.power(b.like(w, base), whole), w), whole, plain);
  });
}
Value log2(Build& b, Value x) { return log_to_base(b, x, 2); }
Value log10(Build& b, Value x) { return log_to_base(b, x, 10); }
Value reciprocal(Build& b, Value x) {
  return in_accumulate(b, to_floating(b, x), [&](const Value& w) { return b.div(b.like(w, 1), w); });
}
Value sinc(Build& b, Value x) {
  return in_accumulate(b, to_floating(b, x), [&](const Value& w) {
    Value at = b.mul(w, std::numbers::pi);
    return b.select(b.compare(Direction::eq, w, 0), b.like(w, 1), b.div(b.sine(at), at));
  });
}

Value neg(Build& b, Value x) {
  if (x && x.dtype() == Dtype::pred) {
    return b.fail(
        Code::invalid_argument,
        "Negation, the `-` operator, on a bool tensor is not supported. If you are trying to invert a mask, use the "
        "`~` or `logical_not()` operator instead.");
  }
  return b.negate(x);
}
Value abs(Build& b, Value x) {
  if (x && x.dtype() == Dtype::pred) return b.fail(Code::unimplemented, "not implemented for bool");
  return b.abs(x);
}
Value sign(Build& b, Value x) {
  if (!x) return Value();
  if (is_complex(x.dtype()))
    return b.fail(Code::invalid_argument, "Unlike NumPy, torch.sign doesn't allow complex inputs");
  if (x.dtype() == Dtype::pred || is_unsigned(x.dtype())) return b.convert(b.convert(x, Dtype::pred), x.dtype());
  if (!is_floating(x.dtype())) return b.sign(x);
  return b.select(b.is_nan(x), b.like(x, 0), b.sign(x));  // PyTorch's sign of NaN is 0
}
Value sgn(Build& b, Value x) { return x && is_complex(x.dtype()) ? b.sign(x) : sign(b, x); }

template <Op op>
Value rounded(Build& b, Value x) {
  if (!x || is_integral(x.dtype())) return x;
  if (x.dtype() == Dtype::pred || is_complex(x.dtype())) {
    return b.fail(Code::unimplemented, std::string("not implemented for ") + dtype_name(x.dtype()));
  }
  return b.unary(op, x);
}
Value round_decimals(Build& b, Value x, int64_t decimals) {
  if (!x || !b.require_floating(x)) return Value();
  return in_accumulate(b, x, [&](const Value& w) {
    double ten = std::pow(10.0, static_cast<double>(std::abs(decimals)));
    Value by = b.constant(w.dtype(), ten);
    Value up = decimals >= 0 ? b.mul(w, ten) : divided(b, w, by);
    Value whole = b.unary(Op::round_nearest_even, up);
    return decimals >= 0 ? divided(b, whole, by) : b.mul(whole, ten);
  });
}
Value trunc(Build& b, Value x) {
  if (!x || is_integral(x.dtype())) return x;
  if (!b.require_floating(x)) return Value();
  return b.select(b.compare(Direction::lt, x, 0), b.ceil(x), b.floor(x));
}
Value frac(Build& b, Value x) {
  if (x && is_integral(x.dtype()))
    return b.fail(Code::unimplemented, std::string("not implemented for ") + dtype_name(x.dtype()));
  return b.sub(x, trunc(b, x));
}

Value isnan(Build& b, Value x) {
  if (x && !is_floating(x.dtype()) && !is_complex(x.dtype()))
    return b.constant(Dtype::pred, Scalar::of(false), x.dims());
  return b.is_nan(x);
}
Value equals_infinity(Build& b, const Value& x, double sign) {
  if (!x) return Value();
  if (!is_floating(x.dtype())) return b.constant(Dtype::pred, Scalar::of(false), x.dims());
  return b.compare(Direction::eq, x, sign * INFINITY);
}
Value isposinf(Build& b, Value x) { return equals_infinity(b, x, 1); }
Value isneginf(Build& b, Value x) { return equals_infinity(b, x, -1); }
Value isinf(Build& b, Value x) {
  if (x && is_complex(x.dtype())) return b.or_(isinf(b, b.real(x)), isinf(b, b.imag(x)));
  return b.or_(isposinf(b, x), isneginf(b, x));
}
Value signbit(Build& b, Value x) {
  if (!x || x.dtype() == Dtype::pred || is_unsigned(x.dtype()))
    return x ? b.constant(Dtype::pred, Scalar::of(false), x.dims()) : x;
  if (is_integral(x.dtype())) return b.compare(Direction::lt, x, 0);
  Dtype bits = dtype_size(x.dtype()) == 2 ? Dtype::s16 : dtype_size(x.dtype()) == 4 ? Dtype::s32 : Dtype::s64;
  return b.compare(Direction::lt, b.bitcast(x, bits, x.dims()), 0);
}

Value nan_to_num(Build& b, Value x, std::optional<double> nan, std::optional<double> high, std::optional<double> low) {
  if (!x || !is_floating(x.dtype())) return x;
  constexpr double kHalfMax = 65504, kBrainMax = 3.3895313892515355e38, kFloatMax = 3.4028234663852886e38;
  double top = x.dtype() == Dtype::f16    ? kHalfMax
               : x.dtype() == Dtype::bf16 ? kBrainMax
               : x.dtype() == Dtype::f64  ? 1.7976931348623157e308
                                          : kFloatMax;
  Value out = b.select(b.is_nan(x), b.like(x, nan.value_or(0)), x);
  out = b.select(isposinf(b, x), b.like(x, high.value_or(top)), out);
  return b.select(isneginf(b, x), b.like(x, low.value_or(-top)), out);
}

// --- complex numbers

Value conj_physical(Build& b, Value x) {
  if (!x || !is_complex(x.dtype())) return x;
  return b.complex(b.real(x), b.negate(b.imag(x)));
}
Value angle(Build& b, Value x) {
  if (!x) return Value();
  if (is_complex(x.dtype())) return b.binary(Op::atan2, b.imag(x), b.real(x));
  Value w = to_floating(b, x);
  Value out = b.select(b.compare(Direction::lt, w, 0), b.like(w, std::numbers::pi), b.like(w, 0));
  return b.select(b.is_nan(w), w, out);
}
Value make_complex(Build& b, Value re, Value im) { return b.complex(re, im); }
Value polar(Build& b, Value magnitude, Value angle) {
  return b.complex(b.mul(magnitude, b.cosine(angle)), b.mul(magnitude, b.sine(angle)));
}

// --- two operands

enum class Order { needed, free };  // complex numbers have none

template <class F>
Value floating_pair(Build& b, const Value& x, const Value& y, F compute, Order order = Order::needed) {
  auto [l, r] = promoted_floating(b, x, y);
  if (!l || !r) return Value();
  if (order == Order::needed && !require_real(b, l)) return Value();
  Dtype wide = accumulate_type(l.dtype());
  return b.convert(compute(b.convert(l, wide), b.convert(r, wide)), l.dtype());
}
Value atan2(Build& b, Value y, Value x) {
  return floating_pair(b, y, x, [&](const Value& l, const Value& r) { return angle_of(b, l, r); });
}
Value hypot(Build& b, Value x, Value y) {
  auto [left, right] = promoted(b, x, y);
  if (!b.require_floating(left)) return Value();
  return floating_pair(b, x, y, [&](const Value& l, const Value& r) {
    Value big = b.maximum(b.abs(l), b.abs(r)), small = b.minimum(b.abs(l), b.abs(r));
    Value ratio = b.div(small, big);
    Value scaled = b.mul(big, b.sqrt(b.add(b.mul(ratio, ratio), 1)));
    Value trivial = b.or_(b.compare(Direction::eq, big, 0), b.compare(Direction::eq, big, INFINITY));
    return b.select(trivial, big, scaled);
  });
}
Value copysign(Build& b, Value x, Value y) {
  return floating_pair(
      b, x, y, [&](const Value& l, const Value& r) { return b.select(signbit(b, r), b.negate(b.abs(l)), b.abs(l)); });
}
Value copysign_scalar(Build& b, Value x, Scalar y) { return copysign(b, x, number(b, y)); }
Value heaviside(Build& b, Value x, Value at_zero) {
  if (!x || !at_zero) return Value();
  if (x.dtype() != at_zero.dtype() || is_complex(x.dtype())) {
    return b.fail(Code::invalid_argument,
                  "heaviside is not yet implemented for complex tensors or tensors of different dtypes.");
  }
  Value step = b.select(b.compare(Direction::gt, x, 0), b.like(x, 1), b.like(x, 0));
  Value out = b.select(b.compare(Direction::eq, x, 0), at_zero, step);
  return is_floating(x.dtype()) ? b.select(b.is_nan(x), x, out) : out;
}
Value xlogy(Build& b, Value x, Value y) {
  return floating_pair(b, x, y, [&](const Value& l, const Value& r) {
    Value out = b.select(b.compare(Direction::eq, l, 0), b.like(l, 0), b.mul(l, b.log(r)));
    return b.select(b.is_nan(r), r, out);
  });
}
Value xlogy_scalar_other(Build& b, Value x, Scalar y) { return xlogy(b, x, number(b, y)); }
Value xlogy_scalar_self(Build& b, Scalar x, Value y) { return xlogy(b, number(b, x), y); }
Value logaddexp(Build& b, Value x, Value y) {
  return floating_pair(
      b, x, y,
      [&](const Value& l, const Value& r) {
        if (is_complex(l.dtype())) {
          Value first = b.compare(Direction::ge, b.real(l), b.real(r));
          Value top = b.select(first, l, r), low = b.select(first, r, l);
          return b.add(top, b.log1p(b.exponential(b.sub(low, top))));
        }
        Value top = b.maximum(l, r);
        Value sum = b.add(top, b.log1p(b.exponential(b.negate(b.abs(b.sub(l, r))))));
        Value same_infinity = b.and_(b.compare(Direction::eq, l, r), b.compare(Direction::eq, b.abs(l), INFINITY));
        return b.select(same_infinity, l, sum);
      },
      Order::free);
}

TP_OP("aten::exp", floating<Op::exponential>, Layout::pointwise);
TP_OP("aten::exp2", exp2, Layout::pointwise);
TP_OP("aten::expm1", floating<Op::exponential_minus_one>, Layout::pointwise);
TP_OP("aten::log", floating<Op::log>, Layout::pointwise);
TP_OP("aten::log1p", floating<Op::log_plus_one>, Layout::pointwise);
TP_OP("aten::log2", log2, Layout::pointwise);
TP_OP("aten::log10", log10, Layout::pointwise);
TP_OP("aten::sqrt", floating<Op::sqrt>, Layout::pointwise);
TP_OP("aten::rsqrt", floating<Op::rsqrt>, Layout::pointwise);
TP_OP("aten::sin", floating<Op::sine>, Layout::pointwise);
TP_OP("aten::cos", floating<Op::cosine>, Layout::pointwise);
TP_OP("aten::tan", floating<Op::tan>, Layout::pointwise);
TP_OP("aten::asin", floating<Op::asin>, Layout::pointwise);
TP_OP("aten::acos", floating<Op::acos>, Layout::pointwise);
TP_OP("aten::atan", atan, Layout::pointwise);
TP_OP("aten::sinh", floating<Op::sinh>, Layout::pointwise);
TP_OP("aten::cosh", floating<Op::cosh>, Layout::pointwise);
TP_OP("aten::tanh", floating<Op::tanh>, Layout::pointwise);
TP_OP("aten::asinh", floating<Op::asinh>, Layout::pointwise);
TP_OP("aten::acosh", floating<Op::acosh>, Layout::pointwise);
TP_OP("aten::atanh", floating<Op::atanh>, Layout::pointwise);
TP_OP("aten::sigmoid", floating<Op::logistic>, Layout::pointwise);
TP_OP("aten::erf", floating<Op::erf>, Layout::pointwise);
TP_OP("aten::erfc", floating<Op::erfc>, Layout::pointwise);
TP_OP("aten::erfinv", floating<Op::erf_inv>, Layout::pointwise);
TP_OP("aten::lgamma", floating<Op::lgamma>, Layout::pointwise);
TP_OP("aten::digamma", floating<Op::digamma>, Layout::pointwise);
TP_OP("aten::reciprocal", reciprocal, Layout::pointwise);
TP_OP("aten::sinc", sinc, Layout::pointwise);
TP_OP("aten::neg", neg, Layout::pointwise);
TP_OP("aten::abs", abs, Layout::pointwise);
TP_OP("aten::sign", sign, Layout::pointwise);
TP_OP("aten::sgn", sgn, Layout::pointwise);
TP_OP("aten::ceil", rounded<Op::ceil>, Layout::pointwise);
TP_OP("aten::floor", rounded<Op::floor>, Layout::pointwise);
TP_OP("aten::round", rounded<Op::round_nearest_even>, Layout::pointwise);
TP_OP("aten::round.decimals", round_decimals, Layout::pointwise);
TP_OP("aten::trunc", trunc, Layout::pointwise);
TP_OP("aten::frac", frac, Layout::pointwise);
TP_OP("aten::isnan", isnan, Layout::pointwise);
TP_OP("aten::isinf", isinf, Layout::pointwise);
TP_OP("aten::isposinf", isposinf, Layout::pointwise);
TP_OP("aten::isneginf", isneginf, Layout::pointwise);
TP_OP("aten::signbit", signbit, Layout::pointwise);
TP_OP("aten::nan_to_num", nan_to_num, Layout::pointwise);
TP_OP("aten::_conj_physical", conj_physical, Layout::pointwise);
TP_OP("aten::conj_physical", conj_physical, Layout::pointwise);
TP_OP("aten::angle", angle, Layout::pointwise);
TP_OP("aten::complex", make_complex, Layout::pointwise);
TP_OP("aten::polar", polar, Layout::pointwise);
TP_OP("aten::atan2", atan2, Layout::pointwise);
TP_OP("aten::hypot", hypot, Layout::pointwise);
TP_OP("aten::copysign.Tensor", copysign, Layout::pointwise);
TP_OP("aten::copysign.Scalar", copysign_scalar, Layout::pointwise);
TP_OP("aten::heaviside", heaviside, Layout::pointwise);
TP_OP("aten::xlogy.Tensor", xlogy, Layout::pointwise);
TP_OP("aten::xlogy.Scalar_Other", xlogy_scalar_other, Layout::pointwise);
TP_OP("aten::xlogy.Scalar_Self", xlogy_scalar_self, Layout::pointwise);
TP_OP("aten::logaddexp", logaddexp, Layout::pointwise);

}  // namespace
}  // namespace tp
