// nonzero with a size that the caller states, so that nothing depends on data. (nonzero itself is torch_bridge's.)

#include "ops/op.h"

namespace tp {
namespace {

// The flat places of the first `size` true elements, then `elements`.
Value places(Build& b, const Value& x, int64_t size) {
  int64_t elements = numel(x.dims());
  Value none = b.constant_int(Dtype::s64, elements, {elements});
  Value found = b.select(b.convert(b.flatten(x), Dtype::pred), b.iota(Dtype::s64, {elements}, 0), none);
  Value sorted = b.sort({found}, 0, false)[0];
  if (size <= elements) return b.slice_dim(sorted, 0, 0, size);
  return b.pad(sorted, b.constant_int(Dtype::s64, elements), {0}, {size - elements}, {0});
}

Value nonzero_static(Build& b, Value x, int64_t size, int64_t fill_value) {
  if (!b.require(size >= 0, "nonzero_static: 'size' must be an non-negative integer")) return Value();
  Dims dims = x.dims(), strides = contiguous_strides(dims);
  int64_t elements = numel(dims);
  Value fill = b.constant_int(Dtype::s64, fill_value, {size, 1});
  if (dims.empty() || size == 0 || elements == 0) {
    return b.constant_int(Dtype::s64, fill_value, {size, static_cast<int64_t>(dims.size())});
  }
  Value at = b.reshape(places(b, x, size), {size, 1});
  Value beyond = b.compare(Direction::eq, at, b.constant_int(Dtype::s64, elements));
  Values columns;
  for (size_t d = 0; d < dims.size(); ++d) {
    Value along = b.remainder(b.div(at, b.constant_int(Dtype::s64, strides[d])), b.constant_int(Dtype::s64, dims[d]));
    columns.push_back(b.select(beyond, fill, along));
  }
  return b.concatenate(columns, 1);
}
TP_OP("aten::nonzero_static", nonzero_static);

}  // namespace
}  // namespace tp
