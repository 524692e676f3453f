#pragma once
// CompileOptionsProto, written as wire bytes by hand: the few fields we set do not justify protobuf.

#include <cstdint>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace tp {

struct CompileOptions {
  // A debug option of XLA by name; an unknown one makes compile() fail with invalid_argument.
  using Override = std::variant<std::string, bool, int64_t, double>;

  int replicas = 1;
  int partitions = 1;
  // Device ids, [replica][partition]; empty leaves the choice to the plugin (device 0 and up).
  std::vector<int> device_assignment = {};
  // Both stay on for plain and for sdy text. Text with mhlo.sharding needs Shardy off on libtpu 0.0.52, which else
  // ends the process; the CPU plugins then warn and take GSPMD by themselves.
  bool use_spmd = true;
  bool use_shardy = true;
  // Runs on the device that execute() names; for one-device programs only.
  bool portable = false;
  std::vector<std::pair<std::string, Override>> overrides = {};

  // A program for one device. Without excess precision a bf16 value is rounded where the program says so, and
  // a look at an intermediate value changes no bit of the result.
  static CompileOptions single_device(int device_id, bool allow_excess_precision);

  std::string serialize() const;
};

}  // namespace tp
