// scaled_dot_product_attention as one piece. PyTorch's composite checks its arguments, turns a bool mask into 0 and
// -inf, and calls the overrideable op below when the bridge's _fused_sdp_choice says so; neither pads nor repeats key
// heads before. A kernel for the composite itself would lose its gradient, so this one op serves both.

#include <cmath>

#include "ops/uniform.h"

namespace tp {
namespace {

// [.., s, d] as [b, h, s, d]: missing dimensions are 1, further ones join the batch.
Dims four(const Dims& dims) {
  int rank = dims.rank();
  Dims out{1, 1, 1, 1};
  for (int i = 0; i < rank; ++i) {
    int at = i + 4 - rank;
    if (at <= 0) {
      out[0] *= dims[i];
    } else {
      out[at] = dims[i];
    }
  }
  return out;
}

struct Operands {
  Value q, k, v;
  std::optional<Value> mask;
  Dims scores;  // [b, h, s, t]
};

// A mask of any rank that broadcasts to the scores, as four dimensions each 1 or full.
Value mask_of(Build& b, const Operands& o, const Value& mask, const Dims& q) {
  Dims full = q;
  full.back() = o.scores[3];
  Dims common = b.broadcast_dims(mask.dims(), full);
  if (!b.require(common == full,
                 "attn_mask [" + dims_text(mask.dims()) + "] does not broadcast to [" + dims_text(full) + "]") ||
      !b.ok()) {
    return Value();
  }
  return b.reshape(q.rank() > 4 ? b.broadcast_to(mask, full) : mask, four(q.rank() > 4 ? full : mask.dims()));
}

Operands operands(Build& b, const Value& q, const Value& k, const Value& v, const std::optional<Value>& mask) {
  Operands o;
  if (!b.require_floating(q)) return o;
  b.require(q.rank() >= 2 && q.rank() == k.rank() && q.rank() == v.rank(),
            "expected query, key and value of one rank, at least 2");
  b.require(q.dtype() == k.dtype() && q.dtype() == v.dtype(), "expected query, key and value of one dtype");
  b.require(!is_complex(q.dtype()), Code::unimplemented, "not implemented for complex numbers");
  if (!b.ok()) return o;
  o.q = b.reshape(q, four(q.dims()));
  o.k = b.reshape(k, four(k.dims()));
  o.v = b.reshape(v, four(v.dims()));
  if (!b.ok()) return o;
  Dims dq = o.q.dims(), dk = o.k.dims(), dv = o.v.dims();
  bool fits = dq[0] == dk[0] && dq[0] == dv[0] && dk[1] == dv[1] && dq[3] == dk[3] && dk[2] == dv[2] && dk[1] > 0 &&
              dq[1] % dk[1] == 0;
  b.require(fits, "query [" + dims_text(q.dims()) + "], key [" + dims_text(k.dims()) + "] and value [" +
                      dims_text(v.dims()) + "] do not fit together");
  if (!b.ok()) return o;
  o.scores = {dq[0], dq[1], dq[2], dk[2]};
  if (mask) o.mask = mask_of(b, o, *mask, q.dims());
  return o;
}

double scale_of(const Operands& o, std::optional<double> scale) {
  return scale.value_or(1 / std::sqrt(static_cast<double>(o.q.size(3))));
}

struct Dropout {
  std::optional<Value> noise;  // 1 / (1 - p) where a weight is kept, else 0
  Value seed, offset;          // where its bits come from, for the gradient
};

Value noise_from(Build& b, const Value& bits, double p) {
  // 24 bits of each word against p, as every other random op does.
  Value unit =
      b.convert(b.binary(Op::shift_right_logical, bits, b.constant_int(Dtype::u32, 8, bits.dims())), Dtype::f32);
  Value keep = b.compare(Direction::ge, b.mul(unit, 1.0 / (1 << 24)), p);
  return b.select(keep, b.constant(Dtype::f32, p < 1 ? 1 / (1 - p) : 0), b.constant(Dtype::f32, 0.0));
}

Dropout dropout_of(Build& b, const Operands& o, double p) {
  Value none = b.constant_int(Dtype::s64, 0);
  if (p <= 0) return {std::nullopt, none, none};
  Value bits = b.random_bits(o.scores);
  if (!b.ok()) return {};
  // The composite's inputs are the place in the stream; dtype s64 is what the schema's seed and offset have.
  return {noise_from(b, bits, p), b.convert(bits->inputs[0], Dtype::s64), b.convert(bits->inputs[1], Dtype::s64)};
}

// output, logsumexp, cum_seq_q, cum_seq_k, max_q, max_k, philox_seed, philox_offset, debug_attn_mask. An empty Value is
// an undefined tensor; max_q and max_k are constants that the bridge reads as ints.
using Forward = std::tuple<Value, Value, Value, Value, Value, Value, Value, Value, Value>;

Forward fused_attention(Build& b, Value q, Value k, Value v, std::optional<Value> mask, double dropout_p,
                        bool is_causal, bool, std::optional<double> scale) {
  Operands o = operands(b, q, k, v, mask);
  if (!b.ok()) return {};
  Dropout dropout = dropout_of(b, o, dropout_p);
  if (!b.ok()) return {};
  Values inputs{o.q, o.k, o.v};
  if (o.mask) inputs.push_back(*o.mask);
  if (dropout.noise) inputs.push_back(*dropout.noise);
  Dims out = o.q.dims();
  out.back() = o.v.size(3);
  Type log_type{accumulate_type(q.dtype()), Dims{out[0], out[1], out[2]}};
  Values results =
      b.composite("sdpa", inputs, {Type{q.dtype(), out}, log_type},
                  Dims{is_causal, o.mask.has_value(), dropout.noise.has_value()}, Scalar::of(scale_of(o, scale)));
  if (!b.ok()) return {};
  Dims sizes = q.dims();
  sizes.back() = out.back();
  return {b.reshape(results[0], sizes),
          results[1],
          Value(),
          Value(),
          b.constant_int(Dtype::s64, o.scores[2]),
          b.constant_int(Dtype::s64, o.scores[3]),
          dropout.seed,
          dropout.offset,
          Value()};
}
TP_OP("aten::_scaled_dot_product_fused_attention_overrideable", fused_attention);

// PyTorch passes undefined tensors where the forward had none.
std::tuple<Value, Value, Value, Value> fused_attention_backward(
    Build& b, Value grad, Value q, Value k, Value v, std::optional<Value> mask, std::vector<bool> wanted, Value out,
    Value logsumexp, std::optional<Value>, std::optional<Value>, int64_t, int64_t, double dropout_p, bool is_causal,
    std::optional<Value> seed, std::optional<Value> offset, std::optional<double> scale) {
  Operands o = operands(b, q, k, v, mask);
  if (!b.ok()) return {};
  Dims four_out = o.q.dims();
  four_out.back() = o.v.size(3);
  Values inputs{b.reshape(grad, four_out), o.q, o.k, o.v, b.reshape(out, four_out), logsumexp};
  std::vector<Type> types{o.q.type(), o.k.type(), o.v.type()};
  if (o.mask) inputs.push_back(*o.mask);
  bool noise = dropout_p > 0;
  if (noise && !b.require(seed && offset, Code::internal, "dropout without its seed")) return {};
  if (noise) {
    Values place{b.convert(*seed, Dtype::u64), b.convert(*offset, Dtype::u64)};
    inputs.push_back(noise_from(b, b.composite1("philox_bits", place, Type{Dtype::u32, o.scores}), dropout_p));
  }
  bool mask_grad = o.mask && wanted.size() > 3 && wanted[3];
  if (mask_grad) types.push_back(o.mask->type());
  Values grads = b.composite("sdpa_backward", inputs, types, Dims{is_causal, o.mask.has_value(), noise, mask_grad},
                             Scalar::of(scale_of(o, scale)));
  if (!b.ok()) return {};
  auto one = [&](size_t i, const Value& like) { return wanted[i] ? b.reshape(grads[i], like.dims()) : Value(); };
  Value bias;
  if (mask_grad) {
    // four() of a mask beyond rank 4 is its broadcast form, which cannot be folded back.
    if (q.rank() > 4) {
      b.decline("the gradient of a mask of more than 4 dimensions");
      return {};
    }
    bias = b.reshape(grads[3], mask->dims());
  }
  return {one(0, q), one(1, k), one(2, v), bias};
}
TP_OP("aten::_scaled_dot_product_fused_attention_overrideable_backward", fused_attention_backward);

}  // namespace
}  // namespace tp
