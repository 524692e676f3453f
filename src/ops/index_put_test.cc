#include <doctest/doctest.h>

#include "evaluate.h"

namespace tp::testing {
namespace {

Value zeros(Build& b, const Dims& dims) { return b.constant(Dtype::f32, 0.0, dims); }
Value mask(Build& b, const Numbers& numbers) { return b.convert(list(b, Dtype::s32, numbers), Dtype::pred); }

TEST_CASE("index_put writes a broadcast value at broadcast indices") {
  Build b;
  Value rows = list(b, Dtype::s64, {0, -1}, {2, 1}), columns = list(b, Dtype::s64, {1, 2});
  Value y = lower1(b, "aten::index_put",
                   {zeros(b, {2, 3}), OptionalValues{rows, columns}, list(b, Dtype::f32, {5, 6}), false});
  CHECK(evaluate(y) == Numbers{0, 5, 6, 0, 5, 6});
}

TEST_CASE("accumulating adds repeated indices") {
  Build b;
  Value y =
      lower1(b, "aten::index_put",
             {zeros(b, {3}), OptionalValues{list(b, Dtype::s64, {1, 1, 0})}, list(b, Dtype::f32, {1, 2, 4}), true});
  CHECK(evaluate(y) == Numbers{4, 3, 0});
}

TEST_CASE("one value under a mask is a select") {
  Build b;
  Value x = b.iota(Dtype::f32, {2, 3}, 1);
  Value first = lower1(b, "aten::index_put", {x, OptionalValues{mask(b, {0, 1})}, b.constant(Dtype::f32, 9.0), false});
  CHECK(first->op == Op::select);
  CHECK(evaluate(first) == Numbers{0, 1, 2, 9, 9, 9});
  Value second =
      lower1(b, "aten::index_put",
             {x, OptionalValues{std::nullopt, mask(b, {1, 0, 1})}, list(b, Dtype::f32, {7, 8}, {2, 1}), true});
  CHECK(evaluate(second) == Numbers{7, 1, 9, 8, 1, 10});
}

TEST_CASE("a value for each true of a mask declines") {
  Build b;
  lower(b, "aten::index_put", {zeros(b, {3}), OptionalValues{mask(b, {1, 0, 1})}, list(b, Dtype::f32, {1, 2}), false});
  CHECK(b.take_error().code == Code::declined);
}

TEST_CASE("a mask of other sizes is an IndexError, another dtype an error") {
  Build sizes, dtypes;
  lower(sizes, "aten::index_put",
        {zeros(sizes, {3}), OptionalValues{mask(sizes, {1, 0})}, sizes.constant(Dtype::f32, 1.0), false});
  CHECK(sizes.take_error().code == Code::index);
  lower(dtypes, "aten::index_put",
        {zeros(dtypes, {3}), OptionalValues{list(dtypes, Dtype::s64, {0})}, list(dtypes, Dtype::f64, {1}), false});
  CHECK(dtypes.take_error().code == Code::invalid_argument);
}

}  // namespace
}  // namespace tp::testing
