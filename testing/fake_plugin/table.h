#pragma once
// The table of calls: every entry counts its calls, checks struct_size and fails when told to.

#include <string>
#include <typeinfo>
#include <vector>

#include "fake_plugin/state.h"

namespace fake {

struct Slot {
  std::string name;
  size_t offset;
};

struct Table {
  PJRT_Api api{};
  std::vector<Slot> slots;
};
Table& table();

// "23PJRT_Client_Create_Args" is PJRT_Client_Create.
std::string entry_name(const std::type_info& args);

template <class Args, PJRT_Error* (*Body)(Args*)>
PJRT_Error* counted(Args* args) {
  static const std::string name = entry_name(typeid(Args));
  PJRT_Error* failed = enter(name, args->struct_size == sizeof(Args));
  // A destroy that reports a failure still frees.
  if (!failed || name.ends_with("_Destroy")) {
    PJRT_Error* own = Body(args);
    return failed ? failed : own;
  }
  return failed;
}

template <class Member>
void add_slot(Table& table, Member PJRT_Api::* member, std::string name) {
  const char* field = reinterpret_cast<const char*>(&(table.api.*member));
  table.slots.push_back({std::move(name), static_cast<size_t>(field - reinterpret_cast<const char*>(&table.api))});
}

template <class Args, PJRT_Error* (*Body)(Args*)>
void add(Table& table, PJRT_Error* (*PJRT_Api::*member)(Args*)) {
  table.api.*member = counted<Args, Body>;
  add_slot(table, member, entry_name(typeid(Args)));
}

}  // namespace fake
