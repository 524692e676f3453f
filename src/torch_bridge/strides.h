#pragma once
// The memory order of an element-wise op's results.

#include <ATen/core/ivalue.h>

#include "base/dims.h"

namespace tp::bridge {

struct Strides {
  bool permuted = false;  // false: row-major
  Dims order;             // the result's dimensions from outermost to innermost in memory
};

// TensorIterator's rule: dimensions are sorted by the strides of the tensors among `args`, the first one that tells two
// dimensions apart decides, and broadcast dimensions tell nothing.
Strides pointwise_strides(const c10::IValue* args, size_t count);

}  // namespace tp::bridge
