#include "torch_bridge/dispatch.h"

#include <ATen/MemoryOverlap.h>
#include <ATen/core/LegacyTypeDispatch.h>
#include <ATen/native/CPUFallback.h>
#include <ATen/native/Resize.h>
#include <torch/library.h>

#include <algorithm>
#include <atomic>
#include <memory>
#include <mutex>

#include "ops/promote.h"
#include "torch_bridge/args.h"
#include "torch_bridge/data_dependent.h"
#include "torch_bridge/errors.h"
#include "torch_bridge/generator.h"
#include "torch_bridge/guard.h"
#include "torch_bridge/loc.h"
#include "torch_bridge/out_dtype.h"
#include "torch_bridge/pending.h"
#include "torch_bridge/runtime.h"
#include "torch_bridge/storage.h"
#include "torch_bridge/strides.h"

namespace tp::bridge {
namespace {

enum class Form { functional, in_place, out };

struct Counters {
  std::atomic<int64_t> lowered{0}, decomposed{0}, on_cpu{0};
  bool warned = false;
};

// A kernel's plan: made once, at registration.
struct BoundOp {
  const OpEntry* entry;
  Form form;
  std::vector<BoundArg> args;
  std::vector<int> writes;  // stack positions that the op writes; beside new results, their values come after those
  size_t num_args, num_returns;
  std::vector<bool> returns_int;  // by return: a host number, which the lowering gives as a constant
  bool may_overlap = false;       // takes a target whose elements share memory, as PyTorch's does
  int device_arg = -1;            // stack position of a factory's Device
  int generator_arg = -1;
  OutDtype out_dtype = OutDtype::castable;
  std::string name;  // "aten::add_.Tensor"; outlives the kernel, since nodes point to it
  Counters* counters;
};

struct Table {
  std::mutex mutex;
  std::map<std::string, std::unique_ptr<Counters>> counters;
  Decompose decompose = nullptr;
};

Table& table() {
  static Table* t = new Table;  // kernels may run during static destruction
  return *t;
}

Counters* counters_of(const std::string& name) {
  Table& t = table();
  std::lock_guard<std::mutex> lock(t.mutex);
  auto& slot = t.counters[name];
  if (!slot) slot = std::make_unique<Counters>();
  return slot.get();
}

std::string full_name(const c10::OperatorName& name) {
  return name.overload_name.empty() ? name.name : name.name + "." + name.overload_name;
}

// --- the call

// The device of the first tpu tensor among the arguments, else of the Device argument, else the current one.
int device_of(const BoundOp& op, const c10::IValue* args) {
  for (size_t i = 0; i < op.num_args; ++i) {
    const c10::IValue& value = args[i];
    if (value.isTensor()) {
      const at::Tensor& t = value.toTensor();
      if (t.defined() && t.is_privateuseone()) return t.device().index();
    } else if (value.isTensorList()) {
      for (const c10::IValue& element : value.toListRef()) {
        if (element.toTensor().is_privateuseone()) return element.toTensor().device().index();
      }
    }
  }
  if (op.device_arg >= 0 && args[op.device_arg].isDevice() && args[op.device_arg].toDevice().has_index()) {
    return args[op.device_arg].toDevice().index();
  }
  return current_device();
}

[[noreturn]] void raise(Error error, const BoundOp& op, const c10::IValue* args) {
  error.op = op.name;
  error.args = args_text(args, op.num_args);
  throw_error(std::move(error));
}

// The value as the written tensor's dtype and sizes; errors in PyTorch's words.
Value fitted(Build& b, const Value& value, const at::Tensor& target, const BoundOp& op) {
  if (!value) return value;
  auto from = to_scalar_type(value.dtype());
  auto to = target.scalar_type();
  OutDtype rule = op.form == Form::out ? op.out_dtype : OutDtype::castable;
  if (rule == OutDtype::exact && from != to) {
    return b.fail(Code::invalid_argument, std::string("Expected out tensor to have dtype ") + c10::toString(from) +
                                              ", but got " + c10::toString(to) + " instead");
  }
  bool casts = rule == OutDtype::castable || rule == OutDtype::joined || rule == OutDtype::computed;
  if (casts && !c10::canCast(from, to)) {
    Code code = rule == OutDtype::joined     ? Code::type
                : rule == OutDtype::computed ? Code::unimplemented
                                             : Code::invalid_argument;
    return b.fail(code, std::string("result type ") + c10::toString(from) +
                            " can't be cast to the desired output type " + c10::toString(to));
  }
  Dims sizes(target.sizes().data(), target.sizes().size());
  if (op.form == Form::in_place && !(value.dims() == sizes) && !(b.broadcast_dims(value.dims(), sizes) == sizes)) {
    return b.fail(Code::invalid_argument, "output with shape [" + dims_text(sizes) +
                                              "] doesn't match the broadcast shape [" + dims_text(value.dims()) + "]");
  }
  return b.broadcast_to(b.convert(value, to_dtype(to)), sizes);
}

// The tensors that the op writes; those of a list one by one.
std::vector<at::Tensor> written_tensors(const BoundOp& op, const c10::IValue* args) {
  std::vector<at::Tensor> written;
  for (int position : op.writes) {
    if (args[position].isTensorList()) {
      for (at::Tensor& tensor : args[position].toTensorVector()) written.push_back(std::move(tensor));
    } else {
      written.push_back(args[position].isNone() ? at::Tensor() : args[position].toTensor());
    }
  }
  return written;
}

// TensorIterator resizes an out tensor only where it is no input, too.
bool is_input(const BoundOp& op, const c10::IValue* args, const at::Tensor& target) {
  for (size_t i = 0; i < op.num_args; ++i) {
    if (std::find(op.writes.begin(), op.writes.end(), static_cast<int>(i)) != op.writes.end()) continue;
    if (args[i].isTensor() && args[i].toTensor().is_same(target)) return true;
  }
  return false;
}

void write_back(Build& b, const BoundOp& op, const Values& values, const c10::IValue* args) {
  std::vector<at::Tensor> targets = written_tensors(op, args);
  for (size_t k = 0; k < targets.size() && k < values.size(); ++k) {
    const at::Tensor& target = targets[k];
    if (!values[k]) continue;  // not written by this call
    if (op.form == Form::out) {
      at::IntArrayRef sizes(values[k].dims().data(), values[k].dims().size());
      bool fits = target.sizes() == sizes;
      if (!fits && op.entry->layout == Layout::pointwise && is_input(op, args, target)) {
        b.fail(Code::invalid_argument, "output with shape [" + dims_text(to_dims(target.sizes())) +
                                           "] doesn't match the broadcast shape [" + dims_text(values[k].dims()) + "]");
        return;
      }
      if (!fits) at::native::resize_output(target, sizes);
    }
    if (!op.may_overlap) at::assert_no_internal_overlap(target);
    Value value = fitted(b, values[k], target, op);
    if (!b.ok()) return;
    write_tensor(target, value, b);
  }
}

void push_results(const BoundOp& op, Values values, int device, torch::jit::Stack* stack) {
  c10::IValue* args = stack->data() + stack->size() - op.num_args;
  std::vector<c10::IValue> results;
  results.reserve(values.size());
  Strides strides = op.entry->layout == Layout::pointwise ? pointwise_strides(args, op.num_args) : Strides();
  for (size_t k = 0; k < values.size(); ++k) {
    Value& value = values[k];
    if (!value) {  // an output that the mask turned off
      results.emplace_back(at::Tensor());
    } else if (!op.entry->list_result && op.returns_int[k]) {
      results.emplace_back(value->number.integer());
    } else if (strides.permuted && value.rank() == static_cast<int>(strides.order.size())) {
      results.emplace_back(make_permuted(std::move(value), strides.order, device));
    } else {
      auto dtype = to_scalar_type(value.dtype());
      results.emplace_back(make_tensor(std::move(value), dtype, device));
    }
  }
  torch::jit::drop(*stack, op.num_args);
  if (op.entry->list_result) {
    c10::List<at::Tensor> list;
    for (c10::IValue& result : results) list.push_back(std::move(result).toTensor());
    stack->emplace_back(std::move(list));
    return;
  }
  for (c10::IValue& result : results) stack->push_back(std::move(result));
}

// The first op with a NaN in its results is the one that is told: checks are raised in the order of the calls.
void check_for_nan(Build& b, const Value& value) {
  if (!value || !(is_floating(value.dtype()) || is_complex(value.dtype())) || numel(value.dims()) == 0) return;
  b.check(b.is_nan(value), Code::invalid_argument, "the result holds a NaN");
}

// Lowers the call; false when the lowering declined, with the stack as it was.
bool lower(const BoundOp& op, torch::jit::Stack* stack) {
  c10::IValue* args = stack->data() + stack->size() - op.num_args;
  Runner& run = runner();
  std::unique_lock<std::recursive_mutex> lock(run.mutex());
  set_default_dtype(to_dtype(c10::get_default_dtype_as_scalartype()));
  int device = device_of(op, args);
  Build b(op.name.c_str(), device, record_loc());
  GeneratorScope random(b, op.generator_arg >= 0 ? &args[op.generator_arg] : nullptr, device);

  c10::SmallVector<Arg, 8> unpacked;
  for (const BoundArg& arg : op.args) {
    if (arg.dtype_of >= 0) {
      unpacked.emplace_back(to_dtype(args[arg.dtype_of].toTensor().scalar_type()));
      continue;
    }
    unpacked.push_back(read_arg(b, arg.position >= 0 ? args[arg.position] : arg.fixed, arg.spec));
  }
  Values values;
  if (b.ok()) values = op.entry->lower(b, unpacked.data());
  if (b.ok() && detect_nan()) {
    for (const Value& value : values) check_for_nan(b, value);
  }
  if (b.ok() && op.form == Form::functional && !op.writes.empty()) {
    write_back(b, op, Values(values.begin() + op.num_returns, values.end()), args);
    values.resize(op.num_returns);
  } else if (b.ok() && op.form != Form::functional) {
    write_back(b, op, values, args);
  }
  if (!b.ok()) {
    Error error = b.take_error();
    if (error.code == Code::declined) return false;
    lock.unlock();
    raise(std::move(error), op, args);
  }
  for (Build::Check& check : b.take_checks()) {
    Error error = std::move(check.error);
    error.op = op.name;
    error.args = args_text(args, op.num_args);
    error.loc = record_loc();
    run.add_check(std::move(check.flag), std::move(error));
  }
  if (op.form == Form::functional) {
    push_results(op, std::move(values), device, stack);
  } else {
    std::vector<c10::IValue> written;
    for (int position : op.writes) written.push_back(args[position]);
    torch::jit::drop(*stack, op.num_args);
    for (size_t k = 0; k < op.num_returns; ++k) stack->push_back(written[k]);
  }
  after_op();
  return true;
}

void call_on_cpu(const c10::OperatorHandle& op, torch::jit::Stack* stack, Counters* counters) {
  const std::string name = full_name(op.operator_name());
  ++counters->on_cpu;
  TORCH_CHECK_NOT_IMPLEMENTED(
      fallback_mode() != FallbackMode::error, name, ": neither a lowering nor a decomposition takes these arguments (",
      args_text(stack->data() + stack->size() - op.schema().arguments().size(), op.schema().arguments().size()),
      "), and falling back to the CPU is turned off");
  if (!std::exchange(counters->warned, true)) {
    TORCH_WARN(name,
               " runs on the CPU: tpu has no lowering for it. Each call copies its tensors to the host and back.");
  }
  at::native::cpu_fallback(op, stack);
}

void call_elsewhere(const c10::OperatorHandle& op, torch::jit::Stack* stack, Counters* counters) {
  if (call_with_places(op, stack)) return;
  Decompose decompose = table().decompose;
  if (decompose && decompose(op, stack)) {
    ++counters->decomposed;
    return;
  }
  call_on_cpu(op, stack, counters);
}

struct BoxedOp final : c10::OperatorKernel {
  explicit BoxedOp(BoundOp bound) : op(std::move(bound)) {}
  void operator()(const c10::OperatorHandle& handle, c10::DispatchKeySet, torch::jit::Stack* stack) {
    if (lower(op, stack)) {
      op.counters->lowered.fetch_add(1, std::memory_order_relaxed);
    } else {
      call_elsewhere(handle, stack, op.counters);
    }
  }
  BoundOp op;
};

// --- registration

bool writes_to(const c10::Argument& argument) { return argument.alias_info() && argument.alias_info()->isWrite(); }

int position_of(const c10::FunctionSchema& schema, const std::string& name) {
  const auto& arguments = schema.arguments();
  for (size_t i = 0; i < arguments.size(); ++i) {
    if (arguments[i].name() == name) return static_cast<int>(i);
  }
  return -1;
}

// In whatever order these write elements that share memory, the result is one.
bool writes_one_value(const std::string& name) {
  for (const char* known :
       {"fill_", "zero_", "masked_fill_", "index_fill_", "index_put_", "_index_put_impl_", "tril_", "triu_"}) {
    if (name == std::string("aten::") + known) return true;
  }
  return false;
}

// What a schema hides: training batch norm writes the running statistics.
bool writes_unsaid(const std::string& op, const std::string& argument) {
  return op == "aten::native_batch_norm" && (argument == "running_mean" || argument == "running_var");
}

// The kernel of `schema` over the lowering of `functional`; nullopt when their arguments don't fit.
std::optional<BoundOp> bind(const c10::FunctionSchema& schema, const c10::FunctionSchema& functional,
                            const OpEntry* entry, Form form) {
  BoundOp op;
  op.entry = entry;
  op.form = form;
  op.num_args = schema.arguments().size();
  op.num_returns = schema.returns().size();
  for (const c10::Argument& result : schema.returns()) {
    c10::TypeKind kind = result.real_type()->kind();
    op.returns_int.push_back(kind == c10::TypeKind::IntType || kind == c10::TypeKind::SymIntType);
  }
  op.name = full_name(schema.operator_name());
  op.counters = counters_of(op.name);
  op.may_overlap = writes_one_value(schema.operator_name().name);
  op.out_dtype = out_dtype_of(schema.operator_name().name, schema.operator_name().overload_name);
  for (size_t i = 0; i < op.num_args; ++i) {
    if (writes_to(schema.arguments()[i])) op.writes.push_back(static_cast<int>(i));
  }
  for (size_t i = 0; i < op.num_args; ++i) {
    if (writes_unsaid(schema.operator_name().name, schema.arguments()[i].name())) {
      op.writes.push_back(static_cast<int>(i));
    }
  }
  const auto& arguments = functional.arguments();
  for (size_t i = 0; i < op.num_args; ++i) {
    // An argument that the functional form lacks would be dropped silently.
    bool is_output = form == Form::out && writes_to(schema.arguments()[i]);
    if (!is_output && position_of(functional, schema.arguments()[i].name()) < 0) return std::nullopt;
  }
  for (size_t i = 0; i < arguments.size(); ++i) {
    BoundArg arg;
    arg.spec = entry->args[i];
    arg.position = position_of(schema, arguments[i].name());
    if (arg.position >= 0) {
      if (*schema.arguments()[arg.position].real_type() != *arguments[i].real_type()) return std::nullopt;
      bool written = writes_to(schema.arguments()[arg.position]);
      if (written && form == Form::out) return std::nullopt;
    } else if (form == Form::out && arg.spec.kind == ArgKind::dtype) {
      arg.dtype_of = op.writes.front();
    } else if (arguments[i].default_value()) {
      arg.fixed = *arguments[i].default_value();
    } else {
      return std::nullopt;
    }
    op.args.push_back(std::move(arg));
  }
  op.device_arg = position_of(schema, "device");
  op.generator_arg = position_of(schema, "generator");
  return op;
}

void check_signature(const OpEntry& entry, const c10::FunctionSchema& schema) {
  const auto& arguments = schema.arguments();
  TORCH_CHECK(arguments.size() == entry.args.size(), "lowering of ", entry.name, " takes ", entry.args.size(),
              " arguments, its schema has ", arguments.size(), ": ", schema);
  for (size_t i = 0; i < arguments.size(); ++i) {
    TORCH_CHECK(matches(arguments[i], entry.args[i]), "lowering of ", entry.name, ": argument ", i, " does not fit ",
                arguments[i], " of ", schema);
  }
}

// Composite ops keep PyTorch's own kernel: ours would take their gradient away.
bool is_composite(const c10::OperatorHandle& op) {
  return op.hasKernelForDispatchKey(c10::DispatchKey::CompositeImplicitAutograd);
}

class Registration {
 public:
  Registration() : library_(torch::Library::IMPL, "aten", c10::DispatchKey::PrivateUse1, __FILE__, __LINE__) {
    for (const c10::OperatorName& name : c10::Dispatcher::singleton().getAllOpNames()) {
      if (name.name.rfind("aten::", 0) != 0) continue;
      auto handle = c10::Dispatcher::singleton().findSchema(name);
      if (handle) overloads_[name.name].push_back(*handle);
    }
  }

