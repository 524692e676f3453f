#include <doctest/doctest.h>

#include <cmath>

#include "evaluate.h"

namespace tp::testing {
namespace {

TEST_CASE("gradients are unscaled, and an infinity or NaN in any of them is found") {
  Build b;
  Value none = b.constant(Dtype::f32, 0.0, {1}), quarter = b.constant(Dtype::f32, 0.25, {1});
  const char* op = "aten::_amp_foreach_non_finite_check_and_unscale_";
  Values fine = {list(b, Dtype::f32, {4, -8}), list(b, Dtype::f16, {2})};
  CHECK(evaluate(lower(b, op, {fine, none, quarter})) == std::vector<Numbers>{{1, -2}, {0.5}, {0}});
  for (double bad : {std::nan(""), double(INFINITY), -double(INFINITY)}) {
    Values grads = {list(b, Dtype::f32, {4}), list(b, Dtype::f16, {2, bad})};
    CHECK(evaluate(lower(b, op, {grads, none, quarter}))[2] == Numbers{1});
  }
  Value before = b.constant(Dtype::f32, 1.0, {1});
  CHECK(evaluate(lower(b, op, {fine, before, quarter}))[2] == Numbers{1});
}

TEST_CASE("the scale backs off after an overflow and grows after enough good steps") {
  Build b;
  auto next = [&](double scale, double tracker, double found) {
    return evaluate(lower(b, "aten::_amp_update_scale_",
                          {list(b, Dtype::f32, {scale}), list(b, Dtype::s32, {tracker}), list(b, Dtype::f32, {found}),
                           2.0, 0.5, int64_t{3}}));
  };
  CHECK(next(8, 0, 0) == std::vector<Numbers>{{8}, {1}});
  CHECK(next(8, 2, 0) == std::vector<Numbers>{{16}, {0}});
  CHECK(next(8, 2, 1) == std::vector<Numbers>{{4}, {0}});
  CHECK(next(3e38, 2, 0) == std::vector<Numbers>{{double(3e38f)}, {0}});
}

}  // namespace
}  // namespace tp::testing
