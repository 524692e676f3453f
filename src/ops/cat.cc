// Joining, repeating and flipping.

#include "ops/op.h"
#include "ops/promote.h"

namespace tp {
namespace {

// PyTorch's older empty tensor: [0] joins with anything.
bool is_legacy_empty(const Value& x) { return x.rank() == 1 && x.size(0) == 0; }

Value cat(Build& b, Values parts, int64_t dim) {
  if (!b.require(!parts.empty(), Code::value, "torch.cat(): expected a non-empty list of Tensors")) return Value();
  Values kept;
  for (const Value& part : parts) {
    if (!part) return Value();
    if (!b.require(part.rank() > 0, "zero-dimensional tensor (at position " + std::to_string(&part - parts.data()) +
                                        ") cannot be concatenated"))
      return Value();
    if (!is_legacy_empty(part)) kept.push_back(part);
  }
  Dtype d = result_type(parts);
  if (kept.empty()) return b.convert(parts[0], d);
  int64_t along = b.wrap_dim(dim, kept[0].rank());
  if (!b.ok()) return Value();
  for (Value& part : kept) {
    if (!b.require(part.rank() == kept[0].rank(), "Tensors must have same number of dimensions: got " +
                                                      std::to_string(kept[0].rank()) + " and " +
                                                      std::to_string(part.rank()))) {
      return Value();
    }
    part = b.convert(part, d);
  }
  return b.concatenate(kept, along);
}

Value stack(Build& b, Values parts, int64_t dim) {
  if (!b.require(!parts.empty(), "stack expects a non-empty TensorList")) return Value();
  Dtype d = result_type(parts);
  int64_t along = b.wrap_dim(dim, parts[0].rank() + 1);
  if (!b.ok()) return Value();
  const Dims first = parts[0].dims();
  for (Value& part : parts) {
    if (!b.require(part.dims() == first, "stack expects each tensor to be equal size, but got [" + dims_text(first) +
                                             "] at entry 0 and [" + dims_text(part.dims()) + "] at entry " +
                                             std::to_string(&part - parts.data()))) {
      return Value();
    }
    part = b.unsqueeze(b.convert(part, d), along);
  }
  return b.concatenate(parts, along);
}

Value flip(Build& b, Value x, Dims dims) {
  if (!x || dims.empty()) return x;
  Dims wrapped = b.wrap_dims(dims, x.rank());
  return b.ok() && x.rank() ? b.reverse(x, wrapped) : x;
}

Value rolled(Build& b, const Value& x, int64_t dim, int64_t shift) {
  int64_t n = x.size(static_cast<int>(dim));
  if (n == 0) return x;
  int64_t cut = ((n - shift) % n + n) % n;
  if (cut == 0) return x;
  return b.concatenate({b.slice_dim(x, dim, cut, n), b.slice_dim(x, dim, 0, cut)}, dim);
}
Value roll(Build& b, Value x, Dims shifts, Dims dims) {
  if (!x) return Value();
  if (!b.require(!shifts.empty(), "`shifts` required")) return Value();
  if (dims.empty()) {
    if (!b.require(shifts.size() == 1,
                   "shifts and dimensions must align. shifts: " + std::to_string(shifts.size()) + ", dims:0"))
      return Value();
    return b.reshape(rolled(b, b.flatten(x), 0, shifts[0]), x.dims());
  }
  if (!b.require(shifts.size() == dims.size(),
                 "shifts and dimensions must align. shifts: " + std::to_string(shifts.size()) +
                     ", dims:" + std::to_string(dims.size()))) {
    return Value();
  }
  Value out = x;
  for (size_t i = 0; i < dims.size() && b.ok(); ++i) {
    if (!b.require(x.rank() > 0, Code::index,
                   "Dimension specified as " + std::to_string(dims[i]) + " but tensor has no dimensions")) {
      return Value();
    }
    int64_t d = b.wrap_dim(dims[i], x.rank());
    if (b.ok()) out = rolled(b, out, d, shifts[i]);
  }
  return out;
}

Value repeat(Build& b, Value x, Dims repeats) {
  if (!x) return Value();
  int extra = repeats.rank() - x.rank();
  if (!b.require(extra >= 0,
                 "Number of dimensions of repeat dims can not be smaller than number of dimensions of tensor"))
    return Value();
  // [r0, n0, r1, n1, …] by broadcasting, then joined pairwise.
  Dims wide, mapping, sizes;
  for (int i = 0; i < repeats.rank(); ++i) {
    int64_t n = i < extra ? 1 : x.size(i - extra);
    if (!b.require(repeats[i] >= 0,
                   "Trying to create tensor with negative dimension " + std::to_string(repeats[i] * n)))
      return Value();
    wide.push_back(repeats[i]);
    wide.push_back(n);
    if (i >= extra) mapping.push_back(2 * i + 1);
    sizes.push_back(repeats[i] * n);
  }
  return b.reshape(b.broadcast_in_dim(x, wide, mapping), sizes);
}

TP_OP("aten::cat", cat);
TP_OP("aten::stack", stack);
TP_OP("aten::flip", flip);
TP_OP("aten::roll", roll);
TP_OP("aten::repeat", repeat);

}  // namespace
}  // namespace tp
