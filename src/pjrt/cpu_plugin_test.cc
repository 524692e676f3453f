// The wrapper against a real plugin: whatever CPU plugin the build found. Passes without one.
#include <doctest/doctest.h>

#include <atomic>
#include <cstring>
#include <thread>

#include "expect/must.h"
#include "pjrt/client.h"
#include "pjrt/compile_options.h"
#include "pjrt/topology.h"

namespace tp {
namespace {

constexpr char kAdd[] = R"(module @add {
  func.func public @main(%arg0: tensor<4xf32> {jax.buffer_donor = true}, %arg1: tensor<4xf32>) -> tensor<4xf32> {
    %0 = stablehlo.add %arg0, %arg1 : tensor<4xf32>
    return %0 : tensor<4xf32>
  }
})";

bool no_plugin() { return std::string_view(TP_CPU_PLUGIN_PATH).empty(); }

// One client for all cases, since making one costs a thread pool. Leaked: it outlives the tests' buffers.
Client& client() {
  static Client* shared =
      must(Client::create(must(Plugin::load(TP_CPU_PLUGIN_PATH)), {{"cpu_device_count", int64_t{2}}})).release();
  return *shared;
}

Device device(int i = 0) { return client().addressable_devices()[i]; }

Buffer upload(const std::vector<float>& values) {
  return must(client().buffer_from_host(values.data(), Dtype::f32, {static_cast<int64_t>(values.size())}, device()));
}

std::vector<float> download(const Buffer& buffer, size_t count) {
  std::vector<float> values(count);
  must(buffer.copy_to_host_sync(values.data(), count * sizeof(float)));
  return values;
}

std::string options(int id = 0) { return CompileOptions::single_device(id, false).serialize(); }

TEST_CASE("cpu: the client has the devices that were asked for") {
  if (no_plugin()) return;
  CHECK(client().platform_name() == "cpu");
  REQUIRE(client().addressable_devices().size() == 2);
  CHECK(device(1).id() == 1);
  CHECK(device().kind() == "cpu");
  CHECK(client().plugin().stablehlo_version());
  CHECK(!must(client().serialized_topology()).empty());
  CHECK(must(client().default_device_assignment(2, 1)) == std::vector<int>{0, 1});
  // The CPU plugins keep no statistics: an answer, not an error.
  CHECK(!must(device().memory_stats()));
}

TEST_CASE("cpu: add is compiled, run and read back, and the donated argument is gone") {
  if (no_plugin()) return;
  LoadedExecutable add = must(client().compile(kAdd, options()));
  Buffer a = upload({1, 2, 3, 4}), b = upload({10, 20, 30, 40});
  PJRT_Buffer* arguments[] = {a.get(), b.get()};
  const int64_t kept[] = {0};
  auto first = must(add.execute(arguments, {.non_donatable = kept}));
  CHECK(download(first[0], 4) == std::vector<float>{11, 22, 33, 44});
  CHECK(!must(a.is_deleted()));
  Event finished;
  auto second = must(add.execute(arguments, {}, &finished));
  must(finished.await());
  CHECK(must(a.is_deleted()));
  CHECK(!must(b.is_deleted()));
  CHECK(download(second[0], 4) == std::vector<float>{11, 22, 33, 44});
  CHECK(add.execute(arguments).error().code == Code::invalid_argument);
  CHECK(!must(a.ready_event()).await().ok());
}

TEST_CASE("cpu: a program runs on the device it was compiled for, a portable one on any") {
  if (no_plugin()) return;
  for (int id = 0; id < 2; ++id) {
    LoadedExecutable add = must(client().compile(kAdd, options(id)));
    std::vector<float> one(4, 1);
    Buffer a = must(client().buffer_from_host(one.data(), Dtype::f32, {4}, device(id)));
    Buffer b = must(client().buffer_from_host(one.data(), Dtype::f32, {4}, device(id)));
    PJRT_Buffer* arguments[] = {a.get(), b.get()};
    CHECK(download(must(add.execute(arguments))[0], 4) == std::vector<float>(4, 2));
  }
  CompileOptions portable;
  portable.portable = true;
  LoadedExecutable add = must(client().compile(kAdd, portable.serialize()));
  for (int id = 0; id < 2; ++id) {
    std::vector<float> one(4, 1);
    Buffer a = must(client().buffer_from_host(one.data(), Dtype::f32, {4}, device(id)));
    Buffer b = must(client().buffer_from_host(one.data(), Dtype::f32, {4}, device(id)));
    PJRT_Buffer* arguments[] = {a.get(), b.get()};
    CHECK(download(must(add.execute(arguments, {.device = device(id)}))[0], 4) == std::vector<float>(4, 2));
  }
}

