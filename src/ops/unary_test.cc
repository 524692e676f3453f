#include <doctest/doctest.h>

#include <cmath>
#include <numbers>

#include "evaluate.h"
#include "lowered.h"

namespace tp::testing {
namespace {

Numbers run(const char* name, const Numbers& x, Dtype dtype = Dtype::f32) {
  Build b;
  return evaluate(lower1(b, name, {list(b, dtype, x)}));
}

TEST_CASE("halves compute in f32, integers become the default dtype") {
  CHECK(lowered("aten::exp", {leaf(Dtype::bf16, {2})}) ==
        "%1 = convert %0 : f32[2]\n"
        "%2 = exponential %1 : f32[2]\n"
        "%3 = convert %2 : bf16[2]\n");
  CHECK(lowered("aten::sin", {leaf(Dtype::s64, {2})}) ==
        "%1 = convert %0 : f32[2]\n"
        "%2 = sine %1 : f32[2]\n");
}

TEST_CASE("every function agrees with the C library") {
  struct Case {
    const char* name;
    double (*function)(double);
  };
  const Case cases[] = {{"aten::exp", std::exp},       {"aten::expm1", std::expm1}, {"aten::log1p", std::log1p},
                        {"aten::sqrt", std::sqrt},     {"aten::tan", std::tan},     {"aten::asin", std::asin},
                        {"aten::acos", std::acos},     {"aten::atan", std::atan},   {"aten::sinh", std::sinh},
                        {"aten::cosh", std::cosh},     {"aten::tanh", std::tanh},   {"aten::asinh", std::asinh},
                        {"aten::atanh", std::atanh},   {"aten::erf", std::erf},     {"aten::erfc", std::erfc},
                        {"aten::lgamma", std::lgamma}, {"aten::exp2", std::exp2},   {"aten::log2", std::log2}};
  for (const Case& c : cases) {
    CAPTURE(c.name);
    Numbers y = run(c.name, {0.125, 0.5, 0.75});
    CHECK(y[0] == doctest::Approx(c.function(0.125)).epsilon(1e-6));
    CHECK(y[1] == doctest::Approx(c.function(0.5)).epsilon(1e-6));
    CHECK(y[2] == doctest::Approx(c.function(0.75)).epsilon(1e-6));
  }
}

TEST_CASE("logarithms of powers of their base are exact") {
  CHECK(run("aten::log10", {1e-5, 1000, 1e7, 1e8}) == Numbers{-5, 3, 7, 8});
  CHECK(run("aten::log2", {8192, 32768, 1, 0.125}) == Numbers{13, 15, 0, -3});
  CHECK(run("aten::log10", {0})[0] == -INFINITY);
}

TEST_CASE("signs") {
  CHECK(run("aten::sign", {-2, 0, 3, NAN}) == Numbers{-1, 0, 1, 0});
  CHECK(run("aten::signbit", {-2, -0.0, 0, 3}) == Numbers{1, 1, 0, 0});
  CHECK(run("aten::signbit", {-2, 3}, Dtype::s32) == Numbers{1, 0});
  CHECK(lower_error("aten::neg", {leaf(Dtype::pred, {2})}).code == Code::invalid_argument);
}

TEST_CASE("rounding: halves to even, integers stay, a digit count on either side of the point") {
  CHECK(run("aten::round", {0.5, 1.5, -2.5}) == Numbers{0, 2, -2});
  CHECK(run("aten::trunc", {-1.7, 1.7}) == Numbers{-1, 1});
  CHECK(lowered("aten::floor", {leaf(Dtype::s64, {2})}).empty());
  Build b;
  Value x = list(b, Dtype::f64, {2.346, 1234});
  CHECK(evaluate(lower1(b, "aten::round.decimals", {x, int64_t{2}})) == Numbers{2.35, 1234});
  CHECK(evaluate(lower1(b, "aten::round.decimals", {x, int64_t{-2}})) == Numbers{0, 1200});
}

TEST_CASE("infinities and NaN are told apart") {
  CHECK(run("aten::isinf", {INFINITY, -INFINITY, NAN, 1}) == Numbers{1, 1, 0, 0});
  CHECK(run("aten::isposinf", {INFINITY, -INFINITY}) == Numbers{1, 0});
  CHECK(run("aten::isneginf", {INFINITY, -INFINITY}) == Numbers{0, 1});
  CHECK(run("aten::isnan", {INFINITY, NAN}) == Numbers{0, 1});
  CHECK(run("aten::isnan", {1, 2}, Dtype::s32) == Numbers{0, 0});
  Build b;
  Value x = list(b, Dtype::f32, {NAN, INFINITY, -INFINITY, 2});
  CHECK(evaluate(lower1(b, "aten::nan_to_num", {x, 7.0, None{}, -1.0})) == Numbers{7, 3.4028234663852886e38, -1, 2});
}

TEST_CASE("two operands") {
  Build b;
  Value x = list(b, Dtype::f32, {3e30, 0, INFINITY}), y = list(b, Dtype::f32, {4e30, 0, NAN});
  Numbers h = evaluate(lower1(b, "aten::hypot", {x, y}));
  CHECK(h[0] == doctest::Approx(5e30));  // the squares alone would overflow
  CHECK(h[1] == 0);
  Value sign = list(b, Dtype::f32, {-0.0, 1, -1});
  CHECK(evaluate(lower1(b, "aten::copysign.Tensor", {list(b, Dtype::f32, {1, -2, 3}), sign})) == Numbers{-1, 2, -3});
  Value zero = list(b, Dtype::f32, {0, 2}), at = list(b, Dtype::f32, {0, 1});
  CHECK(evaluate(lower1(b, "aten::xlogy.Tensor", {zero, at})) == Numbers{0, 0});
  CHECK(evaluate(lower1(b, "aten::heaviside", {list(b, Dtype::f32, {-1, 0, 2}), b.constant(Dtype::f32, 0.5)})) ==
        Numbers{0, 0.5, 1});
  Numbers sums = evaluate(
      lower1(b, "aten::logaddexp", {list(b, Dtype::f32, {1000, -INFINITY}), list(b, Dtype::f32, {1000, -INFINITY})}));
  CHECK(sums[0] == doctest::Approx(1000 + std::numbers::ln2));
  CHECK(sums[1] == -INFINITY);
  CHECK(lower_error("aten::atan2", {leaf(Dtype::c64, {2}), leaf(Dtype::f32, {2})}).code == Code::unimplemented);
}

TEST_CASE("complex numbers") {
  Value z = leaf(Dtype::c64, {2});
  CHECK(lower_types("aten::abs", {z}) == std::vector<std::string>{"f32[2]"});
  CHECK(lower_types("aten::angle", {z}) == std::vector<std::string>{"f32[2]"});
  CHECK(lower_types("aten::polar", {leaf(Dtype::f64, {2}), leaf(Dtype::f64, {2})}) ==
        std::vector<std::string>{"c128[2]"});
  CHECK(lowered("aten::_conj_physical", {leaf(Dtype::f32, {2})}).empty());
}

}  // namespace
}  // namespace tp::testing
