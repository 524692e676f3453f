// Normalisation, in the accumulate type. Statistics come back in it too.

#include "ops/op.h"
#include "ops/promote.h"

namespace tp {
namespace {

struct Statistics {
  Value mean, rstd, normal;  // of the reduced sizes kept as 1; normal has x's sizes
};

Statistics normalised(Build& b, const Value& x, const Dims& dims, double eps) {
  double n = 1;
  for (int64_t d : dims) n *= static_cast<double>(x.size(static_cast<int>(d)));
  auto mean_of = [&](const Value& v) { return b.keep_dims(b.div(b.sum(v, dims), n), x.dims(), dims, true); };
  Statistics s;
  s.mean = mean_of(x);
  Value centred = b.sub(x, s.mean);
  s.rstd = b.rsqrt(b.add(mean_of(b.mul(centred, centred)), eps));
  s.normal = b.mul(centred, s.rstd);
  return s;
}

Value scaled(Build& b, Value x, const std::optional<Value>& weight, const std::optional<Value>& bias, const Dims& sizes) {
  if (!x) return Value();
  if (weight) x = b.mul(x, b.reshape(b.convert(*weight, x.dtype()), sizes));
  if (bias) x = b.add(x, b.reshape(b.convert(*bias, x.dtype()), sizes));
  return x;
}

// --- layer norm: over the last dimensions

bool check_normalised(Build& b, const Value& x, const Dims& shape) {
  int shift = x.rank() - shape.rank();
  bool fits = shift >= 0 && !shape.empty();
  for (int i = 0; fits && i < shape.rank(); ++i) fits = x.size(shift + i) == shape[i];
  return b.require(fits, "Given normalized_shape=[" + dims_text(shape) + "], expected input with shape [*, " + dims_text(shape) +
                             "], but got input of size[" + dims_text(x.dims()) + "]");
}

Dims last_dims(const Value& x, const Dims& shape) {
  Dims dims;
  for (int i = x.rank() - shape.rank(); i < x.rank(); ++i) dims.push_back(i);
  return dims;
}

std::tuple<Value, Value, Value> layer_norm(Build& b, Value x, Dims shape, std::optional<Value> weight, std::optional<Value> bias,
                                           double eps) {
  if (!b.require_floating(x) || !check_normalised(b, x, shape)) return {};
  Statistics s = normalised(b, b.convert(x, accumulate_type(x.dtype())), last_dims(x, shape), eps);
  Value out = scaled(b, s.normal, weight, bias, shape);
  return {b.convert(out, x.dtype()), s.mean, s.rstd};
}

// Sums g and g * n over `dims` come back through the mean and the variance.
Value input_gradient(Build& b, const Value& g, const Value& normal, const Value& rstd, const Dims& dims) {
  double n = 1;
  for (int64_t d : dims) n *= static_cast<double>(g.size(static_cast<int>(d)));
  auto mean_of = [&](const Value& v) { return b.keep_dims(b.div(b.sum(v, dims), n), g.dims(), dims, true); };
  Value inner = b.sub(b.sub(g, mean_of(g)), b.mul(normal, mean_of(b.mul(g, normal))));
  return b.mul(inner, rstd);
}

std::tuple<Value, Value, Value> layer_norm_backward(Build& b, Value grad, Value x, Dims shape, Value mean, Value rstd,
                                                    std::optional<Value> weight, std::optional<Value> bias,
                                                    std::vector<bool> mask) {
  if (!grad || !x || !mean || !rstd) return {};
  Dtype wide = accumulate_type(x.dtype());
  Value g = b.convert(grad, wide), r = b.convert(rstd, wide);
  Value normal = b.mul(b.sub(b.convert(x, wide), b.convert(mean, wide)), r);
  Dims dims = last_dims(x, shape), outer = iota_dims(x.rank() - shape.rank());
  Value dx, dw, db;
  if (mask[0]) dx = b.convert(input_gradient(b, scaled(b, g, weight, {}, shape), normal, r, dims), x.dtype());
  if (mask[1] && weight) dw = b.convert(b.reshape(b.sum(b.mul(g, normal), outer), shape), weight->dtype());
  if (mask[2] && bias) db = b.convert(b.reshape(b.sum(g, outer), shape), bias->dtype());
  return {dx, dw, db};
}

// --- group norm: x is [n, c, …]; channels fall into groups

struct Groups {
  Dims split;    // [n, group, c / group, hw]
  Dims channel;  // the channel's sizes in it: [1, group, c / group, 1]
};
Groups groups_of(int64_t n, int64_t c, int64_t hw, int64_t group) {
  return {{n, group, c / group, hw}, {1, group, c / group, 1}};
}

std::tuple<Value, Value, Value> group_norm(Build& b, Value x, std::optional<Value> weight, std::optional<Value> bias, int64_t n,
                                           int64_t c, int64_t hw, int64_t group, double eps) {
  if (!b.require_floating(x)) return {};
  if (!b.require(group > 0 && c % group == 0, "Expected number of channels in input to be divisible by num_groups, but got input of shape [" +
                                                  dims_text(x.dims()) + "] and num_groups=" + std::to_string(group))) {
    return {};
  }
  Groups g = groups_of(n, c, hw, group);
  Statistics s = normalised(b, b.reshape(b.convert(x, accumulate_type(x.dtype())), g.split), {2, 3}, eps);
  Value out = scaled(b, s.normal, weight, bias, g.channel);
  return {b.convert(b.reshape(out, x.dims()), x.dtype()), b.reshape(s.mean, {n, group}), b.reshape(s.rstd, {n, group})};
}

std::tuple<Value, Value, Value> group_norm_backward(Build& b, Value grad, Value x, Value mean, Value rstd,
                                                    std::optional<Value> weight, int64_t n, int64_t c, int64_t hw, int64_t group,
                                                    std::vector<bool> mask) {
  if (!grad || !x || !mean || !rstd) return {};
  Dtype wide = accumulate_type(x.dtype());
  Groups s = groups_of(n, c, hw, group);
  Value g = b.reshape(b.convert(grad, wide), s.split), r = b.reshape(b.convert(rstd, wide), {n, group, 1, 1});
  Value centred = b.sub(b.reshape(b.convert(x, wide), s.split), b.reshape(b.convert(mean, wide), {n, group, 1, 1}));
  Value normal = b.mul(centred, r);
  Dtype kept = weight ? weight->dtype() : x.dtype();
  Value dx, dw, db;
  if (mask[0]) {
    Value inner = input_gradient(b, scaled(b, g, weight, {}, s.channel), normal, r, {2, 3});
    dx = b.convert(b.reshape(inner, x.dims()), x.dtype());
  }
  if (mask[1]) dw = b.convert(b.reshape(b.sum(b.mul(g, normal), {0, 3}), {c}), kept);
  if (mask[2]) db = b.convert(b.reshape(b.sum(g, {0, 3}), {c}), kept);
  return {dx, dw, db};
}

// --- batch norm with running statistics: x is [n, c, …]

std::tuple<Value, Value, Value> batch_norm_inference(Build& b, Value x, std::optional<Value> weight, std::optional<Value> bias,
                                                     Value mean, Value variance, double, double eps) {
  if (!b.require_floating(x) || !mean || !variance) return {};
  Dtype wide = accumulate_type(x.dtype());
  Dims channel(x.rank(), 1);
  channel[1] = x.size(1);
  Value rstd = b.rsqrt(b.add(b.convert(variance, wide), eps));
  Value normal = b.mul(b.sub(b.convert(x, wide), b.reshape(b.convert(mean, wide), channel)), b.reshape(rstd, channel));
  Value out = b.convert(scaled(b, normal, weight, bias, channel), x.dtype());
  return {out, b.constant_int(wide, 0, Dims{0}), b.constant_int(wide, 0, Dims{0})};
}

TP_OP("aten::native_layer_norm", layer_norm);
TP_OP("aten::native_layer_norm_backward", layer_norm_backward);
TP_OP("aten::native_group_norm", group_norm);
TP_OP("aten::native_group_norm_backward", group_norm_backward);
TP_OP("aten::_native_batch_norm_legit_no_training", batch_norm_inference);

}  // namespace
}  // namespace tp
