#include <algorithm>
#include <cstring>

#include "fake_plugin/table.h"

namespace fake {
namespace {

PJRT_Error* gone(const PJRT_Buffer* buffer) {
  if (!buffer->deleted) return nullptr;
  return error(PJRT_Error_Code_INVALID_ARGUMENT, "Buffer has been deleted or donated.");
}

PJRT_Error* destroy(PJRT_Buffer_Destroy_Args* args) {
  if (!args->buffer) return nullptr;
  release(*args->buffer);
  count_live("buffer", -1);
  delete args->buffer;
  return nullptr;
}

PJRT_Error* element_type(PJRT_Buffer_ElementType_Args* args) {
  args->type = args->buffer->type.type;
  return nullptr;
}

PJRT_Error* dimensions(PJRT_Buffer_Dimensions_Args* args) {
  args->dims = args->buffer->type.dims.data();
  args->num_dims = args->buffer->type.dims.size();
  return nullptr;
}

PJRT_Error* size_in_bytes(PJRT_Buffer_OnDeviceSizeInBytes_Args* args) {
  args->on_device_size_in_bytes = args->buffer->type.bytes();
  return nullptr;
}

PJRT_Error* delete_(PJRT_Buffer_Delete_Args* args) {
  release(*args->buffer);
  return nullptr;
}

PJRT_Error* is_deleted(PJRT_Buffer_IsDeleted_Args* args) {
  args->is_deleted = args->buffer->deleted;
  return nullptr;
}

PJRT_Error* copy_to_device(PJRT_Buffer_CopyToDevice_Args* args) {
  if (PJRT_Error* failed = gone(args->buffer)) return failed;
  args->dst_buffer = make_buffer(args->buffer->type, args->dst_device, args->buffer->bytes.data());
  if (!args->dst_buffer) return error(PJRT_Error_Code_RESOURCE_EXHAUSTED, "copying to another device");
  args->dst_buffer->outcome = args->buffer->outcome;
  return nullptr;
}

PJRT_Error* to_host(PJRT_Buffer_ToHostBuffer_Args* args) {
  if (PJRT_Error* failed = gone(args->src)) return failed;
  const std::string& bytes = args->src->bytes;
  if (!args->dst) {
    args->dst_size = bytes.size();
    return nullptr;
  }
  if (args->dst_size < bytes.size()) {
    return error(PJRT_Error_Code_INVALID_ARGUMENT, "`dst_size` must be >= " + std::to_string(bytes.size()));
  }
  if (args->src->outcome.code == 0) std::memcpy(args->dst, bytes.data(), bytes.size());
  args->event = make_event(args->src->outcome);
  return nullptr;
}

PJRT_Error* ready_event(PJRT_Buffer_ReadyEvent_Args* args) {
  Outcome outcome = args->buffer->outcome;
  if (args->buffer->deleted) outcome = {PJRT_Error_Code_INVALID_ARGUMENT, "Buffer has been deleted or donated."};
  args->event = make_event(outcome);
  return nullptr;
}

PJRT_Error* unsafe_pointer(PJRT_Buffer_UnsafePointer_Args* args) {
  if (PJRT_Error* failed = gone(args->buffer)) return failed;
  args->buffer_pointer = reinterpret_cast<uintptr_t>(args->buffer->bytes.data());
  return nullptr;
}

}  // namespace

size_t ArrayType::bytes() const {
  size_t width = 4;
  switch (type) {
    case PJRT_Buffer_Type_PRED:
    case PJRT_Buffer_Type_S8:
    case PJRT_Buffer_Type_U8:
    case PJRT_Buffer_Type_F8E5M2:
    case PJRT_Buffer_Type_F8E4M3FN:
    case PJRT_Buffer_Type_F8E5M2FNUZ:
    case PJRT_Buffer_Type_F8E4M3FNUZ: width = 1; break;
    case PJRT_Buffer_Type_S16:
    case PJRT_Buffer_Type_U16:
    case PJRT_Buffer_Type_F16:
    case PJRT_Buffer_Type_BF16: width = 2; break;
    case PJRT_Buffer_Type_S64:
    case PJRT_Buffer_Type_U64:
    case PJRT_Buffer_Type_F64:
    case PJRT_Buffer_Type_C64: width = 8; break;
    case PJRT_Buffer_Type_C128: width = 16; break;
    default: break;
  }
  for (int64_t dim : dims) width *= static_cast<size_t>(dim);
  return width;
}

PJRT_Buffer* make_buffer(const ArrayType& type, PJRT_Device* device, const void* bytes) {
  size_t size = type.bytes();
  State& s = state();
  std::lock_guard<std::mutex> lock(s.mutex);
  if (s.memory_limit >= 0 && s.memory_used + static_cast<int64_t>(size) > s.memory_limit) return nullptr;
  s.memory_used += static_cast<int64_t>(size);
  s.memory_peak = std::max(s.memory_peak, s.memory_used);
  ++s.live["buffer"];
  auto* buffer = new PJRT_Buffer{.type = type, .device = device};
  buffer->bytes = bytes ? std::string(static_cast<const char*>(bytes), size) : std::string(size, '\0');
  return buffer;
}

void release(PJRT_Buffer& buffer) {
  if (buffer.deleted) return;
  buffer.deleted = true;
  buffer.bytes = std::string();
  State& s = state();
  std::lock_guard<std::mutex> lock(s.mutex);
  s.memory_used -= static_cast<int64_t>(buffer.type.bytes());
}

void add_buffer(Table& table) {
  add<PJRT_Buffer_Destroy_Args, destroy>(table, &PJRT_Api::PJRT_Buffer_Destroy);
  add<PJRT_Buffer_ElementType_Args, element_type>(table, &PJRT_Api::PJRT_Buffer_ElementType);
  add<PJRT_Buffer_Dimensions_Args, dimensions>(table, &PJRT_Api::PJRT_Buffer_Dimensions);
  add<PJRT_Buffer_OnDeviceSizeInBytes_Args, size_in_bytes>(table, &PJRT_Api::PJRT_Buffer_OnDeviceSizeInBytes);
  add<PJRT_Buffer_Delete_Args, delete_>(table, &PJRT_Api::PJRT_Buffer_Delete);
  add<PJRT_Buffer_IsDeleted_Args, is_deleted>(table, &PJRT_Api::PJRT_Buffer_IsDeleted);
  add<PJRT_Buffer_CopyToDevice_Args, copy_to_device>(table, &PJRT_Api::PJRT_Buffer_CopyToDevice);
  add<PJRT_Buffer_ToHostBuffer_Args, to_host>(table, &PJRT_Api::PJRT_Buffer_ToHostBuffer);
  add<PJRT_Buffer_ReadyEvent_Args, ready_event>(table, &PJRT_Api::PJRT_Buffer_ReadyEvent);
  add<PJRT_Buffer_UnsafePointer_Args, unsafe_pointer>(table, &PJRT_Api::PJRT_Buffer_UnsafePointer);
}

}  // namespace fake
