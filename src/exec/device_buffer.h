#pragma once
// The bytes behind a leaf: a PJRT buffer that is counted while it lives.

#include <memory>

#include "exec/memory_account.h"
#include "pjrt/buffer.h"
#include "stablehlo/node.h"

namespace tp {

class DeviceBuffer : public Resident {
 public:
  DeviceBuffer(Buffer buffer, int64_t bytes, std::shared_ptr<MemoryAccount> account)
      : buffer_(std::move(buffer)), bytes_(bytes), account_(std::move(account)) {
    account_->add(bytes_);
  }
  ~DeviceBuffer() override {
    if (account_) account_->remove(bytes_);
  }

  Buffer& buffer() { return buffer_; }
  int64_t bytes() const { return bytes_; }
  // A program took the bytes over for one of its outputs.
  void give_away() {
    account_->remove(bytes_);
    account_.reset();
  }

 private:
  Buffer buffer_;
  int64_t bytes_;
  std::shared_ptr<MemoryAccount> account_;
};

// The buffer of a leaf that has one; null for a placeholder of a capture.
inline DeviceBuffer* device_buffer(const Node& leaf) { return dynamic_cast<DeviceBuffer*>(leaf.resident.get()); }

}  // namespace tp
