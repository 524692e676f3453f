#include <doctest/doctest.h>

#include "evaluate.h"

namespace tp::testing {
namespace {

Value zeros(Build& b, const Dims& dims) { return b.constant(Dtype::f32, 0.0, dims); }
Value at(Build& b, const Numbers& numbers) { return list(b, Dtype::s64, numbers); }
Value f32(Build& b, const Numbers& numbers) { return list(b, Dtype::f32, numbers); }

bool has_op(const Value& value, Op op) {
  if (value->op == op) return true;
  for (const Value& input : value->inputs) {
    if (has_op(input, op)) return true;
  }
  return false;
}

TEST_CASE("scatter writes a corner of a larger value") {
  Build b;
  Value index = list(b, Dtype::s64, {2, 1}, {1, 2});
  Value src = list(b, Dtype::f32, {5, 6, 7}, {1, 3});
  Value y = lower1(b, "aten::scatter.src", {zeros(b, {3, 3}), int64_t{0}, index, src});
  CHECK(evaluate(y) == Numbers{0, 0, 0, 0, 6, 0, 5, 0, 0});
  CHECK_FALSE(checks_fire(b));
}

TEST_CASE("scatter_add adds repeated indices in f32 for bf16") {
  Build b;
  Value one = b.constant(Dtype::bf16, 256.0, {1});
  Value y = lower1(b, "aten::scatter_add", {one, int64_t{0}, at(b, {0, 0}), list(b, Dtype::bf16, {1, 1})});
  CHECK(y.dtype() == Dtype::bf16);
  CHECK(evaluate(y) == Numbers{258});  // step by step in bf16 it would stay 256
}

TEST_CASE("scatter_reduce with and without the old value") {
  auto reduce = [](std::string_view kind, bool self) {
    Build b;
    return evaluate(lower1(b, "aten::scatter_reduce.two",
                           {f32(b, {10, 20, 30}), int64_t{0}, at(b, {0, 0, 1}), f32(b, {2, 4, 5}), kind, self}));
  };
  CHECK(reduce("sum", true) == Numbers{16, 25, 30});
  CHECK(reduce("sum", false) == Numbers{6, 5, 30});
  CHECK(reduce("prod", false) == Numbers{8, 5, 30});
  CHECK(reduce("mean", false) == Numbers{3, 5, 30});
  CHECK(reduce("amax", true) == Numbers{10, 20, 30});
  CHECK(reduce("amin", false) == Numbers{2, 5, 30});
}

TEST_CASE("an integer mean rounds down") {
  Build b;
  Value x = list(b, Dtype::s64, {0});
  Value y = lower1(b, "aten::scatter_reduce.two",
                   {x, int64_t{0}, at(b, {0, 0}), list(b, Dtype::s64, {-3, -4}), std::string_view("mean"), false});
  CHECK(evaluate(y) == Numbers{-4});
}

TEST_CASE("an unknown reduction is an error") {
  Build b;
  lower(b, "aten::scatter_reduce.two",
        {zeros(b, {1}), int64_t{0}, at(b, {0}), zeros(b, {1}), std::string_view("median"), true});
  CHECK(b.take_error().code == Code::invalid_argument);
}

TEST_CASE("index_copy of consecutive rows updates a slice, others scatter") {
  Build b;
  Value x = zeros(b, {4, 2}), rows = list(b, Dtype::f32, {1, 2, 3, 4}, {2, 2});
  Value start = b.slice_dim(at(b, {1, 9}), 0, 0, 1);
  Value ramp = b.add(b.iota(Dtype::s64, {2}, 0), start);
  Value together = lower1(b, "aten::index_copy", {x, int64_t{0}, ramp, rows});
  CHECK(has_op(together, Op::dynamic_update_slice));
  CHECK(evaluate(together) == Numbers{0, 0, 1, 2, 3, 4, 0, 0});
  Value apart = lower1(b, "aten::index_copy", {x, int64_t{0}, at(b, {3, 0}), rows});
  CHECK_FALSE(has_op(apart, Op::dynamic_update_slice));
  CHECK(evaluate(apart) == Numbers{3, 4, 0, 0, 0, 0, 1, 2});
  CHECK_FALSE(checks_fire(b));
}

TEST_CASE("index_copy outside the value sets the check") {
  Build b;
  lower(b, "aten::index_copy", {zeros(b, {4}), int64_t{0}, at(b, {0, 4}), zeros(b, {2})});
  CHECK(checks_fire(b));
}

TEST_CASE("index_add scales by alpha") {
  Build b;
  Value y = lower1(b, "aten::index_add", {zeros(b, {3}), int64_t{0}, at(b, {1, 1}), f32(b, {1, 2}), Scalar::of(2.0)});
  CHECK(evaluate(y) == Numbers{0, 6, 0});
}

TEST_CASE("index_fill wraps negative numbers") {
  Build b;
  Value y = lower1(b, "aten::index_fill.int_Scalar", {zeros(b, {3}), int64_t{0}, at(b, {-1}), Scalar::of(9.0)});
  CHECK(evaluate(y) == Numbers{0, 0, 9});
}

TEST_CASE("the gradient of embedding leaves padding out and divides by frequency") {
  Build b;
  Value grad = list(b, Dtype::f32, {1, 2, 3, 4}, {4, 1});
  auto table = [&](int64_t padding, bool scale) {
    return evaluate(
        lower1(b, "aten::embedding_dense_backward", {grad, at(b, {0, 0, 2, 1}), int64_t{3}, padding, scale}));
  };
  CHECK(table(-1, false) == Numbers{3, 4, 3});
  CHECK(table(2, false) == Numbers{3, 4, 0});
  CHECK(table(-1, true) == Numbers{1.5, 4, 3});
}

TEST_CASE("masked_scatter hands out the source in order") {
  Build b;
  Value mask = b.convert(list(b, Dtype::s32, {1, 0, 1}), Dtype::pred);
  Value y = lower1(b, "aten::masked_scatter", {zeros(b, {3}), mask, f32(b, {7, 8, 9})});
  CHECK(evaluate(y) == Numbers{7, 0, 8});
  CHECK_FALSE(checks_fire(b));
  Build poor;
  Value many = poor.constant(Dtype::pred, Scalar::of(true), {3});
  lower(poor, "aten::masked_scatter", {zeros(poor, {3}), many, f32(poor, {1, 2})});
  CHECK(checks_fire(poor));
}

TEST_CASE("put adds or replaces at flat indices") {
  Build b;
  CHECK(evaluate(lower1(b, "aten::put", {zeros(b, {2, 2}), at(b, {-1, 0}), f32(b, {1, 2}), false})) ==
        Numbers{2, 0, 0, 1});
  CHECK(evaluate(lower1(b, "aten::put", {zeros(b, {2, 2}), at(b, {1, 1}), f32(b, {1, 2}), true})) ==
        Numbers{0, 3, 0, 0});
}

TEST_CASE("the gradients of slice and select are the gradient among zeros") {
  Build b;
  Value grad = f32(b, {1, 2});
  CHECK(evaluate(lower1(b, "aten::slice_backward", {grad, Dims{6}, int64_t{0}, int64_t{1}, int64_t{5}, int64_t{2}})) ==
        Numbers{0, 1, 0, 2, 0, 0});
  CHECK(evaluate(lower1(b, "aten::select_backward", {grad, Dims{3, 2}, int64_t{0}, int64_t{-1}})) ==
        Numbers{0, 0, 0, 0, 1, 2});
}

}  // namespace
}  // namespace tp::testing
