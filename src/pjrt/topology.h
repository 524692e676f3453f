#pragma once
// Devices that need not be here: a target to compile for without a client, such as libtpu's "v5e:2x4".
// Move-only, thread-safe. Some programs make libtpu end the process, so plan/ compiles in a child.

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "pjrt/executable.h"
#include "pjrt/named_value.h"
#include "pjrt/plugin.h"

struct PJRT_TopologyDescription;

namespace tp {

class Topology {
 public:
  static Result<Topology> create(std::shared_ptr<Plugin> plugin, const std::string& name,
                                 const std::vector<NamedValue>& options = {});

  Result<std::string> platform_name() const;
  Result<std::string> platform_version() const;
  Result<size_t> num_devices() const;
  // One a device: "TPU v5 lite".
  Result<std::vector<std::string>> device_kinds() const;
  // Part of cache keys.
  Result<std::string> serialize() const;
  Result<NamedValues> attributes() const;
  // `text` is StableHLO, `options` a CompileOptionsProto. libtpu 0.0.52 does not check the number of
  // partitions against the topology: the caller does.
  Result<Executable> compile(std::string_view text, std::string_view options) const;

 private:
  struct Destroy {
    const Plugin* plugin;
    void operator()(PJRT_TopologyDescription* topology) const;
  };
  Topology(std::shared_ptr<Plugin> plugin, PJRT_TopologyDescription* topology);

  std::shared_ptr<Plugin> plugin_;
  std::unique_ptr<PJRT_TopologyDescription, Destroy> topology_;
};

}  // namespace tp
