#pragma once
// What an op's lowering appends, as text. Needs no plugin.

#include <string>
#include <vector>

#include "ops/op.h"
#include "stablehlo/dump.h"

namespace tp::testing {

// A tensor argument: dumps number them first, in order.
inline Value leaf(Dtype dtype, const Dims& dims) { return new_leaf(Type{dtype, dims}, nullptr); }

inline Values lower_with(Build& b, const char* name, const std::vector<Arg>& args) {
  const OpEntry* entry = find_op(name);
  TP_CHECK(entry && entry->args.size() == args.size());
  return entry->lower(b, args.data());
}

inline std::string lowered(const char* name, const std::vector<Arg>& args) {
  Build b(name);
  Values results = lower_with(b, name, args);
  if (!b.ok()) return "error: " + b.take_error().text + "\n";
  Values arguments;
  for (const Arg& arg : args) {
    if (const Value* v = std::get_if<Value>(&arg)) arguments.push_back(*v);
    if (const Values* list = std::get_if<Values>(&arg)) arguments.insert(arguments.end(), list->begin(), list->end());
  }
  return dump(results, arguments);
}

// "f32[2,3]", by result; "none" for one that a mask turned off.
inline std::vector<std::string> lower_types(const char* name, const std::vector<Arg>& args) {
  Build b(name);
  std::vector<std::string> types;
  for (const Value& v : lower_with(b, name, args)) types.push_back(v ? type_text(v.type()) : "none");
  if (!b.ok()) return {"error: " + b.take_error().text};
  return types;
}

// The error of a call that must fail.
inline Error lower_error(const char* name, const std::vector<Arg>& args) {
  Build b(name);
  lower_with(b, name, args);
  if (b.ok()) return make_error(Code::ok, "no error");
  return b.take_error();
}

}  // namespace tp::testing
