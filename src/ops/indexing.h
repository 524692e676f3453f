#pragma once
// What the indexing families share: indices checked and wrapped, and the picture that index.Tensor and index_put
// have in common.

#include "ops/op.h"

namespace tp {

enum class Negative : uint8_t { wrapped, refused };

// "index 5 is out of bounds for dimension 0 with size 3"; the number is named where the host knows it.
std::string out_of_bounds(const Value& index, int64_t dim, int64_t size);
// The index in i64, checked against `size` and (where PyTorch allows it) wrapped from the end.
// PyTorch raises IndexError for most ops, RuntimeError for some.
Value checked_index(Build& b, const Value& index, int64_t size, Negative negative, std::string_view text,
                    Code code = Code::index);
Value checked_index(Build& b, const Value& index, int64_t size, Negative negative, int64_t dim,
                    Code code = Code::index);

// Several index tensors over one value, as x[i, :, j] means it.
struct Selection {
  Value start;       // i64[common sizes…, number of indexed dimensions], or without the last when that is one
  Dims dims;         // the indexed dimensions
  int64_t position;  // where the common sizes stand in the result
  Dims common;       // the sizes that the indices broadcast to
  Dims result;       // the sizes of x[indices]
  Dims window;       // dimensions of the result that come from x's other dimensions
};
// Integer indices only: a mask declines, since its size depends on data.
Selection select_positions(Build& b, const Value& x, const OptionalValues& indices);

bool is_mask(const Value& index);

// x with rows along `dim` combined with the rows of `source`; `index` is checked, 1-d.
Value scatter_rows(Build& b, Combine kind, const Value& x, int64_t dim, const Value& index, const Value& source);
// The same where each element has its own index: x[i… with i_dim = index[i…]] combines with src[i…].
Value scatter_elements(Build& b, Combine kind, const Value& x, int64_t dim, const Value& index, const Value& src);
// add and multiply on bool mean or and and.
Combine combine_for(Combine kind, Dtype dtype);

// Inclusive scans along `dim` (scan.cc).
Value running_sum(Build& b, const Value& x, int64_t dim);
Value running_max(Build& b, const Value& x, int64_t dim);
// How many elements of the sorted last dimension of `sequence` are below each value (or equal, when `right`).
Value count_below(Build& b, const Value& sequence, const Value& values, bool right);

// A 0-d value as one element, so that dimension 0 exists.
Value at_least_1d(Build& b, const Value& x);

}  // namespace tp