TEST_CASE("cpu: every dtype goes up and comes back") {
  if (no_plugin()) return;
  for (int i = 0; i < kDtypeCount; ++i) {
    Dtype dtype = static_cast<Dtype>(i);
    CAPTURE(dtype_name(dtype));
    size_t size = 6 * static_cast<size_t>(dtype_size(dtype));
    // Zeros and ones are valid in every type, bool included.
    std::string bytes(size, '\0'), back(size, '\x7f');
    for (size_t at = 0; at < size; at += 3) bytes[at] = 1;
    Buffer buffer = must(client().buffer_from_host(bytes.data(), dtype, {2, 3}, device()));
    CHECK(must(buffer.dtype()) == dtype);
    CHECK(must(buffer.dims()) == Dims{2, 3});
    CHECK(must(buffer.size_bytes()) == size);
    must(buffer.copy_to_host_sync(back.data(), size));
    CHECK(back == bytes);
  }
}

TEST_CASE("cpu: scalars and empty arrays go up and come back") {
  if (no_plugin()) return;
  int64_t number = 42, back = 0;
  Buffer scalar = must(client().buffer_from_host(&number, Dtype::s64, {}, device()));
  CHECK(must(scalar.dims()).empty());
  must(scalar.copy_to_host_sync(&back, sizeof(back)));
  CHECK(back == 42);
  Buffer empty = must(client().buffer_from_host(nullptr, Dtype::f32, {0, 5}, device()));
  CHECK(must(empty.dims()) == Dims{0, 5});
  must(empty.copy_to_host_sync(nullptr, 0));
}

TEST_CASE("cpu: programs compute in other dtypes too") {
  if (no_plugin()) return;
  for (Dtype dtype : {Dtype::s32, Dtype::s64, Dtype::f64, Dtype::bf16, Dtype::u8}) {
    CAPTURE(dtype_name(dtype));
    std::string type = std::string("tensor<3x") + dtype_mlir(dtype) + ">";
    std::string text = "module { func.func public @main(%arg0: " + type + ") -> " + type +
                       " { %0 = stablehlo.subtract %arg0, %arg0 : " + type + "\n return %0 : " + type + " } }";
    LoadedExecutable program = must(client().compile(text, options()));
    CHECK(must(program.executable().output_types())[0].dtype == dtype);
    std::string bytes(3 * static_cast<size_t>(dtype_size(dtype)), '\x3f'), back = bytes;
    Buffer argument = must(client().buffer_from_host(bytes.data(), dtype, {3}, device()));
    PJRT_Buffer* arguments[] = {argument.get()};
    must(must(program.execute(arguments))[0].copy_to_host_sync(back.data(), back.size()));
    CHECK(back == std::string(back.size(), '\0'));
  }
}

TEST_CASE("cpu: transfers and callbacks are asynchronous") {
  if (no_plugin()) return;
  std::vector<float> values(1 << 16, 3), back(1 << 16);
  Event read;
  Buffer buffer = must(client().buffer_from_host(values.data(), Dtype::f32, {1 << 16}, device(),
                                                 HostSemantics::until_transfer_done, &read));
  must(read.await());
  std::atomic<int> ready{0};
  must(must(buffer.ready_event()).on_ready([&](Status status) { ready = status.ok() ? 1 : 2; }));
  Event copied = must(buffer.copy_to_host(back.data(), back.size() * sizeof(float)));
  must(copied.await());
  CHECK(must(copied.is_ready()));
  CHECK(back == values);
  for (int i = 0; i < 1000 && ready == 0; ++i) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  CHECK(ready == 1);
}

TEST_CASE("cpu: host memory is read in place with zero copy") {
  if (no_plugin()) return;
  alignas(64) static float values[1024];
  values[0] = 5;
  std::atomic<bool> released{false};
  Event read;
  Buffer buffer =
      must(client().buffer_from_host(values, Dtype::f32, {1024}, device(), HostSemantics::zero_copy, &read));
  must(std::move(read).on_ready([&](Status) { released = true; }));
  CHECK(must(buffer.unsafe_pointer()) == reinterpret_cast<uintptr_t>(values));
  CHECK(!released);
  buffer = Buffer();
  for (int i = 0; i < 1000 && !released; ++i) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  CHECK(released);
}

