#include "pjrt/named_value.h"

#include "pjrt_c_api.h"

namespace tp {

std::vector<PJRT_NamedValue> to_c(const std::vector<NamedValue>& values) {
  std::vector<PJRT_NamedValue> list;
  for (const NamedValue& from : values) {
    PJRT_NamedValue to{.struct_size = sizeof(to), .name = from.name.data(), .name_size = from.name.size()};
    to.value_size = 1;
    if (auto* text = std::get_if<std::string>(&from.value)) {
      to.type = PJRT_NamedValue_kString;
      to.string_value = text->data();
      to.value_size = text->size();
    } else if (auto* number = std::get_if<int64_t>(&from.value)) {
      to.type = PJRT_NamedValue_kInt64;
      to.int64_value = *number;
    } else if (auto* numbers = std::get_if<std::vector<int64_t>>(&from.value)) {
      to.type = PJRT_NamedValue_kInt64List;
      to.int64_array_value = numbers->data();
      to.value_size = numbers->size();
    } else if (auto* real = std::get_if<float>(&from.value)) {
      to.type = PJRT_NamedValue_kFloat;
      to.float_value = *real;
    } else {
      to.type = PJRT_NamedValue_kBool;
      to.bool_value = std::get<bool>(from.value);
    }
    list.push_back(to);
  }
  return list;
}

NamedValues from_c(const PJRT_NamedValue* values, size_t count) {
  NamedValues map;
  for (size_t i = 0; i < count; ++i) {
    const PJRT_NamedValue& from = values[i];
    std::string name(from.name, from.name_size);
    switch (from.type) {
      case PJRT_NamedValue_kString: map[name] = std::string(from.string_value, from.value_size); break;
      case PJRT_NamedValue_kInt64: map[name] = from.int64_value; break;
      case PJRT_NamedValue_kInt64List:
        map[name] = std::vector<int64_t>(from.int64_array_value, from.int64_array_value + from.value_size);
        break;
      case PJRT_NamedValue_kFloat: map[name] = from.float_value; break;
      case PJRT_NamedValue_kBool: map[name] = from.bool_value; break;
    }
  }
  return map;
}

}  // namespace tp
