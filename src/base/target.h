#pragma once
// What a program is compiled for. Only rewrite/ reads it.

#include <string>

namespace tp {

struct Target {
  std::string platform;          // "cpu", "tpu", "cuda"
  std::string platform_version;  // the plugin's own words
  int api_minor = 0;             // of the plugin's PJRT API; tells one CPU plugin from another
};

}  // namespace tp
