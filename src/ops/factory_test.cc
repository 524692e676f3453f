#include <doctest/doctest.h>

#include <cmath>

#include "evaluate.h"
#include "lowered.h"

namespace tp::testing {
namespace {

Scalar n(int64_t v) { return Scalar::of(v); }

std::vector<Arg> made(std::vector<Arg> args, Arg dtype = None{}) {
  args.push_back(dtype);
  for (int i = 0; i < 3; ++i) args.emplace_back(None{});
  return args;
}

Numbers run(const char* name, const std::vector<Arg>& args) {
  Build b;
  return evaluate(lower1(b, name, args));
}

TEST_CASE("a range of integers is i64, of floats the default dtype") {
  CHECK(run("aten::arange.start_step", made({n(1), n(7), n(2)})) == Numbers{1, 3, 5});
  CHECK(run("aten::arange.start_step", made({n(7), n(1), n(-4)})) == Numbers{7, 3});
  CHECK(run("aten::arange", made({n(0)})).empty());
  CHECK(lower_types("aten::arange", made({n(3)})) == std::vector<std::string>{"i64[3]"});
  CHECK(lower_types("aten::arange", made({Scalar::of(2.5)})) == std::vector<std::string>{"f32[3]"});
  CHECK(lower_types("aten::arange.start", made({n(1), n(3)}, Dtype::bf16)) == std::vector<std::string>{"bf16[2]"});
}

TEST_CASE("a range that goes the wrong way, or nowhere, is refused") {
  CHECK(lower_error("aten::arange.start_step", made({n(1), n(3), n(0)})).text == "step must be nonzero");
  CHECK(lower_error("aten::arange.start_step", made({n(1), n(3), n(-1)})).code == Code::invalid_argument);
  CHECK(lower_error("aten::arange", made({Scalar::of(INFINITY)})).code == Code::invalid_argument);
}

TEST_CASE("both ends of a linspace are exact") {
  Numbers y = run("aten::linspace", made({Scalar::of(0.1), Scalar::of(0.7), int64_t{7}}));
  CHECK(y.front() == 0.1f);
  CHECK(y.back() == 0.7f);
  CHECK(run("aten::linspace", made({n(3), n(9), int64_t{1}})) == Numbers{3});
  CHECK(run("aten::linspace", made({n(0), n(10), int64_t{4}}, Dtype::s64)) == Numbers{0, 3, 6, 10});
  CHECK(lower_error("aten::linspace", made({n(0), n(1), int64_t{-1}})).code == Code::invalid_argument);
  CHECK(lower_types("aten::linspace", made({Scalar::of(std::complex<double>(0, 1)), n(1), int64_t{3}})) ==
        std::vector<std::string>{"c64[3]"});
}

TEST_CASE("logspace") {
  Numbers y = run("aten::logspace", made({n(0), n(3), int64_t{4}, 10.0}, Dtype::f64));
  CHECK(y[1] == doctest::Approx(10));
  CHECK(y[3] == doctest::Approx(1000));
  CHECK(run("aten::logspace", made({n(2), Scalar::of(1.2), int64_t{2}, 10.0}, Dtype::s64)) == Numbers{100, 10});
}

TEST_CASE("full takes its dtype from the number") {
  CHECK(lower_types("aten::full", made({Dims{2}, n(3)})) == std::vector<std::string>{"i64[2]"});
  CHECK(lower_types("aten::full", made({Dims{2}, Scalar::of(true)})) == std::vector<std::string>{"bool[2]"});
  CHECK(lower_types("aten::full", made({Dims{2}, Scalar::of(0.5)})) == std::vector<std::string>{"f32[2]"});
  CHECK(lower_error("aten::full", made({Dims{-1}, n(3)})).code == Code::invalid_argument);
}

TEST_CASE("filling keeps the tensor's type") {
  Value x = leaf(Dtype::bf16, {2, 2});
  CHECK(lower_types("aten::fill.Scalar", {x, n(3)}) == std::vector<std::string>{"bf16[2,2]"});
  CHECK(lower_types("aten::fill.Tensor", {x, leaf(Dtype::f32, {})}) == std::vector<std::string>{"bf16[2,2]"});
  CHECK(lower_error("aten::fill.Tensor", {x, leaf(Dtype::f32, {2})}).code == Code::invalid_argument);
}

TEST_CASE("eye, tril and triu") {
  CHECK(run("aten::eye.m", made({int64_t{2}, int64_t{3}})) == Numbers{1, 0, 0, 0, 1, 0});
  Build b;
  Value x = list(b, Dtype::f32, {1, 2, 3, 4, 5, 6}, {2, 3});
  CHECK(evaluate(lower1(b, "aten::tril", {x, int64_t{0}})) == Numbers{1, 0, 0, 4, 5, 0});
  CHECK(evaluate(lower1(b, "aten::triu", {x, int64_t{1}})) == Numbers{0, 2, 3, 0, 0, 6});
  CHECK(lower_error("aten::tril", {leaf(Dtype::f32, {3}), int64_t{0}}).code == Code::invalid_argument);
}

}  // namespace
}  // namespace tp::testing
