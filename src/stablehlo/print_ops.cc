// The text of each operation.

#include "stablehlo/attributes.h"
#include "stablehlo/printer.h"

namespace tp {

std::string_view compare_type(Dtype dtype) {
  if (is_floating(dtype) || is_complex(dtype)) return "FLOAT";
  return dtype == Dtype::pred || is_unsigned(dtype) ? "UNSIGNED" : "SIGNED";
}

namespace {

constexpr std::string_view kDirections[] = {"EQ", "NE", "LT", "LE", "GT", "GE"};

std::string_view combine_op(uint8_t kind) {
  constexpr std::string_view kOps[] = {"stablehlo.add",     "stablehlo.multiply", "stablehlo.maximum",
                                       "stablehlo.minimum", "stablehlo.and",      "stablehlo.or"};
  return kOps[kind];
}

std::string_view boolean(bool v) { return v ? "true" : "false"; }

}  // namespace

Printer& Printer::begin(const Node& n) {
  put("    ").name(define(&n));
  if (!n.more_types.empty()) put(":").put(static_cast<int64_t>(n.more_types.size() + 1));
  return put(" = ");
}

void Printer::operands(const Node& n) {
  for (size_t i = 0; i < n.inputs.size(); ++i) {
    if (i) put(", ");
    name(n.inputs[i].get());
  }
}

void Printer::result_types(const Node& n) {
  if (n.more_types.empty()) {
    type(n.type);
    return;
  }
  put("(").type(n.type);
  for (const Type& t : n.more_types) put(", ").type(t);
  put(")");
}

void Printer::signature(const Node& n) {
  put(" : (");
  for (size_t i = 0; i < n.inputs.size(); ++i) {
    if (i) put(", ");
    type(n.inputs[i].type());
  }
  put(") -> ");
  result_types(n);
  put("\n");
}

Printer& Printer::key_list(std::string_view key, const Dims& dims) { return put(key).put(" = [").list(dims).put("]"); }

Printer& Printer::key_array(std::string_view key, const Dims& dims) {
  put(key).put(dims.empty() ? " = array<i64" : " = array<i64: ");
  return list(dims).put(">");
}

void Printer::node(const Node& n) {
  switch (n.op) {
    case Op::project: {
      NameTable::Name of = names_.get(n.inputs[0].get());
      names_.put(&n, of.number, static_cast<int32_t>(n.ints[0]));
      return;
    }
    case Op::constant:
      begin(n).put("stablehlo.constant dense<").literal(n.type.dtype, n.number).put("> : ").type(n.type).put("\n");
      return;
    case Op::iota: begin(n).put("stablehlo.iota dim = ").put(n.ints[0]).put(" : ").type(n.type).put("\n"); return;
    case Op::compare: return compare(n);
    case Op::maximum:
    case Op::minimum: return compares(n.type.dtype) ? extreme(n) : plain(n);
    case Op::broadcast_in_dim:
    case Op::transpose:
    case Op::reverse:
    case Op::concatenate:
    case Op::dynamic_slice: return reshaping(n);
    case Op::slice: return slice(n);
    case Op::dynamic_update_slice: return update_slice(n);
    case Op::pad: return pad(n);
    case Op::dot_general: return product(n);
    case Op::convolution: return convolution(n);
    case Op::custom_call: return custom_call(n);
    case Op::gather: return gather(n);
    case Op::scatter: return scatter(n);
    case Op::reduce: return reduce(n);
    case Op::reduce_window: return reduce_window(n);
    case Op::select_and_scatter: return select_and_scatter(n);
    case Op::sort: return sort(n);
    case Op::cholesky:
    case Op::triangular_solve:
    case Op::fft: return solve(n);
    case Op::leaf:
    case Op::composite: TP_CHECK(false && "not an operation of StableHLO"); return;
    default: return op_is_chlo(n.op) ? chlo(n) : plain(n);
  }
}

// Operands, then types: one when all agree, else the whole signature.
void Printer::plain(const Node& n) {
  begin(n).put("stablehlo.").put(op_name(n.op)).put(" ");
  operands(n);
  bool same = n.op != Op::select && (n.op != Op::optimization_barrier || n.more_types.empty());
  for (const Value& input : n.inputs) same = same && input.type() == n.type;
  if (!same && n.op != Op::optimization_barrier && n.op != Op::complex) return signature(n);
  put(" : ").type(n.type);
  if (n.op == Op::optimization_barrier) {
    for (const Type& t : n.more_types) put(", ").type(t);
  }
  put("\n");
}

void Printer::chlo(const Node& n) {
  begin(n).put("chlo.").put(op_name(n.op)).put(" ");
  operands(n);
  for (size_t i = 0; i < n.inputs.size(); ++i) put(i ? ", " : " : ").type(n.inputs[i].type());
  put(" -> ").type(n.type).put("\n");
}

void Printer::compare(const Node& n) {
  begin(n).put("stablehlo.compare ").put(kDirections[n.kind]).put(", ");
  operands(n);
  put(", ").put(compare_type(n.inputs[0].dtype()));
  signature(n);
}

// a where it is the larger (or smaller) one or NaN, else b, which may be NaN itself.
void Printer::extreme(const Node& n) {
  const Node *a = n.inputs[0].get(), *b = n.inputs[1].get();
  Type truth{Dtype::pred, n.type.dims};
  int32_t first = next_;
  auto line = [&](std::string_view direction, const Node* with) {
    put("    ").name(define(nullptr)).put(" = stablehlo.compare ").put(direction).put(", ").name(a).put(", ");
    name(with).put(", FLOAT : (").type(n.type).put(", ").type(n.type).put(") -> ").type(truth).put("\n");
  };
  line(n.op == Op::maximum ? "GE" : "LE", b);
  line("NE", a);
  put("    ").name(define(nullptr)).put(" = stablehlo.or ").name(first).put(", ").name(first + 1).put(" : ");
  type(truth).put("\n");
  begin(n).put("stablehlo.select ").name(first + 2).put(", ").name(a).put(", ").name(b).put(" : ").type(truth);
  put(", ").type(n.type).put("\n");
}

// One list of numbers after the operands.
void Printer::reshaping(const Node& n) {
  begin(n).put("stablehlo.").put(op_name(n.op)).put(" ");
  operands(n);
  if (n.op == Op::concatenate) {
    put(", dim = ").put(n.ints[0]);
  } else if (n.op == Op::dynamic_slice) {
    put(", ").key_list("sizes", n.type.dims);
  } else {
    put(", ").key_list("dims", n.ints);
  }
  if (n.op != Op::reverse) return signature(n);
  put(" : ").type(n.type).put("\n");
}

void Printer::slice(const Node& n) {
  begin(n).put("stablehlo.slice ").name(n.inputs[0].get()).put(" [");
  size_t rank = n.type.dims.size();
  for (size_t i = 0; i < rank; ++i) {
    if (i) put(", ");
    put(n.ints[i]).put(":").put(n.ints[rank + i]);
    if (n.ints[2 * rank + i] != 1) put(":").put(n.ints[2 * rank + i]);
  }
  put("]");
  signature(n);
}

void Printer::update_slice(const Node& n) {
  if (n.kind == 0) return plain(n);
  Type start{Dtype::s32, {}};
  for (int64_t v : n.ints) {
    if (v > INT32_MAX) start.dtype = Dtype::s64;
  }
  int32_t first = next_;
  for (int64_t v : n.ints) {
    put("    ").name(define(nullptr)).put(" = stablehlo.constant dense<").put(v).put("> : ").type(start).put("\n");
  }
  begin(n).put("stablehlo.dynamic_update_slice ");
  operands(n);
  int32_t count = static_cast<int32_t>(n.ints.size());
  for (int32_t i = 0; i < count; ++i) put(", ").name(first + i);
  put(" : (").type(n.inputs[0].type()).put(", ").type(n.inputs[1].type());
  for (int32_t i = 0; i < count; ++i) put(", ").type(start);
  put(") -> ").type(n.type).put("\n");
}

void Printer::pad(const Node& n) {
  begin(n).put("stablehlo.pad ");
  operands(n);
  const int64_t* ints = n.ints.data();
  size_t rank = n.type.dims.size();
  put(", low = [").list(ints, rank).put("], high = [").list(ints + rank, rank);
  put("], interior = [").list(ints + 2 * rank, rank).put("]");
  signature(n);
}

void Printer::product(const Node& n) {
  DotDims d = dot_dims(n);
  begin(n).put("stablehlo.dot_general ");
  operands(n);
  if (!d.batch_a.empty()) put(", batching_dims = [").list(d.batch_a).put("] x [").list(d.batch_b).put("]");
  put(", contracting_dims = [").list(d.contract_a).put("] x [").list(d.contract_b).put("]");
  if (n.kind & 1) put(", precision = [HIGHEST, HIGHEST]");
  signature(n);
}

// `letters` are those of the first two positions; the rest are numbered.
void Printer::convolution_layout(const Dims& layout, std::string_view letters) {
  put("[");
  for (int64_t at = 0; at < layout.rank(); ++at) {
    if (at) put(", ");
    int64_t role = std::find(layout.begin(), layout.end(), at) - layout.begin();
    if (role < 2) {
      put(letters.substr(static_cast<size_t>(role), 1));
    } else {
      put(role - 2);
    }
  }
  put("]");
}

void Printer::convolution(const Node& n) {
  ConvolutionDims d = convolution_dims(n);
  begin(n).put("stablehlo.convolution(");
  operands(n);
  put(") dim_numbers = ");
  convolution_layout(d.input_layout, "bf");
  put("x");
  convolution_layout(d.kernel_layout, "oi");
  put("->");
  convolution_layout(d.output_layout, "bf");
  put(", window = {").key_list("stride", d.strides).put(", pad = [");
  for (size_t i = 0; i < d.strides.size(); ++i) {
    put(i ? ", [" : "[").put(d.pad_low[i]).put(", ").put(d.pad_high[i]).put("]");
  }
  put("], ").key_list("lhs_dilate", d.lhs_dilation).put(", ").key_list("rhs_dilate", d.rhs_dilation);
  put(", reverse = [");
  for (size_t i = 0; i < d.strides.size(); ++i) put(i ? ", " : "").put(boolean(d.reverse_window));
  put("]} {batch_group_count = ").put(d.batch_groups).put(" : i64, feature_group_count = ").put(d.groups).put(" : i64");
  if (n.kind & 1) put(", precision_config = [#stablehlo<precision HIGHEST>, #stablehlo<precision HIGHEST>]");
  put("}");
  signature(n);
}

// The text is the target, a newline, and the dictionary of the kernel's attributes.
void Printer::custom_call(const Node& n) {
  std::string_view text = n.text;
  size_t end = std::min(text.find('\n'), text.size());
  std::string_view config = end < text.size() ? text.substr(end + 1) : std::string_view();
  begin(n).put("stablehlo.custom_call @").put(text.substr(0, end)).put("(");
  operands(n);
  put(") {api_version = 4 : i32, backend_config = ").put(config.empty() ? "{}" : config).put("}");
  signature(n);
}

void Printer::gather(const Node& n) {
  GatherDims d = gather_dims(n);
  begin(n).put("\"stablehlo.gather\"(");
  operands(n);
  put(") <{dimension_numbers = #stablehlo.gather<").key_list("offset_dims", d.offset_dims).put(", ");
  key_list("collapsed_slice_dims", d.collapsed_slice_dims).put(", ");
  if (!d.operand_batching_dims.empty()) {
    key_list("operand_batching_dims", d.operand_batching_dims).put(", ");
    key_list("start_indices_batching_dims", d.start_indices_batching_dims).put(", ");
  }
  key_list("start_index_map", d.start_index_map).put(", index_vector_dim = ").put(d.index_vector_dim);
  put(">, indices_are_sorted = ").put(boolean(d.indices_are_sorted)).put(", ");
  key_array("slice_sizes", gather_slice_sizes(n)).put("}>");
  signature(n);
}

// A block of one combination: (old, new) -> result. Block names are local to their region.
void Printer::combine_block(uint8_t kind, Dtype dtype) {
  Type scalar{dtype, {}};
  put("    ^bb0(%a: ").type(scalar).put(", %b: ").type(scalar).put("):\n");
  if (kind == static_cast<uint8_t>(Combine::replace)) {
    put("      stablehlo.return %b : ").type(scalar).put("\n");
    return;
  }
  bool maximum = kind == static_cast<uint8_t>(Combine::maximum);
  if (compares(dtype) && (maximum || kind == static_cast<uint8_t>(Combine::minimum))) {
    auto line = [&](std::string_view name, std::string_view direction, std::string_view with) {
      put("      ").put(name).put(" = stablehlo.compare ").put(direction).put(", %a, ").put(with).put(", FLOAT : (");
      type(scalar).put(", ").type(scalar).put(") -> tensor<i1>\n");
    };
    line("%first", maximum ? "GE" : "LE", "%b");
    line("%nan", "NE", "%a");
    put("      %chosen = stablehlo.or %first, %nan : tensor<i1>\n");
    put("      %r = stablehlo.select %chosen, %a, %b : tensor<i1>, ").type(scalar);
  } else {
    put("      %r = ").put(combine_op(kind)).put(" %a, %b : ").type(scalar);
  }
  put("\n      stablehlo.return %r : ").type(scalar).put("\n");
}

void Printer::scatter(const Node& n) {
  ScatterDims d = scatter_dims(n);
  begin(n).put("\"stablehlo.scatter\"(");
  operands(n);
  put(") <{indices_are_sorted = ").put(boolean(d.indices_are_sorted));
  put(", scatter_dimension_numbers = #stablehlo.scatter<").key_list("update_window_dims", d.update_window_dims);
  put(", ").key_list("inserted_window_dims", d.inserted_window_dims).put(", ");
  if (!d.input_batching_dims.empty()) {
    key_list("input_batching_dims", d.input_batching_dims).put(", ");
    key_list("scatter_indices_batching_dims", d.scatter_indices_batching_dims).put(", ");
  }
  key_list("scatter_dims_to_operand_dims", d.scatter_dims_to_operand_dims).put(", index_vector_dim = ");
  put(d.index_vector_dim).put(">, unique_indices = ").put(boolean(d.unique_indices)).put("}> ({\n");
  combine_block(n.kind, n.type.dtype);
  put("    })");
  signature(n);
}

void Printer::reduce(const Node& n) {
  Combine kind = static_cast<Combine>(n.kind);
  if (compares(n.type.dtype) && (kind == Combine::maximum || kind == Combine::minimum)) {
    begin(n).put("\"stablehlo.reduce\"(").name(n.inputs[0].get()).put(", ").name(n.inputs[1].get()).put(") <{");
    key_array("dimensions", n.ints).put("}> ({\n");
    combine_block(n.kind, n.type.dtype);
    put("    })");
    return signature(n);
  }
  begin(n).put("stablehlo.reduce(").name(n.inputs[0].get()).put(" init: ").name(n.inputs[1].get());
  put(") applies ").put(combine_op(n.kind)).put(" across ").key_list("dimensions", n.ints);
  signature(n);
}

void Printer::window_attributes(const Node& n) {
  WindowDims d = window_dims(n);
  put("padding = dense<[");
  for (size_t i = 0; i < d.sizes.size(); ++i) {
    put(i ? ", [" : "[").put(d.pad_low[i]).put(", ").put(d.pad_high[i]).put("]");
  }
  put("]> : ").type(Dtype::s64, Dims{static_cast<int64_t>(d.sizes.size()), 2}).put(", ");
  if (n.op == Op::reduce_window) {
    key_array("base_dilations", d.base_dilations).put(", ");
    key_array("window_dilations", d.window_dilations).put(", ");
  }
  key_array("window_dimensions", d.sizes).put(", ");
  key_array("window_strides", d.strides);
}

void Printer::reduce_window(const Node& n) {
  begin(n).put("\"stablehlo.reduce_window\"(");
  operands(n);
  put(") <{");
  window_attributes(n);
  put("}> ({\n");
  combine_block(n.kind, n.type.dtype);
  put("    })");
  signature(n);
}

void Printer::select_and_scatter(const Node& n) {
  Type scalar{n.type.dtype, {}};
  begin(n).put("\"stablehlo.select_and_scatter\"(");
  operands(n);
  put(") <{");
  window_attributes(n);
  put("}> ({\n    ^bb0(%a: ").type(scalar).put(", %b: ").type(scalar).put("):\n");
  put("      %r = stablehlo.compare GE, %a, %b, ").put(compare_type(scalar.dtype));
  put(" : (").type(scalar).put(", ").type(scalar).put(") -> tensor<i1>\n");
  put("      stablehlo.return %r : tensor<i1>\n    }, {\n");
  combine_block(static_cast<uint8_t>(Combine::add), scalar.dtype);
  put("    })");
  signature(n);
}

// True when %a0 comes before %b0. NaN counts as largest and equals NaN, -0 equals 0: a strict weak order, so a
// stable sort gives PyTorch's order.
void Printer::sort_order(const Type& scalar, bool descending) {
  std::string_view first = descending ? "%b0" : "%a0", second = descending ? "%a0" : "%b0";
  auto line = [&](std::string_view name, std::string_view direction, std::string_view a, std::string_view b) {
    put("      ").put(name).put(" = stablehlo.compare ").put(direction).put(", ").put(a).put(", ").put(b).put(", ");
    put(compare_type(scalar.dtype)).put(" : (").type(scalar).put(", ").type(scalar).put(") -> tensor<i1>\n");
  };
  line("%less", "LT", first, second);
  if (!is_floating(scalar.dtype)) {
    put("      stablehlo.return %less : tensor<i1>\n");
    return;
  }
  line("%number", "EQ", first, first);
  line("%nan", "NE", second, second);
  put("      %last = stablehlo.and %number, %nan : tensor<i1>\n");
  put("      %before = stablehlo.or %less, %last : tensor<i1>\n");
  put("      stablehlo.return %before : tensor<i1>\n");
}

void Printer::sort(const Node& n) {
  begin(n).put("\"stablehlo.sort\"(");
  operands(n);
  put(") <{dimension = ").put(n.ints[0]).put(" : i64, is_stable = true}> ({\n    ^bb0(");
  for (size_t i = 0; i < n.inputs.size(); ++i) {
    Type scalar{n.inputs[i].dtype(), {}};
    int64_t k = static_cast<int64_t>(i);
    put(i ? ", %a" : "%a").put(k).put(": ").type(scalar).put(", %b").put(k).put(": ").type(scalar);
  }
  put("):\n");
  sort_order(Type{n.type.dtype, {}}, n.kind);
  put("    })");
  signature(n);
}

void Printer::solve(const Node& n) {
  if (n.op == Op::cholesky) {
    begin(n).put("stablehlo.cholesky ").name(n.inputs[0].get()).put(", lower = ").put(boolean(n.kind));
    put(" : ").type(n.type).put("\n");
    return;
  }
  if (n.op == Op::fft) {
    constexpr std::string_view kTypes[] = {"FFT", "IFFT", "RFFT", "IRFFT"};
    begin(n).put("stablehlo.fft ").name(n.inputs[0].get()).put(", type = ").put(kTypes[n.kind]).put(", ");
    key_list("length", n.ints);
    return signature(n);
  }
  begin(n).put("\"stablehlo.triangular_solve\"(");
  operands(n);
  put(") <{left_side = ").put(boolean(n.kind & 1)).put(", lower = ").put(boolean(n.kind & 2));
  put(", transpose_a = #stablehlo<transpose ");
  put(n.kind & 16 ? "ADJOINT" : n.kind & 8 ? "TRANSPOSE" : "NO_TRANSPOSE");
  put(">, unit_diagonal = ").put(boolean(n.kind & 4)).put("}>");
  signature(n);
}

}  // namespace tp
