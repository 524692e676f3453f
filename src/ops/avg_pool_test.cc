#include <doctest/doctest.h>

#include "evaluate.h"

namespace tp::testing {
namespace {

Value counting(Build& b, const Dims& dims) { return b.reshape(b.iota(Dtype::f32, {numel(dims)}, 0), dims); }

struct Setting {
  Dims kernel{2, 2}, stride{2, 2}, padding{0, 0};
  bool ceil_mode = false, count_include_pad = true;
  Arg divisor = None{};
};

Value pool(Build& b, const Value& x, const Setting& s) {
  return lower1(b, "aten::avg_pool2d", {x, s.kernel, s.stride, s.padding, s.ceil_mode, s.count_include_pad, s.divisor});
}

TEST_CASE("padding counts, or not") {
  Build b;
  CHECK(evaluate(pool(b, counting(b, {1, 3, 3}), {.padding = {1, 1}})) == Numbers{0, 0.75, 2.25, 6});
  CHECK(evaluate(pool(b, counting(b, {1, 3, 3}), {.padding = {1, 1}, .count_include_pad = false})) ==
        Numbers{0, 1.5, 4.5, 6});
}

TEST_CASE("what hangs over the end never counts") {
  Build b;
  CHECK(evaluate(pool(b, counting(b, {1, 3, 3}), {.ceil_mode = true})) == Numbers{2, 3.5, 6.5, 8});
}

TEST_CASE("a divisor of the user's own wins") {
  Build b;
  CHECK(evaluate(pool(b, counting(b, {1, 2, 2}), {.divisor = int64_t{3}})) == Numbers{2});
  Build zero;
  pool(zero, counting(zero, {1, 2, 2}), {.divisor = int64_t{0}});
  CHECK(zero.take_error().text == "divisor must be not zero");
}

TEST_CASE("a window as large as the image is a mean") {
  Build b;
  Value y = pool(b, counting(b, {2, 3, 3}), {.kernel = {3, 3}, .stride = {}});
  CHECK(y.dims() == Dims{2, 1, 1});
  CHECK(evaluate(y) == Numbers{4, 13});
}

TEST_CASE("a gradient spreads over its window") {
  Build b;
  Value grad = list(b, Dtype::f32, {4, 8, 12, 16}, {1, 2, 2});
  Value y = lower1(b, "aten::avg_pool2d_backward",
                   {grad, counting(b, {1, 3, 3}), Dims{2, 2}, Dims{1, 1}, Dims{0, 0}, false, true, None{}});
  CHECK(evaluate(y) == Numbers{1, 3, 2, 4, 10, 6, 3, 7, 4});
}

TEST_CASE("adaptive windows divide by their own sizes") {
  Build b;
  Value x = counting(b, {1, 3, 4});
  CHECK(evaluate(lower1(b, "aten::_adaptive_avg_pool2d", {x, Dims{2, 2}})) == Numbers{2.5, 4.5, 6.5, 8.5});
  Value grad = list(b, Dtype::f32, {4, 8, 12, 16}, {1, 2, 2});
  CHECK(evaluate(lower1(b, "aten::_adaptive_avg_pool2d_backward", {grad, x})) ==
        Numbers{1, 1, 2, 2, 4, 4, 6, 6, 3, 3, 4, 4});
}

TEST_CASE("bf16 is summed in f32") {
  Build b;
  Value y = pool(b, b.constant(Dtype::bf16, 1.0, {1, 32, 32}), {.kernel = {32, 32}, .stride = {}});
  CHECK(y.dtype() == Dtype::bf16);
  CHECK(evaluate(y) == Numbers{1});
}

}  // namespace
}  // namespace tp::testing
