// x[indices] = values, with masks where that needs no data-dependent size.

#include "ops/indexing.h"

namespace tp {
namespace {

Value combined(Build& b, const Value& x, const Value& values, bool accumulate) {
  if (!accumulate) return values;
  return x && x.dtype() == Dtype::pred ? b.or_(x, values) : b.add(x, values);
}

// x[:, mask] = value, where one value serves every true of the mask: a select.
Value put_masked(Build& b, const Value& x, size_t at, const Value& mask, const Value& values, bool accumulate) {
  int first = static_cast<int>(at), after = x.rank() - first - mask.rank();
  if (!b.require(after >= 0, Code::index, "too many indices for tensor of dimension " + std::to_string(x.rank()))) {
    return Value();
  }
  for (int i = 0; i < mask.rank(); ++i) {
    b.require(mask.size(i) == x.size(first + i), Code::index,
              "The shape of the mask [" + dims_text(mask.dims()) + "] at index " + std::to_string(i) +
                  " does not match the shape of the indexed tensor [" + dims_text(x.dims()) + "] at index " +
                  std::to_string(first + i));
  }
  if (!b.ok()) return Value();
  Value spread = values;
  if (values.rank() > after) {
    int counted = values.rank() - 1 - after;  // the dimension that counts the mask's trues
    if (values.size(counted) != 1) return b.decline("the size of a mask's selection depends on data");
    Dims dims = values.dims();
    for (int i = 1; i < mask.rank(); ++i) dims.insert_at(counted, 1);
    if (mask.rank() == 0) dims.erase_at(counted);
    spread = b.reshape(values, dims);
  }
  Dims mapping;
  for (int i = 0; i < mask.rank(); ++i) mapping.push_back(first + i);
  Value chosen = b.broadcast_in_dim(b.convert(mask, Dtype::pred), x.dims(), mapping);
  return b.select(chosen, combined(b, x, b.broadcast_to(spread, x.dims()), accumulate), x);
}

Value put_at(Build& b, const Value& x, const OptionalValues& indices, const Value& values, bool accumulate) {
  Selection s = select_positions(b, x, indices);
  if (!b.ok()) return Value();
  Value updates = b.broadcast_to(values, s.result);
  if (!b.ok() || numel(s.result) == 0) return b.ok() ? x : Value();
  ScatterDims d;
  d.update_window_dims = s.window;
  d.inserted_window_dims = s.dims;
  d.scatter_dims_to_operand_dims = s.dims;
  d.index_vector_dim = s.common.rank();
  if (!accumulate) return b.scatter(Combine::replace, x, s.start, updates, d);
  // Repeated indices add up in f32 for f16 and bf16.
  Dtype wide = accumulate_type(x.dtype());
  Value sum = b.scatter(combine_for(Combine::add, wide), b.convert(x, wide), s.start, b.convert(updates, wide), d);
  return b.convert(sum, x.dtype());
}

Value index_put(Build& b, Value x, OptionalValues indices, Value values, bool accumulate) {
  if (values && x && values.dtype() != x.dtype()) {
    b.require(values->op == Op::constant && values.rank() == 0,
              std::string("Index put requires the source and destination dtypes match, got ") + dtype_name(x.dtype()) +
                  " for the destination and " + dtype_name(values.dtype()) + " for the source.");
    values = b.convert(values, x.dtype());
  }
  if (!b.ok()) return Value();
  size_t masks = 0, others = 0, at = 0;
  for (size_t i = 0; i < indices.size(); ++i) {
    if (!indices[i]) continue;
    bool mask = is_mask(*indices[i]);
    if (mask) at = i;
    (mask ? masks : others) += 1;
  }
  if (masks == 1 && others == 0) return put_masked(b, x, at, *indices[at], values, accumulate);
  return put_at(b, x, indices, values, accumulate);
}
TP_OP("aten::index_put", index_put);
TP_OP("aten::_unsafe_index_put", index_put);

Value index_put_impl(Build& b, Value x, OptionalValues indices, Value values, bool accumulate, bool) {
  return index_put(b, x, std::move(indices), values, accumulate);
}
TP_OP("aten::_index_put_impl", index_put_impl);

Value unsafe_masked_index_put_accumulate(Build& b, Value x, Value mask, OptionalValues indices, Value values) {
  for (size_t i = 0; i < indices.size() && i < x.dims().size(); ++i) {
    if (!indices[i] || is_mask(*indices[i])) continue;
    int64_t size = x.size(static_cast<int>(i));
    indices[i] = b.clamp(b.constant_int(Dtype::s64, -size), b.convert(*indices[i], Dtype::s64),
                         b.constant_int(Dtype::s64, size - 1));
  }
  Value kept = b.select(mask, values, b.scalar_like(values, 0));
  return index_put(b, x, std::move(indices), kept, true);
}
TP_OP("aten::_unsafe_masked_index_put_accumulate", unsafe_masked_index_put_accumulate);

}  // namespace
}  // namespace tp
