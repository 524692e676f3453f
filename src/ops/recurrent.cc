// The fused cells of torch.nn.LSTM and GRU. Gates are [batch, count * hidden], a gate after the other.

#include <utility>

#include "ops/op.h"

namespace tp {
namespace {

Value with_bias(Build& b, const Value& gates, const std::optional<Value>& bias) {
  Value wide = b.convert(gates, accumulate_type(gates.dtype()));
  return bias ? b.add(wide, b.convert(*bias, wide.dtype())) : wide;
}

// Gate k of `count`.
Value gate(Build& b, const Value& gates, int64_t count, int64_t k) {
  if (!gates) return gates;
  int64_t hidden = gates.size(1) / count;
  return b.slice_dim(gates, 1, k * hidden, (k + 1) * hidden);
}

Value one_minus(Build& b, const Value& x) { return x ? b.sub(b.like(x, 1), x) : Value(); }
// Gradients through the two activations, by their results.
Value through_logistic(Build& b, const Value& g, const Value& y) { return b.mul(g, b.mul(y, one_minus(b, y))); }
Value through_tanh(Build& b, const Value& g, const Value& y) { return b.mul(g, one_minus(b, b.mul(y, y))); }

bool are_gates(Build& b, const Value& input, const Value& hidden, const Value& state, int64_t count) {
  return input && hidden && state && b.require_floating(input) &&
         b.require(input.rank() == 2 && state.rank() == 2 && input.dims() == hidden.dims() &&
                       input.size(1) == count * state.size(1),
                   "expected input and hidden gates of " + std::to_string(count) + " times the hidden size, got " +
                       type_text(input.type()) + ", " + type_text(hidden.type()) + " and " + type_text(state.type()));
}

using ThreeValues = std::tuple<Value, Value, Value>;

// Hochreiter and Schmidhuber 1997 with a forget gate. The workspace holds the gates i, f, g, o after activation.
ThreeValues lstm_cell(Build& b, Value input_gates, Value hidden_gates, Value cx, std::optional<Value> input_bias,
                      std::optional<Value> hidden_bias) {
  if (!are_gates(b, input_gates, hidden_gates, cx, 4)) return {};
  Dtype kept = cx.dtype();
  Value gates = b.add(with_bias(b, input_gates, input_bias), with_bias(b, hidden_gates, hidden_bias));
  Value i = b.logistic(gate(b, gates, 4, 0)), f = b.logistic(gate(b, gates, 4, 1)), g = b.tanh(gate(b, gates, 4, 2)),
        o = b.logistic(gate(b, gates, 4, 3));
  Value cy = b.add(b.mul(f, b.convert(cx, f.dtype())), b.mul(i, g));
  Value hy = b.mul(o, b.tanh(cy));
  return {b.convert(hy, kept), b.convert(cy, kept), b.convert(b.concatenate({i, f, g, o}, 1), kept)};
}

ThreeValues lstm_cell_backward(Build& b, std::optional<Value> grad_hy, std::optional<Value> grad_cy, Value cx, Value cy,
                               Value workspace, bool has_bias) {
  if (!cx || !cy || !workspace) return {};
  Dtype kept = workspace.dtype(), wide = accumulate_type(kept);
  auto widened = [&](const std::optional<Value>& x) {
    return x ? b.convert(*x, wide) : b.constant(wide, 0.0, cx.dims());
  };
  Value gh = widened(grad_hy), gates = b.convert(workspace, wide);
  Value i = gate(b, gates, 4, 0), f = gate(b, gates, 4, 1), g = gate(b, gates, 4, 2), o = gate(b, gates, 4, 3);
  Value squashed = b.tanh(b.convert(cy, wide));
  Value gc = b.add(widened(grad_cy), through_tanh(b, b.mul(gh, o), squashed));
  Value grad =
      b.concatenate({through_logistic(b, b.mul(gc, g), i), through_logistic(b, b.mul(gc, b.convert(cx, wide)), f),
                     through_tanh(b, b.mul(gc, i), g), through_logistic(b, b.mul(gh, squashed), o)},
                    1);
  Value grad_bias = has_bias ? b.convert(b.sum(grad, {0}), kept) : Value();
  return {b.convert(grad, kept), b.convert(b.mul(gc, f), cx.dtype()), grad_bias};
}

// Cho et al. 2014, with the reset gate after the product. The workspace holds r, z, n, hx and the hidden part of n.
std::pair<Value, Value> gru_cell_values(Build& b, const Value& input, const Value& hidden, const Value& hx) {
  Value r = b.logistic(b.add(gate(b, input, 3, 0), gate(b, hidden, 3, 0)));
  Value z = b.logistic(b.add(gate(b, input, 3, 1), gate(b, hidden, 3, 1)));
  Value hn = gate(b, hidden, 3, 2);
  Value n = b.tanh(b.add(gate(b, input, 3, 2), b.mul(r, hn)));
  return {b.add(n, b.mul(z, b.sub(hx, n))), b.concatenate({r, z, n, hx, hn}, 1)};
}

std::tuple<Value, Value> gru_cell(Build& b, Value input_gates, Value hidden_gates, Value hx,
                                  std::optional<Value> input_bias, std::optional<Value> hidden_bias) {
  if (!are_gates(b, input_gates, hidden_gates, hx, 3)) return {};
  Value input = with_bias(b, input_gates, input_bias), hidden = with_bias(b, hidden_gates, hidden_bias);
  if (!input || !hidden) return {};
  auto [hy, workspace] = gru_cell_values(b, input, hidden, b.convert(hx, input.dtype()));
  return {b.convert(hy, hx.dtype()), b.convert(workspace, hx.dtype())};
}

std::tuple<Value, Value, Value, Value, Value> gru_cell_backward(Build& b, Value grad_hy, Value workspace,
                                                                bool has_bias) {
  if (!grad_hy || !workspace) return {};
  Dtype kept = workspace.dtype(), wide = accumulate_type(kept);
  Value g = b.convert(grad_hy, wide), saved = b.convert(workspace, wide);
  Value r = gate(b, saved, 5, 0), z = gate(b, saved, 5, 1), n = gate(b, saved, 5, 2), hx = gate(b, saved, 5, 3),
        hn = gate(b, saved, 5, 4);
  Value gz = through_logistic(b, b.mul(g, b.sub(hx, n)), z);
  Value gn = through_tanh(b, b.mul(g, one_minus(b, z)), n);
  Value gr = through_logistic(b, b.mul(gn, hn), r);
  Value input = b.concatenate({gr, gz, gn}, 1), hidden = b.concatenate({gr, gz, b.mul(gn, r)}, 1);
  auto bias = [&](const Value& gates) { return has_bias ? b.convert(b.sum(gates, {0}), kept) : Value(); };
  return {b.convert(input, kept), b.convert(hidden, kept), b.convert(b.mul(g, z), kept), bias(input), bias(hidden)};
}

TP_OP("aten::_thnn_fused_lstm_cell", lstm_cell);
TP_OP("aten::_thnn_fused_lstm_cell_backward_impl", lstm_cell_backward);
TP_OP("aten::_thnn_fused_gru_cell", gru_cell);
TP_OP("aten::_thnn_fused_gru_cell_backward", gru_cell_backward);

}  // namespace
}  // namespace tp
