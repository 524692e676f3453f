#pragma once
// One line to stderr, "torch-pjrt: ...". Nothing is printed on the normal path.

#include <string_view>

namespace tp {

void log_warning(std::string_view text);
// Printed only with TORCH_PJRT_VERBOSE=1.
void log_info(std::string_view text);

}  // namespace tp
