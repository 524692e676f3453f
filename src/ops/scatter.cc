// Writing by index along one dimension: scatter, index_copy, index_add and their kin. Several indices: index_put.cc.

#include "ops/indexing.h"

namespace tp {
namespace {

enum class Reduction : uint8_t { sum, prod, mean, amax, amin };

std::optional<Reduction> reduction_named(Build& b, std::string_view name) {
  if (name == "sum" || name == "add") return Reduction::sum;
  if (name == "prod" || name == "multiply") return Reduction::prod;
  if (name == "mean") return Reduction::mean;
  if (name == "amax") return Reduction::amax;
  if (name == "amin") return Reduction::amin;
  b.fail(Code::invalid_argument,
         "reduce argument must be either sum, prod, mean, amax or amin, got " + std::string(name));
  return std::nullopt;
}

Combine combine_of(Reduction r) {
  switch (r) {
    case Reduction::prod: return Combine::multiply;
    case Reduction::amax: return Combine::maximum;
    case Reduction::amin: return Combine::minimum;
    default: return Combine::add;
  }
}

Value identity(Build& b, Reduction r, Dtype dtype) {
  switch (r) {
    case Reduction::prod: return b.constant_int(dtype, 1);
    case Reduction::amax: return b.lowest(dtype);
    case Reduction::amin: return b.highest(dtype);
    default: return b.constant_int(dtype, 0);
  }
}

using Write = Value (*)(Build&, Combine, const Value&, int64_t, const Value&, const Value&);

// bf16 and f16 sums run in f32: hundreds of updates to one place would lose their tails.
Value write_wide(Build& b, Write write, Combine kind, const Value& x, int64_t dim, const Value& index,
                 const Value& src) {
  if (!b.ok()) return Value();
  bool sums = kind == Combine::add || kind == Combine::multiply;
  Dtype wide = sums ? accumulate_type(x.dtype()) : x.dtype();
  return b.convert(write(b, kind, b.convert(x, wide), dim, index, b.convert(src, wide)), x.dtype());
}

struct Reduced {
  Value x;
  int64_t dim;
  Value index, src;
  Reduction reduction;
  bool include_self;
};

// scatter_reduce's and index_reduce's meaning, with or without the old values.
Value reduce_into(Build& b, Write write, const Reduced& r) {
  if (!b.ok()) return Value();
  Value x = r.x;
  if (!r.include_self) {
    Value start = b.broadcast_to(identity(b, r.reduction, x.dtype()), r.src.dims());
    x = write(b, Combine::replace, x, r.dim, r.index, start);
  }
  if (r.reduction != Reduction::mean) return write_wide(b, write, combine_of(r.reduction), x, r.dim, r.index, r.src);
  Dtype wide = accumulate_type(x.dtype());
  Value total = write(b, Combine::add, b.convert(x, wide), r.dim, r.index, b.convert(r.src, wide));
  Value count = write(b, Combine::add, b.constant_int(wide, r.include_self, x.dims()), r.dim, r.index,
                      b.constant_int(wide, 1, r.src.dims()));
  Value at_least_one = b.maximum(count, b.constant_int(wide, 1));
  Value mean = b.div(total, at_least_one);
  if (is_integral(wide)) {
    // PyTorch rounds an integer mean down, StableHLO's division towards zero.
    Value inexact = b.compare(Direction::ne, b.remainder(total, at_least_one), 0);
    Value below = b.and_(inexact, b.compare(Direction::lt, total, 0));
    mean = b.select(below, b.sub(mean, 1), mean);
  }
  return b.convert(mean, x.dtype());
}

// --- an index for each element

struct Elements {
  Value x, index, src;
  int64_t dim = 0;
};

// The operands of a scatter, at least 1-d and checked against each other.
Elements elements(Build& b, const Value& x, int64_t dim, const Value& index, const Value& src) {
  Elements e{at_least_1d(b, x), at_least_1d(b, index), at_least_1d(b, src), b.wrap_dim(dim, x.rank())};
  if (!b.ok() || numel(index.dims()) == 0) return e;
  if (!b.require(x.dtype() == src.dtype(), "scatter(): expected self.dtype to be equal to src.dtype")) return e;
  b.require(e.x.rank() == e.index.rank() && e.x.rank() == e.src.rank(),
            "index tensor must have the same number of dimensions as self and src tensor");
  for (int i = 0; b.ok() && i < e.x.rank(); ++i) {
    b.require(e.index.size(i) <= e.src.size(i) && (i == e.dim || e.index.size(i) <= e.x.size(i)),
              "expected index [" + dims_text(index.dims()) + "] to be no larger than self [" + dims_text(x.dims()) +
                  "] apart from dimension " + std::to_string(e.dim) + " and to be no larger than src [" +
                  dims_text(src.dims()) + "]");
  }
  if (!b.ok()) return e;
  e.index =
      checked_index(b, e.index, e.x.size(static_cast<int>(e.dim)), Negative::refused, e.dim, Code::invalid_argument);
  int rank = e.index.rank();
  e.src = b.slice(e.src, Dims(rank, 0), e.index ? e.index.dims() : Dims(rank, 0), Dims(rank, 1));
  return e;
}

Value scatter_with(Build& b, Reduction reduction, bool include_self, const Value& x, int64_t dim, const Value& index,
                   const Value& src) {
  Elements e = elements(b, x, dim, index, src);
  if (!b.ok() || numel(index.dims()) == 0) return b.ok() ? x : Value();
  return b.reshape(reduce_into(b, scatter_elements, {e.x, e.dim, e.index, e.src, reduction, include_self}), x.dims());
}

Value scatter(Build& b, Value x, int64_t dim, Value index, Value src) {
  Elements e = elements(b, x, dim, index, src);
  if (!b.ok() || numel(index.dims()) == 0) return b.ok() ? x : Value();
  return b.reshape(scatter_elements(b, Combine::replace, e.x, e.dim, e.index, e.src), x.dims());
}
TP_OP("aten::scatter.src", scatter);

Value scatter_value(Build& b, Value x, int64_t dim, Value index, Scalar value) {
  return scatter(b, x, dim, index, b.constant(x.dtype(), value, index.dims()));
}
TP_OP("aten::scatter.value", scatter_value);

Value scatter_reduce_old(Build& b, Value x, int64_t dim, Value index, Value src, std::string_view reduce) {
  if (!b.require(reduce == "add" || reduce == "multiply", "reduce argument must be either add or multiply."))
    return Value();
  return scatter_with(b, reduce == "add" ? Reduction::sum : Reduction::prod, true, x, dim, index, src);
}
TP_OP("aten::scatter.reduce", scatter_reduce_old);

Value scatter_value_reduce(Build& b, Value x, int64_t dim, Value index, Scalar value, std::string_view reduce) {
  return scatter_reduce_old(b, x, dim, index, b.constant(x.dtype(), value, index.dims()), reduce);
}
TP_OP("aten::scatter.value_reduce", scatter_value_reduce);

Value scatter_add(Build& b, Value x, int64_t dim, Value index, Value src) {
  return scatter_with(b, Reduction::sum, true, x, dim, index, src);
}
TP_OP("aten::scatter_add", scatter_add);

Value scatter_reduce(Build& b, Value x, int64_t dim, Value index, Value src, std::string_view reduce,
                     bool include_self) {
  std::optional<Reduction> reduction = reduction_named(b, reduce);
  if (!reduction) return Value();
  return scatter_with(b, *reduction, include_self, x, dim, index, src);
}
TP_OP("aten::scatter_reduce.two", scatter_reduce);

// --- one index a row

struct Rows {
  Value x, index, source;
  int64_t dim = 0;
};

Rows rows(Build& b, const Value& x, int64_t dim, const Value& index, const Value& source, Negative negative,
          const char* text = nullptr) {
  Rows r{at_least_1d(b, x), at_least_1d(b, index), at_least_1d(b, source), b.wrap_dim(dim, x.rank())};
  if (!b.ok()) return r;
  b.require(index.rank() <= 1, Code::index,
            "index should have dimension 1 or 0 (got " + std::to_string(index.rank()) + ")");
  b.require(r.x.dtype() == r.source.dtype(), "self and source expected to have the same dtype");
  if (!b.ok()) return r;
  Dims expected = r.x.dims();
  expected[r.dim] = r.index.size(0);
  b.require(expected == r.source.dims(), Code::index,
            "source of sizes [" + dims_text(source.dims()) + "] does not match self [" + dims_text(x.dims()) +
                "] with " + std::to_string(r.index.size(0)) + " indices along dimension " + std::to_string(r.dim));
  if (!b.ok()) return r;
  int64_t size = r.x.size(static_cast<int>(r.dim));
  r.index = checked_index(b, r.index, size, negative, text ? text : out_of_bounds(r.index, r.dim, size));
  return r;
}

// The first of consecutive indices, when the graph shows that they are: one index, iota, or iota plus a scalar.
Value consecutive_from(Build& b, const Value& index) {
  if (numel(index.dims()) == 1) return b.reshape(index, {});
  Value at = index;
  while (at->op == Op::convert) at = at->inputs[0];
  if (at->op == Op::iota) return b.constant_int(Dtype::s64, 0);
  if (at->op != Op::add) return Value();
  for (int i = 0; i < 2; ++i) {
    const Value& ramp = at->inputs[i];
    const Value& shift = at->inputs[1 - i];
    if (ramp->op != Op::iota) continue;
    if (shift->op == Op::constant && !shift->runtime_number) return b.constant(Dtype::s64, shift->number);
    if (shift->op == Op::broadcast_in_dim && numel(shift->inputs[0].dims()) == 1) {
      return b.convert(b.reshape(shift->inputs[0], {}), Dtype::s64);
    }
  }
  return Value();
}

Value index_copy(Build& b, Value x, int64_t dim, Value index, Value source) {
  Value first = index && numel(index.dims()) > 0 ? consecutive_from(b, index) : Value();
  Rows r = rows(b, x, dim, index, source, Negative::refused);
  if (!b.ok()) return Value();
  if (numel(r.source.dims()) == 0) return x;
  // A static cache writes consecutive rows: a slice is updated in place, a scatter is a loop over rows.
  if (first && r.source.size(static_cast<int>(r.dim)) <= r.x.size(static_cast<int>(r.dim))) {
    Values starts(r.x.rank(), b.constant_int(Dtype::s64, 0));
    starts[r.dim] = b.convert(first, Dtype::s64);
    return b.reshape(b.dynamic_update_slice(r.x, r.source, starts), x.dims());
  }
  return b.reshape(scatter_rows(b, Combine::replace, r.x, r.dim, r.index, r.source), x.dims());
}
TP_OP("aten::index_copy", index_copy);

Value index_add(Build& b, Value x, int64_t dim, Value index, Value source, Scalar alpha) {
  if (source && !(alpha.is_integer() && alpha.integer() == 1)) {
    Dtype wide = accumulate_type(source.dtype());
    source = b.convert(b.mul(b.convert(source, wide), b.constant(wide, alpha)), source.dtype());
  }
  Rows r = rows(b, x, dim, index, source, Negative::refused, "index out of range in self");
  return b.reshape(write_wide(b, scatter_rows, Combine::add, r.x, r.dim, r.index, r.source), x.dims());
}
TP_OP("aten::index_add", index_add);

Value index_reduce(Build& b, Value x, int64_t dim, Value index, Value source, std::string_view reduce,
                   bool include_self) {
  std::optional<Reduction> reduction = reduction_named(b, reduce);
  Rows r = rows(b, x, dim, index, source, Negative::refused, "index out of range in self");
  if (!b.ok()) return Value();
  return b.reshape(reduce_into(b, scatter_rows, {r.x, r.dim, r.index, r.source, *reduction, include_self}), x.dims());
}
TP_OP("aten::index_reduce", index_reduce);

Value index_fill(Build& b, Value x, int64_t dim, Value index, Value value) {
  dim = b.wrap_dim(dim, x.rank());
  b.require(value.rank() == 0, "index_fill_ only supports a 0-dimensional value tensor, but got tensor with " +
                                   std::to_string(value.rank()) + " dimension(s).");
  if (!b.ok()) return Value();
  Dims dims = at_least_1d(b, x).dims();
  dims[dim] = numel(index.dims());
  Rows r = rows(b, x, dim, index, b.broadcast_to(b.convert(value, x.dtype()), dims), Negative::wrapped);
  return b.ok() ? b.reshape(scatter_rows(b, Combine::replace, r.x, r.dim, r.index, r.source), x.dims()) : Value();
}
TP_OP("aten::index_fill.int_Tensor", index_fill);

Value index_fill_scalar(Build& b, Value x, int64_t dim, Value index, Scalar value) {
  return index_fill(b, x, dim, index, b.constant(x.dtype(), value));
}
TP_OP("aten::index_fill.int_Scalar", index_fill_scalar);

// --- rows of a table, and single elements

Value embedding_dense_backward(Build& b, Value grad, Value indices, int64_t num_weights, int64_t padding_idx,
                               bool scale_grad_by_freq) {
  if (!b.require(grad.rank() >= 1, "grad must have a last dimension")) return Value();
  int64_t width = grad.dims().back();
  Dtype wide = accumulate_type(grad.dtype());
  int64_t count = numel(indices.dims());
  Value flat = b.reshape(b.convert(grad, wide), {count, width});
  Value table = b.constant_int(wide, 0, {num_weights, width});
  Value index = checked_index(b, b.flatten(indices), num_weights, Negative::refused, "index out of range in self");
  if (!b.ok()) return Value();
  if (padding_idx >= 0) {
    Value kept = b.compare(Direction::ne, index, static_cast<double>(padding_idx));
    flat = b.select(b.unsqueeze(kept, 1), flat, b.scalar_like(flat, 0));
  }
  if (scale_grad_by_freq && count > 0) {
    Value uses = scatter_rows(b, Combine::add, b.constant_int(wide, 0, {num_weights}), 0, index,
                              b.constant_int(wide, 1, {count}));
    flat = b.div(flat, b.unsqueeze(b.take(uses, index, 0), 1));
  }
  return b.convert(scatter_rows(b, Combine::add, table, 0, index, flat), grad.dtype());
}
TP_OP("aten::embedding_dense_backward", embedding_dense_backward);

Value put(Build& b, Value x, Value index, Value source, bool accumulate) {
  int64_t count = numel(x.dims());
  b.require(x.dtype() == source.dtype(), "put_(): self and source expected to have the same dtype");
  b.require(numel(index.dims()) == numel(source.dims()),
            "put_(): Expected source and index to have the same number of elements");
  Value at =
      checked_index(b, b.flatten(index), count, Negative::wrapped,
                    "out of range: tried to access an index of a tensor of " + std::to_string(count) + " elements");
  if (!b.ok()) return Value();
  Combine kind = accumulate ? Combine::add : Combine::replace;
  return b.reshape(write_wide(b, scatter_rows, kind, b.flatten(x), 0, at, b.flatten(source)), x.dims());
}
TP_OP("aten::put", put);

// The nth true of the mask takes the nth element of source.
Value masked_scatter(Build& b, Value x, Value mask, Value source) {
  b.require(x.dtype() == source.dtype(), "masked_scatter_: expected self and source to have same dtypes");
  b.require(mask.dtype() == Dtype::pred, "masked_scatter_ only supports boolean masks");
  Dims dims = b.broadcast_dims(x.dims(), mask.dims());
  Value self = b.broadcast_to(x, dims);
  if (!b.ok() || numel(dims) == 0) return self;
  Value chosen = b.broadcast_to(mask, dims);
  int64_t available = numel(source.dims());
  Value count = running_sum(b, b.convert(b.flatten(chosen), Dtype::s64), 0);
  Value chosen_count = b.slice_dim(count, 0, numel(dims) - 1, numel(dims));
  b.check(b.compare(Direction::gt, chosen_count, static_cast<double>(available)), Code::invalid_argument,
          "masked_scatter: expected the number of elements of source to be at least the number of ones in mask");
  if (available == 0) return self;
  Value at = b.clamp(b.constant_int(Dtype::s64, 0), b.sub(count, 1), b.constant_int(Dtype::s64, available - 1));
  return b.select(chosen, b.reshape(b.take(b.flatten(source), at, 0), dims), self);
}
TP_OP("aten::masked_scatter", masked_scatter);

// --- gradients of views: zeros around the gradient

Value slice_backward(Build& b, Value grad, Dims sizes, int64_t dim, int64_t start, int64_t end, int64_t step) {
  dim = b.wrap_dim(dim, sizes.rank());
  if (!b.require(step > 0, Code::value, "slice step must be positive") || !b.ok()) return Value();
  int64_t n = sizes[dim], count = grad.size(static_cast<int>(dim));
  if (count == 0) return b.constant_int(grad.dtype(), 0, sizes);
  if (start < 0) start = std::max<int64_t>(start + n, 0);
  (void)end;  // grad's own size says where the slice ended
  Dims low(sizes.size(), 0), high(sizes.size(), 0), interior(sizes.size(), 0);
  low[dim] = start;
  interior[dim] = step - 1;
  high[dim] = n - start - ((count - 1) * step + 1);
  return b.pad(grad, b.scalar_like(grad, 0), low, high, interior);
}
TP_OP("aten::slice_backward", slice_backward);

Value select_backward(Build& b, Value grad, Dims sizes, int64_t dim, int64_t index) {
  dim = b.wrap_dim(dim, sizes.rank());
  if (!b.ok()) return Value();
  if (index < 0) index += sizes[dim];
  return slice_backward(b, b.unsqueeze(grad, dim), sizes, dim, index, index + 1, 1);
}
TP_OP("aten::select_backward", select_backward);

}  // namespace
}  // namespace tp
