// Ops that regroup an image's elements: shuffles between channels and space, and unfolding into patches. Patches are
// taken one dimension after the other, as kh + kw shifted slices instead of kh * kw.

#include "ops/op.h"

namespace tp {
namespace {

// [..., c * r * r, h, w] to [..., c, h * r, w * r].
Value pixel_shuffle(Build& b, Value x, int64_t factor) {
  int rank = x.rank();
  if (!b.require(rank >= 3, "pixel_shuffle expects input to have at least 3 dimensions, but got input with " +
                                std::to_string(rank) + " dimension(s)") ||
      !b.require(factor > 0, "pixel_shuffle expects a positive upscale_factor, but got " + std::to_string(factor)) ||
      !b.require(x.size(rank - 3) % (factor * factor) == 0,
                 "pixel_shuffle expects its input's 'channel' dimension to be divisible by the square of "
                 "upscale_factor, but input.size(-3)=" +
                     std::to_string(x.size(rank - 3)) + " is not divisible by " + std::to_string(factor * factor))) {
    return Value();
  }
  Dims batch(x.dims().data(), static_cast<size_t>(rank - 3)), split = batch, joined = batch;
  int64_t c = x.size(rank - 3) / (factor * factor), h = x.size(rank - 2), w = x.size(rank - 1), n = rank - 3;
  split.append({c, factor, factor, h, w});
  joined.append({c, h * factor, w * factor});
  Dims order = iota_dims(static_cast<size_t>(n));
  order.append({n, n + 3, n + 1, n + 4, n + 2});
  return b.reshape(b.transpose(b.reshape(x, split), order), joined);
}
TP_OP("aten::pixel_shuffle", pixel_shuffle);

Value pixel_unshuffle(Build& b, Value x, int64_t factor) {
  int rank = x.rank();
  if (!b.require(rank >= 3, "pixel_unshuffle expects input to have at least 3 dimensions, but got input with " +
                                std::to_string(rank) + " dimension(s)") ||
      !b.require(factor > 0,
                 "pixel_unshuffle expects a positive downscale_factor, but got " + std::to_string(factor)) ||
      !b.require(x.size(rank - 2) % factor == 0 && x.size(rank - 1) % factor == 0,
                 "pixel_unshuffle expects height and width to be divisible by downscale_factor, but got [" +
                     dims_text(x.dims()) + "] and " + std::to_string(factor))) {
    return Value();
  }
  Dims batch(x.dims().data(), static_cast<size_t>(rank - 3)), split = batch, joined = batch;
  int64_t c = x.size(rank - 3), h = x.size(rank - 2) / factor, w = x.size(rank - 1) / factor, n = rank - 3;
  split.append({c, h, factor, w, factor});
  joined.append({c * factor * factor, h, w});
  Dims order = iota_dims(static_cast<size_t>(n));
  order.append({n, n + 2, n + 4, n + 1, n + 3});
  return b.reshape(b.transpose(b.reshape(x, split), order), joined);
}
TP_OP("aten::pixel_unshuffle", pixel_unshuffle);

Value channel_shuffle(Build& b, Value x, int64_t groups) {
  if (!b.require(x.rank() > 2, "channel_shuffle expects input with > 2 dims, but got input with sizes [" +
                                   dims_text(x.dims()) + "]") ||
      !b.require(groups > 0,
                 "number of groups to divide channels in must be positive, got " + std::to_string(groups)) ||
      !b.require(x.size(1) % groups == 0, "number of channels must be divisible by groups, got " +
                                              std::to_string(x.size(1)) + " channels and " + std::to_string(groups) +
                                              " groups")) {
    return Value();
  }
  Dims split = x.dims();
  split[1] /= groups;
  split.insert_at(1, groups);
  return b.reshape(b.swap_dims(b.reshape(x, split), 1, 2), x.dims());
}
TP_OP("aten::channel_shuffle", channel_shuffle);
TP_OP("aten::native_channel_shuffle", channel_shuffle);

// --- patches

struct Patch {
  int64_t input, kernel, dilation, padding, stride, output;
};

struct PatchArguments {
  Dims kernel, dilation, padding, stride;
};

// The patches of height and width over an image of these sizes; empty after an error.
std::vector<Patch> patches_of(Build& b, int64_t height, int64_t width, const PatchArguments& a) {
  for (const Dims* list : {&a.kernel, &a.dilation, &a.padding, &a.stride}) {
    b.require(list->size() == 2, "it is expected that kernel_size, dilation, padding and stride have 2 elements");
  }
  std::vector<Patch> patches;
  for (size_t i = 0; b.ok() && i < 2; ++i) {
    Patch p{i == 0 ? height : width, a.kernel[i], a.dilation[i], a.padding[i], a.stride[i], 0};
    b.require(p.kernel > 0 && p.dilation > 0 && p.stride > 0 && p.padding >= 0,
              "kernel size, dilation and stride should be greater than zero, padding should be non-negative");
    if (!b.ok()) break;
    int64_t room = p.input + 2 * p.padding - p.dilation * (p.kernel - 1) - 1;
    p.output = room / p.stride + 1;
    b.require(room >= 0, "the shape of the array of sliding blocks must be positive for an image of [" +
                             std::to_string(height) + "," + std::to_string(width) + "]");
    patches.push_back(p);
  }
  if (!b.ok()) patches.clear();
  return patches;
}

// [..., input, ...] to [..., kernel, output, ...].
Value unfolded(Build& b, const Value& x, int64_t dim, const Patch& p) {
  if (!b.ok()) return Value();
  Dims padding(x.dims().size(), 0), none = padding;
  padding[dim] = p.padding;
  Value padded = b.pad(x, b.constant_int(x.dtype(), 0), padding, padding, none);
  Values steps;
  for (int64_t k = 0; k < p.kernel; ++k) {
    int64_t start = k * p.dilation;
    steps.push_back(b.unsqueeze(b.slice_dim(padded, dim, start, start + (p.output - 1) * p.stride + 1, p.stride), dim));
  }
  return b.concatenate(steps, dim);
}

// The adjoint: [..., kernel, output, ...] to [..., input, ...], where patches overlap their sum.
Value folded(Build& b, const Value& x, int64_t dim, const Patch& p) {
  if (!b.ok()) return Value();
  Value zero = b.constant_int(x.dtype(), 0), sum;
  for (int64_t k = 0; k < p.kernel; ++k) {
    Value step = b.squeeze(b.slice_dim(x, dim, k, k + 1), dim);
    if (!step) return Value();
    Dims low(step.dims().size(), 0), high = low, interior = low;
    low[dim] = k * p.dilation - p.padding;
    high[dim] = p.input - low[dim] - (p.output - 1) * p.stride - 1;
    interior[dim] = p.stride - 1;
    Value part = b.pad(step, zero, low, high, interior);
    sum = sum ? b.add(sum, part) : part;
  }
  return sum;
}

Value im2col(Build& b, Value x, Dims kernel, Dims dilation, Dims padding, Dims stride) {
  int rank = x.rank();
  if (!b.require(rank == 3 || rank == 4,
                 "expected 3D or 4D (batch mode) tensor with possibly 0 batch size for input, "
                 "but got: [" +
                     dims_text(x.dims()) + "]")) {
    return Value();
  }
  std::vector<Patch> p = patches_of(b, x.size(rank - 2), x.size(rank - 1), {kernel, dilation, padding, stride});
  if (!b.ok()) return Value();
  // [..., c, kh, oh, kw, ow], then the kernel's dimensions before the outputs'.
  int64_t h = rank - 2;
  Value cells = unfolded(b, unfolded(b, x, h + 1, p[1]), h, p[0]);
  Dims dims(x.dims().data(), static_cast<size_t>(rank - 3));
  dims.append({x.size(rank - 3) * p[0].kernel * p[1].kernel, p[0].output * p[1].output});
  return b.reshape(b.swap_dims(cells, h + 1, h + 2), dims);
}
TP_OP("aten::im2col", im2col);

Value col2im(Build& b, Value x, Dims output, Dims kernel, Dims dilation, Dims padding, Dims stride) {
  int rank = x.rank();
  if (!b.require(rank == 2 || rank == 3,
                 "expected 2D or 3D (batch mode) tensor for input with possibly 0 batch size, "
                 "but got: [" +
                     dims_text(x.dims()) + "]") ||
      !b.require(output.size() == 2,
                 "it is expected output_size equals to 2, but got size " + std::to_string(output.size()))) {
    return Value();
  }
  std::vector<Patch> p = patches_of(b, output[0], output[1], {kernel, dilation, padding, stride});
  if (!b.ok()) return Value();
  int64_t area = p[0].kernel * p[1].kernel, blocks = p[0].output * p[1].output;
  if (!b.require(x.size(rank - 2) % area == 0 && x.size(rank - 1) == blocks,
                 "expected an input of blocks of " + std::to_string(area) + " elements, " + std::to_string(blocks) +
                     " a channel, but got [" + dims_text(x.dims()) + "]")) {
    return Value();
  }
  Dims dims(x.dims().data(), static_cast<size_t>(rank - 2));
  int64_t h = rank - 1;
  dims.append({x.size(rank - 2) / area, p[0].kernel, p[1].kernel, p[0].output, p[1].output});
  Value cells = b.swap_dims(b.reshape(b.convert(x, accumulate_type(x.dtype())), dims), h + 1, h + 2);
  return b.convert(folded(b, folded(b, cells, h + 2, p[1]), h, p[0]), x.dtype());
}
TP_OP("aten::col2im", col2im);

}  // namespace
}  // namespace tp