  void run() {
    for (const OpEntry* entry : all_ops()) {
      auto functional = find(entry->name);
      TORCH_CHECK(functional, "no ATen op is called ", entry->name);
      check_signature(*entry, functional->schema());
      const c10::FunctionSchema& schema = functional->schema();
      if (std::any_of(schema.arguments().begin(), schema.arguments().end(), writes_to)) {
        bool new_results = !schema.returns().empty() && !schema.returns()[0].alias_info();
        add(*functional, *functional, entry, new_results ? Form::functional : Form::in_place);
        continue;
      }
      add(*functional, *functional, entry, Form::functional);
      derive(*functional, entry);
    }
  }

 private:
  std::optional<c10::OperatorHandle> find(const std::string& name) {
    size_t dot = name.find('.');
    std::string base = name.substr(0, dot), overload = dot == std::string::npos ? "" : name.substr(dot + 1);
    return c10::Dispatcher::singleton().findSchema({base, overload});
  }

  void derive(const c10::OperatorHandle& functional, const OpEntry* entry) {
    const std::string base = functional.operator_name().name;
    for (const c10::OperatorHandle& op : overloads_[base + "_"]) add(op, functional, entry, Form::in_place);
    for (const c10::OperatorHandle& op : overloads_[base]) {
      const auto& arguments = op.schema().arguments();
      bool has_out = std::any_of(arguments.begin(), arguments.end(), [](const c10::Argument& a) {
        return a.kwarg_only() && writes_to(a) && a.type()->kind() == c10::TypeKind::TensorType;
      });
      if (has_out) add(op, functional, entry, Form::out);
    }
  }

