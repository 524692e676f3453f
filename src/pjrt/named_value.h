#pragma once
// PJRT's key-value pairs: client and topology options, plugin and device attributes, cost properties.

#include <cstdint>
#include <map>
#include <string>
#include <variant>
#include <vector>

struct PJRT_NamedValue;

namespace tp {

using AnyValue = std::variant<std::string, int64_t, std::vector<int64_t>, float, bool>;

struct NamedValue {
  std::string name;
  AnyValue value;
};

using NamedValues = std::map<std::string, AnyValue>;

// Views into `values`, which must outlive the result.
std::vector<PJRT_NamedValue> to_c(const std::vector<NamedValue>& values);
NamedValues from_c(const PJRT_NamedValue* values, size_t count);

}  // namespace tp
