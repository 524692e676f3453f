#include "torch_bridge/pending.h"

#include <atomic>

#include "base/env.h"
#include "torch_bridge/errors.h"
#include "torch_bridge/guard.h"
#include "torch_bridge/runtime.h"

namespace tp::bridge {
namespace {

// When this many nodes more than after the last such cut are alive, the stream is cut without a boundary.
constexpr int64_t kNodeLimit = 20000;

thread_local int t_captures = 0;

void run_or_throw(std::span<Node* const> roots, std::span<Node* const> live) {
  Status status = runner().run(roots, live);
  if (!status.ok()) throw_error(std::move(status.error()));
}

std::vector<Node*> nodes_of(const Values& values, int device) {
  std::vector<Node*> nodes;
  for (const Value& value : values) {
    if (value->device == device) nodes.push_back(value.get());
  }
  return nodes;
}

}  // namespace

Value materialize(const Value& value) {
  std::lock_guard<std::recursive_mutex> lock(runner().mutex());
  if (value->op == Op::leaf) {
    TORCH_CHECK(value->resident, "a value was looked at while a graph was being captured");
    return value;
  }
  TORCH_CHECK(!capturing(), "a value was looked at while a graph was being captured");
  Node* root = value.get();
  Values live = pending_values(current_stream());
  run_or_throw({&root, 1}, nodes_of(live, root->device));
  return value;
}

Value materialize(StorageValue& storage) {
  std::lock_guard<std::recursive_mutex> lock(runner().mutex());
  TORCH_CHECK(storage.value, "a storage that was never written has no value");
  return materialize(storage.value);
}

void run_pending(int64_t stream) {
  Runner* run = runner_or_null();
  if (!run || capturing()) return;
  std::lock_guard<std::recursive_mutex> lock(run->mutex());
  Values pending = pending_values(stream);
  for (size_t d = 0; d < run->devices().size() && !pending.empty(); ++d) {
    std::vector<Node*> roots = nodes_of(pending, static_cast<int>(d));
    if (!roots.empty()) run_or_throw(roots, {});
  }
}

void run_pending() { run_pending(current_stream()); }

void after_op() {
  if (capturing()) return;
  if (env().sync) return synchronize(current_device());
  static std::atomic<int64_t> limit{kNodeLimit};
  if (live_nodes() < limit.load(std::memory_order_relaxed)) return;
  run_pending();
  limit = live_nodes() + kNodeLimit;
}

CaptureScope::CaptureScope() { ++t_captures; }
CaptureScope::~CaptureScope() { --t_captures; }
bool capturing() { return t_captures > 0; }

}  // namespace tp::bridge
