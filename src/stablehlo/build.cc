#include "stablehlo/build.h"

#include <cmath>
#include <limits>

// Errors, leaves, element-wise operations. Sizes: build_sizes.cc. Products, reductions, indexing: build_big.cc.

namespace tp {
namespace {

bool is_bool_or_integer(Dtype d) { return d == Dtype::pred || is_integral(d); }

// What a unary op accepts; PyTorch's lowering converts before it gets here, so a miss names the user's op.
bool unary_takes(Op op, Dtype d) {
  switch (op) {
    case Op::not_: return is_bool_or_integer(d);
    case Op::popcnt:
    case Op::count_leading_zeros: return is_integral(d);
    case Op::negate:
    case Op::sign: return d != Dtype::pred;
    case Op::ceil:
    case Op::floor:
    case Op::round_nearest_afz:
    case Op::round_nearest_even: return is_floating(d);
    default: return is_floating(d) || is_complex(d);
  }
}

}  // namespace

// --- errors

Value Build::fail(Code code, std::string text) {
  if (!error_) {
    error_ = make_error(code, std::move(text));
    error_->op = aten_;
    error_->loc = loc_;
  }
  return Value();
}

bool Build::require(bool condition, std::string_view text) { return require(condition, Code::invalid_argument, text); }

bool Build::require(bool condition, Code code, std::string_view text) {
  if (!condition) fail(code, std::string(text));
  return condition;
}

bool Build::require_floating(const Value& x) {
  if (!x) return false;
  if (is_floating(x.dtype()) || is_complex(x.dtype())) return true;
  fail(Code::unimplemented, std::string("not implemented for ") + dtype_name(x.dtype()));
  return false;
}

Value Build::decline(std::string_view reason) { return fail(Code::declined, std::string(reason)); }

int64_t Build::wrap_dim(int64_t dim, int64_t rank) {
  int64_t n = std::max<int64_t>(rank, 1);
  if (dim < -n || dim >= n) {
    fail(Code::index, "dimension out of range, expected to be in range of [" + std::to_string(-n) + ", " +
                          std::to_string(n - 1) + "], got " + std::to_string(dim));
    return 0;
  }
  return dim < 0 ? dim + n : dim;
}

Dims Build::wrap_dims(const Dims& dims, int64_t rank) {
  if (dims.empty()) return iota_dims(static_cast<size_t>(rank));
  Dims wrapped;
  for (int64_t d : dims) {
    int64_t w = wrap_dim(d, rank);
    if (!ok()) return {};
    if (wrapped.contains(w)) {
      fail(Code::invalid_argument, "dim " + std::to_string(w) + " appears multiple times in the list of dims");
      return {};
    }
    wrapped.push_back(w);
  }
  if (rank == 0) return {};
  std::sort(wrapped.begin(), wrapped.end());
  return wrapped;
}

bool Build::all_present(const Values& values) {
  for (const Value& v : values) {
    if (!v) {
      fail(Code::internal, "an operand is missing");
      return false;
    }
  }
  return ok();
}

namespace {

// Operations whose node may get further results, or that are leaves already.
bool stays_when_empty(Op op) {
  switch (op) {
    case Op::leaf:
    case Op::constant:
    case Op::project:
    case Op::sort:
    case Op::optimization_barrier:
    case Op::composite:
    case Op::custom_call: return true;
    default: return false;
  }
}

}  // namespace

Value Build::make(Op op, Type type, Inputs inputs, uint8_t kind, Dims ints) {
  if (!ok()) return Value();
  // Nothing is computed for no elements: a remainder of them ends the process in XLA's CPU compiler (API 0.115).
  if (numel(type.dims) == 0 && !stays_when_empty(op)) return make(Op::constant, std::move(type), {});
  Value value = new_node(op, std::move(type), std::move(inputs));
  value->kind = kind;
  value->ints = std::move(ints);
  value->device = static_cast<uint8_t>(device_);
  value->aten = aten_;
  value->loc = loc_;
  return value;
}

Values Build::projections(const Value& node) {
  Values results;
  if (!node) return results;
  for (size_t k = 0; k <= node->more_types.size(); ++k) {
    Type type = k == 0 ? node->type : node->more_types[k - 1];
    results.push_back(make(Op::project, std::move(type), Inputs(node), 0, Dims{static_cast<int64_t>(k)}));
  }
  return results;
}

// --- leaves

Value Build::constant(Dtype dtype, Scalar number, const Dims& dims) {
  if (number.is_complex() && number.imag() != 0 && !tp::is_complex(dtype)) {
    return fail(Code::invalid_argument, "value cannot be converted to type " + std::string(dtype_name(dtype)) +
                                            " without overflow: it is complex");
  }
  Value value = make(Op::constant, Type{dtype, dims}, {});
  if (value) value->number = number;
  return value;
}

Value Build::lowest(Dtype dtype, const Dims& dims) {
  if (dtype == Dtype::pred || is_unsigned(dtype)) return constant_int(dtype, 0, dims);
  if (is_integral(dtype)) return constant_int(dtype, INT64_MIN >> (64 - 8 * dtype_size(dtype)), dims);
  return constant(dtype, -std::numeric_limits<double>::infinity(), dims);
}

Value Build::highest(Dtype dtype, const Dims& dims) {
  if (dtype == Dtype::pred) return constant_int(dtype, 1, dims);
  if (is_unsigned(dtype)) {
    int bits = 8 * dtype_size(dtype);
    return constant_int(dtype, bits == 64 ? -1 : (int64_t{1} << bits) - 1, dims);  // -1 has u64's highest bits
  }
  if (is_integral(dtype)) return constant_int(dtype, INT64_MAX >> (64 - 8 * dtype_size(dtype)), dims);
  return constant(dtype, std::numeric_limits<double>::infinity(), dims);
}

Value Build::iota(Dtype dtype, const Dims& dims, int64_t dim) {
  if (dims.empty()) return constant_int(dtype, 0);
  return make(Op::iota, Type{dtype, dims}, {}, 0, Dims{dim});
}

Value Build::philox_number(uint64_t v) {
  Value value = constant_int(Dtype::u64, static_cast<int64_t>(v));
  if (value) value->runtime_number = true;
  return value;
}

Value Build::random_bits(const Dims& dims, Dtype dtype) {
  if (!random_) return fail(Code::internal, "a random op was called without a generator");
  uint64_t words = static_cast<uint64_t>(numel(dims)) * (dtype == Dtype::u64 ? 2 : 1);
  RandomSource::Position at = random_->reserve((words + 3) / 4);
  return composite1("philox_bits", {philox_number(at.seed), philox_number(at.offset)}, Type{dtype, dims});
}

// --- element-wise

Value Build::unary(Op op, const Value& x) {
  if (!ok() || !x) return Value();
  if (!unary_takes(op, x.dtype())) {
    return fail(Code::unimplemented, std::string("not implemented for ") + dtype_name(x.dtype()));
  }
  return make(op, x.type(), x);
}

Value Build::abs(const Value& x) {
  if (!ok() || !x) return Value();
  if (x.dtype() == Dtype::pred || is_unsigned(x.dtype())) return x;
  return make(Op::abs, Type{real_type(x.dtype()), x.dims()}, x);
}

Value Build::is_finite(const Value& x) {
  if (!ok() || !x) return Value();
  if (!is_floating(x.dtype())) return constant(Dtype::pred, Scalar::of(true), x.dims());
  return make(Op::is_finite, Type{Dtype::pred, x.dims()}, x);
}

Value Build::real(const Value& x) {
  if (!ok() || !x || !is_complex(x.dtype())) return x;
  return make(Op::real, Type{real_type(x.dtype()), x.dims()}, x);
}

Value Build::imag(const Value& x) {
  if (!ok() || !x) return Value();
  if (!is_complex(x.dtype())) return like(x, 0);
  return make(Op::imag, Type{real_type(x.dtype()), x.dims()}, x);
}

Value Build::complex(const Value& re, const Value& im) {
  if (!ok() || !re || !im) return Value();
  Dims dims = broadcast_dims(re.dims(), im.dims());
  return make(Op::complex, Type{complex_type(re.dtype()), dims},
              Inputs(broadcast_to(re, dims), broadcast_to(im, dims)));
}

Value Build::binary(Op op, const Value& a, const Value& b) {
  if (!ok() || !a || !b) return Value();
  if (a.dtype() != b.dtype()) {
    return fail(Code::invalid_argument, std::string("expected operands of one dtype, got ") + dtype_name(a.dtype()) +
                                            " and " + dtype_name(b.dtype()));
  }
  if (a.dims() == b.dims()) return make(op, a.type(), Inputs(a, b));
  Dims dims = broadcast_dims(a.dims(), b.dims());
  if (!ok()) return Value();
  return make(op, Type{a.dtype(), dims}, Inputs(broadcast_to(a, dims), broadcast_to(b, dims)));
}

Value Build::compare(Direction direction, const Value& a, const Value& b) {
  Value value = binary(Op::compare, a, b);
  if (!value) return value;
  value->type.dtype = Dtype::pred;
  value->kind = static_cast<uint8_t>(direction);
  return value;
}

Value Build::select(const Value& condition, const Value& on_true, const Value& on_false) {
  if (!ok() || !condition || !on_true || !on_false) return Value();
  if (condition.dtype() != Dtype::pred || on_true.dtype() != on_false.dtype()) {
    return fail(Code::invalid_argument, "expected a bool condition and two values of one dtype, got " +
                                            type_text(condition.type()) + ", " + type_text(on_true.type()) + ", " +
                                            type_text(on_false.type()));
  }
  Dims dims = broadcast_dims(condition.dims(), broadcast_dims(on_true.dims(), on_false.dims()));
  if (!ok()) return Value();
  return make(Op::select, Type{on_true.dtype(), dims},
              Inputs(broadcast_to(condition, dims), broadcast_to(on_true, dims), broadcast_to(on_false, dims)));
}

Value Build::clamp(const Value& low, const Value& x, const Value& high) { return minimum(maximum(x, low), high); }

Value Build::convert(const Value& x, Dtype dtype) {
  if (!ok() || !x || x.dtype() == dtype) return ok() ? x : Value();
  if (x->op == Op::constant && !x->runtime_number) {
    Scalar n = x->number;
    bool to_int = is_integral(dtype), from_int = n.is_integer() || n.is_boolean();
    if (dtype == Dtype::pred)
      n = Scalar::of(n.truth());
    else if (to_int && !from_int && std::abs(n.real()) < 9e18)
      n = Scalar::of(n.integer());
    else if (to_int && !from_int)
      return make(Op::convert, Type{dtype, x.dims()}, x);
    else if (!to_int && !is_complex(dtype) && n.is_complex())
      n = Scalar::of(n.real());
    // A constant keeps the rounding of the dtypes it went through: bf16(0.1) stays bf16's 0.1 in f32.
    bool exact = from_int || dtype_size(dtype) <= dtype_size(x.dtype()) || x.dtype() == Dtype::f64 || x->wrapped_number;
    if (exact) return constant(dtype, n, x.dims());
  }
  if (dtype == Dtype::pred) return compare(Direction::ne, x, constant_int(x.dtype(), 0, x.dims()));
  if (is_complex(x.dtype()) && !is_complex(dtype)) return convert(real(x), dtype);
  if (is_floating(x.dtype()) && is_unsigned(dtype)) {
    // PyTorch's C++ wraps a negative float around through a signed integer; XLA would saturate at 0.
    return make(Op::convert, Type{dtype, x.dims()}, make(Op::convert, Type{Dtype::s64, x.dims()}, x));
  }
  if (is_floating(x.dtype()) && (dtype == Dtype::s8 || dtype == Dtype::s16)) {
    return make(Op::convert, Type{dtype, x.dims()}, make(Op::convert, Type{Dtype::s32, x.dims()}, x));
  }
  return make(Op::convert, Type{dtype, x.dims()}, x);
}

}  // namespace tp
