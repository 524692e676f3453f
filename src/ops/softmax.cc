// Softmax and its gradients, in the accumulate type.

#include <cmath>

#include "ops/op.h"
#include "ops/promote.h"

namespace tp {
namespace {

// x minus its maximum along `dim`, so that no exponential overflows.
Value shifted(Build& b, const Value& x, int64_t dim) {
  return b.sub(x, b.spread(b.reduce(Combine::maximum, x, {dim}), x.dims(), {dim}));
}

Value soft_over(Build& b, const Value& x, int64_t dim) {
  Value e = b.exponential(shifted(b, x, dim));
  return b.div(e, b.spread(b.sum(e, {dim}), x.dims(), {dim}));
}

Value log_soft_over(Build& b, const Value& x, int64_t dim) {
  Value z = shifted(b, x, dim);
  return b.sub(z, b.spread(b.log(b.sum(b.exponential(z), {dim})), x.dims(), {dim}));
}

template <class F>
Value along(Build& b, const Value& x, int64_t dim, bool half_to_float, F compute) {
  if (!b.require_floating(x)) return Value();
  int64_t d = b.wrap_dim(dim, x.rank());
  if (!b.ok()) return Value();
  Dtype wide = accumulate_type(x.dtype());
  Value w = b.convert(x, wide);
  if (x.rank() == 0) w = b.reshape(w, {1});
  return b.reshape(b.convert(compute(w, d), half_to_float ? wide : x.dtype()), x.dims());
}

Value softmax(Build& b, Value x, int64_t dim, bool half_to_float) {
  return along(b, x, dim, half_to_float, [&](const Value& w, int64_t d) { return soft_over(b, w, d); });
}
Value log_softmax(Build& b, Value x, int64_t dim, bool half_to_float) {
  return along(b, x, dim, half_to_float, [&](const Value& w, int64_t d) { return log_soft_over(b, w, d); });
}

// A row of nothing but -inf gives zeros instead of NaN.
Value safe_softmax(Build& b, Value x, int64_t dim, std::optional<Dtype> dtype) {
  if (!x) return Value();
  Value typed = dtype ? b.convert(x, *dtype) : x;
  return along(b, typed, dim, false, [&](const Value& w, int64_t d) {
    Value masked = b.reduce(Combine::and_, b.compare(Direction::eq, w, -INFINITY), {d});
    return b.select(b.spread(masked, w.dims(), {d}), b.like(w, 0), soft_over(b, w, d));
  });
}

Value softmax_backward(Build& b, Value grad, Value y, int64_t dim, Dtype input) {
  if (!grad || !y) return Value();
  int64_t d = b.wrap_dim(dim, y.rank());
  if (!b.ok()) return Value();
  Dtype wide = accumulate_type(y.dtype());
  Value g = b.convert(grad, wide), w = b.convert(y, wide), product = b.mul(g, w);
  if (y.rank() == 0) return b.convert(b.sub(product, b.mul(w, product)), input);
  Value sum = b.spread(b.sum(product, {d}), y.dims(), {d});
  return b.convert(b.sub(product, b.mul(w, sum)), input);
}

Value log_softmax_backward(Build& b, Value grad, Value y, int64_t dim, Dtype input) {
  if (!grad || !y) return Value();
  int64_t d = b.wrap_dim(dim, y.rank());
  if (!b.ok()) return Value();
  Dtype wide = accumulate_type(y.dtype());
  Value g = b.convert(grad, wide), w = b.convert(y, wide);
  Value sum = y.rank() == 0 ? g : b.spread(b.sum(g, {d}), y.dims(), {d});
  return b.convert(b.sub(g, b.mul(b.exponential(w), sum)), input);
}

TP_OP("aten::_softmax", softmax);
TP_OP("aten::_log_softmax", log_softmax);
TP_OP("aten::_safe_softmax", safe_softmax);
TP_OP("aten::_softmax_backward_data", softmax_backward);
TP_OP("aten::_log_softmax_backward_data", log_softmax_backward);

}  // namespace
}  // namespace tp
