#include "compile/compiler.h"

#include <chrono>
#include <cstdio>
#include <filesystem>
#include <fstream>

#include "base/env.h"
#include "base/log.h"
#include "pjrt/compile_options.h"

namespace tp {
namespace {

// Raised when a kernel's interface or the meaning of a note changes.
constexpr const char* kKernelAbi = "1";

// The CPU's features: a program compiled for AVX-512 must not be loaded without it.
std::string cpu_features() {
  std::ifstream file("/proc/cpuinfo");
  std::string line;
  while (std::getline(file, line)) {
    if (line.rfind("flags", 0) == 0 || line.rfind("Features", 0) == 0) return line;
  }
  return "";
}

// Files of one program, named by its key. A folder that cannot be written costs one warning each, nothing else.
void dump_program(const std::string& text, const std::string& graph, const Digest& key) {
  std::error_code ignored;
  std::filesystem::create_directories(env().dump_dir, ignored);
  std::string base = env().dump_dir + "/" + key.hex();
  std::ofstream module(base + ".mlir");
  module << text;
  if (!graph.empty()) std::ofstream(base + ".txt") << graph;
  if (!module) log_warning("TORCH_PJRT_DUMP: " + base + ".mlir could not be written");
}

}  // namespace

Compiler::Compiler(Client& client, std::unique_ptr<DiskCache> disk) : client_(client), disk_(std::move(disk)) {
  Result<std::string> topology = client.serialized_topology();
  Result<Digest> plugin = client.plugin().file_digest();
  environment_ = std::string(kKernelAbi) + "\n" + (plugin.ok() ? plugin.value().hex() : "") + "\n" +
                 (topology.ok() ? topology.value() : client.platform_version()) + "\n" + env_text("XLA_FLAGS") + "\n" +
                 env_text("LIBTPU_INIT_ARGS") + "\n" + (client.platform_name() == "cpu" ? cpu_features() : "");
}

Digest Compiler::key_of(const std::string& text, const std::string& options) const {
  Hasher hasher;
  hasher.add(text);
  hasher.add(options);
  hasher.add(environment_);
  return hasher.digest();
}

Result<LoadedExecutable> Compiler::compile(const std::string& text, Device device, const std::string& graph) {
  auto start = std::chrono::steady_clock::now();
  std::string options = CompileOptions::single_device(device.id(), /*allow_excess_precision=*/false).serialize();
  Digest key = key_of(text, options);
  if (!env().dump_dir.empty()) dump_program(text, graph, key);
  if (disk_) {
    if (std::optional<std::string> bytes = disk_->get(key)) {
      Result<LoadedExecutable> loaded = client_.deserialize(*bytes);
      if (loaded.ok()) {
        ++stats_.disk_hits;
        return loaded;
      }
      log_warning("a cached program could not be loaded, compiling it again: " + loaded.error().text);
      disk_->drop(key);
    }
  }
  TP_TRY(LoadedExecutable compiled, client_.compile(text, options));
  ++stats_.compiles;
  stats_.nanoseconds += std::chrono::nanoseconds(std::chrono::steady_clock::now() - start).count();
  log_info("compiled " + key.hex() + " in " +
           std::to_string(std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count()) + " s");
  if (disk_) {
    Result<std::string> bytes = compiled.executable().serialize();
    if (bytes.ok()) disk_->put(key, bytes.value());
  }
  return compiled;
}

void Compiler::reset_stats() {
  stats_.compiles = 0;
  stats_.disk_hits = 0;
  stats_.nanoseconds = 0;
}

std::optional<std::string> Compiler::note(const Digest& key) const {
  return disk_ ? disk_->get_note(key) : std::nullopt;
}

void Compiler::put_note(const Digest& key, const std::string& text) {
  if (disk_) disk_->put_note(key, text);
}

}  // namespace tp
