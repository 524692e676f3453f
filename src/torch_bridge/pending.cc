#include "torch_bridge/pending.h"

#include <map>

#include "base/env.h"
#include "torch_bridge/errors.h"
#include "torch_bridge/guard.h"
#include "torch_bridge/runtime.h"

namespace tp::bridge {
namespace {

// When this many nodes were made since the stream last ran, it is cut without a boundary.
constexpr int64_t kNodeLimit = 20000;

thread_local int t_captures = 0;

void run_or_throw(std::span<Node* const> roots, std::span<Node* const> live) {
  Status status = runner().run(roots, live);
  if (!status.ok()) throw_error(std::move(status.error()));
}

// Pending nodes that storages of the stream hold, by device.
std::map<int, std::vector<Node*>> pending_nodes(int64_t stream) {
  std::map<int, std::vector<Node*>> nodes;
  for_each_pending(stream, [&](StorageValue& storage) {
    Node* node = storage.value.get();
    if (node && node->op != Op::leaf) nodes[node->device].push_back(node);
  });
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
  std::map<int, std::vector<Node*>> live = pending_nodes(current_stream_id());
  run_or_throw({&root, 1}, live[root->device]);
  return value;
}

Value materialize(StorageValue& storage) {
  std::lock_guard<std::recursive_mutex> lock(runner().mutex());
  if (!storage.value) set_value(storage, value_or_zeros(storage));
  return materialize(storage.value);
}

void run_pending(int64_t stream) {
  Runner* run = runner_or_null();
  if (!run || capturing()) return;
  std::lock_guard<std::recursive_mutex> lock(run->mutex());
  for (auto& [device, nodes] : pending_nodes(stream)) run_or_throw(nodes, {});
  forget_run(stream);
}

void run_pending() { run_pending(current_stream_id()); }

void after_op() {
  if (capturing()) return;
  if (env().sync) return synchronize(current_device());
  if (live_nodes() > kNodeLimit && nodes_since_run(current_stream_id()) > kNodeLimit) run_pending();
}

CaptureScope::CaptureScope() { ++t_captures; }
CaptureScope::~CaptureScope() { --t_captures; }
bool capturing() { return t_captures > 0; }

}  // namespace tp::bridge
