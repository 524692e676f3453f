// Reductions, products, indexing, sorting, linear algebra.

#include "stablehlo/attributes.h"

namespace tp {
namespace {

// Dimensions of a value that are in neither list.
Dims other_dims(int rank, const Dims& a, const Dims& b) {
  Dims out;
  for (int i = 0; i < rank; ++i) {
    if (!a.contains(i) && !b.contains(i)) out.push_back(i);
  }
  return out;
}

int64_t window_output(int64_t n, const WindowDims& w, int i) {
  int64_t dilated = n > 0 ? (n - 1) * w.base_dilations[i] + 1 : 0;
  int64_t window = w.sizes[i] > 0 ? (w.sizes[i] - 1) * w.window_dilations[i] + 1 : 0;
  int64_t padded = dilated + w.pad_low[i] + w.pad_high[i];
  return padded < window ? 0 : (padded - window) / w.strides[i] + 1;
}

}  // namespace

// kind: the Combine. ints: the reduced dimensions. inputs: x, the identity.
Value Build::reduce(Combine kind, const Value& x, const Dims& dims) {
  if (!ok() || !x || dims.empty()) return ok() ? x : Value();
  Dims kept;
  for (int64_t i : other_dims(x.rank(), dims, {})) kept.push_back(x.size(static_cast<int>(i)));
  return make(Op::reduce, Type{x.dtype(), kept}, Inputs(x, identity_of(*this, kind, x.dtype())),
              static_cast<uint8_t>(kind), dims);
}

// kind: the Combine. ints: pack(WindowDims). inputs: x, the identity.
Value Build::reduce_window(Combine kind, const Value& x, const WindowDims& window) {
  if (!ok() || !x) return Value();
  Dims dims;
  for (int i = 0; i < x.rank(); ++i) dims.push_back(window_output(x.size(i), window, i));
  return make(Op::reduce_window, Type{x.dtype(), dims}, Inputs(x, identity_of(*this, kind, x.dtype())),
              static_cast<uint8_t>(kind), pack(window));
}

// ints: pack(WindowDims). inputs: x, updates, zero.
Value Build::select_and_scatter(const Value& x, const Value& updates, const WindowDims& window) {
  if (!ok() || !x || !updates) return Value();
  return make(Op::select_and_scatter, x.type(), Inputs(x, updates, constant_int(x.dtype(), 0)), 0, pack(window));
}

// kind: 1 for exact float32. ints: pack(DotDims). The result dtype is the node's.
Value Build::dot_general(const Value& a, const Value& b, const DotDims& d, std::optional<Dtype> result) {
  if (!ok() || !a || !b) return Value();
  if (a.dtype() != b.dtype()) {
    return fail(Code::invalid_argument, std::string("expected m1 and m2 to have the same dtype, but got: ") +
                                            dtype_name(a.dtype()) + " != " + dtype_name(b.dtype()));
  }
  Dims dims;
  for (int64_t i : d.batch_a) dims.push_back(a.size(static_cast<int>(i)));
  for (int64_t i : other_dims(a.rank(), d.batch_a, d.contract_a)) dims.push_back(a.size(static_cast<int>(i)));
  for (int64_t i : other_dims(b.rank(), d.batch_b, d.contract_b)) dims.push_back(b.size(static_cast<int>(i)));
  Dtype dtype = result.value_or(a.dtype());
  return make(Op::dot_general, Type{dtype, dims}, Inputs(a, b), a.dtype() == Dtype::f32, pack(d));
}

// kind: as dot_general. ints: pack(ConvolutionDims).
Value Build::convolution(const Value& x, const Value& weight, const ConvolutionDims& d) {
  if (!ok() || !x || !weight) return Value();
  int rank = x.rank();
  Dims dims(rank, 0);
  dims[d.output_layout[0]] = x.size(static_cast<int>(d.input_layout[0])) / d.batch_groups;
  dims[d.output_layout[1]] = weight.size(static_cast<int>(d.kernel_layout[0]));
  for (int i = 2; i < rank; ++i) {
    int64_t n = x.size(static_cast<int>(d.input_layout[i])), k = weight.size(static_cast<int>(d.kernel_layout[i]));
    int64_t dilated = n > 0 ? (n - 1) * d.lhs_dilation[i - 2] + 1 : 0;
    int64_t window = (k - 1) * d.rhs_dilation[i - 2] + 1;
    int64_t room = dilated + d.pad_low[i - 2] + d.pad_high[i - 2] - window;
    dims[d.output_layout[i]] = room < 0 ? 0 : room / d.strides[i - 2] + 1;
  }
  return make(Op::convolution, Type{x.dtype(), dims}, Inputs(x, weight), x.dtype() == Dtype::f32, pack(d));
}

// ints: pack(GatherDims, slice_sizes).
Value Build::gather(const Value& x, const Value& indices, const GatherDims& d, const Dims& slice_sizes) {
  if (!ok() || !x || !indices) return Value();
  Dims batch;  // sizes of the index dimensions, without the index vector
  for (int i = 0; i < indices.rank(); ++i) {
    if (i != d.index_vector_dim) batch.push_back(indices.size(i));
  }
  Dims window;
  for (int64_t i : other_dims(x.rank(), d.collapsed_slice_dims, d.operand_batching_dims))
    window.push_back(slice_sizes[i]);
  size_t rank = batch.size() + window.size(), next_batch = 0, next_window = 0;
  Dims dims;
  for (size_t i = 0; i < rank; ++i) {
    bool offset = d.offset_dims.contains(static_cast<int64_t>(i));
    dims.push_back(offset ? window[next_window++] : batch[next_batch++]);
  }
  return make(Op::gather, Type{x.dtype(), dims}, Inputs(x, indices), 0, pack(d, slice_sizes));
}

// kind: the Combine. ints: pack(ScatterDims).
Value Build::scatter(Combine kind, const Value& x, const Value& indices, const Value& updates, const ScatterDims& d) {
  if (!ok() || !x || !indices || !updates) return Value();
  if (x.dtype() != updates.dtype()) {
    return fail(Code::invalid_argument, std::string("expected updates of dtype ") + dtype_name(x.dtype()) + ", got " +
                                            dtype_name(updates.dtype()));
  }
  return make(Op::scatter, x.type(), Inputs(x, indices, updates), static_cast<uint8_t>(kind), pack(d));
}

Value Build::take(const Value& x, const Value& index, int64_t dim) {
  if (!ok() || !x || !index) return Value();
  GatherDims d;
  d.index_vector_dim = index.rank();
  d.collapsed_slice_dims = {dim};
  d.start_index_map = {dim};
  Dims sizes = x.dims();
  sizes[dim] = 1;
  for (int i = 0; i < x.rank(); ++i) {
    if (i != dim) d.offset_dims.push_back(i < dim ? i : i - 1 + index.rank());
  }
  return gather(x, index, d, sizes);
}

Value Build::take_along(const Value& x, const Value& index, int64_t dim) {
  if (!ok() || !x || !index) return Value();
  int rank = x.rank();
  // torch.gather allows an index that is smaller in the other dimensions.
  Dims limits = x.dims();
  for (int i = 0; i < rank; ++i) {
    if (i != dim) limits[i] = index.size(i);
  }
  Value cut = slice(x, Dims(rank, 0), limits, Dims(rank, 1));
  GatherDims d;
  d.index_vector_dim = rank;
  d.collapsed_slice_dims = {dim};
  d.start_index_map = {dim};
  for (int i = 0; i < rank; ++i) {
    if (i == dim) continue;
    d.operand_batching_dims.push_back(i);
    d.start_indices_batching_dims.push_back(i);
  }
  return gather(cut, index, d, Dims(rank, 1));
}

// kind: 1 for descending. ints: {dim}. One result an operand.
Values Build::sort(const Values& operands, int64_t dim, bool descending) {
  if (!all_present(operands) || operands.empty()) return {};
  if (operands[0].rank() == 0) return operands;
  Value node = make(Op::sort, operands[0].type(), Inputs(operands), descending, Dims{dim});
  if (!node) return {};
  if (operands.size() == 1) return {node};
  for (size_t i = 1; i < operands.size(); ++i) node->more_types.push_back(operands[i].type());
  return projections(node);
}

void Build::check(const Value& bad, Code code, std::string_view text) {
  if (!ok() || !bad) return;
  Value flag = reduce(Combine::or_, bad, iota_dims(bad.rank()));
  if (flag) checks_.push_back({std::move(flag), make_error(code, std::string(text))});
}

Value Build::check_index(const Value& index, int64_t low, int64_t high, std::string_view text, Code code) {
  if (!ok() || !index) return Value();
  if (numel(index.dims()) == 0) return index;
  if (index->op == Op::constant && !index->runtime_number) {
    int64_t v = index->number.integer();
    if (v < low || v >= high) return fail(code, std::string(text));
    return index;
  }
  // Compared in 64 bits: the bound of a large table does not fit a small index dtype.
  Value wide = convert(index, Dtype::s64);
  Value bad = or_(compare(Direction::lt, wide, constant_int(Dtype::s64, low, wide.dims())),
                  compare(Direction::ge, wide, constant_int(Dtype::s64, high, wide.dims())));
  check(bad, code, text);
  int64_t top = std::max(high - 1, low);
  Value inside =
      minimum(maximum(wide, constant_int(Dtype::s64, low, wide.dims())), constant_int(Dtype::s64, top, wide.dims()));
  return convert(inside, index.dtype());
}

// kind: 1 for the lower factor.
Value Build::cholesky(const Value& x, bool lower) {
  if (!ok() || !x) return Value();
  return make(Op::cholesky, x.type(), x, lower);
}

// kind: bit 0 left, 1 lower, 2 unit diagonal, 3 transpose (bit 4: conjugate too).
Value Build::triangular_solve(const Value& a, const Value& b, bool left, bool lower, bool unit, bool transpose) {
  if (!ok() || !a || !b) return Value();
  return make(Op::triangular_solve, b.type(), Inputs(a, b),
              static_cast<uint8_t>(left | lower << 1 | unit << 2 | transpose << 3));
}

// kind: the Fft. ints: the lengths of the last dimensions.
Value Build::fft(const Value& x, Fft kind, const Dims& lengths) {
  if (!ok() || !x) return Value();
  Type type = x.type();
  if (kind == Fft::real_forward) {
    type.dtype = complex_type(type.dtype);
    type.dims[type.dims.size() - 1] = lengths.back() / 2 + 1;
  } else if (kind == Fft::real_inverse) {
    type.dtype = real_type(type.dtype);
    type.dims[type.dims.size() - 1] = lengths.back();
  }
  return make(Op::fft, type, x, static_cast<uint8_t>(kind), lengths);
}

// text: the name. ints and number: its attributes.
Values Build::composite(std::string name, Values inputs, std::vector<Type> results, Dims ints, Scalar number) {
  if (!all_present(inputs)) return {};
  Value node = make(Op::composite, results[0], Inputs(std::move(inputs)), 0, std::move(ints));
  if (!node) return {};
  node->text = std::move(name);
  node->number = number;
  if (results.size() == 1) return {node};
  node->more_types.assign(results.begin() + 1, results.end());
  return projections(node);
}

Value Build::composite1(std::string name, Values inputs, Type result, Dims ints, Scalar number) {
  Values results = composite(std::move(name), std::move(inputs), {std::move(result)}, std::move(ints), number);
  return results.empty() ? Value() : results[0];
}

// text: the target, a newline, the backend_config dictionary.
Value Build::custom_call(std::string target, Values inputs, Type result, std::string backend_config) {
  if (!all_present(inputs)) return Value();
  Value node = make(Op::custom_call, std::move(result), Inputs(std::move(inputs)));
  if (node) node->text = std::move(target) + "\n" + std::move(backend_config);
  return node;
}

}  // namespace tp
