// Ops that touch storages and metadata only: factories, views, resize_, set_, clone.

#include <ATen/EmptyTensor.h>
#include <ATen/ExpandUtils.h>
#include <ATen/native/Resize.h>
#include <ATen/ops/_reshape_alias_native.h>
#include <ATen/ops/as_strided_native.h>
#include <ATen/ops/is_set_to_native.h>
#include <ATen/ops/unfold_native.h>
#include <ATen/ops/view_as_complex_native.h>
#include <ATen/ops/view_as_real_native.h>
#include <ATen/ops/view_native.h>
#include <torch/library.h>

#include "torch_bridge/errors.h"
#include "torch_bridge/guard.h"
#include "torch_bridge/loc.h"
#include "torch_bridge/pending.h"
#include "torch_bridge/runtime.h"
#include "torch_bridge/storage.h"

namespace tp::bridge {
namespace {

int index_of(std::optional<at::Device> device) {
  int index = device && device->has_index() ? device->index() : current_device();
  runner();
  TORCH_CHECK(index < device_count(), "invalid device tpu:", index, ": there are ", device_count());
  return index;
}

void check_layout(std::optional<at::Layout> layout) {
  TORCH_CHECK_NOT_IMPLEMENTED(layout.value_or(at::kStrided) == at::kStrided, "tpu has strided tensors only, got ",
                              *layout);
}

at::Tensor empty(c10::SymIntArrayRef size, std::optional<at::ScalarType> dtype, std::optional<at::Layout> layout,
                 std::optional<at::Device> device, std::optional<bool> pin, std::optional<at::MemoryFormat> format) {
  check_layout(layout);
  TORCH_CHECK(!pin.value_or(false), "Only dense CPU tensors can be pinned");
  return make_empty(C10_AS_INTARRAYREF_SLOW(size), dtype.value_or(at::get_default_dtype_as_scalartype()),
                    index_of(device), format.value_or(at::MemoryFormat::Contiguous));
}

at::Tensor empty_strided(c10::SymIntArrayRef size, c10::SymIntArrayRef stride, std::optional<at::ScalarType> dtype,
                         std::optional<at::Layout> layout, std::optional<at::Device> device, std::optional<bool> pin) {
  check_layout(layout);
  TORCH_CHECK(!pin.value_or(false), "Only dense CPU tensors can be pinned");
  return make_empty_strided(C10_AS_INTARRAYREF_SLOW(size), C10_AS_INTARRAYREF_SLOW(stride),
                            dtype.value_or(at::get_default_dtype_as_scalartype()), index_of(device));
}

// --- views

at::Tensor as_strided(const at::Tensor& self, c10::SymIntArrayRef size, c10::SymIntArrayRef stride,
                      std::optional<c10::SymInt> offset) {
  std::optional<int64_t> at_offset;
  if (offset) at_offset = offset->guard_int(__FILE__, __LINE__);
  return at::native::as_strided_tensorimpl(self, C10_AS_INTARRAYREF_SLOW(size), C10_AS_INTARRAYREF_SLOW(stride),
                                           at_offset);
}

at::Tensor view(const at::Tensor& self, c10::SymIntArrayRef size) {
  return at::native::view(self, C10_AS_INTARRAYREF_SLOW(size));
}

at::Tensor reshape_alias(const at::Tensor& self, c10::SymIntArrayRef size, c10::SymIntArrayRef stride) {
  return at::native::_reshape_alias(self, C10_AS_INTARRAYREF_SLOW(size), C10_AS_INTARRAYREF_SLOW(stride));
}

// --- resize_ and set_

void grow_storage(const at::Tensor& t) {
  const c10::TensorImpl& impl = *t.unsafeGetTensorImpl();
  if (impl.numel() == 0) return;
  size_t needed =
      at::detail::computeStorageNbytes(impl.sizes(), impl.strides(), t.element_size(), impl.storage_offset());
  if (needed <= t.storage().nbytes()) return;
  std::lock_guard<std::recursive_mutex> lock(runner().mutex());
  resize_storage(t.storage().unsafeGetStorageImpl(), needed);
}

const at::Tensor& resize(const at::Tensor& self, c10::SymIntArrayRef size, std::optional<at::MemoryFormat> format) {
  at::IntArrayRef sizes = C10_AS_INTARRAYREF_SLOW(size);
  at::detail::check_size_nonnegative(sizes);
  c10::TensorImpl& impl = *self.unsafeGetTensorImpl();
  if (impl.sizes() != sizes) impl.set_sizes_contiguous(sizes);
  if (format) {
    TORCH_CHECK(*format != at::MemoryFormat::Preserve, "Unsupported memory format ", *format);
    impl.empty_tensor_restride(*format);
  }
  grow_storage(self);
  return self;
}

at::Tensor& set_storage(at::Tensor& self, at::Storage source, int64_t offset, at::IntArrayRef size,
                        at::IntArrayRef stride) {
  at::native::checkSetStorage(self, source, offset, size, stride);
  c10::TensorImpl& impl = *self.unsafeGetTensorImpl();
  impl.set_storage_offset(offset);
  if (stride.data())
    impl.set_sizes_and_strides(size, stride);
  else
    impl.set_sizes_contiguous(size);
  grow_storage(self);
  return self;
}

at::Tensor& set_from_part(at::Tensor& self, at::Storage source, c10::SymInt offset, c10::SymIntArrayRef size,
                          c10::SymIntArrayRef stride) {
  return set_storage(self, std::move(source), offset.guard_int(__FILE__, __LINE__), C10_AS_INTARRAYREF_SLOW(size),
                     stride.data() ? C10_AS_INTARRAYREF_SLOW(stride) : at::IntArrayRef());
}

at::Tensor& set_from_storage(at::Tensor& self, at::Storage source) {
  int64_t elements = static_cast<int64_t>(source.nbytes()) / self.element_size();
  return set_storage(self, std::move(source), 0, elements, {});
}

at::Tensor& set_from_tensor(at::Tensor& self, const at::Tensor& source) {
  if (self.is_same(source)) return self;
  return set_storage(self, source.storage(), source.storage_offset(), source.sizes(), source.strides());
}

at::Tensor& set_to_nothing(at::Tensor& self) {
  at::Tensor nothing = make_empty({0}, self.scalar_type(), self.device().index());
  return set_storage(self, nothing.storage(), 0, {0}, {});
}

// --- clone shares the value: storages copy on write by their nature

at::Tensor clone(const at::Tensor& self, std::optional<at::MemoryFormat> format) {
  at::MemoryFormat wanted = format.value_or(at::MemoryFormat::Preserve);
  std::lock_guard<std::recursive_mutex> lock(runner().mutex());
  int device = self.device().index();
  Build b("aten::clone", device, record_loc());
  Value value = read_tensor(self, b);
  check_build(b, "aten::clone");
  bool plain = wanted == at::MemoryFormat::Contiguous || (wanted == at::MemoryFormat::Preserve && self.is_contiguous());
  if (plain) return make_tensor(std::move(value), self.scalar_type(), device);
  if (wanted == at::MemoryFormat::Preserve) {
    if (!self.is_non_overlapping_and_dense()) {
      std::vector<int64_t> strides = at::infer_dense_strides(self.sizes(), self.strides());
      View dense{to_dims(self.sizes()), to_dims(strides), 0};
      return make_permuted(std::move(value), memory_order(dense), device);
    }
    at::Tensor copy = make_empty_strided(self.sizes(), self.strides(), self.scalar_type(), device);
    write_tensor(copy, std::move(value), b);
    check_build(b, "aten::clone");
    return copy;
  }
  at::Tensor copy = make_empty(self.sizes(), self.scalar_type(), device, wanted);
  write_tensor(copy, std::move(value), b);
  check_build(b, "aten::clone");
  return copy;
}

// Work on a buffer keeps it alive in PJRT.
void record_stream(at::Tensor&, at::Stream) {}

// `module.to("tpu")` keeps its Parameter objects, so that an optimizer made before still has them.
bool shallow_copies(const at::Tensor& self, const at::Tensor& from) {
  auto dense = [](const at::Tensor& t) { return (t.is_cpu() || t.is_privateuseone()) && t.layout() == at::kStrided; };
  return dense(self) && dense(from);
}

}  // namespace
}  // namespace tp::bridge

