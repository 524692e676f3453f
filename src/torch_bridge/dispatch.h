#pragma once
// The boxed kernel behind every op of the table and its derived forms, and what happens to ops that the table lacks:
// PyTorch's own decomposition, then the CPU, each counted.

#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/core/stack.h>

#include <map>
#include <string>

namespace tp::bridge {

// Registers kernels for all lowered ops; throws when a lowering's signature does not fit its ATen schema.
void register_ops();

// Asks the Python side to run its decomposition of the op on the stack; false when it has none.
using Decompose = bool (*)(const c10::OperatorHandle& op, torch::jit::Stack* stack);
void set_decompose(Decompose decompose);

// Calls by op since the last reset, without those never called.
std::map<std::string, int64_t> lowered_stats();
std::map<std::string, int64_t> decomposition_stats();
std::map<std::string, int64_t> fallback_stats();
void reset_op_stats();

// For ops outside the table.
void call_unlowered(const c10::OperatorHandle& op, torch::jit::Stack* stack);

}  // namespace tp::bridge
