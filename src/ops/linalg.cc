// The linear algebra that StableHLO has: triangular factors and systems. The rest runs on the CPU.

#include "ops/op.h"

namespace tp {
namespace {

bool require_square(Build& b, const Value& x, std::string_view op) {
  return b.require(x.rank() >= 2, std::string(op) + ": the input tensor must have at least 2 dimensions") &&
         b.require(x.size(x.rank() - 1) == x.size(x.rank() - 2),
                   std::string(op) + ": A must be batches of square matrices, but they are " +
                       std::to_string(x.size(x.rank() - 2)) + " by " + std::to_string(x.size(x.rank() - 1)) +
                       " matrices");
}

// x where `keep` compares row and column, 0 elsewhere.
Value triangle(Build& b, const Value& x, Direction keep) {
  if (!b.ok() || !x) return Value();
  Value row = b.iota(Dtype::s32, x.dims(), x.rank() - 2), column = b.iota(Dtype::s32, x.dims(), x.rank() - 1);
  return b.select(b.compare(keep, row, column), x, b.constant_int(x.dtype(), 0));
}

Value adjoint(Build& b, const Value& x) {
  if (!b.ok() || !x) return Value();
  Value turned = b.swap_dims(x, x.rank() - 2, x.rank() - 1);
  return is_complex(x.dtype()) ? b.complex(b.real(turned), b.negate(b.imag(turned))) : turned;
}

// `info` is 0 on success. XLA's factor is NaN all over after a failure, so 1 stands for the order of the minor that
// is not positive.
std::tuple<Value, Value> linalg_cholesky_ex(Build& b, Value x, bool upper, bool check_errors) {
  if (!require_square(b, x, "linalg.cholesky")) return {};
  if (!b.require_floating(x)) return {};
  if (accumulate_type(x.dtype()) != x.dtype()) {
    b.fail(Code::unimplemented, std::string("not implemented for ") + dtype_name(x.dtype()));
    return {};
  }
  if (check_errors) {
    b.decline("the factor's success is known only after the run");
    return {};
  }
  Value full = upper ? adjoint(b, x) : x;
  Value factor = triangle(b, b.cholesky(full, true), Direction::ge);
  if (!factor) return {};
  Value failed = b.reduce(Combine::or_, b.is_nan(factor), {x.rank() - 2, x.rank() - 1});
  return {upper ? adjoint(b, factor) : factor, b.convert(failed, Dtype::s32)};
}
Value trace(Build& b, Value x) {
  if (!x || !b.require(x.rank() == 2, "trace: expected a matrix, but got tensor with dim " + std::to_string(x.rank())))
    return Value();
  Dtype wide = is_integral(x.dtype()) || x.dtype() == Dtype::pred ? Dtype::s64 : x.dtype();
  Value diagonal = b.compare(Direction::eq, b.iota(Dtype::s32, x.dims(), 0), b.iota(Dtype::s32, x.dims(), 1));
  Value kept = b.select(diagonal, b.convert(x, wide), b.constant_int(wide, 0, x.dims()));
  return b.sum(kept, {0, 1});
}

Value linalg_cross(Build& b, Value x, Value y, int64_t dim) {
  if (!b.require(x.rank() == y.rank(), "linalg.cross: inputs must have the same number of dimensions.") ||
      !b.require(x.dtype() == y.dtype(), std::string("linalg.cross: expected tensors of one dtype, got ") +
                                             dtype_name(x.dtype()) + " and " + dtype_name(y.dtype()))) {
    return Value();
  }
  int64_t along = b.wrap_dim(dim, x.rank());
  if (!b.ok() || !b.require(x.size(along) == 3 && y.size(along) == 3,
                            "linalg.cross: inputs dimension " + std::to_string(dim) + " must have length 3. Got " +
                                std::to_string(x.size(along)) + " and " + std::to_string(y.size(along)))) {
    return Value();
  }
  auto part = [&](const Value& v, int64_t i) { return b.slice_dim(v, along, i, i + 1); };
  Values parts;
  for (int64_t i = 0; i < 3; ++i) {
    int64_t j = (i + 1) % 3, k = (i + 2) % 3;
    parts.push_back(b.sub(b.mul(part(x, j), part(y, k)), b.mul(part(x, k), part(y, j))));
  }
  return b.concatenate(parts, along);
}

TP_OP("aten::linalg_cross", linalg_cross);
TP_OP("aten::trace", trace);
TP_OP("aten::linalg_cholesky_ex", linalg_cholesky_ex);

// Batch dimensions broadcast.
Value solved(Build& b, const Value& a, const Value& rhs, bool left, bool lower, bool unit, bool transpose) {
  if (!require_square(b, a, "linalg.solve_triangular")) return Value();
  int side = left ? rhs.rank() - 2 : rhs.rank() - 1;
  if (!b.require(rhs.rank() >= 2, "linalg.solve_triangular: B must have at least 2 dimensions") ||
      !b.require(a.dtype() == rhs.dtype(), "linalg.solve_triangular: A and B must have the same dtype") ||
      !b.require(a.size(a.rank() - 1) == rhs.size(side), "linalg.solve_triangular: incompatible shapes of A and B: [" +
                                                             dims_text(a.dims()) + "] and [" + dims_text(rhs.dims()) +
                                                             "]")) {
    return Value();
  }
  Dims batch =
      b.broadcast_dims(Dims(a.dims().data(), a.dims().size() - 2), Dims(rhs.dims().data(), rhs.dims().size() - 2));
  auto batched = [&](const Value& x) {
    Dims dims = batch;
    dims.push_back(x.size(x.rank() - 2));
    dims.push_back(x.size(x.rank() - 1));
    return b.broadcast_to(x, dims);
  };
  return b.triangular_solve(batched(a), batched(rhs), left, lower, unit, transpose);
}

Value linalg_solve_triangular(Build& b, Value a, Value rhs, bool upper, bool left, bool unit) {
  if (!b.require_floating(a)) return Value();
  return solved(b, a, rhs, left, !upper, unit, false);
}
TP_OP("aten::linalg_solve_triangular", linalg_solve_triangular);

// The older form returns its matrix too.
std::tuple<Value, Value> triangular_solve(Build& b, Value rhs, Value a, bool upper, bool transpose, bool unit) {
  if (!b.require_floating(a)) return {};
  Value x = solved(b, a, rhs, true, !upper, unit, transpose);
  if (!x) return {};
  Dims dims = x.dims();
  dims[dims.size() - 1] = a.size(a.rank() - 1);
  return {x, b.broadcast_to(a, dims)};
}
TP_OP("aten::triangular_solve", triangular_solve);

}  // namespace
}  // namespace tp
