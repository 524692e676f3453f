#pragma once
// Recomputation, for checkpointed parts of a model.

#include <ATen/core/Tensor.h>

#include <vector>

namespace tp::bridge {

// Copies with the same strides, which the compiler can't tell from new data and which are there only after all that
// this thread has computed so far. What is computed from them is neither merged with an earlier computation of the
// same nor moved ahead. Costs no memory and no time of the device.
std::vector<at::Tensor> after_all_so_far(const std::vector<at::Tensor>& tensors);

}  // namespace tp::bridge
