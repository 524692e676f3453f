#include "ops/promote.h"

#include <atomic>
#include <cmath>

namespace tp {
namespace {

std::atomic<Dtype> g_default{Dtype::f32};

int category(Dtype d) { return d == Dtype::pred ? 0 : is_integral(d) ? 1 : is_floating(d) ? 2 : 3; }

// What the operands of one rank agree on.
struct Rank {
  bool any = false;
  Dtype dtype = Dtype::pred;
  void add(Dtype d) {
    dtype = any ? promote(dtype, d) : d;
    any = true;
  }
};

struct State {
  Rank tensors, scalars, numbers;

  void add(const Value& v) {
    if (v->wrapped_number) {
      numbers.add(number_dtype(v.dtype()));
    } else {
      (v.rank() > 0 ? tensors : scalars).add(v.dtype());
    }
  }
  // A Python float is as wide as the default, a Python int as i64.
  static Dtype number_dtype(Dtype d) {
    if (is_complex(d)) return complex_type(default_dtype());
    return is_floating(d) ? default_dtype() : d;
  }
  static Rank combined(const Rank& high, const Rank& low) {
    if (!high.any) return low;
    if (!low.any || category(high.dtype) >= category(low.dtype)) return high;
    Rank out = high;
    // A complex number beside real tensors keeps their precision.
    out.dtype = is_complex(low.dtype) && is_floating(high.dtype) ? complex_type(high.dtype) : low.dtype;
    return out;
  }
  Dtype result() const { return combined(tensors, combined(scalars, numbers)).dtype; }
};

}  // namespace

Dtype default_dtype() { return g_default.load(std::memory_order_relaxed); }
void set_default_dtype(Dtype dtype) { g_default = dtype; }

Dtype result_type(const Value& a, const Value& b) {
  if (a.dtype() == b.dtype() && !a->wrapped_number && !b->wrapped_number) return a.dtype();
  State state;
  state.add(a);
  state.add(b);
  return state.result();
}

Dtype result_type(const Values& values) {
  State state;
  for (const Value& v : values) state.add(v);
  return state.result();
}

Dtype result_type(const Value& a, const Scalar& n) {
  Dtype d = n.is_boolean() ? Dtype::pred : n.is_integer() ? Dtype::s64 : n.is_complex() ? Dtype::c128 : Dtype::f64;
  State state;
  state.add(a);
  state.numbers.add(State::number_dtype(d));
  return state.result();
}

std::pair<Value, Value> promoted(Build& b, const Value& x, const Value& y) {
  if (!x || !y) return {};
  Dtype d = result_type(x, y);
  return {b.convert(x, d), b.convert(y, d)};
}

std::pair<Value, Value> promoted_floating(Build& b, const Value& x, const Value& y) {
  if (!x || !y) return {};
  Dtype d = result_type(x, y);
  if (category(d) < 2) d = default_dtype();
  return {b.convert(x, d), b.convert(y, d)};
}

Value to_floating(Build& b, const Value& x) {
  if (!x) return Value();
  return category(x.dtype()) < 2 ? b.convert(x, default_dtype()) : x;
}

Value divided(Build& b, const Value& x, const Value& y) {
  if (!x || !y) return Value();
  bool one_number = y.rank() == 0 || y->op == Op::constant;
  int exponent;
  bool exact = y->op == Op::constant && std::abs(std::frexp(y->number.real(), &exponent)) == 0.5;
  if (!one_number || exact || !is_floating(y.dtype()) || x.rank() == 0) return b.div(x, y);
  // max(min(x, y), y) is y, or NaN where x is; XLA does not see it.
  return b.div(x, b.maximum(b.minimum(x, y), y));
}

bool require_real(Build& b, const Value& x) {
  if (!x) return false;
  if (!is_complex(x.dtype())) return true;
  b.fail(Code::unimplemented, std::string("not implemented for ") + dtype_name(x.dtype()));
  return false;
}

Value number(Build& b, const Scalar& n) {
  Dtype d = n.is_boolean() ? Dtype::pred : n.is_integer() ? Dtype::s64 : n.is_complex() ? Dtype::c128 : Dtype::f64;
  Value value = b.constant(d, n);
  if (value) value->wrapped_number = true;
  return value;
}

}  // namespace tp
