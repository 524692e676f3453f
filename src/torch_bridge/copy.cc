#include "torch_bridge/copy.h"

#include <ATen/MemoryOverlap.h>
#include <ATen/ops/_local_scalar_dense.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/full.h>
#include <torch/library.h>

#include "torch_bridge/dtypes.h"
#include "torch_bridge/errors.h"
#include "torch_bridge/loc.h"
#include "torch_bridge/pending.h"
#include "torch_bridge/runtime.h"
#include "torch_bridge/storage.h"

namespace tp::bridge {
namespace {

// Below this a look at a view fetches the whole storage and slices on the host: no program is compiled for the view.
constexpr int64_t kFetchWhole = 1 << 20;

at::TensorOptions host_options(const at::Tensor& t) {
  return at::TensorOptions().dtype(t.scalar_type()).device(at::kCPU);
}

void download(const Value& leaf, void* destination) {
  Status status = runner().download(leaf.get(), destination, static_cast<size_t>(leaf.type().bytes()));
  if (!status.ok()) throw_error(status.error());
}

bool fetches_whole(const at::Tensor& t, const StorageValue& s) {
  if (!s.value || t.is_conj() || t.is_neg()) return false;
  int64_t bytes = s.value.type().bytes();
  return bytes <= kFetchWhole || t.numel() * t.element_size() * 4 >= bytes;
}

at::Scalar to_at_scalar(const Value& constant) {
  const Scalar& n = constant->number;
  if (n.is_complex()) return c10::complex<double>(n.real(), n.imag());
  if (n.is_floating()) return n.real();
  if (constant.dtype() == Dtype::u64) return static_cast<uint64_t>(n.integer());
  return n.integer();
}

bool is_number(const Value& value) { return value && value->op == Op::constant && !value->runtime_number; }

// The leaf to download for a look at `t`, and whether it is t's whole storage rather than t's own elements. Under the
// graph's lock.
std::pair<Value, bool> leaf_of(const at::Tensor& t) {
  StorageValue& s = *storage_value(t);
  if (fetches_whole(t, s) && !is_number(s.value)) return {materialize(s), true};
  Build b("aten::_to_copy", s.device, record_loc());
  Value value = read_tensor(t, b);
  check_build(b, "aten::_to_copy");
  return {is_number(value) ? value : materialize(value), false};
}

// Host values in the memory order they have, so that the device's copy is a plain one.
Value upload(Build& b, const at::Tensor& host, int device) {
  at::Tensor t = host.resolve_conj().resolve_neg();
  Dtype dtype = to_dtype(t.scalar_type());
  if (t.numel() == 0) return b.constant_int(dtype, 0, to_dims(t.sizes()));
  if (!t.is_contiguous() && !t.is_non_overlapping_and_dense()) t = t.contiguous();
  Dims order = t.is_contiguous() ? iota_dims(t.dim()) : memory_order(view_of(t));
  Type type{dtype, Dims()};
  Dims inverse(order.size());
  for (size_t i = 0; i < order.size(); ++i) {
    type.dims.push_back(t.sizes()[order[i]]);
    inverse[order[i]] = static_cast<int64_t>(i);
  }
  return b.transpose(value_or_throw(runner().upload(t.const_data_ptr(), type, device)), inverse);
}

void warn_of_lost_imaginary(const at::Tensor& self, const at::Tensor& source) {
  if (source.is_complex() && !self.is_complex()) {
    TORCH_WARN_ONCE("Casting complex values to real discards the imaginary part");
  }
}

Value source_value(Build& b, const at::Tensor& self, const at::Tensor& source) {
  if (source.is_privateuseone()) {
    if (source.device() == self.device()) return read_tensor(source, b);
    Build there("aten::copy_", source.device().index(), record_loc());
    Value value = read_tensor(source, there);
    check_build(there, "aten::copy_");
    if (value->op == Op::constant) return b.constant(value.dtype(), value->number, value.dims());
    return value_or_throw(runner().copy_to_device(materialize(value), b.device()));
  }
  at::Tensor host = source.is_cpu() ? source : source.cpu();
  // Fewer bytes travel, and no plugin needs a dtype that only the host's copy has.
  if (self.element_size() <= host.element_size()) host = host.to(self.scalar_type());
  return upload(b, host, b.device());
}

at::Tensor& copy_to_device(at::Tensor& self, const at::Tensor& source) {
  std::lock_guard<std::recursive_mutex> lock(runner().mutex());
  Build b("aten::copy_", self.device().index(), record_loc());
  Value value = source_value(b, self, source);
  write_tensor(self, fit_sizes(b, b.convert(value, to_dtype(self.scalar_type())), self.sizes()), b);
  check_build(b, "aten::copy_");
  return self;
}

}  // namespace

Value fit_sizes(Build& b, const Value& value, at::IntArrayRef sizes) {
  if (!value) return value;
  Dims wanted = to_dims(sizes);
  if (value.dims() == wanted) return value;
  Dims common = b.broadcast_dims(value.dims(), wanted);
  if (!b.ok()) return Value();
  if (!(common == wanted)) {
    return b.fail(Code::invalid_argument, "output with shape [" + dims_text(wanted) +
                                              "] doesn't match the broadcast shape [" + dims_text(common) + "]");
  }
  return b.broadcast_to(value, wanted);
}

std::optional<at::Scalar> known_number(const at::Tensor& t) {
  if (t.numel() == 0) return std::nullopt;
  std::lock_guard<std::recursive_mutex> lock(runner().mutex());
  Build b("aten::_local_scalar_dense", t.device().index());
  Value value = read_tensor(t, b);
  check_build(b, "aten::_local_scalar_dense");
  if (!is_number(value)) return std::nullopt;
  return to_at_scalar(value);
}

at::Tensor to_host(const at::Tensor& t) {
  if (t.numel() == 0) return at::empty(t.sizes(), host_options(t));
  std::unique_lock<std::recursive_mutex> lock(runner().mutex());
  auto [leaf, whole] = leaf_of(t);
  lock.unlock();
  if (is_number(leaf)) return at::full(t.sizes(), to_at_scalar(leaf), host_options(t));
  note_host_sync("a copy from tpu to the host");
  if (!whole) {
    at::Tensor host = at::empty(t.sizes(), host_options(t));
    download(leaf, host.mutable_data_ptr());
    return host;
  }
  at::Tensor bytes = at::empty({leaf.type().bytes()}, at::TensorOptions().dtype(at::kByte).device(at::kCPU));
  download(leaf, bytes.mutable_data_ptr());
  return at::empty({0}, host_options(t)).set_(bytes.storage(), t.storage_offset(), t.sizes(), t.strides());
}

at::Tensor to_device(const at::Tensor& host, int device) {
  std::lock_guard<std::recursive_mutex> lock(runner().mutex());
  Build b("aten::_to_copy", device, record_loc());
  Value value = upload(b, host, device);
  check_build(b, "aten::_to_copy");
  if (!host.is_contiguous() && host.is_non_overlapping_and_dense()) {
    return make_permuted(std::move(value), memory_order(view_of(host)), device);
  }
  return make_tensor(std::move(value), host.scalar_type(), device);
}

at::Tensor& copy(at::Tensor& self, const at::Tensor& source, bool) {
  TORCH_CHECK(self.defined() && source.defined(), "copy_: expected defined tensors");
  if (self.is_same(source)) return self;
  at::assert_no_internal_overlap(self);
  warn_of_lost_imaginary(self, source);
  if (self.is_privateuseone()) return copy_to_device(self, source);
  return self.copy_(to_host(source));
}

namespace {

at::Tensor copy_from(const at::Tensor& source, const at::Tensor& target, bool non_blocking) {
  at::Tensor self = target;
  copy(self, source, non_blocking);
  return target;
}

at::Tensor copy_from_and_resize(const at::Tensor& source, const at::Tensor& target) {
  at::Tensor self = target;
  if (self.sizes() != source.sizes()) self.resize_(source.sizes());
  copy(self, source, false);
  return target;
}

at::Scalar local_scalar(const at::Tensor& t) {
  TORCH_CHECK(t.numel() == 1, "a Tensor with ", t.numel(), " elements cannot be converted to Scalar");
  // Through a host tensor in both cases, for the dtype's own rounding.
  if (std::optional<at::Scalar> number = known_number(t)) {
    return at::_local_scalar_dense(at::full({}, *number, host_options(t)));
  }
  return at::_local_scalar_dense(to_host(t).reshape({}));
}

}  // namespace
}  // namespace tp::bridge

TORCH_LIBRARY_IMPL(aten, PrivateUse1, m) {
  m.impl("copy_", TORCH_FN(tp::bridge::copy));
  m.impl("_copy_from", TORCH_FN(tp::bridge::copy_from));
  m.impl("_copy_from_and_resize", TORCH_FN(tp::bridge::copy_from_and_resize));
  m.impl("_local_scalar_dense", TORCH_FN(tp::bridge::local_scalar));
}
