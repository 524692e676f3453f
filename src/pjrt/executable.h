#pragma once
// Compiled programs. An Executable is inert (it can be inspected and serialised); a LoadedExecutable runs on
// its client's devices. Move-only; all methods are thread-safe. Neither may outlive its client or topology.

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/dims.h"
#include "base/dtype.h"
#include "base/error.h"
#include "pjrt/buffer.h"
#include "pjrt/device.h"
#include "pjrt/event.h"
#include "pjrt/named_value.h"

struct PJRT_Executable;
struct PJRT_LoadedExecutable;

namespace tp {

// Bytes on one device. What a launch needs: arguments + outputs - aliased + temporaries + code.
struct CompiledMemoryStats {
  int64_t arguments = 0;
  int64_t outputs = 0;
  int64_t aliased = 0;  // of the arguments, reused for outputs
  int64_t temporaries = 0;
  int64_t code = 0;
  int64_t peak = 0;  // 0 when the plugin is too old to say
};

struct OutputType {
  Dtype dtype = Dtype::f32;
  Dims dims;
};

struct OptimizedProgram {
  std::string format;  // "hlo_with_config", "hlo" or "mlir"
  std::string code;
};

class Executable {
 public:
  Executable() = default;
  // Takes the handle.
  Executable(const Plugin& plugin, PJRT_Executable* executable);

  Result<std::string> name() const;
  // A device's outputs.
  Result<size_t> num_outputs() const;
  // One device's part where an output is sharded.
  Result<std::vector<OutputType>> output_types() const;
  Result<CompiledMemoryStats> memory_stats() const;
  Result<std::string> serialize() const;
  // Bytes, not text, on libtpu.
  Result<std::string> fingerprint() const;
  Result<OptimizedProgram> optimized_program() const;
  // "flops", "bytes accessed", …; platforms differ.
  Result<NamedValues> cost_analysis() const;
  // Bytes; -1 where the plugin does not know.
  Result<int64_t> code_size() const;

 private:
  struct Destroy {
    const Plugin* plugin;
    void operator()(PJRT_Executable* executable) const;
  };
  const Plugin& plugin() const { return *executable_.get_deleter().plugin; }

  std::unique_ptr<PJRT_Executable, Destroy> executable_;
};

struct ExecuteOptions {
  // Arguments that the program would donate but somebody still needs.
  std::span<const int64_t> non_donatable = {};
  // Where a portable program runs; others run where they were compiled for.
  std::optional<Device> device = std::nullopt;
  // Orders launches that span hosts; 0 is "alone".
  int launch_id = 0;
};

class LoadedExecutable {
 public:
  LoadedExecutable() = default;
  // Takes the handle; reads the number of outputs once.
  static Result<LoadedExecutable> create(const Plugin& plugin, PJRT_LoadedExecutable* executable);

  // Starts the program on one device and returns at once; the outputs become ready later, or carry its error.
  // `done`, when given, becomes the end of the work on the device.
  Result<std::vector<Buffer>> execute(std::span<PJRT_Buffer* const> arguments, const ExecuteOptions& options = {},
                                      Event* done = nullptr) const;
  // One list of arguments, and of outputs, a device, in the order of the device assignment.
  Result<std::vector<std::vector<Buffer>>> execute_on_all(std::span<const std::vector<PJRT_Buffer*>> arguments,
                                                          const ExecuteOptions& options = {},
                                                          std::vector<Event>* done = nullptr) const;

  // The inert part: output types, memory statistics, serialize() and so on.
  const Executable& executable() const { return inert_; }
  // A device's outputs.
  size_t num_outputs() const { return num_outputs_; }
  // Gives back what the program holds on the device; only running it is then refused.
  Status delete_();
  Result<bool> is_deleted() const;

 private:
  struct Destroy {
    const Plugin* plugin;
    void operator()(PJRT_LoadedExecutable* executable) const;
  };
  const Plugin& plugin() const { return *executable_.get_deleter().plugin; }

  std::unique_ptr<PJRT_LoadedExecutable, Destroy> executable_;
  Executable inert_;
  size_t num_outputs_ = 0;
};

}  // namespace tp
