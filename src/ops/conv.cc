// Convolution and its gradients. All are one operation of StableHLO: the gradient of the input dilates the output's
// gradient and reverses the kernel (which is what a transposed convolution is), the gradient of the weight swaps
// batch and features.

#include "ops/op.h"

namespace tp {
namespace {

struct Settings {
  Dims strides, padding, dilation, output_padding;
  int64_t groups = 1;
};

// A list of one number stands for all dimensions.
Dims expanded(Build& b, const Dims& list, int spatial, std::string_view what) {
  if (list.size() == static_cast<size_t>(spatial)) return list;
  if (list.size() == 1) return Dims(static_cast<size_t>(spatial), list[0]);
  b.fail(Code::invalid_argument, "expected " + std::string(what) + " to be a single integer value or a list of " +
                                     std::to_string(spatial) + " values to match the convolution dimensions, but got " +
                                     std::to_string(list.size()) + " values");
  return Dims(static_cast<size_t>(spatial), 1);
}

Settings settings_of(Build& b, int spatial, const Dims& stride, const Dims& padding, const Dims& dilation,
                     const Dims& output_padding, int64_t groups) {
  Settings s{expanded(b, stride, spatial, "stride"), expanded(b, padding, spatial, "padding"),
             expanded(b, dilation, spatial, "dilation"), expanded(b, output_padding, spatial, "output_padding"),
             groups};
  b.require(groups > 0, "non-positive groups is not supported");
  for (int i = 0; i < spatial; ++i) {
    b.require(s.strides[i] > 0, "non-positive stride is not supported");
    b.require(s.padding[i] >= 0, "negative padding is not supported");
    b.require(s.dilation[i] > 0, "dilation should be greater than zero");
    b.require(s.output_padding[i] >= 0, "negative output_padding is not supported");
  }
  return s;
}

// Extent of the kernel along spatial dimension i, without its first element.
int64_t reach(const Value& weight, const Settings& s, int i) { return (weight.size(i + 2) - 1) * s.dilation[i]; }

Dims swapped_layout(int rank) {
  Dims layout = iota_dims(static_cast<size_t>(rank));
  std::swap(layout[0], layout[1]);
  return layout;
}

ConvolutionDims plain_dims(int rank, const Settings& s) {
  ConvolutionDims d;
  d.strides = s.strides;
  d.rhs_dilation = s.dilation;
  d.lhs_dilation = Dims(static_cast<size_t>(rank - 2), 1);
  d.pad_low = s.padding;
  d.pad_high = s.padding;
  d.groups = s.groups;
  d.input_layout = d.kernel_layout = d.output_layout = iota_dims(static_cast<size_t>(rank));
  return d;
}

// [in, out / groups, …] of a transposed convolution, or [out, in / groups, …] of a plain one, with the first two
// exchanged: [groups * second, first / groups, …].
Value exchanged(Build& b, const Value& weight, int64_t groups) {
  if (groups == 1) return b.swap_dims(weight, 0, 1);
  Dims split = weight.dims();
  split[0] /= groups;
  split.insert_at(0, groups);
  Value turned = b.swap_dims(b.reshape(weight, split), 1, 2);
  Dims joined = weight.dims();
  joined[0] = groups * weight.size(1);
  joined[1] = weight.size(0) / groups;
  return b.reshape(turned, joined);
}

// The plain convolution whose result has the spatial sizes `out`; padding at the end gives way.
Value convolved(Build& b, const Value& x, const Value& weight, const Settings& s, const Dims& out) {
  ConvolutionDims d = plain_dims(x.rank(), s);
  for (int i = 0; i + 2 < x.rank(); ++i) {
    d.pad_high[i] = (out[i] - 1) * s.strides[i] + 1 + reach(weight, s, i) - x.size(i + 2) - s.padding[i];
  }
  return b.convolution(x, weight, d);
}

// The transposed convolution whose result has the spatial sizes `out`.
Value spread_back(Build& b, const Value& grad, const Value& weight, const Settings& s, const Dims& out) {
  ConvolutionDims d = plain_dims(grad.rank(), s);
  Dims spatial;
  for (int i = 0; i + 2 < grad.rank(); ++i) {
    int64_t far = reach(weight, s, i), n = grad.size(i + 2);
    d.strides[i] = 1;
    d.lhs_dilation[i] = s.strides[i];
    d.pad_low[i] = far - s.padding[i];
    d.pad_high[i] = out[i] - (n - 1) * s.strides[i] - 1 - d.pad_low[i] + far;
    spatial.push_back(i + 2);
  }
  return b.convolution(grad, b.reverse(exchanged(b, weight, s.groups), spatial), d);
}

// The gradient of the weight of a plain convolution from x to what `grad` belongs to; `kernel` are its spatial sizes.
Value weight_gradient(Build& b, const Value& x, const Value& grad, const Settings& s, const Dims& kernel) {
  ConvolutionDims d = plain_dims(x.rank(), s);
  d.input_layout = d.kernel_layout = d.output_layout = swapped_layout(x.rank());
  d.strides = s.dilation;
  d.rhs_dilation = s.strides;
  d.groups = 1;
  d.batch_groups = s.groups;
  for (int i = 0; i + 2 < x.rank(); ++i) {
    int64_t extent = (grad.size(i + 2) - 1) * s.strides[i] + 1;
    d.pad_high[i] = extent + (kernel[i] - 1) * s.dilation[i] - x.size(i + 2) - s.padding[i];
  }
  return b.convolution(x, grad, d);
}

Dims spatial_sizes(const Value& x) { return Dims(x.dims().data() + 2, x.dims().size() - 2); }

Dims result_sizes(const Value& x, const Value& weight, const Settings& s, bool transposed) {
  Dims out;
  for (int i = 0; i + 2 < x.rank(); ++i) {
    int64_t n = x.size(i + 2), far = reach(weight, s, i);
    out.push_back(transposed ? (n - 1) * s.strides[i] - 2 * s.padding[i] + far + s.output_padding[i] + 1
                             : (n + 2 * s.padding[i] - far - 1) / s.strides[i] + 1);
  }
  return out;
}

bool check_operands(Build& b, const Value& x, const Value& weight, const Settings& s, bool transposed) {
  if (!b.require(x.rank() == weight.rank() && x.rank() >= 3,
                 "expected " + std::to_string(weight.rank()) +
                     "D (batched) input to convolution, but got input of size [" + dims_text(x.dims()) + "]") ||
      !b.require(x.dtype() == weight.dtype(), std::string("Input type (") + dtype_name(x.dtype()) +
                                                  ") and weight type (" + dtype_name(weight.dtype()) +
                                                  ") should be the same")) {
    return false;
  }
  int64_t features = transposed ? weight.size(0) : weight.size(1) * s.groups;
  b.require(weight.size(0) >= s.groups && weight.size(0) % s.groups == 0,
            "expected weight to be at least " + std::to_string(s.groups) +
                " at dimension 0 and divisible by groups, but got [" + dims_text(weight.dims()) + "]");
  b.require(x.size(1) == features, "given groups=" + std::to_string(s.groups) + ", weight of size [" +
                                       dims_text(weight.dims()) + "], expected input[" + dims_text(x.dims()) +
                                       "] to have " + std::to_string(features) + " channels, but got " +
                                       std::to_string(x.size(1)) + " channels instead");
  for (int i = 0; !transposed && i + 2 < x.rank(); ++i) {
    b.require(x.size(i + 2) + 2 * s.padding[i] > reach(weight, s, i),
              "calculated padded input size per channel is smaller than the kernel: [" + dims_text(x.dims()) +
                  "] with a kernel of [" + dims_text(weight.dims()) + "]");
  }
  return b.ok();
}

Value with_bias(Build& b, const Value& y, const std::optional<Value>& bias) {
  if (!bias || !y) return y;
  if (!b.require(bias->dtype() == y.dtype(), std::string("Input type (") + dtype_name(y.dtype()) + ") and bias type (" +
                                                 dtype_name(bias->dtype()) + ") should be the same") ||
      !b.require(bias->dims() == Dims{y.size(1)}, "expected bias to be 1-dimensional with " +
                                                      std::to_string(y.size(1)) + " elements, but got bias of size [" +
                                                      dims_text(bias->dims()) + "] instead")) {
    return Value();
  }
  return b.add(y, b.broadcast_in_dim(*bias, y.dims(), {1}));
}

Value convolution(Build& b, Value x, Value weight, std::optional<Value> bias, Dims stride, Dims padding, Dims dilation,
                  bool transposed, Dims output_padding, int64_t groups) {
  Settings s = settings_of(b, x.rank() - 2, stride, padding, dilation, output_padding, groups);
  if (!b.ok() || !check_operands(b, x, weight, s, transposed)) return Value();
  Dims out = result_sizes(x, weight, s, transposed);
  for (int64_t n : out) b.require(n >= 0, "the result of the convolution would have a negative size");
  if (!b.ok()) return Value();
  Value y = transposed ? spread_back(b, x, weight, s, out) : convolved(b, x, weight, s, out);
  return with_bias(b, y, bias);
}
TP_OP("aten::convolution", convolution);
TP_OP("aten::convolution_overrideable", convolution);

Value convolution_with_hints(Build& b, Value x, Value weight, std::optional<Value> bias, Dims stride, Dims padding,
                             Dims dilation, bool transposed, Dims output_padding, int64_t groups, bool, bool, bool,
                             bool) {
  return convolution(b, x, weight, bias, stride, padding, dilation, transposed, output_padding, groups);
}
TP_OP("aten::_convolution", convolution_with_hints);

// Over batch and space; in the accumulate type, as PyTorch's sum.
Value bias_gradient(Build& b, const Value& grad) {
  Dims dims{0};
  for (int i = 2; i < grad.rank(); ++i) dims.push_back(i);
  return b.convert(b.sum(b.convert(grad, accumulate_type(grad.dtype())), dims), grad.dtype());
}

std::tuple<Value, Value, Value> convolution_backward_overrideable(Build& b, Value grad, Value x, Value weight,
                                                                  Dims stride, Dims padding, Dims dilation,
                                                                  bool transposed, Dims output_padding, int64_t groups,
                                                                  std::vector<bool> wanted) {
  Settings s = settings_of(b, x.rank() - 2, stride, padding, dilation, output_padding, groups);
  if (!b.ok() || !check_operands(b, x, weight, s, transposed)) return {};
  Value to_x, to_weight, to_bias;
  if (wanted[0]) {
    to_x = transposed ? convolved(b, grad, weight, s, spatial_sizes(x))
                      : spread_back(b, grad, weight, s, spatial_sizes(x));
  }
  if (wanted[1]) {
    to_weight = transposed ? weight_gradient(b, grad, x, s, spatial_sizes(weight))
                           : weight_gradient(b, x, grad, s, spatial_sizes(weight));
  }
  if (wanted[2]) to_bias = bias_gradient(b, grad);
  return {to_x, to_weight, to_bias};
}
TP_OP("aten::convolution_backward_overrideable", convolution_backward_overrideable);

std::tuple<Value, Value, Value> convolution_backward(Build& b, Value grad, Value x, Value weight, std::optional<Dims>,
                                                     Dims stride, Dims padding, Dims dilation, bool transposed,
                                                     Dims output_padding, int64_t groups, std::vector<bool> wanted) {
  return convolution_backward_overrideable(b, grad, x, weight, stride, padding, dilation, transposed, output_padding,
                                           groups, wanted);
}
TP_OP("aten::convolution_backward", convolution_backward);

}  // namespace
}  // namespace tp
