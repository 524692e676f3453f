#pragma once
// torch's ScalarType and our Dtype.

#include <c10/core/ScalarType.h>

#include <optional>

#include "base/dtype.h"

namespace tp::bridge {

// Nullopt for dtypes that StableHLO cannot hold (quantised ones, bits…).
std::optional<Dtype> find_dtype(c10::ScalarType type);
// Throws NotImplementedError naming the dtype.
Dtype to_dtype(c10::ScalarType type);
c10::ScalarType to_scalar_type(Dtype dtype);

}  // namespace tp::bridge
