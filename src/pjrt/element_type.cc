#include "pjrt/element_type.h"

#include "pjrt/plugin.h"

namespace tp {

Result<Dtype> dtype_from_pjrt(const Plugin& plugin, int type) {
  for (int i = 0; i < kDtypeCount; ++i) {
    if (dtype_pjrt(static_cast<Dtype>(i)) == type) return static_cast<Dtype>(i);
  }
  return make_error(Code::unimplemented, "plugin " + plugin.name() + " gave PJRT element type " + std::to_string(type) +
                                             ", which has no dtype here");
}

}  // namespace tp
