#pragma once
// What dtype `out=` may have. Most ops of PyTorch cast to any that the result's category can go to; those that were
// not written as an iteration over elements want exactly the result's dtype, and some take whatever there is.

#include <cstdint>
#include <string>

namespace tp::bridge {

// joined: castable, with a TypeError. computed: castable, with a NotImplementedError, since PyTorch computes in out's
// dtype.
enum class OutDtype : uint8_t { castable, joined, computed, exact, any };

// Of "aten::add" with its overload.
OutDtype out_dtype_of(const std::string& name, const std::string& overload);

}  // namespace tp::bridge
