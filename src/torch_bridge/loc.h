#pragma once
// Where the user's program is.

#include "base/loc.h"

namespace tp::bridge {

// The innermost Python line outside of PyTorch and of this package; 0 unless TORCH_PJRT_LOC=1, and on threads that run
// no Python.
Loc record_loc();
// The same, whatever is set.
Loc user_line();

}  // namespace tp::bridge
