// Sparse and quantised tensors: one clear sentence instead of the dispatcher's list of backends.

#include <ATen/core/dispatch/Dispatcher.h>
#include <torch/library.h>

namespace {

void refuse(const c10::OperatorHandle& op, const char* kind) {
  TORCH_CHECK_NOT_IMPLEMENTED(false, op.operator_name(), ": tpu has no ", kind,
                              " tensors. Keep the tensor on the CPU, or make it a plain strided one there first");
}

void refuse_sparse(const c10::OperatorHandle& op, c10::DispatchKeySet, torch::jit::Stack*) { refuse(op, "sparse"); }
void refuse_quantized(const c10::OperatorHandle& op, c10::DispatchKeySet, torch::jit::Stack*) {
  refuse(op, "quantized");
}

TORCH_LIBRARY_IMPL(_, SparsePrivateUse1, m) { m.fallback(torch::CppFunction::makeFromBoxedFunction<&refuse_sparse>()); }
TORCH_LIBRARY_IMPL(_, SparseCsrPrivateUse1, m) {
  m.fallback(torch::CppFunction::makeFromBoxedFunction<&refuse_sparse>());
}
TORCH_LIBRARY_IMPL(_, QuantizedPrivateUse1, m) {
  m.fallback(torch::CppFunction::makeFromBoxedFunction<&refuse_quantized>());
}

// Those that would make one, which the CPU would be asked for otherwise.
TORCH_LIBRARY_IMPL(aten, PrivateUse1, m) {
  for (const char* op : {"_to_sparse", "_to_sparse.sparse_dim", "_to_sparse_csr", "_to_sparse_csc", "_to_sparse_bsr",
                         "_to_sparse_bsc"}) {
    m.impl(op, torch::CppFunction::makeFromBoxedFunction<&refuse_sparse>());
  }
  for (const char* op : {"quantize_per_tensor", "quantize_per_tensor_dynamic", "quantize_per_channel"}) {
    m.impl(op, torch::CppFunction::makeFromBoxedFunction<&refuse_quantized>());
  }
}

}  // namespace
