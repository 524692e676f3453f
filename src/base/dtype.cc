#include "base/dtype.h"

namespace tp {
namespace {

struct Row {
  const char* name;
  const char* mlir;
  int size;
  int pjrt;
};

// In the order of Dtype. The last column is PJRT_Buffer_Type.
constexpr Row kRows[kDtypeCount] = {
    {"bool", "i1", 1, 1},
    {"i8", "i8", 1, 2},
    {"i16", "i16", 2, 3},
    {"i32", "i32", 4, 4},
    {"i64", "i64", 8, 5},
    {"u8", "ui8", 1, 6},
    {"u16", "ui16", 2, 7},
    {"u32", "ui32", 4, 8},
    {"u64", "ui64", 8, 9},
    {"f8e4m3fn", "f8E4M3FN", 1, 17},
    {"f8e4m3fnuz", "f8E4M3FNUZ", 1, 20},
    {"f8e5m2", "f8E5M2", 1, 16},
    {"f8e5m2fnuz", "f8E5M2FNUZ", 1, 19},
    {"f16", "f16", 2, 10},
    {"bf16", "bf16", 2, 13},
    {"f32", "f32", 4, 11},
    {"f64", "f64", 8, 12},
    {"c64", "complex<f32>", 8, 14},
    {"c128", "complex<f64>", 16, 15},
};

const Row& row(Dtype dtype) { return kRows[static_cast<int>(dtype)]; }

Dtype promote_integers(Dtype a, Dtype b) {
  if (a == Dtype::pred) return b;
  if (b == Dtype::pred) return a;
  if (is_unsigned(a) == is_unsigned(b)) return dtype_size(a) >= dtype_size(b) ? a : b;
  Dtype u = is_unsigned(a) ? a : b, s = is_unsigned(a) ? b : a;
  if (dtype_size(s) > dtype_size(u)) return s;
  // PyTorch widens u8 against i8 to i16; it has no promotion for the wider unsigned ones, where we keep going up.
  switch (dtype_size(u)) {
    case 1: return Dtype::s16;
    case 2: return Dtype::s32;
    default: return Dtype::s64;
  }
}

}  // namespace

const char* dtype_name(Dtype dtype) { return row(dtype).name; }
const char* dtype_mlir(Dtype dtype) { return row(dtype).mlir; }
int dtype_size(Dtype dtype) { return row(dtype).size; }
int dtype_pjrt(Dtype dtype) { return row(dtype).pjrt; }

Dtype accumulate_type(Dtype d) { return d == Dtype::f16 || d == Dtype::bf16 || is_float8(d) ? Dtype::f32 : d; }

Dtype real_type(Dtype d) { return d == Dtype::c64 ? Dtype::f32 : d == Dtype::c128 ? Dtype::f64 : d; }

Dtype complex_type(Dtype d) {
  if (is_complex(d)) return d;
  return d == Dtype::f64 ? Dtype::c128 : Dtype::c64;
}

Dtype promote(Dtype a, Dtype b) {
  if (a == b) return a;
  if (is_complex(a) || is_complex(b)) {
    bool wide = a == Dtype::c128 || b == Dtype::c128 || a == Dtype::f64 || b == Dtype::f64;
    return wide ? Dtype::c128 : Dtype::c64;
  }
  if (is_floating(a) && is_floating(b)) {
    if (is_float8(a)) return is_float8(b) ? Dtype::f32 : b;
    if (is_float8(b)) return a;
    if (a == Dtype::f64 || b == Dtype::f64) return Dtype::f64;
    return Dtype::f32;  // f32 with a half, or f16 with bf16
  }
  if (is_floating(a)) return a;
  if (is_floating(b)) return b;
  return promote_integers(a, b);
}

}  // namespace tp
