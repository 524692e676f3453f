#include <doctest/doctest.h>

#include "evaluate.h"

namespace tp::testing {
namespace {

Value counting(Build& b, const Dims& dims, double first = 0) {
  return b.add(b.reshape(b.iota(Dtype::f32, {numel(dims)}, 0), dims), first);
}

struct Setting {
  Dims stride{1, 1}, padding{0, 0}, dilation{1, 1};
  bool transposed = false;
  Dims output_padding{0, 0};
  int64_t groups = 1;
};

Value convolve(Build& b, const Value& x, const Value& weight, const Setting& s = {}, Arg bias = None{}) {
  return lower1(b, "aten::convolution",
                {x, weight, bias, s.stride, s.padding, s.dilation, s.transposed, s.output_padding, s.groups});
}

Value kernel(Build& b) { return counting(b, {1, 1, 2, 2}, 1); }

TEST_CASE("a convolution slides its kernel and adds the bias") {
  Build b;
  Value y = convolve(b, counting(b, {1, 1, 3, 3}, 1), kernel(b), {}, list(b, Dtype::f32, {0.5}));
  CHECK(y.type() == Type{Dtype::f32, {1, 1, 2, 2}});
  CHECK(evaluate(y) == Numbers{37.5, 47.5, 67.5, 77.5});
}

TEST_CASE("stride, padding and dilation of one number stand for all dimensions") {
  Build b;
  Setting s{.stride = {2}, .padding = {1}, .dilation = {2}};
  CHECK(evaluate(convolve(b, counting(b, {1, 1, 3, 3}, 1), kernel(b), s)) == Numbers{20, 15, 10, 5});
}

TEST_CASE("groups see their own channels only") {
  Build b;
  Setting s{.stride = {1}, .padding = {0}, .dilation = {1}, .output_padding = {0}, .groups = 2};
  Value y = convolve(b, counting(b, {1, 2, 2}), counting(b, {4, 1, 1}, 1), s);
  CHECK(evaluate(y) == Numbers{0, 1, 0, 2, 6, 9, 8, 12});
  s.transposed = true;
  CHECK(evaluate(convolve(b, counting(b, {1, 4, 1}), counting(b, {4, 1, 1}, 1), s)) == Numbers{2, 18});
}

TEST_CASE("a transposed convolution spreads its kernel; output_padding adds rows at the end") {
  Build b;
  Setting s{.stride = {2, 2}, .transposed = true, .output_padding = {1, 1}};
  Value y = convolve(b, counting(b, {1, 1, 2, 2}, 1), kernel(b), s);
  CHECK(evaluate(y) == Numbers{1, 2, 2, 4, 0, 3, 4, 6, 8, 0, 3, 6, 4, 8, 0, 9, 12, 12, 16, 0, 0, 0, 0, 0, 0});
}

TEST_CASE("gradients come for the wanted operands only") {
  Build b;
  Value x = counting(b, {1, 1, 3, 3}, 1), grad = counting(b, {1, 1, 2, 2}, 1);
  auto gradients = [&](std::vector<bool> wanted) {
    return lower(
        b, "aten::convolution_backward",
        {grad, x, kernel(b), Dims{1}, Dims{1, 1}, Dims{0, 0}, Dims{1, 1}, false, Dims{0, 0}, int64_t{1}, wanted});
  };
  CHECK(evaluate(gradients({true, true, true})) ==
        std::vector<Numbers>{{1, 4, 4, 6, 20, 16, 9, 24, 16}, {37, 47, 67, 77}, {10}});
  Values some = gradients({false, true, false});
  CHECK_FALSE(some[0]);
  CHECK(evaluate(some[1]) == Numbers{37, 47, 67, 77});
  CHECK_FALSE(some[2]);
}

TEST_CASE("bf16 stays one convolution of bf16") {
  Build b;
  Value y = convolve(b, b.constant(Dtype::bf16, 1.0, {1, 2, 4, 4}), b.constant(Dtype::bf16, 1.0, {3, 2, 1, 1}));
  CHECK(y->op == Op::convolution);
  CHECK(y.type() == Type{Dtype::bf16, {1, 3, 4, 4}});
}

TEST_CASE("operands that don't fit are refused") {
  Build channels, kernels, biases, dtypes;
  convolve(channels, counting(channels, {1, 3, 5, 5}), counting(channels, {4, 2, 3, 3}));
  CHECK(channels.take_error().text ==
        "given groups=1, weight of size [4,2,3,3], expected input[1,3,5,5] to have 2 channels, but got 3 channels "
        "instead");
  convolve(kernels, counting(kernels, {1, 1, 2, 2}), counting(kernels, {1, 1, 3, 3}));
  CHECK(kernels.take_error().code == Code::invalid_argument);
  convolve(biases, counting(biases, {1, 1, 3, 3}), kernel(biases), {}, counting(biases, {2}));
  CHECK(biases.take_error().text ==
        "expected bias to be 1-dimensional with 1 elements, but got bias of size [2] instead");
  convolve(dtypes, dtypes.constant(Dtype::bf16, 1.0, {1, 1, 3, 3}), kernel(dtypes));
  CHECK(dtypes.take_error().text == "Input type (bf16) and weight type (f32) should be the same");
}

}  // namespace
}  // namespace tp::testing