TEST_CASE("cpu: executables are inspected, serialized and loaded again") {
  if (no_plugin()) return;
  LoadedExecutable add = must(client().compile(kAdd, options()));
  CompiledMemoryStats memory = must(add.executable().memory_stats());
  CHECK(memory.arguments == 32);
  CHECK(memory.outputs == 16);
  CHECK(memory.aliased == 16);
  CHECK(!must(add.executable().fingerprint()).empty());
  CHECK(must(add.executable().optimized_program()).code.size() > 100);
  auto costs = add.executable().cost_analysis();
  if (!costs.ok()) CHECK(costs.error().code == Code::unimplemented);  // the plugins of 2026 dropped it

  std::string bytes = must(add.executable().serialize());
  LoadedExecutable again = must(client().deserialize(bytes, options()));
  CHECK(again.num_outputs() == 1);
  Buffer a = upload({1, 2, 3, 4}), b = upload({1, 1, 1, 1});
  PJRT_Buffer* arguments[] = {a.get(), b.get()};
  CHECK(download(must(again.execute(arguments))[0], 4) == std::vector<float>{2, 3, 4, 5});
  CHECK(must(a.is_deleted()));  // donation survives
  CHECK(!client().deserialize(bytes.substr(0, bytes.size() / 2)).ok());
}

TEST_CASE("cpu: a partitioned program runs on two devices") {
  if (no_plugin()) return;
  CompileOptions two;
  two.partitions = 2;
  two.device_assignment = {0, 1};
  const char* text = R"(module attributes {mhlo.num_partitions = 2 : i32, mhlo.num_replicas = 1 : i32} {
    func.func public @main(%arg0: tensor<4xf32> {mhlo.sharding = "{devices=[2]<=[2]}"})
        -> (tensor<f32> {mhlo.sharding = "{replicated}"}) {
      %0 = stablehlo.constant dense<0.0> : tensor<f32>
      %1 = stablehlo.reduce(%arg0 init: %0) applies stablehlo.add across dimensions = [0]
          : (tensor<4xf32>, tensor<f32>) -> tensor<f32>
      return %1 : tensor<f32>
    }
  })";
  LoadedExecutable sum = must(client().compile(text, two.serialize()));
  float left[] = {1, 2}, right[] = {3, 4};
  Buffer a = must(client().buffer_from_host(left, Dtype::f32, {2}, device(0)));
  Buffer b = must(client().buffer_from_host(right, Dtype::f32, {2}, device(1)));
  std::vector<std::vector<PJRT_Buffer*>> arguments = {{a.get()}, {b.get()}};
  std::vector<Event> finished;
  auto outputs = must(sum.execute_on_all(arguments, {}, &finished));
  REQUIRE(outputs.size() == 2);
  for (Event& event : finished) must(event.await());
  CHECK(download(outputs[0][0], 1) == std::vector<float>{10});
  CHECK(download(outputs[1][0], 1) == std::vector<float>{10});
}

TEST_CASE("cpu: buffers move between devices") {
  if (no_plugin()) return;
  Buffer a = upload({1, 2});
  Buffer copy = must(a.copy_to_device(device(1)));
  must(a.delete_());
  CHECK(download(copy, 2) == std::vector<float>{1, 2});
}

TEST_CASE("cpu: bad programs and options are errors with text") {
  if (no_plugin()) return;
  auto garbage = client().compile("module garbage", options());
  REQUIRE(!garbage.ok());
  CHECK(!garbage.error().text.empty());
  CompileOptions unknown;
  unknown.overrides = {{"xla_no_such_option", true}};
  CHECK(client().compile(kAdd, unknown.serialize()).error().code == Code::invalid_argument);
  CHECK(client().compile(kAdd, options(99)).error().code == Code::invalid_argument);
  Buffer a = upload({1, 2});
  float back[1];
  CHECK(a.copy_to_host_sync(back, sizeof(back)).error().code == Code::invalid_argument);
  CHECK(Topology::create(must(Plugin::load(TP_CPU_PLUGIN_PATH)), "cpu").error().code == Code::unimplemented);
}

TEST_CASE("cpu: threads share a client") {
  if (no_plugin()) return;
  LoadedExecutable add = must(client().compile(kAdd, options()));
  std::atomic<int> right{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < 20; ++i) {
        float n = static_cast<float>(t * 100 + i);
        Buffer a = upload({n, n, n, n}), b = upload({1, 1, 1, 1});
        PJRT_Buffer* arguments[] = {a.get(), b.get()};
        if (download(must(add.execute(arguments))[0], 4)[3] == n + 1) ++right;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  CHECK(right == 80);
}

}  // namespace
}  // namespace tp
