// Resizing of the last dimensions: nearest, linear and cubic, with PyTorch's source index rule. Dimensions are
// independent, so each is resized by itself: a forward pass reads 1, 2 or 4 rows a result, a gradient multiplies by
// the matrix of the same weights.

#include <cmath>

#include "ops/op.h"

namespace tp {
namespace {

enum class Rule : uint8_t { nearest, nearest_exact, linear, cubic };

// One dimension's resizing.
struct Resize {
  int64_t input = 1, output = 1;
  Rule rule = Rule::nearest;
  bool align_corners = false;
  std::optional<double> scale;  // the user's factor, output / input
};

// Input elements an output element, in the precision in which PyTorch computes indices.
template <class Real>
Real step_of(const Resize& r) {
  if (r.align_corners) return r.output > 1 ? static_cast<Real>(r.input - 1) / static_cast<Real>(r.output - 1) : Real(0);
  if (r.scale && *r.scale > 0) return static_cast<Real>(1.0 / *r.scale);
  return static_cast<Real>(r.input) / static_cast<Real>(r.output);
}

int64_t nearest_index(const Resize& r, int64_t o) {
  float shift = r.rule == Rule::nearest_exact ? 0.5f : 0.0f;
  float at = (static_cast<float>(o) + shift) * step_of<float>(r);
  return std::min(static_cast<int64_t>(std::floor(at)), r.input - 1);
}

// Output elements that one input element fills when it is the same number for all, else 0.
int64_t repetition(const Resize& r) {
  if (r.input == 0 || r.output % r.input != 0) return 0;
  int64_t times = r.output / r.input;
  for (int64_t o = 0; o < r.output; ++o) {
    if (nearest_index(r, o) != o / times) return 0;
  }
  return times;
}

Value repeated(Build& b, const Value& x, int64_t dim, int64_t times) {
  if (!b.ok() || times == 1) return x;
  Dims wide = x.dims(), joined = x.dims(), mapping;
  wide.insert_at(static_cast<size_t>(dim + 1), times);
  joined[dim] *= times;
  for (int i = 0; i < wide.rank(); ++i) {
    if (i != dim + 1) mapping.push_back(i);
  }
  return b.reshape(b.broadcast_in_dim(x, wide, mapping), joined);
}

// The input index of each output element, s32[output].
Value nearest_indices(Build& b, const Resize& r) {
  Value o = b.iota(Dtype::f32, {r.output}, 0);
  if (r.rule == Rule::nearest_exact) o = b.add(o, 0.5);
  Value at = b.convert(b.floor(b.mul(o, static_cast<double>(step_of<float>(r)))), Dtype::s32);
  return b.minimum(at, b.constant_int(Dtype::s32, r.input - 1));
}

// Where each output element reads: `count` rows from `index`, with these weights.
struct Taps {
  std::vector<Value> index, weight;  // s32[output], real[output]
};

// |x| <= 1 and 1 < |x| < 2 of the cubic convolution with a = -0.75.
Value cubic_near(Build& b, const Value& x) {
  Value inner = b.sub(b.mul(x, 1.25), 2.25);
  return b.add(b.mul(b.mul(inner, x), x), 1.0);
}
Value cubic_far(Build& b, const Value& x) {
  Value inner = b.mul(b.sub(b.mul(x, -0.75), -3.75), x);
  return b.sub(b.mul(b.add(inner, -6.0), x), -3.0);
}

Value source_position(Build& b, const Resize& r, Dtype real) {
  double step = real == Dtype::f64 ? step_of<double>(r) : static_cast<double>(step_of<float>(r));
  Value o = b.iota(real, {r.output}, 0);
  if (r.align_corners) return b.mul(o, step);
  Value at = b.sub(b.mul(b.add(o, 0.5), step), 0.5);
  return r.rule == Rule::cubic ? at : b.maximum(at, b.scalar_like(at, 0));
}

Taps taps_of(Build& b, const Resize& r, Dtype real) {
  Value at = source_position(b, r, real);
  Value last = b.constant_int(Dtype::s32, r.input - 1), zero = b.constant_int(Dtype::s32, 0);
  Value low = b.minimum(b.convert(b.floor(at), Dtype::s32), last);
  Value t = b.clamp(b.scalar_like(at, 0), b.sub(at, b.convert(low, real)), b.scalar_like(at, 1));
  Value rest = b.sub(b.scalar_like(t, 1), t);
  auto moved = [&](double by) { return b.clamp(zero, b.add(low, by), last); };
  if (r.rule == Rule::linear) return {{low, moved(1)}, {rest, t}};
  return {{moved(-1), moved(0), moved(1), moved(2)},
          {cubic_far(b, b.add(t, 1.0)), cubic_near(b, t), cubic_near(b, rest), cubic_far(b, b.add(rest, 1.0))}};
}

// PyTorch looks at the sizes for linear, at the scale for cubic.
bool copies_all(const Resize& r) {
  return r.input == r.output && (r.rule == Rule::linear || r.align_corners || step_of<float>(r) == 1);
}

Value resized(Build& b, const Value& x, int64_t dim, const Resize& r) {
  if (!b.ok()) return Value();
  if (r.rule <= Rule::nearest_exact) {
    if (int64_t times = repetition(r)) return repeated(b, x, dim, times);
    return b.take(x, nearest_indices(b, r), dim);
  }
  if (copies_all(r)) return x;
  Taps taps = taps_of(b, r, x.dtype());
  Dims dims = x.dims();
  dims[dim] = r.output;
  Value sum;
  for (size_t i = 0; i < taps.index.size(); ++i) {
    Value part = b.mul(b.take(x, taps.index[i], dim), b.broadcast_in_dim(taps.weight[i], dims, {dim}));
    sum = sum ? b.add(sum, part) : part;
  }
  return sum;
}

// weight[o, i] of input element i in output element o.
Value weight_matrix(Build& b, const Resize& r, Dtype real) {
  Dims dims{r.output, r.input};
  Value column = b.iota(Dtype::s32, dims, 1), zero = b.constant_int(real, 0), sum;
  Taps taps;
  if (r.rule <= Rule::nearest_exact) {
    taps = {{nearest_indices(b, r)}, {b.constant_int(real, 1, {r.output})}};
  } else {
    taps = taps_of(b, r, real);
  }
  for (size_t i = 0; i < taps.index.size() && b.ok(); ++i) {
    Value mine = b.compare(Direction::eq, column, b.broadcast_in_dim(taps.index[i], dims, {0}));
    Value part = b.select(mine, b.broadcast_in_dim(taps.weight[i], dims, {0}), zero);
    sum = sum ? b.add(sum, part) : part;
  }
  return sum;
}

// The gradient of `resized`.
Value collected(Build& b, const Value& grad, int64_t dim, const Resize& r) {
  if (!b.ok()) return Value();
  int64_t times = r.rule <= Rule::nearest_exact ? repetition(r) : copies_all(r);
  if (times == 1) return grad;
  if (times > 1) {
    Dims split = grad.dims();
    split[dim] = r.input;
    split.insert_at(static_cast<size_t>(dim + 1), times);
    return b.sum(b.reshape(grad, split), {dim + 1});
  }
  Value product = b.dot_general(grad, weight_matrix(b, r, grad.dtype()), {.contract_a = {dim}, .contract_b = {0}});
  Dims permutation = iota_dims(grad.dims().size());
  permutation.pop_back();
  permutation.insert_at(static_cast<size_t>(dim), grad.rank() - 1);
  return b.transpose(product, permutation);
}

// What the user asked for, for all dimensions at once.
struct Request {
  Rule rule = Rule::nearest;
  bool align_corners = false;
  std::vector<std::optional<double>> scales;
};

Resize resize_of(const Request& request, size_t i, int64_t input, int64_t output) {
  return {input, output, request.rule, request.align_corners, request.scales[i]};
}

Value upsample(Build& b, const Value& x, const Dims& output, const Request& request) {
  int spatial = static_cast<int>(request.scales.size());
  bool copies = request.rule <= Rule::nearest_exact;
  if (!copies && !is_floating(x.dtype())) return b.decline("resizing of integers rounds in its own way");
  b.require(output.size() == request.scales.size(), "it is expected output_size equals to " + std::to_string(spatial) +
                                                        ", but got size " + std::to_string(output.size()));
  b.require(x.rank() == spatial + 2, "non-empty " + std::to_string(spatial + 2) +
                                         "D data tensor expected but got a tensor with sizes [" + dims_text(x.dims()) +
                                         "]");
  for (int i = 0; b.ok() && i < spatial; ++i) {
    b.require(x.size(i + 2) > 0 && output[i] > 0, "input and output sizes should be greater than 0, but got input [" +
                                                      dims_text(x.dims()) + "] output [" + dims_text(output) + "]");
  }
  if (!b.ok()) return Value();
  Value y = copies ? x : b.convert(x, accumulate_type(x.dtype()));
  for (size_t i = 0; i < request.scales.size(); ++i) {
    int64_t dim = static_cast<int64_t>(i) + 2;
    y = resized(b, y, dim, resize_of(request, i, x.size(static_cast<int>(dim)), output[i]));
  }
  return b.convert(y, x.dtype());
}

Value upsample_backward(Build& b, const Value& grad, const Dims& output, const Dims& input, const Request& request) {
  int spatial = static_cast<int>(request.scales.size());
  Dims expected = input;
  b.require(output.size() == request.scales.size() && input.size() == request.scales.size() + 2,
            "expected output_size and input_size of " + std::to_string(spatial) + " and " +
                std::to_string(spatial + 2) + " elements");
  for (int i = 0; b.ok() && i < spatial; ++i) expected[i + 2] = output[i];
  b.require(grad.dims() == expected, "expected grad_output to have size [" + dims_text(expected) + "], but got [" +
                                         dims_text(grad.dims()) + "]");
  if (!b.ok() || !b.require_floating(grad)) return Value();
  Value y = b.convert(grad, accumulate_type(grad.dtype()));
  for (size_t i = 0; i < request.scales.size(); ++i) {
    y = collected(b, y, static_cast<int64_t>(i) + 2, resize_of(request, i, input[i + 2], output[i]));
  }
  return b.convert(y, grad.dtype());
}

using Scale = std::optional<double>;

template <Rule rule>
Value nearest1d(Build& b, Value x, Dims output, Scale w) {
  return upsample(b, x, output, {rule, false, {w}});
}
template <Rule rule>
Value nearest2d(Build& b, Value x, Dims output, Scale h, Scale w) {
  return upsample(b, x, output, {rule, false, {h, w}});
}
template <Rule rule>
Value nearest3d(Build& b, Value x, Dims output, Scale d, Scale h, Scale w) {
  return upsample(b, x, output, {rule, false, {d, h, w}});
}
template <Rule rule>
Value nearest1d_backward(Build& b, Value grad, Dims output, Dims input, Scale w) {
  return upsample_backward(b, grad, output, input, {rule, false, {w}});
}
template <Rule rule>
Value nearest2d_backward(Build& b, Value grad, Dims output, Dims input, Scale h, Scale w) {
  return upsample_backward(b, grad, output, input, {rule, false, {h, w}});
}
template <Rule rule>
Value nearest3d_backward(Build& b, Value grad, Dims output, Dims input, Scale d, Scale h, Scale w) {
  return upsample_backward(b, grad, output, input, {rule, false, {d, h, w}});
}
TP_OP("aten::upsample_nearest1d", nearest1d<Rule::nearest>);
TP_OP("aten::upsample_nearest2d", nearest2d<Rule::nearest>);
TP_OP("aten::upsample_nearest3d", nearest3d<Rule::nearest>);
TP_OP("aten::_upsample_nearest_exact1d", nearest1d<Rule::nearest_exact>);
TP_OP("aten::_upsample_nearest_exact2d", nearest2d<Rule::nearest_exact>);
TP_OP("aten::_upsample_nearest_exact3d", nearest3d<Rule::nearest_exact>);
TP_OP("aten::upsample_nearest1d_backward", nearest1d_backward<Rule::nearest>);
TP_OP("aten::upsample_nearest2d_backward", nearest2d_backward<Rule::nearest>);
TP_OP("aten::upsample_nearest3d_backward", nearest3d_backward<Rule::nearest>);
TP_OP("aten::_upsample_nearest_exact1d_backward", nearest1d_backward<Rule::nearest_exact>);
TP_OP("aten::_upsample_nearest_exact2d_backward", nearest2d_backward<Rule::nearest_exact>);
TP_OP("aten::_upsample_nearest_exact3d_backward", nearest3d_backward<Rule::nearest_exact>);

Value linear1d(Build& b, Value x, Dims output, bool align, Scale w) {
  return upsample(b, x, output, {Rule::linear, align, {w}});
}
template <Rule rule>
Value smooth2d(Build& b, Value x, Dims output, bool align, Scale h, Scale w) {
  return upsample(b, x, output, {rule, align, {h, w}});
}
Value trilinear3d(Build& b, Value x, Dims output, bool align, Scale d, Scale h, Scale w) {
  return upsample(b, x, output, {Rule::linear, align, {d, h, w}});
}
Value linear1d_backward(Build& b, Value grad, Dims output, Dims input, bool align, Scale w) {
  return upsample_backward(b, grad, output, input, {Rule::linear, align, {w}});
}
template <Rule rule>
Value smooth2d_backward(Build& b, Value grad, Dims output, Dims input, bool align, Scale h, Scale w) {
  return upsample_backward(b, grad, output, input, {rule, align, {h, w}});
}
Value trilinear3d_backward(Build& b, Value grad, Dims output, Dims input, bool align, Scale d, Scale h, Scale w) {
  return upsample_backward(b, grad, output, input, {Rule::linear, align, {d, h, w}});
}
TP_OP("aten::upsample_linear1d", linear1d);
TP_OP("aten::upsample_bilinear2d", smooth2d<Rule::linear>);
TP_OP("aten::upsample_bicubic2d", smooth2d<Rule::cubic>);
TP_OP("aten::upsample_trilinear3d", trilinear3d);
TP_OP("aten::upsample_linear1d_backward", linear1d_backward);
TP_OP("aten::upsample_bilinear2d_backward", smooth2d_backward<Rule::linear>);
TP_OP("aten::upsample_bicubic2d_backward", smooth2d_backward<Rule::cubic>);
TP_OP("aten::upsample_trilinear3d_backward", trilinear3d_backward);

}  // namespace
}  // namespace tp
