#include "ops/window.h"

namespace tp {
namespace {

int64_t floor_divide(int64_t a, int64_t b) { return a / b - (a % b != 0 && (a < 0) != (b < 0)); }

// PyTorch's pooling_output_shape: with ceil_mode the last window may hang over, but must start inside.
int64_t output_size(const Window& w, bool ceil_mode) {
  int64_t room = w.input + 2 * w.padding - w.dilation * (w.size - 1) - 1;
  int64_t output = floor_divide(room + (ceil_mode ? w.stride - 1 : 0), w.stride) + 1;
  if (ceil_mode && (output - 1) * w.stride >= w.input + w.padding) --output;
  return output;
}

int64_t at(const Dims& list, int i, int64_t missing) {
  if (list.empty()) return missing;
  return list.size() == 1 ? list[0] : list[i];
}

void check(Build& b, const Window& w) {
  b.require(w.size > 0, "kernel size should be greater than zero, but got " + std::to_string(w.size));
  b.require(w.stride > 0, "stride should not be zero");
  b.require(w.dilation > 0, "dilation should be greater than zero, but got " + std::to_string(w.dilation));
  b.require(w.padding >= 0, "pad must be non-negative, but got pad: " + std::to_string(w.padding));
  b.require(w.padding <= w.size / 2, "pad should be smaller than or equal to half of kernel size, but got pad=" +
                                         std::to_string(w.padding) + " and kernel_size=" + std::to_string(w.size));
}

}  // namespace

std::vector<Window> windows_of(Build& b, const Value& x, int spatial, const WindowArguments& a) {
  for (const Dims* list : {&a.kernel, &a.stride, &a.padding, &a.dilation}) {
    b.require(list->size() <= 1 || list->size() == static_cast<size_t>(spatial),
              "pooling arguments must be one int or a tuple of " + std::to_string(spatial) + " ints");
  }
  b.require(x.rank() == spatial + 1 || x.rank() == spatial + 2,
            "expected " + std::to_string(spatial + 1) + "D or " + std::to_string(spatial + 2) +
                "D (batch mode) tensor for input, but got [" + dims_text(x.dims()) + "]");
  std::vector<Window> windows;
  for (int i = 0; b.ok() && i < spatial; ++i) {
    Window w;
    w.input = x.size(x.rank() - spatial + i);
    w.size = at(a.kernel, i, 1);
    w.stride = at(a.stride, i, w.size);
    w.padding = at(a.padding, i, 0);
    w.dilation = at(a.dilation, i, 1);
    check(b, w);
    if (!b.ok()) break;
    w.output = output_size(w, a.ceil_mode);
    b.require(w.input > 0,
              "expected input with non-zero size for non-batch dimensions, but got [" + dims_text(x.dims()) + "]");
    b.require(w.output > 0, "given input size [" + dims_text(x.dims()) + "], the calculated output size is too small");
    windows.push_back(w);
  }
  if (!b.ok()) windows.clear();
  return windows;
}

Dims pooled_sizes(const Value& x, const std::vector<Window>& windows) {
  Dims dims = x.dims();
  for (size_t i = 0; i < windows.size(); ++i) dims[dims.size() - windows.size() + i] = windows[i].output;
  return dims;
}

}  // namespace tp
