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

// In the accumulate type: a sum with it is rounded once. CPU plugins are several times slower when a half product's
// result is a half (measured on API 0.57, 0.89 and 0.115: up to 20 times from 2 rows on).
Value product(Build& b, const Value& x, const Value& y, DotDims dims) {
  // An integer product adds up in the operands' own type, as in PyTorch.
  if (x.dtype() == Dtype::pred) return b.fail(Code::unimplemented, "not implemented for bool");
  Value left = untransposed(x, dims.batch_a, dims.contract_a);
  Value right = untransposed(y, dims.batch_b, dims.contract_b);
  return b.dot_general(left, right, dims, accumulate_type(x.dtype()));
}

Value wide_mm(Build& b, const Value& x, const Value& y) {
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

Value wide_bmm(Build& b, const Value& x, const Value& y) {
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

// beta * self + alpha * product, in `result`. beta 0 drops self and any NaN in it.
Value combined(Build& b, const Value& self, const Value& product, const Scalar& beta, const Scalar& alpha,
               Dtype result) {
  if (!self || !product) return Value();
  Value out = times(b, product, alpha);
  bool dropped = !beta.is_complex() && beta.real() == 0;
  Value expanded = b.broadcast_to(self, product.dims());
  if (!dropped) out = b.add(out, times(b, b.convert(expanded, product.dtype()), beta));
  return b.convert(out, result);
}

bool like_self(Build& b, const Value& self, const Value& x) {
  if (!self || !x) return false;
  return b.require(self.dtype() == x.dtype(), std::string("self and mat2 must have the same dtype, but got ") +
                                                  dtype_name(self.dtype()) + " and " + dtype_name(x.dtype()));
}

using Product = Value (*)(Build&, const Value&, const Value&);

template <Product wide_product>
Value plain(Build& b, Value x, Value y) {
  Value wide = wide_product(b, x, y);
  return wide ? b.convert(wide, x.dtype()) : wide;
}
template <Product wide_product>
Value plain_as(Build& b, Value x, Value y, Dtype result) {
  return b.convert(wide_product(b, x, y), result);
}
template <Product wide_product>
Value added(Build& b, Value self, Value x, Value y, Scalar beta, Scalar alpha) {
  if (!like_self(b, self, x)) return Value();
  return combined(b, self, wide_product(b, x, y), beta, alpha, x.dtype());
}
// With the result's dtype given; self has either.
template <Product wide_product>
Value added_as(Build& b, Value self, Value x, Value y, Dtype result, Scalar beta, Scalar alpha) {
  return combined(b, self, wide_product(b, x, y), beta, alpha, result);
}

Value addbmm(Build& b, Value self, Value x, Value y, Scalar beta, Scalar alpha) {
  Value products = wide_bmm(b, x, y);
  if (!products || !like_self(b, self, x)) return Value();
  return combined(b, self, b.sum(products, {0}), beta, alpha, x.dtype());
}

Value wide_mv(Build& b, const Value& x, const Value& v) {
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
  return b.convert(product(b, x, y, {{}, {}, {0}, {0}}), x.dtype());
}
Value vdot(Build& b, Value x, Value y) {
  if (x && is_complex(x.dtype())) return dot(b, b.complex(b.real(x), b.negate(b.imag(x))), y);
  return dot(b, x, y);
}

Value addr(Build& b, Value self, Value x, Value y, Scalar beta, Scalar alpha) {
  if (!self || !x || !y) return Value();
  if (!b.require(x.rank() == 1 && y.rank() == 1, "addr: Expected 1-D argument vec1 and vec2")) return Value();
  Dtype d = result_type(Values{self, x, y}), wide = accumulate_type(d);
  Value outer = b.mul(b.reshape(b.convert(x, wide), {x.size(0), 1}), b.reshape(b.convert(y, wide), {1, y.size(0)}));
  return combined(b, self, outer, beta, alpha, d);
}

Value addmm_activation(Build& b, Value self, Value x, Value y, Scalar beta, Scalar alpha, bool use_gelu) {
  Value sum = added<wide_mm>(b, self, x, y, beta, alpha);
  if (!sum) return sum;
  const char* name = use_gelu ? "aten::gelu" : "aten::relu";
  Arg args[] = {sum, std::string_view("tanh")};
  return find_op(name)->lower(b, args)[0];
}

TP_OP("aten::mm", plain<wide_mm>);
TP_OP("aten::bmm", plain<wide_bmm>);
TP_OP("aten::addmm", added<wide_mm>);
TP_OP("aten::_addmm_activation", addmm_activation);
TP_OP("aten::baddbmm", added<wide_bmm>);
TP_OP("aten::mm.dtype", plain_as<wide_mm>);
TP_OP("aten::bmm.dtype", plain_as<wide_bmm>);
TP_OP("aten::addmm.dtype", added_as<wide_mm>);
TP_OP("aten::baddbmm.dtype", added_as<wide_bmm>);
TP_OP("aten::addbmm", addbmm);
TP_OP("aten::mv", plain<wide_mv>);
TP_OP("aten::addmv", added<wide_mv>);
TP_OP("aten::dot", dot);
TP_OP("aten::vdot", vdot);
TP_OP("aten::addr", addr);

}  // namespace
}  // namespace tp
