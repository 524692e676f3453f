#include "torch_bridge/storage.h"

#include <ATen/EmptyTensor.h>

#include <algorithm>

#include "exec/device_buffer.h"
#include "torch_bridge/allocator.h"
#include "torch_bridge/dtypes.h"
#include "torch_bridge/errors.h"
#include "torch_bridge/loc.h"
#include "torch_bridge/pending.h"
#include "torch_bridge/runtime.h"

namespace tp::bridge {
namespace {

Dtype dtype_of(const at::Tensor& t) { return to_dtype(t.scalar_type()); }

Dims zero_dims(const StorageValue& s, Dtype dtype) {
  int64_t elements = static_cast<int64_t>(s.nbytes) / dtype_size(dtype);
  return s.made_for.dtype == dtype && numel(s.made_for.dims) == elements ? s.made_for.dims : Dims{elements};
}

// Same bytes, elements of another size; a tail that fills no element is dropped.
Value resized_elements(Build& b, const Value& x, Dtype dtype) {
  int64_t from = dtype_size(x.dtype()), to = dtype_size(dtype);
  if (from == to) return b.bitcast(x, dtype, x.dims());
  Value source = x;
  Dims dims = x.dims();
  if (from > to) {
    Dims parts = dims;
    parts.push_back(from / to);
    if (dims.empty()) dims.push_back(1);
    dims.back() *= from / to;
    return b.reshape(b.bitcast(source, dtype, parts), dims);
  }
  int64_t ratio = to / from;
  if (dims.empty() || dims.back() % ratio != 0) {
    source = b.flatten(x);
    int64_t whole = numel(dims) / ratio;
    source = b.slice_dim(source, 0, 0, whole * ratio);
    dims = Dims{whole * ratio};
  }
  dims.back() /= ratio;
  Dims parts = dims;
  parts.push_back(ratio);
  return b.bitcast(b.reshape(source, parts), dtype, dims);
}

Value reinterpret(Build& b, const Value& x, Dtype dtype) {
  if (!b.ok() || x.dtype() == dtype) return x;
  // Between complex numbers and anything but their own parts, by way of the parts.
  if (is_complex(x.dtype()) && dtype != real_type(x.dtype())) {
    return reinterpret(b, resized_elements(b, x, real_type(x.dtype())), dtype);
  }
  if (is_complex(dtype) && x.dtype() != real_type(dtype)) {
    return resized_elements(b, reinterpret(b, x, real_type(dtype)), dtype);
  }
  return resized_elements(b, x, dtype);
}

// torch.load fills storages as bytes. The first tensor over one tells its dtype: the bytes go through the host once
// more, so that no program has to reinterpret them.
bool upload_again(StorageValue& s, Dtype dtype, const View& view) {
  if (s.rebased || s.value.dtype() != Dtype::u8 || s.value->op != Op::leaf || capturing()) return false;
  if (!device_buffer(*s.value.get())) return false;
  Dims dims = zero_dims(s, dtype);
  Type type{dtype, full_cover(view, numel(dims)).value_or(dims)};
  if (type.bytes() != s.value.type().bytes()) return false;
  std::vector<uint8_t> bytes(type.bytes());
  value_or_throw(runner().download(s.value.get(), bytes.data(), bytes.size()));
  set_value(s, value_or_throw(runner().upload(bytes.data(), type, s.device)));
  s.rebased = true;
  return true;
}

// The storage's elements as `dtype`, for a look at `view`.
Value base_of(StorageValue& s, Dtype dtype, const View& view, Build& b) {
  if (!s.value) return b.constant_int(dtype, 0, zero_dims(s, dtype));
  if (s.value.dtype() == dtype || upload_again(s, dtype, view)) return s.value;
  return reinterpret(b, s.value, dtype);
}

// Takes the dims of a view that covers the storage, so that later reads need fewer steps.
void rebase(StorageValue& s, const View& view, Build& b) {
  if (s.rebased || view.sizes.size() < 2) return;
  std::optional<Dims> cover = full_cover(view, numel(s.value.dims()));
  if (!cover || *cover == s.value.dims()) return;
  Value value = b.reshape(s.value, *cover);
  if (!value) return;
  set_value(s, std::move(value));
  s.rebased = true;
}

Value apply_bits(const at::Tensor& t, Value value, Build& b) {
  if (t.is_conj()) value = b.complex(b.real(value), b.negate(b.imag(value)));
  if (t.is_neg()) value = b.negate(value);
  return value;
}

bool is_row_major(const c10::TensorImpl& impl) { return impl.storage_offset() == 0 && impl.is_contiguous(); }

bool same(at::IntArrayRef sizes, const Dims& dims) {
  return sizes.size() == dims.size() && std::equal(sizes.begin(), sizes.end(), dims.begin());
}

Value read(const at::Tensor& t, StorageValue& s, Build& b) {
  const c10::TensorImpl& impl = *t.unsafeGetTensorImpl();
  Dtype dtype = dtype_of(t);
  if (s.value && s.value.dtype() == dtype && is_row_major(impl) && same(impl.sizes(), s.value.dims())) return s.value;
  View view = view_of(t);
  if (impl.numel() == 0) return b.constant_int(dtype, 0, view.sizes);
  Value base = base_of(s, dtype, view, b);
  if (s.value && s.value == base) {
    rebase(s, view, b);
    base = s.value;
  }
  return read_view(b, base, view);
}

at::Tensor make_over(c10::Storage storage, at::ScalarType dtype) {
  return at::detail::make_tensor<c10::TensorImpl>(
      std::move(storage), c10::DispatchKeySet(c10::DispatchKey::PrivateUse1), c10::scalarTypeToTypeMeta(dtype));
}

// What an out-of-memory report names by its line.
constexpr size_t kLarge = size_t{1} << 20;

c10::Storage new_storage(size_t nbytes, int device) {
  at::DataPtr data = allocate_storage(nbytes, device);
  if (nbytes >= kLarge) context_of(data)->made_at = user_line();
  return c10::make_intrusive<c10::StorageImpl>(c10::StorageImpl::use_byte_size_t(), nbytes, std::move(data),
                                               &device_allocator(), true);
}

}  // namespace

View view_of(const at::Tensor& t) {
  const c10::TensorImpl& impl = *t.unsafeGetTensorImpl();
  return {to_dims(impl.sizes()), to_dims(impl.strides()), impl.storage_offset()};
}

StorageValue* storage_value(const at::Tensor& t) {
  const c10::TensorImpl& impl = *t.unsafeGetTensorImpl();
  TORCH_CHECK_NOT_IMPLEMENTED(impl.has_storage() && t.layout() == at::kStrided, "tpu has strided tensors only, got ",
                              t.layout());
  const at::DataPtr& data = impl.unsafe_storage().unsafeGetStorageImpl()->_mutable_data_ptr_no_checks();
  if (StorageValue* s = context_of(data)) [[likely]]
    return s;
  StorageValue* s = find_storage(data.get());
  TORCH_CHECK(s, "the tensor's memory is no storage of tpu");
  TORCH_CHECK(data.get() == s->address, "a tensor made from an address must start where its storage does");
  return s;
}

Value value_or_zeros(const StorageValue& s) {
  if (s.value) return s.value;
  return Build("", s.device).constant_int(s.made_for.dtype, 0, zero_dims(s, s.made_for.dtype));
}

Value read_tensor(const at::Tensor& t, Build& b) {
  if (!b.ok()) return Value();
  Value value = read(t, *storage_value(t), b);
  return t.is_conj() || t.is_neg() ? apply_bits(t, std::move(value), b) : value;
}

void write_tensor(const at::Tensor& t, Value value, Build& b) {
  if (!b.ok() || !value) return;
  const c10::TensorImpl& impl = *t.unsafeGetTensorImpl();
  if (impl.numel() == 0) return;
  StorageValue& s = *storage_value(t);
  Dtype dtype = dtype_of(t);
  TP_CHECK(value.dtype() == dtype && same(impl.sizes(), value.dims()));
  if (t.is_conj() || t.is_neg()) value = apply_bits(t, std::move(value), b);
  int64_t elements = static_cast<int64_t>(s.nbytes) / dtype_size(dtype);
  if (!is_row_major(impl) || impl.numel() != elements) {
    View view = view_of(t);
    if (full_cover(view, elements))
      value = b.transpose(value, memory_order(view));
    else
      value = write_view(b, base_of(s, dtype, view, b), view, value);
  }
  if (b.ok()) set_value(s, std::move(value));
}

// --- making

c10::Storage make_storage(Value value, size_t nbytes, int device) {
  c10::Storage storage = new_storage(nbytes, device);
  StorageValue& s = *context_of(storage.data_ptr());
  s.made_for = value.type();
  set_value(s, std::move(value));
  return storage;
}

at::Tensor make_view(c10::Storage storage, at::ScalarType dtype, const View& view) {
  at::Tensor t = make_over(std::move(storage), dtype);
  t.unsafeGetTensorImpl()->set_sizes_and_strides(to_ref(view.sizes), to_ref(view.strides), view.offset);
  return t;
}

at::Tensor make_tensor(Value value, at::ScalarType dtype, int device) {
  size_t nbytes = static_cast<size_t>(value.type().bytes());
  c10::Storage storage = new_storage(nbytes, device);
  StorageValue& s = *context_of(storage.data_ptr());
  Dims sizes = value.dims();
  set_value(s, std::move(value));
  at::Tensor t = make_over(std::move(storage), dtype);
  if (sizes.size() != 1 || sizes[0] != 0) t.unsafeGetTensorImpl()->set_sizes_contiguous(to_ref(sizes));
  return t;
}

at::Tensor make_permuted(Value value, const Dims& order, int device) {
  View view{value.dims(), Dims(order.size()), 0};
  int64_t stride = 1;
  for (size_t i = order.size(); i-- > 0;) {
    view.strides[order[i]] = stride;
    stride *= std::max<int64_t>(view.sizes[order[i]], 1);
  }
  Build b("", device);
  Value base = b.transpose(value, order);
  check_build(b, "");
  size_t nbytes = static_cast<size_t>(base.type().bytes());
  at::ScalarType dtype = to_scalar_type(base.dtype());
  return make_view(make_storage(std::move(base), nbytes, device), dtype, view);
}

at::Tensor make_empty(at::IntArrayRef sizes, at::ScalarType dtype, int device, at::MemoryFormat format) {
  at::detail::check_size_nonnegative(sizes);
  Dtype d = to_dtype(dtype);
  size_t nbytes = at::detail::computeStorageNbytesContiguous(sizes, c10::elementSize(dtype));
  c10::Storage storage = new_storage(nbytes, device);
  context_of(storage.data_ptr())->made_for = Type{d, to_dims(sizes)};
  at::Tensor t = make_over(storage, dtype);
  c10::TensorImpl& impl = *t.unsafeGetTensorImpl();
  if (sizes.size() != 1 || sizes[0] != 0) impl.set_sizes_contiguous(sizes);
  if (format != at::MemoryFormat::Contiguous && format != at::MemoryFormat::Preserve) {
    impl.empty_tensor_restride(format);
    if (auto cover = full_cover(view_of(t), t.numel())) context_of(storage.data_ptr())->made_for.dims = *cover;
  }
  return t;
}

at::Tensor make_empty_strided(at::IntArrayRef sizes, at::IntArrayRef strides, at::ScalarType dtype, int device) {
  at::detail::check_size_nonnegative(sizes);
  TORCH_CHECK(sizes.size() == strides.size(), "dimensionality of sizes (", sizes.size(),
              ") must match dimensionality of strides (", strides.size(), ")");
  Type type{to_dtype(dtype), Dims()};
  View view{to_dims(sizes), to_dims(strides), 0};
  size_t nbytes = at::detail::computeStorageNbytes(sizes, strides, c10::elementSize(dtype));
  int64_t elements = static_cast<int64_t>(nbytes / c10::elementSize(dtype));
  std::optional<Dims> cover = full_cover(view, elements);
  type.dims = cover ? *cover : Dims{elements};
  c10::Storage storage = new_storage(nbytes, device);
  context_of(storage.data_ptr())->made_for = std::move(type);
  return make_view(std::move(storage), dtype, view);
}

// --- resizing

namespace {

Value resized_value(StorageValue& s, size_t nbytes) {
  if (nbytes == 0 || !s.value) return Value();
  Build b("aten::resize_", s.device);
  int64_t have = numel(s.value.dims()), want = static_cast<int64_t>(nbytes) / dtype_size(s.value.dtype());
  if (have == want) return s.value;
  Value flat = b.flatten(s.value);
  Value value = want < have ? b.slice_dim(flat, 0, 0, want)
                            : b.pad(flat, b.constant_int(flat.dtype(), 0), {0}, {want - have}, {0});
  check_build(b, "aten::resize_");
  return value;
}

}  // namespace

void resize_storage(c10::StorageImpl* storage, size_t nbytes) {
  at::DataPtr& data = storage->_mutable_data_ptr_no_checks();
  StorageValue* s = context_of(data);
  TORCH_CHECK(s || !data.get(), "a storage that was made from an address cannot be resized");
  if (s) {
    set_value(*s, resized_value(*s, nbytes));
    if (nbytes && nbytes <= s->capacity && data.get()) {
      s->nbytes = nbytes;
      storage->set_nbytes(nbytes);
      return;
    }
  }
  at::DataPtr grown = allocate_storage(nbytes, data.device().index());
  if (s) set_value(*context_of(grown), s->value);
  storage->set_data_ptr_noswap(std::move(grown));
  storage->set_nbytes(nbytes);
}

}  // namespace tp::bridge
