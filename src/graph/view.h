#pragma once
// Strided views over a base value. PyTorch's tensors are (sizes, strides, offset) over a storage; here a read becomes
// reshape, slice, transpose and broadcast of the storage's value, a write the same path backwards. Strides that no
// such path reaches (overlapping or interleaved ones) use gather and scatter.

#include <optional>

#include "stablehlo/build.h"

namespace tp {

struct View {
  Dims sizes, strides;  // in elements
  int64_t offset = 0;
};

// The elements of the view as a value of view.sizes. The row-major order of `base` is the storage's order; its dims are
// whatever shape is at hand. index error when the view reaches past the base.
Value read_view(Build& b, const Value& base, const View& view);
// `base` with the view's elements replaced by `update` (of view.sizes and base's dtype). The dims of base are kept.
Value write_view(Build& b, const Value& base, const View& view, const Value& update);

// When the view covers a storage of `elements` elements once, in some order of its dimensions: the sizes in memory
// order. A storage then re-bases to them, so that later reads and writes move nothing.
std::optional<Dims> full_cover(const View& view, int64_t elements);
// result dimension i of memory order -> dimension of the view: sizes[permutation] are the memory-order sizes.
Dims memory_order(const View& view);

}  // namespace tp
