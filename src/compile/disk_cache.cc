#include "compile/disk_cache.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <ctime>
#include <filesystem>

#include "base/log.h"

namespace tp {
namespace {

constexpr char kProgram[] = ".program";
constexpr char kNote[] = ".note";
constexpr char kTemporary[] = ".tmp-";
constexpr char kMagic[8] = {'t', 'p', 'c', 'a', 'c', 'h', 'e', '\n'};
constexpr uint64_t kVersion = 1;
constexpr int kWritesBetweenCounts = 32;
constexpr time_t kStaleSeconds = 3600;

// In front of the payload. The key guards against a renamed entry, the checksum against a damaged one.
struct Header {
  char magic[8];
  uint64_t version;
  Digest key;
  uint64_t size;
  Digest checksum;
};

class File {
 public:
  explicit File(int descriptor) : descriptor_(descriptor) {}
  ~File() {
    if (descriptor_ >= 0) close(descriptor_);
  }
  File(const File&) = delete;
  File& operator=(const File&) = delete;
  bool ok() const { return descriptor_ >= 0; }
  int get() const { return descriptor_; }

 private:
  int descriptor_;
};

bool read_all(int file, char* to, size_t size) {
  while (size > 0) {
    ssize_t count = ::read(file, to, size);
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return false;
    to += count;
    size -= static_cast<size_t>(count);
  }
  return true;
}

bool write_all(int file, const char* from, size_t size) {
  while (size > 0) {
    ssize_t count = ::write(file, from, size);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return false;
    from += count;
    size -= static_cast<size_t>(count);
  }
  return true;
}

// Parents too, for a fresh home has no .cache.
bool make_folder(const std::string& path) {
  for (size_t slash = path.find('/', 1); slash != std::string::npos; slash = path.find('/', slash + 1)) {
    mkdir(path.substr(0, slash).c_str(), 0700);
  }
  return mkdir(path.c_str(), 0700) == 0 || errno == EEXIST;
}

// Why the file must not be loaded, or nullptr.
const char* distrust(const struct stat& info) {
  if (!S_ISREG(info.st_mode)) return "not a file";
  if (info.st_uid != geteuid() && info.st_uid != 0) return "owned by another user";
  if (info.st_mode & (S_IWGRP | S_IWOTH)) return "writable by others";
  return nullptr;
}

// Why the header does not belong to this entry, or nullptr.
const char* reject(const Header& header, const Digest& key, size_t payload) {
  if (std::memcmp(header.magic, kMagic, sizeof(kMagic)) != 0) return "not an entry of this cache";
  if (header.version != kVersion) return "of another version";
  if (header.key != key) return "of another program";
  if (header.size > payload) return "truncated";
  if (header.size < payload) return "too long";
  return nullptr;
}

// Why the entry is of no use, or nullptr and its payload.
const char* read_entry(int file, const Digest& key, std::string& bytes) {
  struct stat info{};
  if (fstat(file, &info) != 0) return "unreadable";
  if (const char* why = distrust(info)) return why;
  Header header;
  size_t size = static_cast<size_t>(info.st_size);
  if (size < sizeof(header) || !read_all(file, reinterpret_cast<char*>(&header), sizeof(header))) return "truncated";
  if (const char* why = reject(header, key, size - sizeof(header))) return why;
  bytes.resize(header.size);
  if (!read_all(file, bytes.data(), bytes.size())) return "truncated";
  return digest_of(bytes) == header.checksum ? nullptr : "damaged";
}

bool is_entry(const std::string& name) { return name.ends_with(kProgram) || name.ends_with(kNote); }

struct Entry {
  std::string path;
  int64_t bytes;
  struct timespec used;
};

bool older(const Entry& a, const Entry& b) {
  if (a.used.tv_sec != b.used.tv_sec) return a.used.tv_sec < b.used.tv_sec;
  return a.used.tv_nsec < b.used.tv_nsec;
}

// The folder's entries. Takes what a killed process left half-written away.
std::vector<Entry> list_entries(const std::string& folder) {
  std::vector<Entry> entries;
  std::error_code failed;
  for (std::filesystem::directory_iterator at(folder, failed), end; !failed && at != end; at.increment(failed)) {
    std::string path = at->path(), name = at->path().filename();
    struct stat info{};
    if (lstat(path.c_str(), &info) != 0) continue;
    if (is_entry(name)) entries.push_back({path, info.st_size, info.st_mtim});
    if (name.starts_with(kTemporary) && info.st_mtim.tv_sec + kStaleSeconds < std::time(nullptr)) unlink(path.c_str());
  }
  return entries;
}

std::string temporary_name(const std::string& folder) {
  static std::atomic<uint64_t> next{0};
  return folder + "/" + kTemporary + std::to_string(getpid()) + "-" + std::to_string(next++) + "-" +
         std::to_string(std::time(nullptr));
}

}  // namespace

DiskCache::DiskCache(std::string dir, std::vector<std::string> readonly, int64_t max_bytes)
    : dir_(std::move(dir)), readonly_(std::move(readonly)), max_bytes_(max_bytes) {}

std::optional<std::string> DiskCache::get(const Digest& key) {
  auto bytes = find(key, kProgram);
  ++(bytes ? hits_ : misses_);
  return bytes;
}

void DiskCache::put(const Digest& key, std::string_view bytes) {
  if (write(key, kProgram, bytes)) ++puts_;
}

std::optional<std::string> DiskCache::get_note(const Digest& key) { return find(key, kNote); }

void DiskCache::put_note(const Digest& key, std::string_view text) { write(key, kNote, text); }

void DiskCache::drop(const Digest& key) {
  if (!dir_.empty() && unlink((dir_ + "/" + key.hex() + kProgram).c_str()) == 0) ++dropped_;
}

DiskCache::Stats DiskCache::stats() const {
  return {.hits = hits_, .misses = misses_, .puts = puts_, .dropped = dropped_, .evicted = evicted_};
}

std::optional<std::string> DiskCache::find(const Digest& key, const char* ending) {
  std::string name = "/" + key.hex() + ending;
  if (!dir_.empty()) {
    if (auto bytes = read(dir_ + name, key, true)) return bytes;
  }
  for (const std::string& folder : readonly_) {
    if (auto bytes = read(folder + name, key, false)) return bytes;
  }
  return std::nullopt;
}

std::optional<std::string> DiskCache::read(const std::string& path, const Digest& key, bool ours) {
  // Neither follows a link, nor waits on a pipe.
  File file(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
  if (!file.ok()) {
    if (errno == ENOENT || errno == ENOTDIR) return std::nullopt;
    if (errno != ELOOP) {
      log_once("cache entry " + path + " cannot be read: " + std::strerror(errno));
      return std::nullopt;
    }
  }
  std::string bytes;
  if (const char* why = file.ok() ? read_entry(file.get(), key, bytes) : "a link") {
    log_once("cache entry " + path + " dropped: " + why);
    ++dropped_;
    if (ours) unlink(path.c_str());
    return std::nullopt;
  }
  // The time of the last use, for trim(); access times are often off.
  if (ours) futimens(file.get(), nullptr);
  return bytes;
}

bool DiskCache::write(const Digest& key, const char* ending, std::string_view bytes) {
  if (dir_.empty()) return false;
  Header header{.version = kVersion, .key = key, .size = bytes.size(), .checksum = digest_of(bytes)};
  std::memcpy(header.magic, kMagic, sizeof(kMagic));
  int64_t total = static_cast<int64_t>(sizeof(header) + bytes.size());
  if (max_bytes_ > 0 && total > max_bytes_) return false;

  // A note is not worth a wait for the disk: lost in a crash, it is made again.
  bool durable = ending == kProgram;
  std::string temporary = temporary_name(dir_);
  constexpr int kFlags = O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW;
  int descriptor = open(temporary.c_str(), kFlags, 0600);
  if (descriptor < 0 && errno == ENOENT && make_folder(dir_)) descriptor = open(temporary.c_str(), kFlags, 0600);
  if (descriptor < 0) {
    log_once("cache folder " + dir_ + " cannot be written, programs are not kept: " + std::strerror(errno));
    return false;
  }
  int failed = 0;
  {
    File file(descriptor);
    if (!write_all(file.get(), reinterpret_cast<const char*>(&header), sizeof(header)) ||
        !write_all(file.get(), bytes.data(), bytes.size()) || (durable && fsync(file.get()) != 0)) {
      failed = errno;
    }
  }
  // Readers see the old entry or the whole new one.
  std::string path = dir_ + "/" + key.hex() + ending;
  if (!failed && rename(temporary.c_str(), path.c_str()) != 0) failed = errno;
  if (failed) {
    log_once("cache folder " + dir_ + " refused an entry, programs are not kept: " + std::strerror(failed));
    unlink(temporary.c_str());
    return false;
  }
  if (durable) {
    File folder(open(dir_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (folder.ok()) (void)fsync(folder.get());
  }
  keep_below_cap(total);
  return true;
}

void DiskCache::keep_below_cap(int64_t added) {
  if (max_bytes_ <= 0) return;
  std::lock_guard<std::mutex> lock(mutex_);
  bytes_ += added;
  if (--writes_until_count_ > 0 && bytes_ <= max_bytes_) return;
  writes_until_count_ = kWritesBetweenCounts;
  trim();
}

// Called with the lock. Other processes may remove the same files at the same time, which is fine.
void DiskCache::trim() {
  std::vector<Entry> entries = list_entries(dir_);
  bytes_ = 0;
  for (const Entry& entry : entries) bytes_ += entry.bytes;
  if (bytes_ <= max_bytes_) return;
  std::sort(entries.begin(), entries.end(), older);
  // A tenth below, so that not every write has to trim. The newest stays, for somebody just made it.
  int64_t goal = max_bytes_ - max_bytes_ / 10;
  if (!entries.empty()) entries.pop_back();
  for (const Entry& entry : entries) {
    if (bytes_ <= goal) break;
    if (unlink(entry.path.c_str()) == 0) ++evicted_;
    bytes_ -= entry.bytes;
  }
}

void DiskCache::log_once(const std::string& line) {
  {
    std::lock_guard<std::mutex> lock(mutex_);
    if (!logged_.insert(line).second) return;
  }
  log_warning(line);
}

}  // namespace tp
