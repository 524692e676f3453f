#pragma once
// Bytes that live buffers take on one device, against a limit. Thread-safe.

#include <atomic>
#include <cstdint>

namespace tp {

class MemoryAccount {
 public:
  void add(int64_t bytes) {
    int64_t now = in_use_.fetch_add(bytes) + bytes;
    int64_t peak = peak_.load();
    while (now > peak && !peak_.compare_exchange_weak(peak, now)) {
    }
    ++buffers_;
  }
  void remove(int64_t bytes) {
    in_use_ -= bytes;
    --buffers_;
  }
  // A launch that needs `bytes` for a moment: counts for the peak only.
  void touch(int64_t bytes) {
    add(bytes);
    remove(bytes);
  }
  int64_t in_use() const { return in_use_; }
  int64_t peak() const { return peak_; }
  int64_t buffers() const { return buffers_; }
  void reset_peak() { peak_ = in_use_.load(); }

  void set_limit(int64_t bytes) { limit_ = bytes; }
  int64_t limit() const { return limit_; }
  int64_t free() const { return limit_ - in_use_; }

 private:
  std::atomic<int64_t> in_use_{0}, peak_{0}, buffers_{0}, limit_{INT64_MAX};
};

}  // namespace tp
