#pragma once
// The operations that a node can be.

#include <cstdint>

namespace tp {

// Named as in StableHLO (and CHLO, from `acos` to `zeta`). The four at the head are ours.
enum class Op : uint8_t {
  leaf,       // a value that lies on the device, or a placeholder for one
  constant,   // one number, splat over the node's sizes
  project,    // one result of a node with several
  composite,  // a big piece kept whole (text names it) until rewrite knows the target
  // unary
  abs,
  cbrt,
  ceil,
  cosine,
  count_leading_zeros,
  exponential,
  exponential_minus_one,
  floor,
  imag,
  is_finite,
  log,
  log_plus_one,
  logistic,
  negate,
  not_,
  popcnt,
  real,
  round_nearest_afz,
  round_nearest_even,
  rsqrt,
  sign,
  sine,
  sqrt,
  tan,
  tanh,
  acos,
  acosh,
  asin,
  asinh,
  atan,
  atanh,
  bessel_i1e,
  cosh,
  digamma,
  erf,
  erf_inv,
  erfc,
  lgamma,
  sinh,
  // binary
  add,
  and_,
  atan2,
  complex,
  divide,
  maximum,
  minimum,
  multiply,
  or_,
  power,
  remainder,
  shift_left,
  shift_right_arithmetic,
  shift_right_logical,
  subtract,
  xor_,
  next_after,
  polygamma,
  zeta,
  // the rest
  bitcast_convert,
  broadcast_in_dim,
  cholesky,
  clamp,
  compare,
  concatenate,
  convert,
  convolution,
  custom_call,
  dot_general,
  dynamic_slice,
  dynamic_update_slice,
  fft,
  gather,
  iota,
  optimization_barrier,
  pad,
  reduce,
  reduce_window,
  reshape,
  reverse,
  scatter,
  select,
  select_and_scatter,
  slice,
  sort,
  transpose,
  triangular_solve,
};
inline constexpr int kOpCount = static_cast<int>(Op::triangular_solve) + 1;

// "add", "and": StableHLO's own spelling. "chlo." ops say so in op_is_chlo.
const char* op_name(Op op);
bool op_is_chlo(Op op);
inline bool op_is_unary(Op op) { return op >= Op::abs && op <= Op::sinh; }
inline bool op_is_binary(Op op) { return op >= Op::add && op <= Op::zeta; }

enum class Direction : uint8_t { eq, ne, lt, le, gt, ge };
// How two elements become one, in reduce, reduce_window and scatter.
enum class Combine : uint8_t { add, multiply, maximum, minimum, and_, or_, replace };

}  // namespace tp
