#include <doctest/doctest.h>

#include "evaluate.h"

namespace tp::testing {
namespace {

constexpr int64_t kBilinear = 0, kNearest = 1, kBicubic = 2;
constexpr int64_t kZeros = 0, kBorder = 1, kReflection = 2;

Value sampled(Build& b, const Numbers& positions, int64_t interpolation, int64_t padding) {
  Value image = b.reshape(b.iota(Dtype::f32, {4}, 0), {1, 1, 2, 2});
  Value grid = list(b, Dtype::f32, positions, {1, 1, static_cast<int64_t>(positions.size() / 2), 2});
  return lower1(b, "aten::grid_sampler_2d", {image, grid, interpolation, padding, true});
}

TEST_CASE("positions outside the image read zeros, the border or a reflection") {
  Build b;
  CHECK(evaluate(sampled(b, {0, 0, -1, -1, 2, 0}, kBilinear, kZeros)) == Numbers{1.5, 0, 1});
  CHECK(evaluate(sampled(b, {0, 0, -1, -1, 2, 0}, kBilinear, kBorder)) == Numbers{1.5, 0, 2});
  CHECK(evaluate(sampled(b, {0.4, 0.4, -1, -1, 1.6, 0}, kNearest, kReflection)) == Numbers{3, 0, 1});
}

TEST_CASE("bicubic sampling is left to PyTorch") {
  Build b;
  CHECK_FALSE(sampled(b, {0, 0}, kBicubic, kZeros));
  CHECK(b.take_error().code == Code::declined);
}

}  // namespace
}  // namespace tp::testing
