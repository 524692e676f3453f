// Clients, buffers, events and executables against the fake plugin: what is passed on and what is given back.
#include <doctest/doctest.h>

#include <atomic>
#include <cstring>
#include <thread>

#include "expect/must.h"
#include "fake_plugin/control.h"
#include "pjrt/client.h"
#include "pjrt/compile_options.h"
#include "pjrt/topology.h"

namespace tp {
namespace {

constexpr char kText[] =
    "module { func.func public @main(%arg0: tensor<2x3xf32> {jax.buffer_donor = true}, %arg1: tensor<i64>) -> "
    "(tensor<2x3xf32> {jax.result_info = \"x\"}, tensor<4xbf16>, tensor<complex<f32>>) { return } }";

struct Session {
  FakePlugin fake{TP_FAKE_PLUGIN_PATH};
  std::shared_ptr<Plugin> plugin = must(Plugin::load(TP_FAKE_PLUGIN_PATH));
  std::unique_ptr<Client> client = must(Client::create(plugin));
  float data[6] = {1, 2, 3, 4, 5, 6};
  int64_t number = 7;

  Device device(int i = 0) { return client->addressable_devices()[i]; }
  Buffer matrix() { return must(client->buffer_from_host(data, Dtype::f32, {2, 3}, device())); }
  Buffer scalar() { return must(client->buffer_from_host(&number, Dtype::s64, {}, device())); }
};

TEST_CASE("client options of every kind reach the plugin") {
  Session s;
  must(Client::create(s.plugin, {{"text", std::string("x")},
                                 {"number", int64_t{4}},
                                 {"list", std::vector<int64_t>{1, 2}},
                                 {"real", 0.5f},
                                 {"flag", true}}));
  CHECK(std::string(s.fake.last_client_options()) == "text=x\nnumber=4\nlist=1,2\nreal=0.500000\nflag=true\n");
}

TEST_CASE("a client describes its devices once") {
  Session s;
  CHECK(s.client->platform_name() == "fake");
  CHECK(s.client->platform_version() == "fake");
  CHECK(s.client->process_index() == 0);
  REQUIRE(s.client->addressable_devices().size() == 2);
  CHECK(s.client->devices().size() == 2);
  Device second = s.device(1);
  CHECK(second.id() == 1);
  CHECK(second.local_hardware_id() == 1);
  CHECK(second.process_index() == 0);
  CHECK(second.is_addressable());
  CHECK(second.kind() == "fake");
  CHECK(second.text() == "FakeDevice(id=1)");
  CHECK(second.debug_text() == "FakeDevice(id=1)");
  CHECK(second.default_memory_kind() == "device");
  CHECK(second.default_memory() != nullptr);
  CHECK(second == s.client->devices()[1]);
  CHECK(!(second == s.device(0)));
  CHECK(must(s.client->default_device_assignment(1, 2)) == std::vector<int>{0, 1});
  CHECK(must(s.client->serialized_topology()) == "fake");
}

TEST_CASE("device attributes of every kind are read") {
  Session s;
  NamedValues attributes = must(s.device().attributes());
  CHECK(std::get<std::string>(attributes["text"]) == "fake");
  CHECK(std::get<int64_t>(attributes["number"]) == -7);
  CHECK(std::get<std::vector<int64_t>>(attributes["coords"]) == std::vector<int64_t>{1, 2, 3});
  CHECK(std::get<float>(attributes["real"]) == 0.5f);
  CHECK(std::get<bool>(attributes["flag"]));
}

TEST_CASE("a client without devices is an error") {
  Session s;
  s.fake.set_num_devices(0);
  auto client = Client::create(s.plugin);
  REQUIRE(!client.ok());
  CHECK(client.error().code == Code::unavailable);
  CHECK(s.fake.live("client") == 1);  // the session's own
}

TEST_CASE("memory statistics follow buffers, and may be missing") {
  Session s;
  CHECK(!must(s.device().memory_stats()));
  s.fake.set_memory_limit(100);
  Buffer buffer = s.matrix();
  auto stats = must(s.device().memory_stats());
  REQUIRE(stats);
  CHECK(stats->bytes_in_use == 24);
  CHECK(stats->bytes_limit == 100);
  CHECK(stats->peak_bytes_in_use == 24);
  CHECK(!stats->num_allocs);
  char big[128] = {};
  auto refused = s.client->buffer_from_host(big, Dtype::u8, {128}, s.device());
  CHECK(refused.error().code == Code::out_of_memory);
}

TEST_CASE("buffers keep type, bytes and size") {
  Session s;
  Buffer buffer = s.matrix();
  CHECK(must(buffer.dtype()) == Dtype::f32);
  CHECK(must(buffer.dims()) == Dims{2, 3});
  CHECK(must(buffer.size_bytes()) == 24);
  float back[6] = {};
  must(buffer.copy_to_host_sync(back, sizeof(back)));
  CHECK(std::memcmp(back, s.data, sizeof(back)) == 0);
  CHECK(*reinterpret_cast<float*>(must(buffer.unsafe_pointer())) == 1);
  CHECK(buffer.copy_to_host_sync(back, 8).error().code == Code::invalid_argument);

  Buffer copy = must(buffer.copy_to_device(s.device(1)));
  must(buffer.delete_());
  CHECK(must(buffer.is_deleted()));
  CHECK(!must(copy.is_deleted()));
  CHECK(!buffer.copy_to_host_sync(back, sizeof(back)).ok());
  must(copy.copy_to_host_sync(back, sizeof(back)));
  CHECK(back[5] == 6);
}

TEST_CASE("an empty array needs no memory on either side") {
  Session s;
  Buffer buffer = must(s.client->buffer_from_host(nullptr, Dtype::f32, {0, 3}, s.device()));
  CHECK(must(buffer.dims()) == Dims{0, 3});
  must(buffer.copy_to_host_sync(nullptr, 0));
}

TEST_CASE("an element type that PyTorch lacks is unimplemented") {
  Session s;
  const int types[] = {21};  // PJRT_Buffer_Type_S4
  const size_t ranks[] = {1};
  const int64_t dims[] = {2};
  s.fake.set_outputs(1, types, ranks, dims);
  LoadedExecutable program = must(s.client->compile("", ""));
  auto outputs = program.executable().output_types();
  REQUIRE(!outputs.ok());
  CHECK(outputs.error().code == Code::unimplemented);
  auto made = must(program.execute({}));
  CHECK(made[0].dtype().error().code == Code::unimplemented);
}

TEST_CASE("text and options reach the compiler unchanged") {
  Session s;
  std::string options = CompileOptions::single_device(1, false).serialize();
  must(s.client->compile(kText, options));
  size_t size = 0;
  const char* text = s.fake.last_program(&size);
  CHECK(std::string(text, size) == kText);
  text = s.fake.last_options(&size);
  CHECK(std::string(text, size) == options);
  // Real plugins do not survive empty options, so they become the default ones.
  must(s.client->compile(kText, ""));
  text = s.fake.last_options(&size);
  CHECK(std::string(text, size) == CompileOptions{}.serialize());
}

TEST_CASE("an executable tells about itself") {
  Session s;
  s.fake.set_compiled_memory(1, 2, 3, 4, 5, 6);
  LoadedExecutable program = must(s.client->compile(kText, ""));
  CHECK(program.num_outputs() == 3);
  const Executable& inert = program.executable();
  auto outputs = must(inert.output_types());
  REQUIRE(outputs.size() == 3);
  CHECK(outputs[0].dtype == Dtype::f32);
  CHECK(outputs[0].dims == Dims{2, 3});
  CHECK(outputs[1].dtype == Dtype::bf16);
  CHECK(outputs[2].dtype == Dtype::c64);
  CHECK(outputs[2].dims.empty());
  CompiledMemoryStats memory = must(inert.memory_stats());
  CHECK(memory.arguments == 1);
  CHECK(memory.outputs == 2);
  CHECK(memory.aliased == 3);
  CHECK(memory.temporaries == 4);
  CHECK(memory.code == 5);
  CHECK(memory.peak == 6);
  CHECK(must(inert.name()) == "main");
  CHECK(must(inert.fingerprint()) == "fake fingerprint");
  CHECK(must(inert.code_size()) == 100);
  CHECK(must(inert.optimized_program()).code == kText);
  CHECK(must(inert.optimized_program()).format == "mlir");
  CHECK(std::get<float>(must(inert.cost_analysis())["flops"]) == 8);
}

TEST_CASE("a serialized executable loads again, and rubbish does not") {
  Session s;
  LoadedExecutable program = must(s.client->compile(kText, ""));
  std::string bytes = must(program.executable().serialize());
  LoadedExecutable again = must(s.client->deserialize(bytes));
  CHECK(again.num_outputs() == 3);
  must(s.client->deserialize(bytes, CompileOptions::single_device(0, true).serialize()));
  CHECK(s.client->deserialize("rubbish").error().code == Code::invalid_argument);
}

TEST_CASE("execution gives zeros of the program's types, and donates") {
  Session s;
  LoadedExecutable program = must(s.client->compile(kText, ""));
  Buffer a = s.matrix(), b = s.scalar();
  PJRT_Buffer* arguments[] = {a.get(), b.get()};
  const int64_t kept[] = {0};
  Event finished;
  auto outputs = must(program.execute(arguments, {.non_donatable = kept}, &finished));
  must(finished.await());
  REQUIRE(outputs.size() == 3);
  CHECK(must(outputs[1].dtype()) == Dtype::bf16);
  float back[6] = {9};
  must(outputs[0].copy_to_host_sync(back, sizeof(back)));
  CHECK(back[0] == 0);
  int64_t indices[4];
  CHECK(s.fake.last_non_donatable(indices, 4) == 1);
  CHECK(indices[0] == 0);
  CHECK(!must(a.is_deleted()));

  must(program.execute(arguments));
  CHECK(s.fake.last_non_donatable(indices, 4) == 0);
  CHECK(must(a.is_deleted()));
  CHECK(!must(b.is_deleted()));
  CHECK(program.execute(arguments).error().code == Code::invalid_argument);
}

TEST_CASE("execution on all devices takes and gives one list a device") {
  Session s;
  LoadedExecutable program = must(s.client->compile(kText, ""));
  Buffer a = s.matrix(), b = s.scalar(), c = s.matrix();
  std::vector<std::vector<PJRT_Buffer*>> arguments = {{a.get(), b.get()}, {c.get(), b.get()}};
  std::vector<Event> finished;
  auto lists = must(program.execute_on_all(arguments, {}, &finished));
  CHECK(lists.size() == 2);
  CHECK(lists[1].size() == 3);
  CHECK(finished.size() == 2);
  arguments[1].pop_back();
  CHECK(program.execute_on_all(arguments).error().code == Code::invalid_argument);
}

TEST_CASE("a deleted executable no longer runs") {
  Session s;
  LoadedExecutable program = must(s.client->compile(kText, ""));
  CHECK(!must(program.is_deleted()));
  must(program.delete_());
  CHECK(must(program.is_deleted()));
  CHECK(!program.execute({}).ok());
}

TEST_CASE("an event's error arrives by await and by callback") {
  Session s;
  Buffer buffer = s.matrix();
  s.fake.fail_event(1, 10, "link lost");
  Event event = must(buffer.ready_event());
  Status status = event.await();
  REQUIRE(!status.ok());
  CHECK(status.error().code == Code::aborted);
  CHECK(status.error().text == "link lost");
  bool called = false;
  must(std::move(event).on_ready([&](Status late) {
    called = true;
    CHECK(late.error().text == "link lost");
  }));
  CHECK(called);
  s.fake.fail_event(1, 10, "link lost");
  float back[6];
  CHECK(buffer.copy_to_host_sync(back, sizeof(back)).error().code == Code::aborted);
  s.fake.fail_event(1, 8, "transfer");
  CHECK(s.client->buffer_from_host(s.data, Dtype::f32, {2, 3}, s.device()).error().code == Code::out_of_memory);
  CHECK(s.fake.live("buffer") == 1);
}

TEST_CASE("an empty event is done") {
  Event event;
  CHECK(must(event.is_ready()));
  must(event.await());
  bool called = false;
  must(std::move(event).on_ready([&](Status status) { called = status.ok(); }));
  CHECK(called);
}

TEST_CASE("a held event blocks await and delays the callback") {
  Session s;
  Buffer buffer = s.matrix();
  s.fake.hold_events(true);
  Event event = must(buffer.ready_event()), second = must(buffer.ready_event());
  CHECK(!must(event.is_ready()));
  std::atomic<int> called{0}, awaited{0};
  must(std::move(second).on_ready([&](Status) { ++called; }));
  std::thread waiter([&] {
    (void)event.await();
    ++awaited;
  });
  CHECK(called == 0);
  CHECK(awaited == 0);
  s.fake.release_events();
  waiter.join();
  CHECK(called == 1);
  CHECK(awaited == 1);
  CHECK(must(event.is_ready()));
  event = Event();
  CHECK(s.fake.live("event") == 0);
}

TEST_CASE("host bytes are held until the transfer is done") {
  Session s;
  s.fake.hold_events(true);
  // Copied during the call: nothing to wait for.
  Buffer copied = s.matrix();
  Event read;
  Buffer borrowed = must(
      s.client->buffer_from_host(s.data, Dtype::f32, {2, 3}, s.device(), HostSemantics::until_transfer_done, &read));
  CHECK(!must(read.is_ready()));
  s.fake.release_events();
  CHECK(must(read.is_ready()));
}

TEST_CASE("a failed execution poisons what it makes and what reads that") {
  Session s;
  LoadedExecutable program = must(s.client->compile("func.func @main(%arg0: tensor<2xf32>) -> tensor<2xf32> {}", ""));
  Buffer good = must(s.client->buffer_from_host(s.data, Dtype::f32, {2}, s.device()));
  PJRT_Buffer* argument[] = {good.get()};
  s.fake.poison(1, 13, "nan trap");
  auto bad = must(program.execute(argument));
  float back[2];
  CHECK(bad[0].copy_to_host_sync(back, sizeof(back)).error().text == "nan trap");
  argument[0] = bad[0].get();
  auto worse = must(program.execute(argument));
  CHECK(must(worse[0].ready_event()).await().error().text == "nan trap");
  argument[0] = good.get();
  auto fine = must(program.execute(argument));
  must(fine[0].copy_to_host_sync(back, sizeof(back)));
}

TEST_CASE("a topology compiles without a client") {
  Session s;
  Topology topology = must(Topology::create(s.plugin, "fake:4"));
  CHECK(must(topology.num_devices()) == 4);
  CHECK(must(topology.device_kinds()) == std::vector<std::string>(4, "fake"));
  CHECK(must(topology.platform_name()) == "fake");
  CHECK(must(topology.platform_version()) == "fake");
  CHECK(must(topology.serialize()) == "fake:4");
  CHECK(must(topology.attributes()).empty());
  Executable program = must(topology.compile(kText, CompileOptions{}.serialize()));
  CHECK(must(program.num_outputs()) == 3);
  CHECK(must(program.memory_stats()).arguments == 32);
  CHECK(Topology::create(s.plugin, "v9:1").error().code == Code::invalid_argument);
}

}  // namespace
}  // namespace tp
