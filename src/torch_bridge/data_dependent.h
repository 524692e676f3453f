#pragma once
// Calls whose result's size depends on data.

#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/core/stack.h>

namespace tp::bridge {

// For aten::index and its relatives with a mask that the lowering declined: looks at the mask, puts the places of its
// true elements in its stead and calls the op again. False when the call has no mask.
bool call_with_places(const c10::OperatorHandle& op, torch::jit::Stack* stack);

}  // namespace tp::bridge
