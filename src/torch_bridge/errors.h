#pragma once
// The one place where errors of the core become exceptions of PyTorch.

#include "base/error.h"

namespace tp {
class Build;
}

namespace tp::bridge {

// Throws the c10 class that Python shows as the class PyTorch's CPU would raise.
[[noreturn]] void throw_error(Error error);
// The value, or throw_error.
template <class T>
T value_or_throw(Result<T> result) {
  if (!result.ok()) throw_error(std::move(result.error()));
  return std::move(result).value();
}
// Throws the build's error, if it has one, as an error of `op`.
void check_build(Build& b, const char* op);

}  // namespace tp::bridge
