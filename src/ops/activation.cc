// Activation functions and their gradients. Half types compute in f32 and round once.

#include <cmath>
#include <numbers>

#include "ops/op.h"
#include "ops/promote.h"

namespace tp {
namespace {

Value zero_below(Build& b, const Value& x) { return b.maximum(x, b.like(x, 0)); }

Value relu(Build& b, Value x) {
  if (x && x.dtype() == Dtype::pred) return b.fail(Code::invalid_argument, "Boolean inputs not supported for relu");
  return x ? zero_below(b, x) : Value();
}

// silu(x) = x * sigmoid(x), in the accumulate type: a bf16 sigmoid loses its tails.
Value silu(Build& b, Value x) {
  if (!b.require_floating(x)) return Value();
  return in_accumulate(b, x, [&](const Value& w) { return b.mul(w, b.logistic(w)); });
}

Value silu_backward(Build& b, Value grad, Value x) {
  if (!b.require_floating(x) || !grad) return Value();
  Dtype wide = accumulate_type(x.dtype());
  Value w = b.convert(x, wide), s = b.logistic(w);
  Value slope = b.mul(s, b.add(b.mul(w, b.sub(b.like(s, 1), s)), 1));
  return b.convert(b.mul(b.convert(grad, wide), slope), x.dtype());
}

// Hendrycks and Gimpel 2016, arXiv:1606.08415: exact with erf, or by tanh.
bool known(Build& b, std::string_view approximate) {
  return b.require(approximate == "none" || approximate == "tanh", "approximate argument must be either none or tanh.");
}
Value gelu(Build& b, Value x, std::string_view approximate) {
  if (!b.require_floating(x) || !known(b, approximate)) return Value();
  return in_accumulate(b, x, [&](const Value& w) {
    if (approximate != "tanh") {
      return b.mul(b.mul(w, 0.5), b.add(b.erf(b.mul(w, std::numbers::sqrt2 / 2)), 1));
    }
    Value cube = b.mul(b.mul(w, w), w);
    Value inner = b.mul(b.add(w, b.mul(cube, 0.044715)), std::sqrt(2 / std::numbers::pi));
    return b.mul(b.mul(w, 0.5), b.add(b.tanh(inner), 1));
  });
}

Value gelu_backward(Build& b, Value grad, Value x, std::string_view approximate) {
  if (!b.require_floating(x) || !grad || !known(b, approximate)) return Value();
  Dtype wide = accumulate_type(x.dtype());
  Value w = b.convert(x, wide), slope;
  if (approximate != "tanh") {
    Value cdf = b.mul(b.add(b.erf(b.mul(w, std::numbers::sqrt2 / 2)), 1), 0.5);
    Value pdf = b.mul(b.exponential(b.mul(b.mul(w, w), -0.5)), 1 / std::sqrt(2 * std::numbers::pi));
    slope = b.add(cdf, b.mul(w, pdf));
  } else {
    constexpr double kCube = 0.044715;
    const double scale = std::sqrt(2 / std::numbers::pi);
    Value square = b.mul(w, w);
    Value t = b.tanh(b.mul(b.add(w, b.mul(b.mul(square, w), kCube)), scale));
    Value inner_slope = b.mul(b.add(b.mul(square, 3 * kCube), 1), scale);
    Value left = b.mul(b.add(t, 1), 0.5);
    Value right = b.mul(b.mul(b.mul(w, 0.5), b.sub(b.like(t, 1), b.mul(t, t))), inner_slope);
    slope = b.add(left, right);
  }
  return b.convert(b.mul(b.convert(grad, wide), slope), x.dtype());
}

// Where x is above the threshold x (or grad), else a number.
Value threshold(Build& b, Value x, Scalar limit, Scalar value) {
  if (!x) return Value();
  return b.select(b.compare(Direction::le, x, b.constant(x.dtype(), limit)), b.constant(x.dtype(), value, x.dims()), x);
}
Value threshold_backward(Build& b, Value grad, Value x, Scalar limit) {
  if (!grad || !x) return Value();
  return b.select(b.compare(Direction::le, x, b.constant(x.dtype(), limit)), b.constant_int(grad.dtype(), 0), grad);
}

Value hardtanh(Build& b, Value x, Scalar low, Scalar high) {
  if (x && x.dtype() == Dtype::pred) return b.fail(Code::invalid_argument, "Bool inputs not supported for hardtanh");
  return x ? b.clamp(b.constant(x.dtype(), low), x, b.constant(x.dtype(), high)) : Value();
}
Value hardtanh_backward(Build& b, Value grad, Value x, Scalar low, Scalar high) {
  if (!grad || !x) return Value();
  Value outside = b.or_(b.compare(Direction::le, x, b.constant(x.dtype(), low)),
                        b.compare(Direction::ge, x, b.constant(x.dtype(), high)));
  return b.select(outside, b.constant_int(grad.dtype(), 0), grad);
}

Value leaky_relu(Build& b, Value x, Scalar slope) {
  if (!b.require_floating(x)) return Value();
  return in_accumulate(
      b, x, [&](const Value& w) { return b.select(b.compare(Direction::gt, w, 0), w, b.mul(w, slope.real())); });
}
Value leaky_relu_backward(Build& b, Value grad, Value x, Scalar slope, bool) {
  if (!grad || !x) return Value();
  return in_accumulate(
      b, grad, [&](const Value& g) { return b.select(b.compare(Direction::gt, x, 0), g, b.mul(g, slope.real())); });
}

Value elu(Build& b, Value x, Scalar alpha, Scalar scale, Scalar input_scale) {
  if (!b.require_floating(x)) return Value();
  return in_accumulate(b, x, [&](const Value& w) {
    Value below = b.mul(b.expm1(b.mul(w, input_scale.real())), alpha.real() * scale.real());
    return b.select(b.compare(Direction::le, w, 0), below, b.mul(w, scale.real()));
  });
}
Value elu_backward(Build& b, Value grad, Scalar alpha, Scalar scale, Scalar input_scale, bool is_result, Value x) {
  if (!grad || !x) return Value();
  Dtype wide = accumulate_type(grad.dtype());
  Value g = b.convert(grad, wide), w = b.convert(x, wide);
  double a = alpha.real(), s = scale.real(), i = input_scale.real();
  Value below =
      is_result ? b.mul(b.mul(g, i), b.add(w, a * s)) : b.mul(b.mul(g, i * a * s), b.exponential(b.mul(w, i)));
  return b.convert(b.select(b.compare(Direction::le, w, 0), below, b.mul(g, s)), grad.dtype());
}

Value hardsigmoid(Build& b, Value x) {
  if (!b.require_floating(x)) return Value();
  return in_accumulate(
      b, x, [&](const Value& w) { return b.div(b.clamp(b.scalar_like(w, 0), b.add(w, 3), b.scalar_like(w, 6)), 6); });
}
Value hardsigmoid_backward(Build& b, Value grad, Value x) {
  if (!grad || !x) return Value();
  Value inside = b.and_(b.compare(Direction::gt, x, -3), b.compare(Direction::lt, x, 3));
  return b.select(inside, in_accumulate(b, grad, [&](const Value& g) { return b.mul(g, 1.0 / 6); }), b.like(grad, 0));
}
Value hardswish(Build& b, Value x) {
  if (!b.require_floating(x)) return Value();
  return in_accumulate(b, x, [&](const Value& w) {
    return b.div(b.mul(w, b.clamp(b.scalar_like(w, 0), b.add(w, 3), b.scalar_like(w, 6))), 6);
  });
}
Value hardswish_backward(Build& b, Value grad, Value x) {
  if (!grad || !x) return Value();
  Dtype wide = accumulate_type(x.dtype());
  Value g = b.convert(grad, wide), w = b.convert(x, wide);
  Value middle = b.mul(g, b.add(b.div(w, 3), 0.5));
  Value out =
      b.select(b.compare(Direction::le, w, -3), b.like(w, 0), b.select(b.compare(Direction::lt, w, 3), middle, g));
  return b.convert(out, grad.dtype());
}

Value softplus(Build& b, Value x, Scalar beta, Scalar limit) {
  if (!b.require_floating(x)) return Value();
  return in_accumulate(b, x, [&](const Value& w) {
    Value at = b.mul(w, beta.real());
    return b.select(b.compare(Direction::gt, at, limit.real()), w, b.div(b.log1p(b.exponential(at)), beta.real()));
  });
}
Value softplus_backward(Build& b, Value grad, Value x, Scalar beta, Scalar limit) {
  if (!grad || !x) return Value();
  Dtype wide = accumulate_type(x.dtype());
  Value g = b.convert(grad, wide), at = b.mul(b.convert(x, wide), beta.real());
  return b.convert(b.select(b.compare(Direction::gt, at, limit.real()), g, b.mul(g, b.logistic(at))), grad.dtype());
}

Value mish(Build& b, Value x) {
  if (!b.require_floating(x)) return Value();
  return in_accumulate(b, x, [&](const Value& w) { return b.mul(w, b.tanh(b.log1p(b.exponential(w)))); });
}
Value mish_backward(Build& b, Value grad, Value x) {
  if (!grad || !x) return Value();
  Dtype wide = accumulate_type(x.dtype());
  Value g = b.convert(grad, wide), w = b.convert(x, wide), s = b.logistic(w);
  Value t = b.tanh(b.log1p(b.exponential(w)));
  Value slope = b.add(t, b.mul(b.mul(w, s), b.sub(b.like(t, 1), b.mul(t, t))));
  return b.convert(b.mul(g, slope), grad.dtype());
}

// log(sigmoid(x)) = min(x, 0) - log1p(exp(-|x|)); the second result is a buffer that our gradient does not use.
std::tuple<Value, Value> log_sigmoid_forward(Build& b, Value x) {
  if (!b.require_floating(x)) return {};
  Value out = in_accumulate(b, x, [&](const Value& w) {
    return b.sub(b.minimum(w, b.like(w, 0)), b.log1p(b.exponential(b.negate(b.abs(w)))));
  });
  return {out, b.constant_int(x.dtype(), 0, Dims{0})};
}
Value log_sigmoid_backward(Build& b, Value grad, Value x, Value) {
  if (!grad || !x) return Value();
  Dtype wide = accumulate_type(x.dtype());
  return b.convert(b.mul(b.convert(grad, wide), b.logistic(b.negate(b.convert(x, wide)))), grad.dtype());
}

Value sigmoid_backward(Build& b, Value grad, Value y) {
  if (!grad || !y) return Value();
  Dtype wide = accumulate_type(y.dtype());
  Value w = b.convert(y, wide);
  return b.convert(b.mul(b.convert(grad, wide), b.mul(w, b.sub(b.like(w, 1), w))), grad.dtype());
}
Value tanh_backward(Build& b, Value grad, Value y) {
  if (!grad || !y) return Value();
  Dtype wide = accumulate_type(y.dtype());
  Value w = b.convert(y, wide);
  return b.convert(b.mul(b.convert(grad, wide), b.sub(b.like(w, 1), b.mul(w, w))), grad.dtype());
}

struct Halves {
  Value first, second;
};
Halves split(Build& b, const Value& x, int64_t dim) {
  int64_t d = b.wrap_dim(dim, x.rank());
  if (!b.require(x.rank() > 0, "glu does not support 0-dimensional tensors") || !b.ok()) return {};
  int64_t n = x.size(static_cast<int>(d));
  if (!b.require(n % 2 == 0, "Halving dimension must be even, but dimension " + std::to_string(d) + " is size " +
                                 std::to_string(n)))
    return {};
  return {b.slice_dim(x, d, 0, n / 2), b.slice_dim(x, d, n / 2, n)};
}
Value glu(Build& b, Value x, int64_t dim) {
  if (!b.require_floating(x)) return Value();
  auto [first, second] = split(b, x, dim);
  if (!first) return Value();
  Dtype wide = accumulate_type(x.dtype());
  return b.convert(b.mul(b.convert(first, wide), b.logistic(b.convert(second, wide))), x.dtype());
}
Value glu_backward(Build& b, Value grad, Value x, int64_t dim) {
  if (!grad || !b.require_floating(x)) return Value();
  auto [first, second] = split(b, x, dim);
  if (!first) return Value();
  Dtype wide = accumulate_type(x.dtype());
  Value g = b.convert(grad, wide), f = b.convert(first, wide), s = b.logistic(b.convert(second, wide));
  Value left = b.mul(g, s), right = b.mul(b.mul(b.mul(g, f), s), b.sub(b.like(s, 1), s));
  return b.convert(b.concatenate({left, right}, b.wrap_dim(dim, x.rank())), x.dtype());
}

Value prelu(Build& b, Value x, Value weight) {
  if (!x || !weight) return Value();
  return b.select(b.compare(Direction::gt, x, 0), x, b.mul(weight, x));
}
Value softshrink(Build& b, Value x, Scalar limit) {
  if (!b.require_floating(x)) return Value();
  double l = limit.real();
  if (!b.require(l >= 0, "lambda must be greater or equal to 0, but found to be " + std::to_string(l) + ".")) {
    return Value();
  }
  return b.select(b.compare(Direction::gt, x, l), b.sub(x, l),
                  b.select(b.compare(Direction::lt, x, -l), b.add(x, l), b.mul(x, 0)));
}
Value hardshrink(Build& b, Value x, Scalar limit) {
  if (!b.require_floating(x)) return Value();
  double l = limit.real();
  Value inside = b.and_(b.compare(Direction::ge, x, -l), b.compare(Direction::le, x, l));
  return b.select(inside, b.like(x, 0), x);
}

// Both keep the gradient where the function let x through.
Value shrink_backward(Build& b, Value grad, Value x, Scalar limit) {
  if (!grad || !x) return Value();
  double l = limit.real();
  Value inside = b.and_(b.compare(Direction::ge, x, -l), b.compare(Direction::le, x, l));
  return b.select(inside, b.like(grad, 0), grad);
}

std::tuple<Value, Value> prelu_backward(Build& b, Value grad, Value x, Value weight) {
  if (!grad || !x || !weight) return {};
  Value above = b.compare(Direction::gt, x, 0);
  return {b.select(above, grad, b.mul(weight, grad)), b.select(above, b.like(grad, 0), b.mul(x, grad))};
}

TP_OP("aten::relu", relu, Layout::pointwise);
TP_OP("aten::silu", silu, Layout::pointwise);
TP_OP("aten::silu_backward", silu_backward, Layout::pointwise);
TP_OP("aten::gelu", gelu, Layout::pointwise);
TP_OP("aten::gelu_backward", gelu_backward, Layout::pointwise);
TP_OP("aten::threshold", threshold, Layout::pointwise);
TP_OP("aten::threshold_backward", threshold_backward, Layout::pointwise);
TP_OP("aten::hardtanh", hardtanh, Layout::pointwise);
TP_OP("aten::hardtanh_backward", hardtanh_backward, Layout::pointwise);
TP_OP("aten::leaky_relu", leaky_relu, Layout::pointwise);
TP_OP("aten::leaky_relu_backward", leaky_relu_backward, Layout::pointwise);
TP_OP("aten::elu", elu, Layout::pointwise);
TP_OP("aten::elu_backward", elu_backward, Layout::pointwise);
TP_OP("aten::hardsigmoid", hardsigmoid, Layout::pointwise);
TP_OP("aten::hardsigmoid_backward", hardsigmoid_backward, Layout::pointwise);
TP_OP("aten::hardswish", hardswish, Layout::pointwise);
TP_OP("aten::hardswish_backward", hardswish_backward, Layout::pointwise);
TP_OP("aten::softplus", softplus, Layout::pointwise);
TP_OP("aten::softplus_backward", softplus_backward, Layout::pointwise);
TP_OP("aten::mish", mish, Layout::pointwise);
TP_OP("aten::mish_backward", mish_backward, Layout::pointwise);
TP_OP("aten::log_sigmoid_forward", log_sigmoid_forward);
TP_OP("aten::log_sigmoid_backward", log_sigmoid_backward, Layout::pointwise);
TP_OP("aten::sigmoid_backward", sigmoid_backward, Layout::pointwise);
TP_OP("aten::tanh_backward", tanh_backward, Layout::pointwise);
TP_OP("aten::glu", glu);
TP_OP("aten::glu_backward", glu_backward);
TP_OP("aten::_prelu_kernel", prelu, Layout::pointwise);
TP_OP("aten::softshrink", softshrink, Layout::pointwise);
TP_OP("aten::hardshrink", hardshrink, Layout::pointwise);
TP_OP("aten::softshrink_backward", shrink_backward, Layout::pointwise);
TP_OP("aten::hardshrink_backward", shrink_backward, Layout::pointwise);
TP_OP("aten::_prelu_kernel_backward", prelu_backward, Layout::pointwise);

}  // namespace
}  // namespace tp
