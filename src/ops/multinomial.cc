// Sampling positions by weight. Exponential races: position i wins with probability weight[i] / sum, and the order of
// arrival is a sample without replacement. With replacement: the inverse of the running sum.

#include "ops/indexing.h"
#include "ops/uniform.h"

namespace tp {
namespace {

// The first position of the largest element of each row.
Value first_largest(Build& b, const Value& rows) {
  if (!b.ok() || !rows) return Value();
  Value top = b.spread(b.reduce(Combine::maximum, rows, {1}), rows.dims(), {1});
  Value place = b.iota(Dtype::s64, rows.dims(), 1);
  Value first = b.select(b.compare(Direction::eq, rows, top), place, b.constant_int(Dtype::s64, rows.size(1) - 1));
  return b.unsqueeze(b.reduce(Combine::minimum, first, {1}), 1);
}

Value by_race(Build& b, const Value& weights, int64_t samples) {
  Value clock = b.negate(b.log(open_uniform(b, weights.dims(), weights.dtype())));
  Value rate = b.div(weights, clock);
  if (samples == 1) return first_largest(b, rate);
  Values order = b.sort({rate, b.iota(Dtype::s64, weights.dims(), 1)}, 1, true);
  return b.ok() ? b.slice_dim(order[1], 1, 0, samples) : Value();
}

Value by_running_sum(Build& b, const Value& weights, int64_t samples) {
  int64_t rows = weights.size(0), n = weights.size(1);
  Value zero = b.scalar_like(weights, 0);
  // A weight of zero keeps the bound before it exactly, so that rounding never lets it win.
  Value sums = running_sum(b, weights, 1);
  Value bounds = running_max(b, b.select(b.compare(Direction::gt, weights, zero), sums, zero), 1);
  Value total = b.slice_dim(bounds, 1, n - 1, n);
  Value at = b.mul(uniform_bits(b, {rows, samples}, weights.dtype()), total);
  Value found = count_below(b, bounds, at, true);
  return b.minimum(found, b.constant_int(Dtype::s64, n - 1));
}

Value multinomial(Build& b, Value weights, int64_t samples, bool replacement, Ignored) {
  b.require(weights.rank() == 1 || weights.rank() == 2, "prob_dist must be 1 or 2 dim");
  b.require(is_floating(weights.dtype()), "multinomial only supports floating-point dtypes for input, got: " +
                                              std::string(dtype_name(weights.dtype())));
  b.require(samples > 0, "cannot sample n_sample <= 0 samples");
  if (!b.ok()) return Value();
  int64_t n = weights.dims().back();
  b.require(n > 0, "invalid multinomial distribution (no categories)");
  b.require(replacement || samples <= n, "cannot sample n_sample > prob_dist.size(-1) samples without replacement");
  Dims result = weights.dims();
  result.back() = samples;
  if (!b.ok() || numel(result) == 0) return b.constant_int(Dtype::s64, 0, result);
  Value rows = b.reshape(b.convert(weights, accumulate_type(weights.dtype())), {numel(weights.dims()) / n, n});
  Value wrong = b.not_(b.and_(b.is_finite(rows), b.compare(Direction::ge, rows, 0)));
  b.check(wrong, Code::invalid_argument, "probability tensor contains either `inf`, `nan` or element < 0");
  Value empty = b.compare(Direction::le, b.sum(rows, {1}), 0);
  b.check(empty, Code::invalid_argument, "invalid multinomial distribution (sum of probabilities <= 0)");
  bool races = !replacement || samples == 1;
  return b.reshape(races ? by_race(b, rows, samples) : by_running_sum(b, rows, samples), result);
}
TP_OP("aten::multinomial", multinomial);

}  // namespace
}  // namespace tp
