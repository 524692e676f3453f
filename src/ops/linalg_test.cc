#include <doctest/doctest.h>

#include "evaluate.h"

namespace tp::testing {
namespace {

TEST_CASE("cholesky gives either factor, and tells failure") {
  Build b;
  Value x = list(b, Dtype::f64, {4, 2, 2, 5}, {2, 2});
  CHECK(evaluate(lower(b, "aten::linalg_cholesky_ex", {x, false, false})) == std::vector<Numbers>{{2, 0, 1, 2}, {0}});
  CHECK(evaluate(lower1(b, "aten::linalg_cholesky_ex", {x, true, false})) == Numbers{2, 1, 0, 2});
  Value bad = list(b, Dtype::f64, {1, 2, 2, 1}, {2, 2});
  Values failed = lower(b, "aten::linalg_cholesky_ex", {bad, false, false});
  CHECK(failed[1].dtype() == Dtype::s32);
  CHECK(evaluate(failed[1]) == Numbers{1});
}

TEST_CASE("solve_triangular reads one triangle and broadcasts batches") {
  Build b;
  Value a = list(b, Dtype::f64, {2, 1, 9, 4}, {2, 2}), rhs = list(b, Dtype::f64, {4, 8, 2, 4}, {2, 2, 1});
  Value x = lower1(b, "aten::linalg_solve_triangular", {a, rhs, true, true, false});
  CHECK(x.dims() == Dims{2, 2, 1});
  CHECK(evaluate(x) == Numbers{1, 2, 0.5, 1});
}

TEST_CASE("matrices that are not square are refused, half types too") {
  Build shape, dtype;
  lower(shape, "aten::linalg_cholesky_ex", {shape.constant(Dtype::f32, 1.0, {2, 3}), false, false});
  CHECK(shape.take_error().text ==
        "linalg.cholesky: A must be batches of square matrices, but they are 2 by 3 matrices");
  lower(dtype, "aten::linalg_cholesky_ex", {dtype.constant(Dtype::bf16, 1.0, {2, 2}), false, false});
  CHECK(dtype.take_error().code == Code::unimplemented);
}

}  // namespace
}  // namespace tp::testing
