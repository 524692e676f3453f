// torch.autocast("tpu"): which ops run in the lower precision, in float32, or in the widest dtype of their arguments.
// PyTorch's own lists.

#include <ATen/Operators.h>
#include <ATen/autocast_mode.h>
#include <torch/library.h>

namespace at::autocast {  // the lists name at's types without it
namespace {

Tensor banned_cross_entropy(const Tensor&, const Tensor&, const std::optional<Tensor>&, int64_t) {
  TORCH_CHECK(false,
              "torch.nn.functional.binary_cross_entropy and torch.nn.BCELoss are unsafe to autocast.\n"
              "Use binary_cross_entropy_with_logits or torch.nn.BCEWithLogitsLoss instead: they are safe to autocast");
}

TORCH_LIBRARY_IMPL(_, AutocastPrivateUse1, m) { m.fallback(torch::CppFunction::makeFallthrough()); }

TORCH_LIBRARY_IMPL(aten, AutocastPrivateUse1, m) {
#define TP_OP_LOWER(...) KERNEL_PRIVATEUSEONE(__VA_ARGS__, lower_precision_fp)
  AT_FORALL_LOWER_PRECISION_FP(TP_OP_LOWER)
#undef TP_OP_LOWER
#define TP_OP_FP32(...) KERNEL_PRIVATEUSEONE(__VA_ARGS__, fp32)
  AT_FORALL_FP32(TP_OP_FP32)
#undef TP_OP_FP32
#define TP_OP_SET_DTYPE(...) KERNEL_PRIVATEUSEONE(__VA_ARGS__, fp32_set_opt_dtype)
  AT_FORALL_FP32_SET_OPT_DTYPE(TP_OP_SET_DTYPE)
#undef TP_OP_SET_DTYPE
#define TP_OP_PROMOTE(...) KERNEL_PRIVATEUSEONE(__VA_ARGS__, promote)
  AT_FORALL_PROMOTE(TP_OP_PROMOTE)
#undef TP_OP_PROMOTE
  AT_FORALL_DIFFERENT_REDISPATCH_SIGNATURE(KERNEL_DIFFERENT_REDISPATCH_SIGNATURE_PRIVATEUSEONE)
  m.impl("binary_cross_entropy", TORCH_FN(banned_cross_entropy));
}

}  // namespace
}  // namespace at::autocast
