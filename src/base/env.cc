#include "base/env.h"

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <string_view>

namespace tp {
namespace {

struct Known {
  const char* name;
  const char* meaning;
};

constexpr Known kKnown[] = {
    {"TORCH_PJRT_PLUGIN", "plugin by name (cpu, tpu, cuda) or path of its library"},
    {"TORCH_PJRT_CACHE_DIR", "folder of compiled programs; default ~/.cache/torch-pjrt, 0 turns it off"},
    {"TORCH_PJRT_CACHE_READONLY", "colon-separated read-only cache folders, looked up after the first"},
    {"TORCH_PJRT_MEMORY_LIMIT", "bytes a device may use, for example 2GiB; default what the plugin says"},
    {"TORCH_PJRT_CPU_DEVICES", "number of devices that the CPU plugin shows; default 1"},
    {"TORCH_PJRT_SYNC", "1 runs every op at once, so that an error rises where it happens"},
    {"TORCH_PJRT_LOC", "1 records the user's line for each op, so that late errors name it"},
    {"TORCH_PJRT_DUMP", "folder that gets the StableHLO and the readable graph, with your lines, of each program"},
    {"TORCH_PJRT_DETECT_NAN", "1 raises for the first op whose result holds a NaN, naming its line"},
    {"TORCH_PJRT_VERBOSE", "1 logs what is loaded, compiled and cached"},
};

bool truthy(const std::string& text) { return !text.empty() && text != "0" && text != "false" && text != "off"; }

std::string default_cache_dir() {
  std::string base = env_text("XDG_CACHE_HOME");
  if (base.empty()) {
    std::string home = env_text("HOME");
    if (home.empty()) return "";
    base = home + "/.cache";
  }
  return base + "/torch-pjrt";
}

Env read() {
  Env e;
  e.plugin = env_text("TORCH_PJRT_PLUGIN");
  std::string cache = env_text("TORCH_PJRT_CACHE_DIR");
  e.cache_dir = cache.empty() ? default_cache_dir() : truthy(cache) ? cache : "";
  e.cache_readonly = env_text("TORCH_PJRT_CACHE_READONLY");
  e.dump_dir = env_text("TORCH_PJRT_DUMP");
  e.detect_nan = truthy(env_text("TORCH_PJRT_DETECT_NAN"));
  std::string limit = env_text("TORCH_PJRT_MEMORY_LIMIT");
  if (!limit.empty()) {
    e.memory_limit = parse_bytes(limit);
    if (e.memory_limit < 0) {
      std::fprintf(stderr, "torch-pjrt: TORCH_PJRT_MEMORY_LIMIT=%s ignored: expected bytes such as 2GiB\n",
                   limit.c_str());
      e.memory_limit = 0;
    }
  }
  std::string devices = env_text("TORCH_PJRT_CPU_DEVICES");
  if (!devices.empty()) {
    e.cpu_devices = std::atoi(devices.c_str());
    if (e.cpu_devices < 1 || e.cpu_devices > 256) {
      std::fprintf(stderr, "torch-pjrt: TORCH_PJRT_CPU_DEVICES=%s ignored: expected 1 to 256\n", devices.c_str());
      e.cpu_devices = 1;
    }
  }
  e.sync = truthy(env_text("TORCH_PJRT_SYNC"));
  e.loc = truthy(env_text("TORCH_PJRT_LOC"));
  e.verbose = truthy(env_text("TORCH_PJRT_VERBOSE"));
  return e;
}

}  // namespace

const Env& env() {
  static const Env e = read();
  return e;
}

std::vector<EnvRow> env_table() {
  std::vector<EnvRow> rows;
  for (const Known& known : kKnown) rows.push_back({known.name, known.meaning, env_text(known.name)});
  return rows;
}

std::string env_text(const char* name) {
  const char* text = std::getenv(name);
  return text ? text : "";
}

int64_t parse_bytes(const std::string& text) {
  char* end = nullptr;
  double number = std::strtod(text.c_str(), &end);
  if (end == text.c_str() || !(number >= 0) || !std::isfinite(number)) return -1;
  std::string_view unit(end);
  while (!unit.empty() && unit.front() == ' ') unit.remove_prefix(1);
  struct Unit {
    const char* name;
    double factor;
  };
  constexpr Unit kUnits[] = {{"", 1},
                             {"B", 1},
                             {"K", 1024.0},
                             {"KiB", 1024.0},
                             {"KB", 1e3},
                             {"M", 1048576.0},
                             {"MiB", 1048576.0},
                             {"MB", 1e6},
                             {"G", 1073741824.0},
                             {"GiB", 1073741824.0},
                             {"GB", 1e9},
                             {"TiB", 1099511627776.0}};
  for (const Unit& u : kUnits) {
    if (unit == u.name) return number * u.factor < 9e18 ? static_cast<int64_t>(number * u.factor) : -1;
  }
  return -1;
}

}  // namespace tp
