#include "stablehlo/attributes.h"

namespace tp {
namespace {

void put(Dims& out, const Dims& list) {
  out.push_back(static_cast<int64_t>(list.size()));
  out.append(list);
}

class Reader {
 public:
  explicit Reader(const Dims& ints) : ints_(ints) {}
  int64_t number() { return ints_[at_++]; }
  Dims list() {
    size_t count = static_cast<size_t>(number());
    Dims out(ints_.data() + at_, count);
    at_ += count;
    return out;
  }

 private:
  const Dims& ints_;
  size_t at_ = 0;
};

}  // namespace

Dims pack(const DotDims& d) {
  Dims out;
  for (const Dims* list : {&d.batch_a, &d.batch_b, &d.contract_a, &d.contract_b}) put(out, *list);
  return out;
}

DotDims dot_dims(const Node& node) {
  Reader r(node.ints);
  DotDims d;
  for (Dims* list : {&d.batch_a, &d.batch_b, &d.contract_a, &d.contract_b}) *list = r.list();
  return d;
}

Dims pack(const GatherDims& d, const Dims& slice_sizes) {
  Dims out;
  out.push_back(d.index_vector_dim);
  out.push_back(d.indices_are_sorted);
  for (const Dims* list : {&d.offset_dims, &d.collapsed_slice_dims, &d.start_index_map, &d.operand_batching_dims,
                           &d.start_indices_batching_dims, &slice_sizes}) {
    put(out, *list);
  }
  return out;
}

GatherDims gather_dims(const Node& node) {
  Reader r(node.ints);
  GatherDims d;
  d.index_vector_dim = r.number();
  d.indices_are_sorted = r.number();
  for (Dims* list : {&d.offset_dims, &d.collapsed_slice_dims, &d.start_index_map, &d.operand_batching_dims,
                     &d.start_indices_batching_dims}) {
    *list = r.list();
  }
  return d;
}

Dims gather_slice_sizes(const Node& node) {
  Reader r(node.ints);
  r.number();
  r.number();
  for (int i = 0; i < 5; ++i) r.list();
  return r.list();
}

Dims pack(const ScatterDims& d) {
  Dims out;
  out.push_back(d.index_vector_dim);
  out.push_back(d.indices_are_sorted);
  out.push_back(d.unique_indices);
  for (const Dims* list : {&d.update_window_dims, &d.inserted_window_dims, &d.scatter_dims_to_operand_dims,
                           &d.input_batching_dims, &d.scatter_indices_batching_dims}) {
    put(out, *list);
  }
  return out;
}

ScatterDims scatter_dims(const Node& node) {
  Reader r(node.ints);
  ScatterDims d;
  d.index_vector_dim = r.number();
  d.indices_are_sorted = r.number();
  d.unique_indices = r.number();
  for (Dims* list : {&d.update_window_dims, &d.inserted_window_dims, &d.scatter_dims_to_operand_dims,
                     &d.input_batching_dims, &d.scatter_indices_batching_dims}) {
    *list = r.list();
  }
  return d;
}

Dims pack(const ConvolutionDims& d) {
  Dims out;
  for (int64_t v : {d.groups, d.batch_groups, int64_t{d.reverse_window}}) out.push_back(v);
  for (const Dims* list : {&d.strides, &d.pad_low, &d.pad_high, &d.lhs_dilation, &d.rhs_dilation, &d.input_layout,
                           &d.kernel_layout, &d.output_layout}) {
    put(out, *list);
  }
  return out;
}

ConvolutionDims convolution_dims(const Node& node) {
  Reader r(node.ints);
  ConvolutionDims d;
  d.groups = r.number();
  d.batch_groups = r.number();
  d.reverse_window = r.number();
  for (Dims* list : {&d.strides, &d.pad_low, &d.pad_high, &d.lhs_dilation, &d.rhs_dilation, &d.input_layout,
                     &d.kernel_layout, &d.output_layout}) {
    *list = r.list();
  }
  return d;
}

Dims pack(const WindowDims& d) {
  Dims out;
  for (const Dims* list : {&d.sizes, &d.strides, &d.base_dilations, &d.window_dilations, &d.pad_low, &d.pad_high}) {
    put(out, *list);
  }
  return out;
}

WindowDims window_dims(const Node& node) {
  Reader r(node.ints);
  WindowDims d;
  for (Dims* list : {&d.sizes, &d.strides, &d.base_dilations, &d.window_dilations, &d.pad_low, &d.pad_high}) {
    *list = r.list();
  }
  return d;
}

Value identity_of(Build& b, Combine kind, Dtype dtype) {
  switch (kind) {
    case Combine::multiply: return b.constant_int(dtype, 1);
    case Combine::and_: return b.constant_int(dtype, dtype == Dtype::pred ? 1 : -1);
    case Combine::maximum: return b.lowest(dtype);
    case Combine::minimum: return b.highest(dtype);
    default: return b.constant_int(dtype, 0);
  }
}

}  // namespace tp
