#include "torch_bridge/strides.h"

#include <ATen/core/Tensor.h>

#include <numeric>

namespace tp::bridge {
namespace {

struct Operand {
  Dims sizes, strides;  // aligned to the result's rank; a broadcast dimension has stride 0
};

void add_operand(std::vector<const at::Tensor*>& tensors, const c10::IValue& value) {
  if (!value.isTensor()) return;
  const at::Tensor& t = value.toTensor();
  if (t.defined() && t.dim() > 0) tensors.push_back(&t);
}

// > 0 when dimension a belongs outside b, < 0 when inside, 0 when nothing tells.
int compare(const std::vector<Operand>& operands, int64_t a, int64_t b) {
  for (const Operand& operand : operands) {
    int64_t sa = operand.strides[a], sb = operand.strides[b];
    if (sa == 0 || sb == 0) continue;
    if (sa != sb) return sa < sb ? -1 : 1;
    if (operand.sizes[a] > operand.sizes[b]) return 1;
  }
  return 0;
}

}  // namespace

Strides pointwise_strides(const c10::IValue* args, size_t count) {
  std::vector<const at::Tensor*> tensors;
  for (size_t i = 0; i < count; ++i) add_operand(tensors, args[i]);
  bool all_contiguous = true;
  int64_t rank = 0;
  for (const at::Tensor* t : tensors) {
    all_contiguous = all_contiguous && t->is_contiguous();
    rank = std::max(rank, t->dim());
  }
  if (all_contiguous || rank < 2) return {};

  std::vector<Operand> operands;
  for (const at::Tensor* t : tensors) {
    Operand operand{Dims(rank, 1), Dims(rank, 0)};
    int64_t shift = rank - t->dim();
    for (int64_t d = 0; d < t->dim(); ++d) {
      operand.sizes[shift + d] = t->sizes()[d];
      operand.strides[shift + d] = t->sizes()[d] == 1 ? 0 : t->strides()[d];
    }
    operands.push_back(std::move(operand));
  }
  // From the innermost dimension outwards; insertion keeps the order of dimensions that nothing tells apart.
  Dims inner_first(rank);
  for (int64_t i = 0; i < rank; ++i) inner_first[i] = rank - 1 - i;
  for (int64_t i = 1; i < rank; ++i) {
    int64_t at = i;
    for (int64_t j = i - 1; j >= 0; --j) {
      int order = compare(operands, inner_first[j], inner_first[at]);
      if (order > 0) {
        std::swap(inner_first[j], inner_first[at]);
        at = j;
      } else if (order < 0) {
        break;
      }
    }
  }
  Strides result;
  for (int64_t i = rank; i-- > 0;) {
    result.order.push_back(inner_first[i]);
    result.permuted = result.permuted || inner_first[i] != rank - 1 - i;
  }
  return result;
}

}  // namespace tp::bridge
