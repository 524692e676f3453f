// Average pooling: a windowed sum in the accumulate type, over the number of elements in each window.

#include "ops/op.h"
#include "ops/window.h"

namespace tp {
namespace {

struct Divisor {
  bool count_include_pad = true;
  std::optional<int64_t> override_;
};

// Elements that window o of one dimension counts, padding up to the input's padded end included or not.
int64_t window_count(const Window& w, int64_t o, bool include_pad) {
  int64_t start = o * w.stride - w.padding, end = std::min(start + w.size, w.input + w.padding);
  return include_pad ? end - start : std::min(end, w.input) - std::max<int64_t>(start, 0);
}

// The counts of one dimension as a vector; an empty Value when they are all `same`.
Value counts(Build& b, const Window& w, bool include_pad, Dtype dtype, int64_t* same) {
  *same = window_count(w, 0, include_pad);
  bool equal = true;
  for (int64_t o = 1; o < w.output; ++o) equal = equal && window_count(w, o, include_pad) == *same;
  if (equal) return Value();
  Value start =
      b.sub(b.mul(b.iota(Dtype::s64, {w.output}, 0), static_cast<double>(w.stride)), static_cast<double>(w.padding));
  Value end = b.minimum(b.add(start, static_cast<double>(w.size)),
                        b.constant_int(Dtype::s64, include_pad ? w.input + w.padding : w.input));
  if (!include_pad) start = b.maximum(start, b.constant_int(Dtype::s64, 0));
  return b.convert(b.sub(end, start), dtype);
}

// x / (elements in each window); x has the sizes of the output.
Value divided(Build& b, const Value& x, const std::vector<Window>& windows, const Divisor& divisor) {
  if (!b.ok()) return Value();
  if (divisor.override_) return b.div(x, b.constant_int(x.dtype(), *divisor.override_));
  int64_t uniform = 1;
  Value varying;
  for (size_t i = 0; i < windows.size(); ++i) {
    int64_t same = 1;
    Value part = counts(b, windows[i], divisor.count_include_pad, x.dtype(), &same);
    if (!part) {
      uniform *= same;
      continue;
    }
    int64_t dim = x.rank() - static_cast<int64_t>(windows.size()) + static_cast<int64_t>(i);
    Value spread = b.broadcast_in_dim(part, x.dims(), {dim});
    varying = varying ? b.mul(varying, spread) : spread;
  }
  Value scale = b.constant_int(x.dtype(), uniform);
  return b.div(x, varying ? b.mul(varying, scale) : scale);
}

WindowDims window_dims_of(int rank, const std::vector<Window>& windows) {
  WindowDims d;
  Dims ones(static_cast<size_t>(rank), 1), zeros(static_cast<size_t>(rank), 0);
  d.sizes = d.strides = d.base_dilations = d.window_dilations = ones;
  d.pad_low = d.pad_high = zeros;
  size_t first = static_cast<size_t>(rank) - windows.size();
  for (size_t i = 0; i < windows.size(); ++i) {
    d.sizes[first + i] = windows[i].size;
    d.strides[first + i] = windows[i].stride;
    d.pad_low[first + i] = windows[i].padding;
    d.pad_high[first + i] = windows[i].overhang();
  }
  return d;
}

Value window_sum(Build& b, const Value& x, const std::vector<Window>& windows) {
  bool whole = true;
  Dims dims;
  for (size_t i = 0; i < windows.size(); ++i) {
    const Window& w = windows[i];
    whole = whole && w.output == 1 && w.padding == 0 && w.size == w.input;
    dims.push_back(x.rank() - static_cast<int64_t>(windows.size()) + static_cast<int64_t>(i));
  }
  if (whole) return b.reshape(b.sum(x, dims), pooled_sizes(x, windows));
  return b.reduce_window(Combine::add, x, window_dims_of(x.rank(), windows));
}

Value avg_pool(Build& b, const Value& x, int spatial, const WindowArguments& arguments, const Divisor& divisor) {
  b.require(x.dtype() != Dtype::pred && !is_complex(x.dtype()), Code::unimplemented,
            std::string("not implemented for ") + dtype_name(x.dtype()));
  b.require(divisor.override_ != 0, "divisor must be not zero");
  std::vector<Window> windows = windows_of(b, x, spatial, arguments);
  if (!b.ok()) return Value();
  Value wide = b.convert(x, accumulate_type(x.dtype()));
  return b.convert(divided(b, window_sum(b, wide, windows), windows, divisor), x.dtype());
}

Value avg_pool2d(Build& b, Value x, Dims kernel, Dims stride, Dims padding, bool ceil_mode, bool count_include_pad,
                 std::optional<int64_t> divisor) {
  return avg_pool(b, x, 2, {kernel, stride, padding, {}, ceil_mode}, {count_include_pad, divisor});
}
TP_OP("aten::avg_pool2d", avg_pool2d);

Value avg_pool3d(Build& b, Value x, Dims kernel, Dims stride, Dims padding, bool ceil_mode, bool count_include_pad,
                 std::optional<int64_t> divisor) {
  return avg_pool(b, x, 3, {kernel, stride, padding, {}, ceil_mode}, {count_include_pad, divisor});
}
TP_OP("aten::avg_pool3d", avg_pool3d);

// Each input element gets the sum of the windows that cover it: a windowed sum over the dilated gradient.
Value avg_pool_backward(Build& b, const Value& grad, const Value& x, int spatial, const WindowArguments& arguments,
                        const Divisor& divisor) {
  b.require(divisor.override_ != 0, "divisor must be not zero");
  std::vector<Window> windows = windows_of(b, x, spatial, arguments);
  if (!b.ok()) return Value();
  Dims expected = pooled_sizes(x, windows);
  if (!b.require(grad.dims() == expected, "expected grad_output of size [" + dims_text(expected) + "], but got [" +
                                              dims_text(grad.dims()) + "]")) {
    return Value();
  }
  Value each = divided(b, b.convert(grad, accumulate_type(grad.dtype())), windows, divisor);
  Dims low(grad.dims().size(), 0), high = low, interior = low;
  std::vector<Window> back = windows;
  size_t first = grad.dims().size() - windows.size();
  for (size_t i = 0; i < windows.size(); ++i) {
    const Window& w = windows[i];
    low[first + i] = w.size - 1 - w.padding;
    high[first + i] = w.input + w.padding - (w.output - 1) * w.stride - 1;
    interior[first + i] = w.stride - 1;
    back[i] = {.input = w.input + w.size - 1, .size = w.size, .output = w.input};
  }
  Value dilated = b.pad(each, b.scalar_like(each, 0), low, high, interior);
  return b.convert(b.reduce_window(Combine::add, dilated, window_dims_of(x.rank(), back)), grad.dtype());
}

Value avg_pool2d_backward(Build& b, Value grad, Value x, Dims kernel, Dims stride, Dims padding, bool ceil_mode,
                          bool count_include_pad, std::optional<int64_t> divisor) {
  return avg_pool_backward(b, grad, x, 2, {kernel, stride, padding, {}, ceil_mode}, {count_include_pad, divisor});
}
TP_OP("aten::avg_pool2d_backward", avg_pool2d_backward);

Value avg_pool3d_backward(Build& b, Value grad, Value x, Dims kernel, Dims stride, Dims padding, bool ceil_mode,
                          bool count_include_pad, std::optional<int64_t> divisor) {
  return avg_pool_backward(b, grad, x, 3, {kernel, stride, padding, {}, ceil_mode}, {count_include_pad, divisor});
}
TP_OP("aten::avg_pool3d_backward", avg_pool3d_backward);

// --- adaptive: window o runs from floor(o * in / out) to ceil((o + 1) * in / out)

// One at [o, i] where window o covers element i, over the window's size.
Value cover_matrix(Build& b, int64_t input, int64_t output, Dtype dtype) {
  Dims dims{output, input};
  Value o = b.iota(Dtype::s64, dims, 0), i = b.iota(Dtype::s64, dims, 1);
  Value n = b.constant_int(Dtype::s64, output, dims), from = b.mul(o, static_cast<double>(input));
  Value start = b.div(from, n), end = b.div(b.add(from, static_cast<double>(input + output - 1)), n);
  Value covered = b.and_(b.compare(Direction::ge, i, start), b.compare(Direction::lt, i, end));
  Value weight = b.div(b.constant(dtype, 1.0, dims), b.convert(b.sub(end, start), dtype));
  return b.select(covered, weight, b.constant_int(dtype, 0));
}

// x's dimension `dim` contracted with a dimension of the matrix; its other dimension takes the place.
Value contracted(Build& b, const Value& x, const Value& matrix, int64_t dim, int64_t side) {
  Value product = b.dot_general(x, matrix, {.contract_a = {dim}, .contract_b = {side}});
  if (!product) return product;
  Dims permutation = iota_dims(static_cast<size_t>(x.rank()));
  permutation.pop_back();
  permutation.insert_at(static_cast<size_t>(dim), x.rank() - 1);
  return b.transpose(product, permutation);
}

// The mean of equal neighbours, where the output divides the input.
Value blocked_mean(Build& b, const Value& x, int64_t dim, int64_t output) {
  Dims dims = x.dims();
  int64_t size = dims[dim] / output;
  dims[dim] = output;
  dims.insert_at(static_cast<size_t>(dim + 1), size);
  return b.div(b.sum(b.reshape(x, dims), {dim + 1}), static_cast<double>(size));
}

Value adaptive_avg_pool(Build& b, const Value& x, int spatial, const Dims& output) {
  if (!b.require_floating(x) ||
      !b.require(output.size() == static_cast<size_t>(spatial),
                 "adaptive_avg_pool: output_size must be " + std::to_string(spatial)) ||
      !b.require(x.rank() == spatial + 1 || x.rank() == spatial + 2,
                 "adaptive_avg_pool: expected " + std::to_string(spatial + 1) + "D or " + std::to_string(spatial + 2) +
                     "D tensor, but got [" + dims_text(x.dims()) + "]")) {
    return Value();
  }
  Value y = b.convert(x, accumulate_type(x.dtype()));
  for (int i = 0; b.ok() && i < spatial; ++i) {
    int64_t dim = x.rank() - spatial + i, input = x.size(static_cast<int>(dim));
    b.require(input > 0, "adaptive_avg_pool: expected input to have non-zero size for non-batch dimensions");
    b.require(output[i] >= 0, "adaptive_avg_pool: elements of output_size must be greater than or equal to 0");
    if (!b.ok() || input == output[i]) continue;
    bool even = output[i] > 0 && input % output[i] == 0;
    y = even ? blocked_mean(b, y, dim, output[i])
             : contracted(b, y, cover_matrix(b, input, output[i], y.dtype()), dim, 1);
  }
  return b.convert(y, x.dtype());
}

Value adaptive_avg_pool_backward(Build& b, const Value& grad, const Value& x, int spatial) {
  Value y = b.convert(grad, accumulate_type(grad.dtype()));
  for (int i = 0; b.ok() && i < spatial; ++i) {
    int64_t dim = x.rank() - spatial + i;
    int64_t input = x.size(static_cast<int>(dim)), output = grad.size(static_cast<int>(dim));
    if (input == output) continue;
    y = contracted(b, y, cover_matrix(b, input, output, y.dtype()), dim, 0);
  }
  return b.convert(y, grad.dtype());
}

Value adaptive_avg_pool2d(Build& b, Value x, Dims output) { return adaptive_avg_pool(b, x, 2, output); }
TP_OP("aten::_adaptive_avg_pool2d", adaptive_avg_pool2d);

Value adaptive_avg_pool3d(Build& b, Value x, Dims output) { return adaptive_avg_pool(b, x, 3, output); }
TP_OP("aten::_adaptive_avg_pool3d", adaptive_avg_pool3d);

Value adaptive_avg_pool2d_backward(Build& b, Value grad, Value x) { return adaptive_avg_pool_backward(b, grad, x, 2); }
TP_OP("aten::_adaptive_avg_pool2d_backward", adaptive_avg_pool2d_backward);

Value adaptive_avg_pool3d_backward(Build& b, Value grad, Value x) { return adaptive_avg_pool_backward(b, grad, x, 3); }
TP_OP("aten::_adaptive_avg_pool3d_backward", adaptive_avg_pool3d_backward);

}  // namespace
}  // namespace tp
