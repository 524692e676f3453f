// torch.profiler's view of the device: programs, transfers and compilations as Kineto's activities.

#if __has_include(<torch/csrc/profiler/standalone/privateuse1_profiler.h>)

#include <torch/csrc/profiler/standalone/privateuse1_profiler.h>

#include <ATen/Context.h>
#include <Python.h>
#include <libkineto.h>

#include "torch_bridge/guard.h"
#include "torch_bridge/runtime.h"

namespace tp::bridge {
namespace {

using libkineto::ActivityType;
using libkineto::GenericTraceActivity;

// Rows of a device in a trace viewer.
enum Row : int32_t { kPrograms = 0, kTransfers = 1, kCompiler = 2 };

// Waits for all devices, without Python's lock: who holds the graph's lock may want that one.
void finish_all() {
  Runner* run = runner_or_null();
  if (!run) return;
  bool held = Py_IsInitialized() && PyGILState_Check();
  PyThreadState* python = held ? PyEval_SaveThread() : nullptr;
  for (int device = 0; device < static_cast<int>(run->devices().size()); ++device) {
    try {
      synchronize(device);
    } catch (const std::exception& error) {
      TORCH_WARN("the profiler waited for tpu:", device, ", where work failed: ", error.what());
    }
  }
  if (python) PyEval_RestoreThread(python);
}

ActivityType type_of(Span::Kind kind) {
  switch (kind) {
    case Span::Kind::program: return ActivityType::CONCURRENT_KERNEL;
    case Span::Kind::compile: return ActivityType::PRIVATEUSE1_RUNTIME;
    default: return ActivityType::GPU_MEMCPY;
  }
}

Row row_of(Span::Kind kind) {
  switch (kind) {
    case Span::Kind::program: return kPrograms;
    case Span::Kind::compile: return kCompiler;
    default: return kTransfers;
  }
}

class Session final : public libkineto::IActivityProfilerSession {
 public:
  explicit Session(std::set<ActivityType> wanted) : wanted_(std::move(wanted)) {}

  void start() override {
    finish_all();
    if (Runner* run = runner_or_null()) run->trace().start();
    status_ = libkineto::TraceStatus::RECORDING;
  }

  void stop() override {
    finish_all();
    if (Runner* run = runner_or_null()) spans_ = run->trace().stop();
    status_ = libkineto::TraceStatus::PROCESSING;
  }

  std::vector<std::string> errors() override { return {}; }
  std::unique_ptr<libkineto::DeviceInfo> getDeviceInfo() override { return nullptr; }
  std::vector<libkineto::ResourceInfo> getResourceInfos() override {
    std::vector<libkineto::ResourceInfo> rows;
    for (int64_t device = 0; runner_or_null() && device < static_cast<int64_t>(runner().devices().size()); ++device) {
      rows.push_back({kPrograms, kPrograms, device, "programs"});
      rows.push_back({kTransfers, kTransfers, device, "transfers"});
      rows.push_back({kCompiler, kCompiler, device, "compiler"});
    }
    return rows;
  }

  void processTrace(libkineto::ActivityLogger& logger) override {
    for (const Span& span : spans_) {
      if (!wanted_.contains(type_of(span.kind))) continue;
      buffer_->emplace_activity(buffer_->span, type_of(span.kind), span.name);
      GenericTraceActivity& activity = *buffer_->activities.back();
      activity.startTime = span.start;
      activity.endTime = span.end;
      activity.device = span.device;
      activity.resource = row_of(span.kind);
      bool program = span.kind == Span::Kind::program || span.kind == Span::Kind::compile;
      activity.addMetadata(program ? "nodes" : "bytes", span.amount);
      activity.log(logger);
    }
    spans_.clear();
  }
  // The logger refers to the activities.
  std::unique_ptr<libkineto::CpuTraceBuffer> getTraceBuffer() override { return std::move(buffer_); }

 private:
  std::set<ActivityType> wanted_;
  std::vector<Span> spans_;
  std::unique_ptr<libkineto::CpuTraceBuffer> buffer_ = std::make_unique<libkineto::CpuTraceBuffer>();
};

class Profiler final : public libkineto::IActivityProfiler {
 public:
  const std::string& name() const override { return name_; }
  const std::set<ActivityType>& availableActivities() const override { return types_; }
  std::unique_ptr<libkineto::IActivityProfilerSession> configure(const std::set<ActivityType>& types,
                                                                 const libkineto::Config&) override {
    return std::make_unique<Session>(types);
  }
  std::unique_ptr<libkineto::IActivityProfilerSession> configure(int64_t, int64_t, const std::set<ActivityType>& types,
                                                                 const libkineto::Config& config) override {
    return configure(types, config);
  }

 private:
  std::string name_ = "tpu";
  std::set<ActivityType> types_ = {ActivityType::CONCURRENT_KERNEL, ActivityType::GPU_MEMCPY,
                                   ActivityType::PRIVATEUSE1_RUNTIME};
};

REGISTER_PRIVATEUSE1_PROFILER(Profiler);

}  // namespace
}  // namespace tp::bridge

#endif
