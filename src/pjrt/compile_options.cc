#include "pjrt/compile_options.h"

#include <cstring>

namespace tp {
namespace {

void put_varint(std::string& out, uint64_t value) {
  for (; value >= 0x80; value >>= 7) out += static_cast<char>(value | 0x80);
  out += static_cast<char>(value);
}

void put_int(std::string& out, int field, int64_t value) {
  put_varint(out, static_cast<uint64_t>(field) << 3);
  put_varint(out, static_cast<uint64_t>(value));
}

void put_double(std::string& out, int field, double value) {
  put_varint(out, static_cast<uint64_t>(field) << 3 | 1);
  char bytes[sizeof(value)];
  std::memcpy(bytes, &value, sizeof(value));
  out.append(bytes, sizeof(bytes));
}

void put_bytes(std::string& out, int field, const std::string& bytes) {
  put_varint(out, static_cast<uint64_t>(field) << 3 | 2);
  put_varint(out, bytes.size());
  out += bytes;
}

// DeviceAssignmentProto: one list of replicas a computation, which here is a partition.
std::string assignment_proto(const CompileOptions& options) {
  std::string out;
  put_int(out, 1, options.replicas);
  put_int(out, 2, options.partitions);
  for (int partition = 0; partition < options.partitions; ++partition) {
    std::string ids, packed;
    for (int replica = 0; replica < options.replicas; ++replica) {
      put_varint(packed, static_cast<uint64_t>(options.device_assignment[replica * options.partitions + partition]));
    }
    put_bytes(ids, 1, packed);
    put_bytes(out, 3, ids);
  }
  return out;
}

// ExecutableBuildOptionsProto.
std::string build_proto(const CompileOptions& options) {
  std::string out;
  put_int(out, 4, options.replicas);
  put_int(out, 5, options.partitions);
  if (options.use_spmd) put_int(out, 6, 1);
  bool assigned = options.device_assignment.size() == static_cast<size_t>(options.replicas) * options.partitions;
  if (assigned) put_bytes(out, 9, assignment_proto(options));
  if (options.use_shardy) put_int(out, 19, 1);
  return out;
}

// OptionOverrideProto: a oneof.
std::string override_proto(const CompileOptions::Override& value) {
  std::string out;
  if (auto* text = std::get_if<std::string>(&value)) {
    put_bytes(out, 1, *text);
  } else if (auto* flag = std::get_if<bool>(&value)) {
    put_int(out, 2, *flag);
  } else if (auto* number = std::get_if<int64_t>(&value)) {
    put_int(out, 3, *number);
  } else {
    put_double(out, 4, std::get<double>(value));
  }
  return out;
}

}  // namespace

CompileOptions CompileOptions::single_device(int device_id, bool allow_excess_precision) {
  CompileOptions options;
  options.device_assignment = {device_id};
  if (!allow_excess_precision) options.overrides.emplace_back("xla_allow_excess_precision", false);
  return options;
}

std::string CompileOptions::serialize() const {
  std::string out;
  put_bytes(out, 3, build_proto(*this));
  if (portable) put_int(out, 4, 1);
  for (const auto& [name, value] : overrides) {
    std::string entry;
    put_bytes(entry, 1, name);
    put_bytes(entry, 2, override_proto(value));
    put_bytes(out, 7, entry);
  }
  return out;
}

}  // namespace tp
