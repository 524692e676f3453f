#include <doctest/doctest.h>

#include "evaluate.h"

namespace tp::testing {
namespace {

constexpr int64_t kUnscaled = 0, kByCount = 2;

void check_near(const Numbers& got, const Numbers& expected) {
  REQUIRE(got.size() == expected.size());
  for (size_t i = 0; i < got.size(); ++i) CHECK(got[i] + 1 == doctest::Approx(expected[i] + 1).epsilon(1e-5));
}

TEST_CASE("a real signal's transform is its first half, or all of it") {
  Build b;
  Value x = list(b, Dtype::f32, {1, 2, 3, 4});
  Value half = lower1(b, "aten::_fft_r2c", {x, Dims{0}, kUnscaled, true});
  CHECK(half.type() == Type{Dtype::c64, {3}});
  check_near(evaluate(b.real(half)), {10, -2, -2});
  check_near(evaluate(b.imag(half)), {0, 2, 0});
  Value full = lower1(b, "aten::_fft_r2c", {x, Dims{0}, kByCount, false});
  check_near(evaluate(b.real(full)), {2.5, -0.5, -0.5, -0.5});
  check_near(evaluate(b.imag(full)), {0, 0.5, 0, -0.5});
}

TEST_CASE("back and forth is the signal, over any dimensions") {
  Build b;
  Value x = b.reshape(b.iota(Dtype::f32, {30}, 0), {2, 3, 5});
  Value half = lower1(b, "aten::_fft_r2c", {x, Dims{0, 1}, kUnscaled, true});
  CHECK(half.dims() == Dims{2, 2, 5});
  Value back = lower1(b, "aten::_fft_c2r", {half, Dims{0, 1}, kByCount, int64_t{3}});
  check_near(evaluate(back), evaluate(x));
}

TEST_CASE("four dimensions go in groups") {
  Build b;
  Value re = b.reshape(b.iota(Dtype::f64, {24}, 0), {2, 3, 2, 2}), x = b.complex(re, b.like(re, 1));
  Value there = lower1(b, "aten::_fft_c2c", {x, Dims{0, 1, 2, 3}, kUnscaled, true});
  check_near({evaluate(b.real(there))[0], evaluate(b.imag(there))[0]}, {276, 24});
  Value back = lower1(b, "aten::_fft_c2c", {there, Dims{0, 1, 2, 3}, kByCount, false});
  check_near(evaluate(b.real(back)), evaluate(re));
}

}  // namespace
}  // namespace tp::testing
