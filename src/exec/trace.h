#pragma once
// What ran when, for a profiler that asks. Thread-safe; while nobody records it costs one load a launch.

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <string>
#include <vector>

namespace tp {

struct Span {
  enum class Kind : uint8_t { program, upload, download, compile };

  Kind kind;
  int device;
  std::string name;            // of a program: the ops that the user called
  int64_t start = 0, end = 0;  // nanoseconds since 1970
  int64_t amount = 0;          // nodes of a program, bytes of a transfer
};

class Trace {
 public:
  // Nanoseconds since 1970.
  static int64_t now();

  bool recording() const { return recording_.load(std::memory_order_relaxed); }
  void start();
  // The spans since start(), by their start. A device works off its programs in the order of their launches, so one
  // begins when it was launched or when the one before has ended.
  std::vector<Span> stop();
  // Dropped unless recording.
  void add(Span span);
  // A span whose end comes later, on a thread of the plugin: stop() waits for its add_expected(), though not for ever.
  void expect();
  void add_expected(Span span);

 private:
  std::atomic<bool> recording_{false};
  std::mutex mutex_;
  std::condition_variable all_added_;
  int64_t expected_ = 0;
  std::vector<Span> spans_;
};

}  // namespace tp
