// Tensors made from numbers.

#include <cmath>

#include "ops/op.h"
#include "ops/promote.h"

namespace tp {
namespace {

Dtype inferred(std::initializer_list<const Scalar*> numbers) {
  for (const Scalar* n : numbers) {
    if (n->is_complex()) return complex_type(default_dtype());
  }
  for (const Scalar* n : numbers) {
    if (n->is_floating()) return default_dtype();
  }
  return Dtype::s64;
}

// start, start + step, … below end.
Value range(Build& b, Scalar start, Scalar end, Scalar step, std::optional<Dtype> dtype) {
  if (dtype == Dtype::s64) {
    for (Scalar* n : {&start, &end, &step}) *n = Scalar::of(n->integer());
  }
  double from = start.real(), to = end.real(), by = step.real();
  if (!b.require(by != 0, Code::value, "step must be nonzero")) return Value();
  if (!b.require(std::isfinite(from) && std::isfinite(to),
                 "unsupported range: " + std::to_string(from) + " -> " + std::to_string(to))) {
    return Value();
  }
  if (!b.require((by > 0) == (to >= from) || to == from, "upper bound and lower bound inconsistent with step sign"))
    return Value();
  bool whole = start.is_integer() && end.is_integer() && step.is_integer();
  int64_t size = whole ? (end.integer() - start.integer() + step.integer() - (by > 0 ? 1 : -1)) / step.integer()
                       : static_cast<int64_t>(std::ceil((to - from) / by));
  Dtype d = dtype.value_or(inferred({&start, &end, &step}));
  Dtype wide = is_integral(d) || d == Dtype::pred ? Dtype::s64 : accumulate_type(d);
  // A float range given in integers beyond float's digits is still counted exactly, as in PyTorch.
  if (whole && is_floating(d)) wide = Dtype::s64;
  Dims dims{std::max<int64_t>(size, 0)};
  Value out = b.iota(wide, dims, 0);
  if (by != 1) out = b.mul(out, b.constant(wide, step, dims));
  if (from != 0 || !whole || wide == Dtype::s64) out = b.add(out, b.constant(wide, start, dims));
  return b.convert(out, d);
}

Value arange(Build& b, Scalar end, std::optional<Dtype> dtype, Ignored, Ignored, Ignored) {
  return range(b, Scalar::of(int64_t{0}), end, Scalar::of(int64_t{1}), dtype);
}
Value arange_start(Build& b, Scalar start, Scalar end, std::optional<Dtype> dtype, Ignored, Ignored, Ignored) {
  return range(b, start, end, Scalar::of(int64_t{1}), dtype);
}
Value arange_step(Build& b, Scalar start, Scalar end, Scalar step, std::optional<Dtype> dtype, Ignored, Ignored,
                  Ignored) {
  return range(b, start, end, step, dtype);
}

Dtype spaced_dtype(const Scalar& start, const Scalar& end, const std::optional<Dtype>& dtype) {
  if (dtype) return *dtype;
  return start.is_complex() || end.is_complex() ? complex_type(default_dtype()) : default_dtype();
}

// The type that the steps are counted in: an integer range too has fractions in between.
Dtype spaced_in(Dtype dtype) {
  return is_integral(dtype) || dtype == Dtype::pred ? Dtype::f64 : accumulate_type(dtype);
}

// An integer range has whole ends, as in PyTorch.
Scalar range_end(const Scalar& n, Dtype dtype) { return is_integral(dtype) ? Scalar::of(n.integer()) : n; }

// Both ends exact: counted from the nearer one, as PyTorch does.
Value spaced(Build& b, const Scalar& start, const Scalar& end, int64_t steps, Dtype wide) {
  if (!b.require(steps >= 0, "number of steps must be non-negative")) return Value();
  Dims dims{steps};
  if (steps == 1) return b.constant(wide, start, dims);
  std::complex<double> from(start.real(), start.imag()), to(end.real(), end.imag());
  std::complex<double> step = (to - from) / static_cast<double>(steps - 1);
  auto filled = [&](std::complex<double> z) {
    return b.constant(wide, is_complex(wide) ? Scalar::of(z) : Scalar::of(z.real()), dims);
  };
  Value i = b.iota(real_type(wide), dims, 0);
  Value left = b.sub(b.like(i, static_cast<double>(steps - 1)), i);
  Value low = b.add(filled(from), b.mul(b.convert(i, wide), filled(step)));
  Value high = b.sub(filled(to), b.mul(b.convert(left, wide), filled(step)));
  return b.select(b.compare(Direction::lt, i, static_cast<double>(steps / 2)), low, high);
}

Value linspace(Build& b, Scalar start, Scalar end, int64_t steps, std::optional<Dtype> dtype, Ignored, Ignored,
               Ignored) {
  Dtype d = spaced_dtype(start, end, dtype);
  return b.convert(spaced(b, range_end(start, d), range_end(end, d), steps, spaced_in(d)), d);
}

Value logspace(Build& b, Scalar start, Scalar end, int64_t steps, double base, std::optional<Dtype> dtype, Ignored,
               Ignored, Ignored) {
  Dtype d = spaced_dtype(start, end, dtype), wide = spaced_in(d);
  Value powers = spaced(b, range_end(start, d), range_end(end, d), steps, wide);
  return b.convert(b.power(b.constant(wide, base, Dims{steps}), powers), d);
}

Value full(Build& b, Dims size, Scalar value, std::optional<Dtype> dtype, Ignored, Ignored, Ignored) {
  for (int64_t n : size) {
    if (n < 0)
      return b.fail(Code::invalid_argument, "Trying to create tensor with negative dimension " + std::to_string(n) +
                                                ": [" + dims_text(size) + "]");
  }
  Dtype d = dtype.value_or(value.is_boolean() ? Dtype::pred : inferred({&value}));
  return b.convert(b.constant(d, value, size), d);
}
// PyTorch's zeros without memory; a constant has none either.
Value efficient_zeros(Build& b, Dims size, std::optional<Dtype> dtype, Ignored, Ignored, Ignored) {
  return b.constant_int(dtype.value_or(default_dtype()), 0, size);
}
Value scalar_tensor(Build& b, Scalar value, std::optional<Dtype> dtype, Ignored, Ignored, Ignored) {
  return b.constant(dtype.value_or(default_dtype()), value);
}

Value fill_scalar(Build& b, Value x, Scalar value) { return x ? b.constant(x.dtype(), value, x.dims()) : x; }
Value fill_tensor(Build& b, Value x, Value value) {
  if (!x || !value) return Value();
  if (!b.require(value.rank() == 0, "fill_ only supports 0-dimension value tensor but got tensor with " +
                                        std::to_string(value.rank()) + " dimensions.")) {
    return Value();
  }
  return b.broadcast_to(b.convert(value, x.dtype()), x.dims());
}
Value zero(Build& b, Value x) { return x ? b.constant_int(x.dtype(), 0, x.dims()) : x; }

Value eye_m(Build& b, int64_t n, int64_t m, std::optional<Dtype> dtype, Ignored, Ignored, Ignored) {
  if (!b.require(n >= 0 && m >= 0, "n must be greater or equal to 0, got " + std::to_string(std::min(n, m))))
    return Value();
  Dims dims{n, m};
  Value diagonal = b.compare(Direction::eq, b.iota(Dtype::s32, dims, 0), b.iota(Dtype::s32, dims, 1));
  return b.convert(diagonal, dtype.value_or(default_dtype()));
}
Value eye(Build& b, int64_t n, std::optional<Dtype> dtype, Ignored, Ignored, Ignored) {
  return eye_m(b, n, n, dtype, {}, {}, {});
}

template <bool lower>
Value triangle(Build& b, Value x, int64_t diagonal) {
  if (!x || !b.require(x.rank() >= 2, "triangle: input tensor must have at least 2 dimensions")) return Value();
  Value row = b.iota(Dtype::s64, x.dims(), x.rank() - 2), column = b.iota(Dtype::s64, x.dims(), x.rank() - 1);
  Value shifted = b.add(row, b.constant_int(Dtype::s64, diagonal, x.dims()));
  return b.select(b.compare(lower ? Direction::le : Direction::ge, column, shifted), x, b.constant_int(x.dtype(), 0));
}

TP_OP("aten::arange", arange);
TP_OP("aten::arange.start", arange_start);
TP_OP("aten::arange.start_step", arange_step);
TP_OP("aten::linspace", linspace);
TP_OP("aten::logspace", logspace);
TP_OP("aten::full", full);
TP_OP("aten::_efficientzerotensor", efficient_zeros);
TP_OP("aten::scalar_tensor", scalar_tensor);
TP_OP("aten::fill.Scalar", fill_scalar, Layout::pointwise);
TP_OP("aten::fill.Tensor", fill_tensor, Layout::pointwise);
TP_OP("aten::zero", zero, Layout::pointwise);
TP_OP("aten::eye", eye);
TP_OP("aten::eye.m", eye_m);
TP_OP("aten::tril", triangle<true>);
TP_OP("aten::triu", triangle<false>);

}  // namespace
}  // namespace tp
