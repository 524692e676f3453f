// Padding: by a number, by a mirror, by the edge; and its gradients.

#include "ops/op.h"

namespace tp {
namespace {

struct Pads {
  Dims low, high;
};

// The argument counts pairs from the last dimension inwards.
Pads pads_of(const Value& x, const Dims& pad) {
  Pads p{Dims(x.rank(), 0), Dims(x.rank(), 0)};
  for (size_t i = 0; i < pad.size() / 2; ++i) {
    p.low[x.rank() - 1 - i] = pad[2 * i];
    p.high[x.rank() - 1 - i] = pad[2 * i + 1];
  }
  return p;
}

Value constant_pad(Build& b, Value x, Dims pad, Scalar value) {
  if (!x) return Value();
  if (!b.require(pad.size() % 2 == 0,
                 "Length of pad must be even but instead it equals " + std::to_string(pad.size()))) {
    return Value();
  }
  bool fits = pad.size() / 2 <= static_cast<size_t>(x.rank());
  if (!b.require(
          fits, "Length of pad should be no more than twice the number of dimensions of the input. Pad length is " +
                    std::to_string(pad.size()) + " while the input has " + std::to_string(x.rank()) + " dimensions.")) {
    return Value();
  }
  Pads p = pads_of(x, pad);
  for (int i = 0; i < x.rank(); ++i) {
    int64_t size = x.size(i) + p.low[i] + p.high[i];
    if (!b.require(size >= 0, "The input size " + std::to_string(x.size(i)) + ", plus negative padding " +
                                  std::to_string(p.low[i]) + " and " + std::to_string(p.high[i]) +
                                  ", resulted in a negative output size, which is invalid. Check dimension " +
                                  std::to_string(i) + " of your input.")) {
      return Value();
    }
  }
  return b.pad(x, b.constant(x.dtype(), value), p.low, p.high, Dims(x.rank(), 0));
}

Value pad_dim(Build& b, const Value& x, int64_t dim, int64_t low, int64_t high) {
  Dims lows(x.rank(), 0), highs(x.rank(), 0);
  lows[dim] = low;
  highs[dim] = high;
  return b.pad(x, b.constant_int(x.dtype(), 0), lows, highs, Dims(x.rank(), 0));
}

bool check_edge(Build& b, const Value& x, const Dims& pad, const Pads& p, bool reflect) {
  int spatial = static_cast<int>(pad.size() / 2);
  bool ranked = x.rank() == spatial + 1 || x.rank() == spatial + 2;
  if (!b.require(ranked, "padding of " + std::to_string(spatial) + " dimensions expected an input of " +
                             std::to_string(spatial + 1) + " or " + std::to_string(spatial + 2) + " dimensions, got " +
                             type_text(x.type()))) {
    return false;
  }
  for (int d = x.rank() - spatial; d < x.rank(); ++d) {
    int64_t n = x.size(d), low = p.low[d], high = p.high[d];
    std::string at = "padding (" + std::to_string(low) + ", " + std::to_string(high) + ") at dimension " +
                     std::to_string(d) + " of input [" + dims_text(x.dims()) + "]";
    bool mirrored = !reflect || (low < n && high < n);
    if (!b.require(mirrored,
                   "Argument #4: Padding size should be less than the corresponding input dimension, but "
                   "got: " +
                       at)) {
      return false;
    }
    if (!b.require(n > 0 && n + low + high > 0, "input is too small for " + at)) return false;
  }
  return true;
}

// A mirror without the edge itself, or the edge repeated. A negative padding cuts what the positive one left.
template <bool reflect>
Value edge_pad(Build& b, Value x, Dims pad) {
  if (!x) return Value();
  Pads p = pads_of(x, pad);
  if (!check_edge(b, x, pad, p, reflect)) return Value();
  Value out = x;
  for (int d = 0; d < x.rank(); ++d) {
    int64_t n = x.size(d), low = std::max<int64_t>(p.low[d], 0), high = std::max<int64_t>(p.high[d], 0);
    auto edge = [&](int64_t mirror, int64_t at, int64_t count) {
      if (reflect) return b.reverse(b.slice_dim(out, d, mirror, mirror + count), {d});
      Dims sizes = out.dims();
      sizes[d] = count;
      return b.broadcast_to(b.slice_dim(out, d, at, at + 1), sizes);
    };
    Values parts;
    if (low) parts.push_back(edge(1, 0, low));
    parts.push_back(out);
    if (high) parts.push_back(edge(n - 1 - high, n - 1, high));
    out = b.concatenate(parts, d);
    out = pad_dim(b, out, d, std::min<int64_t>(p.low[d], 0), std::min<int64_t>(p.high[d], 0));
  }
  return out;
}

// What was copied from an element adds up in it.
template <bool reflect>
Value edge_pad_backward(Build& b, Value grad, Value x, Dims pad) {
  if (!grad || !x) return Value();
  Pads p = pads_of(x, pad);
  if (!check_edge(b, x, pad, p, reflect)) return Value();
  Value g = b.convert(grad, accumulate_type(grad.dtype()));
  for (int d = 0; d < x.rank(); ++d) {
    int64_t n = x.size(d), low = std::max<int64_t>(p.low[d], 0), high = std::max<int64_t>(p.high[d], 0);
    g = pad_dim(b, g, d, std::max<int64_t>(-p.low[d], 0), std::max<int64_t>(-p.high[d], 0));
    Value whole = g;
    g = b.slice_dim(whole, d, low, low + n);
    // Adds the edge from `from` on, whose first element (or all of it) belongs at `at`.
    auto add_edge = [&](int64_t from, int64_t count, int64_t at) {
      if (count == 0) return;
      Value edge = b.slice_dim(whole, d, from, from + count);
      edge = reflect ? b.reverse(edge, {d}) : b.keep_dims(b.sum(edge, {d}), edge.dims(), {d}, true);
      g = b.add(g, pad_dim(b, edge, d, at, n - at - (reflect ? count : 1)));
    };
    add_edge(0, low, reflect ? 1 : 0);
    add_edge(low + n, high, reflect ? n - 1 - high : n - 1);
  }
  return b.convert(g, grad.dtype());
}

TP_OP("aten::constant_pad_nd", constant_pad);
TP_OP("aten::reflection_pad1d", edge_pad<true>);
TP_OP("aten::reflection_pad2d", edge_pad<true>);
TP_OP("aten::reflection_pad3d", edge_pad<true>);
TP_OP("aten::replication_pad1d", edge_pad<false>);
TP_OP("aten::replication_pad2d", edge_pad<false>);
TP_OP("aten::replication_pad3d", edge_pad<false>);
TP_OP("aten::reflection_pad1d_backward", edge_pad_backward<true>);
TP_OP("aten::reflection_pad2d_backward", edge_pad_backward<true>);
TP_OP("aten::reflection_pad3d_backward", edge_pad_backward<true>);
TP_OP("aten::replication_pad1d_backward", edge_pad_backward<false>);
TP_OP("aten::replication_pad2d_backward", edge_pad_backward<false>);
TP_OP("aten::replication_pad3d_backward", edge_pad_backward<false>);

}  // namespace
}  // namespace tp
