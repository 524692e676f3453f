#include "stablehlo/dump.h"

#include <doctest/doctest.h>

#include "stablehlo/build.h"

namespace tp {
namespace {

Value leaf(Dtype dtype, const Dims& dims) { return new_leaf(Type{dtype, dims}, nullptr); }

TEST_CASE("arguments are numbered first, constants stand where they are used") {
  Build b;
  Value x = leaf(Dtype::f32, {2, 3}), y = leaf(Dtype::f32, {3});
  CHECK(dump({b.add(b.mul(y, 0.5), x)}, {x, y}) ==
        "%2 = multiply %1, 0.5 : f32[3]\n"
        "%3 = broadcast_in_dim %2, dims [1] : f32[2,3]\n"
        "%4 = add %3, %0 : f32[2,3]\n");
}

TEST_CASE("a node that is used twice is printed once") {
  Build b;
  Value x = leaf(Dtype::f32, {2}), e = b.exponential(x);
  CHECK(dump({b.add(e, e), e}, {x}) ==
        "%1 = exponential %0 : f32[2]\n"
        "%2 = add %1, %1 : f32[2]\n");
}

TEST_CASE("attributes tell apart what operands and type do not") {
  Build b;
  Value x = leaf(Dtype::f32, {2, 2});
  CHECK(dump({b.transpose(x, {1, 0})}, {x}) == "%1 = transpose %0, dims [1,0] : f32[2,2]\n");
  CHECK(dump({b.compare(Direction::le, x, 1)}, {x}) == "%1 = compare %0, 1, le : bool[2,2]\n");
  CHECK(dump({b.reduce(Combine::maximum, x, {0})}, {x}) == "%1 = reduce %0, maximum, dims [0] : f32[2]\n");
  CHECK(dump({b.slice_dim(x, 1, 1, 2)}, {x}) == "%1 = slice %0, start [0,1], limit [2,2], stride [1,1] : f32[2,1]\n");
  CHECK(dump({b.iota(Dtype::s64, {3}, 0)}) == "%0 = iota dim 0 : i64[3]\n");
  CHECK(dump({b.dot_general(x, x, {{}, {}, {1}, {0}})}, {x}) ==
        "%1 = dot_general %0, %0, contract [1] x [0] : f32[2,2]\n");
}

TEST_CASE("results of one node are told apart") {
  Build b;
  Value x = leaf(Dtype::f32, {3}), y = leaf(Dtype::s64, {3});
  Values sorted = b.sort({x, y}, 0, true);
  CHECK(dump({sorted[1]}, {x, y}) ==
        "%2 = sort %0, %1, dim 0, descending : f32[3], i64[3]\n"
        "%3 = project %2, result 1 : i64[3]\n");
}

TEST_CASE("a composite says its name") {
  Build b;
  Value x = leaf(Dtype::f32, {2});
  CHECK(dump({b.composite1("norm", {x}, Type{Dtype::f32, {2}}, {7})}, {x}) ==
        "%1 = composite norm %0, ints [7] : f32[2]\n");
}

}  // namespace
}  // namespace tp
