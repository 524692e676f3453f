#include <doctest/doctest.h>

#include "evaluate.h"

namespace tp::testing {
namespace {

// 0, 1, 2, … in these sizes.
Value counting(Build& b, const Dims& dims) { return b.reshape(b.iota(Dtype::f32, {numel(dims)}, 0), dims); }
Value at(Build& b, const Numbers& numbers) { return list(b, Dtype::s64, numbers); }

TEST_CASE("index reads rows and wraps negative numbers") {
  Build b;
  Value y = lower1(b, "aten::index.Tensor", {counting(b, {3, 2}), OptionalValues{at(b, {2, -3})}});
  CHECK(y.type() == Type{Dtype::f32, {2, 2}});
  CHECK(evaluate(y) == Numbers{4, 5, 0, 1});
  CHECK_FALSE(checks_fire(b));
}

TEST_CASE("adjacent indices stay in place, separated ones go to the front") {
  Build b;
  Value x = counting(b, {4, 5, 6, 7}), i = at(b, {0, 1}), j = at(b, {2, 3});
  CHECK(lower1(b, "aten::index.Tensor", {x, OptionalValues{std::nullopt, i, j}}).dims() == Dims{4, 2, 7});
  CHECK(lower1(b, "aten::index.Tensor", {x, OptionalValues{i, std::nullopt, j}}).dims() == Dims{2, 5, 7});
  Value front = lower1(b, "aten::index.Tensor", {counting(b, {2, 2, 3}), OptionalValues{i, std::nullopt, i}});
  CHECK(evaluate(front) == Numbers{0, 3, 7, 10});
}

TEST_CASE("indices broadcast against each other") {
  Build b;
  Value rows = b.reshape(at(b, {0, 1}), {2, 1}), columns = at(b, {2, 0});
  Value y = lower1(b, "aten::index.Tensor", {counting(b, {2, 3}), OptionalValues{rows, columns}});
  CHECK(y.dims() == Dims{2, 2});
  CHECK(evaluate(y) == Numbers{2, 0, 5, 3});
}

TEST_CASE("an index out of range sets the check and reads inside") {
  Build b;
  Value y = lower1(b, "aten::index.Tensor", {counting(b, {3}), OptionalValues{at(b, {1, 5})}});
  auto checks = b.take_checks();
  REQUIRE(checks.size() == 1);
  CHECK(checks[0].error.text == "index is out of bounds for dimension 0 with size 3");
  CHECK(evaluate({y, checks[0].flag}) == std::vector<Numbers>{{1, 2}, {1}});
}

TEST_CASE("an index that the host knows is refused at once, in PyTorch's words") {
  Build b;
  lower(b, "aten::index.Tensor", {counting(b, {3}), OptionalValues{b.constant_int(Dtype::s64, 5)}});
  REQUIRE_FALSE(b.ok());
  Error error = b.take_error();
  CHECK(error.code == Code::index);
  CHECK(error.text == "index 5 is out of bounds for dimension 0 with size 3");
}

TEST_CASE("a mask declines, since its size depends on data") {
  Build b;
  Value mask = b.constant(Dtype::pred, Scalar::of(true), {3});
  lower(b, "aten::index.Tensor", {counting(b, {3}), OptionalValues{mask}});
  CHECK(b.take_error().code == Code::declined);
}

TEST_CASE("indexing an empty dimension is an error, with no indices it is empty") {
  Build bad, good;
  lower(bad, "aten::index.Tensor", {counting(bad, {0, 3}), OptionalValues{at(bad, {0})}});
  CHECK(bad.take_error().code == Code::index);
  Value none = lower1(good, "aten::index.Tensor", {counting(good, {0, 3}), OptionalValues{at(good, {})}});
  CHECK(none.dims() == Dims{0, 3});
}

TEST_CASE("gather reads element-wise from a larger value, and refuses negative numbers") {
  Build b;
  Value index = list(b, Dtype::s64, {2, 0}, {1, 2});
  Value y = lower1(b, "aten::gather", {counting(b, {3, 4}), int64_t{0}, index, false});
  CHECK(evaluate(y) == Numbers{8, 1});
  CHECK_FALSE(checks_fire(b));
  Build negative;
  lower(negative, "aten::gather", {counting(negative, {3}), int64_t{0}, at(negative, {0, -1}), false});
  CHECK(checks_fire(negative));
}

TEST_CASE("index_select keeps a scalar a scalar") {
  Build b;
  Value y = lower1(b, "aten::index_select", {b.constant(Dtype::f32, 7.0), int64_t{0}, at(b, {0})});
  CHECK(y.dims() == Dims{});
  CHECK(evaluate(y) == Numbers{7});
}

TEST_CASE("take reads the flat value") {
  Build b;
  CHECK(evaluate(lower1(b, "aten::take", {counting(b, {2, 3}), at(b, {-1, 0, 4})})) == Numbers{5, 0, 4});
}

TEST_CASE("embedding takes rows by an index of any rank") {
  Build b;
  Value index = list(b, Dtype::s32, {2, 0}, {2, 1});
  Value y = lower1(b, "aten::embedding", {counting(b, {3, 2}), index, int64_t{-1}, false, false});
  CHECK(y.dims() == Dims{2, 1, 2});
  CHECK(evaluate(y) == Numbers{4, 5, 0, 1});
  Build far;
  lower(far, "aten::embedding", {counting(far, {3, 2}), at(far, {0, 3}), int64_t{-1}, false, false});
  auto checks = far.take_checks();
  REQUIRE(checks.size() == 1);
  CHECK(checks[0].error.text == "index out of range in self");
  CHECK(evaluate(checks[0].flag) == Numbers{1});
}

}  // namespace
}  // namespace tp::testing
