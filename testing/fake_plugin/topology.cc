#include <cstring>

#include "fake_plugin/table.h"

namespace fake {
namespace {

constexpr char kPlatform[] = "fake";

PJRT_Error* create(PJRT_TopologyDescription_Create_Args* args) {
  std::string name(args->topology_name, args->topology_name_size);
  if (name.rfind("fake:", 0) != 0) return error(PJRT_Error_Code_INVALID_ARGUMENT, "unknown topology " + name);
  args->topology = new PJRT_TopologyDescription(make_topology(name, std::atoi(name.c_str() + 5)));
  count_live("topology", 1);
  return nullptr;
}

PJRT_Error* destroy(PJRT_TopologyDescription_Destroy_Args* args) {
  if (args->topology) count_live("topology", -1);
  delete args->topology;
  return nullptr;
}

PJRT_Error* platform_name(PJRT_TopologyDescription_PlatformName_Args* args) {
  args->platform_name = kPlatform;
  args->platform_name_size = std::strlen(kPlatform);
  return nullptr;
}

PJRT_Error* platform_version(PJRT_TopologyDescription_PlatformVersion_Args* args) {
  args->platform_version = kPlatform;
  args->platform_version_size = std::strlen(kPlatform);
  return nullptr;
}

PJRT_Error* descriptions(PJRT_TopologyDescription_GetDeviceDescriptions_Args* args) {
  // The handles are made when asked, since copying a topology would leave them behind.
  auto* topology = const_cast<PJRT_TopologyDescription*>(args->topology);
  topology->handles.clear();
  for (PJRT_DeviceDescription& device : topology->devices) topology->handles.push_back(&device);
  args->descriptions = topology->handles.data();
  args->num_descriptions = topology->handles.size();
  return nullptr;
}

PJRT_Error* serialize(PJRT_TopologyDescription_Serialize_Args* args) {
  args->serialized_bytes = args->topology->name.data();
  args->serialized_bytes_size = args->topology->name.size();
  args->serialized_topology = nullptr;
  args->serialized_topology_deleter = [](PJRT_SerializedTopology*) {};
  return nullptr;
}

PJRT_Error* attributes(PJRT_TopologyDescription_Attributes_Args* args) {
  args->attributes = nullptr;
  args->num_attributes = 0;
  return nullptr;
}

}  // namespace

PJRT_TopologyDescription make_topology(const std::string& name, int devices) {
  PJRT_TopologyDescription topology{.name = name};
  for (int id = 0; id < devices; ++id) topology.devices.push_back({id, "FakeDevice(id=" + std::to_string(id) + ")"});
  return topology;
}

void add_topology(Table& table) {
  add<PJRT_TopologyDescription_Create_Args, create>(table, &PJRT_Api::PJRT_TopologyDescription_Create);
  add<PJRT_TopologyDescription_Destroy_Args, destroy>(table, &PJRT_Api::PJRT_TopologyDescription_Destroy);
  add<PJRT_TopologyDescription_PlatformName_Args, platform_name>(table,
                                                                 &PJRT_Api::PJRT_TopologyDescription_PlatformName);
  add<PJRT_TopologyDescription_PlatformVersion_Args, platform_version>(
      table, &PJRT_Api::PJRT_TopologyDescription_PlatformVersion);
  add<PJRT_TopologyDescription_GetDeviceDescriptions_Args, descriptions>(
      table, &PJRT_Api::PJRT_TopologyDescription_GetDeviceDescriptions);
  add<PJRT_TopologyDescription_Serialize_Args, serialize>(table, &PJRT_Api::PJRT_TopologyDescription_Serialize);
  add<PJRT_TopologyDescription_Attributes_Args, attributes>(table, &PJRT_Api::PJRT_TopologyDescription_Attributes);
}

}  // namespace fake
