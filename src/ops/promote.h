#pragma once
// PyTorch's type promotion over Values. Tensors with dimensions outrank 0-d tensors, which outrank Python numbers; a
// lower rank decides only when its category (bool < integer < floating < complex) is higher.

#include <utility>

#include "stablehlo/build.h"

namespace tp {

// torch.get_default_dtype(): what integers become in a division and Python floats against integers. Set by the bridge.
Dtype default_dtype();
void set_default_dtype(Dtype dtype);

Dtype result_type(const Value& a, const Value& b);
Dtype result_type(const Values& values);
Dtype result_type(const Value& a, const Scalar& n);

// Both in their result type.
std::pair<Value, Value> promoted(Build& b, const Value& x, const Value& y);
// The same; integers and bools become default_dtype.
std::pair<Value, Value> promoted_floating(Build& b, const Value& x, const Value& y);
// x with integers and bools in default_dtype.
Value to_floating(Build& b, const Value& x);
// False, and "not implemented for c64", unless x's numbers have an order.
bool require_real(Build& b, const Value& x);
// x / y, rounded once. XLA multiplies by the reciprocal of a divisor that is one number, which loses the last bit.
Value divided(Build& b, const Value& x, const Value& y);
// A Python number as a 0-d value that promotes like one.
Value number(Build& b, const Scalar& n);

// Computes in accumulate_type and rounds once, as PyTorch's CPU does for half types.
template <class F>
Value in_accumulate(Build& b, const Value& x, F compute) {
  if (!x) return Value();
  return b.convert(compute(b.convert(x, accumulate_type(x.dtype()))), x.dtype());
}

// The same in double, of numbers that became floating.
template <class F>
Value in_double(Build& b, const Value& x, F compute) {
  Value floating = to_floating(b, x);
  if (!floating) return Value();
  return b.convert(compute(b.convert(floating, Dtype::f64)), floating.dtype());
}

}  // namespace tp
