#pragma once
// An array on a device. Move-only; destroying it frees the memory once work that uses it has ended.
// Thread-safe, except for moves. Must not outlive its client.

#include <cstddef>
#include <cstdint>
#include <memory>

#include "base/dims.h"
#include "base/dtype.h"
#include "base/error.h"
#include "pjrt/device.h"
#include "pjrt/event.h"

struct PJRT_Buffer;

namespace tp {

class Buffer {
 public:
  Buffer() = default;
  // Takes the handle.
  Buffer(const Plugin& plugin, PJRT_Buffer* buffer);

  // The handle, for execute(); nullptr when empty.
  PJRT_Buffer* get() const { return buffer_.get(); }
  explicit operator bool() const { return buffer_ != nullptr; }

  Result<Dtype> dtype() const;
  Result<Dims> dims() const;
  // On the device, padding included.
  Result<size_t> size_bytes() const;

  // Copies to `destination` in row-major order. `size` bytes must hold it all, and must stay until the event.
  Result<Event> copy_to_host(void* destination, size_t size) const;
  // The same, waiting for the end.
  Status copy_to_host_sync(void* destination, size_t size) const;
  // Done when the data is there, or with the error of the work that makes it; an error after delete or donation.
  Result<Event> ready_event() const;
  Result<Buffer> copy_to_device(Device device) const;

  // True after delete_() and after donation.
  Result<bool> is_deleted() const;
  // Gives the memory back while the handle stays.
  Status delete_();
  // The address in device memory: real memory on the CPU, opaque elsewhere. Valid while the buffer is.
  Result<uintptr_t> unsafe_pointer() const;

 private:
  struct Destroy {
    const Plugin* plugin;
    void operator()(PJRT_Buffer* buffer) const;
  };
  const Plugin& plugin() const { return *buffer_.get_deleter().plugin; }

  std::unique_ptr<PJRT_Buffer, Destroy> buffer_;
};

}  // namespace tp
