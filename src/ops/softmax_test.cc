#include <doctest/doctest.h>

#include <cmath>

#include "evaluate.h"
#include "lowered.h"

namespace tp::testing {
namespace {

TEST_CASE("softmax computes halves in f32 and takes the maximum off first") {
  CHECK(lowered("aten::_softmax", {leaf(Dtype::bf16, {2, 3}), int64_t{-1}, false}) ==
        "%1 = convert %0 : f32[2,3]\n"
        "%2 = reduce %1, maximum, dims [1] : f32[2]\n"
        "%3 = broadcast_in_dim %2, dims [0] : f32[2,3]\n"
        "%4 = subtract %1, %3 : f32[2,3]\n"
        "%5 = exponential %4 : f32[2,3]\n"
        "%6 = reduce %5, add, dims [1] : f32[2]\n"
        "%7 = broadcast_in_dim %6, dims [0] : f32[2,3]\n"
        "%8 = divide %5, %7 : f32[2,3]\n"
        "%9 = convert %8 : bf16[2,3]\n");
}

TEST_CASE("half_to_float keeps the wide result") {
  Value x = leaf(Dtype::bf16, {3});
  CHECK(lower_types("aten::_softmax", {x, int64_t{0}, true}) == std::vector<std::string>{"f32[3]"});
  CHECK(lower_types("aten::_log_softmax", {x, int64_t{0}, true}) == std::vector<std::string>{"f32[3]"});
}

TEST_CASE("values far apart stay finite") {
  Build b;
  Value x = list(b, Dtype::f32, {1000, 0, -INFINITY});
  CHECK(evaluate(lower1(b, "aten::_softmax", {x, int64_t{0}, false})) == Numbers{1, 0, 0});
  CHECK(evaluate(lower1(b, "aten::_log_softmax", {x, int64_t{0}, false})) == Numbers{0, -1000, -INFINITY});
}

TEST_CASE("a row that is masked out is NaN, but 0 where asked to be safe") {
  Build b;
  Value x = list(b, Dtype::f32, {-INFINITY, -INFINITY, 0, 0}, {2, 2});
  Numbers y = evaluate(lower1(b, "aten::_softmax", {x, int64_t{1}, false}));
  CHECK(std::isnan(y[0]));
  CHECK(y[2] == 0.5);
  CHECK(evaluate(lower1(b, "aten::_safe_softmax", {x, int64_t{1}, None{}})) == Numbers{0, 0, 0.5, 0.5});
}

TEST_CASE("gradients are those of the probabilities") {
  Build b;
  Value x = list(b, Dtype::f64, {0.5, -1, 2}), grad = list(b, Dtype::f64, {1, 0, 0});
  Value p = lower1(b, "aten::_softmax", {x, int64_t{0}, false});
  Numbers probability = evaluate(p);
  Numbers soft = evaluate(lower1(b, "aten::_softmax_backward_data", {grad, p, int64_t{0}, Dtype::f64}));
  Value log_p = lower1(b, "aten::_log_softmax", {x, int64_t{0}, false});
  Numbers log = evaluate(lower1(b, "aten::_log_softmax_backward_data", {grad, log_p, int64_t{0}, Dtype::f64}));
  for (size_t i = 0; i < 3; ++i) {
    double same = i == 0;
    CHECK(soft[i] == doctest::Approx(probability[0] * (same - probability[i])));
    CHECK(log[i] == doctest::Approx(same - probability[i]));
  }
}

TEST_CASE("a scalar is its own only row, a wrong dimension is an IndexError") {
  Build b;
  CHECK(evaluate(lower1(b, "aten::_softmax", {b.constant(Dtype::f32, 7.0), int64_t{-1}, false})) == Numbers{1});
  CHECK(lower_error("aten::_softmax", {leaf(Dtype::f32, {2}), int64_t{1}, false}).code == Code::index);
  CHECK(lower_error("aten::_softmax", {leaf(Dtype::s64, {2}), int64_t{0}, false}).code == Code::unimplemented);
}

}  // namespace
}  // namespace tp::testing
