#include <doctest/doctest.h>

#include "evaluate.h"

namespace tp::testing {
namespace {

Value f32(Build& b, const Numbers& numbers) { return list(b, Dtype::f32, numbers); }

TEST_CASE("searchsorted tells left from right") {
  Build b;
  Value edges = f32(b, {1, 3, 3, 5}), values = f32(b, {0, 3, 6});
  auto find = [&](bool right) {
    return evaluate(lower1(b, "aten::searchsorted.Tensor", {edges, values, false, right, None{}, None{}}));
  };
  CHECK(find(false) == Numbers{0, 1, 4});
  CHECK(find(true) == Numbers{0, 3, 4});
  CHECK(lower1(b, "aten::bucketize.Tensor", {values, edges, true, false}).dtype() == Dtype::s32);
}

TEST_CASE("a long sequence is halved until the place is found") {
  Build b;
  Value edges = b.mul(b.iota(Dtype::f32, {5000}, 0), 2), values = f32(b, {-1, 0, 1, 4999, 9998, 1e9});
  auto find = [&](bool right) { return evaluate(lower1(b, "aten::bucketize.Tensor", {values, edges, false, right})); };
  CHECK(find(false) == Numbers{0, 0, 1, 2500, 4999, 5000});
  CHECK(find(true) == Numbers{0, 1, 1, 2500, 5000, 5000});
}

TEST_CASE("side and right must agree") {
  Build b;
  lower(b, "aten::searchsorted.Tensor", {f32(b, {1}), f32(b, {1}), false, true, std::string_view("left"), None{}});
  CHECK(b.take_error().code == Code::invalid_argument);
}

TEST_CASE("isin compares integers with floats as floats") {
  Build b;
  Value x = list(b, Dtype::s64, {1, 2, 3});
  CHECK(evaluate(lower1(b, "aten::isin.Tensor_Tensor", {x, f32(b, {2.5, 3}), false, false})) == Numbers{0, 0, 1});
  CHECK(evaluate(lower1(b, "aten::isin.Tensor_Scalar", {x, Scalar::of(int64_t{2}), false, true})) == Numbers{1, 0, 1});
  CHECK(evaluate(lower1(b, "aten::isin.Scalar_Tensor", {Scalar::of(2.5), x, false, false})) == Numbers{0});
}

TEST_CASE("histc closes its last bin and takes its bounds from the data") {
  Build b;
  Value x = f32(b, {0, 1, 2, 4, 9});
  CHECK(evaluate(lower1(b, "aten::histc", {x, int64_t{2}, Scalar::of(int64_t{0}), Scalar::of(int64_t{4})})) ==
        Numbers{2, 2});
  CHECK(evaluate(lower1(b, "aten::histc", {x, int64_t{3}, Scalar::of(int64_t{0}), Scalar::of(int64_t{0})})) ==
        Numbers{3, 1, 1});
}

}  // namespace
}  // namespace tp::testing
