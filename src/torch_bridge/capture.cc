#include "torch_bridge/capture.h"

#include <algorithm>
#include <unordered_map>

#include "torch_bridge/errors.h"
#include "torch_bridge/generator.h"
#include "torch_bridge/pending.h"
#include "torch_bridge/runtime.h"
#include "torch_bridge/storage.h"

namespace tp::bridge {
namespace {

bool on_tpu(const at::Tensor& t) { return t.defined() && t.is_privateuseone(); }

// How an output is made from the executable's results.
struct OutputPlan {
  enum class Kind { input_storage, new_storage, as_it_was } kind = Kind::as_it_was;
  int storage = 0;  // index among the inputs' storages, or among the new ones
  View view;        // in elements of `type`
  c10::ScalarType type = c10::ScalarType::Float;
  at::Tensor constant;  // as_it_was: a host tensor that depends on nothing
};

}  // namespace

struct Capture::State {
  int device = 0;
  std::vector<int> storage_of;      // by input: index of its storage, -1 for a host tensor
  std::vector<Type> storage_types;  // by storage: what its value looked like
  std::vector<int> updated;         // storages that body wrote: results 0 … n-1
  std::vector<OutputPlan> outputs;
  std::vector<size_t> new_bytes;    // by new storage; their values are the results after the updated ones
  std::vector<Error> check_errors;  // of device-side checks; their flags are the last result, when there are any
  std::unique_ptr<CapturedProgram> program;
};

Capture::Capture(std::unique_ptr<State> state) : state_(std::move(state)) {}
Capture::~Capture() = default;

namespace {

// The distinct storages of the inputs, and each input's among them.
std::vector<StorageValue*> distinct_storages(const std::vector<at::Tensor>& inputs, std::vector<int>& storage_of) {
  std::vector<StorageValue*> storages;
  std::unordered_map<StorageValue*, int> index;
  for (const at::Tensor& t : inputs) {
    if (!on_tpu(t)) {
      storage_of.push_back(-1);
      continue;
    }
    StorageValue* storage = storage_value(t);
    auto [it, fresh] = index.try_emplace(storage, static_cast<int>(storages.size()));
    if (fresh) storages.push_back(storage);
    storage_of.push_back(it->second);
  }
  return storages;
}

// Puts placeholders into storages, and the old values back at the end.
class Placeholders {
 public:
  explicit Placeholders(std::vector<StorageValue*> storages) : storages_(std::move(storages)) {
    for (StorageValue* storage : storages_) {
      old_.push_back(materialize(*storage));
      values_.push_back(new_leaf(old_.back().type(), nullptr, storage->device));
      set_value(*storage, values_.back());
    }
  }
  ~Placeholders() {
    for (size_t i = 0; i < storages_.size(); ++i) set_value(*storages_[i], old_[i]);
  }
  const std::vector<Value>& values() const { return values_; }
  // By storage: what body left there.
  Value now(size_t i) const { return storages_[i]->value; }

