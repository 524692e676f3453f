// Max pooling with indices. One dimension is pooled after the other, from the last: the row's winner carries its flat
// index along, and a strict comparison keeps the first of equals, as in PyTorch, where also the last NaN wins.

#include "ops/op.h"
#include "ops/window.h"

namespace tp {
namespace {

// Above this many elements a window is read by a gather; below, by as many shifted slices, which fuse.
constexpr int64_t kFewShifts = 32;

struct Best {
  Value value;
  Value index;  // the flat index in the plane, negative in padding; empty before the first pooling
  Dtype index_dtype = Dtype::s32;
};

Value or_nan(Build& b, const Value& condition, const Value& x) {
  return is_floating(x.dtype()) ? b.or_(condition, b.is_nan(x)) : condition;
}

Value padded(Build& b, const Value& x, int64_t dim, const Window& w, const Value& fill) {
  Dims low(x.dims().size(), 0), high = low, none = low;
  low[dim] = w.padding;
  high[dim] = std::max<int64_t>(w.overhang(), 0);
  return b.pad(x, fill, low, high, none);
}

// Where step k of each window lies along its dimension, -1 outside, spread to `dims`. A vector first: XLA folds
// constants as large as the image, for seconds.
Value step_positions(Build& b, Dtype dtype, const Dims& dims, int64_t dim, const Window& w, int64_t k) {
  Value position = b.add(b.mul(b.iota(dtype, {w.output}, 0), static_cast<double>(w.stride)),
                         static_cast<double>(k * w.dilation - w.padding));
  Value outside = b.compare(Direction::ge, position, static_cast<double>(w.input));
  return b.broadcast_in_dim(b.select(outside, b.constant_int(dtype, -1), position), dims, {dim});
}

Best shifted_pool(Build& b, const Best& x, int64_t dim, const Window& w) {
  Value values = padded(b, x.value, dim, w, b.lowest(x.value.dtype()));
  Value indices = x.index ? padded(b, x.index, dim, w, b.constant_int(x.index.dtype(), -1)) : Value();
  bool padding = w.padding > 0 || w.overhang() > 0;
  Best best;
  for (int64_t k = 0; k < w.size; ++k) {
    int64_t start = k * w.dilation, limit = start + (w.output - 1) * w.stride + 1;
    Best next{b.slice_dim(values, dim, start, limit, w.stride), Value(), x.index_dtype};
    if (!next.value) return {};
    next.index = indices ? b.slice_dim(indices, dim, start, limit, w.stride)
                         : step_positions(b, x.index_dtype, next.value.dims(), dim, w, k);
    if (k == 0) {
      best = next;
      continue;
    }
    Value better = or_nan(b, b.compare(Direction::gt, next.value, best.value), next.value);
    if (padding) better = b.or_(better, b.compare(Direction::lt, best.index, 0));
    best.index = b.select(better, next.index, best.index);
    best.value = b.maximum(best.value, next.value);
  }
  return best;
}

// Positions [output, size] along one dimension, and which of them belong to the window.
struct Cells {
  Value position, inside;
};

Cells window_cells(Build& b, const Window& w) {
  Dims dims{w.output, w.size};
  Value output = b.iota(Dtype::s64, dims, 0), step = b.iota(Dtype::s64, dims, 1);
  Value start = b.sub(b.mul(output, static_cast<double>(w.stride)), static_cast<double>(w.padding));
  Value position = b.add(start, b.mul(step, static_cast<double>(w.dilation)));
  Value inside =
      b.and_(b.compare(Direction::ge, position, 0), b.compare(Direction::lt, position, static_cast<double>(w.input)));
  return {position, inside};
}

// Window o of an adaptive pooling runs from floor(o * in / out) to ceil((o + 1) * in / out).
Cells adaptive_cells(Build& b, int64_t input, int64_t output) {
  int64_t size = 0;
  for (int64_t o = 0; o < output; ++o) {
    size = std::max(size, ((o + 1) * input + output - 1) / output - o * input / output);
  }
  Dims dims{output, size};
  Value o = b.iota(Dtype::s64, dims, 0), n = b.constant_int(Dtype::s64, output, dims);
  Value from = b.mul(o, static_cast<double>(input));
  Value start = b.div(from, n), end = b.div(b.add(from, static_cast<double>(input + output - 1)), n);
  Value position = b.add(start, b.iota(Dtype::s64, dims, 1));
  return {position, b.compare(Direction::lt, position, end)};
}

// [..., output, size, ...] in place of dimension `dim`.
Value read_cells(Build& b, const Value& x, int64_t dim, const Cells& cells) {
  Value last = b.constant_int(Dtype::s64, x.size(static_cast<int>(dim)) - 1);
  return b.take(x, b.clamp(b.constant_int(Dtype::s64, 0), cells.position, last), dim);
}

Best gathered_pool(Build& b, const Best& x, int64_t dim, const Cells& cells) {
  Value values = read_cells(b, x.value, dim, cells);
  if (!b.ok()) return {};
  Value indices = x.index ? read_cells(b, x.index, dim, cells)
                          : b.broadcast_in_dim(b.convert(cells.position, x.index_dtype), values.dims(), {dim, dim + 1});
  Value inside = b.broadcast_in_dim(cells.inside, values.dims(), {dim, dim + 1});
  values = b.select(inside, values, b.lowest(values.dtype()));
  Best best{Value(), Value(), x.index_dtype};
  best.value = b.reduce(Combine::maximum, values, {dim + 1});
  Value top = b.spread(best.value, values.dims(), {dim + 1});
  Value hit = b.and_(inside, b.compare(Direction::eq, values, top));
  best.index = b.reduce(Combine::minimum, b.select(hit, indices, b.highest(indices.dtype())), {dim + 1});
  if (is_floating(values.dtype())) {
    Value last = b.select(b.and_(inside, b.is_nan(values)), indices, b.constant_int(indices.dtype(), -1));
    best.index = b.select(b.is_nan(best.value), b.reduce(Combine::maximum, last, {dim + 1}), best.index);
  }
  return best;
}

// What follows the pooling of dimension `dim`: its winners' indices become flat in the dimensions from the next one.
Value widened_index(Build& b, const Value& index, int64_t dim, int64_t below) {
  if (!b.ok()) return Value();
  Value row = b.mul(b.iota(index.dtype(), index.dims(), dim), static_cast<double>(below));
  Value flat = b.add(index, row);
  return b.select(b.compare(Direction::lt, index, 0), index, flat);
}

// `step` pools one dimension, given its position among the spatial ones.
template <class Step>
std::tuple<Value, Value> pool_planes(Build& b, const Value& x, int spatial, Step step) {
  if (!b.ok()) return {};
  int first = x.rank() - spatial;
  int64_t plane = 1, below = 1;
  for (int i = first; i < x.rank(); ++i) plane *= x.size(i);
  Best best{x, Value(), plane <= INT32_MAX ? Dtype::s32 : Dtype::s64};
  for (int i = spatial - 1; i >= 0 && b.ok(); --i) {
    if (i < spatial - 1) best.index = widened_index(b, best.index, first + i, below);
    best = step(best, i);
    below *= x.size(first + i);
  }
  return {best.value, b.convert(best.index, Dtype::s64)};
}

std::tuple<Value, Value> max_pool(Build& b, const Value& x, int spatial, const WindowArguments& arguments) {
  b.require(x.dtype() != Dtype::pred && !is_complex(x.dtype()), Code::unimplemented,
            std::string("not implemented for ") + dtype_name(x.dtype()));
  std::vector<Window> windows = windows_of(b, x, spatial, arguments);
  return pool_planes(b, x, spatial, [&](const Best& best, int i) {
    int64_t dim = x.rank() - spatial + i;
    const Window& w = windows[static_cast<size_t>(i)];
    return w.size <= kFewShifts ? shifted_pool(b, best, dim, w) : gathered_pool(b, best, dim, window_cells(b, w));
  });
}

std::tuple<Value, Value> max_pool2d_with_indices(Build& b, Value x, Dims kernel, Dims stride, Dims padding,
                                                 Dims dilation, bool ceil_mode) {
  return max_pool(b, x, 2, {kernel, stride, padding, dilation, ceil_mode});
}
TP_OP("aten::max_pool2d_with_indices", max_pool2d_with_indices);

std::tuple<Value, Value> max_pool3d_with_indices(Build& b, Value x, Dims kernel, Dims stride, Dims padding,
                                                 Dims dilation, bool ceil_mode) {
  return max_pool(b, x, 3, {kernel, stride, padding, dilation, ceil_mode});
}
TP_OP("aten::max_pool3d_with_indices", max_pool3d_with_indices);

std::tuple<Value, Value> adaptive_max_pool(Build& b, const Value& x, int spatial, const Dims& output) {
  b.require(output.size() == static_cast<size_t>(spatial),
            "adaptive max pooling: output_size must have " + std::to_string(spatial) + " elements");
  b.require(x.rank() == spatial + 1 || x.rank() == spatial + 2,
            "adaptive max pooling: expected a " + std::to_string(spatial + 1) + "D or " + std::to_string(spatial + 2) +
                "D tensor, but got [" + dims_text(x.dims()) + "]");
  for (int i = 0; b.ok() && i < spatial; ++i) {
    b.require(x.size(x.rank() - spatial + i) > 0,
              "adaptive max pooling: expected input with non-zero size, but got [" + dims_text(x.dims()) + "]");
    b.require(output[i] >= 0, "adaptive max pooling: elements of output_size must be greater than or equal to 0");
  }
  return pool_planes(b, x, spatial, [&](const Best& best, int i) {
    int64_t dim = x.rank() - spatial + i;
    return gathered_pool(b, best, dim, adaptive_cells(b, x.size(static_cast<int>(dim)), output[i]));
  });
}

std::tuple<Value, Value> adaptive_max_pool2d(Build& b, Value x, Dims output) {
  return adaptive_max_pool(b, x, 2, output);
}
TP_OP("aten::adaptive_max_pool2d", adaptive_max_pool2d);

std::tuple<Value, Value> adaptive_max_pool3d(Build& b, Value x, Dims output) {
  return adaptive_max_pool(b, x, 3, output);
}
TP_OP("aten::adaptive_max_pool3d", adaptive_max_pool3d);

// --- gradients

// Adds each output's gradient at its index of the plane.
Value scattered_gradient(Build& b, const Value& grad, const Value& x, const Value& indices, int spatial) {
  int64_t plane = 1, cells = 1, planes = 1;
  for (int i = 0; i < x.rank(); ++i) {
    bool inner = i >= x.rank() - spatial;
    (inner ? plane : planes) *= x.size(i);
    if (inner) cells *= grad.size(i);
  }
  Dtype wide = accumulate_type(grad.dtype());
  ScatterDims d;
  d.inserted_window_dims = {1};
  d.scatter_dims_to_operand_dims = {1};
  d.input_batching_dims = {0};
  d.scatter_indices_batching_dims = {0};
  d.index_vector_dim = 2;
  Value sum = b.scatter(Combine::add, b.constant_int(wide, 0, {planes, plane}), b.reshape(indices, {planes, cells}),
                        b.convert(b.reshape(grad, {planes, cells}), wide), d);
  return b.convert(b.reshape(sum, x.dims()), grad.dtype());
}

// The flat index that output o would have if it came from step `steps` of its window.
Value claimed_index(Build& b, const Dims& dims, const std::vector<Window>& windows, const Dims& steps) {
  Value flat;
  int64_t below = 1;
  for (size_t i = windows.size(); i-- > 0;) {
    const Window& w = windows[i];
    int64_t dim = dims.rank() - static_cast<int64_t>(windows.size()) + static_cast<int64_t>(i);
    Value o = b.iota(Dtype::s64, dims, dim);
    Value part = b.add(b.mul(o, static_cast<double>(w.stride * below)),
                       static_cast<double>((steps[i] * w.dilation - w.padding) * below));
    flat = flat ? b.add(flat, part) : part;
    below *= w.input;
  }
  return flat;
}

// Without a scatter: for each step of the window, the gradients that came from there, moved to where they belong.
Value shifted_gradient(Build& b, const Value& grad, const Value& indices, const std::vector<Window>& windows) {
  Dtype wide = accumulate_type(grad.dtype());
  Value from = b.convert(grad, wide), zero = b.constant_int(wide, 0), sum;
  size_t first = grad.dims().size() - windows.size();
  Dims steps(windows.size(), 0);
  for (size_t i = 0; i < windows.size() && b.ok();) {
    Value mine = b.compare(Direction::eq, indices, claimed_index(b, grad.dims(), windows, steps));
    Dims low(grad.dims().size(), 0), high = low, interior = low;
    for (size_t k = 0; k < windows.size(); ++k) {
      const Window& w = windows[k];
      low[first + k] = steps[k] * w.dilation - w.padding;
      high[first + k] = w.input - low[first + k] - (w.output - 1) * w.stride - 1;
      interior[first + k] = w.stride - 1;
    }
    Value part = b.pad(b.select(mine, from, zero), zero, low, high, interior);
    sum = sum ? b.add(sum, part) : part;
    for (i = 0; i < windows.size() && ++steps[i] == windows[i].size; ++i) steps[i] = 0;
  }
  return b.convert(sum, grad.dtype());
}

Value max_pool_backward(Build& b, const Value& grad, const Value& x, const Value& indices, int spatial,
                        const WindowArguments& arguments) {
  std::vector<Window> windows = windows_of(b, x, spatial, arguments);
  if (!b.ok()) return Value();
  Dims expected = pooled_sizes(x, windows);
  if (!b.require(grad.dims() == expected && indices.dims() == expected,
                 "expected grad_output and indices of size [" + dims_text(expected) + "], but got [" +
                     dims_text(grad.dims()) + "] and [" + dims_text(indices.dims()) + "]")) {
    return Value();
  }
  int64_t steps = 1;
  for (const Window& w : windows) steps *= w.size;
  if (steps > kFewShifts) return scattered_gradient(b, grad, x, indices, spatial);
  return shifted_gradient(b, grad, indices, windows);
}

Value max_pool2d_with_indices_backward(Build& b, Value grad, Value x, Dims kernel, Dims stride, Dims padding,
                                       Dims dilation, bool ceil_mode, Value indices) {
  return max_pool_backward(b, grad, x, indices, 2, {kernel, stride, padding, dilation, ceil_mode});
}
TP_OP("aten::max_pool2d_with_indices_backward", max_pool2d_with_indices_backward);

Value max_pool3d_with_indices_backward(Build& b, Value grad, Value x, Dims kernel, Dims stride, Dims padding,
                                       Dims dilation, bool ceil_mode, Value indices) {
  return max_pool_backward(b, grad, x, indices, 3, {kernel, stride, padding, dilation, ceil_mode});
}
TP_OP("aten::max_pool3d_with_indices_backward", max_pool3d_with_indices_backward);

Value adaptive_max_pool2d_backward(Build& b, Value grad, Value x, Value indices) {
  return scattered_gradient(b, grad, x, indices, 2);
}
TP_OP("aten::adaptive_max_pool2d_backward", adaptive_max_pool2d_backward);

Value adaptive_max_pool3d_backward(Build& b, Value grad, Value x, Value indices) {
  return scattered_gradient(b, grad, x, indices, 3);
}
TP_OP("aten::adaptive_max_pool3d_backward", adaptive_max_pool3d_backward);

}  // namespace
}  // namespace tp
