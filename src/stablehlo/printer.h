#pragma once
// Inside of print_module: the text so far and the names of values. print.cc writes the module and the leaves,
// print_ops.cc the operations.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "stablehlo/node.h"

namespace tp {

// Node to name, open addressing: a program has thousands of nodes and each is asked for a few times.
class NameTable {
 public:
  struct Name {
    const Node* node = nullptr;
    int32_t number = 0;    // %number, or %argN as -1 - N
    int32_t project = -1;  // #project
  };
  explicit NameTable(size_t nodes);
  void put(const Node* node, int32_t number, int32_t project = -1);
  const Name& get(const Node* node) const;

 private:
  size_t slot(const Node* node) const;
  std::vector<Name> names_;
  size_t mask_;
};

class Printer {
 public:
  Printer(size_t nodes, bool native_extremes) : names_(nodes), native_extremes_(native_extremes) {
    out_.reserve(nodes * 96 + 1024);
  }

  // One line, or several with a region.
  void node(const Node& n);
  // Gives the next number to a node, or to a line that has none (nullptr).
  int32_t define(const Node* n);
  void argument(const Node* n, int32_t index) { names_.put(n, -1 - index); }

  Printer& put(std::string_view text) {
    out_.append(text);
    return *this;
  }
  Printer& put(int64_t number);
  Printer& name(const Node* n);
  Printer& name(int32_t number);
  Printer& type(const Type& t) { return type(t.dtype, t.dims); }
  Printer& type(Dtype dtype, const Dims& dims);
  // "1, 2".
  Printer& list(const int64_t* numbers, size_t count);
  Printer& list(const Dims& dims) { return list(dims.data(), dims.size()); }
  // The number of a constant, as inside dense<…>.
  Printer& literal(Dtype dtype, const Scalar& number);
  // "  %5 = " or "  %5:2 = ".
  Printer& begin(const Node& n);
  std::string take() { return std::move(out_); }

 private:
  void operands(const Node& n);
  void result_types(const Node& n);
  // " : (types of the operands) -> types of the results" and the end of the line.
  void signature(const Node& n);
  void plain(const Node& n);
  void chlo(const Node& n);
  void compare(const Node& n);
  void reshaping(const Node& n);
  void slice(const Node& n);
  void update_slice(const Node& n);
  void pad(const Node& n);
  void product(const Node& n);
  void convolution(const Node& n);
  void convolution_layout(const Dims& layout, std::string_view letters);
  void custom_call(const Node& n);
  void gather(const Node& n);
  void scatter(const Node& n);
  void reduce(const Node& n);
  void window_attributes(const Node& n);
  void reduce_window(const Node& n);
  void select_and_scatter(const Node& n);
  void sort(const Node& n);
  void sort_order(const Type& scalar, bool descending);
  void solve(const Node& n);
  // Whether maximum and minimum are written as comparisons.
  bool compares(Dtype dtype) const { return !native_extremes_ && is_floating(dtype); }
  void extreme(const Node& n);
  void combine_block(uint8_t kind, Dtype dtype);
  // "key = [1, 2], ", "key = array<i64: 1, 2>, ".
  Printer& key_list(std::string_view key, const Dims& dims);
  Printer& key_array(std::string_view key, const Dims& dims);

  std::string out_;
  NameTable names_;
  bool native_extremes_;
  int32_t next_ = 0;
};

// "FLOAT", "SIGNED", "UNSIGNED".
std::string_view compare_type(Dtype dtype);

}  // namespace tp
