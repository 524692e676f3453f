#include "ops/op.h"

#include <memory>
#include <unordered_map>

namespace tp {
namespace {

struct Table {
  std::unordered_map<std::string_view, std::unique_ptr<OpEntry>> by_name;
  std::vector<const OpEntry*> all;
};

Table& table() {
  static Table* t = new Table;  // filled by static initialisers of other files
  return *t;
}

}  // namespace

const OpEntry* find_op(std::string_view name) {
  auto it = table().by_name.find(name);
  return it == table().by_name.end() ? nullptr : it->second.get();
}

const std::vector<const OpEntry*>& all_ops() { return table().all; }

bool register_op(OpEntry entry) {
  auto owned = std::make_unique<OpEntry>(std::move(entry));
  const OpEntry* kept = owned.get();
  bool fresh = table().by_name.emplace(kept->name, std::move(owned)).second;
  TP_CHECK(fresh && "an op is lowered twice");
  table().all.push_back(kept);
  return true;
}

}  // namespace tp
