#include "pjrt/topology.h"

#include "pjrt/call.h"
#include "pjrt/compile_options.h"

namespace tp {
void Topology::Destroy::operator()(PJRT_TopologyDescription* topology) const {
  (void)perform(*plugin, &PJRT_Api::PJRT_TopologyDescription_Destroy, {.topology = topology});
}

Topology::Topology(std::shared_ptr<Plugin> plugin, PJRT_TopologyDescription* topology)
    : plugin_(std::move(plugin)), topology_(topology, Destroy{plugin_.get()}) {}

Result<Topology> Topology::create(std::shared_ptr<Plugin> plugin, const std::string& name,
                                  const std::vector<NamedValue>& options) {
  std::vector<PJRT_NamedValue> c_options = to_c(options);
  TP_TRY(auto args, call(*plugin, &PJRT_Api::PJRT_TopologyDescription_Create,
                         {.topology_name = name.data(),
                          .topology_name_size = name.size(),
                          .create_options = c_options.data(),
                          .num_options = c_options.size()}));
  return Topology(std::move(plugin), args.topology);
}

Result<std::string> Topology::platform_name() const {
  TP_TRY(auto args, call(*plugin_, &PJRT_Api::PJRT_TopologyDescription_PlatformName, {.topology = topology_.get()}));
  return std::string(args.platform_name, args.platform_name_size);
}

Result<std::string> Topology::platform_version() const {
  TP_TRY(auto args, call(*plugin_, &PJRT_Api::PJRT_TopologyDescription_PlatformVersion, {.topology = topology_.get()}));
  return std::string(args.platform_version, args.platform_version_size);
}

Result<size_t> Topology::num_devices() const {
  TP_TRY(auto args,
         call(*plugin_, &PJRT_Api::PJRT_TopologyDescription_GetDeviceDescriptions, {.topology = topology_.get()}));
  return args.num_descriptions;
}

Result<std::vector<std::string>> Topology::device_kinds() const {
  TP_TRY(auto args,
         call(*plugin_, &PJRT_Api::PJRT_TopologyDescription_GetDeviceDescriptions, {.topology = topology_.get()}));
  std::vector<std::string> kinds;
  for (size_t i = 0; i < args.num_descriptions; ++i) {
    TP_TRY(auto kind,
           call(*plugin_, &PJRT_Api::PJRT_DeviceDescription_Kind, {.device_description = args.descriptions[i]}));
    kinds.emplace_back(kind.device_kind, kind.device_kind_size);
  }
  return kinds;
}

Result<std::string> Topology::serialize() const {
  TP_TRY(auto args, call(*plugin_, &PJRT_Api::PJRT_TopologyDescription_Serialize, {.topology = topology_.get()}));
  std::string bytes(args.serialized_bytes, args.serialized_bytes_size);
  if (args.serialized_topology_deleter) args.serialized_topology_deleter(args.serialized_topology);
  return bytes;
}

Result<NamedValues> Topology::attributes() const {
  TP_TRY(auto args, call(*plugin_, &PJRT_Api::PJRT_TopologyDescription_Attributes, {.topology = topology_.get()}));
  return from_c(args.attributes, args.num_attributes);
}

Result<Executable> Topology::compile(std::string_view text, std::string_view options) const {
  // No options mean 0 replicas, which plugins need not survive.
  std::string defaults = options.empty() ? CompileOptions{}.serialize() : "";
  if (options.empty()) options = defaults;
  PJRT_Program program = mlir_program(text);
  TP_TRY(auto args, call(*plugin_, &PJRT_Api::PJRT_Compile,
                         {.topology = topology_.get(),
                          .program = &program,
                          .compile_options = options.data(),
                          .compile_options_size = options.size()}));
  return Executable(*plugin_, args.executable);
}

}  // namespace tp
