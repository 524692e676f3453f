#include "pjrt/buffer.h"

#include <numeric>

#include "pjrt/call.h"
#include "pjrt/element_type.h"

namespace tp {

void Buffer::Destroy::operator()(PJRT_Buffer* buffer) const {
  (void)perform(*plugin, &PJRT_Api::PJRT_Buffer_Destroy, {.buffer = buffer});
}

Buffer::Buffer(const Plugin& plugin, PJRT_Buffer* buffer) : buffer_(buffer, Destroy{&plugin}) {}

Result<Dtype> Buffer::dtype() const {
  TP_TRY(auto args, call(plugin(), &PJRT_Api::PJRT_Buffer_ElementType, {.buffer = get()}));
  return dtype_from_pjrt(plugin(), args.type);
}

Result<Dims> Buffer::dims() const {
  TP_TRY(auto args, call(plugin(), &PJRT_Api::PJRT_Buffer_Dimensions, {.buffer = get()}));
  return Dims(args.dims, args.num_dims);
}

Result<size_t> Buffer::size_bytes() const {
  TP_TRY(auto args, call(plugin(), &PJRT_Api::PJRT_Buffer_OnDeviceSizeInBytes, {.buffer = get()}));
  return args.on_device_size_in_bytes;
}

Result<Event> Buffer::copy_to_host(void* destination, size_t size) const {
  // Without a host layout the device's own order would be copied, which need not be row-major on a TPU.
  TP_TRY(Dims shape, dims());
  Dims minor_to_major(shape.size());
  std::iota(minor_to_major.begin(), minor_to_major.end(), 0);
  std::reverse(minor_to_major.begin(), minor_to_major.end());
  PJRT_Buffer_MemoryLayout layout{.struct_size = sizeof(layout), .type = PJRT_Buffer_MemoryLayout_Type_Tiled};
  layout.tiled = {.struct_size = sizeof(layout.tiled),
                  .minor_to_major = minor_to_major.data(),
                  .minor_to_major_size = minor_to_major.size()};
  // A null destination would only ask for the size.
  char nothing = 0;
  TP_TRY(auto args, call(plugin(), &PJRT_Api::PJRT_Buffer_ToHostBuffer,
                         {.src = get(),
                          .host_layout = &layout,
                          .dst = destination ? destination : &nothing,
                          .dst_size = destination ? size : 0}));
  return Event(plugin(), args.event);
}

Status Buffer::copy_to_host_sync(void* destination, size_t size) const {
  TP_TRY(Event copied, copy_to_host(destination, size));
  return copied.await();
}

Result<Event> Buffer::ready_event() const {
  TP_TRY(auto args, call(plugin(), &PJRT_Api::PJRT_Buffer_ReadyEvent, {.buffer = get()}));
  return Event(plugin(), args.event);
}

Result<Buffer> Buffer::copy_to_device(Device device) const {
  TP_TRY(auto args, call(plugin(), &PJRT_Api::PJRT_Buffer_CopyToDevice, {.buffer = get(), .dst_device = device.get()}));
  return Buffer(plugin(), args.dst_buffer);
}

Result<bool> Buffer::is_deleted() const {
  TP_TRY(auto args, call(plugin(), &PJRT_Api::PJRT_Buffer_IsDeleted, {.buffer = get()}));
  return args.is_deleted;
}

Status Buffer::delete_() { return perform(plugin(), &PJRT_Api::PJRT_Buffer_Delete, {.buffer = get()}); }

Result<uintptr_t> Buffer::unsafe_pointer() const {
  TP_TRY(auto args, call(plugin(), &PJRT_Api::PJRT_Buffer_UnsafePointer, {.buffer = get()}));
  return args.buffer_pointer;
}

}  // namespace tp
