#include "exec/program_table.h"

#include <algorithm>
#include <charconv>

namespace tp {
namespace {

// A process that meets this many structures keeps the most recent ones.
constexpr size_t kMaxStructures = 4096;

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
  while (entries_.size() > kMaxStructures) {
    auto oldest = std::min_element(entries_.begin(), entries_.end(),
                                   [](const auto& a, const auto& b) { return a.second.last_use < b.second.last_use; });
    entries_.erase(oldest);
  }
}

int64_t ProgramTable::programs() const {
  int64_t n = 0;
  for (const auto& [key, entry] : entries_) n += static_cast<int64_t>(entry.programs.size());
  return n;
}

}  // namespace tp
