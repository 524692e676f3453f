#include "exec/runner.h"

#include <doctest/doctest.h>

#include <numeric>

#include "stablehlo/build.h"

using tp::Build;
using tp::Dims;
using tp::Dtype;
using tp::Node;
using tp::Runner;
using tp::Type;
using tp::Value;

namespace {

Runner& runner() {
  static std::unique_ptr<Runner> made = std::move(Runner::create(TP_CPU_PLUGIN_PATH)).value();
  return *made;
}

Value upload(const std::vector<float>& data, const Dims& dims) {
  return std::move(runner().upload(data.data(), Type{Dtype::f32, dims}, 0)).value();
}

std::vector<float> read(Value value) {
  Node* root = value.get();
  REQUIRE(runner().run({&root, 1}).ok());
  std::vector<float> out(tp::numel(value.dims()));
  REQUIRE(runner().download(value.get(), out.data(), out.size() * sizeof(float)).ok());
  return out;
}

int64_t compiles() { return runner().compile_stats().compiles + runner().compile_stats().disk_hits; }

}  // namespace

TEST_CASE("a region runs and its root becomes a leaf") {
  Build b;
  Value x = upload({1, 2, 3, 4}, {2, 2});
  Value y = b.add(b.mul(x, x), b.constant(Dtype::f32, 0.5, {2, 2}));
  CHECK(read(y) == std::vector<float>{1.5f, 4.5f, 9.5f, 16.5f});
  CHECK(y->op == tp::Op::leaf);
}

TEST_CASE("a number that changes travels: the third value compiles nothing") {
  Value x = upload({1, 2}, {2});
  auto times = [&](double n) {
    Build b;
    return read(b.mul(x, b.constant(Dtype::f32, n, {2})));
  };
  CHECK(times(3) == std::vector<float>{3, 6});
  CHECK(times(5) == std::vector<float>{5, 10});
  int64_t before = compiles();
  CHECK(times(7) == std::vector<float>{7, 14});
  CHECK(times(-0.125) == std::vector<float>{-0.125f, -0.25f});
  CHECK(compiles() == before);
}

TEST_CASE("integers and starts of slices travel too") {
  std::vector<float> data(64);
  std::iota(data.begin(), data.end(), 0.0f);
  Value x = upload(data, {8, 8});
  auto row = [&](int64_t i) {
    Build b;
    Value shifted = b.add(b.convert(b.iota(Dtype::s64, {1, 8}, 1), Dtype::f32),
                          b.convert(b.constant_int(Dtype::s64, i * 1000000007, {1, 8}), Dtype::f32));
    (void)shifted;
    return read(b.slice(x, {i, 0}, {i + 1, 8}, {1, 1}));
  };
  row(0);
  row(1);
  int64_t before = compiles();
  CHECK(row(5) == std::vector<float>{40, 41, 42, 43, 44, 45, 46, 47});
  CHECK(compiles() == before);
}

TEST_CASE("an update of part of a leaf takes its bytes when nobody else holds it") {
  int64_t buffers = runner().memory(0).buffers();
  {
    Value cache = upload(std::vector<float>(1024, 0), {1024});
    for (int i = 0; i < 4; ++i) {
      Build b;
      cache = b.update_slice(cache, b.constant(Dtype::f32, i + 1.0, {1}), {i});
      Node* root = cache.get();
      REQUIRE(runner().run({&root, 1}).ok());
    }
    CHECK(runner().memory(0).buffers() == buffers + 1);
    std::vector<float> out = read(cache);
    CHECK(out[0] == 1);
    CHECK(out[3] == 4);
    CHECK(out[4] == 0);
  }
  CHECK(runner().memory(0).buffers() == buffers);
}

TEST_CASE("a leaf that somebody holds keeps its bytes") {
  Value x = upload({1, 2, 3, 4}, {4});
  Value kept = x;
  Build b;
  Value y = b.update_slice(x, b.constant(Dtype::f32, 9.0, {1}), {1});
  CHECK(read(y) == std::vector<float>{1, 9, 3, 4});
  CHECK(read(kept) == std::vector<float>{1, 2, 3, 4});
}

TEST_CASE("what others still need of a region becomes a leaf too") {
  Build b;
  Value x = upload({4, 9}, {2});
  Value root = b.sqrt(x);
  Value other = b.add(root, root);
  Value next = b.mul(other, other);
  CHECK(read(other) == std::vector<float>{4, 6});
  CHECK(root->op == tp::Op::leaf);
  CHECK(read(next) == std::vector<float>{16, 36});
}

TEST_CASE("a long chain dies without recursion") {
  int64_t before = tp::live_nodes();
  {
    Value x = upload({1}, {1});
    Build b;
    for (int i = 0; i < 200000; ++i) x = b.negate(x);
  }
  CHECK(tp::live_nodes() == before);
}

TEST_CASE("an index out of range is reported by the next host read") {
  Value table = upload({1, 2, 3}, {3});
  int64_t bad = 7;
  Value index = std::move(runner().upload(&bad, Type{Dtype::s64, {1}}, 0)).value();
  Build b;
  Value row = b.take(table, b.check_index(index, 0, 3, "index out of range in self"), 0);
  for (Build::Check& check : b.take_checks()) {
    runner().add_check(check.flag, std::move(check.error));
  }
  Node* root = row.get();
  REQUIRE(runner().run({&root, 1}).ok());
  float out;
  tp::Status status = runner().download(row.get(), &out, sizeof(out));
  REQUIRE(!status.ok());
  CHECK(status.error().code == tp::Code::index);
  CHECK(runner().download(row.get(), &out, sizeof(out)).ok());
}

TEST_CASE("out of memory is an error before anything is lost") {
  Value x = upload(std::vector<float>(1024, 1), {1024});
  int64_t limit = runner().memory(0).limit();
  runner().memory(0).set_limit(runner().memory(0).in_use() + 1000);
  Build b;
  Value y = b.add(x, x);
  Node* root = y.get();
  tp::Status status = runner().run({&root, 1});
  REQUIRE(!status.ok());
  CHECK(status.error().code == tp::Code::out_of_memory);
  CHECK(status.error().text.find(" out of memory.") != std::string::npos);
  runner().memory(0).set_limit(limit);
  CHECK(read(y)[0] == 2);
}

TEST_CASE("a captured program runs on other arguments and updates in place") {
  Value placeholder = tp::new_leaf(Type{Dtype::f32, {2}}, nullptr);
  Build b;
  Value next = b.add(placeholder, b.constant(Dtype::f32, 1.0, {2}));
  std::vector<uint8_t> updated{1};
  auto captured = runner().capture({&placeholder, 1}, updated, {&next, 1}, 0, 0);
  REQUIRE(captured.ok());
  Value x = upload({1, 2}, {2});
  for (int i = 0; i < 3; ++i) {
    auto results = runner().run_captured(**captured, {&x, 1}, 0, 0, 0);
    REQUIRE(results.ok());
    x = results.value()[0];
  }
  CHECK(read(x) == std::vector<float>{4, 5});
}
