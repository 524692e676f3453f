#include <doctest/doctest.h>

#include <cmath>

#include "evaluate.h"

namespace tp::testing {
namespace {

constexpr double kInf = INFINITY;

Values pool(Build& b, const Value& x, Dims kernel, Dims stride, Dims padding = {0, 0}, bool ceil_mode = false) {
  return lower(b, "aten::max_pool2d_with_indices", {x, kernel, stride, padding, Dims{1, 1}, ceil_mode});
}

Value counting(Build& b, const Dims& dims, double first = 0) {
  return b.add(b.reshape(b.iota(Dtype::f32, {numel(dims)}, 0), dims), first);
}

TEST_CASE("the first of equals wins, the last NaN beats all") {
  Build b;
  Value x = list(b, Dtype::f32, {1, 5, 5, NAN, 2, 3, 4, NAN, 0}, {1, 3, 3});
  Values y = pool(b, x, {2, 2}, {1, 1});
  CHECK(y[1].dtype() == Dtype::s64);
  auto got = evaluate(y);
  CHECK(got[1] == Numbers{3, 1, 7, 7});
  CHECK(got[0][1] == 5);
  for (size_t i : {0, 2, 3}) CHECK(std::isnan(got[0][i]));
}

TEST_CASE("padding never wins, not even against -inf") {
  Build b;
  Values y = pool(b, b.constant(Dtype::f32, -kInf, {1, 2, 2}), {2, 2}, {2, 2}, {1, 1});
  CHECK(evaluate(y) == std::vector<Numbers>{{-kInf, -kInf, -kInf, -kInf}, {0, 1, 2, 3}});
}

TEST_CASE("with ceil_mode the last window hangs over") {
  Build b;
  Values y = pool(b, counting(b, {1, 4, 4}), {3, 3}, {2, 2}, {0, 0}, true);
  CHECK(evaluate(y) == std::vector<Numbers>{{10, 11, 14, 15}, {10, 11, 14, 15}});
}

TEST_CASE("a wide window gives what a narrow one does") {
  Build b;
  Value x = list(b, Dtype::f32, {7, NAN, 7}, {1, 1, 3});
  Value wide = b.pad(x, b.lowest(Dtype::f32), {0, 0, 10}, {0, 0, 40}, {0, 0, 0});
  Values y = pool(b, wide, {1, 40}, {1, 12});
  auto got = evaluate(y);
  CHECK(std::isnan(got[0][0]));
  CHECK(got[1][0] == 11);
  CHECK(got[0][1] == 7);
  CHECK(got[1][1] == 12);
}

TEST_CASE("an integer pools as an integer") {
  Build b;
  Values y = pool(b, list(b, Dtype::s64, {-5, -3, -9, -4}, {1, 2, 2}), {2, 2}, {2, 2}, {1, 1});
  CHECK(y[0].dtype() == Dtype::s64);
  CHECK(evaluate(y) == std::vector<Numbers>{{-5, -3, -9, -4}, {0, 1, 2, 3}});
}

TEST_CASE("each gradient goes to its window's winner, and adds up there") {
  Build b;
  Value x = list(b, Dtype::f32, {0, 1, 0, 0, 0, 9, 0, 3, 2, 0, 0, 0, 0, 0, 0, 1}, {1, 4, 4});
  Values y = pool(b, x, {2, 2}, {1, 1});
  const Numbers expected{0, 0, 0, 0, 0, 12, 0, 9, 7, 8, 0, 0, 0, 0, 0, 9};
  Value shifted = lower1(b, "aten::max_pool2d_with_indices_backward",
                         {counting(b, {1, 3, 3}, 1), x, Dims{2, 2}, Dims{1, 1}, Dims{0, 0}, Dims{1, 1}, false, y[1]});
  CHECK(evaluate(shifted) == expected);
  Value scattered = lower1(b, "aten::adaptive_max_pool2d_backward", {counting(b, {1, 3, 3}, 1), x, y[1]});
  CHECK(evaluate(scattered) == expected);
}

TEST_CASE("adaptive windows may overlap") {
  Build b;
  Values y = lower(b, "aten::adaptive_max_pool2d", {counting(b, {1, 3, 5}), Dims{2, 2}});
  CHECK(evaluate(y) == std::vector<Numbers>{{7, 9, 12, 14}, {7, 9, 12, 14}});
}

TEST_CASE("three dimensions are pooled one after the other") {
  Build b;
  Values y =
      lower(b, "aten::max_pool3d_with_indices", {counting(b, {1, 2, 2, 4}), Dims{2}, Dims{}, Dims{0}, Dims{1}, false});
  CHECK(evaluate(y) == std::vector<Numbers>{{13, 15}, {13, 15}});
}

TEST_CASE("a window that does not fit is refused") {
  Build padding, small;
  pool(padding, counting(padding, {1, 4, 4}), {2, 2}, {1, 1}, {2, 0});
  CHECK(padding.take_error().text ==
        "pad should be smaller than or equal to half of kernel size, but got pad=2 and kernel_size=2");
  pool(small, counting(small, {1, 2, 2}), {3, 3}, {1, 1});
  CHECK(small.take_error().code == Code::invalid_argument);
}

}  // namespace
}  // namespace tp::testing
