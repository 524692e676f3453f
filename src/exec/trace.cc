#include "exec/trace.h"

#include <algorithm>
#include <chrono>
#include <map>

namespace tp {

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

std::vector<Span> Trace::stop() {
  std::lock_guard<std::mutex> lock(mutex_);
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
