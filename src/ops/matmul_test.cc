#include <doctest/doctest.h>

#include <cmath>

#include "evaluate.h"
#include "lowered.h"

namespace tp::testing {
namespace {

const Scalar kOne = Scalar::of(int64_t{1}), kZero = Scalar::of(int64_t{0});

TEST_CASE("a half product is wide until it is rounded") {
  CHECK(lowered("aten::mm", {leaf(Dtype::bf16, {2, 4}), leaf(Dtype::bf16, {4, 3})}) ==
        "%2 = dot_general %0, %1, contract [1] x [0] : f32[2,3]\n"
        "%3 = convert %2 : bf16[2,3]\n");
  CHECK(lowered("aten::addmm",
                {leaf(Dtype::bf16, {3}), leaf(Dtype::bf16, {2, 4}), leaf(Dtype::bf16, {4, 3}), kOne, kOne}) ==
        "%3 = dot_general %1, %2, contract [1] x [0] : f32[2,3]\n"
        "%4 = broadcast_in_dim %0, dims [1] : bf16[2,3]\n"
        "%5 = convert %4 : f32[2,3]\n"
        "%6 = add %3, %5 : f32[2,3]\n"
        "%7 = convert %6 : bf16[2,3]\n");
}

TEST_CASE("a wide result that is asked for is not rounded") {
  Value x = leaf(Dtype::bf16, {2, 4}), y = leaf(Dtype::bf16, {4, 3});
  CHECK(lowered("aten::mm.dtype", {x, y, Dtype::f32}) == "%2 = dot_general %0, %1, contract [1] x [0] : f32[2,3]\n");
  CHECK(lower_types("aten::addmm.dtype", {leaf(Dtype::f32, {3}), x, y, Dtype::f32, kOne, kOne}) ==
        std::vector<std::string>{"f32[2,3]"});
  CHECK(lower_error("aten::addmm", {leaf(Dtype::f32, {3}), x, y, kOne, kOne}).code == Code::invalid_argument);
}

TEST_CASE("a transposed weight is used as it lies") {
  Build b;
  Value x = leaf(Dtype::f32, {2, 4}), weight = leaf(Dtype::f32, {3, 4});
  Value y = lower1(b, "aten::mm", {x, b.transpose(weight, {1, 0})});
  CHECK(dump({y}, {x, weight}) == "%2 = dot_general %0, %1, contract [1] x [1] : f32[2,3]\n");
  Value keys = leaf(Dtype::f32, {5, 3, 4}), queries = leaf(Dtype::f32, {5, 2, 4});
  Value scores = lower1(b, "aten::bmm", {queries, b.transpose(keys, {0, 2, 1})});
  CHECK(dump({scores}, {queries, keys}) ==
        "%2 = dot_general %0, %1, contract [2] x [2], batch [0] x [0] : f32[5,2,3]\n");
}

TEST_CASE("transposed operands give the numbers of the plain ones") {
  Build b;
  Value x = list(b, Dtype::f32, {1, 2, 3, 4, 5, 6}, {2, 3}), w = list(b, Dtype::f32, {1, 0, 2, -1, 3, 1}, {2, 3});
  Numbers expected{7, 8, 16, 17};
  CHECK(evaluate(lower1(b, "aten::mm", {x, b.transpose(w, {1, 0})})) == expected);
  // Both sides transposed, and a batch that moves: [3, 2, 1] seen as [1, 2, 3].
  Value turned = b.transpose(b.reshape(b.transpose(x, {1, 0}), {3, 2, 1}), {2, 1, 0});
  CHECK(evaluate(lower1(b, "aten::bmm", {turned, b.reshape(b.transpose(w, {1, 0}), {1, 3, 2})})) == expected);
}

TEST_CASE("beta 0 drops self and its NaN; alpha and beta scale") {
  Build b;
  Value self = list(b, Dtype::f32, {NAN, 1}, {1, 2}), x = list(b, Dtype::f32, {2}, {1, 1});
  Value y = list(b, Dtype::f32, {3, 4}, {1, 2});
  CHECK(evaluate(lower1(b, "aten::addmm", {self, x, y, kZero, kOne})) == Numbers{6, 8});
  Numbers scaled = evaluate(lower1(b, "aten::addmm", {self, x, y, Scalar::of(10.0), Scalar::of(0.5)}));
  CHECK(std::isnan(scaled[0]));
  CHECK(scaled[1] == 14);
}

TEST_CASE("vectors") {
  Build b;
  Value m = list(b, Dtype::f32, {1, 2, 3, 4}, {2, 2}), v = list(b, Dtype::f32, {5, 6});
  CHECK(evaluate(lower1(b, "aten::mv", {m, v})) == Numbers{17, 39});
  CHECK(evaluate(lower1(b, "aten::dot", {v, v})) == Numbers{61});
  CHECK(evaluate(lower1(b, "aten::addmv", {v, m, v, kOne, kOne})) == Numbers{22, 45});
  CHECK(evaluate(lower1(b, "aten::addr", {m, v, v, kOne, kOne})) == Numbers{26, 32, 33, 40});
  CHECK(evaluate(lower1(b, "aten::addbmm", {m, b.reshape(m, {1, 2, 2}), b.reshape(m, {1, 2, 2}), kOne, kOne})) ==
        Numbers{8, 12, 18, 26});
}

TEST_CASE("an activation follows the sum") {
  Build b;
  Value self = list(b, Dtype::f32, {-5, 1}), x = list(b, Dtype::f32, {1}, {1, 1}),
        y = list(b, Dtype::f32, {1, 1}, {1, 2});
  CHECK(evaluate(lower1(b, "aten::_addmm_activation", {self, x, y, kOne, kOne, false})) == Numbers{0, 2});
  CHECK(evaluate(lower1(b, "aten::_addmm_activation", {self, x, y, kOne, kOne, true}))[1] ==
        doctest::Approx(1.9545977));
}

TEST_CASE("sizes that don't fit are told in PyTorch's words") {
  Value x = leaf(Dtype::f32, {2, 3}), y = leaf(Dtype::f32, {4, 5});
  CHECK(lower_error("aten::mm", {x, y}).text == "mat1 and mat2 shapes cannot be multiplied (2x3 and 4x5)");
  CHECK(lower_error("aten::mm", {leaf(Dtype::f32, {3}), y}).text == "self must be a matrix");
  CHECK(lower_error("aten::mm", {x, leaf(Dtype::bf16, {3, 5})}).text ==
        "expected m1 and m2 to have the same dtype, but got: f32 != bf16");
  CHECK(lower_error("aten::bmm", {leaf(Dtype::f32, {2, 3, 4}), leaf(Dtype::f32, {2, 5, 6})}).text ==
        "Expected size for first two dimensions of batch2 tensor to be: [2, 4] but got: [2, 5].");
  CHECK(lower_error("aten::mv", {x, leaf(Dtype::f32, {2})}).code == Code::invalid_argument);
  CHECK(lower_error("aten::dot", {leaf(Dtype::f32, {2}), leaf(Dtype::f32, {3})}).code == Code::invalid_argument);
}

}  // namespace
}  // namespace tp::testing
