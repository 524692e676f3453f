#pragma once
// Addresses without memory: data_ptr() of a tensor on tpu is unique, stays the same, and can never be read. Blocks of
// the reserved range are recycled with their StorageValue. Thread-safe; takes no other lock, since tensors die
// anywhere.

#include <c10/core/CachingDeviceAllocator.h>

#include "torch_bridge/storage.h"

namespace tp::bridge {

c10::DeviceAllocator& device_allocator();
// The DataPtr's context is the new StorageValue.
at::DataPtr allocate_storage(size_t nbytes, int device);
// The context of a DataPtr that allocate_storage made; null for others.
StorageValue* context_of(const at::DataPtr& data);
// The live storage in whose range the address lies, or null.
StorageValue* find_storage(const void* address);
// Calls back for the storages in use. Under the graph's lock.
void for_each_live(const std::function<void(const StorageValue&)>& visit);

// Drops values of storages that died while somebody else held the graph's lock. Called under that lock.
void drop_released();

// Host memory that `pin_memory` gives.
c10::Allocator& pinned_allocator();
bool is_pinned(const void* address);

}  // namespace tp::bridge
