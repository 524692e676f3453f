#include <doctest/doctest.h>

#include <cmath>

#include "evaluate.h"
#include "lowered.h"

namespace tp::testing {
namespace {

const Numbers kInput{0.5, -1, 2, 3, 0.25, -2, 1, 1.5};
constexpr double kEps = 1e-5;

// The gradient of sum(weights * op(x)) by differences, where run(x) are the op's numbers.
template <class Run>
Numbers slopes(Run run, const Numbers& weights) {
  auto total = [&](const Numbers& x) {
    Numbers y = run(x);
    double sum = 0;
    for (size_t i = 0; i < y.size(); ++i) sum += y[i] * weights[i];
    return sum;
  };
  Numbers out;
  constexpr double kStep = 1e-6;
  for (size_t i = 0; i < kInput.size(); ++i) {
    Numbers high = kInput, low = kInput;
    high[i] += kStep;
    low[i] -= kStep;
    out.push_back((total(high) - total(low)) / (2 * kStep));
  }
  return out;
}

void check_close(const Numbers& got, const Numbers& expected) {
  REQUIRE(got.size() == expected.size());
  for (size_t i = 0; i < got.size(); ++i) CHECK(got[i] == doctest::Approx(expected[i]).epsilon(1e-6).scale(1));
}

TEST_CASE("layer norm has mean 0 and spread 1, and saves its statistics") {
  Build b;
  Value x = list(b, Dtype::f64, {1, 2, 3, 4}, {1, 4});
  Values y = lower(b, "aten::native_layer_norm", {x, Dims{4}, None{}, None{}, 0.0});
  double spread = std::sqrt(1.25);
  check_close(evaluate(y[0]), {-1.5 / spread, -0.5 / spread, 0.5 / spread, 1.5 / spread});
  CHECK(y[1].dims() == Dims{1, 1});
  CHECK(evaluate(y[1]) == Numbers{2.5});
  CHECK(evaluate(y[2])[0] == doctest::Approx(1 / spread));
}

TEST_CASE("statistics of halves are f32") {
  Value x = leaf(Dtype::bf16, {2, 3}), weight = leaf(Dtype::bf16, {3});
  CHECK(lower_types("aten::native_layer_norm", {x, Dims{3}, weight, weight, kEps}) ==
        std::vector<std::string>{"bf16[2,3]", "f32[2,1]", "f32[2,1]"});
  CHECK(lower_types("aten::native_group_norm", {leaf(Dtype::bf16, {2, 4, 3}), None{}, None{}, int64_t{2}, int64_t{4},
                                                int64_t{3}, int64_t{2}, kEps}) ==
        std::vector<std::string>{"bf16[2,4,3]", "f32[2,2]", "f32[2,2]"});
}

TEST_CASE("a shape that is not the input's end is refused") {
  Error e = lower_error("aten::native_layer_norm", {leaf(Dtype::f32, {2, 3}), Dims{4}, None{}, None{}, kEps});
  CHECK(e.code == Code::invalid_argument);
  CHECK(e.text.find("Given normalized_shape=[4], expected input with shape [*, 4]") == 0);
}

TEST_CASE("the gradient of layer norm") {
  Numbers grads{1, -2, 0.5, 3, -1, 0.25, 2, 1}, gains{1, 2, -1, 0.5};
  Build b;
  auto forward = [&](const Numbers& at) {
    return lower(b, "aten::native_layer_norm",
                 {list(b, Dtype::f64, at, {2, 4}), Dims{4}, list(b, Dtype::f64, gains), None{}, kEps});
  };
  Values y = forward(kInput);
  Value weight = list(b, Dtype::f64, gains), bias = weight;
  std::vector<Arg> args{
      list(b, Dtype::f64, grads, {2, 4}), list(b, Dtype::f64, kInput, {2, 4}), Dims{4}, y[1], y[2], weight, bias,
      std::vector<bool>{true, true, true}};
  Values g = lower(b, "aten::native_layer_norm_backward", args);
  check_close(evaluate(g[0]), slopes([&](const Numbers& at) { return evaluate(forward(at)[0]); }, grads));
  check_close(evaluate(g[2]), {0, -1.75, 2.5, 4});
  args.back() = std::vector<bool>{false, true, false};
  Values some = lower(b, "aten::native_layer_norm_backward", args);
  CHECK(!some[0]);
  CHECK(some[1].dims() == Dims{4});
  CHECK(!some[2]);
}

TEST_CASE("the gradient of group norm") {
  Numbers grads{1, -2, 0.5, 3, -1, 0.25, 2, 1};
  Build b;
  auto shaped = [&](const Numbers& at) { return list(b, Dtype::f64, at, {1, 4, 2}); };
  auto forward = [&](const Numbers& at) {
    return lower(b, "aten::native_group_norm",
                 {shaped(at), None{}, None{}, int64_t{1}, int64_t{4}, int64_t{2}, int64_t{2}, kEps});
  };
  Values y = forward(kInput);
  Values g = lower(b, "aten::native_group_norm_backward",
                   {shaped(grads), shaped(kInput), y[1], y[2], None{}, int64_t{1}, int64_t{4}, int64_t{2}, int64_t{2},
                    std::vector<bool>{true, false, true}});
  check_close(evaluate(g[0]), slopes([&](const Numbers& at) { return evaluate(forward(at)[0]); }, grads));
  CHECK(!g[1]);
  check_close(evaluate(g[2]), {-1, 3.5, -0.75, 3});
  CHECK(lower_error("aten::native_group_norm",
                    {leaf(Dtype::f32, {1, 4, 2}), None{}, None{}, int64_t{1}, int64_t{4}, int64_t{2}, int64_t{3}, kEps})
            .code == Code::invalid_argument);
}

TEST_CASE("batch norm takes running statistics, or gives new ones") {
  Build b;
  Value x = list(b, Dtype::f64, {1, 2, 3, 6}, {4, 1}), mean = list(b, Dtype::f64, {1}),
        variance = list(b, Dtype::f64, {4});
  Values seen = lower(b, "aten::native_batch_norm", {x, None{}, None{}, mean, variance, false, 0.5, 0.0});
  check_close(evaluate(seen[0]), {0, 0.5, 1, 2.5});
  Values made =
      lower(b, "aten::_native_batch_norm_legit_functional", {x, None{}, None{}, mean, variance, true, 0.5, 0.0});
  CHECK(evaluate(made[1]) == Numbers{3});
  CHECK(evaluate(made[3]) == Numbers{2});                              // halfway from 1 to 3
  CHECK(evaluate(made[4])[0] == doctest::Approx((4 + 14.0 / 3) / 2));  // towards the unbiased variance
}

TEST_CASE("batch norm writes running statistics only in training") {
  Value x = leaf(Dtype::f32, {4, 2}), s = leaf(Dtype::f32, {2});
  using Types = std::vector<std::string>;
  CHECK(lower_types("aten::native_batch_norm", {x, None{}, None{}, s, s, true, 0.1, kEps}) ==
        Types{"f32[4,2]", "f32[2]", "f32[2]", "f32[2]", "f32[2]"});
  CHECK(lower_types("aten::native_batch_norm", {x, None{}, None{}, s, s, false, 0.1, kEps}) ==
        Types{"f32[4,2]", "f32[0]", "f32[0]", "none", "none"});
  CHECK(lower_error("aten::native_batch_norm", {x, None{}, None{}, None{}, None{}, false, 0.1, kEps}).code ==
        Code::invalid_argument);
}

TEST_CASE("the gradient of batch norm, in training and after") {
  Numbers grads{1, -2, 0.5, 3, -1, 0.25, 2, 1}, gains{2, -0.5};
  Build b;
  Value weight = list(b, Dtype::f64, gains), mean = list(b, Dtype::f64, {0.5, 1}),
        variance = list(b, Dtype::f64, {2, 3});
  for (bool training : {true, false}) {
    CAPTURE(training);
    auto forward = [&](const Numbers& at) {
      Value x = list(b, Dtype::f64, at, {4, 2});
      if (!training) return lower(b, "aten::native_batch_norm", {x, weight, None{}, mean, variance, false, 0.1, kEps});
      return lower(b, "aten::_native_batch_norm_legit.no_stats", {x, weight, None{}, true, 0.1, kEps});
    };
    Values y = forward(kInput);
    Values g = lower(b, "aten::native_batch_norm_backward",
                     {list(b, Dtype::f64, grads, {4, 2}), list(b, Dtype::f64, kInput, {4, 2}), weight, mean, variance,
                      y[1], y[2], training, kEps, std::vector<bool>{true, true, true}});
    check_close(evaluate(g[0]), slopes([&](const Numbers& at) { return evaluate(forward(at)[0]); }, grads));
    check_close(evaluate(g[2]), {2.5, 2.25});
  }
}

}  // namespace
}  // namespace tp::testing
