#pragma once
// When pending work runs. A look (a host read) runs what the value needs; boundaries that repeat (the end of a module
// call, of backward, of an optimizer step) run everything pending on the stream; a node limit is the last resort.

#include "torch_bridge/storage.h"

namespace tp::bridge {

// Makes a leaf of the storage's value and returns it. Throws inside a capture.
Value materialize(StorageValue& storage);
// The same for a value that no storage holds.
Value materialize(const Value& value);
// Runs everything pending on a stream; asynchronous. Does nothing inside a capture.
void run_pending(int64_t stream);
void run_pending();  // of this thread's stream
// After each op: TORCH_PJRT_SYNC runs it at once, and the node limit is looked at.
void after_op();

// While one is alive on this thread, values are placeholders: looks throw and boundaries do nothing.
class CaptureScope {
 public:
  CaptureScope();
  ~CaptureScope();
};
bool capturing();

}  // namespace tp::bridge
