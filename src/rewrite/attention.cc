#include "rewrite/attention.h"

#include <cmath>

namespace tp {
namespace {

// The operands of both directions. Query heads that share a key head are rows of one product: [b, hk, group * s, d].
struct Attention {
  Value q, k, v;
  std::optional<Value> mask, noise;
  bool causal = false;
  double scale = 1;
  Dtype wide = Dtype::f32;
  int64_t batch = 0, heads = 0, key_heads = 0, group = 0, rows = 0, columns = 0;

  Dims score_dims() const { return {batch, key_heads, group, rows, columns}; }
  Dims flat_dims(int64_t width) const { return {batch, key_heads, group * rows, width}; }
};

Attention read(const Node& node, size_t first, size_t extras) {
  Attention a;
  a.q = node.inputs[first];
  a.k = node.inputs[first + 1];
  a.v = node.inputs[first + 2];
  a.causal = node.ints[0] != 0;
  if (node.ints[1]) a.mask = node.inputs[extras++];
  if (node.ints[2]) a.noise = node.inputs[extras++];
  a.scale = node.number.real();
  a.wide = accumulate_type(a.q.dtype());
  a.batch = a.q.size(0);
  a.heads = a.q.size(1);
  a.key_heads = a.k.size(1);
  a.group = a.key_heads > 0 ? a.heads / a.key_heads : 0;
  a.rows = a.q.size(2);
  a.columns = a.k.size(2);
  return a;
}

// [b, h, …] operands as [b, hk, group, …]; a size-1 head dimension stays one.
Value grouped(Build& b, const Attention& a, const Value& x) {
  bool each = x.size(1) == a.heads && a.heads > 1;
  return b.reshape(x, {x.size(0), each ? a.key_heads : 1, each ? a.group : 1, x.size(2), x.size(3)});
}

Value product(Build& b, const Value& x, const Value& y, int64_t contract_x, int64_t contract_y, Dtype result) {
  return b.dot_general(x, y, {{0, 1}, {0, 1}, {contract_x}, {contract_y}}, result);
}

// A power of two changes no bit of a narrow q; another scale waits for the f32 scores.
bool scale_is_exact(const Attention& a) {
  int exponent;
  return a.q.dtype() == a.wide || std::abs(std::frexp(a.scale, &exponent)) == 0.5;
}

// Scaled and masked, [b, hk, group, s, t] in f32.
Value scores(Build& b, const Attention& a) {
  bool early = scale_is_exact(a);
  Value q = b.reshape(a.q, a.flat_dims(a.q.size(3)));
  if (early) q = b.mul(q, a.scale);
  Value s = product(b, q, a.k, 3, 3, a.wide);
  if (!early) s = b.mul(s, a.scale);
  s = b.reshape(s, a.score_dims());
  if (a.mask) s = b.add(s, b.convert(grouped(b, a, *a.mask), a.wide));
  if (a.causal) {
    Dims square{a.rows, a.columns};
    Value sees = b.compare(Direction::ge, b.iota(Dtype::s32, square, 0), b.iota(Dtype::s32, square, 1));
    s = b.select(sees, s, b.lowest(a.wide));
  }
  return s;
}

}  // namespace

Values expand_sdpa(Build& b, const Node& node, const Target&) {
  Attention a = read(node, 0, 3);
  Value s = scores(b, a);
  Value zero = b.constant_int(a.wide, 0), one = b.constant_int(a.wide, 1);
  Value top = b.reduce(Combine::maximum, s, {4});
  // A row that sees nothing gives 0, not NaN, as in PyTorch.
  Value sees = b.compare(Direction::ne, top, b.lowest(a.wide));
  top = b.select(sees, top, zero);
  Value weights = b.exponential(b.sub(s, b.unsqueeze(top, 4)));
  Value total = b.sum(weights, {4});
  if (a.noise) weights = b.mul(weights, b.convert(grouped(b, a, *a.noise), a.wide));
  Value flat = b.reshape(b.convert(weights, a.v.dtype()), a.flat_dims(a.columns));
  // The sum divides the smaller side: dv numbers a row, not t.
  Value mixed = product(b, flat, a.v, 3, 2, a.wide);
  Value divisor = b.reshape(b.select(sees, total, one), a.flat_dims(1));
  Value out = b.convert(b.div(mixed, divisor), node.type.dtype);
  Value logsumexp = b.select(sees, b.add(top, b.log(b.select(sees, total, one))), zero);
  return {b.reshape(out, node.type.dims), b.reshape(logsumexp, node.more_types[0].dims)};
}

Values expand_sdpa_backward(Build& b, const Node& node, const Target&) {
  Attention a = read(node, 1, 6);
  Dtype narrow = a.q.dtype();
  int64_t width = a.v.size(3);
  Value grad = b.reshape(node.inputs[0], a.flat_dims(width)), out = b.reshape(node.inputs[4], a.flat_dims(width));
  Value q = b.reshape(a.q, a.flat_dims(a.q.size(3)));
  Value row_log = b.reshape(node.inputs[5], {a.batch, a.key_heads, a.group, a.rows, 1});
  Value weights = b.exponential(b.sub(scores(b, a), row_log));
  Dims flat_scores = a.flat_dims(a.columns);

  Value grad_weights = b.reshape(product(b, grad, a.v, 3, 3, a.wide), a.score_dims());
  Value dropped = weights;
  if (a.noise) {
    Value noise = b.convert(grouped(b, a, *a.noise), a.wide);
    grad_weights = b.mul(grad_weights, noise);
    dropped = b.mul(weights, noise);
  }
  // Summing over the rows of a group sums over the query heads that share the key head.
  Value grad_v = product(b, b.reshape(b.convert(dropped, narrow), flat_scores), grad, 2, 2, narrow);
  Value row_sum = b.sum(b.mul(b.convert(grad, a.wide), b.convert(out, a.wide)), {3});
  row_sum = b.reshape(row_sum, {a.batch, a.key_heads, a.group, a.rows, 1});
  Value grad_scores = b.mul(weights, b.sub(grad_weights, row_sum));
  Value flat = b.reshape(b.convert(grad_scores, narrow), flat_scores);
  Value grad_q = b.convert(b.mul(product(b, flat, a.k, 3, 2, a.wide), a.scale), narrow);
  Value grad_k = b.convert(b.mul(product(b, flat, q, 2, 2, a.wide), a.scale), narrow);
  Values results{b.reshape(grad_q, a.q.dims()), grad_k, grad_v};
  if (node.ints[3]) {
    const Dims& mask = a.mask->dims();
    Value each = b.reshape(grad_scores, {a.batch, a.heads, a.rows, a.columns});
    Dims summed;
    for (int i = 0; i < 4; ++i) {
      if (mask[i] != each.size(i)) summed.push_back(i);
    }
    results.push_back(b.convert(b.reshape(b.sum(each, summed), mask), a.mask->dtype()));
  }
  return results;
}

}  // namespace tp
