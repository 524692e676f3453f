#pragma once
// PJRT_Buffer_Type back to Dtype, for this folder's .cc files.

#include "base/dtype.h"
#include "base/error.h"

namespace tp {

class Plugin;

// unimplemented for types that PyTorch has no name for, such as 4-bit integers and tokens.
Result<Dtype> dtype_from_pjrt(const Plugin& plugin, int type);

}  // namespace tp
