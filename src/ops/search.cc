// Where a value stands in sorted data, and whether it is there at all.

#include <limits>

#include "ops/indexing.h"

namespace tp {
namespace {

// Below this a comparison with everything, which fuses into one sum, beats a chain of gathers.
constexpr int64_t kCompareAll = 1024;

// True where `value` lies to the right of `edge`. A NaN lies right of everything, as in PyTorch.
Value lies_right(Build& b, const Value& edge, const Value& value, bool right) {
  return b.not_(b.compare(right ? Direction::gt : Direction::ge, edge, value));
}

// Halves the range until it is empty; `rank` dimensions of both, the last searched.
Value binary_search(Build& b, const Value& sequence, const Value& values, bool right) {
  int64_t last = sequence.rank() - 1, n = sequence.dims().back();
  Value low = b.constant_int(Dtype::s64, 0, values.dims()), high = b.constant_int(Dtype::s64, n, values.dims());
  for (int64_t left = n; left > 0 && b.ok(); left /= 2) {
    Value open = b.compare(Direction::lt, low, high);
    Value middle = b.div(b.add(low, high), 2);
    Value edge = b.take_along(sequence, b.minimum(middle, b.constant_int(Dtype::s64, n - 1)), last);
    Value moves = lies_right(b, edge, values, right);
    low = b.select(b.and_(open, moves), b.add(middle, 1), low);
    high = b.select(b.and_(open, b.not_(moves)), middle, high);
  }
  return low;
}

struct Side {
  bool right;
  Dtype result;
};

Side side_of(Build& b, bool out_int32, bool right, std::optional<std::string_view> side) {
  if (side) {
    b.require(*side == "left" || *side == "right", "side can only be 'left' or 'right' but got " + std::string(*side));
    b.require(!(right && *side == "left"),
              "side and right can't be set to opposites, got side of left while right was True");
    right = *side == "right";
  }
  return {right, out_int32 ? Dtype::s32 : Dtype::s64};
}

Value search(Build& b, Value sequence, Value values, Side side) {
  if (!b.ok() || !sequence || !values) return Value();
  Dims result = values.dims();
  if (numel(result) == 0 || numel(sequence.dims()) == 0) return b.constant_int(side.result, 0, result);
  Dtype common = promote(sequence.dtype(), values.dtype());
  if (common == Dtype::pred) common = Dtype::u8;
  sequence = b.convert(sequence, common);
  values = b.convert(values, common);
  if (sequence.rank() == 1) {
    values = b.flatten(values);
  } else {
    bool fits = sequence.rank() == values.rank();
    for (int i = 0; fits && i + 1 < sequence.rank(); ++i) fits = sequence.size(i) == values.size(i);
    b.require(fits,
              "boundaries tensor should be 1 dimension or the first N-1 dimensions of boundaries tensor and input "
              "value tensor must match, but we got boundaries tensor [" +
                  dims_text(sequence.dims()) + "] and input value tensor [" + dims_text(result) + "]");
  }
  return b.ok() ? b.convert(b.reshape(count_below(b, sequence, values, side.right), result), side.result) : Value();
}

Value sorted_by(Build& b, const Value& sequence, const std::optional<Value>& sorter) {
  if (!sorter) return sequence;
  b.require(sorter->dims() == sequence.dims(), "boundary and sorter must have the same size");
  int64_t last = sequence.rank() - 1;
  if (!b.ok()) return Value();
  Value at = checked_index(b, *sorter, sequence.dims().back(), Negative::refused, "sorter index out of range");
  return b.take_along(sequence, at, last);
}

Value searchsorted(Build& b, Value sequence, Value values, bool out_int32, bool right,
                   std::optional<std::string_view> side, std::optional<Value> sorter) {
  b.require(sequence.rank() > 0, "input tensor should have positive dimension, but got 0 dimension");
  Side s = side_of(b, out_int32, right, side);
  return search(b, sorted_by(b, sequence, sorter), values, s);
}
TP_OP("aten::searchsorted.Tensor", searchsorted);

// A number among integers stays an integer unless it is a float.
Value number_like(Build& b, const Value& sequence, Scalar number) {
  bool whole = is_integral(sequence.dtype()) || sequence.dtype() == Dtype::pred;
  return b.constant(whole && number.is_floating() ? Dtype::f32 : sequence.dtype(), number);
}

Value searchsorted_scalar(Build& b, Value sequence, Scalar value, bool out_int32, bool right,
                          std::optional<std::string_view> side, std::optional<Value> sorter) {
  return searchsorted(b, sequence, number_like(b, sequence, value), out_int32, right, side, sorter);
}
TP_OP("aten::searchsorted.Scalar", searchsorted_scalar);

Value bucketize(Build& b, Value values, Value boundaries, bool out_int32, bool right) {
  b.require(boundaries.rank() == 1,
            "boundaries tensor must be 1 dimension, but got dim(" + std::to_string(boundaries.rank()) + ")");
  return search(b, boundaries, values, side_of(b, out_int32, right, std::nullopt));
}
TP_OP("aten::bucketize.Tensor", bucketize);

Value bucketize_scalar(Build& b, Scalar value, Value boundaries, bool out_int32, bool right) {
  return bucketize(b, number_like(b, boundaries, value), boundaries, out_int32, right);
}
TP_OP("aten::bucketize.Scalar", bucketize_scalar);

Value isin(Build& b, Value elements, Value among, bool, bool invert) {
  if (!b.ok() || !elements || !among) return Value();
  Dtype common = promote(elements.dtype(), among.dtype());
  Value column = b.unsqueeze(b.convert(elements, common), elements.rank());
  Value equal = b.compare(Direction::eq, column, b.flatten(b.convert(among, common)));
  if (!b.ok()) return Value();
  Value found = b.reduce(Combine::or_, equal, {elements.rank()});
  return invert ? b.not_(found) : found;
}
TP_OP("aten::isin.Tensor_Tensor", isin);

Value isin_scalar(Build& b, Value elements, Scalar among, bool unique, bool invert) {
  return isin(b, elements, number_like(b, elements, among), unique, invert);
}
TP_OP("aten::isin.Tensor_Scalar", isin_scalar);

Value scalar_isin(Build& b, Scalar element, Value among, bool unique, bool invert) {
  return isin(b, number_like(b, among, element), among, unique, invert);
}
TP_OP("aten::isin.Scalar_Tensor", scalar_isin);

// Equal bins between min and max (of the data when both are the same); the last bin is closed.
// Integers are counted in s64, as CUDA does; PyTorch's CPU refuses them.
Value histc(Build& b, Value x, int64_t bins, Scalar min, Scalar max) {
  if (!x || !b.require(bins > 0, "bins must be > 0")) return Value();
  bool whole = is_integral(x.dtype());
  if (!whole && !b.require_floating(x)) return Value();
  if (!b.require(min.real() <= max.real(), "max must be larger than min") || is_complex(x.dtype())) return Value();
  Dtype wide = whole ? Dtype::s64 : accumulate_type(x.dtype());
  Value flat = b.flatten(b.convert(x, wide));
  if (numel(x.dims()) == 0) return b.constant_int(x.dtype(), 0, {bins});
  auto end = [&](const Scalar& n) { return whole ? b.constant_int(wide, n.integer()) : b.constant(wide, n); };
  Value low = end(min), high = end(max);
  if (min.real() == max.real()) {
    low = b.reduce(Combine::minimum, flat, {0});
    high = b.reduce(Combine::maximum, flat, {0});
    Value same = b.compare(Direction::eq, low, high);
    Value narrow_low = b.sub(low, 1), wide_high = b.add(high, 1);
    low = b.select(same, narrow_low, low);
    high = b.select(same, wide_high, high);
  }
  Value inside = b.and_(b.compare(Direction::ge, flat, low), b.compare(Direction::le, flat, high));
  Value share = b.div(b.mul(b.sub(flat, low), static_cast<double>(bins)), b.sub(high, low));
  Value bin = b.convert(b.select(inside, share, b.scalar_like(share, 0)), Dtype::s64);
  bin = b.minimum(bin, b.constant_int(Dtype::s64, bins - 1));
  Value counts = scatter_rows(b, Combine::add, b.constant_int(wide, 0, {bins}), 0, bin, b.convert(inside, wide));
  return b.convert(counts, x.dtype());
}
TP_OP("aten::histc", histc);

}  // namespace

Value count_below(Build& b, const Value& sequence, const Value& values, bool right) {
  if (!b.ok() || !sequence || !values) return Value();
  int64_t n = sequence.dims().back();
  if (n > kCompareAll) return binary_search(b, sequence, values, right);
  Value edges = b.unsqueeze(sequence, sequence.rank() - 1), column = b.unsqueeze(values, values.rank());
  return b.sum(b.convert(lies_right(b, edges, column, right), Dtype::s64), {column.rank() - 1});
}

}  // namespace tp
