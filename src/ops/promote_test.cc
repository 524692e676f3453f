#include "ops/promote.h"

#include <doctest/doctest.h>

#include "evaluate.h"
#include "lowered.h"

namespace tp::testing {
namespace {

Dtype of(Dtype a, int rank_a, Dtype b, int rank_b) {
  return result_type(leaf(a, Dims(rank_a, 2)), leaf(b, Dims(rank_b, 2)));
}

TEST_CASE("tensors with dimensions outrank 0-d ones of their category") {
  CHECK(of(Dtype::bf16, 1, Dtype::f64, 0) == Dtype::bf16);
  CHECK(of(Dtype::s8, 1, Dtype::s64, 0) == Dtype::s8);
  CHECK(of(Dtype::bf16, 1, Dtype::f64, 1) == Dtype::f64);
  CHECK(of(Dtype::bf16, 0, Dtype::f32, 0) == Dtype::f32);
}

TEST_CASE("a higher category wins from any rank") {
  CHECK(of(Dtype::s64, 1, Dtype::bf16, 0) == Dtype::bf16);
  CHECK(of(Dtype::pred, 1, Dtype::u8, 0) == Dtype::u8);
  CHECK(of(Dtype::f32, 1, Dtype::c64, 0) == Dtype::c64);
}

TEST_CASE("dtypes of one rank promote as c10::promoteTypes does") {
  CHECK(of(Dtype::f16, 1, Dtype::bf16, 1) == Dtype::f32);
  CHECK(of(Dtype::u8, 1, Dtype::s8, 1) == Dtype::s16);
  CHECK(of(Dtype::s64, 1, Dtype::f16, 1) == Dtype::f16);
}

TEST_CASE("a Python number gives its category only") {
  CHECK(result_type(leaf(Dtype::bf16, {2}), Scalar::of(0.5)) == Dtype::bf16);
  CHECK(result_type(leaf(Dtype::bf16, {}), Scalar::of(0.5)) == Dtype::bf16);
  CHECK(result_type(leaf(Dtype::s32, {2}), Scalar::of(int64_t{1} << 40)) == Dtype::s32);
  CHECK(result_type(leaf(Dtype::pred, {2}), Scalar::of(int64_t{1})) == Dtype::s64);
  CHECK(result_type(leaf(Dtype::s32, {2}), Scalar::of(0.5)) == Dtype::f32);
  CHECK(result_type(leaf(Dtype::f64, {2}), Scalar::of(std::complex<double>(0, 1))) == Dtype::c128);
}

TEST_CASE("integers become the default dtype") {
  Build b;
  CHECK(to_floating(b, leaf(Dtype::s64, {2})).dtype() == Dtype::f32);
  set_default_dtype(Dtype::f64);
  CHECK(to_floating(b, leaf(Dtype::pred, {2})).dtype() == Dtype::f64);
  CHECK(result_type(leaf(Dtype::s32, {2}), Scalar::of(0.5)) == Dtype::f64);
  set_default_dtype(Dtype::f32);
  CHECK(to_floating(b, leaf(Dtype::bf16, {2})).dtype() == Dtype::bf16);
}

TEST_CASE("a division by one number rounds once") {
  Build b;
  Value x = list(b, Dtype::f32, {5, 7, 11, 13, 17, 19, 23, 29});
  Numbers q = evaluate(divided(b, x, b.constant(Dtype::f32, 3.3)));
  const float at[] = {5, 7, 11, 13, 17, 19, 23, 29};
  for (size_t i = 0; i < q.size(); ++i) CHECK(q[i] == at[i] / 3.3f);
}

}  // namespace
}  // namespace tp::testing
