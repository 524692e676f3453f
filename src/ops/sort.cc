// Sorting and what follows from it: topk, kthvalue, median, mode.

#include <limits>

#include "ops/indexing.h"

namespace tp {
namespace {

struct Sorted {
  Value values, indices;  // indices in i64
};

Sorted sorted(Build& b, const Value& x, int64_t dim, bool descending) {
  if (!b.ok() || !x) return {};
  if (is_complex(x.dtype())) {
    b.fail(Code::unimplemented, std::string("not implemented for ") + dtype_name(x.dtype()));
    return {};
  }
  if (x.rank() == 0) return {x, b.constant_int(Dtype::s64, 0)};
  // A payload of 32 bits halves what a sort moves.
  bool narrow = x.size(static_cast<int>(dim)) <= INT32_MAX;
  Dtype ordered = x.dtype() == Dtype::pred ? Dtype::u8 : x.dtype();
  Value position = b.iota(narrow ? Dtype::s32 : Dtype::s64, x.dims(), dim);
  Values out = b.sort({b.convert(x, ordered), position}, dim, descending);
  if (!b.ok()) return {};
  return {b.convert(out[0], x.dtype()), b.convert(out[1], Dtype::s64)};
}

std::tuple<Value, Value> sort_stable(Build& b, Value x, std::optional<bool>, int64_t dim, bool descending) {
  Sorted s = sorted(b, x, b.wrap_dim(dim, x.rank()), descending);
  return {s.values, s.indices};
}
TP_OP("aten::sort.stable", sort_stable);

std::tuple<Value, Value> sort(Build& b, Value x, int64_t dim, bool descending) {
  return sort_stable(b, x, true, dim, descending);
}
TP_OP("aten::sort", sort);

// StableHLO's sort and a slice; plugins know that pattern as top-k.
std::tuple<Value, Value> topk(Build& b, Value x, int64_t k, int64_t dim, bool largest, bool) {
  dim = b.wrap_dim(dim, x.rank());
  if (!b.ok()) return {};
  int64_t n = x.rank() == 0 ? 1 : x.size(static_cast<int>(dim));
  if (!b.require(k >= 0 && k <= n, "selected index k out of range")) return {};
  Sorted s = sorted(b, x, dim, largest);
  if (!b.ok() || x.rank() == 0) return {s.values, s.indices};
  return {b.slice_dim(s.values, dim, 0, k), b.slice_dim(s.indices, dim, 0, k)};
}
TP_OP("aten::topk", topk);

std::tuple<Value, Value> kthvalue(Build& b, Value x, int64_t k, int64_t dim, bool keep) {
  dim = b.wrap_dim(dim, x.rank());
  if (!b.ok()) return {};
  int64_t n = x.rank() == 0 ? 1 : x.size(static_cast<int>(dim));
  if (!b.require(k >= 1 && k <= n, "kthvalue(): selected number k out of range for dimension " + std::to_string(dim))) {
    return {};
  }
  Sorted s = sorted(b, x, dim, false);
  if (!b.ok() || x.rank() == 0) return {s.values, s.indices};
  Value value = b.slice_dim(s.values, dim, k - 1, k), at = b.slice_dim(s.indices, dim, k - 1, k);
  if (keep) return {value, at};
  return {b.squeeze(value, dim), b.squeeze(at, dim)};
}
TP_OP("aten::kthvalue", kthvalue);

// Of an even count the lower middle. NaNs lie at the end of the order: `skip` leaves them out, else one of them wins.
std::tuple<Value, Value> median_along(Build& b, const Value& x, int64_t dim, bool keep, bool skip) {
  dim = b.wrap_dim(dim, x.rank());
  Sorted s = sorted(b, x, dim, false);
  if (!b.ok() || x.rank() == 0) return {s.values, s.indices};
  int64_t n = x.size(static_cast<int>(dim));
  if (!b.require(n > 0, Code::index,
                 "median(): Expected reduction dim " + std::to_string(dim) + " to have non-zero size.")) {
    return {};
  }
  Dims one = x.dims();
  one[dim] = 1;
  Value at = b.constant_int(Dtype::s64, (n - 1) / 2, one);
  if (is_floating(x.dtype())) {
    Value nans = b.reshape(b.sum(b.convert(b.is_nan(x), Dtype::s64), {dim}), one);
    Value numbers = b.sub(b.constant_int(Dtype::s64, n, one), nans);
    if (skip) {
      at = b.maximum(b.div(b.sub(numbers, 1), 2), b.constant_int(Dtype::s64, 0));
    } else {
      at = b.select(b.compare(Direction::gt, nans, 0), numbers, at);
    }
  }
  Value value = b.take_along(s.values, at, dim), from = b.take_along(s.indices, at, dim);
  if (keep) return {value, from};
  return {b.squeeze(value, dim), b.squeeze(from, dim)};
}

std::tuple<Value, Value> median_dim(Build& b, Value x, int64_t dim, bool keep) {
  return median_along(b, x, dim, keep, false);
}
TP_OP("aten::median.dim", median_dim);

std::tuple<Value, Value> nanmedian_dim(Build& b, Value x, int64_t dim, bool keep) {
  return median_along(b, x, dim, keep, true);
}
TP_OP("aten::nanmedian.dim", nanmedian_dim);

Value median_of_all(Build& b, const Value& x, bool skip) {
  if (!b.ok() || !x) return Value();
  if (numel(x.dims()) == 0) return b.constant(x.dtype(), std::numeric_limits<double>::quiet_NaN());
  return std::get<0>(median_along(b, b.flatten(x), 0, false, skip));
}
Value median(Build& b, Value x) { return median_of_all(b, x, false); }
TP_OP("aten::median", median);
Value nanmedian(Build& b, Value x) { return median_of_all(b, x, true); }
TP_OP("aten::nanmedian", nanmedian);

// The most frequent value, the smallest of several; its index is that of its last place.
std::tuple<Value, Value> mode(Build& b, Value x, int64_t dim, bool keep) {
  dim = b.wrap_dim(dim, x.rank());
  Sorted s = sorted(b, x, dim, false);
  if (!b.ok() || x.rank() == 0) return {s.values, s.indices};
  int64_t n = x.size(static_cast<int>(dim));
  if (!b.require(n > 0, Code::index,
                 "mode(): Expected reduction dim " + std::to_string(dim) + " to have non-zero size.")) {
    return {};
  }
  Value place = b.iota(Dtype::s64, x.dims(), dim);
  Value run = b.iota(Dtype::s64, x.dims(), dim);
  if (n > 1) {
    Value changes = b.compare(Direction::ne, b.slice_dim(s.values, dim, 1, n), b.slice_dim(s.values, dim, 0, n - 1));
    Value starts = b.select(changes, b.slice_dim(place, dim, 1, n), b.constant_int(Dtype::s64, 0));
    run = running_max(b, b.concatenate({b.slice_dim(place, dim, 0, 1), starts}, dim), dim);
  }
  Value length = b.sub(place, run);
  Value longest = b.spread(b.reduce(Combine::maximum, length, {dim}), x.dims(), {dim});
  Value first = b.select(b.compare(Direction::eq, length, longest), place, b.constant_int(Dtype::s64, n - 1));
  Value at = b.unsqueeze(b.reduce(Combine::minimum, first, {dim}), dim);
  Value value = b.take_along(s.values, at, dim), from = b.take_along(s.indices, at, dim);
  if (keep) return {value, from};
  return {b.squeeze(value, dim), b.squeeze(from, dim)};
}
TP_OP("aten::mode", mode);

}  // namespace
}  // namespace tp
