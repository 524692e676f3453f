#pragma once
// What takes the memory, for the reader of an out-of-memory error.

#include <string>

namespace tp::bridge {

// The largest live tensors of each device with the user's lines that made them, a row each; "" when there are none.
std::string largest_tensors();

}  // namespace tp::bridge
