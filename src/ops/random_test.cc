#include <doctest/doctest.h>

#include "evaluate.h"

namespace tp::testing {
namespace {

// Counts the blocks that ops take. Their numbers are tested with the expansion, in rewrite/philox_test.cc.
class Stream : public RandomSource {
 public:
  Position reserve(uint64_t count) override {
    uint64_t start = blocks;
    blocks += count;
    return {42, start};
  }
  uint64_t blocks = 0;
};

uint64_t blocks_of(const char* name, const std::vector<Arg>& args) {
  Build b;
  Stream stream;
  b.set_random(&stream);
  lower(b, name, args);
  REQUIRE(b.ok());
  return stream.blocks;
}

Error error_of(const char* name, const std::vector<Arg>& args) {
  Build b;
  Stream stream;
  b.set_random(&stream);
  lower(b, name, args);
  REQUIRE_FALSE(b.ok());
  CHECK(stream.blocks == 0);
  return b.take_error();
}

Value empty(Dtype dtype, const Dims& dims) {
  Build b;
  return b.constant(dtype, 0.0, dims);
}

TEST_CASE("each element takes one 32-bit word, or two for f64 and for a normal number") {
  CHECK(blocks_of("aten::uniform", {empty(Dtype::f32, {3, 7}), 0.0, 1.0, None{}}) == 6);
  CHECK(blocks_of("aten::uniform", {empty(Dtype::f64, {5}), 0.0, 1.0, None{}}) == 3);
  CHECK(blocks_of("aten::normal_functional", {empty(Dtype::bf16, {7}), 0.0, 1.0, None{}}) == 4);
  CHECK(blocks_of("aten::normal_functional", {empty(Dtype::f32, {0}), 0.0, 1.0, None{}}) == 0);
  CHECK(blocks_of("aten::random.to", {empty(Dtype::s64, {4}), int64_t{1} << 40, None{}}) == 2);
}

TEST_CASE("results have the dtype and sizes of the input") {
  for (Dtype dtype : {Dtype::f16, Dtype::bf16, Dtype::f32, Dtype::f64}) {
    for (const char* name : {"aten::exponential", "aten::geometric", "aten::bernoulli.p"}) {
      Build b;
      Stream stream;
      b.set_random(&stream);
      double parameter = 0.5;
      CHECK(lower1(b, name, {empty(dtype, {2, 3}), parameter, None{}}).type() == Type{dtype, {2, 3}});
    }
  }
}

TEST_CASE("wrong parameters are refused before any number is taken") {
  Value x = empty(Dtype::f32, {2});
  CHECK(error_of("aten::uniform", {x, 2.0, 1.0, None{}}).text ==
        "uniform_ expects to return a [from, to) range, but found from=2 > to=1");
  CHECK(error_of("aten::normal_functional", {x, 0.0, -1.0, None{}}).text ==
        "normal expects std >= 0.0, but found std -1");
  CHECK(error_of("aten::bernoulli.p", {x, 1.5, None{}}).text == "bernoulli_ expects p to be in [0, 1], but got p=1.5");
  CHECK(error_of("aten::random.from", {x, int64_t{3}, int64_t{3}, None{}}).code == Code::invalid_argument);
  CHECK(error_of("aten::uniform", {empty(Dtype::s32, {2}), 0.0, 1.0, None{}}).code == Code::unimplemented);
  CHECK(error_of("aten::multinomial", {x, int64_t{3}, false, None{}}).text ==
        "cannot sample n_sample > prob_dist.size(-1) samples without replacement");
}

TEST_CASE("dropout that drops nothing or everything takes no numbers") {
  Value x = empty(Dtype::f32, {4});
  CHECK(blocks_of("aten::native_dropout", {x, 0.5, false}) == 0);
  CHECK(blocks_of("aten::native_dropout", {x, 0.0, true}) == 0);
  CHECK(blocks_of("aten::native_dropout", {x, 1.0, true}) == 0);
  CHECK(blocks_of("aten::native_dropout", {x, 0.5, true}) == 1);
}

TEST_CASE("one sample for each row of weights needs no sort") {
  Build b;
  Stream stream;
  b.set_random(&stream);
  Value picked = lower1(b, "aten::multinomial", {b.constant(Dtype::f32, 1.0, {3, 5}), int64_t{1}, false, None{}});
  CHECK(picked.type() == Type{Dtype::s64, {3, 1}});
  auto sorts = [](auto&& self, const Node& node) -> bool {
    if (node.op == Op::sort) return true;
    for (const Value& input : node.inputs) {
      if (self(self, *input.get())) return true;
    }
    return false;
  };
  CHECK_FALSE(sorts(sorts, *picked.get()));
  Value two = lower1(b, "aten::multinomial", {b.constant(Dtype::f32, 1.0, {3, 5}), int64_t{2}, false, None{}});
  CHECK(sorts(sorts, *two.get()));
}

}  // namespace
}  // namespace tp::testing
