#include "rewrite/attention.h"

#include <doctest/doctest.h>

#include <cmath>
#include <limits>

#include "evaluate.h"

namespace tp::testing {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();

// Fixed numbers in (-1, 1), different for each `phase`.
Value wave(Build& b, const Dims& dims, double phase, Dtype dtype = Dtype::f32) {
  Value x = b.sine(b.add(b.mul(b.iota(Dtype::f64, {numel(dims)}, 0), 1.7), phase));
  return b.convert(b.reshape(x, dims), dtype);
}

const Target kCpu{"cpu", "", 0};

struct Case {
  int64_t batch = 2, heads = 4, key_heads = 2, rows = 3, columns = 5, depth = 8, value_depth = 6;
  bool causal = false;
  double scale = 0.3;
};

struct Operands {
  Value q, k, v, grad;
};

Operands operands(Build& b, const Case& c, Dtype dtype = Dtype::f32) {
  return {wave(b, {c.batch, c.heads, c.rows, c.depth}, 0.1, dtype),
          wave(b, {c.batch, c.key_heads, c.columns, c.depth}, 0.2, dtype),
          wave(b, {c.batch, c.key_heads, c.columns, c.value_depth}, 0.3, dtype),
          wave(b, {c.batch, c.heads, c.rows, c.value_depth}, 0.4, dtype)};
}

Values forward(Build& b, const Case& c, const Operands& o, std::optional<Value> mask = {}) {
  Values inputs{o.q, o.k, o.v};
  if (mask) inputs.push_back(*mask);
  Dims out{c.batch, c.heads, c.rows, c.value_depth};
  Values piece = b.composite("sdpa", inputs, {Type{o.q.dtype(), out}, Type{Dtype::f32, {out[0], out[1], out[2]}}},
                             Dims{c.causal, mask.has_value(), 0}, Scalar::of(c.scale));
  return expand_sdpa(b, *piece[0]->inputs[0].get(), kCpu);
}

Values backward(Build& b, const Case& c, const Operands& o, const Values& out, std::optional<Value> mask = {}) {
  Values inputs{o.grad, o.q, o.k, o.v, out[0], out[1]};
  std::vector<Type> types{o.q.type(), o.k.type(), o.v.type()};
  if (mask) {
    inputs.push_back(*mask);
    types.push_back(mask->type());
  }
  Values piece = b.composite("sdpa_backward", inputs, types, Dims{c.causal, mask.has_value(), 0, mask.has_value()},
                             Scalar::of(c.scale));
  return expand_sdpa_backward(b, *piece[0]->inputs[0].get(), kCpu);
}

// Plain loops in double. `mask` is [columns], for all rows.
Numbers reference(Build& b, const Case& c, const Operands& o, const Numbers& mask = {}) {
  std::vector<Numbers> in = evaluate({o.q, o.k, o.v});
  Numbers out;
  for (int64_t n = 0; n < c.batch; ++n) {
    for (int64_t h = 0; h < c.heads; ++h) {
      int64_t key_head = n * c.key_heads + h / (c.heads / c.key_heads);
      for (int64_t i = 0; i < c.rows; ++i) {
        Numbers weight(static_cast<size_t>(c.columns));
        double total = 0;
        for (int64_t j = 0; j < c.columns; ++j) {
          double dot = 0;
          for (int64_t d = 0; d < c.depth; ++d) {
            dot +=
                in[0][((n * c.heads + h) * c.rows + i) * c.depth + d] * in[1][(key_head * c.columns + j) * c.depth + d];
          }
          bool hidden = c.causal && j > i;
          weight[j] = hidden ? 0 : std::exp(dot * c.scale + (mask.empty() ? 0 : mask[j]));
          total += weight[j];
        }
        for (int64_t d = 0; d < c.value_depth; ++d) {
          double sum = 0;
          for (int64_t j = 0; j < c.columns; ++j)
            sum += weight[j] * in[2][(key_head * c.columns + j) * c.value_depth + d];
          out.push_back(total > 0 ? sum / total : 0);
        }
      }
    }
  }
  (void)b;
  return out;
}

void check_near(const Numbers& got, const Numbers& expected, double tolerance) {
  REQUIRE(got.size() == expected.size());
  double worst = 0;
  for (size_t i = 0; i < got.size(); ++i) worst = std::max(worst, std::abs(got[i] - expected[i]));
  CHECK(worst < tolerance);
}

TEST_CASE("grouped heads, causal or not, match plain loops") {
  for (bool causal : {false, true}) {
    for (int64_t key_heads : {1, 2, 4}) {
      Build b;
      Case c{.key_heads = key_heads, .causal = causal};
      Operands o = operands(b, c);
      check_near(evaluate(forward(b, c, o)[0]), reference(b, c, o), 1e-5);
    }
  }
}

TEST_CASE("bf16 keeps its scores in f32") {
  Build b;
  Case c{.depth = 64};
  Operands o = operands(b, c, Dtype::bf16);
  Value out = forward(b, c, o)[0];
  CHECK(out.dtype() == Dtype::bf16);
  check_near(evaluate(out), reference(b, c, o), 0.01);
}

TEST_CASE("a mask is added, and a row that sees nothing gives zeros") {
  Build b;
  Case c;
  Operands o = operands(b, c);
  Numbers numbers{0, -kInf, 0.5, 0, -kInf};
  Value mask = list(b, Dtype::f32, numbers, {1, 1, 1, 5});
  check_near(evaluate(forward(b, c, o, mask)[0]), reference(b, c, o, numbers), 1e-5);
  Values blind = forward(b, c, o, b.lowest(Dtype::f32, {1, 1, 1, 5}));
  CHECK(evaluate(blind[0]) == Numbers(static_cast<size_t>(numel(blind[0].dims())), 0.0));
  CHECK(evaluate(blind[1]) == Numbers(static_cast<size_t>(numel(blind[1].dims())), 0.0));
}

TEST_CASE("no product repeats the keys' heads") {
  Build b;
  Case c{.heads = 8, .key_heads = 1};
  Values out = forward(b, c, operands(b, c));
  auto largest = [](auto&& self, const Node& node) -> int64_t {
    int64_t size = node.op == Op::dot_general ? numel(node.inputs[1].dims()) : 0;
    for (const Value& input : node.inputs) size = std::max(size, self(self, *input.get()));
    return size;
  };
  CHECK(largest(largest, *out[0].get()) == c.batch * c.columns * c.depth);
}

// Sum of out * grad, whose gradients the backward pass gives.
double loss(Build& b, const Case& c, const Operands& o, std::optional<Value> mask) {
  Value product = b.mul(b.convert(forward(b, c, o, mask)[0], Dtype::f64), b.convert(o.grad, Dtype::f64));
  return evaluate(b.sum(product, {0, 1, 2, 3}))[0];
}

TEST_CASE("the backward pass matches finite differences") {
  for (bool causal : {false, true}) {
    Build b;
    Case c{.batch = 1, .causal = causal};
    Operands o = operands(b, c, Dtype::f64);
    Value mask = wave(b, {1, 4, 1, 5}, 0.5, Dtype::f64);
    std::vector<Numbers> grads = evaluate(backward(b, c, o, forward(b, c, o, mask), mask));
    constexpr double kStep = 1e-5;
    auto probe = [&](Value& x, const Numbers& grad, int64_t at) {
      Value bump = b.mul(
          b.convert(b.compare(Direction::eq, b.iota(Dtype::s64, {numel(x.dims())}, 0), double(at)), Dtype::f64), kStep);
      Value before = x;
      x = b.add(before, b.reshape(bump, x.dims()));
      double up = loss(b, c, o, mask);
      x = b.sub(before, b.reshape(bump, x.dims()));
      double down = loss(b, c, o, mask);
      x = before;
      CHECK(grad[static_cast<size_t>(at)] == doctest::Approx((up - down) / (2 * kStep)).epsilon(1e-3));
    };
    probe(o.q, grads[0], 13);
    probe(o.k, grads[1], 9);
    probe(o.v, grads[2], 7);
    probe(mask, grads[3], 6);
  }
}

}  // namespace
}  // namespace tp::testing
