#include "fake_plugin/table.h"

#include <cstring>

namespace fake {
namespace {

PJRT_Error* initialize(PJRT_Plugin_Initialize_Args*) { return nullptr; }

PJRT_NamedValue named(const char* name, const std::vector<int64_t>& values) {
  PJRT_NamedValue value{.struct_size = sizeof(value), .name = name, .name_size = std::strlen(name)};
  value.type = PJRT_NamedValue_kInt64List;
  value.int64_array_value = values.data();
  value.value_size = values.size();
  return value;
}

PJRT_Error* attributes(PJRT_Plugin_Attributes_Args* args) {
  static std::vector<PJRT_NamedValue> list;
  State& s = state();
  std::lock_guard<std::mutex> lock(s.mutex);
  list.clear();
  if (s.stablehlo_current) {
    list.push_back(named("stablehlo_current_version", *s.stablehlo_current));
    list.push_back(named("stablehlo_minimum_version", *s.stablehlo_minimum));
  }
  args->attributes = list.data();
  args->num_attributes = list.size();
  return nullptr;
}

void error_destroy(PJRT_Error_Destroy_Args* args) {
  (void)enter("PJRT_Error_Destroy", true);
  if (args->error) count_live("error", -1);
  delete args->error;
}

void error_message(PJRT_Error_Message_Args* args) {
  (void)enter("PJRT_Error_Message", true);
  args->message = args->error->text.data();
  args->message_size = args->error->text.size();
}

PJRT_Error* error_get_code(PJRT_Error_GetCode_Args* args) {
  args->code = static_cast<PJRT_Error_Code>(args->error->code);
  return nullptr;
}

PJRT_Extension_Base example{.struct_size = sizeof(example), .type = PJRT_Extension_Type_Example, .next = nullptr};
PJRT_Extension_Base unknown{.struct_size = sizeof(unknown), .type = PJRT_Extension_Type_Unknown, .next = &example};

}  // namespace

std::string entry_name(const std::type_info& args) {
  std::string name = args.name();
  name.erase(0, name.find_first_not_of("0123456789"));
  return name.substr(0, name.rfind("_Args"));
}

Table& table() {
  static Table* shared = new Table;
  return *shared;
}

// Fills the table anew, so that hidden entries come back.
void fill_table() {
  Table& t = table();
  t.slots.clear();
  t.api = PJRT_Api{.struct_size = sizeof(PJRT_Api), .extension_start = &unknown};
  t.api.pjrt_api_version = {
      .struct_size = sizeof(PJRT_Api_Version), .major_version = PJRT_API_MAJOR, .minor_version = PJRT_API_MINOR};
  t.api.PJRT_Error_Destroy = error_destroy;
  add_slot(t, &PJRT_Api::PJRT_Error_Destroy, "PJRT_Error_Destroy");
  t.api.PJRT_Error_Message = error_message;
  add_slot(t, &PJRT_Api::PJRT_Error_Message, "PJRT_Error_Message");
  add<PJRT_Error_GetCode_Args, error_get_code>(t, &PJRT_Api::PJRT_Error_GetCode);
  add<PJRT_Plugin_Initialize_Args, initialize>(t, &PJRT_Api::PJRT_Plugin_Initialize);
  add<PJRT_Plugin_Attributes_Args, attributes>(t, &PJRT_Api::PJRT_Plugin_Attributes);
  add_event(t);
  add_client(t);
  add_device(t);
  add_buffer(t);
  add_executable(t);
  add_topology(t);
}

}  // namespace fake

extern "C" const PJRT_Api* GetPjrtApi() {
  static bool once = (fake::fill_table(), true);
  (void)once;
  return &fake::table().api;
}
