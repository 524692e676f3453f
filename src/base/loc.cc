#include "base/loc.h"

#include <mutex>
#include <unordered_map>
#include <vector>

namespace tp {
namespace {

struct Table {
  std::mutex mutex;
  std::unordered_map<std::string, Loc> ids;
  std::vector<std::string> texts{""};
};

Table& table() {
  static Table* t = new Table;  // outlives static destruction: buffers may still report errors then
  return *t;
}

}  // namespace

Loc loc_intern(const std::string& text) {
  if (text.empty()) return 0;
  Table& t = table();
  std::lock_guard<std::mutex> lock(t.mutex);
  auto [it, fresh] = t.ids.try_emplace(text, static_cast<Loc>(t.texts.size()));
  if (fresh) t.texts.push_back(text);
  return it->second;
}

std::string loc_text(Loc loc) {
  Table& t = table();
  std::lock_guard<std::mutex> lock(t.mutex);
  return loc < t.texts.size() ? t.texts[loc] : "";
}

}  // namespace tp
