#include <doctest/doctest.h>

#include <cmath>

#include "evaluate.h"

namespace tp::testing {
namespace {

constexpr int64_t kNone = 0, kMean = 1, kSum = 2;

void check_near(const Numbers& got, const Numbers& expected) {
  REQUIRE(got.size() == expected.size());
  for (size_t i = 0; i < got.size(); ++i) CHECK(got[i] == doctest::Approx(expected[i]).epsilon(1e-5));
}

TEST_CASE("mse_loss reduces, and its gradient shares by the count") {
  Build b;
  Value x = list(b, Dtype::f32, {1, 2, 3}), zero = b.constant(Dtype::f32, 0.0, {3});
  CHECK(evaluate(lower1(b, "aten::mse_loss", {x, zero, kNone})) == Numbers{1, 4, 9});
  CHECK(evaluate(lower1(b, "aten::mse_loss", {x, zero, kSum})) == Numbers{14});
  check_near(evaluate(lower1(b, "aten::mse_loss", {x, zero, kMean})), {14.0 / 3});
  Value one = b.constant(Dtype::f32, 1.0);
  check_near(evaluate(lower1(b, "aten::mse_loss_backward", {one, x, zero, kMean})), {2.0 / 3, 4.0 / 3, 2});
}

TEST_CASE("losses promote their operands") {
  Build b;
  Value x = b.constant(Dtype::bf16, 1.0, {2}), y = b.constant(Dtype::f32, 0.5, {2});
  CHECK(lower1(b, "aten::mse_loss", {x, y, kMean}).dtype() == Dtype::f32);
}

TEST_CASE("huber and smooth_l1 are squares near 0 and lines beyond") {
  Build b;
  Value x = list(b, Dtype::f32, {0, 0.5, 3}), zero = b.constant(Dtype::f32, 0.0, {3});
  CHECK(evaluate(lower1(b, "aten::huber_loss", {x, zero, kNone, 1.0})) == Numbers{0, 0.125, 2.5});
  CHECK(evaluate(lower1(b, "aten::smooth_l1_loss", {x, zero, kNone, 2.0})) == Numbers{0, 0.0625, 2});
  CHECK(evaluate(lower1(b, "aten::smooth_l1_loss", {x, zero, kNone, 0.0})) == Numbers{0, 0.5, 3});
  Value low = list(b, Dtype::f32, {-3, 0.5, 3}), one = b.constant(Dtype::f32, 1.0);
  check_near(evaluate(lower1(b, "aten::smooth_l1_loss_backward", {one, low, zero, kMean, 2.0})),
             {-1.0 / 3, 1.0 / 12, 1.0 / 3});
}

TEST_CASE("binary_cross_entropy stops at 100") {
  Build b;
  Value x = list(b, Dtype::f32, {0, 0.5}), one = b.constant(Dtype::f32, 1.0, {2});
  check_near(evaluate(lower1(b, "aten::binary_cross_entropy", {x, one, None{}, kNone})), {100, std::log(2.0)});
}

Value scores(Build& b) { return list(b, Dtype::f32, {-1, -2, -3, -4, -5, -6}, {3, 2}); }

TEST_CASE("nll_loss divides by the weights of what it counts") {
  Build b;
  Value target = list(b, Dtype::s64, {1, -100, 0}), weight = list(b, Dtype::f32, {1, 3});
  Values y = lower(b, "aten::nll_loss_forward", {scores(b), target, weight, kMean, int64_t{-100}});
  CHECK(evaluate(y) == std::vector<Numbers>{{11.0 / 4}, {4}});
  CHECK_FALSE(checks_fire(b));
  Values each = lower(b, "aten::nll_loss_forward", {scores(b), target, None{}, kNone, int64_t{-100}});
  CHECK(evaluate(each) == std::vector<Numbers>{{2, 0, 5}, {0}});
}

TEST_CASE("nll_loss's gradient reaches the targets alone") {
  Build b;
  Value target = list(b, Dtype::s64, {1, -100, 0}), grad = b.constant(Dtype::f32, 4.0);
  Value y = lower1(b, "aten::nll_loss_backward",
                   {grad, scores(b), target, None{}, kMean, int64_t{-100}, b.constant(Dtype::f32, 2.0)});
  CHECK(evaluate(y) == Numbers{0, -2, 0, 0, -2, 0});
}

TEST_CASE("a batch where all is ignored is NaN, its gradient 0") {
  Build b;
  Value target = list(b, Dtype::s64, {-100, -100, -100}), none = b.constant(Dtype::f32, 0.0);
  Value y = lower1(b, "aten::nll_loss_forward", {scores(b), target, None{}, kMean, int64_t{-100}});
  CHECK(std::isnan(evaluate(y)[0]));
  Value grad = lower1(b, "aten::nll_loss_backward",
                      {b.constant(Dtype::f32, 1.0), scores(b), target, None{}, kMean, int64_t{-100}, none});
  CHECK(evaluate(grad) == Numbers{0, 0, 0, 0, 0, 0});
}

TEST_CASE("a class out of range sets the check") {
  Build b;
  lower(b, "aten::nll_loss_forward", {scores(b), list(b, Dtype::s64, {1, 2, 0}), None{}, kMean, int64_t{-100}});
  CHECK(checks_fire(b));
}

}  // namespace
}  // namespace tp::testing
