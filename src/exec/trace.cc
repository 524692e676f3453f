#include "exec/trace.h"

#include <algorithm>
#include <chrono>
#include <map>

namespace tp {
namespace {

// For the callbacks of programs that have ended.
constexpr std::chrono::seconds kPatience{5};

}  // namespace

int64_t Trace::now() {
  auto since = std::chrono::system_clock::now().time_since_epoch();
  return std::chrono::duration_cast<std::chrono::nanoseconds>(since).count();
}

void Trace::start() {
  std::lock_guard<std::mutex> lock(mutex_);
  spans_.clear();
  recording_ = true;
}

void Trace::add(Span span) {
  std::lock_guard<std::mutex> lock(mutex_);
  if (recording_) spans_.push_back(std::move(span));
}

void Trace::expect() {
  std::lock_guard<std::mutex> lock(mutex_);
  ++expected_;
}

void Trace::add_expected(Span span) {
  std::lock_guard<std::mutex> lock(mutex_);
  if (recording_) spans_.push_back(std::move(span));
  if (--expected_ == 0) all_added_.notify_all();
}

std::vector<Span> Trace::stop() {
  std::unique_lock<std::mutex> lock(mutex_);
  all_added_.wait_for(lock, kPatience, [this] { return expected_ == 0; });
  recording_ = false;
  std::vector<Span> spans;
  spans.swap(spans_);
  std::stable_sort(spans.begin(), spans.end(), [](const Span& a, const Span& b) { return a.start < b.start; });
  std::map<int, int64_t> busy_until;  // by device
  for (Span& span : spans) {
    if (span.kind != Span::Kind::program) continue;
    int64_t& until = busy_until[span.device];
    span.start = std::min(std::max(span.start, until), span.end);
    until = span.end;
  }
  return spans;
}

}  // namespace tp
