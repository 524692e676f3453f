#pragma once
// A device of a client: a view that is cheap to copy and lives as long as the client. Thread-safe.

#include <cstdint>
#include <optional>
#include <string>

#include "base/error.h"
#include "pjrt/named_value.h"

struct PJRT_Device;
struct PJRT_DeviceDescription;
struct PJRT_Memory;

namespace tp {

class Plugin;

// In bytes. Only the first is always there.
struct MemoryStats {
  int64_t bytes_in_use = 0;
  std::optional<int64_t> peak_bytes_in_use;
  std::optional<int64_t> bytes_limit;
  std::optional<int64_t> largest_alloc_size;
  std::optional<int64_t> largest_free_block_bytes;
  std::optional<int64_t> num_allocs;
};

// What never changes; the client reads it once and owns it.
struct DeviceInfo {
  const Plugin* plugin = nullptr;
  PJRT_Device* device = nullptr;
  PJRT_DeviceDescription* description = nullptr;
  PJRT_Memory* default_memory = nullptr;  // nullptr when the plugin has no memories
  int id = 0;                             // unique over all hosts
  int process_index = 0;
  int local_hardware_id = -1;  // -1 when undefined or not addressable
  bool addressable = false;
  std::string kind;                 // "cpu", "TPU v5 lite"
  std::string text;                 // short, for users
  std::string debug_text;           // long, for logs
  std::string default_memory_kind;  // "device", "unpinned_host"; "" when the plugin has no memories
};

class Device {
 public:
  explicit Device(const DeviceInfo& info) : info_(&info) {}

  int id() const { return info_->id; }
  int process_index() const { return info_->process_index; }
  int local_hardware_id() const { return info_->local_hardware_id; }
  bool is_addressable() const { return info_->addressable; }
  const std::string& kind() const { return info_->kind; }
  const std::string& text() const { return info_->text; }
  const std::string& debug_text() const { return info_->debug_text; }
  const std::string& default_memory_kind() const { return info_->default_memory_kind; }
  PJRT_Memory* default_memory() const { return info_->default_memory; }
  PJRT_Device* get() const { return info_->device; }

  // Platform-specific, such as a TPU's "coords".
  Result<NamedValues> attributes() const;
  // nullopt when the plugin keeps none, which is normal on the CPU.
  Result<std::optional<MemoryStats>> memory_stats() const;

  friend bool operator==(const Device&, const Device&) = default;

 private:
  const DeviceInfo* info_;
};

}  // namespace tp
