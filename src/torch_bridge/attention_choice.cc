// scaled_dot_product_attention asks which of its forms to take: the one that ops/attention.cc lowers as one piece.

#include <ATen/Context.h>
#include <ATen/SDPBackend.h>
#include <ATen/native/transformers/attention.h>

namespace at::native {
namespace {

int64_t choose_attention(const Tensor& query, const Tensor&, const Tensor&, const std::optional<Tensor>&, double, bool,
                         std::optional<double>, bool) {
  bool fused = at::globalContext().userEnabledOverrideableSDP() && query.is_floating_point() && !query.is_nested();
  return static_cast<int64_t>(fused ? SDPBackend::overrideable : SDPBackend::math);
}

REGISTER_PRIVATEUSE1_DISPATCH(_fused_sdp_choice_stub, &choose_attention)

}  // namespace
}  // namespace at::native
