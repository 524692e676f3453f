#include <doctest/doctest.h>

#include <cmath>
#include <limits>

#include "evaluate.h"
#include "lowered.h"

namespace tp::testing {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();
const Scalar kOne = Scalar::of(int64_t{1});

Numbers run(const char* name, const Numbers& x, const Numbers& y, Dtype dtype) {
  Build b;
  return evaluate(lower1(b, name, {list(b, dtype, x), list(b, dtype, y)}));
}

TEST_CASE("a sum of halves is one node, a product in between is wide") {
  Value x = leaf(Dtype::bf16, {2, 3}), y = leaf(Dtype::bf16, {2, 3});
  CHECK(lowered("aten::add.Tensor", {x, y, kOne}) == "%2 = add %0, %1 : bf16[2,3]\n");
  CHECK(lowered("aten::sub.Tensor", {x, y, Scalar::of(0.5)}) ==
        "%2 = convert %0 : f32[2,3]\n"
        "%3 = convert %1 : f32[2,3]\n"
        "%4 = multiply %3, 0.5 : f32[2,3]\n"
        "%5 = subtract %2, %4 : f32[2,3]\n"
        "%6 = convert %5 : bf16[2,3]\n");
}

TEST_CASE("a number beside a half keeps its digits") {
  CHECK(lowered("aten::mul.Scalar", {leaf(Dtype::bf16, {2}), Scalar::of(0.1)}) ==
        "%1 = convert %0 : f32[2]\n"
        "%2 = multiply %1, 0.1 : f32[2]\n"
        "%3 = convert %2 : bf16[2]\n");
}

TEST_CASE("result types follow the operands") {
  Value ints = leaf(Dtype::s32, {2}), bools = leaf(Dtype::pred, {2});
  CHECK(lower_types("aten::add.Scalar", {ints, Scalar::of(0.5), kOne}) == std::vector<std::string>{"f32[2]"});
  CHECK(lower_types("aten::div.Tensor", {ints, ints}) == std::vector<std::string>{"f32[2]"});
  CHECK(lower_types("aten::floor_divide", {ints, ints}) == std::vector<std::string>{"i32[2]"});
  CHECK(lower_types("aten::mul.Tensor", {bools, bools}) == std::vector<std::string>{"bool[2]"});
  CHECK(lower_types("aten::rsub.Scalar", {ints, kOne, kOne}) == std::vector<std::string>{"i32[2]"});
}

TEST_CASE("sizes that don't fit are told in PyTorch's words") {
  Error e = lower_error("aten::add.Tensor", {leaf(Dtype::f32, {2, 3}), leaf(Dtype::f32, {4}), kOne});
  CHECK(e.code == Code::invalid_argument);
  CHECK(e.text == "The size of tensor a (3) must match the size of tensor b (4) at non-singleton dimension 1");
}

TEST_CASE("bools are not subtracted, a float alpha needs floats") {
  Value bools = leaf(Dtype::pred, {2}), ints = leaf(Dtype::s64, {2});
  CHECK(lower_error("aten::sub.Tensor", {bools, bools, kOne}).code == Code::invalid_argument);
  CHECK(lower_error("aten::sub.Tensor", {ints, bools, kOne}).code == Code::invalid_argument);
  CHECK(lower_error("aten::add.Tensor", {ints, ints, Scalar::of(0.5)}).code == Code::invalid_argument);
}

TEST_CASE("integer division rounds down, its remainder has the divisor's sign") {
  Numbers x{7, -7, 7, -7, 6}, y{2, 2, -2, -2, -3};
  CHECK(run("aten::floor_divide", x, y, Dtype::s32) == Numbers{3, -4, -4, 3, -2});
  CHECK(run("aten::remainder.Tensor", x, y, Dtype::s32) == Numbers{1, 1, -1, -1, 0});
  CHECK(run("aten::fmod.Tensor", x, y, Dtype::s32) == Numbers{1, -1, 1, -1, 0});
}

TEST_CASE("float floor division is exact where the quotient would round up") {
  Numbers q = run("aten::floor_divide", {1, -1, 7, 5, -0.0, -5}, {0.1, 0.1, -2, kInf, 3, kInf}, Dtype::f32);
  CHECK(q == Numbers{9, -10, -4, 0, 0, -1});
  CHECK(std::signbit(q[4]));
  Numbers by_zero = run("aten::floor_divide", {1, -1, 0}, {0, 0, 0}, Dtype::f32);
  CHECK(by_zero[0] == kInf);
  CHECK(by_zero[1] == -kInf);
  CHECK(std::isnan(by_zero[2]));
}

TEST_CASE("a rounding mode is known or refused") {
  Build b;
  Value x = list(b, Dtype::f32, {7, -7}), y = list(b, Dtype::f32, {2, 2});
  CHECK(evaluate(lower1(b, "aten::div.Tensor_mode", {x, y, std::string_view("trunc")})) == Numbers{3, -3});
  CHECK(evaluate(lower1(b, "aten::div.Tensor_mode", {x, y, std::string_view("floor")})) == Numbers{3, -4});
  CHECK(evaluate(lower1(b, "aten::div.Tensor_mode", {x, y, None{}})) == Numbers{3.5, -3.5});
  CHECK(lower_error("aten::div.Tensor_mode", {x, y, std::string_view("up")}).code == Code::invalid_argument);
}

TEST_CASE("an integer divisor of 0 that is known is refused") {
  Value x = leaf(Dtype::s64, {2});
  CHECK(lower_error("aten::floor_divide.Scalar", {x, Scalar::of(int64_t{0})}).text == "ZeroDivisionError");
  CHECK(lower_error("aten::remainder.Scalar", {x, Scalar::of(int64_t{0})}).text == "ZeroDivisionError");
  CHECK(lower_types("aten::floor_divide.Scalar", {leaf(Dtype::s64, {0}), Scalar::of(int64_t{0})}) ==
        std::vector<std::string>{"i64[0]"});
  CHECK(lower_types("aten::floor_divide.Scalar", {leaf(Dtype::f32, {2}), Scalar::of(int64_t{0})}) ==
        std::vector<std::string>{"f32[2]"});
}

TEST_CASE("maximum keeps a NaN, fmax drops it") {
  Numbers most = run("aten::maximum", {1, NAN, 3}, {2, 1, NAN}, Dtype::f32);
  CHECK(most[0] == 2);
  CHECK(std::isnan(most[1]));
  CHECK(std::isnan(most[2]));
  CHECK(run("aten::fmax", {1, NAN, 3}, {2, 1, NAN}, Dtype::f32) == Numbers{2, 1, 3});
  CHECK(run("aten::fmin", {1, NAN, 3}, {2, 1, NAN}, Dtype::f32) == Numbers{1, 1, 3});
}

TEST_CASE("small powers are products, integers stay integers") {
  Value x = leaf(Dtype::f32, {2});
  CHECK(lowered("aten::pow.Tensor_Scalar", {x, Scalar::of(int64_t{2})}) == "%1 = multiply %0, %0 : f32[2]\n");
  CHECK(lowered("aten::pow.Tensor_Scalar", {x, Scalar::of(0.5)}) == "%1 = sqrt %0 : f32[2]\n");
  CHECK(lowered("aten::pow.Tensor_Scalar", {x, Scalar::of(1.0)}).empty());
  Build b;
  Value ints = list(b, Dtype::s64, {-3, 0, 5});
  CHECK(evaluate(lower1(b, "aten::pow.Tensor_Scalar", {ints, Scalar::of(int64_t{5})})) == Numbers{-243, 0, 3125});
  CHECK(evaluate(lower1(b, "aten::pow.Scalar", {Scalar::of(2.0), ints})) == Numbers{0.125, 1, 32});
  CHECK(lower_error("aten::pow.Tensor_Scalar", {ints, Scalar::of(int64_t{-1})}).code == Code::invalid_argument);
}

TEST_CASE("addcmul and addcdiv round once") {
  Value x = leaf(Dtype::bf16, {2});
  CHECK(lowered("aten::addcmul", {x, x, x, Scalar::of(0.5)}) ==
        "%1 = convert %0 : f32[2]\n"
        "%2 = convert %0 : f32[2]\n"
        "%3 = multiply %2, 0.5 : f32[2]\n"
        "%4 = convert %0 : f32[2]\n"
        "%5 = multiply %3, %4 : f32[2]\n"
        "%6 = add %1, %5 : f32[2]\n"
        "%7 = convert %6 : bf16[2]\n");
  Value ints = leaf(Dtype::s64, {2});
  CHECK(lower_error("aten::addcdiv", {ints, ints, ints, kOne}).code == Code::invalid_argument);
}

TEST_CASE("lerp is exact at both ends") {
  Build b;
  Value start = list(b, Dtype::f32, {1e8, 1e8, 1}), end = list(b, Dtype::f32, {1, 1, 3});
  CHECK(evaluate(lower1(b, "aten::lerp.Tensor", {start, end, list(b, Dtype::f32, {0, 1, 0.25})})) ==
        Numbers{1e8, 1, 1.5});
  CHECK(evaluate(lower1(b, "aten::lerp.Scalar", {start, end, Scalar::of(1.0)})) == Numbers{1, 1, 3});
}

}  // namespace
}  // namespace tp::testing
