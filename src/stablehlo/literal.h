#pragma once
// Numbers as the bits of a dtype, rounded as PyTorch rounds them.

#include "base/dtype.h"
#include "base/scalar.h"

namespace tp {

// The bits of `number` in a floating dtype; narrow ones are reached through float32, as in PyTorch.
uint64_t float_bits(Dtype dtype, double number);
// The low bits of an integer, as many as the dtype has; bool is 0 or 1.
uint64_t integer_bits(Dtype dtype, const Scalar& number);
// Writes dtype_size(dtype) bytes as the device holds them.
void write_scalar(Dtype dtype, const Scalar& number, void* bytes);

}  // namespace tp
