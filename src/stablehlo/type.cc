#include "stablehlo/type.h"

namespace tp {

std::string type_text(const Type& type) {
  return std::string(dtype_name(type.dtype)) + "[" + dims_text(type.dims) + "]";
}

std::string type_mlir(const Type& type) {
  std::string text = "tensor<";
  for (int64_t d : type.dims) {
    text += std::to_string(d);
    text += 'x';
  }
  text += dtype_mlir(type.dtype);
  text += '>';
  return text;
}

}  // namespace tp
