#include "base/error.h"

#include <execinfo.h>
#include <unistd.h>

namespace tp {

const char* code_name(Code code) {
  switch (code) {
    case Code::ok: return "ok";
    case Code::cancelled: return "cancelled";
    case Code::unknown: return "unknown";
    case Code::invalid_argument: return "invalid argument";
    case Code::deadline_exceeded: return "deadline exceeded";
    case Code::not_found: return "not found";
    case Code::already_exists: return "already exists";
    case Code::permission_denied: return "permission denied";
    case Code::out_of_memory: return "out of memory";
    case Code::failed_precondition: return "failed precondition";
    case Code::aborted: return "aborted";
    case Code::out_of_range: return "out of range";
    case Code::unimplemented: return "unimplemented";
    case Code::internal: return "internal";
    case Code::unavailable: return "unavailable";
    case Code::data_loss: return "data loss";
    case Code::unauthenticated: return "unauthenticated";
    case Code::index: return "index";
    case Code::value: return "value";
    case Code::type: return "type";
    case Code::declined: return "declined";
  }
  return "unknown";
}

std::string Error::message() const {
  if (op.empty()) return text;
  return op + "(" + args + "): " + text;
}

Error make_error(Code code, std::string text) {
  Error error;
  error.code = code;
  error.text = std::move(text);
  return error;
}

void check_failed(const char* file, int line, const char* what) {
  std::fprintf(stderr, "torch-pjrt: internal check failed at %s:%d: %s\n", file, line, what);
  void* frames[64];
  backtrace_symbols_fd(frames, backtrace(frames, 64), STDERR_FILENO);
  std::abort();
}

}  // namespace tp
