#pragma once
// The runtime of one plugin in this process: devices, uploads, compilation. Owns its devices' descriptions and
// outlives all buffers and executables made by it. Thread-safe.
//
// Making a client of libtpu without a TPU may abort, hang or take minutes: the caller looks for the hardware
// first, or makes the client in a child process.

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/dims.h"
#include "base/dtype.h"
#include "base/error.h"
#include "pjrt/buffer.h"
#include "pjrt/device.h"
#include "pjrt/event.h"
#include "pjrt/executable.h"
#include "pjrt/named_value.h"
#include "pjrt/plugin.h"

struct PJRT_Client;

namespace tp {

// What the caller promises about host bytes.
enum class HostSemantics {
  copy_during_call,     // they may change as soon as the call returns
  until_transfer_done,  // unchanged until `done_with_host`
  zero_copy,            // unchanged until `done_with_host`, which comes when the buffer is gone: the CPU plugin
                        // reads them in place when they are aligned, and never writes to them
};

class Client {
 public:
  static Result<std::unique_ptr<Client>> create(std::shared_ptr<Plugin> plugin,
                                                const std::vector<NamedValue>& options = {});
  ~Client();
  Client(const Client&) = delete;
  Client& operator=(const Client&) = delete;

  const Plugin& plugin() const { return *plugin_; }
  const std::string& platform_name() const { return platform_name_; }  // "cpu", "tpu", "cuda"
  const std::string& platform_version() const { return platform_version_; }
  int process_index() const { return process_index_; }
  // Those of this process; the index here is PyTorch's device index.
  std::span<const Device> addressable_devices() const { return addressable_; }
  // Those of all processes.
  std::span<const Device> devices() const { return devices_; }

  // Uploads a row-major array. Without `done_with_host` the call waits until the bytes are no longer needed,
  // so zero_copy must have one.
  Result<Buffer> buffer_from_host(const void* data, Dtype dtype, const Dims& dims, Device device,
                                  HostSemantics semantics = HostSemantics::copy_during_call,
                                  Event* done_with_host = nullptr) const;
  // `text` is StableHLO, `options` a CompileOptionsProto (compile_options.h).
  Result<LoadedExecutable> compile(std::string_view text, std::string_view options) const;
  // Of Executable::serialize(), by the same plugin file. `options` replaces the serialised ones, which plugins
  // before 0.71 do not do.
  Result<LoadedExecutable> deserialize(std::string_view bytes,
                                       std::optional<std::string_view> options = std::nullopt) const;
  // Device ids, [replica][partition].
  Result<std::vector<int>> default_device_assignment(int replicas, int partitions) const;
  // The devices and their wiring as bytes: part of cache keys.
  Result<std::string> serialized_topology() const;

 private:
  Client(std::shared_ptr<Plugin> plugin, PJRT_Client* client);
  Status describe();
  Status describe_devices();

  std::shared_ptr<Plugin> plugin_;
  PJRT_Client* client_;
  std::string platform_name_, platform_version_;
  int process_index_ = 0;
  std::vector<DeviceInfo> infos_;
  std::vector<Device> devices_, addressable_;
};

}  // namespace tp
