#include "torch_bridge/errors.h"

#include <c10/util/Exception.h>

#include "base/loc.h"
#include "stablehlo/build.h"
#include "torch_bridge/memory_report.h"

namespace tp::bridge {
namespace {

template <class E>
[[noreturn]] void raise(const std::string& text) {
  throw E({__func__, __FILE__, static_cast<uint32_t>(__LINE__)}, text);
}

std::string full_text(const Error& error) {
  std::string text = error.message();
  // accelerate looks for these words.
  if (error.code == Code::out_of_memory && text.find(" out of memory.") == std::string::npos) {
    text += "; tpu is out of memory.";
  }
  if (error.code == Code::out_of_memory) text += largest_tensors();
  if (error.loc) text += "\n  recorded at " + loc_text(error.loc);
  return text;
}

}  // namespace

void throw_error(Error error) {
  const std::string text = full_text(error);
  switch (error.code) {
    case Code::index: raise<c10::IndexError>(text);
    case Code::value: raise<c10::ValueError>(text);
    case Code::type: raise<c10::TypeError>(text);
    case Code::unimplemented: raise<c10::NotImplementedError>(text);
    case Code::out_of_memory: raise<c10::OutOfMemoryError>(text);
    default: raise<c10::Error>(text);
  }
}

void check_build(Build& b, const char* op) {
  if (b.ok()) return;
  Error error = b.take_error();
  if (error.op.empty()) error.op = op;
  throw_error(std::move(error));
}

}  // namespace tp::bridge
