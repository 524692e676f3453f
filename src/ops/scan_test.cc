#include <doctest/doctest.h>

#include <cmath>
#include <limits>

#include "evaluate.h"

namespace tp::testing {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

Value f32(Build& b, const Numbers& numbers) { return list(b, Dtype::f32, numbers); }

TEST_CASE("cumsum of integers and bools is i64, and a dtype asked for is kept") {
  Build b;
  Value bools = b.convert(list(b, Dtype::s32, {1, 0, 1, 1, 1}), Dtype::pred);
  Value y = lower1(b, "aten::cumsum", {bools, int64_t{0}, None{}});
  CHECK(y.dtype() == Dtype::s64);
  CHECK(evaluate(y) == Numbers{1, 1, 2, 3, 4});
  CHECK(lower1(b, "aten::cumsum", {bools, int64_t{0}, Dtype::f32}).dtype() == Dtype::f32);
}

TEST_CASE("cumsum of bf16 adds up in f32") {
  Build b;
  Value y = lower1(b, "aten::cumsum", {b.constant(Dtype::bf16, 1.0, {600}), int64_t{0}, None{}});
  CHECK(evaluate(y).back() == 600);  // bf16 stops counting at 256
}

TEST_CASE("cumprod runs along a middle dimension") {
  Build b;
  Value x = list(b, Dtype::f32, {1, 2, 3, 4, 5, 6}, {1, 3, 2});
  CHECK(evaluate(lower1(b, "aten::cumprod", {x, int64_t{1}, None{}})) == Numbers{1, 2, 3, 8, 15, 48});
}

TEST_CASE("cummax gives the last of equal places and keeps a NaN") {
  Build b;
  Values y = lower(b, "aten::cummax", {f32(b, {1, 3, 3, 2}), int64_t{0}});
  CHECK(evaluate(y) == std::vector<Numbers>{{1, 3, 3, 3}, {0, 1, 2, 2}});
  Values nan = lower(b, "aten::cummin", {f32(b, {1, kNan, 0}), int64_t{0}});
  Numbers values = evaluate(nan[0]);
  CHECK(values[0] == 1);
  CHECK(std::isnan(values[1]));
  CHECK(std::isnan(values[2]));
  CHECK(evaluate(nan[1]) == Numbers{0, 1, 1});
}

TEST_CASE("logcumsumexp passes infinities through") {
  Build b;
  Numbers y = evaluate(lower1(b, "aten::logcumsumexp", {f32(b, {-kInf, 0, 0, kInf}), int64_t{0}}));
  CHECK(y[0] == -kInf);
  CHECK(y[1] == 0);
  CHECK(y[2] == doctest::Approx(std::log(2.0)));
  CHECK(y[3] == kInf);
}

TEST_CASE("a wrong dimension is an IndexError, a scalar has dimension 0") {
  Build bad, good;
  lower(bad, "aten::cumsum", {f32(bad, {1}), int64_t{1}, None{}});
  CHECK(bad.take_error().code == Code::index);
  CHECK(evaluate(lower1(good, "aten::cumsum", {good.constant(Dtype::f32, 3.0), int64_t{-1}, None{}})) == Numbers{3});
}

}  // namespace
}  // namespace tp::testing
