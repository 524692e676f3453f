// Running sums, products and extremes in log2(n) steps: step k combines each element with the one 2^k before it.

#include "ops/indexing.h"

namespace tp {
namespace {

// What an element becomes, given the run that ends where its own begins.
using Step = Values (*)(Build&, const Values& earlier, const Values& later);

Values scan(Build& b, Values x, int64_t dim, Step step) {
  if (!b.ok() || x.empty() || !x[0] || x[0].rank() == 0) return x;
  int64_t n = x[0].size(static_cast<int>(dim));
  for (int64_t distance = 1; distance < n && b.ok(); distance *= 2) {
    Values earlier, later;
    for (const Value& v : x) {
      earlier.push_back(b.slice_dim(v, dim, 0, n - distance));
      later.push_back(b.slice_dim(v, dim, distance, n));
    }
    Values tail = step(b, earlier, later);
    for (size_t i = 0; i < x.size(); ++i) x[i] = b.concatenate({b.slice_dim(x[i], dim, 0, distance), tail[i]}, dim);
  }
  return x;
}

Values add_step(Build& b, const Values& earlier, const Values& later) { return {b.add(earlier[0], later[0])}; }
Values multiply_step(Build& b, const Values& earlier, const Values& later) { return {b.mul(earlier[0], later[0])}; }
Values maximum_step(Build& b, const Values& earlier, const Values& later) { return {b.maximum(earlier[0], later[0])}; }

// log(exp(a) + exp(b)); an infinity or a NaN stays as it is.
Values log_add_step(Build& b, const Values& earlier, const Values& later) {
  Value high = b.maximum(earlier[0], later[0]), low = b.minimum(earlier[0], later[0]);
  return {b.select(b.is_finite(high), b.add(high, b.log1p(b.exponential(b.sub(low, high)))), high)};
}

// (value, index) of the extreme so far; of equal ones the last, and a NaN beats everything.
Values extreme_step(Build& b, const Values& earlier, const Values& later, Direction better) {
  Value wins = b.compare(better, later[0], earlier[0]);
  if (is_floating(later[0].dtype())) {
    wins = b.and_(wins, b.not_(b.is_nan(earlier[0])));
    wins = b.or_(wins, b.is_nan(later[0]));
  }
  return {b.select(wins, later[0], earlier[0]), b.select(wins, later[1], earlier[1])};
}
Values cummax_step(Build& b, const Values& earlier, const Values& later) {
  return extreme_step(b, earlier, later, Direction::ge);
}
Values cummin_step(Build& b, const Values& earlier, const Values& later) {
  return extreme_step(b, earlier, later, Direction::le);
}

// In the dtype asked for, or i64 for integers; f16 and bf16 add up in f32.
Value accumulate(Build& b, const Value& x, int64_t dim, std::optional<Dtype> dtype, Step step) {
  if (!b.ok() || !x) return Value();
  bool whole = x.dtype() == Dtype::pred || is_integral(x.dtype());
  Dtype result = dtype.value_or(whole ? Dtype::s64 : x.dtype());
  dim = b.wrap_dim(dim, x.rank());
  // Sums of bools are counts, even when a bool is asked for.
  Dtype wide = result == Dtype::pred ? Dtype::s64 : accumulate_type(result);
  Value in = b.convert(b.convert(x, result), wide);
  Values out = scan(b, {in}, dim, step);
  return b.ok() ? b.convert(out[0], result) : Value();
}

Value cumsum(Build& b, Value x, int64_t dim, std::optional<Dtype> dtype) {
  return accumulate(b, x, dim, dtype, add_step);
}
TP_OP("aten::cumsum", cumsum);

Value cumprod(Build& b, Value x, int64_t dim, std::optional<Dtype> dtype) {
  return accumulate(b, x, dim, dtype, multiply_step);
}
TP_OP("aten::cumprod", cumprod);

Value logcumsumexp(Build& b, Value x, int64_t dim) {
  if (!b.require_floating(x)) return Value();
  if (is_complex(x.dtype())) return b.decline("logcumsumexp of complex numbers");
  return accumulate(b, x, dim, x.dtype(), log_add_step);
}
TP_OP("aten::logcumsumexp", logcumsumexp);
TP_OP("aten::_logcumsumexp", logcumsumexp);

std::tuple<Value, Value> extreme(Build& b, const Value& x, int64_t dim, Step step) {
  dim = b.wrap_dim(dim, x.rank());
  // StableHLO compares bools as integers of one bit; u8 has the same order everywhere.
  Dtype ordered = x.dtype() == Dtype::pred ? Dtype::u8 : x.dtype();
  Values out = scan(b, {b.convert(x, ordered), b.iota(Dtype::s64, x.dims(), dim)}, dim, step);
  if (!b.ok()) return {};
  return {b.convert(out[0], x.dtype()), out[1]};
}

std::tuple<Value, Value> cummax(Build& b, Value x, int64_t dim) { return extreme(b, x, dim, cummax_step); }
TP_OP("aten::cummax", cummax);

std::tuple<Value, Value> cummin(Build& b, Value x, int64_t dim) { return extreme(b, x, dim, cummin_step); }
TP_OP("aten::cummin", cummin);

}  // namespace

Value running_sum(Build& b, const Value& x, int64_t dim) {
  Values out = scan(b, {x}, dim, add_step);
  return b.ok() ? out[0] : Value();
}

Value running_max(Build& b, const Value& x, int64_t dim) {
  Values out = scan(b, {x}, dim, maximum_step);
  return b.ok() ? out[0] : Value();
}

}  // namespace tp
