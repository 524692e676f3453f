#include "pjrt/compile_options.h"

#include <doctest/doctest.h>

namespace tp {
namespace {

std::string hex(const std::string& bytes) {
  std::string text;
  for (unsigned char byte : bytes) {
    if (!text.empty()) text += ' ';
    text += "0123456789abcdef"[byte >> 4];
    text += "0123456789abcdef"[byte & 15];
  }
  return text;
}

TEST_CASE("the smallest options are replicas and partitions") {
  CompileOptions options;
  options.use_spmd = options.use_shardy = false;
  CHECK(hex(options.serialize()) == "1a 04 20 01 28 01");
}

TEST_CASE("spmd and shardy are on by default") {
  CHECK(hex(CompileOptions{}.serialize()) == "1a 09 20 01 28 01 30 01 98 01 01");
}

TEST_CASE("a device assignment lists the replicas of each partition") {
  CompileOptions options;
  options.use_spmd = options.use_shardy = false;
  options.replicas = 2;
  options.partitions = 2;
  options.device_assignment = {0, 1, 2, 300};
  // [replica][partition] is {{0, 1}, {2, 300}}, so partition 0 has devices 0 and 2.
  CHECK(hex(options.serialize()) == "1a 17 20 02 28 02 4a 11 08 02 10 02 1a 04 0a 02 00 02 1a 05 0a 03 01 ac 02");
}

TEST_CASE("overrides of every type are map entries") {
  CompileOptions options;
  options.use_spmd = options.use_shardy = false;
  options.overrides = {{"a", std::string("xy")}, {"b", true}, {"c", int64_t{-1}}, {"d", 0.5}};
  CHECK(hex(options.serialize()) ==
        "1a 04 20 01 28 01 "
        "3a 09 0a 01 61 12 04 0a 02 78 79 "
        "3a 07 0a 01 62 12 02 10 01 "
        "3a 10 0a 01 63 12 0b 18 ff ff ff ff ff ff ff ff ff 01 "
        "3a 0e 0a 01 64 12 09 21 00 00 00 00 00 00 e0 3f");
}

TEST_CASE("a portable program says so") {
  CompileOptions options;
  options.use_spmd = options.use_shardy = false;
  options.portable = true;
  CHECK(hex(options.serialize()) == "1a 04 20 01 28 01 20 01");
}

TEST_CASE("excess precision is refused for one device when asked") {
  std::string exact = CompileOptions::single_device(0, false).serialize();
  std::string loose = CompileOptions::single_device(0, true).serialize();
  CHECK(exact.find("xla_allow_excess_precision") != std::string::npos);
  CHECK(exact.substr(exact.size() - 4) == std::string("\x12\x02\x10\x00", 4));
  CHECK(loose.find("xla_allow_excess_precision") == std::string::npos);
}

}  // namespace
}  // namespace tp
