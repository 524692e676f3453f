#include "rewrite/philox.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "evaluate.h"
#include "graph/region.h"
#include "rewrite/program.h"

namespace tp::testing {
namespace {

// Through the whole rewrite: composites are expanded.
Numbers rewritten(Value value, const char* platform = "cpu") {
  Build b;
  Value wide = b.convert(value, Dtype::f64);
  Node* root = wide.get();
  Region region = collect({&root, 1}, {});
  std::vector<uint8_t> wanted(region.order.size()), promoted(region.numbers.size());
  wanted[root->index] = 1;
  auto program = rewrite({region, wanted, promoted, Target{platform, "", 0}});
  REQUIRE(program.ok());
  return run_text(program->text, {value.dims()})[0];
}

Value words(Build& b, uint64_t seed, uint64_t offset, const Dims& dims, Dtype dtype = Dtype::u32) {
  Values place{b.constant_int(Dtype::u64, static_cast<int64_t>(seed)),
               b.constant_int(Dtype::u64, static_cast<int64_t>(offset))};
  return b.composite1("philox_bits", place, Type{dtype, dims});
}

class Stream : public RandomSource {
 public:
  Position reserve(uint64_t count) override { return {7, std::exchange(at_, at_ + count)}; }

 private:
  uint64_t at_ = 0;
};

TEST_CASE("Philox 4x32-10 gives the published words") {
  Build b;
  CHECK(rewritten(words(b, 0, 0, {4})) == Numbers{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8});
  // All halves of key and counter matter; the words come from Python's big integers.
  CHECK(rewritten(words(b, 0x0123456789abcdef, 0xfedcba9876543210, {4})) ==
        Numbers{0x2c03a599, 0xd8a290fc, 0x4339955b, 0x8784c033});
}

TEST_CASE("an element's word depends on its flat index alone") {
  Build b;
  Numbers many = rewritten(words(b, 9, 5, {4, 4}));
  Numbers few = rewritten(words(b, 9, 5, {7}));
  CHECK(Numbers(many.begin(), many.begin() + 7) == few);
  Numbers later = rewritten(words(b, 9, 6, {4}));
  CHECK(Numbers(many.begin() + 4, many.begin() + 8) == later);
}

TEST_CASE("a u64 takes two words, the low one first") {
  Build b;
  Numbers narrow = rewritten(words(b, 3, 1, {6}));
  Value wide = words(b, 3, 1, {3}, Dtype::u64);
  Value shift = b.constant_int(Dtype::u64, 32, {3});
  Numbers low = rewritten(b.convert(wide, Dtype::u32)),
          high = rewritten(b.binary(Op::shift_right_logical, wide, shift));
  for (int i = 0; i < 3; ++i) {
    CHECK(low[i] == narrow[2 * i]);
    CHECK(high[i] == narrow[2 * i + 1]);
  }
}

TEST_CASE("the form for other platforms gives the same words") {
  Build b;
  CHECK(rewritten(words(b, 3, 8, {11}), "tpu") == rewritten(words(b, 3, 8, {11})));
  CHECK(rewritten(words(b, 3, 8, {5}, Dtype::u64), "tpu") == rewritten(words(b, 3, 8, {5}, Dtype::u64)));
}

TEST_CASE("no word, no work") {
  Build b;
  CHECK(rewritten(words(b, 1, 0, {0, 3})).empty());
}

Numbers sample(const char* name, std::vector<Arg> args) {
  Build b;
  Stream stream;
  b.set_random(&stream);
  Value value = lower1(b, name, args);
  REQUIRE(b.ok());
  return rewritten(value);
}

double mean(const Numbers& x) { return std::accumulate(x.begin(), x.end(), 0.0) / static_cast<double>(x.size()); }

double deviation(const Numbers& x) {
  double center = mean(x), sum = 0;
  for (double v : x) sum += (v - center) * (v - center);
  return std::sqrt(sum / static_cast<double>(x.size()));
}

Arg empty(Dtype dtype, const Dims& dims) { return Build().constant(dtype, 0.0, dims); }

TEST_CASE("uniform numbers lie in [0, 1) in every dtype") {
  for (Dtype dtype : {Dtype::f16, Dtype::bf16, Dtype::f32, Dtype::f64}) {
    Numbers x = sample("aten::uniform", {empty(dtype, {20000}), 0.0, 1.0, None{}});
    CHECK(*std::min_element(x.begin(), x.end()) >= 0);
    CHECK(*std::max_element(x.begin(), x.end()) < 1);
    CHECK(mean(x) == doctest::Approx(0.5).epsilon(0.02));
    CHECK(deviation(x) == doctest::Approx(std::sqrt(1.0 / 12)).epsilon(0.02));
  }
}

TEST_CASE("normal numbers have the mean and deviation asked for, also of an odd count") {
  Numbers x = sample("aten::normal_functional", {empty(Dtype::f32, {20001}), 3.0, 2.0, None{}});
  CHECK(x.size() == 20001);
  CHECK(mean(x) == doctest::Approx(3).epsilon(0.02));
  CHECK(deviation(x) == doctest::Approx(2).epsilon(0.02));
}

TEST_CASE("exponential numbers are positive and finite") {
  Numbers x = sample("aten::exponential", {empty(Dtype::f32, {20000}), 2.0, None{}});
  CHECK(*std::min_element(x.begin(), x.end()) > 0);
  CHECK(std::isfinite(*std::max_element(x.begin(), x.end())));
  CHECK(mean(x) == doctest::Approx(0.5).epsilon(0.03));
}

TEST_CASE("randperm holds every number once") {
  Numbers x = sample("aten::randperm", {int64_t{100}, None{}, None{}, None{}, None{}});
  Numbers sorted = x;
  std::sort(sorted.begin(), sorted.end());
  Numbers all(100);
  std::iota(all.begin(), all.end(), 0.0);
  CHECK(sorted == all);
  CHECK(x != all);
}

TEST_CASE("multinomial follows the weights and never picks a zero") {
  Build b;
  Value weights = list(b, Dtype::f32, {0, 1, 3, 0});
  Numbers with = sample("aten::multinomial", {weights, int64_t{4000}, true, None{}});
  CHECK(std::count(with.begin(), with.end(), 2.0) == doctest::Approx(3000).epsilon(0.05));
  CHECK(std::count(with.begin(), with.end(), 1.0) + std::count(with.begin(), with.end(), 2.0) == 4000);
  Value rows = b.broadcast_in_dim(weights, {4000, 4}, {1});
  Numbers one = sample("aten::multinomial", {rows, int64_t{1}, false, None{}});
  CHECK(std::count(one.begin(), one.end(), 2.0) == doctest::Approx(3000).epsilon(0.05));
  Numbers two = sample("aten::multinomial", {weights, int64_t{2}, false, None{}});
  std::sort(two.begin(), two.end());
  CHECK(two == Numbers{1, 2});
}

}  // namespace
}  // namespace tp::testing
