#pragma once
// Runs what is pending: region -> program -> executable -> buffers. Owns the client, the compile caches and the
// memory accounts of a process. Every call takes the graph's lock; nodes are only touched under it.

#include <deque>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "exec/device_buffer.h"
#include "exec/program_table.h"
#include "exec/trace.h"

namespace tp {

struct RunnerStats {
  int64_t executions = 0, cache_hits = 0, host_syncs = 0, uploads = 0, downloads = 0;
};

// A program over placeholders, for torch.compile and export.
struct CapturedProgram {
  std::shared_ptr<LoadedProgram> loaded;
  std::vector<int> argument_of;  // by program parameter: which placeholder, or -1 for a constant leaf
  std::vector<Value> constants;  // by program parameter: the leaf, where argument_of is -1
  std::vector<uint8_t> updated;  // by placeholder
  std::vector<int> output_of;    // by asked output: program result, or -1 - k for placeholder k handed through
  std::vector<Value> fixed;      // by asked output: a leaf that no input changes
  std::vector<Type> types;       // by asked output
  // Random numbers: the captured words are replaced by the generator's own at each call.
  struct Random {
    size_t packing;  // index in Program::packing
    bool is_offset;
    uint64_t delta;
  };
  std::vector<Random> random;
  std::vector<int32_t> words;
  uint64_t random_blocks = 0;  // what one call takes from the generator
};

class Runner {
 public:
  static Result<std::unique_ptr<Runner>> create(const std::string& plugin_path);
  ~Runner();

  std::recursive_mutex& mutex() { return mutex_; }
  Client& client() { return *client_; }
  // Those that torch sees; its device index is the position here.
  std::span<const Device> devices() const { return devices_; }
  const Target& target() const { return target_; }

  // Makes leaves of the roots (all on one device). `live` are the nodes that storages hold, for operations with
  // several results. Returns when the work is launched.
  Status run(std::span<Node* const> roots, std::span<Node* const> live = {});
  // Copies during the call.
  Result<Value> upload(const void* data, const Type& type, int device);
  // Waits for the leaf and copies it; then raises what device-side checks found.
  Status download(Node* leaf, void* destination, size_t bytes);
  Result<Value> copy_to_device(const Value& leaf, int device);
  // Waits for everything launched on the device.
  Status synchronize(int device);

  // A device-side check, to be looked at with the next host read.
  void add_check(Value flag, Error error);
  // Checks that are added from now on belong to a captured graph: end_checks gives their flags as one bool[n] (empty
  // when there are none), and each call of the graph hands the flags it computed to launch_checks.
  size_t begin_checks() { return pending_checks_.size(); }
  Value end_checks(size_t begin, std::vector<Error>& errors);
  void launch_checks(Value flags, std::vector<Error> errors);

  // `updated`, by placeholder: its storage gets a new value, so the call may reuse its bytes. `offset` is the random
  // stream's place when the capture began, `blocks` what it took.
  Result<std::unique_ptr<CapturedProgram>> capture(std::span<const Value> placeholders,
                                                   std::span<const uint8_t> updated, std::span<const Value> outputs,
                                                   uint64_t offset, uint64_t blocks);
  Result<Values> run_captured(CapturedProgram& captured, std::span<const Value> arguments, uint64_t seed,
                              uint64_t offset, int device);

  MemoryAccount& memory(int device) { return *accounts_[device]; }
  int64_t total_memory(int device) const { return totals_[device]; }
  const RunnerStats& stats() const { return stats_; }
  Trace& trace() { return *trace_; }
  const CompileStats& compile_stats() const { return compiler_->stats(); }
  int64_t programs() const { return table_.programs(); }
  void reset_stats();
  // Forgets loaded programs; the disk keeps them.
  void drop_programs() { table_.clear(); }

 private:
  Runner() = default;
  Result<std::shared_ptr<LoadedProgram>> program_for(const Region& region, const std::vector<uint8_t>& wanted,
                                                     int device);
  Result<std::shared_ptr<LoadedProgram>> load(Program program, const Region& region, int device);
  Result<std::vector<Buffer>> launch(LoadedProgram& loaded, std::vector<PJRT_Buffer*> arguments,
                                     std::span<const int32_t> words, std::span<const int64_t> withheld, int device);
  void trace_launch(const LoadedProgram& loaded, const Buffer& output, int64_t launched, int device);
  Status check_memory(const LoadedProgram& loaded, size_t withheld, int device);
  std::shared_ptr<DeviceBuffer> adopt(Buffer buffer, const Type& type, int device);
  std::vector<Value> take_checks();
  Status raise_checks();

  std::recursive_mutex mutex_;
  std::shared_ptr<Plugin> plugin_;
  std::unique_ptr<Client> client_;
  std::span<const Device> devices_;
  std::unique_ptr<Compiler> compiler_;
  Target target_;
  ProgramTable table_;
  RunnerStats stats_;
  std::shared_ptr<Trace> trace_ = std::make_shared<Trace>();  // shared with what is in flight
  std::vector<std::shared_ptr<MemoryAccount>> accounts_;      // by device
  std::vector<int64_t> totals_;
  std::vector<std::deque<Event>> in_flight_;  // by device

  struct Check {
    Value flag;
    Error error;
  };
  std::vector<Check> pending_checks_;  // not launched yet
  struct LaunchedChecks {
    Value flags;  // bool[n]
    std::vector<Error> errors;
  };
  std::vector<LaunchedChecks> launched_checks_;
};

}  // namespace tp
