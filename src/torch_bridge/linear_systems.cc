// Determinants and linear systems from LU factors. PyTorch's gradients expect the factors of the transposed matrix
// where it is contiguous and real, and a lowering does not see strides; so these are written over other ops.

#include <ATen/Functions.h>
#include <ATen/native/Resize.h>
#include <torch/library.h>

namespace tp::bridge {
namespace {

using at::Tensor;

void check_square(const Tensor& a, const char* op) {
  TORCH_CHECK(a.dim() >= 2, op, ": The input tensor A must have at least 2 dimensions.");
  TORCH_CHECK(a.size(-1) == a.size(-2), op, ": A must be batches of square matrices, but they are ", a.size(-2), " by ",
              a.size(-1), " matrices");
  TORCH_CHECK(a.is_floating_point() || a.is_complex(), op,
              ": Expected a floating point or complex tensor as input. Got ", a.scalar_type());
}

bool factors_transposed(const Tensor& a) { return a.is_contiguous() && !a.is_complex(); }

std::tuple<Tensor, Tensor, Tensor> factors_of(const Tensor& a) {
  return at::linalg_lu_factor_ex(factors_transposed(a) ? a.mT() : a, /*pivot=*/true, /*check_errors=*/false);
}

// 1 or -1 by the number of swaps, in lu's dtype.
Tensor parity(const Tensor& pivots, const Tensor& lu) {
  Tensor steps = at::arange(1, pivots.size(-1) + 1, pivots.options());
  Tensor odd = pivots.ne(steps).sum(-1).remainder(2);
  return odd.mul(-2).add(1).to(lu.scalar_type());
}

std::tuple<Tensor, Tensor, Tensor> tpu_det(const Tensor& a) {
  check_square(a, "linalg.det");
  auto [lu, pivots, info] = factors_of(a);
  return {lu.diagonal(0, -2, -1).prod(-1).mul(parity(pivots, lu)), lu, pivots};
}

std::tuple<Tensor, Tensor, Tensor, Tensor> tpu_slogdet(const Tensor& a) {
  check_square(a, "linalg.slogdet");
  auto [lu, pivots, info] = factors_of(a);
  Tensor diagonal = lu.diagonal(0, -2, -1);
  return {diagonal.sgn().prod(-1).mul(parity(pivots, lu)), diagonal.abs().log().sum(-1), lu, pivots};
}

bool is_vector(const Tensor& a, const Tensor& b) {
  return b.dim() == 1 || (a.dim() - 1 == b.dim() && b.sizes() == a.sizes().slice(0, a.dim() - 1));
}

std::tuple<Tensor, Tensor, Tensor, Tensor> tpu_solve_ex(const Tensor& a, const Tensor& b, bool left,
                                                        bool check_errors) {
  check_square(a, "linalg.solve");
  TORCH_CHECK(a.scalar_type() == b.scalar_type(),
              "linalg.solve: Expected A and B to have the same dtype, but found A of type ", a.scalar_type(),
              " and B of type ", b.scalar_type(), " instead");
  bool vector = is_vector(a, b);
  TORCH_CHECK(left || !vector,
              "linalg.solve: Vector broadcasting of the left hand side is not supported for left=False. "
              "In this case linalg.solve is equivalent to B / A.squeeze(-1)");
  auto [lu, pivots, info] = factors_of(a);
  if (check_errors) at::_linalg_check_errors(info, "torch.linalg.solve_ex", a.dim() == 2);
  Tensor x = at::linalg_lu_solve(lu, pivots, vector ? b.unsqueeze(-1) : b, left, factors_transposed(a));
  return {vector ? x.squeeze(-1) : x, lu, pivots, info};
}

Tensor tpu_cholesky(const Tensor& a, bool upper) {
  check_square(a, "cholesky");
  return at::linalg_cholesky(a, upper);
}

// --- out= forms

void put(const Tensor& out, const Tensor& value) {
  TORCH_CHECK(out.scalar_type() == value.scalar_type(), "Expected out tensor to have dtype ", value.scalar_type(),
              ", but got ", out.scalar_type(), " instead");
  at::native::resize_output(out, value.sizes());
  out.copy_(value);
}

std::tuple<Tensor&, Tensor&, Tensor&> linalg_det_out(const Tensor& a, Tensor& result, Tensor& lu, Tensor& pivots) {
  auto [d, f, p] = tpu_det(a);
  put(result, d);
  put(lu, f);
  put(pivots, p);
  return {result, lu, pivots};
}

std::tuple<Tensor&, Tensor&, Tensor&, Tensor&> linalg_slogdet_out(const Tensor& a, Tensor& sign, Tensor& logarithm,
                                                                  Tensor& lu, Tensor& pivots) {
  auto [s, l, f, p] = tpu_slogdet(a);
  put(sign, s);
  put(logarithm, l);
  put(lu, f);
  put(pivots, p);
  return {sign, logarithm, lu, pivots};
}

std::tuple<Tensor&, Tensor&, Tensor&, Tensor&> linalg_solve_ex_out(const Tensor& a, const Tensor& b, bool left,
                                                                   bool check_errors, Tensor& result, Tensor& lu,
                                                                   Tensor& pivots, Tensor& info) {
  auto [x, f, p, i] = tpu_solve_ex(a, b, left, check_errors);
  put(result, x);
  put(lu, f);
  put(pivots, p);
  put(info, i);
  return {result, lu, pivots, info};
}

Tensor& cholesky_out(const Tensor& a, bool upper, Tensor& out) {
  Tensor factor = tpu_cholesky(a, upper);
  TORCH_CHECK(c10::canCast(factor.scalar_type(), out.scalar_type()),
              "cholesky: Expected result to be safely castable from ", factor.scalar_type(),
              " dtype, but got result with dtype ", out.scalar_type());
  at::native::resize_output(out, factor.sizes());
  out.copy_(factor);
  return out;
}

TORCH_LIBRARY_IMPL(aten, PrivateUse1, m) {
  m.impl("_linalg_det", &tpu_det);
  m.impl("_linalg_det.result", &linalg_det_out);
  m.impl("_linalg_slogdet", &tpu_slogdet);
  m.impl("_linalg_slogdet.sign", &linalg_slogdet_out);
  m.impl("_linalg_solve_ex", &tpu_solve_ex);
  m.impl("_linalg_solve_ex.result", &linalg_solve_ex_out);
  m.impl("cholesky", &tpu_cholesky);
  m.impl("cholesky.out", &cholesky_out);
}

}  // namespace
}  // namespace tp::bridge
