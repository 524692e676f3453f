#include "rewrite/composites.h"

#include <unordered_map>

#include "rewrite/attention.h"
#include "rewrite/philox.h"

namespace tp {

Expand find_composite(const std::string& name) {
  static const std::unordered_map<std::string, Expand> kTable = {
      {"philox_bits", expand_philox_bits},
      {"sdpa", expand_sdpa},
      {"sdpa_backward", expand_sdpa_backward},
  };
  auto it = kTable.find(name);
  return it == kTable.end() ? nullptr : it->second;
}

}  // namespace tp
