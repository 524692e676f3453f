// Operations that move elements without computing on them.

#include "stablehlo/build.h"

namespace tp {
namespace {

bool is_identity(const Dims& permutation) {
  for (size_t i = 0; i < permutation.size(); ++i) {
    if (permutation[i] != static_cast<int64_t>(i)) return false;
  }
  return true;
}

}  // namespace

// ints: none; the target dtype and dims are the node's type.
Value Build::bitcast(const Value& x, Dtype dtype, const Dims& dims) {
  if (!ok() || !x) return Value();
  if (x.dtype() == dtype && x.dims() == dims) return x;
  if (is_complex(x.dtype()) != is_complex(dtype)) {
    // StableHLO has no bitcast between complex and real: [.., 2] reals are one complex number.
    if (is_complex(dtype)) {
      Dtype part = real_type(dtype);
      Dims wide = dims;
      wide.push_back(2);
      Value reals = bitcast(x, part, wide);
      int64_t last = dims.rank();
      return complex(reshape(slice_dim(reals, last, 0, 1), dims), reshape(slice_dim(reals, last, 1, 2), dims));
    }
    Dims pair = x.dims();
    pair.push_back(1);
    Value parts = concatenate({reshape(real(x), pair), reshape(imag(x), pair)}, x.rank());
    pair.back() = 2;
    if (real_type(x.dtype()) == dtype) return reshape(parts, dims);
    return bitcast(reshape(parts, pair), dtype, dims);
  }
  // A bool is a byte of 0 or 1 in PyTorch; XLA refuses to bitcast it.
  if (x.dtype() == Dtype::pred) return bitcast(convert(x, Dtype::u8), dtype, dims);
  if (dtype == Dtype::pred) return convert(bitcast(x, Dtype::u8, dims), dtype);
  return make(Op::bitcast_convert, Type{dtype, dims}, x);
}

Value Build::reshape(const Value& x, const Dims& dims) {
  if (!ok() || !x) return Value();
  if (x.dims() == dims) return x;
  if (numel(dims) != numel(x.dims())) {
    return fail(Code::invalid_argument,
                "shape [" + dims_text(dims) + "] is invalid for input of size " + std::to_string(numel(x.dims())));
  }
  if (x->op == Op::constant) return constant(x.dtype(), x->number, dims);
  if (x->op == Op::reshape) return reshape(x->inputs[0], dims);
  return make(Op::reshape, Type{x.dtype(), dims}, x);
}

// ints: the permutation.
Value Build::transpose(const Value& x, const Dims& permutation) {
  if (!ok() || !x) return Value();
  if (is_identity(permutation)) return x;
  Dims dims;
  for (int64_t p : permutation) dims.push_back(x.size(static_cast<int>(p)));
  if (x->op == Op::constant) return constant(x.dtype(), x->number, dims);
  if (x->op == Op::transpose) {
    Dims both;
    for (int64_t p : permutation) both.push_back(x->ints[p]);
    return transpose(x->inputs[0], both);
  }
  return make(Op::transpose, Type{x.dtype(), dims}, x, 0, permutation);
}

Value Build::swap_dims(const Value& x, int64_t a, int64_t b) {
  if (!ok() || !x) return Value();
  Dims permutation = iota_dims(x.rank());
  std::swap(permutation[a], permutation[b]);
  return transpose(x, permutation);
}

// ints: the mapping.
Value Build::broadcast_in_dim(const Value& x, const Dims& dims, const Dims& mapping) {
  if (!ok() || !x) return Value();
  if (x.dims() == dims && is_identity(mapping)) return x;
  if (x->op == Op::constant) {
    if (!x->runtime_number) return constant(x.dtype(), x->number, dims);
  }
  return make(Op::broadcast_in_dim, Type{x.dtype(), dims}, x, 0, mapping);
}

Dims Build::broadcast_dims(const Dims& a, const Dims& b) {
  if (a == b) return a;
  size_t rank = std::max(a.size(), b.size());
  Dims out(rank, 1);
  for (size_t i = 0; i < rank; ++i) {
    int64_t x = i + a.size() < rank ? 1 : a[i + a.size() - rank];
    int64_t y = i + b.size() < rank ? 1 : b[i + b.size() - rank];
    if (x != y && x != 1 && y != 1) {
      fail(Code::invalid_argument, "The size of tensor a (" + std::to_string(x) +
                                       ") must match the size of tensor b (" + std::to_string(y) +
                                       ") at non-singleton dimension " + std::to_string(i));
      return out;
    }
    out[i] = x == 1 ? y : x;
  }
  return out;
}

Value Build::broadcast_to(const Value& x, const Dims& dims) {
  if (!ok() || !x) return Value();
  if (x.dims() == dims) return x;
  int shift = dims.rank() - x.rank();
  bool fits = shift >= 0;
  Dims kept, mapping;
  for (int i = 0; fits && i < x.rank(); ++i) {
    if (x.size(i) == dims[i + shift]) {
      kept.push_back(x.size(i));
      mapping.push_back(i + shift);
    } else {
      fits = x.size(i) == 1;
    }
  }
  if (!fits) {
    return fail(Code::invalid_argument,
                "sizes [" + dims_text(x.dims()) + "] cannot be expanded to [" + dims_text(dims) + "]");
  }
  return broadcast_in_dim(reshape(x, kept), dims, mapping);
}

Value Build::spread(const Value& reduced, const Dims& dims, const Dims& reduced_dims) {
  if (!ok() || !reduced) return Value();
  Dims mapping;
  for (int i = 0; i < dims.rank(); ++i) {
    if (!reduced_dims.contains(i)) mapping.push_back(i);
  }
  return broadcast_in_dim(reduced, dims, mapping);
}

Value Build::keep_dims(const Value& reduced, const Dims& before, const Dims& dims, bool keep) {
  if (!ok() || !reduced || !keep) return ok() ? reduced : Value();
  Dims sizes = before;
  for (int64_t d : dims) sizes[d] = 1;
  return reshape(reduced, sizes);
}

Value Build::unsqueeze(const Value& x, int64_t dim) {
  if (!ok() || !x) return Value();
  Dims dims = x.dims();
  dims.insert_at(dim, 1);
  return reshape(x, dims);
}

Value Build::squeeze(const Value& x, int64_t dim) {
  if (!ok() || !x) return Value();
  Dims dims = x.dims();
  dims.erase_at(dim);
  return reshape(x, dims);
}

// ints: starts, limits, strides, rank numbers each.
Value Build::slice(const Value& x, const Dims& start, const Dims& limit, const Dims& stride) {
  if (!ok() || !x) return Value();
  Dims dims;
  bool whole = true;
  for (int i = 0; i < x.rank(); ++i) {
    if (start[i] < 0 || limit[i] > x.size(i) || start[i] > limit[i] || stride[i] < 1) {
      return fail(Code::index, "slice [" + std::to_string(start[i]) + ":" + std::to_string(limit[i]) +
                                   "] is out of range for dimension " + std::to_string(i) + " of size " +
                                   std::to_string(x.size(i)));
    }
    dims.push_back((limit[i] - start[i] + stride[i] - 1) / stride[i]);
    whole = whole && dims[i] == x.size(i);
  }
  if (whole) return x;
  if (x->op == Op::constant) return constant(x.dtype(), x->number, dims);
  Dims ints = start;
  ints.append(limit);
  ints.append(stride);
  return make(Op::slice, Type{x.dtype(), dims}, x, 0, ints);
}

Value Build::slice_dim(const Value& x, int64_t dim, int64_t start, int64_t limit, int64_t stride) {
  if (!ok() || !x) return Value();
  Dims starts(x.rank(), 0), limits = x.dims(), strides(x.rank(), 1);
  starts[dim] = start;
  limits[dim] = limit;
  strides[dim] = stride;
  return slice(x, starts, limits, strides);
}

// inputs: x, then rank 0-d integer starts.
Value Build::dynamic_slice(const Value& x, const Values& start, const Dims& sizes) {
  if (!ok() || !x || !all_present(start)) return Value();
  if (x.dims() == sizes) return x;
  Values inputs{x};
  inputs.insert(inputs.end(), start.begin(), start.end());
  return make(Op::dynamic_slice, Type{x.dtype(), sizes}, Inputs(std::move(inputs)));
}

// ints: the starts. inputs: x, update. With host starts the op is dynamic_update_slice too (kind 1).
Value Build::update_slice(const Value& x, const Value& update, const Dims& start) {
  if (!ok() || !x || !update) return Value();
  if (x.dtype() != update.dtype() || x.rank() != update.rank()) {
    return fail(Code::invalid_argument,
                "expected an update like " + type_text(x.type()) + ", got " + type_text(update.type()));
  }
  if (update.dims() == x.dims()) return update;
  for (int i = 0; i < x.rank(); ++i) {
    if (start[i] < 0 || start[i] + update.size(i) > x.size(i)) {
      return fail(Code::index, "update of size " + std::to_string(update.size(i)) + " at " + std::to_string(start[i]) +
                                   " is out of range for dimension " + std::to_string(i) + " of size " +
                                   std::to_string(x.size(i)));
    }
  }
  return make(Op::dynamic_update_slice, x.type(), Inputs(x, update), 1, start);
}

// inputs: x, update, then rank 0-d integer starts. kind 0.
Value Build::dynamic_update_slice(const Value& x, const Value& update, const Values& start) {
  if (!ok() || !x || !update || !all_present(start)) return Value();
  Values inputs{x, update};
  inputs.insert(inputs.end(), start.begin(), start.end());
  return make(Op::dynamic_update_slice, x.type(), Inputs(std::move(inputs)));
}

// ints: low, high, interior, rank numbers each.
Value Build::pad(const Value& x, const Value& fill, const Dims& low, const Dims& high, const Dims& interior) {
  if (!ok() || !x || !fill) return Value();
  Dims dims;
  bool nothing = true;
  for (int i = 0; i < x.rank(); ++i) {
    int64_t n = x.size(i);
    int64_t padded = low[i] + high[i] + n + (n > 0 ? (n - 1) * interior[i] : 0);
    if (padded < 0) {
      return fail(Code::invalid_argument, "padding of dimension " + std::to_string(i) + " of size " +
                                              std::to_string(n) + " gives the negative size " + std::to_string(padded));
    }
    dims.push_back(padded);
    nothing = nothing && low[i] == 0 && high[i] == 0 && interior[i] == 0;
  }
  if (nothing) return x;
  Dims ints = low;
  ints.append(high);
  ints.append(interior);
  return make(Op::pad, Type{x.dtype(), dims}, Inputs(x, convert(fill, x.dtype())), 0, ints);
}

// ints: {dim}.
Value Build::concatenate(const Values& parts, int64_t dim) {
  if (!all_present(parts) || parts.empty()) return Value();
  if (parts.size() == 1) return parts[0];
  Dims dims = parts[0].dims();
  dims[dim] = 0;
  for (const Value& part : parts) {
    bool fits = part.rank() == dims.rank() && part.dtype() == parts[0].dtype();
    for (int i = 0; fits && i < dims.rank(); ++i) fits = i == dim || part.size(i) == dims[i];
    if (!fits) {
      return fail(Code::invalid_argument, "sizes of tensors must match except in dimension " + std::to_string(dim) +
                                              ", got " + type_text(parts[0].type()) + " and " + type_text(part.type()));
    }
    dims[dim] += part.size(static_cast<int>(dim));
  }
  return make(Op::concatenate, Type{parts[0].dtype(), dims}, Inputs(parts), 0, Dims{dim});
}

// ints: the dimensions.
Value Build::reverse(const Value& x, const Dims& dims) {
  if (!ok() || !x || dims.empty()) return ok() ? x : Value();
  return make(Op::reverse, x.type(), x, 0, dims);
}

Values Build::optimization_barrier(const Values& operands) {
  if (operands.empty() || !all_present(operands)) return {};
  Value node = make(Op::optimization_barrier, operands[0].type(), Inputs(operands));
  if (!node || operands.size() == 1) return {node};
  for (size_t i = 1; i < operands.size(); ++i) node->more_types.push_back(operands[i].type());
  return projections(node);
}

}  // namespace tp
