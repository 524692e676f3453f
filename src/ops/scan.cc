// Running sums, products and extremes: a window that reaches back to the start. XLA turns it into a tree on every
// plugin; log2(n) shifted additions took 4 times as long to compile and to run on the CPU.

#include "ops/indexing.h"

namespace tp {
namespace {

Value scan(Build& b, Combine kind, const Value& x, int64_t dim) {
  if (!b.ok() || !x || x.rank() == 0 || numel(x.dims()) == 0) return b.ok() ? x : Value();
  Dims ones(x.dims().size(), 1), zeros(x.dims().size(), 0);
  WindowDims window{ones, ones, ones, ones, zeros, zeros};
  window.sizes[dim] = x.size(static_cast<int>(dim));
  window.pad_low[dim] = window.sizes[dim] - 1;
  return b.reduce_window(kind, x, window);
}

// In the dtype asked for, or i64 for integers; f16 and bf16 add up in f32.
Value accumulate(Build& b, const Value& x, int64_t dim, std::optional<Dtype> dtype, Combine kind) {
  if (!b.ok() || !x) return Value();
  bool whole = x.dtype() == Dtype::pred || is_integral(x.dtype());
  Dtype result = dtype.value_or(whole ? Dtype::s64 : x.dtype());
  dim = b.wrap_dim(dim, x.rank());
  // Sums of bools are counts, even when a bool is asked for.
  Dtype wide = result == Dtype::pred ? Dtype::s64 : accumulate_type(result);
  return b.convert(scan(b, kind, b.convert(b.convert(x, result), wide), dim), result);
}

Value cumsum(Build& b, Value x, int64_t dim, std::optional<Dtype> dtype) {
  return accumulate(b, x, dim, dtype, Combine::add);
}
TP_OP("aten::cumsum", cumsum);

Value cumprod(Build& b, Value x, int64_t dim, std::optional<Dtype> dtype) {
  return accumulate(b, x, dim, dtype, Combine::multiply);
}
TP_OP("aten::cumprod", cumprod);

// log(exp(a) + exp(b)); an infinity or a NaN stays as it is.
Value log_add(Build& b, const Value& x, const Value& y) {
  Value high = b.maximum(x, y), low = b.minimum(x, y);
  return b.select(b.is_finite(high), b.add(high, b.log1p(b.exponential(b.sub(low, high)))), high);
}

// No window knows log_add: step k combines each element with the one 2^k before it.
Value logcumsumexp(Build& b, Value x, int64_t dim) {
  if (!b.require_floating(x)) return Value();
  if (is_complex(x.dtype())) return b.decline("logcumsumexp of complex numbers");
  dim = b.wrap_dim(dim, x.rank());
  if (!b.ok() || x.rank() == 0) return b.ok() ? x : Value();
  Value sums = b.convert(x, accumulate_type(x.dtype()));
  int64_t n = x.size(static_cast<int>(dim));
  for (int64_t back = 1; back < n && b.ok(); back *= 2) {
    Value tail = log_add(b, b.slice_dim(sums, dim, 0, n - back), b.slice_dim(sums, dim, back, n));
    sums = b.concatenate({b.slice_dim(sums, dim, 0, back), tail}, dim);
  }
  return b.convert(sums, x.dtype());
}
TP_OP("aten::logcumsumexp", logcumsumexp);
TP_OP("aten::_logcumsumexp", logcumsumexp);

// The extreme so far and its place: of equal ones the last; a NaN beats everything.
std::tuple<Value, Value> extreme(Build& b, const Value& x, int64_t dim, Combine kind) {
  dim = b.wrap_dim(dim, x.rank());
  if (!b.ok()) return {};
  // StableHLO compares bools as integers of one bit; u8 has the same order everywhere.
  Value ordered = x.dtype() == Dtype::pred ? b.convert(x, Dtype::u8) : x;
  Value best = scan(b, kind, ordered, dim);
  Value here = b.compare(Direction::eq, ordered, best);
  if (is_floating(x.dtype())) here = b.or_(here, b.is_nan(x));
  Value place = b.select(here, b.iota(Dtype::s64, x.dims(), dim), b.constant_int(Dtype::s64, 0));
  return {b.convert(best, x.dtype()), scan(b, Combine::maximum, place, dim)};
}

std::tuple<Value, Value> cummax(Build& b, Value x, int64_t dim) { return extreme(b, x, dim, Combine::maximum); }
TP_OP("aten::cummax", cummax);

std::tuple<Value, Value> cummin(Build& b, Value x, int64_t dim) { return extreme(b, x, dim, Combine::minimum); }
TP_OP("aten::cummin", cummin);

}  // namespace

Value running_sum(Build& b, const Value& x, int64_t dim) { return scan(b, Combine::add, x, dim); }
Value running_max(Build& b, const Value& x, int64_t dim) { return scan(b, Combine::maximum, x, dim); }

}  // namespace tp
