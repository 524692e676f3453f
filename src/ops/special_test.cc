#include <doctest/doctest.h>

#include <cmath>

#include "evaluate.h"
#include "lowered.h"

namespace tp::testing {
namespace {

Numbers run(const char* name, const Numbers& x, Dtype dtype = Dtype::f64) {
  Build b;
  return evaluate(lower1(b, name, {list(b, dtype, x)}));
}

TEST_CASE("Bessel functions agree with their series, and with C++ where the argument is large") {
  for (double x : {0.0, 0.5, 3.0, 7.9, 8.1, 30.0, 600.0}) {
    CAPTURE(x);
    CHECK(run("aten::i0", {x})[0] == doctest::Approx(std::cyl_bessel_i(0.0, x)).epsilon(1e-12));
    CHECK(run("aten::special_i0e", {x})[0] == doctest::Approx(std::cyl_bessel_i(0.0, x) * std::exp(-x)).epsilon(1e-12));
    CHECK(run("aten::special_i1", {x})[0] == doctest::Approx(std::cyl_bessel_i(1.0, x)).epsilon(1e-12));
  }
  CHECK(run("aten::special_i1e", {-3})[0] == -run("aten::special_i1e", {3})[0]);
}

TEST_CASE("trigamma is right below zero too, higher orders go elsewhere") {
  Build b;
  Numbers y = evaluate(lower1(b, "aten::polygamma", {int64_t{1}, list(b, Dtype::f64, {1, 0.5, -8.3})}));
  CHECK(y[0] == doctest::Approx(1.6449340668482264));
  CHECK(y[1] == doctest::Approx(4.934802200544679));
  CHECK(y[2] == doctest::Approx(14.965899076338092).epsilon(1e-9));
  CHECK(lower_error("aten::polygamma", {int64_t{2}, leaf(Dtype::f32, {2})}).code == Code::declined);
  CHECK(lower_error("aten::polygamma", {int64_t{-1}, leaf(Dtype::f32, {2})}).code == Code::invalid_argument);
}

TEST_CASE("entr, xlog1py and logit at their edges") {
  Numbers e = run("aten::special_entr", {-1, 0, 1, NAN});
  CHECK(Numbers(e.begin(), e.begin() + 3) == Numbers{-INFINITY, 0, 0});
  CHECK(std::isnan(e[3]));
  Build b;
  Value x = list(b, Dtype::f64, {0, 2}), y = list(b, Dtype::f64, {-1, 0});
  CHECK(evaluate(lower1(b, "aten::special_xlog1py", {x, y})) == Numbers{0, 0});
  Value p = list(b, Dtype::f64, {0, 0.5, 1});
  CHECK(evaluate(lower1(b, "aten::logit", {p, None{}})) == Numbers{-INFINITY, 0, INFINITY});
  CHECK(evaluate(lower1(b, "aten::logit", {p, 0.25}))[2] == doctest::Approx(std::log(3.0)));
  Value grad = b.constant(Dtype::f64, 1.0, {3});
  CHECK(evaluate(lower1(b, "aten::logit_backward", {grad, p, 0.25})) == Numbers{0, 4, 0});
}

TEST_CASE("the next number up and down") {
  Build b;
  Value x = list(b, Dtype::f32, {1, 1}), to = list(b, Dtype::f32, {2, 0});
  CHECK(evaluate(lower1(b, "aten::nextafter", {x, to})) ==
        Numbers{std::nextafter(1.0f, 2.0f), std::nextafter(1.0f, 0.0f)});
}

TEST_CASE("logaddexp2 does not overflow") {
  Build b;
  Value x = list(b, Dtype::f32, {2000, INFINITY});
  CHECK(evaluate(lower1(b, "aten::logaddexp2", {x, x})) == Numbers{2001, INFINITY});
}

}  // namespace
}  // namespace tp::testing
