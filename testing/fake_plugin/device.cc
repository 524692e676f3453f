#include <cstring>

#include "fake_plugin/table.h"

namespace fake {
namespace {

constexpr char kKind[] = "fake";
constexpr char kMemory[] = "device";

PJRT_Error* description(PJRT_Device_GetDescription_Args* args) {
  args->device_description = &args->device->description;
  return nullptr;
}

PJRT_Error* is_addressable(PJRT_Device_IsAddressable_Args* args) {
  args->is_addressable = true;
  return nullptr;
}

PJRT_Error* hardware_id(PJRT_Device_LocalHardwareId_Args* args) {
  args->local_hardware_id = args->device->description.id;
  return nullptr;
}

PJRT_Error* default_memory(PJRT_Device_DefaultMemory_Args* args) {
  args->memory = &args->device->memory;
  return nullptr;
}

PJRT_Error* memory_stats(PJRT_Device_MemoryStats_Args* args) {
  {
    State& s = state();
    std::lock_guard<std::mutex> lock(s.mutex);
    if (s.memory_limit >= 0) {
      args->bytes_in_use = s.memory_used;
      args->peak_bytes_in_use = s.memory_peak;
      args->peak_bytes_in_use_is_set = true;
      args->bytes_limit = s.memory_limit;
      args->bytes_limit_is_set = true;
      return nullptr;
    }
  }
  return error(PJRT_Error_Code_UNIMPLEMENTED, "memory statistics are not kept");
}

PJRT_Error* memory_kind(PJRT_Memory_Kind_Args* args) {
  args->kind = kMemory;
  args->kind_size = std::strlen(kMemory);
  return nullptr;
}

PJRT_Error* id(PJRT_DeviceDescription_Id_Args* args) {
  args->id = args->device_description->id;
  return nullptr;
}

PJRT_Error* process_index(PJRT_DeviceDescription_ProcessIndex_Args* args) {
  args->process_index = 0;
  return nullptr;
}

PJRT_Error* kind(PJRT_DeviceDescription_Kind_Args* args) {
  args->device_kind = kKind;
  args->device_kind_size = std::strlen(kKind);
  return nullptr;
}

PJRT_Error* to_string(PJRT_DeviceDescription_ToString_Args* args) {
  args->to_string = args->device_description->text.data();
  args->to_string_size = args->device_description->text.size();
  return nullptr;
}

PJRT_Error* debug_string(PJRT_DeviceDescription_DebugString_Args* args) {
  args->debug_string = args->device_description->text.data();
  args->debug_string_size = args->device_description->text.size();
  return nullptr;
}

PJRT_Error* attributes(PJRT_DeviceDescription_Attributes_Args* args) {
  static const int64_t kCoords[] = {1, 2, 3};
  static PJRT_NamedValue list[5];
  const char* names[] = {"text", "number", "coords", "real", "flag"};
  for (int i = 0; i < 5; ++i) {
    list[i] = {.struct_size = sizeof(list[i]), .name = names[i], .name_size = std::strlen(names[i])};
    list[i].type = static_cast<PJRT_NamedValue_Type>(i);
    list[i].value_size = 1;
  }
  list[0].string_value = kKind;
  list[0].value_size = std::strlen(kKind);
  list[1].int64_value = -7;
  list[2].int64_array_value = kCoords;
  list[2].value_size = 3;
  list[3].float_value = 0.5f;
  list[4].bool_value = true;
  args->attributes = list;
  args->num_attributes = 5;
  return nullptr;
}

}  // namespace

void add_device(Table& table) {
  add<PJRT_Device_GetDescription_Args, description>(table, &PJRT_Api::PJRT_Device_GetDescription);
  add<PJRT_Device_IsAddressable_Args, is_addressable>(table, &PJRT_Api::PJRT_Device_IsAddressable);
  add<PJRT_Device_LocalHardwareId_Args, hardware_id>(table, &PJRT_Api::PJRT_Device_LocalHardwareId);
  add<PJRT_Device_DefaultMemory_Args, default_memory>(table, &PJRT_Api::PJRT_Device_DefaultMemory);
  add<PJRT_Device_MemoryStats_Args, memory_stats>(table, &PJRT_Api::PJRT_Device_MemoryStats);
  add<PJRT_Memory_Kind_Args, memory_kind>(table, &PJRT_Api::PJRT_Memory_Kind);
  add<PJRT_DeviceDescription_Id_Args, id>(table, &PJRT_Api::PJRT_DeviceDescription_Id);
  add<PJRT_DeviceDescription_ProcessIndex_Args, process_index>(table, &PJRT_Api::PJRT_DeviceDescription_ProcessIndex);
  add<PJRT_DeviceDescription_Kind_Args, kind>(table, &PJRT_Api::PJRT_DeviceDescription_Kind);
  add<PJRT_DeviceDescription_ToString_Args, to_string>(table, &PJRT_Api::PJRT_DeviceDescription_ToString);
  add<PJRT_DeviceDescription_DebugString_Args, debug_string>(table, &PJRT_Api::PJRT_DeviceDescription_DebugString);
  add<PJRT_DeviceDescription_Attributes_Args, attributes>(table, &PJRT_Api::PJRT_DeviceDescription_Attributes);
}

}  // namespace fake