TORCH_LIBRARY_IMPL(aten, PrivateUse1, m) {
  m.impl("empty.memory_format", TORCH_FN(tp::bridge::empty));
  m.impl("empty_strided", TORCH_FN(tp::bridge::empty_strided));
  m.impl("as_strided", TORCH_FN(tp::bridge::as_strided));
  m.impl("view", TORCH_FN(tp::bridge::view));
  m.impl("_reshape_alias", TORCH_FN(tp::bridge::reshape_alias));
  m.impl("unfold", TORCH_FN(at::native::unfold));
  m.impl("view_as_real", TORCH_FN(at::native::view_as_real));
  m.impl("view_as_complex", TORCH_FN(at::native::view_as_complex));
  m.impl("resize_", TORCH_FN(tp::bridge::resize));
  m.impl("set_.source_Storage_storage_offset", TORCH_FN(tp::bridge::set_from_part));
  m.impl("set_.source_Storage", TORCH_FN(tp::bridge::set_from_storage));
  m.impl("set_.source_Tensor", TORCH_FN(tp::bridge::set_from_tensor));
  m.impl("set_", TORCH_FN(tp::bridge::set_to_nothing));
  m.impl("is_set_to", TORCH_FN(at::native::is_set_to));
  m.impl("clone", TORCH_FN(tp::bridge::clone));
  m.impl("record_stream", TORCH_FN(tp::bridge::record_stream));
  m.impl("_has_compatible_shallow_copy_type", TORCH_FN(tp::bridge::shallow_copies));
}
