#include "exec/runner.h"

#include <sys/sysinfo.h>

#include <algorithm>

#include "base/env.h"
#include "base/log.h"
#include "stablehlo/build.h"
#include "stablehlo/dump.h"

namespace tp {
namespace {

// Launches wait for the oldest one beyond this, so that a loop which never looks does not run ahead without bound.
constexpr size_t kMaxInFlight = 16;

int64_t host_memory() {
  struct sysinfo info{};
  sysinfo(&info);
  return static_cast<int64_t>(info.totalram) * info.mem_unit;
}

std::string gib(int64_t bytes) {
  char text[32];
  std::snprintf(text, sizeof(text), "%.2f GiB", static_cast<double>(bytes) / (1 << 30));
  return text;
}

std::vector<std::string> split_paths(const std::string& text) {
  std::vector<std::string> paths;
  size_t at = 0;
  while (at < text.size()) {
    size_t end = std::min(text.find(':', at), text.size());
    if (end > at) paths.push_back(text.substr(at, end - at));
    at = end + 1;
  }
  return paths;
}

// A node that somebody holds and that stays pending needs its leaves after this run.
void keep_leaves(Region& region, const Node* node) {
  std::vector<const Node*> stack{node};
  while (!stack.empty()) {
    const Node* at = stack.back();
    stack.pop_back();
    for (const Value& input : at->inputs) {
      if (input->op == Op::leaf)
        region.leaf_held[input->index] = 1;
      else
        stack.push_back(input.get());
    }
  }
}

// Characters after which a program's name ends.
constexpr size_t kLongName = 100;

constexpr int64_t kDiskCacheBytes = int64_t{8} << 30;

}  // namespace

Result<std::unique_ptr<Runner>> Runner::create(const std::string& plugin_path) {
  std::unique_ptr<Runner> runner(new Runner);
  TP_TRY(runner->plugin_, Plugin::load(plugin_path));
  std::vector<NamedValue> options;
  // CPU plugins make four devices unasked. They log a line to stderr for the option, so it is given only when needed.
  bool many = env().cpu_devices > 4 && plugin_path.find("cpu") != std::string::npos;
  if (many) options.push_back({"cpu_device_count", static_cast<int64_t>(env().cpu_devices)});
  TP_TRY(runner->client_, Client::create(runner->plugin_, options));
  Client& client = *runner->client_;
  runner->devices_ = client.addressable_devices();
  if (client.platform_name() == "cpu") {
    runner->devices_ = runner->devices_.first(std::min<size_t>(runner->devices_.size(), env().cpu_devices));
  }
  runner->target_ = {client.platform_name(), client.platform_version(), runner->plugin_->api_version().second};
  auto disk = std::make_unique<DiskCache>(env().cache_dir, split_paths(env().cache_readonly), kDiskCacheBytes);
  runner->compiler_ = std::make_unique<Compiler>(client, std::move(disk));
  for (const Device& device : runner->devices_) {
    auto account = std::make_shared<MemoryAccount>();
    Result<std::optional<MemoryStats>> stats = device.memory_stats();
    int64_t total =
        stats.ok() && stats.value() && stats.value()->bytes_limit ? *stats.value()->bytes_limit : host_memory();
    if (env().memory_limit > 0) total = std::min(total, env().memory_limit);
    account->set_limit(total);
    runner->totals_.push_back(total);
    runner->accounts_.push_back(std::move(account));
  }
  runner->in_flight_.resize(runner->accounts_.size());
  return runner;
}

Runner::~Runner() = default;

std::shared_ptr<DeviceBuffer> Runner::adopt(Buffer buffer, const Type& type, int device) {
  return std::make_shared<DeviceBuffer>(std::move(buffer), type.bytes(), accounts_[device]);
}

// --- host and device

Result<Value> Runner::upload(const void* data, const Type& type, int device) {
  std::lock_guard<std::recursive_mutex> lock(mutex_);
  MemoryAccount& account = *accounts_[device];
  if (type.bytes() > account.free()) {
    return make_error(Code::out_of_memory, "plugin " + plugin_->name() + " out of memory. needed " + gib(type.bytes()) +
                                               ", free " + gib(account.free()));
  }
  int64_t begin = trace_->recording() ? Trace::now() : 0;
  TP_TRY(Buffer buffer, client_->buffer_from_host(data, type.dtype, type.dims, devices_[device]));
  ++stats_.uploads;
  if (begin) trace_->add({Span::Kind::upload, device, "Memcpy HtoD", begin, Trace::now(), type.bytes()});
  return new_leaf(type, adopt(std::move(buffer), type, device), device);
}

Status Runner::download(Node* leaf, void* destination, size_t bytes) {
  std::shared_ptr<Resident> keep;
  {
    std::lock_guard<std::recursive_mutex> lock(mutex_);
    TP_CHECK(leaf->op == Op::leaf);
    keep = leaf->resident;
    ++stats_.downloads;
    ++stats_.host_syncs;
  }
  auto* held = dynamic_cast<DeviceBuffer*>(keep.get());
  if (!held) return make_error(Code::failed_precondition, "a value of a captured graph has no bytes yet");
  int64_t begin = trace_->recording() ? Trace::now() : 0;
  TP_TRY(Done copied, held->buffer().copy_to_host_sync(destination, bytes));
  (void)copied;
  if (begin) {
    trace_->add({Span::Kind::download, leaf->device, "Memcpy DtoH", begin, Trace::now(), static_cast<int64_t>(bytes)});
  }
  return raise_checks();
}

Result<Value> Runner::copy_to_device(const Value& leaf, int device) {
  std::lock_guard<std::recursive_mutex> lock(mutex_);
  DeviceBuffer* held = device_buffer(*leaf.get());
  if (!held) return make_error(Code::failed_precondition, "a value of a captured graph has no bytes yet");
  TP_TRY(Buffer buffer, held->buffer().copy_to_device(devices_[device]));
  return new_leaf(leaf.type(), adopt(std::move(buffer), leaf.type(), device), device);
}

Status Runner::synchronize(int device) {
  std::deque<Event> waiting;
  {
    std::lock_guard<std::recursive_mutex> lock(mutex_);
    waiting.swap(in_flight_[device]);
    ++stats_.host_syncs;
  }
  Status first = done();
  for (const Event& event : waiting) {
    Status status = event.await();
    if (!status.ok() && first.ok()) first = std::move(status);
  }
  if (!first.ok()) return first;
  return raise_checks();
}

// --- device-side checks

void Runner::add_check(Value flag, Error error) {
  std::lock_guard<std::recursive_mutex> lock(mutex_);
  pending_checks_.push_back({std::move(flag), std::move(error)});
}

Value Runner::end_checks(size_t begin, std::vector<Error>& errors) {
  std::lock_guard<std::recursive_mutex> lock(mutex_);
  Build b;
  Values flags;
  for (size_t i = begin; i < pending_checks_.size(); ++i) {
    flags.push_back(b.reshape(pending_checks_[i].flag, {1}));
    errors.push_back(std::move(pending_checks_[i].error));
  }
  pending_checks_.resize(begin);
  return flags.empty() ? Value() : b.concatenate(flags, 0);
}

void Runner::launch_checks(Value flags, std::vector<Error> errors) {
  std::lock_guard<std::recursive_mutex> lock(mutex_);
  launched_checks_.push_back({std::move(flags), std::move(errors)});
}

// The pending checks as one flag vector a device, to be roots of the run that comes now.
std::vector<Value> Runner::take_checks() {
  std::vector<Value> roots;
  for (size_t device = 0; device < accounts_.size() && !pending_checks_.empty(); ++device) {
    Build b("", static_cast<int>(device));
    Values flags;
    LaunchedChecks launched;
    for (Check& check : pending_checks_) {
      if (check.flag->device != device) continue;
      flags.push_back(b.reshape(check.flag, {1}));
      launched.errors.push_back(std::move(check.error));
    }
    if (flags.empty()) continue;
    launched.flags = b.concatenate(flags, 0);
    roots.push_back(launched.flags);
    launched_checks_.push_back(std::move(launched));
  }
  pending_checks_.clear();
  return roots;
}

Status Runner::raise_checks() {
  std::vector<LaunchedChecks> ready;
  {
    std::lock_guard<std::recursive_mutex> lock(mutex_);
    for (auto it = launched_checks_.begin(); it != launched_checks_.end();) {
      bool ran = it->flags->op == Op::leaf;
      if (ran) ready.push_back(std::move(*it));
      it = ran ? launched_checks_.erase(it) : it + 1;
    }
  }
  for (LaunchedChecks& checks : ready) {
    std::vector<uint8_t> flags(checks.errors.size());
    DeviceBuffer* held = device_buffer(*checks.flags.get());
    if (!held || !held->buffer().copy_to_host_sync(flags.data(), flags.size()).ok())
      continue;  // its run failed: told elsewhere
    for (size_t i = 0; i < flags.size(); ++i) {
      if (flags[i]) return std::move(checks.errors[i]);
    }
  }
  return done();
}

// --- running

Status Runner::run(std::span<Node* const> roots, std::span<Node* const> live) {
  std::lock_guard<std::recursive_mutex> lock(mutex_);
  std::vector<Value> checks = take_checks();
  std::vector<Node*> all(roots.begin(), roots.end());
  for (const Value& check : checks) all.push_back(check.get());
  if (all.empty()) return done();
  int device = all[0]->device;
  Region region = collect(all, live);
  if (region.order.empty()) return done();

  std::vector<uint8_t> wanted(region.order.size(), 0);
  for (size_t i = 0; i < wanted.size(); ++i) {
    const Node& node = *region.order[i];
    wanted[i] = region.held[i] && node.more_types.empty() && !is_cheap(node);
  }
  for (Node* root : all) {
    if (root->op != Op::leaf) wanted[root->index] = 1;
  }
  for (size_t i = 0; i < wanted.size(); ++i) {
    if (region.held[i] && !wanted[i]) keep_leaves(region, region.order[i]);
  }
  TP_TRY(std::shared_ptr<LoadedProgram> loaded, program_for(region, wanted, device));

  std::vector<PJRT_Buffer*> arguments;
  std::vector<int64_t> withheld;
  for (size_t i = 0; i < region.leaves.size(); ++i) {
    DeviceBuffer* held = device_buffer(*region.leaves[i]);
    if (!held) return make_error(Code::failed_precondition, "a value of a captured graph is needed outside of it");
    arguments.push_back(held->buffer().get());
    if (region.leaf_held[i] || region.leaves[i]->resident.use_count() > 1) withheld.push_back(static_cast<int64_t>(i));
  }
  TP_TRY(std::vector<Buffer> outputs,
         launch(*loaded, std::move(arguments), pack_numbers(loaded->program, region), withheld, device));
  for (int64_t i : loaded->program.donated) {
    bool kept = std::find(withheld.begin(), withheld.end(), i) != withheld.end();
    if (!kept) device_buffer(*region.leaves[i])->give_away();
  }
  // The leaves that were given away live only in the region's nodes, which go now.
  for (size_t k = 0; k < outputs.size(); ++k) {
    int32_t index = loaded->program.results[k];
    if (!wanted[index]) continue;
    Node* node = region.order[index];
    node->device = static_cast<uint8_t>(device);
    node->become_leaf(adopt(std::move(outputs[k]), node->type, device));
  }
  return done();
}

Result<std::shared_ptr<LoadedProgram>> Runner::program_for(const Region& region, const std::vector<uint8_t>& wanted,
                                                           int device) {
  StructureEntry& entry = table_.entry(region, *compiler_);
  if (std::shared_ptr<LoadedProgram> found = ProgramTable::find(entry, wanted)) {
    ++stats_.cache_hits;
    return found;
  }
  // Asks for every result that was ever wanted, so that a tensor that garbage collection frees at some other time
  // makes no third program.
  for (size_t i = 0; i < wanted.size(); ++i) entry.results[i] = entry.results[i] || wanted[i];
  TP_TRY(Program program, rewrite({region, entry.results, entry.promoted, target_}));
  TP_TRY(std::shared_ptr<LoadedProgram> loaded, load(std::move(program), region, device));
  entry.programs.insert(entry.programs.begin(), loaded);
  table_.trim();
  return loaded;
}

namespace {

// The region for TORCH_PJRT_DUMP: its leaves are the arguments.
std::string readable(const Region& region) {
  if (env().dump_dir.empty()) return "";
  Values nodes, leaves;
  for (Node* node : region.order) nodes.emplace_back(node);
  for (Node* leaf : region.leaves) leaves.emplace_back(leaf);
  return dump(nodes, leaves, /*origins=*/true);
}

// What a profiler calls the program: the ops that the user called, in the order of their first calls.
std::string users_ops(const Region& region) {
  std::vector<std::string_view> seen;
  std::string name;
  for (const Node* node : region.order) {
    if (!*node->aten || std::find(seen.begin(), seen.end(), node->aten) != seen.end()) continue;
    if (name.size() > kLongName) return name + ", ...";
    seen.push_back(node->aten);
    if (!name.empty()) name += ", ";
    name += node->aten;
  }
  return name.empty() ? "copy" : name;
}

}  // namespace

Result<std::shared_ptr<LoadedProgram>> Runner::load(Program program, const Region& region, int device) {
  auto loaded = std::make_shared<LoadedProgram>();
  int64_t begin = trace_->recording() ? Trace::now() : 0;
  TP_TRY(loaded->executable, compiler_->compile(program.text, devices_[device], readable(region)));
  loaded->name = users_ops(region);
  loaded->nodes = static_cast<int64_t>(region.order.size());
  if (begin) {
    trace_->add({Span::Kind::compile, device, "compile " + loaded->name, begin, Trace::now(), loaded->nodes});
  }
  Result<CompiledMemoryStats> memory = loaded->executable.executable().memory_stats();
  if (memory.ok()) loaded->memory = memory.value();
  loaded->has_result.assign(region.order.size(), 0);
  for (int32_t r : program.results) loaded->has_result[r] = 1;
  program.text.clear();
  program.text.shrink_to_fit();
  loaded->program = std::move(program);
  return loaded;
}

// All outputs of a program are there at the same time.
void Runner::trace_launch(const LoadedProgram& loaded, const Buffer& output, int64_t launched, int device) {
  Result<Event> ready = output.ready_event();
  if (!ready.ok()) return;
  Span span{Span::Kind::program, device, loaded.name, launched, launched, loaded.nodes};
  trace_->expect();
  Status registered = std::move(ready.value()).on_ready([trace = trace_, span](Status) mutable {
    span.end = Trace::now();
    trace->add_expected(std::move(span));
  });
  if (!registered.ok()) trace_->add_expected(std::move(span));
}

Status Runner::check_memory(const LoadedProgram& loaded, size_t withheld, int device) {
  const CompiledMemoryStats& m = loaded.memory;
  int64_t aliased = withheld ? 0 : m.aliased;  // a withheld argument is copied first
  int64_t needed = m.outputs - aliased + m.temporaries;
  MemoryAccount& account = *accounts_[device];
  if (needed <= account.free()) {
    account.touch(std::max<int64_t>(needed, 0));
    return done();
  }
  return make_error(Code::out_of_memory, "plugin " + plugin_->name() + " out of memory. needed " + gib(needed) +
                                             ", free " + gib(std::max<int64_t>(account.free(), 0)) + " of " +
                                             gib(account.limit()));
}

Result<std::vector<Buffer>> Runner::launch(LoadedProgram& loaded, std::vector<PJRT_Buffer*> arguments,
                                           std::span<const int32_t> words, std::span<const int64_t> withheld,
                                           int device) {
  std::vector<int64_t> kept;
  for (int64_t i : loaded.program.donated) {
    if (std::find(withheld.begin(), withheld.end(), i) != withheld.end()) kept.push_back(i);
  }
  TP_TRY(Done fits, check_memory(loaded, kept.size(), device));
  (void)fits;
  Device where = devices_[device];
  Buffer packed;
  if (!words.empty()) {
    TP_TRY(packed,
           client_->buffer_from_host(words.data(), Dtype::s32, Dims{static_cast<int64_t>(words.size())}, where));
    arguments.push_back(packed.get());
  }
  int64_t launched = trace_->recording() ? Trace::now() : 0;
  ExecuteOptions options;
  options.non_donatable = kept;
  Event finished;
  TP_TRY(std::vector<Buffer> outputs, loaded.executable.execute(arguments, options, &finished));
  ++stats_.executions;
  if (launched && !outputs.empty()) trace_launch(loaded, outputs[0], launched, device);
  std::deque<Event>& flying = in_flight_[device];
  flying.push_back(std::move(finished));
  if (flying.size() > kMaxInFlight) {
    Event oldest = std::move(flying.front());
    flying.pop_front();
    (void)oldest.await();  // its error travels with its outputs
  }
  return outputs;
}

void Runner::reset_stats() {
  std::lock_guard<std::recursive_mutex> lock(mutex_);
  stats_ = RunnerStats();
  compiler_->reset_stats();
}

}  // namespace tp
