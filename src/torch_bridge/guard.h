#pragma once
// The current device and stream of a thread.

#include <cstdint>

namespace tp::bridge {

// Devices of the plugin; 0 when it cannot start.
int device_count() noexcept;
int current_device();
// Throws when there is no such device.
void set_device(int device);

// Each thread has a stream of its own until it is given another; the importing thread's is 0.
int64_t current_stream_id();
// Returns the one before.
int64_t exchange_stream_id(int64_t stream);
int64_t new_stream_id();

// Runs what is pending on every stream and waits for all that the device has to do.
void synchronize(int device);

}  // namespace tp::bridge
