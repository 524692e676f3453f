#pragma once
// Sliding windows over the last dimensions of an image: what max and average pooling share.

#include <optional>
#include <string_view>

#include "stablehlo/build.h"

namespace tp {

// One spatial dimension of a pooling: output i covers input elements start, start + dilation, … of `size` elements,
// where start = i * stride - padding.
struct Window {
  int64_t input = 0, size = 1, stride = 1, padding = 0, dilation = 1, output = 0;
  // Elements that the last window needs beyond the end of the input; negative when it stops before the end.
  int64_t overhang() const { return (output - 1) * stride + (size - 1) * dilation + 1 - input - padding; }
};

// What a pooling op gets, one number or one a dimension; an empty stride is the kernel's size.
struct WindowArguments {
  Dims kernel, stride, padding, dilation;
  bool ceil_mode = false;
};

// The windows over x's last `spatial` dimensions, checked in PyTorch's words; empty after an error.
std::vector<Window> windows_of(Build& b, const Value& x, int spatial, const WindowArguments& arguments);
// x's sizes with the windows' outputs as the last ones.
Dims pooled_sizes(const Value& x, const std::vector<Window>& windows);

}  // namespace tp
