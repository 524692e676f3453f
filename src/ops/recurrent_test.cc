#include <doctest/doctest.h>

#include <cmath>

#include "evaluate.h"
#include "lowered.h"

namespace tp::testing {
namespace {

double logistic(double x) { return 1 / (1 + std::exp(-x)); }

void check_close(const Numbers& got, const Numbers& expected) {
  REQUIRE(got.size() == expected.size());
  for (size_t i = 0; i < got.size(); ++i) CHECK(got[i] == doctest::Approx(expected[i]).epsilon(1e-9));
}

// One row, hidden size 1.
Value row(Build& b, const Numbers& numbers) {
  return list(b, Dtype::f64, numbers, {1, static_cast<int64_t>(numbers.size())});
}

TEST_CASE("an lstm cell forgets, adds and shows") {
  Build b;
  Value gates = row(b, {0.3, -0.2, 0.7, 1.1}), zero = row(b, {0, 0, 0, 0}), cx = row(b, {0.5});
  Values y = lower(b, "aten::_thnn_fused_lstm_cell", {gates, zero, cx, None{}, None{}});
  double i = logistic(0.3), f = logistic(-0.2), g = std::tanh(0.7), o = logistic(1.1), c = f * 0.5 + i * g;
  check_close(evaluate(y[0]), {o * std::tanh(c)});
  check_close(evaluate(y[1]), {c});
  check_close(evaluate(y[2]), {i, f, g, o});
  Value one = row(b, {1});
  Values d = lower(b, "aten::_thnn_fused_lstm_cell_backward_impl", {one, None{}, cx, y[1], y[2], true});
  double through = o * (1 - std::tanh(c) * std::tanh(c));
  Numbers gradient = {through * g * i * (1 - i), through * 0.5 * f * (1 - f), through * i * (1 - g * g),
                      std::tanh(c) * o * (1 - o)};
  check_close(evaluate(d[0]), gradient);
  check_close(evaluate(d[1]), {through * f});
  check_close(evaluate(d[2]), gradient);
}

TEST_CASE("a gru cell mixes the old state with the new") {
  Build b;
  Value input = row(b, {0.3, -0.2, 0.7}), hidden = row(b, {0.1, 0.4, -0.6}), hx = row(b, {0.5});
  Values y = lower(b, "aten::_thnn_fused_gru_cell", {input, hidden, hx, None{}, None{}});
  double r = logistic(0.4), z = logistic(0.2), n = std::tanh(0.7 + r * -0.6);
  check_close(evaluate(y[0]), {n + z * (0.5 - n)});
  check_close(evaluate(y[1]), {r, z, n, 0.5, -0.6});
  Values d = lower(b, "aten::_thnn_fused_gru_cell_backward", {row(b, {1}), y[1], false});
  double gn = (1 - z) * (1 - n * n), gz = (0.5 - n) * z * (1 - z), gr = gn * -0.6 * r * (1 - r);
  check_close(evaluate(d[0]), {gr, gz, gn});
  check_close(evaluate(d[1]), {gr, gz, gn * r});
  check_close(evaluate(d[2]), {z});
  CHECK(!d[3]);
}

TEST_CASE("gates of another size than the state are refused") {
  Value gates = leaf(Dtype::f32, {2, 8}), state = leaf(Dtype::f32, {2, 3});
  CHECK(lower_error("aten::_thnn_fused_lstm_cell", {gates, gates, state, None{}, None{}}).code ==
        Code::invalid_argument);
}

}  // namespace
}  // namespace tp::testing
