#include "pjrt/call.h"

#include <cstring>

namespace tp {
namespace {

// Plugin::load() has made sure of PJRT_Error_Destroy and PJRT_Error_Message.
void destroy(const Plugin& plugin, PJRT_Error* error) {
  PJRT_Error_Destroy_Args args{.struct_size = sizeof(args), .error = error};
  plugin.api()->PJRT_Error_Destroy(&args);
}

Code code_of(const Plugin& plugin, PJRT_Error* error) {
  PJRT_Error_GetCode_Args args{.struct_size = sizeof(args), .error = error};
  if (!reaches(plugin.api(), &PJRT_Api::PJRT_Error_GetCode)) return Code::unknown;
  if (PJRT_Error* second = plugin.api()->PJRT_Error_GetCode(&args)) {
    destroy(plugin, second);
    return Code::unknown;
  }
  // Read as a number: a newer plugin's code need not be a value of our enum.
  int code;
  static_assert(sizeof(code) == sizeof(args.code));
  std::memcpy(&code, &args.code, sizeof(code));
  if (code < PJRT_Error_Code_CANCELLED || code > PJRT_Error_Code_UNAUTHENTICATED) return Code::unknown;
  return static_cast<Code>(code);
}

std::string text_of(const Plugin& plugin, PJRT_Error* error) {
  PJRT_Error_Message_Args args{.struct_size = sizeof(args), .error = error};
  plugin.api()->PJRT_Error_Message(&args);
  std::string text(args.message ? args.message : "", args.message ? args.message_size : 0);
  while (!text.empty() && (text.back() == '\n' || text.back() == ' ')) text.pop_back();
  return text;
}

}  // namespace

Error take_error(const Plugin& plugin, PJRT_Error* error) {
  Code code = code_of(plugin, error);
  std::string text = text_of(plugin, error);
  destroy(plugin, error);
  if (text.empty()) text = "plugin " + plugin.name() + " gave no reason (" + code_name(code) + ")";
  // accelerate's batch-size finder looks for " out of memory." in the text.
  if (code == Code::out_of_memory && text.find(" out of memory.") == std::string::npos) {
    text = "plugin " + plugin.name() + " out of memory. " + text;
  }
  return make_error(code, std::move(text));
}

Error missing_entry(const Plugin& plugin, const std::type_info& args) {
  // A C struct's mangled name is its length and its name: 23PJRT_Client_Create_Args.
  std::string name = args.name();
  name.erase(0, name.find_first_not_of("0123456789"));
  if (size_t end = name.rfind("_Args"); end != std::string::npos) name.resize(end);
  auto [major, minor] = plugin.api_version();
  return make_error(Code::unimplemented, "plugin " + plugin.name() + " (PJRT API " + std::to_string(major) + "." +
                                             std::to_string(minor) + ") has no " + name);
}

}  // namespace tp
