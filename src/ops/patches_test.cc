#include <doctest/doctest.h>

#include "evaluate.h"

namespace tp::testing {
namespace {

Value counting(Build& b, const Dims& dims) { return b.reshape(b.iota(Dtype::f32, {numel(dims)}, 0), dims); }

TEST_CASE("pixel_shuffle and pixel_unshuffle undo each other") {
  Build b;
  Value y = lower1(b, "aten::pixel_shuffle", {counting(b, {4, 1, 2}), int64_t{2}});
  CHECK(y.dims() == Dims{1, 2, 4});
  CHECK(evaluate(y) == Numbers{0, 2, 1, 3, 4, 6, 5, 7});
  CHECK(evaluate(lower1(b, "aten::pixel_unshuffle", {y, int64_t{2}})) == Numbers{0, 1, 2, 3, 4, 5, 6, 7});
}

TEST_CASE("channel_shuffle deals the groups' channels in turn") {
  Build b;
  CHECK(evaluate(lower1(b, "aten::channel_shuffle", {counting(b, {1, 4, 1}), int64_t{2}})) == Numbers{0, 2, 1, 3});
}

TEST_CASE("im2col puts a patch in each column") {
  Build b;
  Value y = lower1(b, "aten::im2col", {counting(b, {1, 2, 3}), Dims{2, 2}, Dims{1, 1}, Dims{0, 0}, Dims{1, 1}});
  CHECK(y.dims() == Dims{4, 2});
  CHECK(evaluate(y) == Numbers{0, 1, 1, 2, 3, 4, 4, 5});
}

TEST_CASE("col2im adds patches where they overlap") {
  Build b;
  Value ones = b.constant(Dtype::f32, 1.0, {4, 2});
  Value y = lower1(b, "aten::col2im", {ones, Dims{2, 3}, Dims{2, 2}, Dims{1, 1}, Dims{0, 0}, Dims{1, 1}});
  CHECK(y.dims() == Dims{1, 2, 3});
  CHECK(evaluate(y) == Numbers{1, 2, 1, 1, 2, 1});
}

TEST_CASE("sizes that don't divide are refused") {
  Build b;
  lower(b, "aten::pixel_shuffle", {counting(b, {5, 1, 2}), int64_t{2}});
  CHECK(b.take_error().code == Code::invalid_argument);
}

}  // namespace
}  // namespace tp::testing
