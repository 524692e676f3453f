#include "compile/disk_cache.h"

#include <doctest/doctest.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <thread>

namespace tp {
namespace {

namespace fs = std::filesystem;

// A folder of its own for each test, and what is logged meanwhile.
class Scratch {
 public:
  Scratch() {
    std::string pattern = fs::temp_directory_path() / "tp_disk_cache_XXXXXX";
    root_ = mkdtemp(pattern.data());
    log_ = root_ + "/log";
    std::fflush(stderr);
    stderr_ = dup(2);
    int file = open(log_.c_str(), O_WRONLY | O_CREAT | O_APPEND, 0600);
    dup2(file, 2);
    close(file);
  }
  ~Scratch() {
    dup2(stderr_, 2);
    close(stderr_);
    fs::remove_all(root_);
  }
  std::string path(const std::string& name) const { return root_ + "/" + name; }
  std::string log() const {
    std::ifstream file(log_);
    std::stringstream text;
    text << file.rdbuf();
    return text.str();
  }
  int log_lines() const {
    std::string text = log();
    return static_cast<int>(std::count(text.begin(), text.end(), '\n'));
  }

 private:
  std::string root_, log_;
  int stderr_;
};

Digest key_of(int n) {
  Hasher hasher;
  hasher.add(static_cast<uint64_t>(n));
  return hasher.digest();
}

// What every writer stores for this key.
std::string payload_of(int n) {
  std::string bytes;
  for (int i = 0; i < 2000 + n * 37; ++i) bytes += static_cast<char>(i * 31 + n);
  return bytes;
}

std::string program_path(const DiskCache& cache, int n) { return cache.dir() + "/" + key_of(n).hex() + ".program"; }

int64_t folder_bytes(const std::string& folder) {
  int64_t bytes = 0;
  for (const auto& entry : fs::directory_iterator(folder)) bytes += static_cast<int64_t>(entry.file_size());
  return bytes;
}

int temporaries(const std::string& folder) {
  int count = 0;
  for (const auto& entry : fs::directory_iterator(folder)) {
    if (entry.path().filename().string().starts_with(".tmp-")) ++count;
  }
  return count;
}

void set_age(const std::string& path, int seconds) {
  struct timespec times[2];
  clock_gettime(CLOCK_REALTIME, &times[0]);
  times[0].tv_sec -= seconds;
  times[1] = times[0];
  REQUIRE(utimensat(AT_FDCWD, path.c_str(), times, 0) == 0);
}

void overwrite(const std::string& path, size_t at, const std::string& bytes) {
  std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
  file.seekp(static_cast<std::streamoff>(at));
  file << bytes;
}

TEST_CASE("what is put is got, also by another cache on the same folder") {
  Scratch scratch;
  DiskCache cache(scratch.path("a/b/cache"), {}, 0);
  CHECK(!cache.get(key_of(1)));
  cache.put(key_of(1), payload_of(1));
  cache.put(key_of(2), "");
  CHECK(cache.get(key_of(1)) == payload_of(1));
  CHECK(cache.get(key_of(2)) == "");
  DiskCache other(scratch.path("a/b/cache"), {}, 0);
  CHECK(other.get(key_of(1)) == payload_of(1));
  cache.put(key_of(1), "newer");
  CHECK(other.get(key_of(1)) == "newer");
  CHECK(cache.stats().hits == 2);
  CHECK(cache.stats().misses == 1);
  CHECK(cache.stats().puts == 3);
  CHECK(scratch.log().empty());
}

TEST_CASE("folder and entries belong to the user alone") {
  Scratch scratch;
  mode_t before = umask(0);
  DiskCache cache(scratch.path("parent/cache"), {}, 0);
  cache.put(key_of(1), "x");
  umask(before);
  struct stat info;
  for (const char* folder : {"parent", "parent/cache"}) {
    REQUIRE(stat(scratch.path(folder).c_str(), &info) == 0);
    CHECK((info.st_mode & 0777) == 0700);
  }
  REQUIRE(stat(program_path(cache, 1).c_str(), &info) == 0);
  CHECK((info.st_mode & 0777) == 0600);
}

TEST_CASE("notes live beside programs") {
  Scratch scratch;
  DiskCache cache(scratch.path("cache"), {}, 0);
  CHECK(!cache.get_note(key_of(1)));
  cache.put_note(key_of(1), "promoted: 3 5");
  CHECK(cache.get_note(key_of(1)) == "promoted: 3 5");
  CHECK(!cache.get(key_of(1)));
  CHECK(cache.stats().hits == 0);
}

TEST_CASE("a dropped program is a miss") {
  Scratch scratch;
  DiskCache cache(scratch.path("cache"), {}, 0);
  cache.put(key_of(1), "x");
  cache.drop(key_of(1));
  cache.drop(key_of(2));
  CHECK(!cache.get(key_of(1)));
  CHECK(cache.stats().dropped == 1);
}

TEST_CASE("an entry cut at any length is dropped with one line") {
  Scratch scratch;
  DiskCache cache(scratch.path("cache"), {}, 0);
  std::string payload = payload_of(0);
  cache.put(key_of(0), payload);
  size_t whole = fs::file_size(program_path(cache, 0));
  int lines = 0;
  for (size_t size : {size_t{0}, size_t{7}, size_t{30}, whole - payload.size(), whole - 1}) {
    int n = ++lines;
    cache.put(key_of(n), payload);
    fs::resize_file(program_path(cache, n), size);
    CHECK(!cache.get(key_of(n)));
    CHECK(!fs::exists(program_path(cache, n)));
    CHECK(!cache.get(key_of(n)));
    CHECK(scratch.log_lines() == lines);
  }
  CHECK(scratch.log().find("dropped: truncated") != std::string::npos);
  CHECK(cache.stats().dropped == lines);
  CHECK(cache.get(key_of(0)) == payload);
}

TEST_CASE("a flipped bit anywhere is found") {
  Scratch scratch;
  DiskCache cache(scratch.path("cache"), {}, 0);
  cache.put(key_of(0), "0123456789");
  size_t whole = fs::file_size(program_path(cache, 0));
  for (size_t at = 0; at < whole; ++at) {
    cache.put(key_of(0), "0123456789");
    overwrite(program_path(cache, 0), at, "\xee");
    CAPTURE(at);
    CHECK(!cache.get(key_of(0)));
  }
  CHECK(cache.stats().dropped == static_cast<int64_t>(whole));
}

TEST_CASE("foreign files are dropped: other content, other key, too long, links, folders") {
  Scratch scratch;
  DiskCache cache(scratch.path("cache"), {}, 0);
  for (int n = 1; n <= 4; ++n) cache.put(key_of(n), payload_of(n));
  std::ofstream(program_path(cache, 1)) << std::string(500, 'x');
  fs::rename(program_path(cache, 2), program_path(cache, 20));
  std::ofstream(program_path(cache, 3), std::ios::app) << "tail";
  fs::rename(program_path(cache, 4), scratch.path("elsewhere"));
  fs::create_symlink(scratch.path("elsewhere"), program_path(cache, 4));
  fs::create_directory(program_path(cache, 5));
  for (int n : {1, 20, 3, 4, 5}) {
    CAPTURE(n);
    CHECK(!cache.get(key_of(n)));
  }
  CHECK(fs::exists(scratch.path("elsewhere")));
  CHECK(scratch.log_lines() == 5);
}

TEST_CASE("entries that others can write, or own, are not trusted") {
  Scratch scratch;
  DiskCache cache(scratch.path("cache"), {}, 0);
  for (mode_t mode : {0620, 0602, 0666}) {
    cache.put(key_of(1), "code");
    REQUIRE(chmod(program_path(cache, 1).c_str(), mode) == 0);
    CHECK(!cache.get(key_of(1)));
    CHECK(!fs::exists(program_path(cache, 1)));
  }
  cache.put(key_of(1), "code");
  REQUIRE(chmod(program_path(cache, 1).c_str(), 0644) == 0);
  CHECK(cache.get(key_of(1)));
  CHECK(scratch.log().find("writable by others") != std::string::npos);
  if (geteuid() != 0) return;  // only root can give a file away
  REQUIRE(chown(program_path(cache, 1).c_str(), 12345, 12345) == 0);
  CHECK(!cache.get(key_of(1)));
  CHECK(scratch.log().find("owned by another user") != std::string::npos);
}

TEST_CASE("read-only folders are looked up last and never touched") {
  Scratch scratch;
  DiskCache image(scratch.path("image"), {}, 0);
  image.put(key_of(1), "from the image");
  image.put_note(key_of(1), "note");
  image.put(key_of(2), "damaged");
  overwrite(program_path(image, 2), 70, "??");
  set_age(program_path(image, 1), 1000);
  auto used = fs::last_write_time(program_path(image, 1));

  DiskCache cache(scratch.path("cache"), {scratch.path("missing"), scratch.path("image")}, 0);
  CHECK(cache.get(key_of(1)) == "from the image");
  CHECK(cache.get_note(key_of(1)) == "note");
  CHECK(fs::last_write_time(program_path(image, 1)) == used);
  CHECK(!cache.get(key_of(2)));
  CHECK(!cache.get(key_of(2)));
  CHECK(fs::exists(program_path(image, 2)));
  CHECK(scratch.log_lines() == 1);
  cache.put(key_of(1), "own");
  CHECK(cache.get(key_of(1)) == "own");
  CHECK(image.get(key_of(1)) == "from the image");
  // Without a folder of its own it only reads.
  DiskCache reader("", {scratch.path("image")}, 0);
  reader.put(key_of(9), "x");
  reader.drop(key_of(1));
  CHECK(!reader.get(key_of(9)));
  CHECK(reader.get(key_of(1)) == "from the image");
}

TEST_CASE("a folder that cannot be made or written is logged once and harms nobody") {
  Scratch scratch;
  std::ofstream(scratch.path("file")) << "x";
  for (const std::string& dir : {scratch.path("file/cache"), std::string("/proc/self/no/cache")}) {
    DiskCache cache(dir, {}, 0);
    int before = scratch.log_lines();
    for (int n = 0; n < 3; ++n) cache.put(key_of(n), "x");
    CHECK(!cache.get(key_of(0)));
    CHECK(scratch.log_lines() == before + 1);
    CHECK(cache.stats().puts == 0);
  }
}

TEST_CASE("a full disk is logged once, and leaves no half entry") {
  Scratch scratch;
  fs::create_directory(scratch.path("cache"));
  pid_t child = fork();
  if (child == 0) {
    // A limit on file size fails writes as a full disk does.
    signal(SIGXFSZ, SIG_IGN);
    struct rlimit limit = {4096, 4096};
    setrlimit(RLIMIT_FSIZE, &limit);
    DiskCache cache(scratch.path("cache"), {}, 0);
    for (int n = 0; n < 3; ++n) cache.put(key_of(n), std::string(10000, 'x'));
    cache.put(key_of(3), "small");
    bool right = !cache.get(key_of(0)) && cache.get(key_of(3)) == "small" && cache.stats().puts == 1;
    _exit(right ? 0 : 1);
  }
  int status = 0;
  waitpid(child, &status, 0);
  CHECK(status == 0);
  CHECK(temporaries(scratch.path("cache")) == 0);
  CHECK(scratch.log_lines() == 1);
}

TEST_CASE("the least recently used entries go first") {
  Scratch scratch;
  DiskCache cache(scratch.path("cache"), {}, 12000);
  std::string bytes(2000, 'x');
  for (int n = 0; n < 5; ++n) {
    cache.put(key_of(n), bytes);
    set_age(program_path(cache, n), 1000 - n);
  }
  CHECK(cache.get(key_of(0)));  // used just now
  cache.put(key_of(5), bytes);  // passes the cap
  CHECK(folder_bytes(cache.dir()) <= 12000);
  CHECK(cache.get(key_of(0)));
  CHECK(!cache.get(key_of(1)));
  CHECK(cache.get(key_of(4)));
  CHECK(cache.get(key_of(5)));
  CHECK(cache.stats().evicted >= 1);
  // What never fits is not stored, and costs nobody his entry.
  int64_t evicted = cache.stats().evicted;
  cache.put(key_of(6), std::string(20000, 'x'));
  CHECK(!cache.get(key_of(6)));
  CHECK(cache.stats().evicted == evicted);
  CHECK(cache.get(key_of(5)));
}

TEST_CASE("old leftovers of killed writers are taken away, young ones stay") {
  Scratch scratch;
  fs::create_directory(scratch.path("cache"));
  std::ofstream(scratch.path("cache/.tmp-1-0-0")) << "half";
  std::ofstream(scratch.path("cache/.tmp-2-0-0")) << "half";
  set_age(scratch.path("cache/.tmp-1-0-0"), 10000);
  DiskCache cache(scratch.path("cache"), {}, 1 << 20);
  cache.put(key_of(1), "x");
  CHECK(!fs::exists(scratch.path("cache/.tmp-1-0-0")));
  CHECK(fs::exists(scratch.path("cache/.tmp-2-0-0")));
}

// One of several writers: puts and gets the same keys as the others. False when it reads what nobody wrote.
bool work(const std::string& dir, int seed, int64_t max_bytes) {
  DiskCache cache(dir, {}, max_bytes);
  for (int i = 0; i < 150; ++i) {
    int n = (i * 7 + seed * 13) % 20;
    if (i % 3 == 0) cache.put(key_of(n), payload_of(n));
    if (i % 50 == 10) cache.drop(key_of(n));
    cache.put_note(key_of(n), "note " + std::to_string(n));
    auto bytes = cache.get(key_of(n));
    if (bytes && *bytes != payload_of(n)) return false;
    auto note = cache.get_note(key_of(n));
    if (note && *note != "note " + std::to_string(n)) return false;
  }
  return cache.stats().dropped <= 3;  // its own drops: no entry was found damaged
}

TEST_CASE("eight processes share a folder") {
  for (int64_t max_bytes : {int64_t{0}, int64_t{20000}}) {
    CAPTURE(max_bytes);
    Scratch scratch;
    std::vector<pid_t> children;
    for (int seed = 0; seed < 8; ++seed) {
      pid_t child = fork();
      if (child == 0) _exit(work(scratch.path("cache"), seed, max_bytes) ? 0 : 1);
      children.push_back(child);
    }
    for (pid_t child : children) {
      int status = 1;
      waitpid(child, &status, 0);
      CHECK(status == 0);
    }
    CHECK(scratch.log().empty());
    CHECK(temporaries(scratch.path("cache")) == 0);
    DiskCache cache(scratch.path("cache"), {}, max_bytes);
    cache.put(key_of(0), payload_of(0));
    CHECK(cache.get(key_of(0)) == payload_of(0));
    if (max_bytes > 0) CHECK(folder_bytes(scratch.path("cache")) <= max_bytes);
  }
}

TEST_CASE("a writer killed at any time leaves only whole entries") {
  Scratch scratch;
  for (int round = 0; round < 10; ++round) {
    pid_t child = fork();
    if (child == 0) {
      DiskCache cache(scratch.path("cache"), {}, 0);
      for (int n = 0;; n = (n + 1) % 20) cache.put(key_of(n), payload_of(n));
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(5 + round * 3));
    kill(child, SIGKILL);
    int status;
    waitpid(child, &status, 0);
    DiskCache cache(scratch.path("cache"), {}, 0);
    for (int n = 0; n < 20; ++n) {
      auto bytes = cache.get(key_of(n));
      if (bytes) CHECK(*bytes == payload_of(n));
    }
    CHECK(cache.stats().dropped == 0);
  }
  CHECK(scratch.log().empty());
}

TEST_CASE("threads share a cache") {
  Scratch scratch;
  DiskCache cache(scratch.path("cache"), {}, 30000);
  std::atomic<int> wrong{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < 60; ++i) {
        int n = (i + t * 5) % 20;
        cache.put(key_of(n), payload_of(n));
        auto bytes = cache.get(key_of(n));
        if (bytes && *bytes != payload_of(n)) ++wrong;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  CHECK(wrong == 0);
  CHECK(folder_bytes(cache.dir()) <= 30000);
}

}  // namespace
}  // namespace tp
