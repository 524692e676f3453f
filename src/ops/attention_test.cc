#include <doctest/doctest.h>

#include "evaluate.h"

namespace tp::testing {
namespace {

// The numbers are tested with the expansion, in rewrite/attention_test.cc.
constexpr const char* kForward = "aten::_scaled_dot_product_fused_attention_overrideable";

Value ones(Build& b, const Dims& dims, Dtype dtype = Dtype::f32) { return b.constant(dtype, 1.0, dims); }

Values attend(Build& b, const Value& q, const Value& k, const Value& v, Arg mask = None{}, double dropout = 0) {
  return lower(b, kForward, {q, k, v, mask, dropout, false, false, None{}});
}

// The composite under reshapes and projections.
const Node& composite(const Value& value) {
  const Node* node = value.get();
  while (node->op != Op::composite) node = node->inputs[0].get();
  return *node;
}

TEST_CASE("attention stays one node, its key heads not repeated") {
  Build b;
  Values out = attend(b, ones(b, {2, 8, 3, 16}, Dtype::bf16), ones(b, {2, 2, 5, 16}, Dtype::bf16),
                      ones(b, {2, 2, 5, 4}, Dtype::bf16));
  REQUIRE(b.ok());
  const Node& node = composite(out[0]);
  CHECK(node.text == "sdpa");
  CHECK(node.inputs[1].dims() == Dims{2, 2, 5, 16});
  CHECK(node.number.real() == 0.25);
  CHECK(out[0].type() == Type{Dtype::bf16, {2, 8, 3, 4}});
  CHECK(out[1].type() == Type{Dtype::f32, {2, 8, 3}});
  CHECK(out[4]->number.integer() == 3);  // max_q
  CHECK(out[5]->number.integer() == 5);  // max_k
}

TEST_CASE("fewer than four dimensions gain a batch or a head of 1") {
  Build b;
  CHECK(attend(b, ones(b, {8, 3, 16}), ones(b, {8, 5, 16}), ones(b, {8, 5, 4}))[0].dims() == Dims{8, 3, 4});
  Values flat = attend(b, ones(b, {3, 16}), ones(b, {5, 16}), ones(b, {5, 4}), ones(b, {5}));
  CHECK(flat[0].dims() == Dims{3, 4});
  CHECK(composite(flat[0]).inputs[3].dims() == Dims{1, 1, 1, 5});
}

TEST_CASE("operands that do not fit are refused") {
  Build heads, mask;
  attend(heads, ones(heads, {1, 4, 3, 8}), ones(heads, {1, 3, 3, 8}), ones(heads, {1, 3, 3, 8}));
  CHECK(heads.take_error().code == Code::invalid_argument);
  attend(mask, ones(mask, {1, 4, 3, 8}), ones(mask, {1, 4, 5, 8}), ones(mask, {1, 4, 5, 8}), ones(mask, {4}));
  CHECK(mask.take_error().code == Code::invalid_argument);
}

TEST_CASE("the backward pass gives only the gradients asked for") {
  Build b;
  Value q = ones(b, {1, 4, 3, 8}), k = ones(b, {1, 2, 5, 8}), mask = ones(b, {3, 5});
  Values out = attend(b, q, k, k, mask);
  auto grads = [&](std::vector<bool> wanted) {
    return lower(b, "aten::_scaled_dot_product_fused_attention_overrideable_backward",
                 {out[0], q, k, k, mask, wanted, out[0], out[1], None{}, None{}, int64_t{3}, int64_t{5}, 0.0, false,
                  out[6], out[7], None{}});
  };
  Values all = grads({true, true, true, true});
  REQUIRE(b.ok());
  CHECK(all[0].dims() == q.dims());
  CHECK(all[1].dims() == k.dims());
  CHECK(all[3].dims() == mask.dims());
  Values some = grads({true, false, false, false});
  CHECK(some[0]);
  CHECK_FALSE(some[1]);
  CHECK_FALSE(some[3]);
}

}  // namespace
}  // namespace tp::testing
