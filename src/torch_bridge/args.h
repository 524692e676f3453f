#pragma once
// From torch's stack to a lowering's arguments.

#include <ATen/core/function_schema.h>
#include <ATen/core/ivalue.h>

#include "ops/op.h"
#include "torch_bridge/dtypes.h"

namespace tp::bridge {

// One argument of a lowering: where it lies on the stack (-1: it takes `fixed`), and as what it is read.
struct BoundArg {
  int position = -1;
  ArgSpec spec;
  c10::IValue fixed;  // the functional schema's default, where op_ or op.out has no such argument
  int dtype_of = -1;  // position of the `out` whose dtype a factory takes
};

// True when a schema argument can be read as `spec`.
bool matches(const c10::Argument& argument, const ArgSpec& spec);

// Reads one argument. A tensor on another device than `device` is an error of `b`, in PyTorch's words; a 0-d CPU tensor
// becomes a constant.
Arg read_arg(Build& b, const c10::IValue& value, const ArgSpec& spec);

// "bf16[4,8], f32[2], 3": the tensors and numbers of a call, for errors.
std::string args_text(const c10::IValue* args, size_t count);

Scalar to_scalar(const at::Scalar& number);

}  // namespace tp::bridge
