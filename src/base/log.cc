#include "base/log.h"

#include <cstdio>

#include "base/env.h"

namespace tp {

void log_warning(std::string_view text) {
  std::fprintf(stderr, "torch-pjrt: %.*s\n", static_cast<int>(text.size()), text.data());
}

void log_info(std::string_view text) {
  if (env().verbose) log_warning(text);
}

}  // namespace tp
