#include "pjrt/device.h"

#include "pjrt/call.h"

namespace tp {
namespace {

std::optional<int64_t> if_set(bool is_set, int64_t value) {
  return is_set ? std::optional<int64_t>(value) : std::nullopt;
}

}  // namespace

Result<NamedValues> Device::attributes() const {
  TP_TRY(auto args, call(*info_->plugin, &PJRT_Api::PJRT_DeviceDescription_Attributes,
                         {.device_description = info_->description}));
  return from_c(args.attributes, args.num_attributes);
}

Result<std::optional<MemoryStats>> Device::memory_stats() const {
  TP_TRY(auto args, call_if_implemented(*info_->plugin, &PJRT_Api::PJRT_Device_MemoryStats, {.device = info_->device}));
  if (!args) return std::optional<MemoryStats>();
  MemoryStats stats;
  stats.bytes_in_use = args->bytes_in_use;
  stats.peak_bytes_in_use = if_set(args->peak_bytes_in_use_is_set, args->peak_bytes_in_use);
  stats.bytes_limit = if_set(args->bytes_limit_is_set, args->bytes_limit);
  stats.largest_alloc_size = if_set(args->largest_alloc_size_is_set, args->largest_alloc_size);
  stats.largest_free_block_bytes = if_set(args->largest_free_block_bytes_is_set, args->largest_free_block_bytes);
  stats.num_allocs = if_set(args->num_allocs_is_set, args->num_allocs);
  return std::optional<MemoryStats>(stats);
}

}  // namespace tp
