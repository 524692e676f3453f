// Ops whose result's size depends on data. The host must learn the size before the next op can be traced, so it
// computes them too: one host sync and no program for each size. Also those that give the host an answer.

#include "torch_bridge/data_dependent.h"

#include <ATen/MemoryOverlap.h>
#include <ATen/ops/_unique2.h>
#include <ATen/ops/masked_select.h>
#include <ATen/ops/nonzero.h>
#include <ATen/ops/repeat_interleave.h>
#include <ATen/ops/unique_consecutive.h>
#include <ATen/ops/unique_dim.h>
#include <ATen/ops/unique_dim_consecutive.h>
#include <torch/library.h>

#include "torch_bridge/copy.h"
#include "torch_bridge/errors.h"
#include "torch_bridge/loc.h"
#include "torch_bridge/pending.h"
#include "torch_bridge/runtime.h"
#include "torch_bridge/storage.h"

namespace tp::bridge {
namespace {

using Three = std::tuple<at::Tensor, at::Tensor, at::Tensor>;

Three to_device(const Three& host, int device) {
  return {bridge::to_device(std::get<0>(host), device), bridge::to_device(std::get<1>(host), device),
          bridge::to_device(std::get<2>(host), device)};
}

at::Tensor on_host(const at::Tensor& t) { return t.is_privateuseone() ? to_host(t) : t; }

// The written form of a functional result.
at::Tensor& put(at::Tensor& out, const at::Tensor& result) {
  TORCH_CHECK(out.scalar_type() == result.scalar_type(), "Expected out tensor to have dtype ", result.scalar_type(),
              ", but got ", out.scalar_type(), " instead");
  if (out.sizes() != result.sizes()) out.resize_(result.sizes());
  return out.copy_(result);
}

at::Tensor nonzero(const at::Tensor& self) {
  return bridge::to_device(at::nonzero(to_host(self)), self.device().index());
}
at::Tensor& nonzero_out(const at::Tensor& self, at::Tensor& out) { return put(out, at::nonzero(to_host(self))); }

void check_same_device(const at::Tensor& a, const at::Tensor& b) {
  TORCH_CHECK(a.device() == b.device(),
              "Expected all tensors to be on the same device, but found at least two devices, ", a.device(), " and ",
              b.device(), "!");
}

at::Tensor masked_select(const at::Tensor& self, const at::Tensor& mask) {
  check_same_device(self, mask);
  return bridge::to_device(at::masked_select(on_host(self), on_host(mask)), self.device().index());
}
at::Tensor& masked_select_out(const at::Tensor& self, const at::Tensor& mask, at::Tensor& out) {
  check_same_device(self, mask);
  at::assert_no_internal_overlap(out);
  at::assert_no_overlap(out, self);
  at::assert_no_overlap(out, mask);
  return put(out, at::masked_select(on_host(self), on_host(mask)));
}

Three unique(const at::Tensor& self, bool sorted, bool inverse, bool counts) {
  return to_device(at::_unique2(to_host(self), sorted, inverse, counts), self.device().index());
}
Three unique_dim(const at::Tensor& self, int64_t dim, bool sorted, bool inverse, bool counts) {
  return to_device(at::unique_dim(to_host(self), dim, sorted, inverse, counts), self.device().index());
}
Three unique_consecutive(const at::Tensor& self, bool inverse, bool counts, std::optional<int64_t> dim) {
  return to_device(at::unique_consecutive(to_host(self), inverse, counts, dim), self.device().index());
}
Three unique_dim_consecutive(const at::Tensor& self, int64_t dim, bool inverse, bool counts) {
  return to_device(at::unique_dim_consecutive(to_host(self), dim, inverse, counts), self.device().index());
}

at::Tensor repeat_interleave(const at::Tensor& repeats, std::optional<c10::SymInt> output_size) {
  std::optional<int64_t> size;
  if (output_size) size = output_size->guard_int(__FILE__, __LINE__);
  return bridge::to_device(at::repeat_interleave(to_host(repeats), size), repeats.device().index());
}

// --- masks among indices

bool is_mask(const at::Tensor& t) {
  return t.defined() && (t.scalar_type() == at::kBool || t.scalar_type() == at::kByte);
}

// One index of places for each dimension of the mask.
void add_places(c10::List<std::optional<at::Tensor>>& indices, const at::Tensor& mask, const at::Tensor& self) {
  int64_t first = static_cast<int64_t>(indices.size());
  for (int64_t j = 0; j < mask.dim(); ++j) {
    TORCH_CHECK_INDEX(first + j < self.dim() && mask.size(j) == self.size(first + j), "The shape of the mask ",
                      mask.sizes(), " at index ", j, " does not match the shape of the indexed tensor ", self.sizes(),
                      " at index ", first + j);
  }
  at::Tensor places = at::nonzero(on_host(mask)).t().contiguous();
  for (int64_t j = 0; j < mask.dim(); ++j) {
    indices.push_back(bridge::to_device(places.select(0, j), self.device().index()));
  }
}

bool takes_indices(const std::string& name) {
  return name == "aten::index" || name == "aten::index_put" || name == "aten::index_put_" ||
         name == "aten::_index_put_impl_" || name == "aten::_unsafe_index" || name == "aten::_unsafe_index_put";
}

bool equal(const at::Tensor& self, const at::Tensor& other) {
  check_same_device(self, other);
  TORCH_CHECK(self.scalar_type() == other.scalar_type(), "Expected all tensors to have the same dtype, but found ",
              self.scalar_type(), " and ", other.scalar_type());
  if (self.sizes() != other.sizes()) return false;
  if (self.numel() == 0) return true;
  int device = self.device().index();
  std::unique_lock<std::recursive_mutex> lock(runner().mutex());
  Build b("aten::equal", device, record_loc());
  Value same = b.compare(Direction::eq, read_tensor(self, b), read_tensor(other, b));
  Value all = b.reduce(Combine::and_, same, iota_dims(self.dim()));
  check_build(b, "aten::equal");
  at::Tensor answer = make_tensor(std::move(all), at::kBool, device);
  lock.unlock();
  return to_host(answer).const_data_ptr<bool>()[0];
}

}  // namespace

bool call_with_places(const c10::OperatorHandle& op, torch::jit::Stack* stack) {
  if (!takes_indices(op.operator_name().name)) return false;
  c10::IValue* args = stack->data() + stack->size() - op.schema().arguments().size();
  const at::Tensor self = args[0].toTensor();
  const c10::List<std::optional<at::Tensor>> given = args[1].toOptionalTensorList();
  c10::List<std::optional<at::Tensor>> indices;
  bool any = false;
  for (size_t i = 0; i < given.size(); ++i) {
    std::optional<at::Tensor> index = given.get(i);
    bool mask = index && is_mask(*index);
    any = any || mask;
    if (mask)
      add_places(indices, *index, self);
    else
      indices.push_back(std::move(index));
  }
  if (!any) return false;
  args[1] = std::move(indices);
  op.callBoxed(*stack);
  return true;
}

}  // namespace tp::bridge

TORCH_LIBRARY_IMPL(aten, PrivateUse1, m) {
  m.impl("nonzero", TORCH_FN(tp::bridge::nonzero));
  m.impl("nonzero.out", TORCH_FN(tp::bridge::nonzero_out));
  m.impl("masked_select", TORCH_FN(tp::bridge::masked_select));
  m.impl("masked_select.out", TORCH_FN(tp::bridge::masked_select_out));
  m.impl("_unique2", TORCH_FN(tp::bridge::unique));
  m.impl("unique_dim", TORCH_FN(tp::bridge::unique_dim));
  m.impl("unique_consecutive", TORCH_FN(tp::bridge::unique_consecutive));
  m.impl("unique_dim_consecutive", TORCH_FN(tp::bridge::unique_dim_consecutive));
  m.impl("repeat_interleave.Tensor", TORCH_FN(tp::bridge::repeat_interleave));
  m.impl("equal", TORCH_FN(tp::bridge::equal));
}
