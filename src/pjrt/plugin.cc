#include "pjrt/plugin.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>

#include "pjrt/call.h"

namespace tp {
namespace {

// 0.57 (2024-11) moved entries of the table to where they are now; what came later is optional here.
constexpr int kMinimumMinor = 57;

Error load_error(Code code, const std::string& path, const std::string& what) {
  return make_error(code, "plugin " + path + " " + what);
}

std::string version_text(int major, int minor) { return std::to_string(major) + "." + std::to_string(minor); }

Result<std::string> find_library(const std::string& path) {
  std::error_code failed;
  std::string real = std::filesystem::canonical(path, failed).string();
  if (failed) return load_error(Code::not_found, path, "cannot be opened: " + failed.message());
  if (!std::filesystem::is_regular_file(real, failed)) return load_error(Code::invalid_argument, path, "is not a file");
  return real;
}

Result<const PJRT_Api*> open_library(const std::string& path) {
  // NODELETE: nobody, not even a dlclose elsewhere, may unload a library whose threads run.
  void* library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
  if (!library) {
    const char* reason = dlerror();
    return load_error(Code::invalid_argument, path,
                      std::string("is not a library that can be loaded: ") + (reason ? reason : "unknown reason"));
  }
  auto get_api = reinterpret_cast<const PJRT_Api* (*)()>(dlsym(library, "GetPjrtApi"));
  if (!get_api)
    return load_error(Code::invalid_argument, path, "is a library, but no PJRT plugin: it has no GetPjrtApi");
  const PJRT_Api* api = get_api();
  if (!api) return load_error(Code::internal, path, "gave no table of calls from GetPjrtApi");
  return api;
}

Status check_version(const std::string& path, const PJRT_Api* api) {
  bool readable = api->struct_size >= offsetof(PJRT_Api, pjrt_api_version) + PJRT_Api_Version_STRUCT_SIZE;
  int major = readable ? api->pjrt_api_version.major_version : 0;
  int minor = readable ? api->pjrt_api_version.minor_version : 0;
  if (major != PJRT_API_MAJOR) {
    return load_error(Code::failed_precondition, path,
                      "has PJRT API " + version_text(major, minor) + ", but torch-pjrt speaks " +
                          std::to_string(PJRT_API_MAJOR) + ".x");
  }
  if (minor < kMinimumMinor) {
    return load_error(Code::failed_precondition, path,
                      "is too old: it has PJRT API " + version_text(major, minor) + ", at least " +
                          version_text(PJRT_API_MAJOR, kMinimumMinor) + " is needed");
  }
  // Without these two no error could be read.
  size_t needed = offsetof(PJRT_Api, PJRT_Error_Message) + sizeof(void*);
  if (api->struct_size < needed || !api->PJRT_Error_Message || !api->PJRT_Error_Destroy) {
    return load_error(Code::unimplemented, path, "has no PJRT_Error_Message or no PJRT_Error_Destroy");
  }
  return done();
}

// Four independent chains, since one alone waits for its own multiplications.
Digest digest_words(const char* data, size_t size) {
  Hasher lanes[4];
  constexpr size_t kStep = 4 * sizeof(uint64_t);
  size_t whole = size / kStep * kStep;
  for (size_t i = 0; i < whole; i += kStep) {
    uint64_t words[4];
    std::memcpy(words, data + i, kStep);
    for (int lane = 0; lane < 4; ++lane) lanes[lane].add(words[lane]);
  }
  Hasher all;
  all.add(std::string_view(data + whole, size - whole));
  all.add(size);
  for (const Hasher& lane : lanes) {
    all.add(lane.digest().high);
    all.add(lane.digest().low);
  }
  return all.digest();
}

Result<Digest> digest_file(const std::string& path) {
  int file = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0) return load_error(Code::not_found, path, std::string("cannot be read: ") + std::strerror(errno));
  struct stat info{};
  void* bytes = MAP_FAILED;
  size_t size = 0;
  if (fstat(file, &info) == 0 && info.st_size > 0) {
    size = static_cast<size_t>(info.st_size);
    bytes = mmap(nullptr, size, PROT_READ, MAP_PRIVATE, file, 0);
  }
  int reason = errno;
  close(file);
  if (bytes == MAP_FAILED)
    return load_error(Code::internal, path, std::string("cannot be read: ") + std::strerror(reason));
  madvise(bytes, size, MADV_SEQUENTIAL);
  Digest digest = digest_words(static_cast<const char*>(bytes), size);
  munmap(bytes, size);
  return digest;
}

std::optional<Version> version_in(const NamedValues& values, const char* name) {
  auto found = values.find(name);
  if (found == values.end()) return std::nullopt;
  auto* numbers = std::get_if<std::vector<int64_t>>(&found->second);
  if (!numbers || numbers->size() != 3) return std::nullopt;
  return Version{(*numbers)[0], (*numbers)[1], (*numbers)[2]};
}

}  // namespace

Plugin::Plugin(std::string path, const PJRT_Api* api)
    : path_(std::move(path)), name_(std::filesystem::path(path_).stem().string()), api_(api) {}

Result<std::shared_ptr<Plugin>> Plugin::load(const std::string& path) {
  TP_TRY(std::string real, find_library(path));
  TP_TRY(const PJRT_Api* api, open_library(real));
  TP_TRY([[maybe_unused]] Done versions, check_version(path, api));
  std::shared_ptr<Plugin> plugin(new Plugin(real, api));

  auto started = call_if_implemented(*plugin, &PJRT_Api::PJRT_Plugin_Initialize, {});
  if (!started.ok()) {
    started.error().text = "plugin " + path + " could not be initialized: " + started.error().text;
    return std::move(started.error());
  }
  TP_TRY(auto known, call_if_implemented(*plugin, &PJRT_Api::PJRT_Plugin_Attributes, {}));
  if (known) plugin->attributes_ = from_c(known->attributes, known->num_attributes);
  return plugin;
}

std::pair<int, int> Plugin::api_version() const {
  return {api_->pjrt_api_version.major_version, api_->pjrt_api_version.minor_version};
}

std::optional<StablehloVersions> Plugin::stablehlo_version() const {
  auto current = version_in(attributes_, "stablehlo_current_version");
  auto minimum = version_in(attributes_, "stablehlo_minimum_version");
  if (!current) return std::nullopt;
  return StablehloVersions{*current, minimum.value_or(Version{0, 9, 0})};
}

Result<Digest> Plugin::file_digest() const {
  std::lock_guard<std::mutex> lock(digest_mutex_);
  if (!digest_) {
    TP_TRY(digest_, digest_file(path_));
  }
  return *digest_;
}

const PJRT_Extension_Base* Plugin::find_extension(int type) const {
  const PJRT_Extension_Base* extension = api_->extension_start;
  while (extension && static_cast<int>(extension->type) != type) extension = extension->next;
  return extension;
}

}  // namespace tp
