// Comparisons, logic, and choosing by a condition.

#include "ops/op.h"
#include "ops/promote.h"

namespace tp {
namespace {

template <Direction direction>
Value compare_tensors(Build& b, Value x, Value y) {
  auto [l, r] = promoted(b, x, y);
  if (!l || !r) return Value();
  bool ordered = direction != Direction::eq && direction != Direction::ne;
  if (ordered && is_complex(l.dtype())) return b.fail(Code::unimplemented, "not implemented for complex numbers");
  return b.compare(direction, l, r);
}
template <Direction direction>
Value compare_scalar(Build& b, Value x, Scalar y) {
  return compare_tensors<direction>(b, x, number(b, y));
}

Value truth(Build& b, const Value& x) { return b.convert(x, Dtype::pred); }

template <Op op>
Value logical(Build& b, Value x, Value y) {
  return b.binary(op, truth(b, x), truth(b, y));
}
Value logical_not(Build& b, Value x) { return b.not_(truth(b, x)); }

template <Op op>
Value bitwise(Build& b, Value x, Value y) {
  auto [l, r] = promoted(b, x, y);
  if (!l || !r) return Value();
  if (is_floating(l.dtype()) || is_complex(l.dtype())) {
    return b.fail(Code::unimplemented, std::string("not implemented for ") + dtype_name(l.dtype()));
  }
  return b.binary(op, l, r);
}
template <Op op>
Value bitwise_scalar(Build& b, Value x, Scalar y) {
  return bitwise<op>(b, x, number(b, y));
}
template <Op op>
Value bitwise_scalar_tensor(Build& b, Scalar x, Value y) {
  return bitwise<op>(b, number(b, x), y);
}
Value bitwise_not(Build& b, Value x) { return b.not_(x); }

// A shift by the width or more, or by less than nothing, gives what shifting everything out gives.
template <bool left>
Value shift(Build& b, Value x, Value y) {
  auto [l, r] = promoted(b, x, y);
  if (!l || !r) return Value();
  if (!is_integral(l.dtype()))
    return b.fail(Code::unimplemented, std::string("not implemented for ") + dtype_name(l.dtype()));
  Value bits = b.constant_int(l.dtype(), 8 * dtype_size(l.dtype()));
  Value out = b.compare(Direction::ge, r, bits);
  if (!is_unsigned(l.dtype())) out = b.or_(out, b.compare(Direction::lt, r, 0));
  if (left) return b.select(out, b.like(l, 0), b.binary(Op::shift_left, l, r));
  Value gone =
      is_unsigned(l.dtype()) ? b.like(l, 0) : b.select(b.compare(Direction::lt, l, 0), b.like(l, -1), b.like(l, 0));
  Op op = is_unsigned(l.dtype()) ? Op::shift_right_logical : Op::shift_right_arithmetic;
  return b.select(out, gone, b.binary(op, l, r));
}
template <bool left>
Value shift_scalar(Build& b, Value x, Scalar y) {
  return shift<left>(b, x, number(b, y));
}
template <bool left>
Value shift_scalar_tensor(Build& b, Scalar x, Value y) {
  return shift<left>(b, number(b, x), y);
}

Value where(Build& b, Value condition, Value x, Value y) {
  if (!condition) return Value();
  if (condition.dtype() != Dtype::pred && condition.dtype() != Dtype::u8) {
    return b.fail(Code::invalid_argument,
                  std::string("where expected condition to be a boolean tensor, but got a tensor with dtype ") +
                      dtype_name(condition.dtype()));
  }
  auto [l, r] = promoted(b, x, y);
  return b.select(truth(b, condition), l, r);
}

Value masked_fill_tensor(Build& b, Value x, Value mask, Value value) {
  if (!x || !mask || !value) return Value();
  if (mask.dtype() != Dtype::pred) {
    return b.fail(
        Code::invalid_argument,
        std::string("masked_fill only supports boolean masks, but got mask with dtype ") + dtype_name(mask.dtype()));
  }
  if (value.rank() != 0) {
    return b.fail(Code::invalid_argument,
                  "masked_fill only supports a 0-dimensional value tensor, but got tensor with " +
                      std::to_string(value.rank()) + " dimension(s).");
  }
  bool narrows = (is_floating(value.dtype()) && !is_floating(x.dtype()) && !is_complex(x.dtype())) ||
                 (is_complex(value.dtype()) && !is_complex(x.dtype()));
  if (narrows) {
    return b.fail(Code::invalid_argument,
                  std::string("value cannot be converted to type ") + dtype_name(x.dtype()) + " without overflow");
  }
  return b.select(mask, b.convert(value, x.dtype()), x);
}
Value masked_fill_scalar(Build& b, Value x, Value mask, Scalar value) {
  return masked_fill_tensor(b, x, mask, number(b, value));
}

// --- clamp: a NaN stays one

Value bounded(Build& b, const Value& x, const std::optional<Value>& low, const std::optional<Value>& high) {
  if (!x) return Value();
  if (!low && !high)
    return b.fail(Code::invalid_argument, "torch.clamp: At least one of 'min' or 'max' must not be None");
  Values all{x};
  if (low) all.push_back(*low);
  if (high) all.push_back(*high);
  for (const Value& v : all) {
    if (!v) return Value();
    if (is_complex(v.dtype())) return b.fail(Code::unimplemented, "clamp is not supported for complex types");
  }
  Dtype d = result_type(all);
  Value out = b.convert(x, d);
  if (low) out = b.maximum(out, b.convert(*low, d));
  if (high) out = b.minimum(out, b.convert(*high, d));
  return out;
}
std::optional<Value> as_number(Build& b, const std::optional<Scalar>& n) {
  return n ? std::optional<Value>(number(b, *n)) : std::nullopt;
}
Value clamp_tensor(Build& b, Value x, std::optional<Value> low, std::optional<Value> high) {
  return bounded(b, x, low, high);
}
Value clamp(Build& b, Value x, std::optional<Scalar> low, std::optional<Scalar> high) {
  return bounded(b, x, as_number(b, low), as_number(b, high));
}
Value clamp_min(Build& b, Value x, Scalar low) { return bounded(b, x, number(b, low), std::nullopt); }
Value clamp_max(Build& b, Value x, Scalar high) { return bounded(b, x, std::nullopt, number(b, high)); }
Value clamp_min_tensor(Build& b, Value x, Value low) { return bounded(b, x, low, std::nullopt); }
Value clamp_max_tensor(Build& b, Value x, Value high) { return bounded(b, x, std::nullopt, high); }

TP_OP("aten::eq.Tensor", compare_tensors<Direction::eq>, Layout::pointwise);
TP_OP("aten::ne.Tensor", compare_tensors<Direction::ne>, Layout::pointwise);
TP_OP("aten::lt.Tensor", compare_tensors<Direction::lt>, Layout::pointwise);
TP_OP("aten::le.Tensor", compare_tensors<Direction::le>, Layout::pointwise);
TP_OP("aten::gt.Tensor", compare_tensors<Direction::gt>, Layout::pointwise);
TP_OP("aten::ge.Tensor", compare_tensors<Direction::ge>, Layout::pointwise);
TP_OP("aten::eq.Scalar", compare_scalar<Direction::eq>, Layout::pointwise);
TP_OP("aten::ne.Scalar", compare_scalar<Direction::ne>, Layout::pointwise);
TP_OP("aten::lt.Scalar", compare_scalar<Direction::lt>, Layout::pointwise);
TP_OP("aten::le.Scalar", compare_scalar<Direction::le>, Layout::pointwise);
TP_OP("aten::gt.Scalar", compare_scalar<Direction::gt>, Layout::pointwise);
TP_OP("aten::ge.Scalar", compare_scalar<Direction::ge>, Layout::pointwise);
TP_OP("aten::logical_and", logical<Op::and_>, Layout::pointwise);
TP_OP("aten::logical_or", logical<Op::or_>, Layout::pointwise);
TP_OP("aten::logical_xor", logical<Op::xor_>, Layout::pointwise);
TP_OP("aten::logical_not", logical_not, Layout::pointwise);
TP_OP("aten::bitwise_and.Tensor", bitwise<Op::and_>, Layout::pointwise);
TP_OP("aten::bitwise_or.Tensor", bitwise<Op::or_>, Layout::pointwise);
TP_OP("aten::bitwise_xor.Tensor", bitwise<Op::xor_>, Layout::pointwise);
TP_OP("aten::bitwise_and.Scalar", bitwise_scalar<Op::and_>, Layout::pointwise);
TP_OP("aten::bitwise_or.Scalar", bitwise_scalar<Op::or_>, Layout::pointwise);
TP_OP("aten::bitwise_xor.Scalar", bitwise_scalar<Op::xor_>, Layout::pointwise);
TP_OP("aten::bitwise_and.Scalar_Tensor", bitwise_scalar_tensor<Op::and_>, Layout::pointwise);
TP_OP("aten::bitwise_or.Scalar_Tensor", bitwise_scalar_tensor<Op::or_>, Layout::pointwise);
TP_OP("aten::bitwise_xor.Scalar_Tensor", bitwise_scalar_tensor<Op::xor_>, Layout::pointwise);
TP_OP("aten::bitwise_not", bitwise_not, Layout::pointwise);
TP_OP("aten::bitwise_left_shift.Tensor", shift<true>, Layout::pointwise);
TP_OP("aten::bitwise_right_shift.Tensor", shift<false>, Layout::pointwise);
TP_OP("aten::bitwise_left_shift.Tensor_Scalar", shift_scalar<true>, Layout::pointwise);
TP_OP("aten::bitwise_right_shift.Tensor_Scalar", shift_scalar<false>, Layout::pointwise);
TP_OP("aten::bitwise_left_shift.Scalar_Tensor", shift_scalar_tensor<true>, Layout::pointwise);
TP_OP("aten::bitwise_right_shift.Scalar_Tensor", shift_scalar_tensor<false>, Layout::pointwise);
TP_OP("aten::where.self", where, Layout::pointwise);
TP_OP("aten::masked_fill.Tensor", masked_fill_tensor, Layout::pointwise);
TP_OP("aten::masked_fill.Scalar", masked_fill_scalar, Layout::pointwise);
TP_OP("aten::clamp", clamp, Layout::pointwise);
TP_OP("aten::clamp.Tensor", clamp_tensor, Layout::pointwise);
TP_OP("aten::clamp_min", clamp_min, Layout::pointwise);
TP_OP("aten::clamp_max", clamp_max, Layout::pointwise);
TP_OP("aten::clamp_min.Tensor", clamp_min_tensor, Layout::pointwise);
TP_OP("aten::clamp_max.Tensor", clamp_max_tensor, Layout::pointwise);

}  // namespace
}  // namespace tp
