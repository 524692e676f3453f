#pragma once
// Dimension numbers as a node keeps them: Node::ints, one list after another, each led by its length.

#include "stablehlo/build.h"

namespace tp {

Dims pack(const DotDims& d);
Dims pack(const GatherDims& d, const Dims& slice_sizes);
Dims pack(const ScatterDims& d);
Dims pack(const ConvolutionDims& d);
Dims pack(const WindowDims& d);

// Op::dot_general; kind is 1 when the product must be exact float32 (precision HIGHEST).
DotDims dot_dims(const Node& node);
// Op::gather.
GatherDims gather_dims(const Node& node);
Dims gather_slice_sizes(const Node& node);
// Op::scatter; kind is the Combine.
ScatterDims scatter_dims(const Node& node);
// Op::convolution; kind as in dot_general.
ConvolutionDims convolution_dims(const Node& node);
// Op::reduce_window (kind is the Combine) and Op::select_and_scatter (selects by GE, adds).
WindowDims window_dims(const Node& node);

// The number from which a reduction of this kind starts.
Value identity_of(Build& b, Combine kind, Dtype dtype);

}  // namespace tp
