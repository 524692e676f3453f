#include "exec/program_table.h"

#include <algorithm>
#include <charconv>
#include <fstream>
#include <iterator>

namespace tp {
namespace {

// A process that meets this many structures keeps the most recent ones.
constexpr size_t kMaxStructures = 4096;
// How often the process's mappings are counted, which takes milliseconds.
constexpr int kLoadsPerLook = 64;

// A CPU plugin maps each program a dozen times, and ends the process when the kernel gives it no more mappings.
bool mappings_run_short() {
  int64_t allowed = 0;
  if (!(std::ifstream("/proc/sys/vm/max_map_count") >> allowed)) return false;
  std::ifstream maps("/proc/self/maps");
  int64_t used = std::count(std::istreambuf_iterator<char>(maps), {}, '\n');
  return used > allowed / 4 * 3;
}

std::string note_of(const std::vector<uint8_t>& promoted) {
  std::string text;
  for (size_t i = 0; i < promoted.size(); ++i) {
    if (promoted[i]) text += std::to_string(i) + " ";
  }
  return text;
}

void read_note(const std::string& text, std::vector<uint8_t>& promoted) {
  const char *at = text.data(), *end = at + text.size();
  while (at < end) {
    size_t slot = 0;
    auto [next, error] = std::from_chars(at, end, slot);
    if (error != std::errc() || slot >= promoted.size()) return;  // a damaged note costs one compile
    promoted[slot] = 1;
    at = next + 1;
  }
}

}  // namespace

StructureEntry& ProgramTable::entry(const Region& region, Compiler& notes) {
  auto [it, fresh] = entries_.try_emplace(region.structure);
  StructureEntry& entry = it->second;
  entry.last_use = ++clock_;
  if (fresh) {
    entry.promoted.assign(region.numbers.size(), 0);
    entry.results.assign(region.order.size(), 0);
    for (size_t s = 0; s < region.numbers.size(); ++s) {
      entry.numbers.push_back(region.numbers[s].bits);
      entry.promoted[s] = region.order[region.numbers[s].node]->runtime_number;
    }
    if (std::optional<std::string> note = notes.note(region.structure)) read_note(*note, entry.promoted);
    return entry;
  }
  bool grown = false;
  for (size_t s = 0; s < region.numbers.size(); ++s) {
    if (entry.promoted[s] || entry.numbers[s] == region.numbers[s].bits) continue;
    entry.promoted[s] = 1;
    grown = true;
  }
  if (grown) {
    entry.programs.clear();
    notes.put_note(region.structure, note_of(entry.promoted));
  }
  return entry;
}

std::shared_ptr<LoadedProgram> ProgramTable::find(const StructureEntry& entry, const std::vector<uint8_t>& wanted) {
  for (const auto& loaded : entry.programs) {
    bool covers = true;
    for (size_t i = 0; covers && i < wanted.size(); ++i) covers = !wanted[i] || loaded->has_result[i];
    if (covers) return loaded;
  }
  return nullptr;
}

void ProgramTable::trim() {
  size_t bound = kMaxStructures;
  if (++loaded_since_look_ >= kLoadsPerLook) {
    loaded_since_look_ = 0;
    if (mappings_run_short()) bound = std::max<size_t>(entries_.size() / 2, 1);
  }
  if (entries_.size() <= bound) return;
  std::vector<std::pair<uint64_t, Digest>> by_age;
  for (const auto& [structure, entry] : entries_) by_age.emplace_back(entry.last_use, structure);
  auto kept = by_age.begin() + static_cast<std::ptrdiff_t>(by_age.size() - bound);
  std::nth_element(by_age.begin(), kept, by_age.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  for (auto it = by_age.begin(); it != kept; ++it) entries_.erase(it->second);
}

int64_t ProgramTable::programs() const {
  int64_t n = 0;
  for (const auto& [key, entry] : entries_) n += static_cast<int64_t>(entry.programs.size());
  return n;
}

}  // namespace tp
