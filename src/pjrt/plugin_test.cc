#include "pjrt/plugin.h"

#include <doctest/doctest.h>
#include <unistd.h>

#include <cstdio>
#include <filesystem>

#include "expect/must.h"
#include "fake_plugin/control.h"

namespace tp {
namespace {

Error load_error(const std::string& path) {
  auto plugin = Plugin::load(path);
  REQUIRE(!plugin.ok());
  return plugin.error();
}

bool contains(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

std::string scratch_file(const std::string& name, const std::string& bytes) {
  std::string path = std::filesystem::temp_directory_path() / (std::to_string(getpid()) + name);
  std::FILE* file = std::fopen(path.c_str(), "wb");
  std::fwrite(bytes.data(), 1, bytes.size(), file);
  std::fclose(file);
  return path;
}

TEST_CASE("a plugin path that leads nowhere says so") {
  Error error = load_error("/nonexistent/plugin.so");
  CHECK(error.code == Code::not_found);
  CHECK(error.text == "plugin /nonexistent/plugin.so cannot be opened: No such file or directory");
  CHECK(load_error("").code == Code::not_found);
}

TEST_CASE("a folder is no plugin") {
  Error error = load_error("/tmp");
  CHECK(error.code == Code::invalid_argument);
  CHECK(error.text == "plugin /tmp is not a file");
}

TEST_CASE("a text file is no plugin") {
  std::string path = scratch_file("plugin.so", "this is text, not a library, and it is long enough for a header\n");
  Error error = load_error(path);
  CHECK(error.code == Code::invalid_argument);
  CHECK(contains(error.text, "is not a library that can be loaded"));
  CHECK(!contains(error.text, "\n"));
  std::filesystem::remove(path);
}

TEST_CASE("a library without GetPjrtApi is no plugin") {
  // The C library has libm beside it, wherever the distribution keeps them.
  Dl_info info{};
  REQUIRE(dladdr(reinterpret_cast<void*>(&std::fopen), &info));
  std::string path = std::filesystem::path(info.dli_fname).parent_path() / "libm.so.6";
  Error error = load_error(path);
  CHECK(error.code == Code::invalid_argument);
  CHECK(contains(error.text, "is a library, but no PJRT plugin: it has no GetPjrtApi"));
}

TEST_CASE("a plugin with another major version is refused") {
  FakePlugin fake(TP_FAKE_PLUGIN_PATH);
  fake.set_api_version(1, 0);
  Error error = load_error(TP_FAKE_PLUGIN_PATH);
  CHECK(error.code == Code::failed_precondition);
  CHECK(contains(error.text, "has PJRT API 1.0, but torch-pjrt speaks 0.x"));
}

TEST_CASE("a plugin with a too old minor version is refused") {
  FakePlugin fake(TP_FAKE_PLUGIN_PATH);
  fake.set_api_version(0, 56);
  Error error = load_error(TP_FAKE_PLUGIN_PATH);
  CHECK(error.code == Code::failed_precondition);
  CHECK(contains(error.text, "is too old: it has PJRT API 0.56, at least 0.57 is needed"));
  fake.set_api_version(0, 57);
  CHECK(must(Plugin::load(TP_FAKE_PLUGIN_PATH))->api_version() == std::pair(0, 57));
}

TEST_CASE("a plugin that fails to initialize keeps its code and text") {
  FakePlugin fake(TP_FAKE_PLUGIN_PATH);
  fake.fail("PJRT_Plugin_Initialize", 1, 9, "no driver");
  Error error = load_error(TP_FAKE_PLUGIN_PATH);
  CHECK(error.code == Code::failed_precondition);
  CHECK(error.text == std::string("plugin ") + TP_FAKE_PLUGIN_PATH + " could not be initialized: no driver");
  CHECK(fake.live("error") == 0);
}

TEST_CASE("a plugin without Initialize or Attributes works") {
  FakePlugin fake(TP_FAKE_PLUGIN_PATH);
  fake.hide("PJRT_Plugin_Initialize");
  fake.hide("PJRT_Plugin_Attributes");
  auto plugin = must(Plugin::load(TP_FAKE_PLUGIN_PATH));
  CHECK(plugin->attributes().empty());
  CHECK(!plugin->stablehlo_version());
}

TEST_CASE("a plugin whose errors cannot be read is refused") {
  FakePlugin fake(TP_FAKE_PLUGIN_PATH);
  fake.hide("PJRT_Error_Message");
  CHECK(load_error(TP_FAKE_PLUGIN_PATH).code == Code::unimplemented);
  fake.reset();
  fake.shorten("PJRT_Error_Destroy");
  CHECK(load_error(TP_FAKE_PLUGIN_PATH).code == Code::unimplemented);
}

TEST_CASE("versions and attributes are read") {
  FakePlugin fake(TP_FAKE_PLUGIN_PATH);
  const int64_t current[] = {1, 20, 3}, minimum[] = {0, 10, 0};
  fake.set_stablehlo_version(current, minimum);
  auto plugin = must(Plugin::load(TP_FAKE_PLUGIN_PATH));
  CHECK(plugin->name() == std::filesystem::path(TP_FAKE_PLUGIN_PATH).stem().string());
  CHECK(plugin->attributes().size() == 2);
  auto versions = plugin->stablehlo_version();
  REQUIRE(versions);
  CHECK(versions->current == Version{1, 20, 3});
  CHECK(versions->minimum == Version{0, 10, 0});
  fake.set_stablehlo_version(nullptr, nullptr);
  CHECK(!must(Plugin::load(TP_FAKE_PLUGIN_PATH))->stablehlo_version());
}

TEST_CASE("extensions are found by walking the list") {
  FakePlugin fake(TP_FAKE_PLUGIN_PATH);
  auto plugin = must(Plugin::load(TP_FAKE_PLUGIN_PATH));
  CHECK(plugin->find_extension(10) != nullptr);  // PJRT_Extension_Type_Example, second in the list
  CHECK(plugin->find_extension(5) == nullptr);
  CHECK(plugin->find_extension(999) == nullptr);
}

TEST_CASE("the file's digest follows its bytes, not its name") {
  FakePlugin fake(TP_FAKE_PLUGIN_PATH);
  std::string copy = std::filesystem::temp_directory_path() / (std::to_string(getpid()) + "copy.so");
  std::filesystem::copy_file(TP_FAKE_PLUGIN_PATH, copy, std::filesystem::copy_options::overwrite_existing);
  Digest original = must(must(Plugin::load(TP_FAKE_PLUGIN_PATH))->file_digest());
  auto copied = must(Plugin::load(copy));
  CHECK(must(copied->file_digest()) == original);
  // Kept after the first reading.
  std::filesystem::remove(copy);
  CHECK(must(copied->file_digest()) == original);

  std::filesystem::copy_file(TP_FAKE_PLUGIN_PATH, copy, std::filesystem::copy_options::overwrite_existing);
  std::FILE* file = std::fopen(copy.c_str(), "ab");
  std::fputc('x', file);
  std::fclose(file);
  CHECK(must(must(Plugin::load(copy))->file_digest()) != original);
  std::filesystem::remove(copy);
}

}  // namespace
}  // namespace tp
