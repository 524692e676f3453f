#pragma once
// StableHLO text to a loaded program: disk cache, then PJRT. Thread-safe.

#include <atomic>
#include <memory>
#include <string>

#include "compile/disk_cache.h"
#include "pjrt/client.h"

namespace tp {

struct CompileStats {
  std::atomic<int64_t> compiles{0};   // by the plugin's compiler
  std::atomic<int64_t> disk_hits{0};  // loaded from the disk cache instead
  std::atomic<int64_t> nanoseconds{0};
};

class Compiler {
 public:
  // `disk` may be null.
  Compiler(Client& client, std::unique_ptr<DiskCache> disk);

  // `graph` is what TORCH_PJRT_DUMP writes beside the text, for people.
  Result<LoadedExecutable> compile(const std::string& text, Device device, const std::string& graph = "");
  const CompileStats& stats() const { return stats_; }
  void reset_stats();

  // Small facts about a program structure that outlive the process (which numbers travel).
  std::optional<std::string> note(const Digest& key) const;
  void put_note(const Digest& key, const std::string& text);

 private:
  Digest key_of(const std::string& text, const std::string& options) const;

  Client& client_;
  std::unique_ptr<DiskCache> disk_;
  std::string environment_;  // all that changes a program besides its text and options
  CompileStats stats_;
};

}  // namespace tp
