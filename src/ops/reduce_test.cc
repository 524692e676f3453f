#include <doctest/doctest.h>

#include <cmath>

#include "evaluate.h"
#include "lowered.h"

namespace tp::testing {
namespace {

TEST_CASE("sums of halves add up in f32, of integers and bools in i64") {
  CHECK(lowered("aten::sum.dim_IntList", {leaf(Dtype::bf16, {2, 3}), Dims{-1}, true, None{}}) ==
        "%1 = convert %0 : f32[2,3]\n"
        "%2 = reduce %1, add, dims [1] : f32[2]\n"
        "%3 = reshape %2 : f32[2,1]\n"
        "%4 = convert %3 : bf16[2,1]\n");
  CHECK(lower_types("aten::sum", {leaf(Dtype::pred, {2}), None{}}) == std::vector<std::string>{"i64[]"});
  CHECK(lower_types("aten::sum", {leaf(Dtype::s32, {2}), Dtype::f32}) == std::vector<std::string>{"f32[]"});
}

TEST_CASE("no dimensions means all of them") {
  Value x = leaf(Dtype::f32, {2, 3});
  CHECK(lower_types("aten::sum.dim_IntList", {x, Dims{}, true, None{}}) == std::vector<std::string>{"f32[1,1]"});
  CHECK(lower_types("aten::mean.dim", {x, None{}, false, None{}}) == std::vector<std::string>{"f32[]"});
}

TEST_CASE("a mean needs floats, of nothing it is NaN") {
  CHECK(lower_error("aten::mean", {leaf(Dtype::s64, {2}), None{}}).code == Code::invalid_argument);
  Build b;
  CHECK(std::isnan(evaluate(lower1(b, "aten::mean", {b.constant(Dtype::f32, 1.0, {0}), None{}}))[0]));
  CHECK(evaluate(lower1(b, "aten::sum", {b.constant(Dtype::f32, 1.0, {0}), None{}}))[0] == 0);
}

TEST_CASE("nansum leaves NaN out") {
  Build b;
  Value x = list(b, Dtype::f32, {1, NAN, 3});
  CHECK(evaluate(lower1(b, "aten::nansum", {x, None{}, false, None{}})) == Numbers{4});
}

TEST_CASE("an extreme is at its first place, a NaN is the extreme") {
  Build b;
  Value x = list(b, Dtype::f32, {1, 3, 3, 2, NAN, 5}, {2, 3});
  Values most = lower(b, "aten::max.dim", {x, int64_t{1}, false});
  CHECK(evaluate(most[1]) == Numbers{1, 1});
  CHECK(evaluate(most[0])[0] == 3);
  CHECK(std::isnan(evaluate(most[0])[1]));
  CHECK(evaluate(lower1(b, "aten::argmin", {x, int64_t{1}, true})) == Numbers{0, 1});
  CHECK(evaluate(lower1(b, "aten::argmax", {x, None{}, false})) == Numbers{4});
}

TEST_CASE("an extreme of nothing is refused with PyTorch's class and words") {
  Value none = leaf(Dtype::f32, {2, 0});
  Error dim = lower_error("aten::max.dim", {none, int64_t{1}, false});
  CHECK(dim.code == Code::index);
  CHECK(dim.text == "max(): Expected reduction dim 1 to have non-zero size.");
  CHECK(lower_error("aten::argmax", {none, None{}, false}).code == Code::index);
  CHECK(lower_error("aten::max", {none}).code == Code::invalid_argument);
  CHECK(lower_error("aten::amax", {none, Dims{}, false}).code == Code::invalid_argument);
  CHECK(lower_error("aten::amax", {none, Dims{1}, false}).code == Code::index);
  CHECK(lower_types("aten::amax", {none, Dims{0}, false}) == std::vector<std::string>{"f32[0]"});
}

TEST_CASE("wrong dimensions") {
  Value x = leaf(Dtype::f32, {2, 3});
  CHECK(lower_error("aten::sum.dim_IntList", {x, Dims{2}, false, None{}}).code == Code::index);
  CHECK(lower_error("aten::sum.dim_IntList", {x, Dims{0, -2}, false, None{}}).code == Code::invalid_argument);
}

TEST_CASE("any and all are bools, but u8 for u8") {
  Build b;
  Value x = list(b, Dtype::f32, {0, 2, 0, 0}, {2, 2});
  CHECK(evaluate(lower1(b, "aten::any.dim", {x, int64_t{1}, false})) == Numbers{1, 0});
  CHECK(evaluate(lower1(b, "aten::all", {x})) == Numbers{0});
  CHECK(lower_types("aten::any", {leaf(Dtype::u8, {2})}) == std::vector<std::string>{"u8[]"});
  CHECK(lower_types("aten::any.dims", {leaf(Dtype::f32, {2, 3}), None{}, true}) ==
        std::vector<std::string>{"bool[1,1]"});
}

TEST_CASE("variance is computed in two passes") {
  Build b;
  // One pass over squares near 1e12 would lose every digit of the spread.
  Value x = list(b, Dtype::f32, {1e6, 1e6 + 1, 1e6 + 2, 1e6 + 3});
  CHECK(evaluate(lower1(b, "aten::var.correction", {x, None{}, Scalar::of(int64_t{0}), false})) == Numbers{1.25});
  Values both = lower(b, "aten::std_mean.correction", {x, Dims{0}, None{}, true});
  CHECK(evaluate(both[0])[0] == doctest::Approx(std::sqrt(5.0 / 3)));
  CHECK(both[1].dims() == Dims{1});
  Value one = list(b, Dtype::f32, {4});
  CHECK(std::isnan(evaluate(lower1(b, "aten::var.correction", {one, None{}, None{}, false}))[0]));
}

TEST_CASE("norms") {
  Build b;
  Value x = list(b, Dtype::f64, {3, -4});
  auto norm = [&](double p) {
    return evaluate(lower1(b, "aten::linalg_vector_norm", {x, Scalar::of(p), None{}, false, None{}}))[0];
  };
  CHECK(norm(2) == 5);
  CHECK(norm(1) == 7);
  CHECK(norm(0) == 2);
  CHECK(norm(INFINITY) == 4);
  CHECK(norm(-INFINITY) == 3);
  CHECK(norm(3) == doctest::Approx(std::cbrt(91.0)));
  CHECK(lower_error("aten::linalg_vector_norm", {leaf(Dtype::s64, {2}), Scalar::of(2.0), None{}, false, None{}}).code ==
        Code::invalid_argument);
}

TEST_CASE("logsumexp does not overflow, and of -inf alone it is -inf") {
  Build b;
  Value x = list(b, Dtype::f32, {1000, 1000, -INFINITY, -INFINITY}, {2, 2});
  Numbers y = evaluate(lower1(b, "aten::logsumexp", {x, Dims{1}, false}));
  CHECK(y[0] == doctest::Approx(1000 + std::log(2.0)));
  CHECK(y[1] == -INFINITY);
}

TEST_CASE("counts and products") {
  Build b;
  Value x = list(b, Dtype::s32, {0, 2, -3, 0}, {2, 2});
  CHECK(evaluate(lower1(b, "aten::count_nonzero.dim_IntList", {x, Dims{0}})) == Numbers{1, 1});
  CHECK(evaluate(lower1(b, "aten::prod.dim_int", {x, int64_t{1}, false, None{}})) == Numbers{0, 0});
  CHECK(lower_types("aten::prod", {x, None{}}) == std::vector<std::string>{"i64[]"});
  Values both = lower(b, "aten::aminmax", {x, int64_t{1}, false});
  CHECK(evaluate(both) == std::vector<Numbers>{{0, -3}, {2, 0}});
}

}  // namespace
}  // namespace tp::testing
