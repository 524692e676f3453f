#pragma once
// Between host and device, between devices, and between dtypes.

#include <ATen/core/Tensor.h>

#include "stablehlo/build.h"

namespace tp::bridge {

// The tensor's elements in host memory: waits for them, and counts as a host sync.
at::Tensor to_host(const at::Tensor& tensor);
// A host tensor's elements on the device.
at::Tensor to_device(const at::Tensor& host, int device);
// The number that every element is known to be without a look; nullopt when that needs one.
std::optional<at::Scalar> known_number(const at::Tensor& tensor);

// `value` as the target's sizes, as copy_ and in-place ops broadcast; errors in PyTorch's words.
Value fit_sizes(Build& b, const Value& value, at::IntArrayRef sizes);

at::Tensor& copy(at::Tensor& self, const at::Tensor& source, bool non_blocking);

}  // namespace tp::bridge
