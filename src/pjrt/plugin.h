#pragma once
// A loaded PJRT plugin: its table of calls, versions and attributes. The library is never unloaded, since a
// plugin's own threads may still run; so loading one path twice gives the same table.
// Thread-safe. Clients and topologies share it; smaller objects borrow it and must not outlive them.

#include <array>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>

#include "base/digest.h"
#include "base/error.h"
#include "pjrt/named_value.h"

struct PJRT_Api;
struct PJRT_Extension_Base;

namespace tp {

using Version = std::array<int64_t, 3>;

struct StablehloVersions {
  Version current{};
  Version minimum{};
};

class Plugin {
 public:
  static Result<std::shared_ptr<Plugin>> load(const std::string& path);

  const PJRT_Api* api() const { return api_; }
  const std::string& path() const { return path_; }
  // The file's name without folder and ending, e.g. "xla_cpu_pjrt": as errors print it.
  const std::string& name() const { return name_; }
  // Major, minor.
  std::pair<int, int> api_version() const;
  // As the plugin gives them; empty when it gives none.
  const NamedValues& attributes() const { return attributes_; }
  // nullopt when the plugin does not say.
  std::optional<StablehloVersions> stablehlo_version() const;
  // Of the library's bytes: part of every cache key. Read on first use, then kept.
  Result<Digest> file_digest() const;
  // By PJRT_Extension_Type; nullptr when the plugin has none. Numbers above the header's own are fine.
  const PJRT_Extension_Base* find_extension(int type) const;

 private:
  Plugin(std::string path, const PJRT_Api* api);

  std::string path_, name_;
  const PJRT_Api* api_;
  NamedValues attributes_;
  mutable std::mutex digest_mutex_;
  mutable std::optional<Digest> digest_;
};

}  // namespace tp