 private:
  std::vector<StorageValue*> storages_;
  std::vector<Value> old_, values_;
};

// A storage that took the sizes of a view which reads it was not written.
bool is_same_bytes(const Value& now, const Value& placeholder) {
  return now == placeholder || (now->op == Op::reshape && now->inputs[0] == placeholder);
}

OutputPlan plan_output(const at::Tensor& t, const std::vector<StorageValue*>& inputs,
                       std::vector<StorageValue*>& fresh) {
  OutputPlan plan;
  if (!on_tpu(t)) {
    plan.constant = t;
    return plan;
  }
  plan.view = view_of(t);
  plan.type = t.scalar_type();
  StorageValue* storage = storage_value(t);
  auto input = std::find(inputs.begin(), inputs.end(), storage);
  if (input != inputs.end()) {
    plan.kind = OutputPlan::Kind::input_storage;
    plan.storage = static_cast<int>(input - inputs.begin());
    return plan;
  }
  plan.kind = OutputPlan::Kind::new_storage;
  auto known = std::find(fresh.begin(), fresh.end(), storage);
  plan.storage = static_cast<int>(known - fresh.begin());
  if (known == fresh.end()) fresh.push_back(storage);
  return plan;
}

}  // namespace

std::shared_ptr<Capture> Capture::record(std::vector<at::Tensor> inputs,
                                         const std::function<std::vector<at::Tensor>()>& body) {
  Runner& run = runner();
  auto state = std::make_unique<State>();
  std::vector<StorageValue*> storages = distinct_storages(inputs, state->storage_of);
  TORCH_CHECK(!storages.empty(), "a captured graph needs a tpu tensor among its inputs");
  state->device = storages[0]->device;
  TpuGenerator& generator = default_generator_impl(state->device);
  const uint64_t offset = generator.philox_offset();

  Placeholders placeholders(storages);
  std::vector<at::Tensor> outputs;
  const size_t first_check = run.begin_checks();
  Value flags;
  try {
    CaptureScope scope;
    outputs = body();
    flags = run.end_checks(first_check, state->check_errors);
  } catch (...) {
    run.end_checks(first_check, state->check_errors);
    throw;
  }
  const uint64_t blocks = generator.philox_offset() - offset;
  generator.set_philox_offset(offset);  // recording draws nothing

  std::vector<Value> results;
  std::vector<uint8_t> updated(storages.size(), 0);
  for (size_t i = 0; i < storages.size(); ++i) {
    state->storage_types.push_back(placeholders.values()[i].type());
    if (is_same_bytes(placeholders.now(i), placeholders.values()[i])) continue;
    updated[i] = 1;
    state->updated.push_back(static_cast<int>(i));
    results.push_back(placeholders.now(i));
  }
  std::vector<StorageValue*> fresh;
  for (const at::Tensor& t : outputs) state->outputs.push_back(plan_output(t, storages, fresh));
  for (StorageValue* storage : fresh) {
    state->new_bytes.push_back(storage->nbytes);
    results.push_back(value_or_zeros(*storage));
  }
  if (flags) results.push_back(flags);
  auto program = run.capture(placeholders.values(), updated, results, offset, blocks);
  if (!program.ok()) throw_error(std::move(program.error()));
  state->program = std::move(program).value();
  return std::shared_ptr<Capture>(new Capture(std::move(state)));
}

std::optional<std::vector<at::Tensor>> Capture::call(const std::vector<at::Tensor>& inputs) {
  Runner& run = runner();
  std::lock_guard<std::recursive_mutex> lock(run.mutex());
  State& s = *state_;
  std::vector<int> storage_of;
  std::vector<StorageValue*> storages = distinct_storages(inputs, storage_of);
  if (storage_of != s.storage_of) return std::nullopt;
  std::vector<Value> arguments;
  for (size_t i = 0; i < storages.size(); ++i) {
    arguments.push_back(materialize(*storages[i]));
    if (!(arguments.back().type() == s.storage_types[i])) return std::nullopt;
  }
  RandomSource::Position random{};
  if (s.program->random_blocks) random = default_generator_impl(s.device).reserve(s.program->random_blocks);
  auto results = run.run_captured(*s.program, arguments, random.seed, random.offset, s.device);
  if (!results.ok()) throw_error(std::move(results.error()));
  arguments.clear();
  Values& values = results.value();
  for (size_t k = 0; k < s.updated.size(); ++k) set_value(*storages[s.updated[k]], values[k]);

  if (!s.check_errors.empty()) run.launch_checks(values.back(), s.check_errors);

  std::vector<c10::Storage> fresh;
  for (size_t k = 0; k < s.new_bytes.size(); ++k) {
    fresh.push_back(make_storage(values[s.updated.size() + k], s.new_bytes[k], s.device));
  }
  std::vector<at::Tensor> outputs;
  for (const OutputPlan& plan : s.outputs) {
    if (plan.kind == OutputPlan::Kind::as_it_was) {
      outputs.push_back(plan.constant);
      continue;
    }
    c10::Storage storage;
    if (plan.kind == OutputPlan::Kind::new_storage) {
      storage = fresh[plan.storage];
    } else {
      size_t input = std::find(storage_of.begin(), storage_of.end(), plan.storage) - storage_of.begin();
      storage = inputs[input].storage();
    }
    outputs.push_back(make_view(std::move(storage), plan.type, plan.view));
  }
  return outputs;
}

}  // namespace tp::bridge
