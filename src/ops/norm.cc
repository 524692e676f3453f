// Normalisation, in the accumulate type. Statistics come back in it too.

#include "ops/op.h"
#include "ops/promote.h"

namespace tp {
namespace {

struct Statistics {
  Value mean, variance, rstd, normal;  // of the reduced sizes kept as 1; normal has x's sizes
};

Statistics normalised(Build& b, const Value& x, const Dims& dims, double eps) {
  double n = 1;
  for (int64_t d : dims) n *= static_cast<double>(x.size(static_cast<int>(d)));
  auto mean_of = [&](const Value& v) { return b.keep_dims(b.div(b.sum(v, dims), n), x.dims(), dims, true); };
  Statistics s;
  s.mean = mean_of(x);
  Value centred = b.sub(x, s.mean);
  s.variance = mean_of(b.mul(centred, centred));
  s.rstd = b.rsqrt(b.add(s.variance, eps));
  s.normal = b.mul(centred, s.rstd);
  return s;
}

Value scaled(Build& b, Value x, const std::optional<Value>& weight, const std::optional<Value>& bias,
             const Dims& sizes) {
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
  return b.require(fits, "Given normalized_shape=[" + dims_text(shape) + "], expected input with shape [*, " +
                             dims_text(shape) + "], but got input of size[" + dims_text(x.dims()) + "]");
}

Dims last_dims(const Value& x, const Dims& shape) {
  Dims dims;
  for (int i = x.rank() - shape.rank(); i < x.rank(); ++i) dims.push_back(i);
  return dims;
}

std::tuple<Value, Value, Value> layer_norm(Build& b, Value x, Dims shape, std::optional<Value> weight,
                                           std::optional<Value> bias, double eps) {
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

std::tuple<Value, Value, Value> group_norm(Build& b, Value x, std::optional<Value> weight, std::optional<Value> bias,
                                           int64_t n, int64_t c, int64_t hw, int64_t group, double eps) {
  if (!b.require_floating(x)) return {};
  if (!b.require(group > 0 && c % group == 0,
                 "Expected number of channels in input to be divisible by num_groups, but got input of shape [" +
                     dims_text(x.dims()) + "] and num_groups=" + std::to_string(group))) {
    return {};
  }
  Groups g = groups_of(n, c, hw, group);
  Statistics s = normalised(b, b.reshape(b.convert(x, accumulate_type(x.dtype())), g.split), {2, 3}, eps);
  Value out = scaled(b, s.normal, weight, bias, g.channel);
  return {b.convert(b.reshape(out, x.dims()), x.dtype()), b.reshape(s.mean, {n, group}), b.reshape(s.rstd, {n, group})};
}

std::tuple<Value, Value, Value> group_norm_backward(Build& b, Value grad, Value x, Value mean, Value rstd,
                                                    std::optional<Value> weight, int64_t n, int64_t c, int64_t hw,
                                                    int64_t group, std::vector<bool> mask) {
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

// --- batch norm: x is [n, c, …]; statistics are kept per channel

using ThreeValues = std::tuple<Value, Value, Value>;

struct Channels {
  Dims sizes;    // [1, c, 1, …]
  Dims reduced;  // all dimensions but the channel
};
Channels channels_of(Build& b, const Value& x) {
  Channels c{Dims(x.rank(), 1), {}};
  if (!b.require(x.rank() >= 2, "batch_norm expected an input of 2 or more dimensions, got " + type_text(x.type()))) {
    return c;
  }
  c.sizes[1] = x.size(1);
  for (int i = 0; i < x.rank(); ++i) {
    if (i != 1) c.reduced.push_back(i);
  }
  return c;
}

// With running statistics; the two saved ones are empty, since the gradient takes the running ones.
ThreeValues batch_norm_inference(Build& b, Value x, std::optional<Value> weight, std::optional<Value> bias, Value mean,
                                 Value variance, double, double eps) {
  if (!b.require_floating(x) || !mean || !variance) return {};
  Channels c = channels_of(b, x);
  if (!b.ok()) return {};
  Dtype wide = accumulate_type(x.dtype());
  Value rstd = b.rsqrt(b.add(b.convert(variance, wide), eps));
  Value centred = b.sub(b.convert(x, wide), b.reshape(b.convert(mean, wide), c.sizes));
  Value out = scaled(b, b.mul(centred, b.reshape(rstd, c.sizes)), weight, bias, c.sizes);
  Value none = b.constant_int(wide, 0, Dims{0});
  return {b.convert(out, x.dtype()), none, none};
}

struct Trained {
  Value out, mean, rstd;  // mean and rstd are [c], in the accumulate type
  Statistics statistics;
  double count = 0;  // elements a channel
};

Trained batch_norm_training(Build& b, const Value& x, const std::optional<Value>& weight,
                            const std::optional<Value>& bias, double eps) {
  Trained t;
  if (!b.require_floating(x)) return t;
  Channels c = channels_of(b, x);
  if (!b.ok()) return t;
  Value wide = b.convert(x, accumulate_type(x.dtype()));
  t.count = static_cast<double>(numel(x.dims())) / static_cast<double>(std::max<int64_t>(x.size(1), 1));
  t.statistics = normalised(b, wide, c.reduced, eps);
  t.out = b.convert(scaled(b, t.statistics.normal, weight, bias, c.sizes), x.dtype());
  t.mean = b.flatten(t.statistics.mean);
  t.rstd = b.flatten(t.statistics.rstd);
  return t;
}

ThreeValues batch_norm_without_statistics(Build& b, Value x, std::optional<Value> weight, std::optional<Value> bias,
                                          bool, double, double eps) {
  Trained t = batch_norm_training(b, x, weight, bias, eps);
  return {t.out, t.mean, t.rstd};
}

using FiveValues = std::tuple<Value, Value, Value, Value, Value>;

// The same with the new running statistics as results. Their variance is the unbiased one.
FiveValues batch_norm_functional(Build& b, Value x, std::optional<Value> weight, std::optional<Value> bias, Value mean,
                                 Value variance, bool training, double momentum, double eps) {
  if (!mean || !variance) return {};
  if (!training) {
    auto [out, saved_mean, saved_rstd] = batch_norm_inference(b, x, weight, bias, mean, variance, momentum, eps);
    return {out, saved_mean, saved_rstd, mean, variance};
  }
  Trained t = batch_norm_training(b, x, weight, bias, eps);
  if (!t.out) return {};
  auto moved = [&](const Value& running, const Value& now) {
    Value old = b.mul(b.convert(running, now.dtype()), 1 - momentum);
    return b.convert(b.add(old, b.mul(now, momentum)), running.dtype());
  };
  Value unbiased = b.mul(b.flatten(t.statistics.variance), t.count / std::max(t.count - 1, 1.0));
  return {t.out, t.mean, t.rstd, moved(mean, t.mean), moved(variance, unbiased)};
}

// Three results; training writes the running statistics.
FiveValues batch_norm(Build& b, Value x, std::optional<Value> weight, std::optional<Value> bias,
                      std::optional<Value> mean, std::optional<Value> variance, bool training, double momentum,
                      double eps) {
  if (training && mean && variance) {
    return batch_norm_functional(b, x, weight, bias, *mean, *variance, training, momentum, eps);
  }
  if (!training &&
      !b.require(mean && variance, "Expected running_mean and running_var to be defined when training is False")) {
    return {};
  }
  return std::tuple_cat(training ? batch_norm_without_statistics(b, x, weight, bias, training, momentum, eps)
                                 : batch_norm_inference(b, x, weight, bias, *mean, *variance, momentum, eps),
                        std::tuple<Value, Value>());
}

FiveValues batch_norm_with_statistics(Build& b, Value x, std::optional<Value> weight, std::optional<Value> bias,
                                      Value mean, Value variance, bool training, double momentum, double eps) {
  return batch_norm(b, x, weight, bias, mean, variance, training, momentum, eps);
}

ThreeValues batch_norm_backward(Build& b, Value grad, Value x, std::optional<Value> weight, std::optional<Value> mean,
                                std::optional<Value> variance, std::optional<Value> saved_mean,
                                std::optional<Value> saved_rstd, bool training, double eps, std::vector<bool> mask) {
  if (!grad || !b.require_floating(x)) return {};
  Channels c = channels_of(b, x);
  const std::optional<Value>& centre = training ? saved_mean : mean;
  const std::optional<Value>& spread = training ? saved_rstd : variance;
  if (!b.require(centre && spread, "batch_norm_backward expected the statistics of the forward pass")) return {};
  Dtype wide = accumulate_type(x.dtype());
  Value r = b.convert(*spread, wide);
  if (!training) r = b.rsqrt(b.add(r, eps));
  r = b.reshape(r, c.sizes);
  Value g = b.convert(grad, wide);
  Value normal = b.mul(b.sub(b.convert(x, wide), b.reshape(b.convert(*centre, wide), c.sizes)), r);
  Value dx, dw, db;
  if (mask[0]) {
    Value weighted = scaled(b, g, weight, {}, c.sizes);
    dx = training ? input_gradient(b, weighted, normal, r, c.reduced) : b.mul(weighted, r);
    dx = b.convert(dx, x.dtype());
  }
  Dtype kept = weight ? weight->dtype() : x.dtype();
  if (mask[1]) dw = b.convert(b.sum(b.mul(g, normal), c.reduced), kept);
  if (mask[2]) db = b.convert(b.sum(g, c.reduced), kept);
  return {dx, dw, db};
}

TP_OP("aten::native_layer_norm", layer_norm);
TP_OP("aten::native_layer_norm_backward", layer_norm_backward);
TP_OP("aten::native_group_norm", group_norm);
TP_OP("aten::native_group_norm_backward", group_norm_backward);
TP_OP("aten::native_batch_norm", batch_norm);
TP_OP("aten::native_batch_norm_backward", batch_norm_backward);
TP_OP("aten::_native_batch_norm_legit", batch_norm_with_statistics);
TP_OP("aten::_native_batch_norm_legit_no_training", batch_norm_inference);
TP_OP("aten::_native_batch_norm_legit.no_stats", batch_norm_without_statistics);
TP_OP("aten::_native_batch_norm_legit_functional", batch_norm_functional);

}  // namespace
}  // namespace tp
