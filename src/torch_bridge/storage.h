#pragma once
// Storage is truth: each StorageImpl on tpu owns a lazily computed value, and tensors are PyTorch's strided views over
// it.

#include <ATen/core/Tensor.h>

#include <functional>
#include <vector>

#include "graph/view.h"
#include "stablehlo/build.h"

namespace tp::bridge {

// What the DataPtr of a StorageImpl on tpu has as its context. Made and recycled by allocator.cc.
struct StorageValue {
  // Under the graph's lock. Set through set_value().
  Value value;           // the row-major order of its dims is the storage's; empty: never written, reads as 0
  Type made_for;         // dtype and sizes in memory order of the first tensor: what zeros look like
  bool rebased = false;  // took the dims of a view that covers it, since the last write
  size_t nbytes = 0;
  int device = 0;
  Loc made_at = 0;  // of large ones: the user's line
  // Of allocator.cc, under its lock.
  char* address = nullptr;
  size_t capacity = 0;
  bool in_use = false;
  int64_t stream = -1;  // on whose list of pending storages it is; -1: on none
  StorageValue *previous = nullptr, *next = nullptr;
};

// The storage of a tensor on tpu, found by its address where the DataPtr isn't ours (from_blob). Throws for tensors
// without such a storage.
StorageValue* storage_value(const at::Tensor& tensor);
// Puts the storage on this thread's list while the value is pending.
void set_value(StorageValue& storage, Value value);

// --- under the graph's lock, all below

// Calls back for the stream's storages that have not run, oldest write first. Their nodes live as long as the lock is
// held.
void for_each_pending(int64_t stream, const std::function<void(StorageValue&)>& visit);
// After a run: storages that have their bytes leave the list.
void forget_run(int64_t stream);
// Nodes made since then, by anybody.
int64_t nodes_since_run(int64_t stream);
std::vector<int64_t> pending_streams();

// The storage's value, or zeros of what it was made for.
Value value_or_zeros(const StorageValue& storage);
// The tensor's elements as a value of its sizes and dtype.
Value read_tensor(const at::Tensor& tensor, Build& b);
// `value` has the tensor's sizes and dtype. One that covers the storage rebinds it.
void write_tensor(const at::Tensor& tensor, Value value, Build& b);
// PyTorch's meaning of storage.resize_(nbytes): the common bytes stay.
void resize_storage(c10::StorageImpl* storage, size_t nbytes);

c10::Storage make_storage(Value value, size_t nbytes, int device);
at::Tensor make_view(c10::Storage storage, at::ScalarType dtype, const View& view);
at::Tensor make_tensor(Value value, at::ScalarType dtype, int device);
// Strides such that `order` lists the dimensions from outermost to innermost in memory.
at::Tensor make_permuted(Value value, const Dims& order, int device);
// Takes no device memory before it is written.
at::Tensor make_empty(at::IntArrayRef sizes, at::ScalarType dtype, int device,
                      at::MemoryFormat format = at::MemoryFormat::Contiguous);
at::Tensor make_empty_strided(at::IntArrayRef sizes, at::IntArrayRef strides, at::ScalarType dtype, int device);

View view_of(const at::Tensor& tensor);
inline Dims to_dims(at::IntArrayRef list) { return Dims(list.data(), list.size()); }
inline at::IntArrayRef to_ref(const Dims& dims) { return {dims.data(), dims.size()}; }

}  // namespace tp::bridge
