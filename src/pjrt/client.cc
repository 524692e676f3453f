#include "pjrt/client.h"

#include "pjrt/call.h"
#include "pjrt/compile_options.h"

namespace tp {
namespace {

// Reads what the C API tells of one device. Only what every plugin has is required.
Result<DeviceInfo> describe_device(const Plugin& plugin, PJRT_Device* device) {
  DeviceInfo info{.plugin = &plugin, .device = device};
  TP_TRY(auto description, call(plugin, &PJRT_Api::PJRT_Device_GetDescription, {.device = device}));
  info.description = description.device_description;

  TP_TRY(auto id, call(plugin, &PJRT_Api::PJRT_DeviceDescription_Id, {.device_description = info.description}));
  info.id = id.id;

  TP_TRY(auto process,
         call(plugin, &PJRT_Api::PJRT_DeviceDescription_ProcessIndex, {.device_description = info.description}));
  info.process_index = process.process_index;

  TP_TRY(auto kind, call(plugin, &PJRT_Api::PJRT_DeviceDescription_Kind, {.device_description = info.description}));
  info.kind.assign(kind.device_kind, kind.device_kind_size);

  TP_TRY(auto text, call_if_implemented(plugin, &PJRT_Api::PJRT_DeviceDescription_ToString,
                                        {.device_description = info.description}));
  if (text) info.text.assign(text->to_string, text->to_string_size);

  TP_TRY(auto debug, call_if_implemented(plugin, &PJRT_Api::PJRT_DeviceDescription_DebugString,
                                         {.device_description = info.description}));
  if (debug) info.debug_text.assign(debug->debug_string, debug->debug_string_size);

  TP_TRY(auto addressable, call(plugin, &PJRT_Api::PJRT_Device_IsAddressable, {.device = device}));
  info.addressable = addressable.is_addressable;
  return info;
}

// What only a device of this process has.
Status describe_addressable(DeviceInfo& info) {
  const Plugin& plugin = *info.plugin;
  TP_TRY(auto hardware, call_if_implemented(plugin, &PJRT_Api::PJRT_Device_LocalHardwareId, {.device = info.device}));
  if (hardware) info.local_hardware_id = hardware->local_hardware_id;

  TP_TRY(auto memory, call_if_implemented(plugin, &PJRT_Api::PJRT_Device_DefaultMemory, {.device = info.device}));
  if (!memory || !memory->memory) return done();
  info.default_memory = memory->memory;
  TP_TRY(auto kind, call_if_implemented(plugin, &PJRT_Api::PJRT_Memory_Kind, {.memory = memory->memory}));
  if (kind) info.default_memory_kind.assign(kind->kind, kind->kind_size);
  return done();
}

}  // namespace

Client::Client(std::shared_ptr<Plugin> plugin, PJRT_Client* client) : plugin_(std::move(plugin)), client_(client) {}

Client::~Client() { (void)perform(*plugin_, &PJRT_Api::PJRT_Client_Destroy, {.client = client_}); }

Result<std::unique_ptr<Client>> Client::create(std::shared_ptr<Plugin> plugin, const std::vector<NamedValue>& options) {
  std::vector<PJRT_NamedValue> c_options = to_c(options);
  TP_TRY(auto args, call(*plugin, &PJRT_Api::PJRT_Client_Create,
                         {.create_options = c_options.data(), .num_options = c_options.size()}));
  std::unique_ptr<Client> client(new Client(std::move(plugin), args.client));
  TP_TRY([[maybe_unused]] Done described, client->describe());
  TP_TRY([[maybe_unused]] Done listed, client->describe_devices());
  return client;
}

Status Client::describe() {
  TP_TRY(auto name, call(*plugin_, &PJRT_Api::PJRT_Client_PlatformName, {.client = client_}));
  platform_name_.assign(name.platform_name, name.platform_name_size);
  TP_TRY(auto version, call_if_implemented(*plugin_, &PJRT_Api::PJRT_Client_PlatformVersion, {.client = client_}));
  if (version) platform_version_.assign(version->platform_version, version->platform_version_size);
  TP_TRY(auto process, call_if_implemented(*plugin_, &PJRT_Api::PJRT_Client_ProcessIndex, {.client = client_}));
  if (process) process_index_ = process->process_index;
  return done();
}

Status Client::describe_devices() {
  TP_TRY(auto all, call(*plugin_, &PJRT_Api::PJRT_Client_Devices, {.client = client_}));
  TP_TRY(auto local, call(*plugin_, &PJRT_Api::PJRT_Client_AddressableDevices, {.client = client_}));

  infos_.reserve(all.num_devices);
  for (size_t i = 0; i < all.num_devices; ++i) {
    TP_TRY(DeviceInfo info, describe_device(*plugin_, all.devices[i]));
    if (info.addressable) {
      TP_TRY([[maybe_unused]] Done described, describe_addressable(info));
    }
    infos_.push_back(std::move(info));
  }
  for (const DeviceInfo& info : infos_) devices_.emplace_back(info);
  // In the plugin's own order, which is the one that device assignments use.
  for (size_t i = 0; i < local.num_addressable_devices; ++i) {
    for (const Device& device : devices_) {
      if (device.get() == local.addressable_devices[i]) addressable_.push_back(device);
    }
  }
  if (addressable_.empty()) {
    return make_error(Code::unavailable, "plugin " + plugin_->name() + " has no device in this process");
  }
  return done();
}

Result<Buffer> Client::buffer_from_host(const void* data, Dtype dtype, const Dims& dims, Device device,
                                        HostSemantics semantics, Event* done_with_host) const {
  TP_CHECK(semantics != HostSemantics::zero_copy || done_with_host);
  static const char kNothing[16] = {};  // an empty array may come without memory
  TP_TRY(auto args, call(*plugin_, &PJRT_Api::PJRT_Client_BufferFromHostBuffer,
                         {.client = client_,
                          .data = data ? data : kNothing,
                          .type = static_cast<PJRT_Buffer_Type>(dtype_pjrt(dtype)),
                          .dims = dims.data(),
                          .num_dims = dims.size(),
                          .host_buffer_semantics = semantics == HostSemantics::copy_during_call
                                                       ? PJRT_HostBufferSemantics_kImmutableOnlyDuringCall
                                                   : semantics == HostSemantics::until_transfer_done
                                                       ? PJRT_HostBufferSemantics_kImmutableUntilTransferCompletes
                                                       : PJRT_HostBufferSemantics_kImmutableZeroCopy,
                          .device = device.get()}));
  Buffer buffer(*plugin_, args.buffer);
  Event read(*plugin_, args.done_with_host_buffer);
  if (done_with_host) {
    *done_with_host = std::move(read);
  } else {
    TP_TRY([[maybe_unused]] Done copied, read.await());
  }
  return buffer;
}

Result<LoadedExecutable> Client::compile(std::string_view text, std::string_view options) const {
  // No options mean 0 replicas, at which the CPU plugins (0.81 to 0.115) end the process.
  std::string defaults = options.empty() ? CompileOptions{}.serialize() : "";
  if (options.empty()) options = defaults;
  PJRT_Program program = mlir_program(text);
  TP_TRY(auto args, call(*plugin_, &PJRT_Api::PJRT_Client_Compile,
                         {.client = client_,
                          .program = &program,
                          .compile_options = options.data(),
                          .compile_options_size = options.size()}));
  return LoadedExecutable::create(*plugin_, args.executable);
}

Result<LoadedExecutable> Client::deserialize(std::string_view bytes, std::optional<std::string_view> options) const {
  TP_TRY(auto args, call(*plugin_, &PJRT_Api::PJRT_Executable_DeserializeAndLoad,
                         {.client = client_,
                          .serialized_executable = bytes.data(),
                          .serialized_executable_size = bytes.size(),
                          .overridden_serialized_compile_options = options ? options->data() : nullptr,
                          .overridden_serialized_compile_options_size = options ? options->size() : 0}));
  return LoadedExecutable::create(*plugin_, args.loaded_executable);
}

Result<std::vector<int>> Client::default_device_assignment(int replicas, int partitions) const {
  std::vector<int> ids(static_cast<size_t>(replicas) * partitions);
  TP_TRY([[maybe_unused]] auto args, call(*plugin_, &PJRT_Api::PJRT_Client_DefaultDeviceAssignment,
                                          {.client = client_,
                                           .num_replicas = replicas,
                                           .num_partitions = partitions,
                                           .default_assignment_size = ids.size(),
                                           .default_assignment = ids.data()}));
  return ids;
}

Result<std::string> Client::serialized_topology() const {
  TP_TRY(auto topology, call(*plugin_, &PJRT_Api::PJRT_Client_TopologyDescription, {.client = client_}));
  TP_TRY(auto args, call(*plugin_, &PJRT_Api::PJRT_TopologyDescription_Serialize, {.topology = topology.topology}));
  std::string bytes(args.serialized_bytes, args.serialized_bytes_size);
  if (args.serialized_topology_deleter) args.serialized_topology_deleter(args.serialized_topology);
  return bytes;
}

}  // namespace tp
