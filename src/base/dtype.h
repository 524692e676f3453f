#pragma once
// Element types: PyTorch's, as far as StableHLO can hold them.

#include <cstdint>
#include <string_view>

namespace tp {

enum class Dtype : uint8_t {
  pred,
  s8,
  s16,
  s32,
  s64,
  u8,
  u16,
  u32,
  u64,
  f8e4m3fn,
  f8e4m3fnuz,
  f8e5m2,
  f8e5m2fnuz,
  f16,
  bf16,
  f32,
  f64,
  c64,
  c128,
};
inline constexpr int kDtypeCount = 19;

// "bf16", "i32", "u8", "bool", "c64": as errors and dumps print it.
const char* dtype_name(Dtype dtype);
// "bf16", "i32", "ui8", "i1", "complex<f32>": as StableHLO's text spells it.
const char* dtype_mlir(Dtype dtype);
// Bytes of one element; 1 for pred.
int dtype_size(Dtype dtype);
// PJRT_Buffer_Type of this dtype, as a number (pjrt_c_api.h).
int dtype_pjrt(Dtype dtype);

inline bool is_float8(Dtype d) { return d >= Dtype::f8e4m3fn && d <= Dtype::f8e5m2fnuz; }
inline bool is_floating(Dtype d) { return d >= Dtype::f8e4m3fn && d <= Dtype::f64; }
inline bool is_complex(Dtype d) { return d >= Dtype::c64; }
inline bool is_integral(Dtype d) { return d >= Dtype::s8 && d <= Dtype::u64; }  // bool excluded
inline bool is_unsigned(Dtype d) { return d >= Dtype::u8 && d <= Dtype::u64; }

// The dtype in which PyTorch computes on this one: f32 for f16, bf16 and float8, itself otherwise.
Dtype accumulate_type(Dtype dtype);
// f32 for c64, f64 for c128, itself otherwise; and back.
Dtype real_type(Dtype dtype);
Dtype complex_type(Dtype dtype);
// PyTorch's promotion of two dtypes of one category rank (c10::promoteTypes).
Dtype promote(Dtype a, Dtype b);

}  // namespace tp
