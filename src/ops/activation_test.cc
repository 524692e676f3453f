#include <doctest/doctest.h>

#include <cmath>

#include "evaluate.h"
#include "lowered.h"

namespace tp::testing {
namespace {

const Numbers kPoints{-4, -2.5, -0.75, -0.125, 0.25, 1, 2.75, 5};
constexpr double kStep = 1e-5;

// Checks a gradient op against the slope of its function: both in f64 at kPoints.
// `forward` makes the arguments of the function, `backward` those of the gradient (grad, x).
template <class Forward, class Backward>
void check_slope(const char* name, Forward forward, const char* gradient, Backward backward) {
  CAPTURE(gradient);
  Build b;
  auto at = [&](double shift) {
    Numbers moved = kPoints;
    for (double& v : moved) v += shift;
    return evaluate(lower1(b, name, forward(list(b, Dtype::f64, moved))));
  };
  Numbers high = at(kStep), low = at(-kStep);
  Value grad = b.constant(Dtype::f64, 2.0, {static_cast<int64_t>(kPoints.size())});
  Numbers slope = evaluate(lower1(b, gradient, backward(grad, list(b, Dtype::f64, kPoints))));
  for (size_t i = 0; i < kPoints.size(); ++i) {
    CAPTURE(kPoints[i]);
    CHECK(slope[i] == doctest::Approx((high[i] - low[i]) / kStep).epsilon(1e-6));
  }
}

TEST_CASE("silu computes bf16 in f32") {
  CHECK(lowered("aten::silu", {leaf(Dtype::bf16, {2, 3})}) ==
        "%1 = convert %0 : f32[2,3]\n"
        "%2 = logistic %1 : f32[2,3]\n"
        "%3 = multiply %1, %2 : f32[2,3]\n"
        "%4 = convert %3 : bf16[2,3]\n");
}

TEST_CASE("activations refuse integers") {
  for (const char* name : {"aten::silu", "aten::mish", "aten::hardswish", "aten::hardsigmoid"}) {
    CAPTURE(name);
    CHECK(lower_error(name, {leaf(Dtype::s32, {2})}).code == Code::unimplemented);
  }
  CHECK(lower_error("aten::relu", {leaf(Dtype::pred, {2})}).code == Code::invalid_argument);
  CHECK(lowered("aten::relu", {leaf(Dtype::s32, {2})}) == "%1 = maximum %0, 0 : i32[2]\n");
}

TEST_CASE("gradients are the slopes of their functions") {
  using Args = std::vector<Arg>;
  auto only = [](Value x) { return Args{x}; };
  auto pair = [](Value g, Value x) { return Args{g, x}; };
  check_slope("aten::silu", only, "aten::silu_backward", pair);
  check_slope("aten::mish", only, "aten::mish_backward", pair);
  check_slope("aten::hardswish", only, "aten::hardswish_backward", pair);
  check_slope("aten::hardsigmoid", only, "aten::hardsigmoid_backward", pair);
  for (std::string_view how : {"none", "tanh"}) {
    check_slope(
        "aten::gelu", [&](Value x) { return Args{x, how}; }, "aten::gelu_backward",
        [&](Value g, Value x) { return Args{g, x, how}; });
  }
  Scalar slope = Scalar::of(0.1), low = Scalar::of(-1.0), high = Scalar::of(2.0), beta = Scalar::of(2.0);
  check_slope(
      "aten::leaky_relu", [&](Value x) { return Args{x, slope}; }, "aten::leaky_relu_backward",
      [&](Value g, Value x) { return Args{g, x, slope, false}; });
  check_slope(
      "aten::hardtanh", [&](Value x) { return Args{x, low, high}; }, "aten::hardtanh_backward",
      [&](Value g, Value x) { return Args{g, x, low, high}; });
  check_slope(
      "aten::softplus", [&](Value x) { return Args{x, beta, Scalar::of(8.0)}; }, "aten::softplus_backward",
      [&](Value g, Value x) { return Args{g, x, beta, Scalar::of(8.0)}; });
  check_slope(
      "aten::threshold", [&](Value x) { return Args{x, slope, low}; }, "aten::threshold_backward",
      [&](Value g, Value x) { return Args{g, x, slope}; });
  check_slope(
      "aten::softshrink", [&](Value x) { return Args{x, slope}; }, "aten::softshrink_backward",
      [&](Value g, Value x) { return Args{g, x, slope}; });
  check_slope(
      "aten::elu", [&](Value x) { return Args{x, slope, beta, high}; }, "aten::elu_backward",
      [&](Value g, Value x) { return Args{g, slope, beta, high, false, x}; });
}

TEST_CASE("gradients that take the result agree with those that take the input") {
  Build b;
  Scalar one = Scalar::of(1.0);
  Value x = list(b, Dtype::f64, kPoints), grad = b.constant(Dtype::f64, 1.0, x.dims());
  Value y = lower1(b, "aten::elu", {x, one, one, one});
  Numbers from_result = evaluate(lower1(b, "aten::elu_backward", {grad, one, one, one, true, y}));
  Numbers from_input = evaluate(lower1(b, "aten::elu_backward", {grad, one, one, one, false, x}));
  for (size_t i = 0; i < kPoints.size(); ++i) CHECK(from_result[i] == doctest::Approx(from_input[i]));
  Numbers tanh = evaluate(lower1(b, "aten::tanh_backward", {grad, lower1(b, "aten::tanh", {x})}));
  Numbers sigmoid = evaluate(lower1(b, "aten::sigmoid_backward", {grad, lower1(b, "aten::sigmoid", {x})}));
  CHECK(tanh[4] == doctest::Approx(1 - std::pow(std::tanh(0.25), 2)));
  CHECK(sigmoid[5] == doctest::Approx(0.19661193324148185));
}

TEST_CASE("log_sigmoid does not overflow on either side") {
  Build b;
  Value x = list(b, Dtype::f32, {-200, 0, 200});
  Values results = lower(b, "aten::log_sigmoid_forward", {x});
  Numbers y = evaluate(results[0]);
  CHECK(y[0] == -200);
  CHECK(y[1] == doctest::Approx(-std::log(2.0)));
  CHECK(y[2] == 0);
  Value grad = b.constant(Dtype::f32, 1.0, {3});
  CHECK(evaluate(lower1(b, "aten::log_sigmoid_backward", {grad, x, results[1]})) == Numbers{1, 0.5, 0});
}

TEST_CASE("glu halves a dimension; its gradient puts both halves back") {
  Build b;
  Value x = list(b, Dtype::f64, {1, 2, 0, 3}, {1, 4});
  Numbers y = evaluate(lower1(b, "aten::glu", {x, int64_t{-1}}));
  CHECK(y[0] == doctest::Approx(0.5));
  CHECK(y[1] == doctest::Approx(2 / (1 + std::exp(-3.0))));
  Numbers g = evaluate(lower1(b, "aten::glu_backward", {b.constant(Dtype::f64, 1.0, {1, 2}), x, int64_t{1}}));
  CHECK(g[0] == doctest::Approx(0.5));
  CHECK(g[2] == doctest::Approx(0.25));
  CHECK(lower_error("aten::glu", {leaf(Dtype::f32, {3}), int64_t{0}}).code == Code::invalid_argument);
}

TEST_CASE("prelu learns the slope below zero") {
  Build b;
  Value x = list(b, Dtype::f32, {-2, 3}), weight = list(b, Dtype::f32, {0.5, 0.5}), grad = list(b, Dtype::f32, {1, 1});
  CHECK(evaluate(lower1(b, "aten::_prelu_kernel", {x, weight})) == Numbers{-1, 3});
  CHECK(evaluate(lower(b, "aten::_prelu_kernel_backward", {grad, x, weight})) ==
        std::vector<Numbers>{{0.5, 1}, {-2, 0}});
}

TEST_CASE("gelu names the approximations it knows") {
  Error e = lower_error("aten::gelu", {leaf(Dtype::f32, {2}), std::string_view("fast")});
  CHECK(e.text == "approximate argument must be either none or tanh.");
}

}  // namespace
}  // namespace tp::testing
