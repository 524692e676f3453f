// grid_sampler_2d: reads an image at positions given from -1 to 1, nearest or bilinear.

#include "ops/op.h"

namespace tp {
namespace {

// PyTorch's GridSamplerInterpolation and GridSamplerPadding.
constexpr int64_t kBilinear = 0, kNearest = 1;
constexpr int64_t kBorder = 1, kReflection = 2;

struct Sampling {
  int64_t padding;
  bool align_corners;
};

// Position `at` folded back at the walls low / 2 and high / 2.
Value reflected(Build& b, const Value& at, int64_t low, int64_t high) {
  if (low == high) return b.mul(at, 0.0);
  double start = static_cast<double>(low) / 2, span = static_cast<double>(high - low) / 2;
  Value distance = b.abs(b.sub(at, start));
  Value width = b.scalar_like(distance, span);
  Value rest = b.remainder(distance, width), flips = b.floor(b.div(distance, width));
  Value even = b.compare(Direction::eq, b.remainder(flips, b.scalar_like(flips, 2)), 0);
  return b.select(even, b.add(rest, start), b.sub(b.scalar_like(rest, span + start), rest));
}

// From -1 … 1 to an element's position along a dimension of `size`.
Value position(Build& b, const Value& x, int64_t size, const Sampling& s) {
  double n = static_cast<double>(size);
  Value at = s.align_corners ? b.mul(b.add(x, 1.0), (n - 1) / 2) : b.mul(b.sub(b.mul(b.add(x, 1.0), n), 1.0), 0.5);
  if (s.padding == kReflection) {
    at = s.align_corners ? reflected(b, at, 0, 2 * (size - 1)) : reflected(b, at, -1, 2 * size - 1);
  }
  if (s.padding == kBorder || s.padding == kReflection) {
    // A NaN goes to the first element, as in PyTorch.
    Value low = b.select(b.compare(Direction::gt, at, 0), at, b.scalar_like(at, 0));
    at = b.minimum(low, b.scalar_like(low, n - 1));
  }
  return at;
}

// image[n, :, y, x] as [n, c, h, w] for whole positions y and x (floating), 0 outside the image.
Value pixels(Build& b, const Value& image, const Value& y, const Value& x) {
  if (!b.ok()) return Value();
  double h = static_cast<double>(image.size(2)), w = static_cast<double>(image.size(3));
  Value inside = b.and_(b.and_(b.compare(Direction::ge, y, 0), b.compare(Direction::lt, y, h)),
                        b.and_(b.compare(Direction::ge, x, 0), b.compare(Direction::lt, x, w)));
  Value zero = b.scalar_like(y, 0);
  Value row = b.convert(b.select(inside, y, zero), Dtype::s32);
  Value column = b.convert(b.select(inside, x, zero), Dtype::s32);
  Value at = b.concatenate({b.unsqueeze(row, row.rank()), b.unsqueeze(column, column.rank())}, 3);
  GatherDims d;
  d.offset_dims = {1};
  d.collapsed_slice_dims = {2, 3};
  d.start_index_map = {2, 3};
  d.index_vector_dim = 3;
  d.operand_batching_dims = {0};
  d.start_indices_batching_dims = {0};
  Value read = b.gather(image, at, d, {1, image.size(1), 1, 1});
  if (!read) return Value();
  return b.select(b.broadcast_in_dim(inside, read.dims(), {0, 2, 3}), read, b.constant_int(read.dtype(), 0));
}

Value bilinear(Build& b, const Value& image, const Value& y, const Value& x) {
  Value top = b.floor(y), left = b.floor(x);
  Value down = b.sub(y, top), right = b.sub(x, left), sum;
  for (int corner = 0; corner < 4 && b.ok(); ++corner) {
    bool lower = corner & 2, further = corner & 1;
    Value weight_y = lower ? down : b.sub(b.scalar_like(down, 1), down);
    Value weight_x = further ? right : b.sub(b.scalar_like(right, 1), right);
    Value read = pixels(b, image, lower ? b.add(top, 1.0) : top, further ? b.add(left, 1.0) : left);
    if (!read) return Value();
    Value part = b.mul(read, b.broadcast_in_dim(b.mul(weight_y, weight_x), read.dims(), {0, 2, 3}));
    sum = sum ? b.add(sum, part) : part;
  }
  return sum;
}

Value grid_sampler_2d(Build& b, Value image, Value grid, int64_t interpolation, int64_t padding, bool align_corners) {
  if (!b.require_floating(image)) return Value();
  if (interpolation != kBilinear && interpolation != kNearest) return b.decline("bicubic sampling");
  b.require(image.rank() == 4 && grid.rank() == 4 && grid.size(3) == 2 && grid.size(0) == image.size(0),
            "grid_sampler(): expected a 4D input, and a grid of the same batch size with 2 as its last size, but got "
            "[" +
                dims_text(image.dims()) + "] and [" + dims_text(grid.dims()) + "]");
  if (!b.ok()) return Value();
  Dtype wide = accumulate_type(image.dtype());
  Value from = b.convert(image, wide), where = b.convert(grid, wide);
  Sampling s{padding, align_corners};
  Value x = position(b, b.squeeze(b.slice_dim(where, 3, 0, 1), 3), image.size(3), s);
  Value y = position(b, b.squeeze(b.slice_dim(where, 3, 1, 2), 3), image.size(2), s);
  Value read = interpolation == kBilinear
                   ? bilinear(b, from, y, x)
                   : pixels(b, from, b.unary(Op::round_nearest_even, y), b.unary(Op::round_nearest_even, x));
  return b.convert(read, image.dtype());
}
TP_OP("aten::grid_sampler_2d", grid_sampler_2d);

}  // namespace
}  // namespace tp
