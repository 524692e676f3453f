#pragma once
// Loaded programs by structure. Under the graph's lock.

#include <memory>
#include <unordered_map>
#include <vector>

#include "compile/compiler.h"
#include "rewrite/program.h"

namespace tp {

struct LoadedProgram {
  Program program;
  LoadedExecutable executable;
  CompiledMemoryStats memory;
  std::vector<uint8_t> has_result;  // by region order
  std::string name;                 // the ops that the user called: "aten::mm, aten::relu"
  int64_t nodes = 0;
};

// What is known of one structure.
struct StructureEntry {
  std::vector<int64_t> numbers;   // as first seen; those not promoted are constants of every program
  std::vector<uint8_t> promoted;  // by number slot
  std::vector<uint8_t> results;   // by order: every result that was ever wanted
  std::vector<std::shared_ptr<LoadedProgram>> programs;
  uint64_t last_use = 0;
};

class ProgramTable {
 public:
  // The entry of the region's structure, with its promoted numbers brought up to date: a number that differs from the
  // first one seen travels from now on, and programs that held it as a constant are dropped.
  // `note` remembers promoted numbers over processes.
  StructureEntry& entry(const Region& region, Compiler& notes);
  // A loaded program whose results include `wanted`, or null.
  static std::shared_ptr<LoadedProgram> find(const StructureEntry& entry, const std::vector<uint8_t>& wanted);
  // Drops the least recently used structures beyond the bounds.
  void trim();
  int64_t programs() const;
  void clear() { entries_.clear(); }

 private:
  std::unordered_map<Digest, StructureEntry, DigestHash> entries_;
  uint64_t clock_ = 0;
  int loaded_since_look_ = 0;
};

}  // namespace tp
