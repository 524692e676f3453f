#include <doctest/doctest.h>

#include "evaluate.h"

namespace tp::testing {
namespace {

Value counting(Build& b, const Dims& dims) { return b.reshape(b.iota(Dtype::f32, {numel(dims)}, 0), dims); }

Value nearest(Build& b, int64_t input, int64_t output, const char* name = "aten::upsample_nearest1d") {
  return lower1(b, name, {counting(b, {1, 1, input}), Dims{output}, None{}});
}

TEST_CASE("a whole factor repeats without reading by index") {
  Build b;
  Value y = nearest(b, 3, 6);
  CHECK(evaluate(y) == Numbers{0, 0, 1, 1, 2, 2});
  CHECK(y->op == Op::reshape);
}

TEST_CASE("other sizes follow PyTorch's index rules") {
  Build b;
  CHECK(evaluate(nearest(b, 3, 7)) == Numbers{0, 0, 0, 1, 1, 2, 2});
  CHECK(evaluate(nearest(b, 3, 5)) == Numbers{0, 0, 1, 1, 2});
  CHECK(evaluate(nearest(b, 3, 5, "aten::_upsample_nearest_exact1d")) == Numbers{0, 0, 1, 2, 2});
}

TEST_CASE("the user's factor decides the step") {
  Build b;
  Value y = lower1(b, "aten::upsample_nearest1d", {counting(b, {1, 1, 3}), Dims{6}, 2.5});
  CHECK(evaluate(y) == Numbers{0, 0, 0, 1, 1, 2});
}

TEST_CASE("linear interpolation, with corners in the middle of elements or at the ends") {
  Build b;
  Value x = counting(b, {1, 1, 3});
  CHECK(evaluate(lower1(b, "aten::upsample_linear1d", {x, Dims{6}, false, None{}})) ==
        Numbers{0, 0.25, 0.75, 1.25, 1.75, 2});
  CHECK(evaluate(lower1(b, "aten::upsample_linear1d", {x, Dims{5}, true, None{}})) == Numbers{0, 0.5, 1, 1.5, 2});
}

TEST_CASE("cubic interpolation overshoots as PyTorch's does") {
  Build b;
  Value x = list(b, Dtype::f32, {0, 1, 4}, {1, 1, 1, 3});
  Numbers got = evaluate(lower1(b, "aten::upsample_bicubic2d", {x, Dims{1, 6}, false, None{}, None{}}));
  const Numbers expected{-0.105469, 0.121094, 0.457031, 1.785156, 3.355469, 4.316406};
  for (size_t i = 0; i < expected.size(); ++i) CHECK(got[i] == doctest::Approx(expected[i]).epsilon(1e-5));
}

TEST_CASE("gradients return to where elements came from") {
  Build b;
  CHECK(evaluate(lower1(b, "aten::upsample_nearest1d_backward",
                        {counting(b, {1, 1, 6}), Dims{6}, Dims{1, 1, 3}, None{}})) == Numbers{1, 5, 9});
  CHECK(evaluate(lower1(b, "aten::upsample_nearest1d_backward",
                        {counting(b, {1, 1, 5}), Dims{5}, Dims{1, 1, 3}, None{}})) == Numbers{1, 5, 4});
  CHECK(evaluate(lower1(b, "aten::upsample_linear1d_backward",
                        {b.constant(Dtype::f32, 1.0, {1, 1, 6}), Dims{6}, Dims{1, 1, 3}, false, None{}})) ==
        Numbers{2, 2, 2});
}

TEST_CASE("integers copy, but leave interpolation to the CPU") {
  Build b, linear;
  Value x = b.constant_int(Dtype::u8, 7, {1, 1, 2, 2});
  CHECK(lower1(b, "aten::upsample_nearest2d", {x, Dims{4, 4}, None{}, None{}}).dtype() == Dtype::u8);
  lower(linear, "aten::upsample_bilinear2d", {x, Dims{4, 4}, false, None{}, None{}});
  CHECK(linear.take_error().code == Code::declined);
}

}  // namespace
}  // namespace tp::testing
