// Settings, counters and faults.
#include "fake_plugin/state.h"

#include <algorithm>
#include <cstring>

#include "fake_plugin/fake_plugin.h"
#include "fake_plugin/table.h"

namespace fake {

void fill_table();

State& state() {
  static State* shared = new State;
  return *shared;
}

PJRT_Error* error(int code, const std::string& text) {
  count_live("error", 1);
  return new PJRT_Error{code, text};
}

std::optional<Outcome> strike(std::vector<Fault>& faults, const std::string& entry) {
  for (size_t i = 0; i < faults.size(); ++i) {
    Fault& fault = faults[i];
    if (fault.entry != entry) continue;
    Outcome outcome{fault.code, fault.text};
    if (fault.nth == 0) return outcome;
    if (--fault.nth == 0) {
      faults.erase(faults.begin() + static_cast<std::ptrdiff_t>(i));
      return outcome;
    }
  }
  return std::nullopt;
}

PJRT_Error* enter(const std::string& entry, bool size_is_right) {
  std::optional<Outcome> struck;
  {
    State& s = state();
    std::lock_guard<std::mutex> lock(s.mutex);
    ++s.calls[entry];
    struck = strike(s.faults, entry);
  }
  if (struck) return error(struck->code, struck->text);
  if (!size_is_right) return error(PJRT_Error_Code_INVALID_ARGUMENT, entry + ": wrong struct_size");
  return nullptr;
}

void count_live(const char* kind, int64_t change) {
  State& s = state();
  std::lock_guard<std::mutex> lock(s.mutex);
  s.live[kind] += change;
}

}  // namespace fake

using fake::state;

extern "C" {

void fake_reset() {
  fake_release_events();
  auto& s = state();
  std::lock_guard<std::mutex> lock(s.mutex);
  s.calls.clear();
  s.faults.clear();
  s.event_faults.clear();
  s.poisons.clear();
  s.hold = false;
  s.num_devices = 2;
  s.memory_limit = -1;
  s.memory_peak = s.memory_used;
  s.outputs.reset();
  s.compiled_memory.reset();
  s.stablehlo_current = std::vector<int64_t>{1, 13, 0};
  s.stablehlo_minimum = std::vector<int64_t>{0, 9, 0};
  s.last_program.clear();
  s.last_options.clear();
  s.last_client_options.clear();
  s.last_non_donatable.clear();
  fake::fill_table();
}

int64_t fake_calls(const char* entry) {
  auto& s = state();
  std::lock_guard<std::mutex> lock(s.mutex);
  auto found = s.calls.find(entry);
  return found == s.calls.end() ? 0 : found->second;
}

void fake_fail(const char* entry, int nth, int code, const char* text) {
  auto& s = state();
  std::lock_guard<std::mutex> lock(s.mutex);
  s.faults.push_back({entry, nth, code, text});
}

void fake_fail_event(int nth, int code, const char* text) {
  auto& s = state();
  std::lock_guard<std::mutex> lock(s.mutex);
  s.event_faults.push_back({"", nth, code, text});
}

void fake_poison(int nth, int code, const char* text) {
  auto& s = state();
  std::lock_guard<std::mutex> lock(s.mutex);
  s.poisons.push_back({"", nth, code, text});
}

void fake_hide(const char* entry) {
  auto& t = fake::table();
  for (const auto& slot : t.slots) {
    if (slot.name == entry) std::memset(reinterpret_cast<char*>(&t.api) + slot.offset, 0, sizeof(void*));
  }
}

void fake_shorten(const char* entry) {
  auto& t = fake::table();
  for (const auto& slot : t.slots) {
    if (slot.name == entry) t.api.struct_size = slot.offset;
  }
}

void fake_set_api_version(int major, int minor) {
  fake::table().api.pjrt_api_version.major_version = major;
  fake::table().api.pjrt_api_version.minor_version = minor;
}

void fake_set_stablehlo_version(const int64_t* current, const int64_t* minimum) {
  auto& s = state();
  std::lock_guard<std::mutex> lock(s.mutex);
  s.stablehlo_current.reset();
  if (!current) return;
  s.stablehlo_current = std::vector<int64_t>(current, current + 3);
  s.stablehlo_minimum = std::vector<int64_t>(minimum, minimum + 3);
}

void fake_set_num_devices(int count) {
  auto& s = state();
  std::lock_guard<std::mutex> lock(s.mutex);
  s.num_devices = count;
}

void fake_set_outputs(size_t count, const int* types, const size_t* ranks, const int64_t* dims) {
  std::vector<fake::ArrayType> outputs;
  for (size_t i = 0; i < count; ++i) {
    outputs.push_back({static_cast<PJRT_Buffer_Type>(types[i]), std::vector<int64_t>(dims, dims + ranks[i])});
    dims += ranks[i];
  }
  auto& s = state();
  std::lock_guard<std::mutex> lock(s.mutex);
  s.outputs = std::move(outputs);
}

void fake_set_memory_limit(int64_t bytes) {
  auto& s = state();
  std::lock_guard<std::mutex> lock(s.mutex);
  s.memory_limit = bytes;
}

void fake_set_compiled_memory(int64_t arguments, int64_t outputs, int64_t aliased, int64_t temporaries, int64_t code,
                              int64_t peak) {
  auto& s = state();
  std::lock_guard<std::mutex> lock(s.mutex);
  s.compiled_memory = std::vector<int64_t>{arguments, outputs, aliased, temporaries, code, peak};
}

int64_t fake_live(const char* kind) {
  auto& s = state();
  std::lock_guard<std::mutex> lock(s.mutex);
  return s.live[kind];
}

const char* fake_last_program(size_t* size) {
  auto& s = state();
  std::lock_guard<std::mutex> lock(s.mutex);
  if (size) *size = s.last_program.size();
  return s.last_program.c_str();
}

const char* fake_last_options(size_t* size) {
  auto& s = state();
  std::lock_guard<std::mutex> lock(s.mutex);
  if (size) *size = s.last_options.size();
  return s.last_options.c_str();
}

const char* fake_last_client_options() {
  auto& s = state();
  std::lock_guard<std::mutex> lock(s.mutex);
  return s.last_client_options.c_str();
}

size_t fake_last_non_donatable(int64_t* indices, size_t capacity) {
  auto& s = state();
  std::lock_guard<std::mutex> lock(s.mutex);
  std::copy_n(s.last_non_donatable.begin(), std::min(capacity, s.last_non_donatable.size()), indices);
  return s.last_non_donatable.size();
}

}  // extern "C"
