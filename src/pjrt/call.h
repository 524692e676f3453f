#pragma once
// The one way into a plugin's table, for this folder's .cc files: struct_size is set, the entry is checked to be
// there, an error becomes a value and its handle is freed.

#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <typeinfo>

#include "base/error.h"
#include "pjrt/plugin.h"
#include "pjrt_c_api.h"

namespace tp {

// A pointer in PJRT_Api whose call takes Args; the entry's name is that of Args without "_Args".
template <class Args>
using Entry = PJRT_Error* (*PJRT_Api::*)(Args*);

// Whether the plugin's table, which is shorter than ours when the plugin is older, has the entry.
template <class Args>
bool reaches(const PJRT_Api* api, Entry<Args> entry) {
  const char* field = reinterpret_cast<const char*>(&(api->*entry));
  size_t end = static_cast<size_t>(field - reinterpret_cast<const char*>(api)) + sizeof(void*);
  return end <= api->struct_size && api->*entry != nullptr;
}

// Takes the handle.
Error take_error(const Plugin& plugin, PJRT_Error* error);
Error missing_entry(const Plugin& plugin, const std::type_info& args);

// Gives the arguments back, with what the plugin filled in:
// `TP_TRY(auto out, call(plugin, &PJRT_Api::PJRT_Client_Create, {.num_options = 0}));`
template <class Args>
Result<Args> call(const Plugin& plugin, Entry<Args> entry, std::type_identity_t<Args> args) {
  if (!reaches(plugin.api(), entry)) return missing_entry(plugin, typeid(Args));
  args.struct_size = sizeof(args);
  if (PJRT_Error* error = (plugin.api()->*entry)(&args)) return take_error(plugin, error);
  return args;
}

// The same where having no answer is normal: nullopt then.
template <class Args>
Result<std::optional<Args>> call_if_implemented(const Plugin& plugin, Entry<Args> entry,
                                                std::type_identity_t<Args> args) {
  auto out = call(plugin, entry, args);
  if (out.ok()) return std::optional<Args>(out.value());
  if (out.error().code == Code::unimplemented) return std::optional<Args>();
  return std::move(out.error());
}

// For calls that fill nothing in.
template <class Args>
Status perform(const Plugin& plugin, Entry<Args> entry, std::type_identity_t<Args> args) {
  auto out = call(plugin, entry, args);
  if (!out.ok()) return std::move(out.error());
  return done();
}

// StableHLO to compile; a view of `text`.
inline PJRT_Program mlir_program(std::string_view text) {
  // Only read here, but the struct also serves to be filled.
  return {.struct_size = sizeof(PJRT_Program),
          .code = const_cast<char*>(text.data()),
          .code_size = text.size(),
          .format = "mlir",
          .format_size = 4};
}

}  // namespace tp
