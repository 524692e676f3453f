// torch.nn.utils.weight_norm: w = g v / |v|, with a length for each index of one dimension.

#include "ops/op.h"

namespace tp {
namespace {

struct Slices {
  Dims others;  // the dimensions that a length is taken over
  Value v;      // in the accumulate type
};

Slices slices_of(Build& b, const Value& v, int64_t dim) {
  Slices s;
  if (!v || !b.require_floating(v)) return s;
  int64_t kept = b.wrap_dim(dim, v.rank());
  for (int i = 0; i < v.rank(); ++i) {
    if (i != kept) s.others.push_back(i);
  }
  s.v = b.convert(v, accumulate_type(v.dtype()));
  return s;
}

Value summed(Build& b, const Slices& s, const Value& x) {
  return b.keep_dims(b.sum(x, s.others), x.dims(), s.others, true);
}

std::tuple<Value, Value> weight_norm(Build& b, Value v, Value g, int64_t dim) {
  Slices s = slices_of(b, v, dim);
  if (!s.v || !g) return {};
  Value length = b.sqrt(summed(b, s, b.mul(s.v, s.v)));
  Value w = b.mul(s.v, b.div(b.convert(g, length.dtype()), length));
  return {b.convert(w, v.dtype()), length};
}

std::tuple<Value, Value> weight_norm_backward(Build& b, Value grad, Value v, Value g, Value length, int64_t dim) {
  Slices s = slices_of(b, v, dim);
  if (!s.v || !grad || !g || !length) return {};
  Dtype wide = s.v.dtype();
  Value gw = b.convert(grad, wide), n = b.convert(length, wide);
  Value along = b.div(summed(b, s, b.mul(gw, s.v)), n);  // by g
  Value across = b.sub(gw, b.mul(s.v, b.div(along, n)));
  Value gv = b.mul(b.div(b.convert(g, wide), n), across);
  return {b.convert(gv, v.dtype()), b.convert(along, g.dtype())};
}

TP_OP("aten::_weight_norm_interface", weight_norm);
TP_OP("aten::_weight_norm_interface_backward", weight_norm_backward);

}  // namespace
}  // namespace tp
