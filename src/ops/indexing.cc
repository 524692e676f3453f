#include "ops/indexing.h"

namespace tp {

std::string out_of_bounds(const Value& index, int64_t dim, int64_t size) {
  std::string number;
  if (index && index->op == Op::constant && !index->runtime_number) {
    number = std::to_string(index->number.integer()) + " ";
  }
  return "index " + number + "is out of bounds for dimension " + std::to_string(dim) + " with size " +
         std::to_string(size);
}

Value checked_index(Build& b, const Value& index, int64_t size, Negative negative, std::string_view text, Code code) {
  if (!b.ok() || !index) return Value();
  if (!is_integral(index.dtype())) {
    return b.fail(Code::index,
                  std::string("tensors used as indices must be integers, got ") + dtype_name(index.dtype()));
  }
  Value wide = b.convert(index, Dtype::s64);
  if (numel(index.dims()) == 0) return wide;
  // Nothing can be clamped into an empty dimension, and any index is wrong.
  if (size == 0) return b.fail(code, std::string(text));
  bool wraps = negative == Negative::wrapped;
  wide = b.check_index(wide, wraps ? -size : 0, size, text, code);
  if (!wraps || !wide || is_unsigned(index.dtype())) return wide;
  if (wide->op == Op::constant && !wide->runtime_number) {
    int64_t v = wide->number.integer();
    return v < 0 ? b.constant_int(Dtype::s64, v + size, wide.dims()) : wide;
  }
  if (wide->op == Op::iota) return wide;
  return b.select(b.compare(Direction::lt, wide, 0), b.add(wide, static_cast<double>(size)), wide);
}

Value checked_index(Build& b, const Value& index, int64_t size, Negative negative, int64_t dim, Code code) {
  return checked_index(b, index, size, negative, out_of_bounds(index, dim, size), code);
}

bool is_mask(const Value& index) { return index.dtype() == Dtype::pred || index.dtype() == Dtype::u8; }

namespace {

// Dimensions of the result that the indices don't fill, in order.
Dims window_of(int rank, int64_t position, int common) {
  Dims window;
  for (int i = 0; i < rank; ++i) {
    if (i < position || i >= position + common) window.push_back(i);
  }
  return window;
}

}  // namespace

Selection select_positions(Build& b, const Value& x, const OptionalValues& indices) {
  Selection s{};
  if (!b.require(indices.size() <= x.dims().size(), Code::index,
                 "too many indices for tensor of dimension " + std::to_string(x.rank()) + " (got " +
                     std::to_string(indices.size()) + ")")) {
    return s;
  }
  Values wrapped;
  for (size_t i = 0; i < indices.size(); ++i) {
    if (!indices[i]) continue;
    if (is_mask(*indices[i])) {
      b.decline("the size of a mask's selection depends on data");
      return s;
    }
    int64_t dim = static_cast<int64_t>(i);
    wrapped.push_back(checked_index(b, *indices[i], x.size(static_cast<int>(i)), Negative::wrapped, dim));
    if (!b.ok()) return s;
    s.dims.push_back(dim);
    s.common = b.broadcast_dims(s.common, wrapped.back().dims());
  }
  if (!b.require(!s.dims.empty(), Code::index, "at least one index must be a tensor") || !b.ok()) return s;
  bool adjacent = s.dims.back() - s.dims.front() + 1 == s.dims.rank();
  s.position = adjacent ? s.dims.front() : 0;
  for (int i = 0; i < x.rank(); ++i) {
    if (!s.dims.contains(i)) s.result.push_back(x.size(i));
  }
  for (size_t i = 0; i < s.common.size(); ++i) s.result.insert_at(s.position + i, s.common[i]);
  s.window = window_of(s.result.rank(), s.position, s.common.rank());
  Values columns;
  for (const Value& w : wrapped) {
    Value column = b.broadcast_to(w, s.common);
    columns.push_back(wrapped.size() == 1 ? column : b.unsqueeze(column, s.common.rank()));
  }
  s.start = columns.size() == 1 ? columns[0] : b.concatenate(columns, s.common.rank());
  return s;
}

Combine combine_for(Combine kind, Dtype dtype) {
  if (dtype != Dtype::pred) return kind;
  if (kind == Combine::add) return Combine::or_;
  return kind == Combine::multiply ? Combine::and_ : kind;
}

Value scatter_rows(Build& b, Combine kind, const Value& x, int64_t dim, const Value& index, const Value& source) {
  if (!b.ok() || !x || !index || !source) return Value();
  if (numel(source.dims()) == 0) return x;
  ScatterDims d;
  d.inserted_window_dims = {dim};
  d.scatter_dims_to_operand_dims = {dim};
  d.index_vector_dim = 1;
  for (int i = 0; i < x.rank(); ++i) {
    if (i != dim) d.update_window_dims.push_back(i);
  }
  return b.scatter(combine_for(kind, x.dtype()), x, index, source, d);
}

Value scatter_elements(Build& b, Combine kind, const Value& x, int64_t dim, const Value& index, const Value& src) {
  if (!b.ok() || !x || !index || !src) return Value();
  if (numel(index.dims()) == 0) return x;
  // The index may cover less than x in the other dimensions: only that corner changes.
  int rank = x.rank();
  Dims corner = x.dims();
  for (int i = 0; i < rank; ++i) {
    if (i != dim) corner[i] = index.size(i);
  }
  Value cut = b.slice(x, Dims(rank, 0), corner, Dims(rank, 1));
  Value updates = b.slice(src, Dims(rank, 0), index.dims(), Dims(rank, 1));
  ScatterDims d;
  d.inserted_window_dims = {dim};
  d.scatter_dims_to_operand_dims = {dim};
  d.index_vector_dim = rank;
  for (int i = 0; i < rank; ++i) {
    if (i == dim) continue;
    d.input_batching_dims.push_back(i);
    d.scatter_indices_batching_dims.push_back(i);
  }
  return b.update_slice(x, b.scatter(combine_for(kind, x.dtype()), cut, index, updates, d), Dims(rank, 0));
}

Value at_least_1d(Build& b, const Value& x) { return x && x.rank() == 0 ? b.reshape(x, Dims{1}) : x; }

}  // namespace tp
