#pragma once
// Places in the user's program, numbered. An id costs four bytes in a node; the text is kept once.
// Thread-safe. Locations never enter a cache key.

#include <string>

#include "base/error.h"

namespace tp {

// The id of "train.py:42 in forward"; equal texts share one id.
Loc loc_intern(const std::string& text);
// The text of an id; "" for 0.
std::string loc_text(Loc loc);

}  // namespace tp