  void add(const c10::OperatorHandle& op, const c10::OperatorHandle& functional, const OpEntry* entry, Form form) {
    if (is_composite(op) || op.hasKernelForDispatchKey(c10::DispatchKey::PrivateUse1)) return;
    std::string name = full_name(op.operator_name());
    if (form != Form::functional && find_op(name) && find_op(name) != entry) return;  // it has its own lowering
    std::optional<BoundOp> bound = bind(op.schema(), functional.schema(), entry, form);
    if (!bound) return;
    library_.impl(name.c_str() + 6,
                  torch::CppFunction::makeFromBoxedFunctor(std::make_unique<BoxedOp>(std::move(*bound))));
  }

  torch::Library library_;
  std::map<std::string, std::vector<c10::OperatorHandle>> overloads_;
};

std::map<std::string, int64_t> read(std::atomic<int64_t> Counters::* member) {
  std::map<std::string, int64_t> out;
  Table& t = table();
  std::lock_guard<std::mutex> lock(t.mutex);
  for (const auto& [name, counters] : t.counters) {
    int64_t calls = ((*counters).*member).load();
    if (calls) out[name] = calls;
  }
  return out;
}

}  // namespace

void register_ops() {
  static Registration* registration = new Registration;  // the kernels live as long as the process
  registration->run();
}

void set_decompose(Decompose decompose) { table().decompose = decompose; }

void call_unlowered(const c10::OperatorHandle& op, torch::jit::Stack* stack) {
  call_elsewhere(op, stack, counters_of(full_name(op.operator_name())));
}

std::map<std::string, int64_t> lowered_stats() { return read(&Counters::lowered); }
std::map<std::string, int64_t> decomposition_stats() { return read(&Counters::decomposed); }
std::map<std::string, int64_t> fallback_stats() { return read(&Counters::on_cpu); }

void reset_op_stats() {
  Table& t = table();
  std::lock_guard<std::mutex> lock(t.mutex);
  for (auto& [name, counters] : t.counters) {
    counters->lowered = 0;
    counters->decomposed = 0;
    counters->on_cpu = 0;
  }
}

}  // namespace tp::bridge

namespace {
void fallback_kernel(const c10::OperatorHandle& op, c10::DispatchKeySet, torch::jit::Stack* stack) {
  tp::bridge::call_unlowered(op, stack);
}
}  // namespace

TORCH_LIBRARY_IMPL(_, PrivateUse1, m) { m.fallback(torch::CppFunction::makeFromBoxedFunction<&fallback_kernel>()); }
