#pragma once
// Every environment variable that torch-pjrt reads, once, at first use. The docs' table is made from env_table().

#include <cstdint>
#include <string>
#include <vector>

namespace tp {

struct Env {
  std::string plugin;          // TORCH_PJRT_PLUGIN: "cpu", "tpu", "cuda" or a path
  std::string cache_dir;       // TORCH_PJRT_CACHE_DIR; "" when the disk cache is off
  std::string cache_readonly;  // TORCH_PJRT_CACHE_READONLY: colon-separated folders
  std::string dump_dir;        // TORCH_PJRT_DUMP
  int64_t memory_limit = 0;    // TORCH_PJRT_MEMORY_LIMIT in bytes ("2GiB" is read too); 0 is "no limit"
  int cpu_devices = 1;         // TORCH_PJRT_CPU_DEVICES
  bool sync = false;           // TORCH_PJRT_SYNC: every op runs at once
  bool loc = false;            // TORCH_PJRT_LOC: late errors name the user's line
  bool detect_nan = false;     // TORCH_PJRT_DETECT_NAN
  bool verbose = false;        // TORCH_PJRT_VERBOSE
};

struct EnvRow {
  const char* name;
  const char* meaning;
  std::string value;  // as the environment gives it; "" when unset
};

const Env& env();
std::vector<EnvRow> env_table();
// The raw text of a variable that belongs to somebody else (HOME, XLA_FLAGS, LIBTPU_INIT_ARGS); "" when unset.
std::string env_text(const char* name);
// "1536", "2GiB", "512MB" -> bytes; -1 when it cannot be read.
int64_t parse_bytes(const std::string& text);

}  // namespace tp
