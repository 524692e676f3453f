// scaled_dot_product_attention asks which of its forms to take: the one that ops/attention.cc lowers as one piece.

#include <ATen/Context.h>
#include <ATen/SDPBackend.h>
#include <ATen/native/transformers/attention.h>

namespace at::native {
namespace {

// Whether only the heads differ; batches that broadcast are left to the form made of products.
bool same_batch(const Tensor& query, const Tensor& other) {
  int64_t rank = query.dim();
  if (other.dim() != rank || rank < 2) return false;
  return rank == 2 || query.sizes().slice(0, std::min<int64_t>(1, rank - 2)) ==
                          other.sizes().slice(0, std::min<int64_t>(1, rank - 2));
}

int64_t choose_attention(const Tensor& query, const Tensor& key, const Tensor& value, const std::optional<Tensor>&,
                         double, bool, std::optional<double>, bool) {
  bool fused = at::globalContext().userEnabledOverrideableSDP() && query.is_floating_point() && !query.is_nested() &&
               same_batch(query, key) && same_batch(query, value);
  return static_cast<int64_t>(fused ? SDPBackend::overrideable : SDPBackend::math);
}

REGISTER_PRIVATEUSE1_DISPATCH(_fused_sdp_choice_stub, &choose_attention)

}  // namespace
}  // namespace at::native
