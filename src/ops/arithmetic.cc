// Arithmetic on two operands. Half types compute in f32 and round once, as PyTorch's CPU does.

#include "ops/op.h"
#include "ops/promote.h"

namespace tp {
namespace {

// y * alpha in the type the sum is computed in; alpha 1 costs nothing.
Value scaled(Build& b, const Value& y, const Scalar& alpha) {
  if (!y) return Value();
  if (alpha.is_floating() && (is_integral(y.dtype()) || y.dtype() == Dtype::pred)) {
    return b.fail(Code::invalid_argument,
                  "For integral input tensors, argument alpha must not be a floating point number.");
  }
  if (!alpha.is_complex() && alpha.real() == 1) return y;
  if (y.dtype() == Dtype::pred) return b.and_(y, b.constant(Dtype::pred, Scalar::of(alpha.truth())));
  return b.mul(y, b.constant(y.dtype(), alpha));
}

// The type to compute in: a number beside a half tensor keeps f32's digits, as in PyTorch.
Dtype compute_type(const Value& x, const Value& y, Dtype result) {
  bool number = x->op == Op::constant || y->op == Op::constant;
  return number ? accumulate_type(result) : result;
}

bool is_one(const Scalar& alpha) { return !alpha.is_complex() && alpha.real() == 1; }

Value sum_of(Build& b, Value x, Value y, const Scalar& alpha, bool subtract) {
  if (!x || !y) return Value();
  Dtype d = result_type(x, y);
  if (subtract && (x.dtype() == Dtype::pred || y.dtype() == Dtype::pred)) {
    const char* both = x.dtype() == y.dtype() ? "two bool tensors" : "a bool tensor";
    const char* instead = x.dtype() == y.dtype() ? "Use the `^` or `logical_xor()` operator instead."
                                                 : "If you are trying to invert a mask, use the `~` or "
                                                   "`logical_not()` operator instead.";
    return b.fail(Code::invalid_argument,
                  std::string("Subtraction, the `-` operator, with ") + both + " is not supported. " + instead);
  }
  if (d == Dtype::pred) return b.or_(x, scaled(b, y, alpha));
  // x + y rounds the same in f32 and in the half type itself; only a product in between needs the wide type.
  Dtype wide = is_one(alpha) ? compute_type(x, y, d) : accumulate_type(d);
  Value product = scaled(b, b.convert(y, wide), alpha);
  return b.convert(b.binary(subtract ? Op::subtract : Op::add, b.convert(x, wide), product), d);
}

Value add_tensor(Build& b, Value x, Value y, Scalar alpha) { return sum_of(b, x, y, alpha, false); }
Value add_scalar(Build& b, Value x, Scalar y, Scalar alpha) { return sum_of(b, x, number(b, y), alpha, false); }
Value sub_tensor(Build& b, Value x, Value y, Scalar alpha) { return sum_of(b, x, y, alpha, true); }
Value sub_scalar(Build& b, Value x, Scalar y, Scalar alpha) { return sum_of(b, x, number(b, y), alpha, true); }
Value rsub_tensor(Build& b, Value x, Value y, Scalar alpha) { return sum_of(b, y, x, alpha, true); }
Value rsub_scalar(Build& b, Value x, Scalar y, Scalar alpha) { return sum_of(b, number(b, y), x, alpha, true); }

Value mul_tensor(Build& b, Value x, Value y) {
  if (!x || !y) return Value();
  Dtype d = result_type(x, y);
  if (d == Dtype::pred) return b.and_(x, y);
  Dtype wide = compute_type(x, y, d);
  return b.convert(b.mul(b.convert(x, wide), b.convert(y, wide)), d);
}
Value mul_scalar(Build& b, Value x, Scalar y) { return mul_tensor(b, x, number(b, y)); }

Value div_tensor(Build& b, Value x, Value y) {
  if (!x || !y) return Value();
  Dtype d = result_type(x, y);
  if (!is_floating(d) && !is_complex(d)) d = default_dtype();
  Dtype wide = compute_type(x, y, d);
  return b.convert(divided(b, b.convert(x, wide), b.convert(y, wide)), d);
}
Value div_scalar(Build& b, Value x, Scalar y) { return div_tensor(b, x, number(b, y)); }

// Integer division by zero: PyTorch's CPU raises; on the device the value is not looked at and XLA's -1 comes out. A
// zero known on the host raises here too, where anything is divided.
bool divides_by_zero(Build& b, const Value& x, const Value& y) {
  if (!x || !y || is_floating(x.dtype()) || numel(x.dims()) == 0 || numel(y.dims()) == 0) {
    return false;
  }
  bool zero = y->op == Op::constant && is_integral(y.dtype()) && y->number.integer() == 0;
  return zero && !b.require(false, "ZeroDivisionError");
}

Value truncated(Build& b, const Value& q) {
  if (!q || !is_floating(q.dtype())) return q;
  return b.select(b.compare(Direction::lt, q, 0), b.ceil(q), b.floor(q));
}

// Floor division of integers from truncating division: one less where the signs differ and something is left.
Value floor_divided_integers(Build& b, const Value& x, const Value& y) {
  Value q = b.div(x, y), left = b.remainder(x, y);
  if (!q || is_unsigned(x.dtype())) return q;
  Value inexact = b.compare(Direction::ne, left, 0);
  Value opposite = b.compare(Direction::ne, b.compare(Direction::lt, left, 0), b.compare(Direction::lt, y, 0));
  return b.select(b.and_(inexact, opposite), b.sub(q, 1), q);
}

// fmod with the sign of the divisor.
Value python_remainder(Build& b, const Value& x, const Value& y) {
  Value r = b.remainder(x, y);
  if (!r || is_unsigned(x.dtype())) return r;
  Value opposite = b.compare(Direction::ne, b.compare(Direction::lt, r, 0), b.compare(Direction::lt, y, 0));
  return b.select(b.and_(b.compare(Direction::ne, r, 0), opposite), b.add(r, y), r);
}

// Python's float floor division: from the remainder, so that the quotient is exact where division would round up.
Value floor_divided_floats(Build& b, const Value& x, const Value& y) {
  Value left = b.remainder(x, y);
  Value opposite = b.compare(Direction::ne, b.compare(Direction::lt, left, 0), b.compare(Direction::lt, y, 0));
  Value q = b.div(b.sub(x, left), y);
  q = b.select(b.and_(b.compare(Direction::ne, left, 0), opposite), b.sub(q, 1), q);
  Value nearest = b.floor(q);
  Value fixed = b.select(b.compare(Direction::gt, b.sub(q, nearest), 0.5), b.add(nearest, 1), nearest);
  // A zero keeps the sign of the true quotient; division by zero is what it is.
  Value plain = b.div(x, y);
  Value out = b.select(b.compare(Direction::eq, q, 0), b.mul(plain, 0), fixed);
  return b.select(b.compare(Direction::eq, y, 0), plain, out);
}

Value floor_divide(Build& b, Value x, Value y) {
  if (divides_by_zero(b, x, y)) return Value();
  auto [l, r] = promoted(b, x, y);
  if (!l || !r) return Value();
  if (l.dtype() == Dtype::pred) return b.fail(Code::unimplemented, "not implemented for bool");
  if (is_complex(l.dtype())) return b.fail(Code::unimplemented, "not implemented for complex numbers");
  if (is_integral(l.dtype())) return floor_divided_integers(b, l, r);
  Dtype wide = accumulate_type(l.dtype());
  return b.convert(floor_divided_floats(b, b.convert(l, wide), b.convert(r, wide)), l.dtype());
}
Value floor_divide_scalar(Build& b, Value x, Scalar y) { return floor_divide(b, x, number(b, y)); }

Value div_mode(Build& b, Value x, Value y, std::optional<std::string_view> mode) {
  if (!mode) return div_tensor(b, x, y);
  if (*mode == "floor") return floor_divide(b, x, y);
  if (*mode != "trunc") {
    return b.fail(
        Code::invalid_argument,
        "div expected rounding_mode to be one of None, 'trunc', or 'floor' but found '" + std::string(*mode) + "'");
  }
  if (divides_by_zero(b, x, y)) return Value();
  auto [l, r] = promoted(b, x, y);
  return truncated(b, b.div(l, r));
}
Value div_scalar_mode(Build& b, Value x, Scalar y, std::optional<std::string_view> mode) {
  return div_mode(b, x, number(b, y), mode);
}

Value remainder_tensor(Build& b, Value x, Value y) {
  if (divides_by_zero(b, x, y)) return Value();
  auto [l, r] = promoted(b, x, y);
  if (!l || !r) return Value();
  if (l.dtype() == Dtype::pred || is_complex(l.dtype())) {
    return b.fail(Code::unimplemented, std::string("not implemented for ") + dtype_name(l.dtype()));
  }
  Dtype wide = accumulate_type(l.dtype());
  return b.convert(python_remainder(b, b.convert(l, wide), b.convert(r, wide)), l.dtype());
}
Value remainder_scalar(Build& b, Value x, Scalar y) { return remainder_tensor(b, x, number(b, y)); }
Value remainder_scalar_tensor(Build& b, Scalar x, Value y) { return remainder_tensor(b, number(b, x), y); }

Value fmod_tensor(Build& b, Value x, Value y) {
  if (divides_by_zero(b, x, y)) return Value();
  auto [l, r] = promoted(b, x, y);
  if (!require_real(b, l)) return Value();
  if (l.dtype() == Dtype::pred) return b.fail(Code::unimplemented, "not implemented for bool");
  return b.remainder(l, r);
}
Value fmod_scalar(Build& b, Value x, Scalar y) { return fmod_tensor(b, x, number(b, y)); }

template <Op op>
Value extreme(Build& b, Value x, Value y) {
  auto [l, r] = promoted(b, x, y);
  if (l && is_complex(l.dtype()))
    return b.fail(Code::invalid_argument, "maximum and minimum not implemented for complex tensors");
  return b.binary(op, l, r);
}

// A NaN loses against a number.
template <Op op>
Value extreme_number(Build& b, Value x, Value y) {
  auto [l, r] = promoted(b, x, y);
  Value best = extreme<op>(b, l, r);
  if (!best || !is_floating(best.dtype())) return best;
  return b.select(b.is_nan(l), r, b.select(b.is_nan(r), l, best));
}

// --- powers

Value powered(Build& b, const Value& x, const Value& y) {
  if (!x || !y) return Value();
  if (x.dtype() == Dtype::pred) return b.fail(Code::unimplemented, "not implemented for bool");
  Dtype wide = accumulate_type(x.dtype());
  return b.convert(b.power(b.convert(x, wide), b.convert(y, wide)), x.dtype());
}

Value pow_tensor_tensor(Build& b, Value x, Value y) {
  auto [l, r] = promoted(b, x, y);
  return powered(b, l, r);
}

Value pow_scalar(Build& b, Scalar x, Value y) {
  if (x.real() == 1 && !x.is_complex() && y) return b.constant(result_type(y, x), 1.0, y.dims());
  return pow_tensor_tensor(b, number(b, x), y);
}

Value pow_tensor_scalar(Build& b, Value x, Scalar n) {
  if (!x) return Value();
  Value base = b.convert(x, result_type(x, n));
  double e = n.real();
  if (is_integral(base.dtype()) && e < 0) {
    return b.fail(Code::invalid_argument, "Integers to negative integer powers are not allowed.");
  }
  if (n.is_complex() || base.dtype() == Dtype::pred) return powered(b, base, b.constant(base.dtype(), n, base.dims()));
  if (e == 0) return b.like(base, 1);
  if (e == 1) return base;
  return in_accumulate(b, base, [&](const Value& w) {
    if (e == 2) return b.mul(w, w);
    if (e == 3) return b.mul(b.mul(w, w), w);
    if (e == -1) return b.div(b.like(w, 1), w);
    if (e == -2) return b.div(b.like(w, 1), b.mul(w, w));
    if (e == 0.5 && is_floating(w.dtype())) return b.sqrt(w);
    if (e == -0.5 && is_floating(w.dtype())) return b.rsqrt(w);
    return b.power(w, b.constant(w.dtype(), n, w.dims()));
  });
}

// --- three operands

Value addcmul(Build& b, Value self, Value x, Value y, Scalar value) {
  if (!self || !x || !y) return Value();
  Dtype d = result_type(Values{self, x, y}), wide = accumulate_type(d);
  Value product = b.mul(scaled(b, b.convert(x, wide), value), b.convert(y, wide));
  return b.convert(b.add(b.convert(self, wide), product), d);
}

Value addcdiv(Build& b, Value self, Value x, Value y, Scalar value) {
  if (!self || !x || !y) return Value();
  Dtype d = result_type(Values{self, x, y}), wide = accumulate_type(d);
  if (is_integral(x.dtype()) && is_integral(y.dtype())) {
    return b.fail(
        Code::invalid_argument,
        "Integer division with addcdiv is no longer supported, and in a future release addcdiv will perform a "
        "true division of tensor1 and tensor2.");
  }
  Value quotient = b.div(scaled(b, b.convert(x, wide), value), b.convert(y, wide));
  return b.convert(b.add(b.convert(self, wide), quotient), d);
}

// PyTorch's two-sided formula: exact at both ends.
Value lerped(Build& b, const Value& start, const Value& end, const Value& weight) {
  Value span = b.sub(end, start);
  Value low = b.add(start, b.mul(weight, span));
  Value high = b.sub(end, b.mul(span, b.sub(b.like(weight, 1), weight)));
  return b.select(b.compare(Direction::lt, b.abs(weight), 0.5), low, high);
}

Value lerp_tensor(Build& b, Value start, Value end, Value weight) {
  if (!start || !end || !weight) return Value();
  if (start.dtype() != end.dtype()) {
    return b.fail(Code::invalid_argument, std::string("expected dtype ") + dtype_name(start.dtype()) +
                                              " for `end`, but got dtype " + dtype_name(end.dtype()));
  }
  if (!b.require_floating(start)) return Value();
  Dtype wide = accumulate_type(start.dtype());
  return b.convert(lerped(b, b.convert(start, wide), b.convert(end, wide), b.convert(weight, wide)), start.dtype());
}

Value lerp_scalar(Build& b, Value start, Value end, Scalar weight) {
  if (!start) return Value();
  double w = weight.real();
  if (weight.is_complex()) return lerp_tensor(b, start, end, b.constant(start.dtype(), weight));
  if (!end || start.dtype() != end.dtype() || !is_floating(start.dtype()))
    return lerp_tensor(b, start, end, number(b, weight));
  Dtype wide = accumulate_type(start.dtype());
  Value x = b.convert(start, wide), y = b.convert(end, wide);
  Value span = b.sub(y, x);
  Value out = w < 0.5 && w > -0.5 ? b.add(x, b.mul(span, w)) : b.sub(y, b.mul(span, 1 - w));
  return b.convert(out, start.dtype());
}

TP_OP("aten::add.Tensor", add_tensor, Layout::pointwise);
TP_OP("aten::add.Scalar", add_scalar, Layout::pointwise);
TP_OP("aten::sub.Tensor", sub_tensor, Layout::pointwise);
TP_OP("aten::sub.Scalar", sub_scalar, Layout::pointwise);
TP_OP("aten::rsub.Tensor", rsub_tensor, Layout::pointwise);
TP_OP("aten::rsub.Scalar", rsub_scalar, Layout::pointwise);
TP_OP("aten::mul.Tensor", mul_tensor, Layout::pointwise);
TP_OP("aten::mul.Scalar", mul_scalar, Layout::pointwise);
TP_OP("aten::div.Tensor", div_tensor, Layout::pointwise);
TP_OP("aten::div.Scalar", div_scalar, Layout::pointwise);
TP_OP("aten::div.Tensor_mode", div_mode, Layout::pointwise);
TP_OP("aten::div.Scalar_mode", div_scalar_mode, Layout::pointwise);
TP_OP("aten::floor_divide", floor_divide, Layout::pointwise);
TP_OP("aten::floor_divide.Scalar", floor_divide_scalar, Layout::pointwise);
TP_OP("aten::remainder.Tensor", remainder_tensor, Layout::pointwise);
TP_OP("aten::remainder.Scalar", remainder_scalar, Layout::pointwise);
TP_OP("aten::remainder.Scalar_Tensor", remainder_scalar_tensor, Layout::pointwise);
TP_OP("aten::fmod.Tensor", fmod_tensor, Layout::pointwise);
TP_OP("aten::fmod.Scalar", fmod_scalar, Layout::pointwise);
TP_OP("aten::maximum", extreme<Op::maximum>, Layout::pointwise);
TP_OP("aten::minimum", extreme<Op::minimum>, Layout::pointwise);
TP_OP("aten::fmax", extreme_number<Op::maximum>, Layout::pointwise);
TP_OP("aten::fmin", extreme_number<Op::minimum>, Layout::pointwise);
TP_OP("aten::pow.Tensor_Tensor", pow_tensor_tensor, Layout::pointwise);
TP_OP("aten::pow.Tensor_Scalar", pow_tensor_scalar, Layout::pointwise);
TP_OP("aten::pow.Scalar", pow_scalar, Layout::pointwise);
TP_OP("aten::addcmul", addcmul, Layout::pointwise);
TP_OP("aten::addcdiv", addcdiv, Layout::pointwise);
TP_OP("aten::lerp.Tensor", lerp_tensor, Layout::pointwise);
TP_OP("aten::lerp.Scalar", lerp_scalar, Layout::pointwise);

}  // namespace
}  // namespace tp
