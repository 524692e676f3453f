#include "base/dims.h"

namespace tp {

int64_t numel(const Dims& sizes) {
  int64_t n = 1;
  for (int64_t s : sizes) n *= s;
  return n;
}

std::string dims_text(const Dims& dims) {
  std::string text;
  for (size_t i = 0; i < dims.size(); ++i) {
    if (i) text += ',';
    text += std::to_string(dims[i]);
  }
  return text;
}

Dims contiguous_strides(const Dims& sizes) {
  Dims strides(sizes.size(), 1);
  for (int i = sizes.rank() - 2; i >= 0; --i) strides[i] = strides[i + 1] * std::max<int64_t>(sizes[i + 1], 1);
  return strides;
}

Dims iota_dims(size_t rank) {
  Dims dims(rank);
  for (size_t i = 0; i < rank; ++i) dims[i] = static_cast<int64_t>(i);
  return dims;
}

}  // namespace tp
