#include "torch_bridge/dtypes.h"

#include <c10/util/Exception.h>

namespace tp::bridge {

std::optional<Dtype> find_dtype(c10::ScalarType type) {
  switch (type) {
    case c10::ScalarType::Bool: return Dtype::pred;
    case c10::ScalarType::Char: return Dtype::s8;
    case c10::ScalarType::Short: return Dtype::s16;
    case c10::ScalarType::Int: return Dtype::s32;
    case c10::ScalarType::Long: return Dtype::s64;
    case c10::ScalarType::Byte: return Dtype::u8;
    case c10::ScalarType::UInt16: return Dtype::u16;
    case c10::ScalarType::UInt32: return Dtype::u32;
    case c10::ScalarType::UInt64: return Dtype::u64;
    case c10::ScalarType::Float8_e4m3fn: return Dtype::f8e4m3fn;
    case c10::ScalarType::Float8_e4m3fnuz: return Dtype::f8e4m3fnuz;
    case c10::ScalarType::Float8_e5m2: return Dtype::f8e5m2;
    case c10::ScalarType::Float8_e5m2fnuz: return Dtype::f8e5m2fnuz;
    case c10::ScalarType::Half: return Dtype::f16;
    case c10::ScalarType::BFloat16: return Dtype::bf16;
    case c10::ScalarType::Float: return Dtype::f32;
    case c10::ScalarType::Double: return Dtype::f64;
    case c10::ScalarType::ComplexFloat: return Dtype::c64;
    case c10::ScalarType::ComplexDouble: return Dtype::c128;
    default: return std::nullopt;
  }
}

Dtype to_dtype(c10::ScalarType type) {
  std::optional<Dtype> dtype = find_dtype(type);
  TORCH_CHECK_NOT_IMPLEMENTED(dtype, "tpu tensors cannot hold ", type);
  return *dtype;
}

c10::ScalarType to_scalar_type(Dtype dtype) {
  constexpr c10::ScalarType kTypes[kDtypeCount] = {
      c10::ScalarType::Bool,
      c10::ScalarType::Char,
      c10::ScalarType::Short,
      c10::ScalarType::Int,
      c10::ScalarType::Long,
      c10::ScalarType::Byte,
      c10::ScalarType::UInt16,
      c10::ScalarType::UInt32,
      c10::ScalarType::UInt64,
      c10::ScalarType::Float8_e4m3fn,
      c10::ScalarType::Float8_e4m3fnuz,
      c10::ScalarType::Float8_e5m2,
      c10::ScalarType::Float8_e5m2fnuz,
      c10::ScalarType::Half,
      c10::ScalarType::BFloat16,
      c10::ScalarType::Float,
      c10::ScalarType::Double,
      c10::ScalarType::ComplexFloat,
      c10::ScalarType::ComplexDouble,
  };
  return kTypes[static_cast<int>(dtype)];
}

}  // namespace tp::bridge
