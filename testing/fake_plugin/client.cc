#include <cstring>

#include "fake_plugin/table.h"

namespace fake {
namespace {

constexpr char kPlatform[] = "fake";

std::string text_of(const PJRT_NamedValue& value) {
  switch (value.type) {
    case PJRT_NamedValue_kString: return std::string(value.string_value, value.value_size);
    case PJRT_NamedValue_kInt64: return std::to_string(value.int64_value);
    case PJRT_NamedValue_kFloat: return std::to_string(value.float_value);
    case PJRT_NamedValue_kBool: return value.bool_value ? "true" : "false";
    case PJRT_NamedValue_kInt64List: break;
  }
  std::string text;
  for (size_t i = 0; i < value.value_size; ++i) text += (i ? "," : "") + std::to_string(value.int64_array_value[i]);
  return text;
}

PJRT_Error* create(PJRT_Client_Create_Args* args) {
  int devices;
  {
    State& s = state();
    std::lock_guard<std::mutex> lock(s.mutex);
    devices = s.num_devices;
    s.last_client_options.clear();
    for (size_t i = 0; i < args->num_options; ++i) {
      const PJRT_NamedValue& option = args->create_options[i];
      s.last_client_options += std::string(option.name, option.name_size) + "=" + text_of(option) + "\n";
    }
  }
  auto* client = new PJRT_Client;
  client->topology = make_topology("fake", devices);
  for (int id = 0; id < devices; ++id) client->devices.push_back({client->topology.devices[id], {id}});
  for (PJRT_Device& device : client->devices) client->handles.push_back(&device);
  count_live("client", 1);
  args->client = client;
  return nullptr;
}

PJRT_Error* destroy(PJRT_Client_Destroy_Args* args) {
  if (args->client) count_live("client", -1);
  delete args->client;
  return nullptr;
}

PJRT_Error* platform_name(PJRT_Client_PlatformName_Args* args) {
  args->platform_name = kPlatform;
  args->platform_name_size = std::strlen(kPlatform);
  return nullptr;
}

PJRT_Error* platform_version(PJRT_Client_PlatformVersion_Args* args) {
  args->platform_version = kPlatform;
  args->platform_version_size = std::strlen(kPlatform);
  return nullptr;
}

PJRT_Error* process_index(PJRT_Client_ProcessIndex_Args* args) {
  args->process_index = 0;
  return nullptr;
}

PJRT_Error* devices(PJRT_Client_Devices_Args* args) {
  args->devices = args->client->handles.data();
  args->num_devices = args->client->handles.size();
  return nullptr;
}

PJRT_Error* addressable_devices(PJRT_Client_AddressableDevices_Args* args) {
  args->addressable_devices = args->client->handles.data();
  args->num_addressable_devices = args->client->handles.size();
  return nullptr;
}

PJRT_Error* default_assignment(PJRT_Client_DefaultDeviceAssignment_Args* args) {
  size_t wanted = static_cast<size_t>(args->num_replicas) * args->num_partitions;
  if (wanted > args->client->devices.size() || wanted > args->default_assignment_size) {
    return error(PJRT_Error_Code_INVALID_ARGUMENT, "more devices wanted than there are");
  }
  for (size_t i = 0; i < wanted; ++i) args->default_assignment[i] = static_cast<int>(i);
  return nullptr;
}

PJRT_Error* topology(PJRT_Client_TopologyDescription_Args* args) {
  args->topology = &args->client->topology;
  return nullptr;
}

PJRT_Error* from_host(PJRT_Client_BufferFromHostBuffer_Args* args) {
  ArrayType type{args->type, std::vector<int64_t>(args->dims, args->dims + args->num_dims)};
  PJRT_Buffer* buffer = make_buffer(type, args->device, args->data);
  if (!buffer) {
    return error(PJRT_Error_Code_RESOURCE_EXHAUSTED, "allocating " + std::to_string(type.bytes()) + " bytes");
  }
  args->buffer = buffer;
  bool immediate = args->host_buffer_semantics == PJRT_HostBufferSemantics_kImmutableOnlyDuringCall;
  args->done_with_host_buffer = make_event({}, immediate);
  return nullptr;
}

}  // namespace

void add_client(Table& table) {
  add<PJRT_Client_Create_Args, create>(table, &PJRT_Api::PJRT_Client_Create);
  add<PJRT_Client_Destroy_Args, destroy>(table, &PJRT_Api::PJRT_Client_Destroy);
  add<PJRT_Client_PlatformName_Args, platform_name>(table, &PJRT_Api::PJRT_Client_PlatformName);
  add<PJRT_Client_PlatformVersion_Args, platform_version>(table, &PJRT_Api::PJRT_Client_PlatformVersion);
  add<PJRT_Client_ProcessIndex_Args, process_index>(table, &PJRT_Api::PJRT_Client_ProcessIndex);
  add<PJRT_Client_Devices_Args, devices>(table, &PJRT_Api::PJRT_Client_Devices);
  add<PJRT_Client_AddressableDevices_Args, addressable_devices>(table, &PJRT_Api::PJRT_Client_AddressableDevices);
  add<PJRT_Client_DefaultDeviceAssignment_Args, default_assignment>(table,
                                                                    &PJRT_Api::PJRT_Client_DefaultDeviceAssignment);
  add<PJRT_Client_TopologyDescription_Args, topology>(table, &PJRT_Api::PJRT_Client_TopologyDescription);
  add<PJRT_Client_BufferFromHostBuffer_Args, from_host>(table, &PJRT_Api::PJRT_Client_BufferFromHostBuffer);
}

}  // namespace fake
