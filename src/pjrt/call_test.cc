#include "pjrt/call.h"

#include <doctest/doctest.h>

#include <functional>

#include "expect/must.h"
#include "fake_plugin/control.h"
#include "pjrt/client.h"
#include "pjrt/topology.h"

namespace tp {
namespace {

constexpr char kText[] =
    "func.func public @main(%arg0: tensor<2xf32> {jax.buffer_donor = true}, %arg1: tensor<2xf32>) -> tensor<2xf32> {}";

// One of each object, made before anything fails.
struct Session {
  std::shared_ptr<Plugin> plugin = must(Plugin::load(TP_FAKE_PLUGIN_PATH));
  std::unique_ptr<Client> client = must(Client::create(plugin));
  LoadedExecutable program = must(client->compile(kText, ""));
  Topology topology = must(Topology::create(plugin, "fake:4"));
  std::string serialized = must(program.executable().serialize());
  float data[2] = {1, 2};
  Buffer a = upload(), b = upload();
  Event event = must(a.ready_event());

  Device device() { return client->addressable_devices()[0]; }
  Buffer upload() { return must(client->buffer_from_host(data, Dtype::f32, {2}, device())); }
};

template <class T>
Status outcome(Result<T> result) {
  if (!result.ok()) return std::move(result.error());
  return done();
}

struct Case {
  const char* entry;
  std::function<Status(Session&)> run;
};

Status execute(Session& s) {
  PJRT_Buffer* arguments[] = {s.a.get(), s.b.get()};
  const int64_t kept[] = {0};
  return outcome(s.program.execute(arguments, {.non_donatable = kept}));
}

Status execute_on_all(Session& s) {
  std::vector<std::vector<PJRT_Buffer*>> arguments = {{s.a.get(), s.b.get()}};
  const int64_t kept[] = {0};
  return outcome(s.program.execute_on_all(arguments, {.non_donatable = kept}));
}

Status create_client(Session& s) { return outcome(Client::create(s.plugin)); }

// Every entry whose error reaches the caller.
const Case kRequired[] = {
    {"PJRT_Client_Create", create_client},
    {"PJRT_Client_PlatformName", create_client},
    {"PJRT_Client_Devices", create_client},
    {"PJRT_Client_AddressableDevices", create_client},
    {"PJRT_Device_GetDescription", create_client},
    {"PJRT_Device_IsAddressable", create_client},
    {"PJRT_DeviceDescription_Id", create_client},
    {"PJRT_DeviceDescription_ProcessIndex", create_client},
    {"PJRT_DeviceDescription_Kind", create_client},
    {"PJRT_DeviceDescription_Attributes", [](Session& s) { return outcome(s.device().attributes()); }},
    {"PJRT_Client_DefaultDeviceAssignment",
     [](Session& s) { return outcome(s.client->default_device_assignment(1, 2)); }},
    {"PJRT_Client_TopologyDescription", [](Session& s) { return outcome(s.client->serialized_topology()); }},
    {"PJRT_TopologyDescription_Serialize", [](Session& s) { return outcome(s.client->serialized_topology()); }},
    {"PJRT_Client_BufferFromHostBuffer",
     [](Session& s) { return outcome(s.client->buffer_from_host(s.data, Dtype::f32, {2}, s.device())); }},
    {"PJRT_Client_Compile", [](Session& s) { return outcome(s.client->compile(kText, "")); }},
    {"PJRT_LoadedExecutable_GetExecutable", [](Session& s) { return outcome(s.client->compile(kText, "")); }},
    {"PJRT_Executable_NumOutputs", [](Session& s) { return outcome(s.program.executable().num_outputs()); }},
    {"PJRT_Executable_DeserializeAndLoad", [](Session& s) { return outcome(s.client->deserialize(s.serialized)); }},
    {"PJRT_LoadedExecutable_Execute", execute},
    {"PJRT_LoadedExecutable_Execute", execute_on_all},
    {"PJRT_LoadedExecutable_Delete", [](Session& s) { return s.program.delete_(); }},
    {"PJRT_LoadedExecutable_IsDeleted", [](Session& s) { return outcome(s.program.is_deleted()); }},
    {"PJRT_Executable_Name", [](Session& s) { return outcome(s.program.executable().name()); }},
    {"PJRT_Executable_OutputElementTypes", [](Session& s) { return outcome(s.program.executable().output_types()); }},
    {"PJRT_Executable_OutputDimensions", [](Session& s) { return outcome(s.program.executable().output_types()); }},
    {"PJRT_Executable_GetCompiledMemoryStats",
     [](Session& s) { return outcome(s.program.executable().memory_stats()); }},
    {"PJRT_Executable_Serialize", [](Session& s) { return outcome(s.program.executable().serialize()); }},
    {"PJRT_Executable_Fingerprint", [](Session& s) { return outcome(s.program.executable().fingerprint()); }},
    {"PJRT_Executable_OptimizedProgram",
     [](Session& s) { return outcome(s.program.executable().optimized_program()); }},
    {"PJRT_Executable_GetCostAnalysis", [](Session& s) { return outcome(s.program.executable().cost_analysis()); }},
    {"PJRT_Executable_SizeOfGeneratedCodeInBytes",
     [](Session& s) { return outcome(s.program.executable().code_size()); }},
    {"PJRT_Buffer_ElementType", [](Session& s) { return outcome(s.a.dtype()); }},
    {"PJRT_Buffer_Dimensions", [](Session& s) { return outcome(s.a.dims()); }},
    {"PJRT_Buffer_OnDeviceSizeInBytes", [](Session& s) { return outcome(s.a.size_bytes()); }},
    {"PJRT_Buffer_ToHostBuffer", [](Session& s) { return s.a.copy_to_host_sync(s.data, sizeof(s.data)); }},
    {"PJRT_Buffer_ReadyEvent", [](Session& s) { return outcome(s.a.ready_event()); }},
    {"PJRT_Buffer_CopyToDevice",
     [](Session& s) { return outcome(s.a.copy_to_device(s.client->addressable_devices()[1])); }},
    {"PJRT_Buffer_IsDeleted", [](Session& s) { return outcome(s.a.is_deleted()); }},
    {"PJRT_Buffer_Delete", [](Session& s) { return s.a.delete_(); }},
    {"PJRT_Buffer_UnsafePointer", [](Session& s) { return outcome(s.a.unsafe_pointer()); }},
    {"PJRT_Event_Await", [](Session& s) { return s.event.await(); }},
    {"PJRT_Event_IsReady", [](Session& s) { return outcome(s.event.is_ready()); }},
    {"PJRT_Event_OnReady", [](Session& s) { return std::move(s.event).on_ready([](Status) {}); }},
    {"PJRT_TopologyDescription_Create", [](Session& s) { return outcome(Topology::create(s.plugin, "fake:2")); }},
    {"PJRT_TopologyDescription_PlatformName", [](Session& s) { return outcome(s.topology.platform_name()); }},
    {"PJRT_TopologyDescription_PlatformVersion", [](Session& s) { return outcome(s.topology.platform_version()); }},
    {"PJRT_TopologyDescription_GetDeviceDescriptions", [](Session& s) { return outcome(s.topology.num_devices()); }},
    {"PJRT_TopologyDescription_Serialize", [](Session& s) { return outcome(s.topology.serialize()); }},
    {"PJRT_TopologyDescription_Attributes", [](Session& s) { return outcome(s.topology.attributes()); }},
    {"PJRT_Compile", [](Session& s) { return outcome(s.topology.compile(kText, "")); }},
};

// Entries whose absence is an answer, though their other errors are errors.
const Case kOptional[] = {
    {"PJRT_Client_PlatformVersion", create_client},
    {"PJRT_Client_ProcessIndex", create_client},
    {"PJRT_DeviceDescription_ToString", create_client},
    {"PJRT_DeviceDescription_DebugString", create_client},
    {"PJRT_Device_LocalHardwareId", create_client},
    {"PJRT_Device_DefaultMemory", create_client},
    {"PJRT_Memory_Kind", create_client},
    {"PJRT_Device_MemoryStats", [](Session& s) { return outcome(s.device().memory_stats()); }},
    {"PJRT_Plugin_Initialize", [](Session&) { return outcome(Plugin::load(TP_FAKE_PLUGIN_PATH)); }},
    {"PJRT_Plugin_Attributes", [](Session&) { return outcome(Plugin::load(TP_FAKE_PLUGIN_PATH)); }},
};

void check_codes(FakePlugin& fake, const Case& one, bool absence_is_an_answer) {
  Session session;
  CAPTURE(one.entry);
  for (int code = 1; code <= 16; ++code) {
    CAPTURE(code);
    std::string text = std::string("reason of ") + one.entry;
    fake.fail(one.entry, 1, code, text.c_str());
    Status status = one.run(session);
    if (absence_is_an_answer && code == static_cast<int>(Code::unimplemented)) {
      CHECK(status.ok());
      continue;
    }
    REQUIRE(!status.ok());
    CHECK(static_cast<int>(status.error().code) == code);
    CHECK(status.error().text.find(text) != std::string::npos);
    // An event that failed to register its callback is used up.
    if (!session.event.is_ready().ok() || std::string_view(one.entry) == "PJRT_Event_OnReady") {
      session.event = must(session.a.ready_event());
    }
    CHECK(fake.live("error") == 0);
  }
  // And it works again afterwards.
  CHECK(one.run(session).ok());
}

TEST_CASE("every code of every entry arrives with its text") {
  FakePlugin fake(TP_FAKE_PLUGIN_PATH);
  for (const Case& one : kRequired) check_codes(fake, one, false);
  for (const Case& one : kOptional) check_codes(fake, one, true);
}

TEST_CASE("a null entry is unimplemented and names plugin and call") {
  FakePlugin fake(TP_FAKE_PLUGIN_PATH);
  for (const Case& one : kRequired) {
    Session session;
    CAPTURE(one.entry);
    fake.hide(one.entry);
    Status status = one.run(session);
    REQUIRE(!status.ok());
    CHECK(status.error().code == Code::unimplemented);
    CHECK(status.error().text ==
          "plugin libfake_pjrt_plugin (PJRT API 0." + std::to_string(PJRT_API_MINOR) + ") has no " + one.entry);
    fake.reset();
  }
  for (const Case& one : kOptional) {
    Session session;
    CAPTURE(one.entry);
    fake.hide(one.entry);
    CHECK(one.run(session).ok());
    fake.reset();
  }
}

TEST_CASE("an entry behind the table's end is never read") {
  FakePlugin fake(TP_FAKE_PLUGIN_PATH);
  for (const Case& one : kRequired) {
    Session session;
    CAPTURE(one.entry);
    fake.shorten(one.entry);
    Status status = one.run(session);
    REQUIRE(!status.ok());
    CHECK(status.error().code == Code::unimplemented);
    fake.reset();
  }
}

TEST_CASE("an unknown code and an unreadable one become unknown") {
  FakePlugin fake(TP_FAKE_PLUGIN_PATH);
  Session session;
  fake.fail("PJRT_Buffer_Dimensions", 1, 77, "odd");
  auto dims = session.a.dims();
  CHECK(dims.error().code == Code::unknown);
  CHECK(dims.error().text == "odd");
  fake.fail("PJRT_Buffer_Dimensions", 1, 3, "odd");
  fake.fail("PJRT_Error_GetCode", 1, 13, "worse");
  CHECK(session.a.dims().error().code == Code::unknown);
  fake.fail("PJRT_Buffer_Dimensions", 1, 3, "odd");
  fake.hide("PJRT_Error_GetCode");
  CHECK(session.a.dims().error().code == Code::unknown);
  CHECK(fake.live("error") == 0);
}

TEST_CASE("an error without text says so") {
  FakePlugin fake(TP_FAKE_PLUGIN_PATH);
  Session session;
  fake.fail("PJRT_Buffer_Dimensions", 1, 14, "");
  CHECK(session.a.dims().error().text == "plugin libfake_pjrt_plugin gave no reason (unavailable)");
}

TEST_CASE("out of memory reads as PyTorch's users expect") {
  FakePlugin fake(TP_FAKE_PLUGIN_PATH);
  Session session;
  fake.fail("PJRT_LoadedExecutable_Execute", 1, 8, "needed 8 GiB");
  Status status = execute(session);
  CHECK(status.error().code == Code::out_of_memory);
  CHECK(status.error().text == "plugin libfake_pjrt_plugin out of memory. needed 8 GiB");
  fake.fail("PJRT_LoadedExecutable_Execute", 1, 8, "device 0 out of memory. really");
  CHECK(execute(session).error().text == "device 0 out of memory. really");
}

TEST_CASE("a failing destroy loses no error handle, and every object is destroyed once") {
  FakePlugin fake(TP_FAKE_PLUGIN_PATH);
  {
    Session session;
    CHECK(fake.live("client") == 1);
    CHECK(fake.live("buffer") == 2);
    CHECK(fake.live("loaded") == 1);
    CHECK(fake.live("executable") == 1);
    CHECK(fake.live("topology") == 1);
    CHECK(fake.live("event") == 1);
    // Moves do not destroy.
    Buffer moved = std::move(session.a);
    CHECK(moved);
    CHECK(!session.a);
    CHECK(fake.live("buffer") == 2);
  }
  for (const char* kind : {"client", "buffer", "loaded", "executable", "topology", "event", "error"}) {
    CAPTURE(kind);
    CHECK(fake.live(kind) == 0);
  }
  Session session;
  fake.fail("PJRT_Buffer_Destroy", 1, 13, "stuck");
  session.b = Buffer();
  CHECK(fake.calls("PJRT_Buffer_Destroy") == 3);
  CHECK(fake.live("error") == 0);
}

}  // namespace
}  // namespace tp
