#include "torch_bridge/args.h"

#include <ATen/core/List.h>
#include <ATen/core/Tensor.h>
#include <ATen/core/jit_type.h>
#include <ATen/ops/_local_scalar_dense.h>

#include "torch_bridge/storage.h"

namespace tp::bridge {
namespace {

// Schema types by the kind that reads them.
bool kind_matches(const c10::Type& type, ArgKind kind) {
  using c10::TypeKind;
  TypeKind k = type.kind();
  switch (kind) {
    case ArgKind::ignored: return k != TypeKind::TensorType;
    case ArgKind::tensor: return k == TypeKind::TensorType;
    case ArgKind::scalar: return k == TypeKind::NumberType;
    case ArgKind::integer: return k == TypeKind::IntType || k == TypeKind::SymIntType;
    case ArgKind::floating: return k == TypeKind::FloatType || k == TypeKind::SymFloatType;
    case ArgKind::boolean: return k == TypeKind::BoolType || k == TypeKind::SymBoolType;
    case ArgKind::string: return k == TypeKind::StringType;
    case ArgKind::dtype: return k == TypeKind::ScalarTypeType || k == TypeKind::IntType;
    default: break;
  }
  const auto* list = type.castRaw<c10::ListType>();
  if (!list) return false;
  const c10::Type& element = *list->getElementType();
  switch (kind) {
    case ArgKind::tensors: return kind_matches(element, ArgKind::tensor);
    case ArgKind::optional_tensors: {
      const auto* optional = element.castRaw<c10::OptionalType>();
      return optional && kind_matches(*optional->getElementType(), ArgKind::tensor);
    }
    case ArgKind::integers: return kind_matches(element, ArgKind::integer);
    case ArgKind::floats: return kind_matches(element, ArgKind::floating);
    case ArgKind::booleans: return kind_matches(element, ArgKind::boolean);
    default: return false;
  }
}

Value read_number(Build& b, const at::Tensor& t) {
  Scalar number = to_scalar(at::_local_scalar_dense(t));
  Value value = b.constant(to_dtype(t.scalar_type()), number);
  if (value) value->wrapped_number = t.unsafeGetTensorImpl()->is_wrapped_number();
  return value;
}

Value read(Build& b, const at::Tensor& t) {
  if (t.is_privateuseone() && t.device().index() == b.device()) [[likely]]
    return read_tensor(t, b);
  if (t.is_cpu() && t.dim() == 0) return read_number(b, t);
  return b.fail(Code::invalid_argument,
                "Expected all tensors to be on the same device, but found at least two devices, tpu:" +
                    std::to_string(b.device()) + " and " + t.device().str() + "!");
}

Values read_list(Build& b, const c10::IValue& value) {
  Values values;
  for (const at::Tensor& t : value.toTensorVector()) values.push_back(read(b, t));
  return values;
}

// Lists of optional tensors are indices: as on CUDA, those on the CPU are brought over.
OptionalValues read_indices(Build& b, const c10::IValue& value) {
  OptionalValues values;
  for (const c10::IValue& element : value.toListRef()) {
    if (!element.isTensor() || !element.toTensor().defined()) {
      values.push_back(std::nullopt);
      continue;
    }
    at::Tensor t = element.toTensor();
    if (t.is_cpu()) t = t.to(at::Device(at::kPrivateUse1, static_cast<c10::DeviceIndex>(b.device())));
    values.push_back(read(b, t));
  }
  return values;
}

Dims read_dims(const c10::IValue& value) {
  Dims dims;
  if (value.isIntList()) {
    c10::List<int64_t> list = value.toIntList();
    for (size_t i = 0; i < list.size(); ++i) dims.push_back(list[i]);
  } else if (value.isInt()) {
    dims.push_back(value.toInt());
  } else {
    for (const c10::IValue& element : value.toListRef()) {
      dims.push_back(element.isInt() ? element.toInt() : element.toSymInt().guard_int(__FILE__, __LINE__));
    }
  }
  return dims;
}

}  // namespace

Scalar to_scalar(const at::Scalar& number) {
  if (number.isBoolean()) return Scalar::of(number.toBool());
  if (number.isIntegral(false)) {
    // A u64 above int64's range keeps its bits.
    return Scalar::of(number.type() == c10::ScalarType::UInt64 ? static_cast<int64_t>(number.toUInt64())
                                                               : number.toLong());
  }
  if (number.isComplex()) {
    c10::complex<double> z = number.toComplexDouble();
    return Scalar::of(std::complex<double>(z.real(), z.imag()));
  }
  return Scalar::of(number.toDouble());
}

bool matches(const c10::Argument& argument, const ArgSpec& spec) {
  const c10::Type* type = argument.real_type().get();
  const auto* optional = type->castRaw<c10::OptionalType>();
  if (spec.kind == ArgKind::ignored) return true;
  if (optional && !spec.optional) return false;
  return kind_matches(optional ? *optional->getElementType() : *type, spec.kind);
}

Arg read_arg(Build& b, const c10::IValue& value, const ArgSpec& spec) {
  if (value.isNone()) return None{};
  switch (spec.kind) {
    case ArgKind::ignored: return None{};
    case ArgKind::tensor: {
      const at::Tensor& t = value.toTensor();
      if (!t.defined()) return None{};
      return read(b, t);
    }
    case ArgKind::tensors: return read_list(b, value);
    case ArgKind::optional_tensors: return read_indices(b, value);
    case ArgKind::scalar: return to_scalar(value.toScalar());
    case ArgKind::integer: return value.isInt() ? value.toInt() : value.toSymInt().guard_int(__FILE__, __LINE__);
    case ArgKind::floating:
      return value.isDouble() ? value.toDouble() : value.toSymFloat().guard_float(__FILE__, __LINE__);
    case ArgKind::boolean: return value.toBool();
    case ArgKind::integers: return read_dims(value);
    case ArgKind::floats: return value.toDoubleVector();
    case ArgKind::booleans: {
      std::vector<bool> flags;
      for (const c10::IValue& element : value.toListRef()) flags.push_back(element.toBool());
      return flags;
    }
    case ArgKind::string: return std::string_view(value.toStringRef());
    case ArgKind::dtype: return to_dtype(value.toScalarType());
  }
  return None{};
}

std::string args_text(const c10::IValue* args, size_t count) {
  std::string text;
  auto append = [&](const std::string& part) {
    if (!text.empty()) text += ", ";
    text += part;
  };
  auto tensor_text = [](const at::Tensor& t) {
    if (!t.defined()) return std::string("none");
    std::optional<Dtype> dtype = find_dtype(t.scalar_type());
    std::string name = dtype ? dtype_name(*dtype) : c10::toString(t.scalar_type());
    return name + "[" + dims_text(Dims(t.sizes().data(), t.sizes().size())) + "]";
  };
  for (size_t i = 0; i < count; ++i) {
    const c10::IValue& value = args[i];
    if (value.isTensor())
      append(tensor_text(value.toTensor()));
    else if (value.isTensorList()) {
      for (const at::Tensor& t : value.toTensorVector()) append(tensor_text(t));
    } else if (value.isInt() || value.isDouble() || value.isBool()) {
      at::Scalar n = value.toScalar();
      append(n.isFloatingPoint() ? std::to_string(n.toDouble()) : std::to_string(n.toLong()));
    }
  }
  return text;
}

}  // namespace tp::bridge
