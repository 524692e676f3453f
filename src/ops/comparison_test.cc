#include <doctest/doctest.h>

#include <cmath>

#include "evaluate.h"
#include "lowered.h"

namespace tp::testing {
namespace {

TEST_CASE("operands are compared in their common dtype") {
  CHECK(lowered("aten::lt.Tensor", {leaf(Dtype::s32, {2}), leaf(Dtype::f32, {2})}) ==
        "%2 = convert %0 : f32[2]\n"
        "%3 = compare %2, %1, lt : bool[2]\n");
  CHECK(lowered("aten::ge.Scalar", {leaf(Dtype::s32, {2}), Scalar::of(int64_t{3})}) ==
        "%1 = compare %0, 3, ge : bool[2]\n");
}

TEST_CASE("complex numbers are equal or not, but have no order") {
  Value z = leaf(Dtype::c64, {2});
  CHECK(lower_types("aten::eq.Tensor", {z, z}) == std::vector<std::string>{"bool[2]"});
  CHECK(lower_error("aten::lt.Tensor", {z, z}).code == Code::unimplemented);
}

TEST_CASE("logic is on truth, bits are on integers") {
  Build b;
  Value x = list(b, Dtype::f32, {0, 0.5, NAN, -1}), y = list(b, Dtype::f32, {1, 0, 1, 2});
  CHECK(evaluate(lower1(b, "aten::logical_and", {x, y})) == Numbers{0, 0, 1, 1});
  CHECK(evaluate(lower1(b, "aten::logical_xor", {x, y})) == Numbers{1, 1, 0, 0});
  CHECK(evaluate(lower1(b, "aten::logical_not", {x})) == Numbers{1, 0, 0, 0});
  Value i = list(b, Dtype::s32, {6, -1}), j = list(b, Dtype::s32, {3, 7});
  CHECK(evaluate(lower1(b, "aten::bitwise_and.Tensor", {i, j})) == Numbers{2, 7});
  CHECK(evaluate(lower1(b, "aten::bitwise_not", {i})) == Numbers{-7, 0});
  CHECK(lower_error("aten::bitwise_or.Tensor", {x, y}).code == Code::unimplemented);
}

TEST_CASE("a shift by the width or by less than nothing moves everything out") {
  Build b;
  Value x = list(b, Dtype::s8, {1, -128, 64, 5}), by = list(b, Dtype::s8, {3, 9, -1, 1});
  CHECK(evaluate(lower1(b, "aten::bitwise_left_shift.Tensor", {x, by})) == Numbers{8, 0, 0, 10});
  CHECK(evaluate(lower1(b, "aten::bitwise_right_shift.Tensor", {x, by})) == Numbers{0, -1, 0, 2});
}

TEST_CASE("where promotes its values and wants a bool condition") {
  Value condition = leaf(Dtype::pred, {2, 1});
  CHECK(lower_types("aten::where.self", {condition, leaf(Dtype::bf16, {3}), leaf(Dtype::f32, {})}) ==
        std::vector<std::string>{"bf16[2,3]"});
  CHECK(lower_error("aten::where.self", {leaf(Dtype::f32, {2}), condition, condition}).code == Code::invalid_argument);
}

TEST_CASE("masked_fill keeps the tensor's dtype") {
  Value x = leaf(Dtype::bf16, {2}), mask = leaf(Dtype::pred, {2}), ints = leaf(Dtype::s64, {2});
  CHECK(lower_types("aten::masked_fill.Scalar", {x, mask, Scalar::of(-INFINITY)}) ==
        std::vector<std::string>{"bf16[2]"});
  CHECK(lower_error("aten::masked_fill.Scalar", {ints, mask, Scalar::of(0.5)}).code == Code::invalid_argument);
  CHECK(lower_error("aten::masked_fill.Scalar", {x, ints, Scalar::of(0.5)}).code == Code::invalid_argument);
  CHECK(lower_error("aten::masked_fill.Tensor", {x, mask, x}).code == Code::invalid_argument);
}

TEST_CASE("clamp keeps a NaN, and the upper bound wins") {
  Build b;
  Value x = list(b, Dtype::f32, {-2, 0.5, 9, NAN});
  Numbers y = evaluate(lower1(b, "aten::clamp", {x, Scalar::of(0.0), Scalar::of(1.0)}));
  CHECK(Numbers(y.begin(), y.begin() + 3) == Numbers{0, 0.5, 1});
  CHECK(std::isnan(y[3]));
  Value two = list(b, Dtype::f32, {5, 5});
  CHECK(evaluate(lower1(b, "aten::clamp", {two, Scalar::of(3.0), Scalar::of(1.0)})) == Numbers{1, 1});
  CHECK(lower_types("aten::clamp_min", {leaf(Dtype::s64, {2}), Scalar::of(0.5)}) == std::vector<std::string>{"f32[2]"});
  CHECK(lower_error("aten::clamp", {x, None{}, None{}}).code == Code::invalid_argument);
}

}  // namespace
}  // namespace tp::testing
