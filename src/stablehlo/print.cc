#include "stablehlo/print.h"

#include <charconv>

#include "stablehlo/literal.h"
#include "stablehlo/printer.h"

namespace tp {

NameTable::NameTable(size_t nodes) {
  size_t size = 16;
  while (size < nodes * 2) size *= 2;
  names_.resize(size);
  mask_ = size - 1;
}

size_t NameTable::slot(const Node* node) const {
  size_t at = (reinterpret_cast<uintptr_t>(node) * 0x9e3779b97f4a7c15ull >> 20) & mask_;
  while (names_[at].node && names_[at].node != node) at = (at + 1) & mask_;
  return at;
}

void NameTable::put(const Node* node, int32_t number, int32_t project) { names_[slot(node)] = {node, number, project}; }

const NameTable::Name& NameTable::get(const Node* node) const {
  const Name& name = names_[slot(node)];
  TP_CHECK(name.node == node && "an operand comes after its use, or not at all");
  return name;
}

int32_t Printer::define(const Node* n) {
  if (n) names_.put(n, next_);
  return next_++;
}

Printer& Printer::put(int64_t number) {
  char digits[24];
  out_.append(digits, static_cast<size_t>(std::to_chars(digits, digits + sizeof(digits), number).ptr - digits));
  return *this;
}

Printer& Printer::name(int32_t number) {
  if (number < 0) return put("%arg").put(int64_t{-1 - number});
  return put("%").put(int64_t{number});
}

Printer& Printer::name(const Node* n) {
  NameTable::Name found = names_.get(n);
  name(found.number);
  if (found.project >= 0) put("#").put(int64_t{found.project});
  return *this;
}

Printer& Printer::type(Dtype dtype, const Dims& dims) {
  put("tensor<");
  for (int64_t d : dims) put(d).put("x");
  return put(dtype_mlir(dtype)).put(">");
}

Printer& Printer::list(const int64_t* numbers, size_t count) {
  for (size_t i = 0; i < count; ++i) {
    if (i) put(", ");
    put(numbers[i]);
  }
  return *this;
}

namespace {

// MLIR reads a float's bits exactly, and only when all digits are there.
void put_hex(Printer& p, uint64_t bits, int bytes) {
  char text[18] = "0x";
  for (int i = 0; i < 2 * bytes; ++i) text[2 + i] = "0123456789ABCDEF"[bits >> (8 * bytes - 4 - 4 * i) & 15];
  p.put(std::string_view(text, static_cast<size_t>(2 + 2 * bytes)));
}

int64_t sign_extended(uint64_t bits, int width) { return static_cast<int64_t>(bits << (64 - width)) >> (64 - width); }

}  // namespace

Printer& Printer::literal(Dtype dtype, const Scalar& number) {
  int size = dtype_size(dtype);
  if (dtype == Dtype::pred) return put(number.truth() ? "true" : "false");
  if (is_complex(dtype)) {
    Dtype part = real_type(dtype);
    put("(");
    put_hex(*this, float_bits(part, number.real()), size / 2);
    put(", ");
    put_hex(*this, float_bits(part, number.imag()), size / 2);
    return put(")");
  }
  if (is_floating(dtype)) {
    put_hex(*this, float_bits(dtype, number.real()), size);
    return *this;
  }
  uint64_t bits = integer_bits(dtype, number);
  if (!is_unsigned(dtype)) return put(sign_extended(bits, 8 * size));
  char digits[24];
  return put(std::string_view(digits, static_cast<size_t>(std::to_chars(digits, digits + 24, bits).ptr - digits)));
}

namespace {

void print_parameter(Printer& p, const Parameter& parameter, size_t index) {
  if (index) p.put(", ");
  p.name(-1 - static_cast<int32_t>(index)).put(": ").type(parameter.type);
  std::string_view separator = " {";
  auto attribute = [&](std::string_view key) -> Printer& {
    p.put(separator).put(key);
    separator = ", ";
    return p;
  };
  if (parameter.alias_output >= 0) {
    attribute("tf.aliasing_output = ").put(int64_t{parameter.alias_output}).put(" : i32");
  } else if (parameter.donor) {
    attribute("jax.buffer_donor = true");
  }
  if (parameter.sharding.starts_with("#sdy.")) {
    attribute("sdy.sharding = ").put(parameter.sharding);
  } else if (!parameter.sharding.empty()) {
    attribute("mhlo.sharding = \"").put(parameter.sharding).put("\"");
  }
  if (separator == ", ") p.put("}");
}

// The parameter of a runtime scalar may stand for many equal numbers.
void print_leaf(Printer& p, const Node* n, const Parameter& parameter, int32_t index) {
  if (n->type.dims == parameter.type.dims) return p.argument(n, index);
  TP_CHECK(parameter.type.dims.empty());
  p.put("    ").name(p.define(n)).put(" = stablehlo.broadcast_in_dim ").name(-1 - index).put(", dims = [] : (");
  p.type(parameter.type).put(") -> ").type(n->type).put("\n");
}

void print_results(Printer& p, const Module& module) {
  p.put("    return");
  for (size_t i = 0; i < module.results.size(); ++i) p.put(i ? ", " : " ").name(module.results[i]);
  for (size_t i = 0; i < module.results.size(); ++i) p.put(i ? ", " : " : ").type(module.results[i]->type);
  p.put("\n  }\n}\n");
}

}  // namespace

std::string print_module(const Module& module) {
  Printer p(module.order.size() + module.parameters_of.size(), module.native_extremes);
  p.put("module @").put(module.name).put(" {\n  func.func public @main(");
  for (size_t i = 0; i < module.parameters.size(); ++i) print_parameter(p, module.parameters[i], i);
  p.put(") -> (");
  for (size_t i = 0; i < module.results.size(); ++i) p.put(i ? ", " : "").type(module.results[i]->type);
  p.put(") {\n");
  for (const auto& [n, index] : module.parameters_of) {
    print_leaf(p, n, module.parameters[static_cast<size_t>(index)], index);
  }
  for (const Node* n : module.order) p.node(*n);
  print_results(p, module);
  return p.take();
}

}  // namespace tp
