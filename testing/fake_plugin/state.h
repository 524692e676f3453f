#pragma once
// What the fake plugin keeps: its settings, and the C API's opaque types.

#include <condition_variable>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "pjrt_c_api.h"

namespace fake {

struct Fault {
  std::string entry;
  int nth = 0;  // calls still to come before it strikes, the striking one included; 0: always
  int code = 0;
  std::string text;
};

struct ArrayType {
  PJRT_Buffer_Type type = PJRT_Buffer_Type_F32;
  std::vector<int64_t> dims;
  size_t bytes() const;
};

struct Program {
  std::string text;
  std::vector<ArrayType> arguments, outputs;
  std::vector<bool> donated;                   // per argument
  std::optional<std::vector<int64_t>> memory;  // arguments, outputs, aliased, temporaries, code, peak
};

struct Outcome {
  int code = 0;  // 0: success
  std::string text;
};

struct EventState {
  bool ready = true;
  Outcome outcome;
  std::vector<std::pair<PJRT_Event_OnReadyCallback, void*>> callbacks;
};

struct State {
  std::mutex mutex;
  std::condition_variable released;
  std::map<std::string, int64_t> calls, live;
  std::vector<Fault> faults, event_faults, poisons;
  bool hold = false;
  std::vector<std::shared_ptr<EventState>> held;
  int num_devices = 2;
  int64_t memory_limit = -1, memory_used = 0, memory_peak = 0;
  std::optional<std::vector<ArrayType>> outputs;
  std::optional<std::vector<int64_t>> compiled_memory;
  std::optional<std::vector<int64_t>> stablehlo_current, stablehlo_minimum;
  std::string last_program, last_options, last_client_options;
  std::vector<int64_t> last_non_donatable;
};
State& state();

// Counts a call; gives the error that it has to end with.
PJRT_Error* enter(const std::string& entry, bool size_is_right);
PJRT_Error* error(int code, const std::string& text);
// Whether a fault of the list strikes now.
std::optional<Outcome> strike(std::vector<Fault>& faults, const std::string& entry);
void count_live(const char* kind, int64_t change);
// `immediate` ones are not held back.
PJRT_Event* make_event(const Outcome& outcome, bool immediate = false);

// Reads the types of "@main(...) -> ...".
Program parse_program(const std::string& text);

// The table's parts, one per file.
struct Table;
void add_client(Table& table);
void add_device(Table& table);
void add_buffer(Table& table);
void add_event(Table& table);
void add_executable(Table& table);
void add_topology(Table& table);

}  // namespace fake

struct PJRT_Error {
  int code;
  std::string text;
};
struct PJRT_Event {
  std::shared_ptr<fake::EventState> state;
};
struct PJRT_Memory {
  int id;
};
struct PJRT_DeviceDescription {
  int id;
  std::string text;
};
struct PJRT_Device {
  PJRT_DeviceDescription description;
  PJRT_Memory memory;
};
struct PJRT_TopologyDescription {
  std::string name;
  std::vector<PJRT_DeviceDescription> devices;
  std::vector<PJRT_DeviceDescription*> handles;
};
struct PJRT_Client {
  std::vector<PJRT_Device> devices;
  std::vector<PJRT_Device*> handles;
  PJRT_TopologyDescription topology;
};
struct PJRT_Buffer {
  fake::ArrayType type;
  std::string bytes;
  PJRT_Device* device;
  fake::Outcome outcome;
  bool deleted = false;
};
struct PJRT_Executable {
  fake::Program program;
  std::vector<PJRT_Buffer_Type> types;
  std::vector<int64_t> dims;
  std::vector<size_t> ranks;
};
struct PJRT_LoadedExecutable {
  PJRT_Client* client;
  fake::Program program;
  bool deleted = false;
};

namespace fake {

// Gives nullptr when the memory limit is passed.
PJRT_Buffer* make_buffer(const ArrayType& type, PJRT_Device* device, const void* bytes);
// Drops the bytes.
void release(PJRT_Buffer& buffer);
PJRT_TopologyDescription make_topology(const std::string& name, int devices);

}  // namespace fake
