// The calls behind torch.tpu: devices, memory, random numbers.

#include <torch/csrc/Generator.h>

#include "torch_bridge/allocator.h"
#include "torch_bridge/bindings.h"
#include "torch_bridge/errors.h"
#include "torch_bridge/generator.h"
#include "torch_bridge/guard.h"
#include "torch_bridge/runtime.h"

namespace py = pybind11;

namespace tp::bridge {
namespace {

using ReleaseGil = py::call_guard<py::gil_scoped_release>;

py::dict memory_stats(int device) {
  auto stats = [&] {
    py::gil_scoped_release unlocked;
    return device_allocator().getDeviceStats(static_cast<c10::DeviceIndex>(device));
  }();
  const auto& bytes = stats.allocated_bytes[0];
  py::dict out;
  out["allocated_bytes.all.current"] = bytes.current;
  out["allocated_bytes.all.peak"] = bytes.peak;
  out["reserved_bytes.all.current"] = bytes.current;
  out["reserved_bytes.all.peak"] = bytes.peak;
  out["active_bytes.all.current"] = bytes.current;
  out["active_bytes.all.peak"] = bytes.peak;
  out["allocation.all.current"] = stats.allocation[0].current;
  return out;
}

void set_memory_limit(int device, int64_t bytes) {
  TORCH_CHECK_VALUE(bytes > 0, "expected a positive number of bytes, got ", bytes);
  Runner& run = runner();
  TORCH_CHECK(device >= 0 && device < device_count(), "there is no tpu:", device);
  run.memory(device).set_limit(bytes);
}

py::object default_generator_object(int device) {
  return py::reinterpret_steal<py::object>(THPGenerator_Wrap(default_generator(device)));
}

}  // namespace

void bind_device(py::module_& m) {
  m.def("device_count", &device_count, ReleaseGil());
  m.def("current_device", &current_device);
  m.def("set_device", &set_device, ReleaseGil());
  m.def("synchronize", &synchronize, py::arg("device"), ReleaseGil());
  m.def("current_stream_id", &current_stream_id);

  m.def("memory_stats", &memory_stats, py::arg("device"));
  m.def(
      "mem_get_info",
      [](int device) { return device_allocator().getMemoryInfo(static_cast<c10::DeviceIndex>(device)); },
      py::arg("device"), ReleaseGil(), "(free, total) in bytes.");
  m.def(
      "reset_peak_memory_stats",
      [](int device) { device_allocator().resetPeakStats(static_cast<c10::DeviceIndex>(device)); }, py::arg("device"),
      ReleaseGil());
  m.def("empty_cache", [] { device_allocator().emptyCache({}); }, ReleaseGil());
  m.def("set_memory_limit", &set_memory_limit, py::arg("device"), py::arg("bytes"));

  m.def("default_generator", &default_generator_object, py::arg("device"));
  m.def("manual_seed_all", &manual_seed_all, py::arg("seed"));
}

}  // namespace tp::bridge
