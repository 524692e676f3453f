#include <doctest/doctest.h>

#include "evaluate.h"
#include "lowered.h"

namespace tp::testing {
namespace {

TEST_CASE("cat promotes its parts and leaves out old empty tensors") {
  Values parts{leaf(Dtype::f32, {2}), leaf(Dtype::bf16, {3}), leaf(Dtype::f32, {0})};
  CHECK(lowered("aten::cat", {parts, int64_t{0}}) ==
        "%3 = convert %1 : f32[3]\n"
        "%4 = concatenate %0, %3, dim 0 : f32[5]\n");
  Values with_empty{leaf(Dtype::f32, {0}), leaf(Dtype::f32, {2, 3})};
  CHECK(lower_types("aten::cat", {with_empty, int64_t{1}}) == std::vector<std::string>{"f32[2,3]"});
}

TEST_CASE("cat refuses what it cannot join") {
  Value x = leaf(Dtype::f32, {2, 3});
  CHECK(lower_error("aten::cat", {Values{}, int64_t{0}}).code == Code::value);
  CHECK(lower_error("aten::cat", {Values{x, leaf(Dtype::f32, {})}, int64_t{0}}).code == Code::invalid_argument);
  CHECK(lower_error("aten::cat", {Values{x, leaf(Dtype::f32, {2})}, int64_t{0}}).code == Code::invalid_argument);
  CHECK(lower_error("aten::cat", {Values{x, leaf(Dtype::f32, {2, 4})}, int64_t{0}}).code == Code::invalid_argument);
  CHECK(lower_error("aten::cat", {Values{x, x}, int64_t{2}}).code == Code::index);
}

TEST_CASE("stack makes a dimension") {
  Build b;
  Value x = list(b, Dtype::f32, {1, 2}), y = list(b, Dtype::f32, {3, 4});
  Value z = lower1(b, "aten::stack", {Values{x, y}, int64_t{-1}});
  CHECK(evaluate(z) == Numbers{1, 3, 2, 4});
  CHECK(z.dims() == Dims{2, 2});
  CHECK(lower_error("aten::stack", {Values{x, leaf(Dtype::f32, {3})}, int64_t{0}}).code == Code::invalid_argument);
}

TEST_CASE("flip and roll") {
  Build b;
  Value x = list(b, Dtype::f32, {1, 2, 3, 4, 5, 6}, {2, 3});
  CHECK(evaluate(lower1(b, "aten::flip", {x, Dims{-1}})) == Numbers{3, 2, 1, 6, 5, 4});
  CHECK(evaluate(lower1(b, "aten::roll", {x, Dims{1}, Dims{1}})) == Numbers{3, 1, 2, 6, 4, 5});
  CHECK(evaluate(lower1(b, "aten::roll", {x, Dims{-2}, Dims{}})) == Numbers{3, 4, 5, 6, 1, 2});
  CHECK(evaluate(lower1(b, "aten::roll", {x, Dims{4, 1}, Dims{1, 0}})) == Numbers{6, 4, 5, 3, 1, 2});
  CHECK(lower_error("aten::roll", {x, Dims{1, 1}, Dims{0}}).code == Code::invalid_argument);
  CHECK(lower_error("aten::roll", {leaf(Dtype::f32, {}), Dims{1}, Dims{0}}).code == Code::index);
}

TEST_CASE("repeat goes from the last dimension outwards") {
  Build b;
  Value x = list(b, Dtype::f32, {1, 2});
  CHECK(evaluate(lower1(b, "aten::repeat", {x, Dims{2, 2}})) == Numbers{1, 2, 1, 2, 1, 2, 1, 2});
  CHECK(lower1(b, "aten::repeat", {x, Dims{3, 0}}).dims() == Dims{3, 0});
  CHECK(lower_error("aten::repeat", {leaf(Dtype::f32, {2, 2}), Dims{2}}).code == Code::invalid_argument);
}

}  // namespace
}  // namespace tp::testing
