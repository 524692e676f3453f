#include <doctest/doctest.h>

#include "evaluate.h"
#include "lowered.h"

namespace tp::testing {
namespace {

TEST_CASE("constant padding counts from the last dimension; a negative one cuts") {
  CHECK(lowered("aten::constant_pad_nd", {leaf(Dtype::f32, {2, 3}), Dims{1, -1}, Scalar::of(0.5)}) ==
        "%1 = pad %0, 0.5, low [0,1], high [0,-1], interior [0,0] : f32[2,3]\n");
  CHECK(lower_types("aten::constant_pad_nd", {leaf(Dtype::f32, {2, 3}), Dims{0, 1, 2, 0}, Scalar::of(0.5)}) ==
        std::vector<std::string>{"f32[4,4]"});
  CHECK(lower_error("aten::constant_pad_nd", {leaf(Dtype::f32, {2}), Dims{-2, -1}, Scalar::of(0.0)}).code ==
        Code::invalid_argument);
  CHECK(lower_error("aten::constant_pad_nd", {leaf(Dtype::f32, {2}), Dims{1, 1, 1, 1}, Scalar::of(0.0)}).code ==
        Code::invalid_argument);
}

TEST_CASE("a mirror leaves the edge out, a replica repeats it") {
  Build b;
  Value x = list(b, Dtype::f32, {1, 2, 3}, {1, 3});
  CHECK(evaluate(lower1(b, "aten::reflection_pad1d", {x, Dims{2, 1}})) == Numbers{3, 2, 1, 2, 3, 2});
  CHECK(evaluate(lower1(b, "aten::replication_pad1d", {x, Dims{2, 1}})) == Numbers{1, 1, 1, 2, 3, 3});
  CHECK(evaluate(lower1(b, "aten::replication_pad1d", {x, Dims{-3, 2}})) == Numbers{3, 3});
  CHECK(evaluate(lower1(b, "aten::reflection_pad1d", {x, Dims{-1, 1}})) == Numbers{2, 3, 2});
}

TEST_CASE("both dimensions are padded") {
  Build b;
  Value x = list(b, Dtype::f32, {1, 2, 3, 4}, {1, 2, 2});
  CHECK(evaluate(lower1(b, "aten::reflection_pad2d", {x, Dims{1, 0, 0, 1}})) == Numbers{2, 1, 2, 4, 3, 4, 2, 1, 2});
}

TEST_CASE("gradients add up where elements were copied from") {
  Build b;
  Value x = list(b, Dtype::f32, {1, 2, 3}, {1, 3}), grad = list(b, Dtype::f32, {1, 2, 4, 8, 16, 32}, {1, 6});
  CHECK(evaluate(lower1(b, "aten::reflection_pad1d_backward", {grad, x, Dims{2, 1}})) == Numbers{4, 42, 17});
  CHECK(evaluate(lower1(b, "aten::replication_pad1d_backward", {grad, x, Dims{2, 1}})) == Numbers{7, 8, 48});
  Value cut = list(b, Dtype::f32, {1, 2}, {1, 2});
  CHECK(evaluate(lower1(b, "aten::replication_pad1d_backward", {cut, x, Dims{-3, 2}})) == Numbers{0, 0, 3});
}

TEST_CASE("a mirror wider than the input, or an input of another rank, is refused") {
  CHECK(lower_error("aten::reflection_pad1d", {leaf(Dtype::f32, {1, 3}), Dims{3, 0}}).code == Code::invalid_argument);
  CHECK(lower_error("aten::replication_pad2d", {leaf(Dtype::f32, {3}), Dims{1, 1, 1, 1}}).code ==
        Code::invalid_argument);
}

}  // namespace
}  // namespace tp::testing
