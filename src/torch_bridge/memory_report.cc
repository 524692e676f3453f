#include "torch_bridge/memory_report.h"

#include <algorithm>
#include <cstdio>
#include <map>
#include <set>
#include <tuple>

#include "base/loc.h"
#include "exec/device_buffer.h"
#include "torch_bridge/allocator.h"
#include "torch_bridge/runtime.h"

namespace tp::bridge {
namespace {

constexpr size_t kRows = 10;

struct Row {
  int64_t bytes = 0;  // of all of them
  int64_t count = 0;
  std::string what;
};

std::string mib(int64_t bytes) {
  char text[32];
  std::snprintf(text, sizeof(text), "%9.1f MiB", static_cast<double>(bytes) / (1 << 20));
  return text;
}

// Tensors of one type that one line made share a row.
std::vector<Row> rows_of(int device) {
  std::map<std::string, Row> rows;
  std::set<const Node*> seen;  // clones share bytes until one is written
  for_each_live([&](const StorageValue& storage) {
    if (storage.device != device || !storage.value || storage.value->op != Op::leaf) return;
    const DeviceBuffer* held = device_buffer(*storage.value.get());
    if (!held || !seen.insert(storage.value.get()).second) return;
    std::string what = type_text(storage.value.type());
    if (storage.made_at) what += "  " + loc_text(storage.made_at);
    Row& row = rows[what];
    row.bytes += held->bytes();
    ++row.count;
    row.what = what;
  });
  std::vector<Row> sorted;
  for (auto& [what, row] : rows) sorted.push_back(std::move(row));
  std::sort(sorted.begin(), sorted.end(), [](const Row& a, const Row& b) { return a.bytes > b.bytes; });
  return sorted;
}

}  // namespace

std::string largest_tensors() {
  Runner* run = runner_or_null();
  if (!run) return "";
  std::lock_guard<std::recursive_mutex> graph(run->mutex());
  std::string text;
  for (size_t device = 0; device < run->devices().size(); ++device) {
    std::vector<Row> rows = rows_of(static_cast<int>(device));
    if (rows.empty()) continue;
    text += "\n  tpu:" + std::to_string(device) + " holds " + mib(run->memory(static_cast<int>(device)).in_use()) + ":";
    for (size_t i = 0; i < std::min(rows.size(), kRows); ++i) {
      text += "\n" + mib(rows[i].bytes) + "  ";
      if (rows[i].count > 1) text += std::to_string(rows[i].count) + " x ";
      text += rows[i].what;
    }
    if (rows.size() > kRows) text += "\n  and " + std::to_string(rows.size() - kRows) + " smaller kinds";
  }
  return text;
}

}  // namespace tp::bridge
