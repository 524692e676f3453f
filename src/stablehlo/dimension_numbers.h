#pragma once
// Which dimension of an operand plays which part, in StableHLO's own names.

#include "base/dims.h"

namespace tp {

// contract and batch dimensions of dot_general; the result is [batch, free of a, free of b].
struct DotDims {
  Dims batch_a, batch_b, contract_a, contract_b;
};

// StableHLO's gather and scatter dimension numbers, in its own names.
struct GatherDims {
  Dims offset_dims, collapsed_slice_dims, start_index_map;
  int64_t index_vector_dim = 0;
  Dims operand_batching_dims, start_indices_batching_dims;
  bool indices_are_sorted = false;
};
struct ScatterDims {
  Dims update_window_dims, inserted_window_dims, scatter_dims_to_operand_dims;
  int64_t index_vector_dim = 0;
  Dims input_batching_dims, scatter_indices_batching_dims;
  bool indices_are_sorted = false, unique_indices = false;
};

// x is [batch, features, spatial…], weight [out, in / groups, spatial…], as in PyTorch.
struct ConvolutionDims {
  Dims strides, pad_low, pad_high, lhs_dilation, rhs_dilation;
  int64_t groups = 1, batch_groups = 1;
  bool reverse_window = false;
  // Positions of (batch, feature, spatial…) in x and in the result, and of (out, in, spatial…) in weight.
  Dims input_layout, kernel_layout, output_layout;
};

struct WindowDims {
  Dims sizes, strides, base_dilations, window_dilations, pad_low, pad_high;
};

}  // namespace tp
