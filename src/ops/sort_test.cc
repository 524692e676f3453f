#include <doctest/doctest.h>

#include <cmath>
#include <limits>

#include "evaluate.h"

namespace tp::testing {
namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

Value f32(Build& b, const Numbers& numbers) { return list(b, Dtype::f32, numbers); }

TEST_CASE("sort is stable both ways and gives i64 positions") {
  Build b;
  Value x = f32(b, {2, 1, 2, 0});
  Values up = lower(b, "aten::sort.stable", {x, true, int64_t{0}, false});
  CHECK(up[1].dtype() == Dtype::s64);
  CHECK(evaluate(up) == std::vector<Numbers>{{0, 1, 2, 2}, {3, 1, 0, 2}});
  CHECK(evaluate(lower(b, "aten::sort", {x, int64_t{-1}, true})) == std::vector<Numbers>{{2, 2, 1, 0}, {0, 2, 1, 3}});
}

TEST_CASE("a NaN is the largest") {
  Build b;
  Numbers largest = evaluate(lower(b, "aten::topk", {f32(b, {1, kNan, 3}), int64_t{2}, int64_t{0}, true, true})[0]);
  CHECK(std::isnan(largest[0]));
  CHECK(largest[1] == 3);
  CHECK(evaluate(lower(b, "aten::topk", {f32(b, {1, kNan, 3}), int64_t{2}, int64_t{0}, false, true})[1]) ==
        Numbers{0, 2});
}

TEST_CASE("bools sort") {
  Build b;
  Value x = b.convert(list(b, Dtype::s32, {1, 0, 1}), Dtype::pred);
  Values y = lower(b, "aten::sort", {x, int64_t{0}, false});
  CHECK(y[0].dtype() == Dtype::pred);
  CHECK(evaluate(y) == std::vector<Numbers>{{0, 1, 1}, {1, 0, 2}});
}

TEST_CASE("topk and kthvalue refuse numbers beyond the dimension") {
  Build k, n;
  lower(k, "aten::topk", {f32(k, {1, 2}), int64_t{3}, int64_t{0}, true, true});
  CHECK(k.take_error().text == "selected index k out of range");
  lower(n, "aten::kthvalue", {f32(n, {1, 2}), int64_t{0}, int64_t{0}, false});
  CHECK(n.take_error().code == Code::invalid_argument);
}

TEST_CASE("median takes the lower middle, or a NaN; nanmedian passes over them") {
  Build b;
  CHECK(evaluate(lower(b, "aten::median.dim", {f32(b, {4, 1, 3, 2}), int64_t{0}, false})) ==
        std::vector<Numbers>{{2}, {3}});
  Value holes = f32(b, {kNan, 5, 1, kNan, 3});
  CHECK(std::isnan(evaluate(lower1(b, "aten::median", {holes}))[0]));
  CHECK(evaluate(lower1(b, "aten::nanmedian", {holes})) == Numbers{3});
  CHECK(std::isnan(evaluate(lower1(b, "aten::median", {b.constant(Dtype::f32, 0.0, {0})}))[0]));
}

TEST_CASE("mode is the most frequent value, the smallest of several") {
  Build b;
  Value x = list(b, Dtype::f32, {2, 1, 2, 1, 3, 7, 7, 1, 1, 7}, {2, 5});
  Values y = lower(b, "aten::mode", {x, int64_t{1}, true});
  CHECK(y[0].dims() == Dims{2, 1});
  CHECK(evaluate(y[0]) == Numbers{1, 7});
}

}  // namespace
}  // namespace tp::testing
