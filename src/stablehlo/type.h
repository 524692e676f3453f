#pragma once
// The type of a value: element type and sizes.

#include <string>

#include "base/dims.h"
#include "base/dtype.h"

namespace tp {

struct Type {
  Dtype dtype = Dtype::f32;
  Dims dims;
  friend bool operator==(const Type&, const Type&) = default;
  int64_t bytes() const { return numel(dims) * dtype_size(dtype); }
};

// "bf16[4,8]", as errors and dumps print it.
std::string type_text(const Type& type);
// "tensor<4x8xbf16>".
std::string type_mlir(const Type& type);

}  // namespace tp
