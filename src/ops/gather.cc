// Reading by index: index, index_select, gather, take, embedding. Writing: scatter.cc and index_put.cc.

#include "ops/indexing.h"

namespace tp {
namespace {

// x[indices]; the indices' common sizes stand in place of adjacent dimensions, else in front.
Value index(Build& b, Value x, OptionalValues indices) {
  Selection s = select_positions(b, x, indices);
  if (!b.ok()) return Value();
  if (numel(s.result) == 0) return b.constant_int(x.dtype(), 0, s.result);
  GatherDims d;
  d.offset_dims = s.window;
  d.collapsed_slice_dims = s.dims;
  d.start_index_map = s.dims;
  d.index_vector_dim = s.common.rank();
  Dims sizes = x.dims();
  for (int64_t i : s.dims) sizes[i] = 1;
  return b.gather(x, s.start, d, sizes);
}
TP_OP("aten::index.Tensor", index);
TP_OP("aten::_unsafe_index.Tensor", index);

// Indexing where `mask` holds, `fill` elsewhere; indices outside the mask may be anything.
Value unsafe_masked_index(Build& b, Value x, Value mask, OptionalValues indices, Scalar fill) {
  for (size_t i = 0; i < indices.size() && i < x.dims().size(); ++i) {
    if (!indices[i] || is_mask(*indices[i])) continue;
    Value wide = b.convert(*indices[i], Dtype::s64);
    int64_t size = x.size(static_cast<int>(i));
    indices[i] = b.clamp(b.constant_int(Dtype::s64, -size), wide, b.constant_int(Dtype::s64, size - 1));
  }
  Value read = index(b, x, std::move(indices));
  return b.select(mask, read, b.constant(x.dtype(), fill));
}
TP_OP("aten::_unsafe_masked_index", unsafe_masked_index);

// Rows along `dim`, or zeros of the right size when there are none.
Value take_rows(Build& b, const Value& x, const Value& index, int64_t dim) {
  Dims dims = x.dims();
  dims.erase_at(dim);
  for (int i = 0; i < index.rank(); ++i) dims.insert_at(dim + i, index.size(i));
  if (numel(dims) == 0) return b.constant_int(x.dtype(), 0, dims);
  return b.take(x, index, dim);
}

Value index_select(Build& b, Value x, int64_t dim, Value index) {
  dim = b.wrap_dim(dim, x.rank());
  b.require(index.rank() <= 1, Code::index, "index_select(): index is supposed to be a vector");
  Value wide = at_least_1d(b, x);
  Value rows = checked_index(b, at_least_1d(b, index), wide.size(static_cast<int>(dim)), Negative::refused,
                             "index out of range in self");
  if (!b.ok()) return Value();
  Value result = take_rows(b, wide, rows, dim);
  return x.rank() == 0 ? b.reshape(result, {}) : result;
}
TP_OP("aten::index_select", index_select);

Value gather(Build& b, Value x, int64_t dim, Value index, bool) {
  dim = b.wrap_dim(dim, x.rank());
  Dims result = index.dims();
  Value from = at_least_1d(b, x), at = at_least_1d(b, index);
  if (numel(result) == 0) return b.constant_int(x.dtype(), 0, result);
  if (!b.require(from.rank() == at.rank(), "index tensor must have the same number of dimensions as input tensor")) {
    return Value();
  }
  for (int i = 0; i < from.rank(); ++i) {
    b.require(i == dim || at.size(i) <= from.size(i), "size does not match at dimension " + std::to_string(i) +
                                                          " expected index [" + dims_text(at.dims()) +
                                                          "] to be no larger than self [" + dims_text(from.dims()) +
                                                          "] apart from dimension " + std::to_string(dim));
  }
  Value checked =
      checked_index(b, at, from.size(static_cast<int>(dim)), Negative::refused, dim, Code::invalid_argument);
  return b.reshape(b.take_along(from, checked, dim), result);
}
TP_OP("aten::gather", gather);

Value take(Build& b, Value x, Value index) {
  int64_t count = numel(x.dims());
  Value checked =
      checked_index(b, index, count, Negative::wrapped,
                    "out of range: tried to access an index of a tensor of " + std::to_string(count) + " elements");
  if (!b.ok()) return Value();
  return take_rows(b, b.flatten(x), checked, 0);
}
TP_OP("aten::take", take);

Value embedding(Build& b, Value weight, Value indices, int64_t, bool, bool) {
  b.require(weight.rank() == 2, "'weight' must be 2-D");
  if (!b.ok()) return Value();
  Value rows = checked_index(b, indices, weight.size(0), Negative::refused, "index out of range in self");
  if (!b.ok()) return Value();
  return take_rows(b, weight, rows, 0);
}
TP_OP("aten::embedding", embedding);

}  // namespace
}  // namespace tp
