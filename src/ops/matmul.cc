// Matrix products. Each stays one dot_general with its operands as given; rewrite/products.cc knows the target's form.

#include <algorithm>

#include "ops/op.h"
#include "ops/promote.h"

namespace tp {
namespace {

std::string by(const Value& x) {
  std::string text;
  for (int i = 0; i < x.rank(); ++i) text += (i ? "x" : "") + std::to_string(x.size(i));
  return text;
}

bool same_dtype(Build& b, const Value& x, const Value& y) {
  return b.require(x.dtype() == y.dtype(), std::string("expected m1 and m2 to have the same dtype, but got: ") +
                                               dtype_name(x.dtype()) + " != " + dtype_name(y.dtype()));
}

// A transposed operand is used as it lies: its dimension numbers change instead.
Value untransposed(const Value& x, Dims& batch, Dims& contract) {
  if (x->op != Op::transpose) return x;
  const Dims& permutation = x->ints;
  Dims free, moved_batch, moved_contract;
  for (int64_t d : batch) moved_batch.push_back(permutation[d]);
  for (int64_t d : contract) moved_contract.push_back(permutation[d]);
  for (int i = 0; i < x.rank(); ++i) {
    if (!batch.contains(i) && !contract.contains(i)) free.push_back(permutation[i]);
  }
  if (!std::is_sorted(free.begin(), free.end())) return x;  // the result's order would change
  batch = moved_batch;
  contract = moved_contract;
  return x->inputs[0];
}

Value product(Build& b, const Value& x, const Value& y, DotDims dims) {
  // An integer product adds up in the operands' own type, as in PyTorch.
  if (x.dtype() == Dtype::pred) return b.fail(Code::unimplemented, "not implemented for bool");
  Value left = untransposed(x, dims.batch_a, dims.contract_a);
  Value right = untransposed(y, dims.batch_b, dims.contract_b);
  return b.dot_general(left, right, dims);
}

Value mm(Build& b, Value x, Value y) {
  if (!x || !y) return Value();
  if (!b.require(x.rank() == 2, "self must be a matrix") || !b.require(y.rank() == 2, "mat2 must be a matrix"))
    return Value();
  if (!b.require(x.size(1) == y.size(0),
                 "mat1 and mat2 shapes cannot be multiplied (" + by(x) + " and " + by(y) + ")")) {
    return Value();
  }
  if (!same_dtype(b, x, y)) return Value();
  return product(b, x, y, {{}, {}, {1}, {0}});
}

Value bmm(Build& b, Value x, Value y) {
  if (!x || !y) return Value();
  if (!b.require(x.rank() == 3, "batch1 must be a 3D tensor") ||
      !b.require(y.rank() == 3, "batch2 must be a 3D tensor"))
    return Value();
  bool fits = x.size(0) == y.size(0) && x.size(2) == y.size(1);
  if (!fits) {
    return b.fail(Code::invalid_argument, "Expected size for first two dimensions of batch2 tensor to be: [" +
                                              std::to_string(x.size(0)) + ", " + std::to_string(x.size(2)) +
                                              "] but got: [" + std::to_string(y.size(0)) + ", " +
                                              std::to_string(y.size(1)) + "].");
  }
  if (!same_dtype(b, x, y)) return Value();
  return product(b, x, y, {{0}, {0}, {2}, {1}});
}

Value times(Build& b, const Value& x, const Scalar& n) {
  if (!x || (!n.is_complex() && n.real() == 1)) return x;
  return b.mul(x, b.constant(x.dtype(), n));
}

// beta * self + alpha * product; the sum is rounded once. beta 0 drops self and any NaN in it.
Value combined(Build& b, const Value& self, const Value& product, const Scalar& beta, const Scalar& alpha) {
  if (!self || !product) return Value();
  if (self.dtype() != product.dtype()) {
    return b.fail(Code::invalid_argument, std::string("self and mat2 must have the same dtype, but got ") +
                                              dtype_name(self.dtype()) + " and " + dtype_name(product.dtype()));
  }
  Dtype d = product.dtype(), wide = accumulate_type(d);
  Value out = times(b, b.convert(product, wide), alpha);
  bool dropped = !beta.is_complex() && beta.real() == 0;
  Value expanded = b.broadcast_to(self, product.dims());
  if (!dropped) out = b.add(out, times(b, b.convert(expanded, wide), beta));
  return b.convert(out, d);
}

Value addmm(Build& b, Value self, Value x, Value y, Scalar beta, Scalar alpha) {
  return combined(b, self, mm(b, x, y), beta, alpha);
}
Value baddbmm(Build& b, Value self, Value x, Value y, Scalar beta, Scalar alpha) {
  return combined(b, self, bmm(b, x, y), beta, alpha);
}
Value addbmm(Build& b, Value self, Value x, Value y, Scalar beta, Scalar alpha) {
  Value products = bmm(b, x, y);
  if (!products) return Value();
  Value wide = b.sum(b.convert(products, accumulate_type(products.dtype())), {0});
  return combined(b, self, b.convert(wide, products.dtype()), beta, alpha);
}

Value mv(Build& b, Value x, Value v) {
  if (!x || !v) return Value();
  bool vector = x.rank() == 2 && v.rank() == 1;
  if (!b.require(vector, "vector + matrix @ vector expected, got " + std::to_string(v.rank()) + ", " +
                             std::to_string(x.rank()) + ", " + std::to_string(v.rank()))) {
    return Value();
  }
  if (!b.require(x.size(1) == v.size(0), "size mismatch, got input (" + std::to_string(x.size(0)) + "), mat (" + by(x) +
                                             "), vec (" + std::to_string(v.size(0)) + ")")) {
    return Value();
  }
  if (!same_dtype(b, x, v)) return Value();
  return product(b, x, v, {{}, {}, {1}, {0}});
}
Value addmv(Build& b, Value self, Value x, Value v, Scalar beta, Scalar alpha) {
  return combined(b, self, mv(b, x, v), beta, alpha);
}

Value dot(Build& b, Value x, Value y) {
  if (!x || !y) return Value();
  if (!b.require(x.rank() == 1 && y.rank() == 1, "1D tensors expected, but got " + std::to_string(x.rank()) + "D and " +
                                                     std::to_string(y.rank()) + "D tensors")) {
    return Value();
  }
  if (!b.require(x.dtype() == y.dtype(), std::string("dot : expected both vectors to have same dtype, but found ") +
                                             dtype_name(x.dtype()) + " and " + dtype_name(y.dtype()))) {
    return Value();
  }
  if (!b.require(x.size(0) == y.size(0), "inconsistent tensor size, expected tensor [" + by(x) + "] and src [" + by(y) +
                                             "] to have the same number of elements, but got " + by(x) + " and " +
                                             by(y) + " elements respectively")) {
    return Value();
  }
  return product(b, x, y, {{}, {}, {0}, {0}});
}
Value vdot(Build& b, Value x, Value y) {
  if (x && is_complex(x.dtype())) return dot(b, b.complex(b.real(x), b.negate(b.imag(x))), y);
  return dot(b, x, y);
}

Value addr(Build& b, Value self, Value x, Value y, Scalar beta, Scalar alpha) {
  if (!self || !x || !y) return Value();
  if (!b.require(x.rank() == 1 && y.rank() == 1, "addr: Expected 1-D argument vec1 and vec2")) return Value();
  Dtype d = result_type(Values{self, x, y});
  Value outer = b.mul(b.reshape(b.convert(x, d), {x.size(0), 1}), b.reshape(b.convert(y, d), {1, y.size(0)}));
  return combined(b, b.convert(self, d), outer, beta, alpha);
}

TP_OP("aten::mm", mm);
TP_OP("aten::bmm", bmm);
TP_OP("aten::addmm", addmm);
TP_OP("aten::baddbmm", baddbmm);
TP_OP("aten::addbmm", addbmm);
TP_OP("aten::mv", mv);
TP_OP("aten::addmv", addmv);
TP_OP("aten::dot", dot);
TP_OP("aten::vdot", vdot);
TP_OP("aten::addr", addr);

}  // namespace
}  // namespace tp
