#include "stablehlo/dump.h"

#include <cmath>
#include <unordered_map>

#include "base/loc.h"
#include "stablehlo/attributes.h"

namespace tp {
namespace {

const char* combine_name(uint8_t kind) {
  static constexpr const char* kNames[] = {"add", "multiply", "maximum", "minimum", "and", "or", "replace"};
  return kNames[kind];
}

const char* direction_name(uint8_t kind) {
  static constexpr const char* kNames[] = {"eq", "ne", "lt", "le", "gt", "ge"};
  return kNames[kind];
}

std::string real_text(double v) {
  if (std::isnan(v)) return "nan";
  if (std::isinf(v)) return v < 0 ? "-inf" : "inf";
  char text[32];
  std::snprintf(text, sizeof(text), "%.9g", v);
  return text;
}

std::string number_text(const Node& n) {
  const Scalar& s = n.number;
  if (n.type.dtype == Dtype::pred) return s.truth() ? "true" : "false";
  if (is_complex(n.type.dtype)) return "(" + real_text(s.real()) + ", " + real_text(s.imag()) + ")";
  bool whole = s.is_integer() || s.is_boolean();
  return whole ? std::to_string(s.integer()) : real_text(s.real());
}

std::string listed(const char* name, const Dims& dims) {
  return std::string(", ") + name + " [" + dims_text(dims) + "]";
}

// A third of `ints`: slice and pad keep three lists of equal length.
Dims third(const Node& n, size_t which) {
  size_t rank = n.ints.size() / 3;
  return Dims(n.ints.data() + which * rank, rank);
}

std::string dot_text(const Node& n) {
  DotDims d = dot_dims(n);
  std::string text = listed("contract", d.contract_a) + " x [" + dims_text(d.contract_b) + "]";
  if (!d.batch_a.empty()) text += listed("batch", d.batch_a) + " x [" + dims_text(d.batch_b) + "]";
  return text;
}

std::string window_text(const Node& n) {
  WindowDims w = window_dims(n);
  return listed("window", w.sizes) + listed("strides", w.strides) + listed("low", w.pad_low) +
         listed("high", w.pad_high);
}

std::string convolution_text(const Node& n) {
  ConvolutionDims d = convolution_dims(n);
  return listed("strides", d.strides) + listed("low", d.pad_low) + listed("high", d.pad_high) + ", groups " +
         std::to_string(d.groups);
}

// What tells two nodes with the same operands and type apart.
std::string attributes(const Node& n) {
  switch (n.op) {
    case Op::project: return ", result " + std::to_string(n.ints[0]);
    case Op::compare: return std::string(", ") + direction_name(n.kind);
    case Op::reduce: return std::string(", ") + combine_name(n.kind) + listed("dims", n.ints);
    case Op::reduce_window: return std::string(", ") + combine_name(n.kind) + window_text(n);
    case Op::select_and_scatter: return window_text(n);
    case Op::iota:
    case Op::concatenate: return ", dim " + std::to_string(n.ints[0]);
    case Op::sort: return ", dim " + std::to_string(n.ints[0]) + (n.kind ? ", descending" : "");
    case Op::transpose:
    case Op::broadcast_in_dim:
    case Op::reverse: return listed("dims", n.ints);
    case Op::slice: return listed("start", third(n, 0)) + listed("limit", third(n, 1)) + listed("stride", third(n, 2));
    case Op::pad: return listed("low", third(n, 0)) + listed("high", third(n, 1)) + listed("interior", third(n, 2));
    case Op::dynamic_update_slice: return n.kind ? listed("start", n.ints) : "";
    case Op::dot_general: return dot_text(n);
    case Op::convolution: return convolution_text(n);
    case Op::gather: return listed("map", gather_dims(n).start_index_map) + listed("sizes", gather_slice_sizes(n));
    case Op::scatter:
      return std::string(", ") + combine_name(n.kind) + listed("map", scatter_dims(n).scatter_dims_to_operand_dims);
    case Op::fft: return ", kind " + std::to_string(n.kind) + listed("lengths", n.ints);
    case Op::cholesky:
    case Op::triangular_solve: return ", kind " + std::to_string(n.kind);
    case Op::composite: return n.ints.empty() ? "" : listed("ints", n.ints);
    default: return "";
  }
}

std::string origin(const Node& node) {
  std::string place = loc_text(node.loc);
  return std::string("  # ") + node.aten + (place.empty() ? "" : " ") + place;
}

class Dumper {
 public:
  explicit Dumper(bool origins) : origins_(origins) {}
  void number(const Node* node) { names_.emplace(node, "%" + std::to_string(names_.size())); }

  void visit(const Node* node) {
    if (node->op == Op::constant || names_.contains(node)) return;
    size_t used = operands(*node);
    for (size_t i = 0; i < used; ++i) visit(node->inputs[i].get());
    number(node);
    if (node->op == Op::leaf) return;
    out_ += name(node) + " = " + title(*node);
    for (size_t i = 0; i < used; ++i) out_ += (i ? ", " : " ") + name(node->inputs[i].get());
    std::string more = attributes(*node);
    if (used == 0 && !more.empty()) more = more.substr(1);  // no comma after the name
    out_ += more + " : " + type_text(node->type);
    for (const Type& type : node->more_types) out_ += ", " + type_text(type);
    if (origins_ && *node->aten) out_ += origin(*node);
    out_ += "\n";
  }

  std::string take() { return std::move(out_); }

 private:
  // The identity follows from the Combine.
  static size_t operands(const Node& node) {
    bool identity = node.op == Op::reduce || node.op == Op::reduce_window || node.op == Op::select_and_scatter;
    return node.inputs.size() - identity;
  }
  static std::string title(const Node& node) {
    if (node.op != Op::composite && node.op != Op::custom_call) return op_name(node.op);
    return std::string(op_name(node.op)) + " " + node.text.substr(0, node.text.find('\n'));
  }
  std::string name(const Node* node) const { return node->op == Op::constant ? number_text(*node) : names_.at(node); }

  std::unordered_map<const Node*, std::string> names_;
  std::string out_;
  bool origins_;
};

}  // namespace

std::string dump(const Values& results, const Values& arguments, bool origins) {
  Dumper dumper(origins);
  for (const Value& v : arguments) {
    if (v && v->op == Op::leaf) dumper.number(v.get());
  }
  for (const Value& v : results) {
    if (v) dumper.visit(v.get());
  }
  return dumper.take();
}

}  // namespace tp
