// LU factors with partial pivoting, and what follows from them. StableHLO has no such operation: the steps are written
// out, so matrices of more than kLargest steps go to the CPU.

#include "ops/op.h"

namespace tp {
namespace {

constexpr int64_t kLargest = 16;

int64_t rows_of(const Value& x) { return x.size(x.rank() - 2); }
int64_t columns_of(const Value& x) { return x.size(x.rank() - 1); }

Dims with_last(const Value& x, std::initializer_list<int64_t> last) {
  Dims dims(x.dims().data(), x.dims().size() - 2);
  for (int64_t size : last) dims.push_back(size);
  return dims;
}

Value with_column(Build& b, const Value& x) { return b.unsqueeze(x, x.rank()); }

Value adjoint(Build& b, const Value& x) {
  Value turned = b.swap_dims(x, x.rank() - 2, x.rank() - 1);
  return is_complex(x.dtype()) ? b.complex(b.real(turned), b.negate(b.imag(turned))) : turned;
}

// LAPACK's size of a complex number when it looks for a pivot.
Value size_of(Build& b, const Value& x) {
  return is_complex(x.dtype()) ? b.add(b.abs(b.real(x)), b.abs(b.imag(x))) : b.abs(x);
}

// Row `index` [batch…] of x, as [batch…, 1, columns]; a sum over a mask, which no infinity elsewhere can spoil.
Value row_at(Build& b, const Value& x, const Value& row_numbers, const Value& index) {
  Value chosen = b.compare(Direction::eq, row_numbers, with_column(b, with_column(b, index)));
  Value kept = b.select(chosen, x, b.constant_int(x.dtype(), 0, x.dims()));
  return b.unsqueeze(b.sum(kept, {x.rank() - 2}), x.rank() - 2);
}

struct Factors {
  Value lu;
  Values pivots;  // by step, s32[batch…], from 0
  Value info;     // s32[batch…]: the first step, from 1, whose pivot is 0
};

// One step: the pivot's row goes up, and what is below and right of it is reduced.
void eliminate(Build& b, Factors& f, int64_t step, bool pivot, const Value& row, const Value& column) {
  int rank = f.lu.rank();
  Dims batch(f.lu.dims().data(), rank - 2);
  Value here = b.constant_int(Dtype::s32, step, batch), index = here;
  if (pivot) {
    Value candidates = b.squeeze(b.slice_dim(f.lu, rank - 1, step, step + 1), rank - 1);
    Dims lines = candidates.dims();
    Value line = b.iota(Dtype::s32, lines, rank - 2);
    Value size = size_of(b, candidates);
    size = b.select(b.compare(Direction::lt, line, step), b.like(size, -1), size);
    Value largest = b.unsqueeze(b.reduce(Combine::maximum, size, {rank - 2}), rank - 2);
    Value places = b.select(b.compare(Direction::eq, size, largest), line, b.highest(Dtype::s32, lines));
    // With a NaN no place is the largest.
    index =
        b.minimum(b.reduce(Combine::minimum, places, {rank - 2}), b.constant_int(Dtype::s32, rows_of(f.lu) - 1, batch));
    Value upper = row_at(b, f.lu, row, here), lower = row_at(b, f.lu, row, index);
    Value is_lower = b.compare(Direction::eq, row, with_column(b, with_column(b, index)));
    Value is_upper = b.compare(Direction::eq, row, step);
    auto spread = [&](const Value& x) { return b.broadcast_to(x, f.lu.dims()); };
    f.lu = b.select(is_upper, spread(lower), b.select(is_lower, spread(upper), f.lu));
  }
  f.pivots.push_back(index);

  Value top = b.slice_dim(f.lu, rank - 2, step, step + 1);
  Value corner = b.slice_dim(top, rank - 1, step, step + 1);
  Value zero = b.constant_int(f.lu.dtype(), 0, corner.dims()), one = b.constant_int(f.lu.dtype(), 1, corner.dims());
  Value is_zero = b.compare(Direction::eq, corner, zero);
  Value failed = b.squeeze(b.squeeze(is_zero, rank - 1), rank - 2);
  Value first = b.and_(failed, b.compare(Direction::eq, f.info, 0));
  f.info = b.select(first, b.constant_int(Dtype::s32, step + 1, batch), f.info);

  Value left = b.slice_dim(f.lu, rank - 1, step, step + 1);
  Value multipliers = b.div(left, b.broadcast_to(b.select(is_zero, one, corner), left.dims()));
  Value below = b.compare(Direction::gt, row, step), right = b.compare(Direction::gt, column, step);
  Value product = b.mul(b.broadcast_to(multipliers, f.lu.dims()), b.broadcast_to(top, f.lu.dims()));
  Value reduced = b.select(b.and_(below, right), b.sub(f.lu, product), f.lu);
  Value is_left = b.and_(below, b.compare(Direction::eq, column, step));
  f.lu = b.select(is_left, b.broadcast_to(multipliers, f.lu.dims()), reduced);
}

// Null factors, and an error in the build, when this cannot be done here.
Factors factorize(Build& b, const Value& a, bool pivot, std::string_view op) {
  if (!b.require(a.rank() >= 2, std::string(op) + ": The input tensor A must have at least 2 dimensions.")) return {};
  if (!b.require_floating(a)) return {};
  if (accumulate_type(a.dtype()) != a.dtype()) {
    b.fail(Code::unimplemented, std::string("not implemented for ") + dtype_name(a.dtype()));
    return {};
  }
  int64_t steps = std::min(rows_of(a), columns_of(a));
  if (steps > kLargest) {
    b.decline("the steps of an elimination are written out, for 16 of them at most");
    return {};
  }
  Value row = b.iota(Dtype::s32, a.dims(), a.rank() - 2), column = b.iota(Dtype::s32, a.dims(), a.rank() - 1);
  Factors f{a, {}, b.constant_int(Dtype::s32, 0, with_last(a, {}))};
  for (int64_t step = 0; step < steps; ++step) eliminate(b, f, step, pivot, row, column);
  return f;
}

// As LAPACK numbers them: from 1, s32[batch…, steps].
Value pivots_of(Build& b, const Factors& f) {
  if (f.pivots.empty()) return b.constant_int(Dtype::s32, 0, with_last(f.lu, {0}));
  Values parts;
  for (const Value& pivot : f.pivots) parts.push_back(with_column(b, b.add(pivot, 1)));
  return b.concatenate(parts, parts[0].rank() - 1);
}

std::tuple<Value, Value, Value> linalg_lu_factor_ex(Build& b, Value a, bool pivot, bool check_errors) {
  if (check_errors) {
    b.decline("the factors' success is known only after the run");
    return {};
  }
  Factors f = factorize(b, a, pivot, "torch.lu_factor");
  if (!b.ok()) return {};
  return {f.lu, pivots_of(b, f), f.info};
}

// Where each row of the product L U stands in A: s32[batch…, rows], from the swaps in their order.
Value places_of(Build& b, const Value& pivots, int64_t rows) {
  int last = pivots.rank() - 1;
  Dims dims = pivots.dims();
  dims[last] = rows;
  Value line = b.iota(Dtype::s32, dims, last), places = line;
  for (int64_t step = 0; step < pivots.size(last); ++step) {
    Value other = b.sub(b.convert(b.slice_dim(pivots, last, step, step + 1), Dtype::s32), 1);
    Value is_other = b.compare(Direction::eq, line, other), is_step = b.compare(Direction::eq, line, step);
    Value at_step = b.slice_dim(places, last, step, step + 1);
    Value chosen = b.select(is_other, places, b.constant_int(Dtype::s32, 0, dims));
    Value at_other = b.unsqueeze(b.sum(chosen, {last}), last);
    auto spread = [&](const Value& x) { return b.broadcast_to(x, dims); };
    places = b.select(is_step, spread(at_other), b.select(is_other, spread(at_step), places));
  }
  return places;
}

// The inverse of a permutation: how often a place comes before.
Value inverse_places(Build& b, const Value& places) {
  Dims square = places.dims();
  square.push_back(places.size(places.rank() - 1));
  int last = static_cast<int>(square.size()) - 1;
  Value hit = b.compare(Direction::eq, b.broadcast_to(with_column(b, places), square),
                        b.iota(Dtype::s32, square, last));  // [batch…, i, places[i]]
  Value from = b.iota(Dtype::s32, square, last - 1);
  return b.sum(b.select(hit, from, b.constant_int(Dtype::s32, 0, square)), {last - 1});
}

Value permutation(Build& b, const Value& places, Dtype dtype) {
  Dims square = places.dims();
  square.push_back(places.size(places.rank() - 1));
  int last = static_cast<int>(square.size()) - 1;
  // Column i has its one in row places[i].
  Value row = b.iota(Dtype::s32, square, last - 1);
  return b.convert(b.compare(Direction::eq, row, b.unsqueeze(places, places.rank() - 1)), dtype);
}

std::tuple<Value, Value> triangles(Build& b, const Value& lu) {
  int64_t rows = rows_of(lu), columns = columns_of(lu), steps = std::min(rows, columns);
  Value left = b.slice_dim(lu, lu.rank() - 1, 0, steps), top = b.slice_dim(lu, lu.rank() - 2, 0, steps);
  auto masked = [&](const Value& x, Direction keep, const Value& otherwise) {
    Value row = b.iota(Dtype::s32, x.dims(), x.rank() - 2), column = b.iota(Dtype::s32, x.dims(), x.rank() - 1);
    return b.select(b.compare(keep, row, column), x, otherwise);
  };
  Value row = b.iota(Dtype::s32, left.dims(), left.rank() - 2);
  Value column = b.iota(Dtype::s32, left.dims(), left.rank() - 1);
  Value unit = b.convert(b.compare(Direction::eq, row, column), lu.dtype());
  return {masked(left, Direction::gt, unit), masked(top, Direction::le, b.constant_int(lu.dtype(), 0, top.dims()))};
}

std::tuple<Value, Value, Value> linalg_lu(Build& b, Value a, bool pivot) {
  Factors f = factorize(b, a, pivot, "linalg.lu");
  if (!b.ok()) return {};
  auto [lower, upper] = triangles(b, f.lu);
  // Without pivoting PyTorch returns no permutation.
  if (!pivot) return {b.constant_int(a.dtype(), 0, {0}), lower, upper};
  return {permutation(b, places_of(b, pivots_of(b, f), rows_of(a)), a.dtype()), lower, upper};
}

std::tuple<Value, Value, Value> lu_unpack(Build& b, Value lu, Value pivots, bool unpack_data, bool unpack_pivots) {
  bool is_int = !unpack_pivots || pivots.dtype() == Dtype::s32;
  if (!b.require(is_int,
                 "torch.lu_unpack: LU_pivots is expected to be a contiguous tensor of torch.int32 dtype. Note: "
                 "this function is intended to be used with the output produced by torch.linalg.lu_factor") ||
      !b.require(lu.rank() >= 2, "torch.lu_unpack: The input tensor LU_data must have at least 2 dimensions.")) {
    return {};
  }
  if (std::min(rows_of(lu), columns_of(lu)) > kLargest) {
    b.decline("the swaps are written out, for 16 of them at most");
    return {};
  }
  Value none = b.constant_int(lu.dtype(), 0, {0}), lower = none, upper = none, places = none;
  if (unpack_data) std::tie(lower, upper) = triangles(b, lu);
  if (unpack_pivots) places = permutation(b, places_of(b, pivots, rows_of(lu)), lu.dtype());
  return {places, lower, upper};
}

// The columns of `rhs` in the order of `places`.
Value permuted(Build& b, const Value& rhs, const Value& places) {
  return b.take_along(rhs, b.broadcast_to(with_column(b, places), rhs.dims()), rhs.rank() - 2);
}

// Solves A x = rhs, or the adjoint system.
Value solved(Build& b, const Value& lu, const Value& places, const Value& rhs, bool adjoint_system) {
  if (!adjoint_system) {
    Value y = b.triangular_solve(lu, permuted(b, rhs, places), true, true, true, false);
    return b.triangular_solve(lu, y, true, false, false, false);
  }
  Value turned = adjoint(b, lu);
  Value y = b.triangular_solve(turned, rhs, true, true, false, false);
  Value z = b.triangular_solve(turned, y, true, false, true, false);
  return permuted(b, z, inverse_places(b, places));
}

Value linalg_lu_solve(Build& b, Value lu, Value pivots, Value rhs, bool left, bool adjoint_system) {
  if (!b.require_floating(lu) ||
      !b.require(lu.dtype() == rhs.dtype(),
                 "linalg.lu_solve: Expected LU and B to have the same dtype, but found LU "
                 "of type " +
                     std::string(dtype_name(lu.dtype())) + " and B of type " + std::string(dtype_name(rhs.dtype())) +
                     " instead") ||
      !b.require(pivots.dtype() == Dtype::s32,
                 "linalg.lu_solve: pivots should be a Tensor of scalar type torch.int32") ||
      !b.require(lu.rank() >= 2 && rows_of(lu) == columns_of(lu),
                 "torch.linalg.lu_solve: LU must be batches of square matrices") ||
      !b.require(rhs.rank() >= 2 && (left ? rows_of(rhs) : columns_of(rhs)) == rows_of(lu),
                 "linalg.lu_solve: Incompatible shapes of LU and B for the equation") ||
      !b.require(pivots.size(pivots.rank() - 1) == columns_of(lu),
                 "linalg.lu_solve: Number of pivots per batch should be same as the dimension of the matrix")) {
    return Value();
  }
  if (rows_of(lu) > kLargest) return b.decline("the swaps are written out, for 16 of them at most");
  Dims batch = b.broadcast_dims(with_last(lu, {}), with_last(rhs, {}));
  auto batched = [&](const Value& x, std::initializer_list<int64_t> last) {
    Dims dims = batch;
    for (int64_t size : last) dims.push_back(size);
    return b.broadcast_to(x, dims);
  };
  Value a = batched(lu, {rows_of(lu), columns_of(lu)}), right = batched(rhs, {rows_of(rhs), columns_of(rhs)});
  Value places = batched(places_of(b, pivots, rows_of(lu)), {rows_of(lu)});
  if (!b.ok()) return Value();
  if (left) return solved(b, a, places, right, adjoint_system);
  // x A = rhs is the adjoint of A^H x^H = rhs^H.
  return adjoint(b, solved(b, a, places, adjoint(b, right), !adjoint_system));
}

std::tuple<Value, Value> linalg_inv_ex(Build& b, Value a, bool check_errors) {
  if (!b.require(a.rank() >= 2, "linalg.inv: The input tensor A must have at least 2 dimensions.") ||
      !b.require(rows_of(a) == columns_of(a), "linalg.inv: A must be batches of square matrices")) {
    return {};
  }
  if (check_errors) {
    b.decline("the factors' success is known only after the run");
    return {};
  }
  Factors f = factorize(b, a, true, "linalg.inv");
  if (!b.ok()) return {};
  Value row = b.iota(Dtype::s32, a.dims(), a.rank() - 2), column = b.iota(Dtype::s32, a.dims(), a.rank() - 1);
  Value identity = b.convert(b.compare(Direction::eq, row, column), a.dtype());
  return {solved(b, f.lu, places_of(b, pivots_of(b, f), rows_of(a)), identity, false), f.info};
}

TP_OP("aten::linalg_lu_factor_ex", linalg_lu_factor_ex);
TP_OP("aten::linalg_lu", linalg_lu);
TP_OP("aten::lu_unpack", lu_unpack);
TP_OP("aten::linalg_lu_solve", linalg_lu_solve);
TP_OP("aten::linalg_inv_ex", linalg_inv_ex);

// --- from a Cholesky factor

// Solves A x = rhs, where A = L L^H or U^H U.
Value cholesky_solve_helper(Build& b, Value rhs, Value factor, bool upper) {
  Value turned = adjoint(b, factor);
  const Value &lower = upper ? turned : factor, &raised = upper ? factor : turned;
  Value y = b.triangular_solve(lower, rhs, true, true, false, false);
  return b.triangular_solve(raised, y, true, false, false, false);
}

Value cholesky_inverse(Build& b, Value factor, bool upper) {
  if (!b.require(factor.rank() >= 2 && rows_of(factor) == columns_of(factor),
                 "cholesky_inverse: A must be batches of square matrices") ||
      !b.require_floating(factor)) {
    return Value();
  }
  Value row = b.iota(Dtype::s32, factor.dims(), factor.rank() - 2);
  Value column = b.iota(Dtype::s32, factor.dims(), factor.rank() - 1);
  Value identity = b.convert(b.compare(Direction::eq, row, column), factor.dtype());
  return cholesky_solve_helper(b, identity, factor, upper);
}

TP_OP("aten::_cholesky_solve_helper", cholesky_solve_helper);
TP_OP("aten::cholesky_inverse", cholesky_inverse);

}  // namespace
}  // namespace tp
