// Distances of all pairs of rows, in any norm.

#include <cmath>

#include "ops/op.h"

namespace tp {
namespace {

// x [batch…, P, M] and y [batch…, R, M] as [batch…, P, R, M]: their differences.
Value differences(Build& b, const Value& x, const Value& y) {
  return b.sub(b.unsqueeze(x, x.rank() - 1), b.unsqueeze(y, y.rank() - 2));
}

Value cdist_forward(Build& b, Value x, Value y, double p, std::optional<int64_t>) {
  if (!b.require(is_floating(x.dtype()), Code::unimplemented,
                 std::string("not implemented for ") + dtype_name(x.dtype())) ||
      !b.require(x.size(x.rank() - 1) == y.size(y.rank() - 1),
                 "X1 and X2 must have the same number of columns. X1: " + std::to_string(x.size(x.rank() - 1)) +
                     " X2: " + std::to_string(y.size(y.rank() - 1))) ||
      !b.require(p >= 0, "cdist only supports non-negative p values")) {
    return Value();
  }
  Value size = b.abs(differences(b, x, y));
  int64_t last = size.rank() - 1;
  if (p == 0) return b.sum(b.convert(b.compare(Direction::ne, size, 0), x.dtype()), {last});
  if (p == 1) return b.sum(size, {last});
  if (p == 2) return b.sqrt(b.sum(b.mul(size, size), {last}));
  // No row has a negative size, so a sum over none and a maximum over none are 0.
  if (std::isinf(p)) return size.size(last) ? b.reduce(Combine::maximum, size, {last}) : b.sum(size, {last});
  return b.power(b.sum(b.power(size, b.like(size, p)), {last}), b.constant(x.dtype(), 1 / p));
}

// The gradient of x's rows. Where rows agree it is 0.
Value cdist_backward(Build& b, Value grad, Value x, Value y, double p, Value distance) {
  Value difference = differences(b, x, y), sign = b.sign(difference), size = b.abs(difference);
  Value along = b.unsqueeze(grad, grad.rank()), length = b.unsqueeze(distance, distance.rank());
  Value zero = b.like(difference, 0), apart = b.compare(Direction::ne, length, 0);
  Value safe = b.select(apart, length, b.like(length, 1)), slope;
  if (p == 0) return b.like(x, 0);
  if (p == 1) {
    slope = sign;
  } else if (std::isinf(p)) {
    slope = b.select(b.compare(Direction::eq, size, length), sign, zero);
  } else {
    // sign |d|^(p - 1) / distance^(p - 1), which for p < 1 has a pole at d = 0.
    Value moved = b.compare(Direction::ne, size, 0);
    Value ratio = b.div(b.select(moved, size, b.like(size, 1)), safe);
    slope = b.select(moved, b.mul(sign, p == 2 ? ratio : b.power(ratio, b.like(ratio, p - 1))), zero);
  }
  if (p != 1) slope = b.select(b.broadcast_to(apart, slope.dims()), slope, zero);
  Value product = b.mul(slope, along);
  return b.sum(product, {product.rank() - 2});
}

TP_OP("aten::_cdist_forward", cdist_forward);
TP_OP("aten::_cdist_backward", cdist_backward);

}  // namespace
}  // namespace tp
