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

TEST_CASE("polygamma is right below zero too") {
  Build b;
  Numbers y = evaluate(lower1(b, "aten::polygamma", {int64_t{1}, list(b, Dtype::f64, {1, 0.5, -8.3})}));
  CHECK(y[0] == doctest::Approx(1.6449340668482264));
  CHECK(y[1] == doctest::Approx(4.934802200544679));
  CHECK(y[2] == doctest::Approx(14.965899076338092).epsilon(1e-9));
  Numbers second = evaluate(lower1(b, "aten::polygamma", {int64_t{2}, list(b, Dtype::f64, {1, -0.5, -2})}));
  CHECK(second[0] == doctest::Approx(-2.404113806319188));  // -2 zeta(3)
  CHECK(second[1] == doctest::Approx(-0.8287966442343199));
  CHECK(second[2] == -INFINITY);
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

TEST_CASE("zeta sums from a positive or a negative start") {
  Build b;
  Value x = list(b, Dtype::f64, {2, 3, 3, 1, 2.5, 2}), q = list(b, Dtype::f64, {1, 0.5, -7.2, 1, -0.5, -40.5});
  Numbers z = evaluate(lower1(b, "aten::special_zeta", {x, q}));
  CHECK(z[0] == doctest::Approx(1.6449340668482264));
  CHECK(z[1] == doctest::Approx(8.4143983221171));
  CHECK(z[2] == doctest::Approx(-123.52).epsilon(1e-4));
  CHECK(z[3] == INFINITY);
  CHECK(std::isnan(z[4]));  // a broken power of a negative number
  CHECK(std::isnan(z[5]));  // too far below zero
}

TEST_CASE("the normal distribution's tails") {
  Build b;
  Numbers scaled = evaluate(lower1(b, "aten::special_erfcx", {list(b, Dtype::f64, {0, 9.999, 10, 100, -2})}));
  CHECK(scaled[0] == doctest::Approx(1));
  CHECK(scaled[1] == doctest::Approx(0.05614622).epsilon(1e-6));
  CHECK(scaled[2] == doctest::Approx(0.05614099274382259).epsilon(1e-9));
  CHECK(scaled[3] == doctest::Approx(0.005641613782989433).epsilon(1e-9));
  CHECK(scaled[4] == doctest::Approx(108.9409043899779).epsilon(1e-9));
  Numbers logs = evaluate(lower1(b, "aten::special_log_ndtr", {list(b, Dtype::f64, {0, -30, 8})}));
  CHECK(logs[0] == doctest::Approx(-0.6931471805599453));
  CHECK(logs[1] == doctest::Approx(-454.3212439955894).epsilon(1e-9));
  CHECK(logs[2] == doctest::Approx(-6.220960574271786e-16).epsilon(1e-6));
  Numbers p = evaluate(lower1(b, "aten::special_ndtri", {list(b, Dtype::f64, {0.5, 0.975, 1e-20, 0, 1, 2})}));
  CHECK(p[0] == doctest::Approx(0));
  CHECK(p[1] == doctest::Approx(1.959963984540054).epsilon(1e-12));
  CHECK(p[2] == doctest::Approx(-9.262340089798408).epsilon(1e-9));
  CHECK(p[3] == -INFINITY);
  CHECK(p[4] == INFINITY);
  CHECK(std::isnan(p[5]));
}

TEST_CASE("Chebyshev polynomials inside, at and beyond the interval") {
  Build b;
  Value x = list(b, Dtype::f64, {0.5, -0.5, 1, -1, 2, -2}), n = b.constant(Dtype::s64, 3.0);
  auto values = [&](const char* kind) { return evaluate(lower1(b, kind, {x, n})); };
  Numbers t = values("aten::special_chebyshev_polynomial_t"), u = values("aten::special_chebyshev_polynomial_u"),
          v = values("aten::special_chebyshev_polynomial_v"), w = values("aten::special_chebyshev_polynomial_w");
  for (size_t i = 0; i < 6; ++i) {
    double at = Numbers{0.5, -0.5, 1, -1, 2, -2}[i];
    CHECK(t[i] == doctest::Approx(4 * at * at * at - 3 * at));
    CHECK(u[i] == doctest::Approx(8 * at * at * at - 4 * at).epsilon(1e-9));
    CHECK(v[i] == doctest::Approx(8 * at * at * at - 4 * at * at - 4 * at + 1));
    CHECK(w[i] == doctest::Approx(8 * at * at * at + 4 * at * at - 4 * at - 1));
  }
}

}  // namespace
}  // namespace tp::testing
