#pragma once
// Compiled programs on disk, shared by processes. An executable is code, so an entry counts only when it is
// owned by this user or root and nobody else may write to it. No call fails: what goes wrong is logged once and
// reads as a miss. Thread-safe, and safe for many processes on one folder.

#include <atomic>
#include <cstdint>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/digest.h"

namespace tp {

class DiskCache {
 public:
  // Of programs, not of notes, but for `dropped` and `evicted`.
  struct Stats {
    int64_t hits = 0, misses = 0, puts = 0;
    int64_t dropped = 0;  // damaged, foreign or untrusted
    int64_t evicted = 0;  // to stay below the cap
  };

  // `dir` is made (mode 0700) at the first write; "" turns writing off. `readonly` folders are looked up after it
  // and never touched. `max_bytes` caps `dir`; the least recently used entries go first, 0 is "no cap".
  DiskCache(std::string dir, std::vector<std::string> readonly, int64_t max_bytes);

  std::optional<std::string> get(const Digest& key);
  void put(const Digest& key, std::string_view bytes);

  // Small records beside the programs, such as which constants were promoted to runtime scalars.
  std::optional<std::string> get_note(const Digest& key);
  void put_note(const Digest& key, std::string_view text);

  // Takes away a program that is well-formed but useless, such as one that the plugin refuses.
  void drop(const Digest& key);

  Stats stats() const;
  const std::string& dir() const { return dir_; }

 private:
  std::optional<std::string> find(const Digest& key, const char* ending);
  std::optional<std::string> read(const std::string& path, const Digest& key, bool ours);
  bool write(const Digest& key, const char* ending, std::string_view bytes);
  void keep_below_cap(int64_t added);
  void trim();
  void log_once(const std::string& line);

  const std::string dir_;
  const std::vector<std::string> readonly_;
  const int64_t max_bytes_;
  std::atomic<int64_t> hits_{0}, misses_{0}, puts_{0}, dropped_{0}, evicted_{0};
  std::mutex mutex_;  // of what follows
  std::set<std::string> logged_;
  int64_t bytes_ = 0;           // in `dir_`, as far as this process knows
  int writes_until_count_ = 0;  // others write too, so it counts anew now and then
};

}  // namespace tp
