// The Python module torch_pjrt.bridge.<torch>._C: start-up, statistics, and the calls behind torch.tpu.

#include <torch/csrc/DynamicTypes.h>
#include <torch/csrc/jit/python/pybind_utils.h>
#include <torch/csrc/utils/pybind.h>
#include <torch/csrc/utils/tensor_memoryformats.h>

#include "base/env.h"
#include "torch_bridge/bindings.h"
#include "torch_bridge/capture.h"
#include "torch_bridge/dispatch.h"
#include "torch_bridge/errors.h"
#include "torch_bridge/pending.h"
#include "torch_bridge/recompute.h"
#include "torch_bridge/runtime.h"

namespace py = pybind11;

namespace tp::bridge {
namespace {

// --- start-up

void init(const std::string& plugin_path) {
  TORCH_CHECK(!runner_or_null(), "tpu is already initialised");
  Result<std::unique_ptr<Runner>> made = [&] {
    py::gil_scoped_release unlocked;
    return Runner::create(plugin_path);
  }();
  if (!made.ok()) throw_error(std::move(made.error()));
  set_runner(std::move(made).value());
}

py::object* g_lazy_init = nullptr;

void start_lazily() {
  py::gil_scoped_acquire locked;
  TORCH_CHECK(g_lazy_init, "torch_pjrt was not imported");
  (*g_lazy_init)();
}

py::dict device_info(int index) {
  Client& client = runner().client();
  TORCH_CHECK(index >= 0 && index < static_cast<int>(runner().devices().size()), "there is no tpu:", index);
  Device device = runner().devices()[index];
  py::dict info;
  info["id"] = device.id();
  info["kind"] = device.kind();
  info["platform"] = client.platform_name();
  info["platform_version"] = client.platform_version();
  info["process_index"] = device.process_index();
  info["total_memory"] = runner().total_memory(index);
  info["plugin"] = client.plugin().path();
  info["pjrt_api_version"] = py::make_tuple(client.plugin().api_version().first, client.plugin().api_version().second);
  return info;
}

// --- statistics

py::dict compile_stats() {
  py::dict out;
  Runner* run = runner_or_null();
  const RunnerStats stats = run ? run->stats() : RunnerStats();
  out["compiles"] = run ? run->compile_stats().compiles.load() : 0;
  out["disk_hits"] = run ? run->compile_stats().disk_hits.load() : 0;
  out["compile_seconds"] = run ? static_cast<double>(run->compile_stats().nanoseconds.load()) * 1e-9 : 0.0;
  out["cache_hits"] = stats.cache_hits;
  out["executions"] = stats.executions;
  out["host_syncs"] = stats.host_syncs;
  out["uploads"] = stats.uploads;
  out["downloads"] = stats.downloads;
  out["programs"] = run ? run->programs() : 0;
  out["live_nodes"] = live_nodes();
  int64_t buffers = 0;
  size_t devices = run ? run->devices().size() : 0;
  for (size_t d = 0; d < devices; ++d) buffers += run->memory(static_cast<int>(d)).buffers();
  out["buffers"] = buffers;
  return out;
}

void reset_stats() {
  if (Runner* run = runner_or_null()) run->reset_stats();
  reset_op_stats();
}

// --- decompositions through Python

py::object* g_find_decomposition = nullptr;

// By op: PyTorch's decomposition, or None. Under the GIL.
py::object decomposition_of(const c10::OperatorHandle& op) {
  static auto* known = new std::unordered_map<const void*, py::object>;  // outlives the interpreter's teardown
  auto [it, fresh] = known->try_emplace(&op.schema());
  if (fresh) it->second = (*g_find_decomposition)(op.operator_name().name, op.operator_name().overload_name);
  return it->second;
}

// Dtypes, layouts and memory formats lie on the stack as numbers.
py::object to_python(const c10::IValue& value, const c10::Argument& argument) {
  if (!value.isInt()) return torch::jit::toPyObject(value);
  const c10::Type* type = argument.real_type().get();
  if (const auto* optional = type->castRaw<c10::OptionalType>()) type = optional->getElementType().get();
  PyObject* object = nullptr;
  switch (type->kind()) {
    case c10::TypeKind::ScalarTypeType:
      object = reinterpret_cast<PyObject*>(torch::getTHPDtype(value.toScalarType()));
      break;
    case c10::TypeKind::LayoutType: object = reinterpret_cast<PyObject*>(torch::getTHPLayout(value.toLayout())); break;
    case c10::TypeKind::MemoryFormatType: object = torch::utils::getTHPMemoryFormat(value.toMemoryFormat()); break;
    default: return torch::jit::toPyObject(value);
  }
  return py::reinterpret_borrow<py::object>(object);
}

bool decompose(const c10::OperatorHandle& op, torch::jit::Stack* stack) {
  if (!g_find_decomposition) return false;
  py::gil_scoped_acquire locked;
  py::object function = decomposition_of(op);
  if (function.is_none()) return false;
  const c10::FunctionSchema& schema = op.schema();
  size_t count = schema.arguments().size();
  py::list positional;
  py::dict keywords;
  for (size_t i = 0; i < count; ++i) {
    py::object value = to_python((*stack)[stack->size() - count + i], schema.arguments()[i]);
    if (schema.arguments()[i].kwarg_only())
      keywords[py::str(schema.arguments()[i].name())] = value;
    else
      positional.append(value);
  }
  py::object result = function(*py::tuple(positional), **keywords);
  if (result.ptr() == Py_NotImplemented) return false;
  torch::jit::drop(*stack, count);
  const auto& returns = schema.returns();
  if (returns.size() == 1) {
    stack->push_back(torch::jit::toIValue(result, returns[0].real_type()));
  } else if (returns.size() > 1) {
    py::sequence parts = py::cast<py::sequence>(result);
    for (size_t i = 0; i < returns.size(); ++i)
      stack->push_back(torch::jit::toIValue(parts[i], returns[i].real_type()));
  }
  return true;
}

// --- captures

std::shared_ptr<Capture> record(std::vector<at::Tensor> inputs, const py::function& body) {
  return Capture::record(std::move(inputs), [&] { return py::cast<std::vector<at::Tensor>>(body()); });
}

void bind_start(py::module_& m) {
  m.def("init", &init, py::arg("plugin_path"),
        "Loads the plugin and makes its client; RuntimeError says what is wrong.");
  m.def("is_initialized", [] { return runner_or_null() != nullptr; });
  m.def("set_lazy_init", [](py::object start) {
    g_lazy_init = new py::object(std::move(start));
    set_lazy_init(&start_lazily);
  });
  m.def("in_bad_fork", &in_bad_fork);
  m.def("device_info", &device_info);
  m.def("env_table", [] {
    py::list rows;
    for (const EnvRow& row : env_table()) rows.append(py::make_tuple(row.name, row.meaning, row.value));
    return rows;
  });
  m.def("cache_dir", [] { return env().cache_dir; });
  m.def("run_pending", [] {
    py::gil_scoped_release unlocked;
    run_pending();
  });
  m.def("after_all_so_far", &after_all_so_far, py::call_guard<py::gil_scoped_release>());
}

void bind_statistics(py::module_& m) {
  m.def("compile_stats", &compile_stats);
  m.def("reset_stats", &reset_stats);
  m.def("lowered_stats", &lowered_stats);
  m.def("decomposition_stats", &decomposition_stats);
  m.def("fallback_stats", &fallback_stats);
  m.def("reset_op_stats", &reset_op_stats);
  m.def("set_decomposition", [](py::object find) {
    g_find_decomposition = new py::object(std::move(find));
    set_decompose(&decompose);
  });
  m.def("set_fallback_mode", [](const std::string& mode) {
    if (mode != "warn" && mode != "error")
      throw py::value_error("expected \"warn\" or \"error\", got \"" + mode + "\"");
    set_fallback_mode(mode == "error" ? FallbackMode::error : FallbackMode::warn);
  });
  m.def("fallback_mode", [] { return fallback_mode() == FallbackMode::error ? "error" : "warn"; });
  m.def("set_sync_debug_mode", &set_sync_debug_mode);
  m.def("get_sync_debug_mode", &sync_debug_mode);
  m.def("set_detect_nan", &set_detect_nan);
  m.def("get_detect_nan", &detect_nan);
}

void bind_capture(py::module_& m) {
  py::class_<Capture, std::shared_ptr<Capture>>(m, "Capture")
      .def_static("record", &record, py::arg("inputs"), py::arg("body"))
      .def("__call__", [](Capture& self, const std::vector<at::Tensor>& inputs) {
        py::gil_scoped_release unlocked;
        return self.call(inputs);
      });
}

}  // namespace
}  // namespace tp::bridge

PYBIND11_MODULE(_C, m) {
  tp::bridge::bind_start(m);
  tp::bridge::bind_statistics(m);
  tp::bridge::bind_capture(m);
  tp::bridge::bind_device(m);
  tp::bridge::register_ops();
}
