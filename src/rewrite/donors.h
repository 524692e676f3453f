#pragma once
// Which arguments give their bytes to a result.

#include "graph/region.h"

namespace tp {

// By leaf: the result (a position in `results`, which holds indices of region.order) that takes its bytes, or -1.
// Chosen by structure: the result must be an update of the leaf. An update of part of it (a KV cache) takes them
// always, for without that it would copy the rest; an element-wise one (a parameter's step) when nobody held the leaf
// as the program was made. At run time a leaf that somebody holds is withheld (ExecuteOptions::non_donatable).
std::vector<int> choose_donors(const Region& region, const std::vector<int32_t>& results);

}  // namespace tp
