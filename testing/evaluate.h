#pragma once
// Numbers of small graphs, by the CPU plugin. For tests of folders that may use pjrt: the graph has no leaves
// (`list` makes inputs from constants) and no composites.

#include <string>
#include <unordered_set>
#include <vector>

#include "ops/op.h"
#include "pjrt/client.h"
#include "pjrt/compile_options.h"
#include "stablehlo/print.h"

namespace tp::testing {

using Numbers = std::vector<double>;

// A 1-d value.
inline Value list(Build& b, Dtype dtype, const Numbers& numbers) {
  if (numbers.empty()) return b.constant(dtype, 0.0, {0});
  Values parts;
  for (double n : numbers) parts.push_back(b.constant(dtype, n, {1}));
  return b.concatenate(parts, 0);
}
inline Value list(Build& b, Dtype dtype, const Numbers& numbers, const Dims& dims) {
  return b.reshape(list(b, dtype, numbers), dims);
}

inline Client& cpu() {
  static std::unique_ptr<Client> client = [] {
    auto plugin = Plugin::load(TP_CPU_PLUGIN_PATH);
    TP_CHECK(plugin.ok());
    auto made = Client::create(std::move(*plugin));
    TP_CHECK(made.ok());
    return std::move(*made);
  }();
  return *client;
}

// Runs a program without parameters whose results are all f64.
inline std::vector<Numbers> run_text(const std::string& text, const std::vector<Dims>& sizes) {
  CompileOptions options = CompileOptions::single_device(cpu().addressable_devices()[0].id(), false);
  auto program = cpu().compile(text, options.serialize());
  if (!program.ok()) std::fprintf(stderr, "%s\n%s\n", program.error().text.c_str(), text.c_str());
  TP_CHECK(program.ok());
  auto buffers = program->execute({});
  TP_CHECK(buffers.ok());
  std::vector<Numbers> out;
  for (size_t i = 0; i < sizes.size(); ++i) {
    Numbers numbers(static_cast<size_t>(numel(sizes[i])));
    TP_CHECK((*buffers)[i].copy_to_host_sync(numbers.data(), numbers.size() * sizeof(double)).ok());
    out.push_back(std::move(numbers));
  }
  return out;
}

inline std::vector<Numbers> evaluate(const Values& values) {
  Build b;
  Values wide;
  std::vector<Dims> sizes;
  for (const Value& value : values) {
    TP_CHECK(value);
    sizes.push_back(value.dims());
    wide.push_back(b.convert(value, Dtype::f64));
  }
  Module module;
  std::unordered_set<const Node*> seen;
  auto visit = [&](auto&& self, const Node* node) -> void {
    if (!seen.insert(node).second) return;
    for (const Value& input : node->inputs) self(self, input.get());
    module.order.push_back(node);
  };
  for (const Value& value : wide) {
    visit(visit, value.get());
    module.results.push_back(value.get());
  }
  return run_text(print_module(module), sizes);
}
inline Numbers evaluate(const Value& value) { return evaluate(Values{value})[0]; }

// The results of an op of the table.
inline Values lower(Build& b, const char* name, const std::vector<Arg>& args) {
  const OpEntry* entry = find_op(name);
  TP_CHECK(entry && entry->args.size() == args.size());
  return entry->lower(b, args.data());
}
inline Value lower1(Build& b, const char* name, const std::vector<Arg>& args) { return lower(b, name, args)[0]; }

// Whether any of the build's device-side checks fires.
inline bool checks_fire(Build& b) {
  Values flags;
  for (const Build::Check& check : b.take_checks()) flags.push_back(check.flag);
  if (flags.empty()) return false;
  for (const Numbers& flag : evaluate(flags)) {
    if (flag[0] != 0) return true;
  }
  return false;
}

}  // namespace tp::testing
