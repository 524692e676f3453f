#include "graph/view.h"

#include <doctest/doctest.h>

using tp::Build;
using tp::Dims;
using tp::Dtype;
using tp::Op;
using tp::Value;
using tp::View;

namespace {
Value base(const Dims& dims) { return tp::new_leaf(tp::Type{Dtype::f32, dims}, nullptr); }
}  // namespace

TEST_CASE("a view of the base's own shape is the base") {
  Build b;
  Value x = base({2, 3});
  CHECK(tp::read_view(b, x, {{2, 3}, {3, 1}, 0}) == x);
}

TEST_CASE("a transposed view is one transpose") {
  Build b;
  Value x = base({2, 3});
  Value y = tp::read_view(b, x, {{3, 2}, {1, 3}, 0});
  CHECK(y->op == Op::transpose);
  CHECK(y->inputs[0] == x);
}

TEST_CASE("a row is a slice and a reshape, without flattening the base") {
  Build b;
  Value x = base({4, 8});
  Value y = tp::read_view(b, x, {{8}, {1}, 16});
  CHECK(y.dims() == Dims{8});
  CHECK(y->op == Op::reshape);
  CHECK(y->inputs[0]->op == Op::slice);
  CHECK(y->inputs[0]->inputs[0] == x);
}

TEST_CASE("overlapping strides gather") {
  Build b;
  Value y = tp::read_view(b, base({8}), {{3, 4}, {1, 1}, 0});
  CHECK(y->op == Op::gather);
}

TEST_CASE("an expanded view broadcasts") {
  Build b;
  Value y = tp::read_view(b, base({3}), {{2, 3}, {0, 1}, 0});
  CHECK(y->op == Op::broadcast_in_dim);
  CHECK(y.dims() == Dims{2, 3});
}

TEST_CASE("a view past the storage is an index error") {
  Build b;
  tp::read_view(b, base({4}), {{4}, {1}, 1});
  REQUIRE(!b.ok());
  CHECK(b.take_error().code == tp::Code::index);
}

TEST_CASE("a write of a row updates the base in place") {
  Build b;
  Value x = base({4, 8});
  Value y = tp::write_view(b, x, {{8}, {1}, 16}, b.constant(Dtype::f32, 1.0, {8}));
  CHECK(y->op == Op::dynamic_update_slice);
  CHECK(y.dims() == x.dims());
}

TEST_CASE("full cover finds the memory order") {
  CHECK(*tp::full_cover({{3, 2}, {1, 3}, 0}, 6) == Dims{2, 3});
  CHECK(!tp::full_cover({{3}, {2}, 0}, 6));
}
