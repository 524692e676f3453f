#include "torch_bridge/recompute.h"

#include <mutex>

#include "torch_bridge/errors.h"
#include "torch_bridge/guard.h"
#include "torch_bridge/loc.h"
#include "torch_bridge/runtime.h"
#include "torch_bridge/storage.h"

namespace tp::bridge {
namespace {

// The newest result on this thread's stream that has not run: in a backward pass the gradient that came in last.
Value newest_pending(int device) {
  Value newest;
  for_each_pending(current_stream_id(), [&](StorageValue& storage) {
    if (storage.device == device && storage.value) newest = storage.value;
  });
  return newest;
}

}  // namespace

std::vector<at::Tensor> after_all_so_far(const std::vector<at::Tensor>& tensors) {
  std::vector<at::Tensor> out;
  if (tensors.empty()) return out;
  Runner& run = runner();
  std::lock_guard<std::recursive_mutex> lock(run.mutex());
  for (const at::Tensor& tensor : tensors) {
    StorageValue& storage = *storage_value(tensor);
    Build b("torch_pjrt::after_all_so_far", storage.device, record_loc());
    Values operands = {value_or_zeros(storage)};
    Value newest = newest_pending(storage.device);
    if (newest && !(newest == operands[0])) operands.push_back(newest);
    Value value = b.optimization_barrier(operands)[0];
    c10::Storage copy = make_storage(std::move(value), storage.nbytes, storage.device);
    out.push_back(make_view(std::move(copy), tensor.scalar_type(), view_of(tensor)));
  }
  return out;
}

}  // namespace tp::bridge
