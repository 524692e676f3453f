// Losses that reach the backend whole, and their gradients. All compute in the accumulate type and round once.

#include "ops/op.h"
#include "ops/promote.h"

namespace tp {
namespace {

// PyTorch's at::Reduction.
constexpr int64_t kNone = 0, kMean = 1;

Value reduced(Build& b, const Value& losses, int64_t reduction) {
  if (!losses || reduction == kNone) return losses;
  Value sum = b.sum(losses, iota_dims(losses.dims().size()));
  return reduction == kMean ? b.div(sum, static_cast<double>(numel(losses.dims()))) : sum;
}

// Two operands of one dtype and size, and the dtype of the result.
struct Pair {
  Value x, target;
  Dtype result = Dtype::f32;
};

Pair pair_of(Build& b, const Value& x, const Value& target) {
  Pair p;
  p.result = result_type(x, target);
  Dtype wide = accumulate_type(p.result);
  Dims dims = b.broadcast_dims(x.dims(), target.dims());
  p.x = b.broadcast_to(b.convert(x, wide), dims);
  p.target = b.broadcast_to(b.convert(target, wide), dims);
  return p;
}

// The gradient that reaches each element, in the accumulate type.
Value each_gradient(Build& b, const Value& grad, const Pair& p, int64_t reduction, double factor = 1) {
  if (!p.x) return Value();
  Value wide = b.convert(grad, p.x.dtype());
  double scale = reduction == kMean ? factor / static_cast<double>(numel(p.x.dims())) : factor;
  return scale == 1 ? wide : b.mul(wide, scale);
}

Value mse_loss(Build& b, Value x, Value target, int64_t reduction) {
  if (!b.require_floating(x)) return Value();
  Pair p = pair_of(b, x, target);
  Value difference = b.sub(p.x, p.target);
  return b.convert(reduced(b, b.mul(difference, difference), reduction), p.result);
}
TP_OP("aten::mse_loss", mse_loss);

Value mse_loss_backward(Build& b, Value grad, Value x, Value target, int64_t reduction) {
  Pair p = pair_of(b, x, target);
  return b.convert(b.mul(b.sub(p.x, p.target), each_gradient(b, grad, p, reduction, 2)), p.result);
}
TP_OP("aten::mse_loss_backward", mse_loss_backward);

Value smooth_l1_loss(Build& b, Value x, Value target, int64_t reduction, double beta) {
  if (!b.require_floating(x) || !b.require(beta >= 0, "smooth_l1_loss does not support negative values for beta")) {
    return Value();
  }
  Pair p = pair_of(b, x, target);
  Value size = b.abs(b.sub(p.x, p.target)), square = b.mul(b.mul(size, size), 0.5);
  if (beta == 0) return b.convert(reduced(b, size, reduction), p.result);
  Value losses = b.select(b.compare(Direction::lt, size, beta), b.div(square, beta), b.sub(size, 0.5 * beta));
  return b.convert(reduced(b, losses, reduction), p.result);
}
TP_OP("aten::smooth_l1_loss", smooth_l1_loss);

Value huber_loss(Build& b, Value x, Value target, int64_t reduction, double delta) {
  if (!b.require_floating(x) || !b.require(delta > 0, "huber_loss does not support non-positive values for delta")) {
    return Value();
  }
  Pair p = pair_of(b, x, target);
  Value size = b.abs(b.sub(p.x, p.target)), square = b.mul(b.mul(size, size), 0.5);
  Value losses = b.select(b.compare(Direction::le, size, delta), square, b.mul(b.sub(size, 0.5 * delta), delta));
  return b.convert(reduced(b, losses, reduction), p.result);
}
TP_OP("aten::huber_loss", huber_loss);

// The slope is the difference over `width` inside (-bound, bound), and `ends` beyond.
Value clipped_gradient(Build& b, const Value& grad, const Pair& p, int64_t reduction, double bound, double width,
                       double ends) {
  Value difference = b.sub(p.x, p.target);
  if (!difference) return Value();
  Value slope = b.select(
      b.compare(Direction::le, difference, -bound), b.scalar_like(difference, -ends),
      b.select(b.compare(Direction::ge, difference, bound), b.scalar_like(difference, ends), b.div(difference, width)));
  return b.convert(b.mul(slope, each_gradient(b, grad, p, reduction)), p.result);
}

Value smooth_l1_loss_backward(Build& b, Value grad, Value x, Value target, int64_t reduction, double beta) {
  return clipped_gradient(b, grad, pair_of(b, x, target), reduction, beta, beta, 1);
}
TP_OP("aten::smooth_l1_loss_backward", smooth_l1_loss_backward);

Value huber_loss_backward(Build& b, Value grad, Value x, Value target, int64_t reduction, double delta) {
  return clipped_gradient(b, grad, pair_of(b, x, target), reduction, delta, 1, delta);
}
TP_OP("aten::huber_loss_backward", huber_loss_backward);

// Logarithms stop at -100, so that a sure but wrong guess costs a finite loss.
Value binary_cross_entropy(Build& b, Value x, Value target, std::optional<Value> weight, int64_t reduction) {
  if (!b.require_floating(x)) return Value();
  Pair p = pair_of(b, x, target);
  Value floor = b.scalar_like(p.x, -100);
  Value yes = b.maximum(b.log(p.x), floor), no = b.maximum(b.log1p(b.negate(p.x)), floor);
  Value losses = b.sub(b.mul(b.sub(p.target, 1.0), no), b.mul(p.target, yes));
  if (weight) losses = b.mul(losses, b.convert(*weight, losses ? losses.dtype() : Dtype::f32));
  return b.convert(reduced(b, losses, reduction), p.result);
}
TP_OP("aten::binary_cross_entropy", binary_cross_entropy);

Value binary_cross_entropy_backward(Build& b, Value grad, Value x, Value target, std::optional<Value> weight,
                                    int64_t reduction) {
  Pair p = pair_of(b, x, target);
  if (!p.x) return Value();
  Value variance = b.mul(b.sub(b.scalar_like(p.x, 1), p.x), p.x);
  Value slope = b.div(b.sub(p.x, p.target), b.maximum(variance, b.scalar_like(variance, 1e-12)));
  if (weight) slope = b.mul(slope, b.convert(*weight, p.x.dtype()));
  return b.convert(b.mul(slope, each_gradient(b, grad, p, reduction)), p.result);
}
TP_OP("aten::binary_cross_entropy_backward", binary_cross_entropy_backward);

// --- negative log likelihood; classes lie along dimension 1, or 0 of a single sample

struct Classes {
  Value target;  // of the sizes of x without the class dimension; a safe class where it is ignored
  Value ignored;
  Value weight;  // of each target, 0 where it is ignored; in the accumulate type
  int64_t dim = 1;
};

Classes classes_of(Build& b, const Value& x, const Value& target, const std::optional<Value>& weight,
                   int64_t ignore_index) {
  Classes c;
  c.dim = x.rank() == 1 ? 0 : 1;
  int64_t count = x.size(static_cast<int>(c.dim));
  Dims dims = x.dims();
  dims.erase_at(static_cast<size_t>(c.dim));
  b.require(numel(target.dims()) == numel(dims),
            "size mismatch (got input: [" + dims_text(x.dims()) + "], target: [" + dims_text(target.dims()) + "])");
  b.require(!weight || weight->dims() == Dims{count},
            "weight tensor should be defined either for all " + std::to_string(count) + " classes or no classes");
  b.require(is_integral(target.dtype()),
            std::string("expected scalar type Long or Byte but found ") + dtype_name(target.dtype()));
  if (!b.ok()) return c;
  Value wide = b.reshape(b.convert(target, Dtype::s64), dims);
  c.ignored = b.compare(Direction::eq, wide, b.constant_int(Dtype::s64, ignore_index));
  Value safe = b.select(c.ignored, b.constant_int(Dtype::s64, 0), wide);
  c.target = b.check_index(safe, 0, count, "target is out of bounds, it must be below " + std::to_string(count));
  Dtype real = accumulate_type(x.dtype());
  Value each = weight ? b.take(b.convert(*weight, real), c.target, 0) : b.constant(real, 1.0);
  c.weight = b.select(c.ignored, b.constant_int(real, 0), b.broadcast_to(each, dims));
  return c;
}

std::tuple<Value, Value> nll_loss_forward(Build& b, Value x, Value target, std::optional<Value> weight,
                                          int64_t reduction, int64_t ignore_index) {
  if (!b.require_floating(x)) return {};
  b.require(x.rank() >= 1 && x.rank() != 3, "input tensor should be 1D, 2D or 4D, got [" + dims_text(x.dims()) + "]");
  if (!b.ok()) return {};
  Classes c = classes_of(b, x, target, weight, ignore_index);
  if (!b.ok()) return {};
  Value chosen;
  if (numel(x.dims()) == 0) {
    chosen = b.constant_int(x.dtype(), 0, c.target.dims());
  } else {
    chosen = b.squeeze(b.take_along(x, b.unsqueeze(c.target, c.dim), c.dim), c.dim);
  }
  // A probability of 0 that is ignored must not become inf * 0.
  Value product = b.mul(b.negate(b.convert(chosen, c.weight.dtype())), c.weight);
  Value losses = b.select(c.ignored, b.scalar_like(product, 0), product);
  if (reduction == kNone && x.rank() > 1) return {b.convert(losses, x.dtype()), b.constant(x.dtype(), 0.0)};
  Dims all = iota_dims(losses.dims().size());
  Value total = b.sum(c.weight, all), sum = b.sum(losses, all);
  if (reduction == kMean) sum = b.div(sum, total);
  // A single sample has its weight as total, whatever the reduction.
  return {b.convert(sum, x.dtype()), b.convert(total, x.dtype())};
}
TP_OP("aten::nll_loss_forward", nll_loss_forward);
TP_OP("aten::nll_loss2d_forward", nll_loss_forward);

Value nll_loss_backward(Build& b, Value grad, Value x, Value target, std::optional<Value> weight, int64_t reduction,
                        int64_t ignore_index, Value total_weight) {
  Classes c = classes_of(b, x, target, weight, ignore_index);
  if (!b.ok()) return Value();
  Dtype real = c.weight.dtype();
  Value each = b.mul(b.negate(b.convert(grad, real)), c.weight);
  if (reduction == kMean) each = b.div(each, b.convert(total_weight, real));
  // Ignored samples get 0, even where the total weight is 0.
  each = b.convert(b.select(c.ignored, b.constant_int(real, 0), each), x.dtype());
  Value mine = b.compare(Direction::eq, b.iota(Dtype::s64, x.dims(), c.dim), b.spread(c.target, x.dims(), {c.dim}));
  return b.select(mine, b.spread(each, x.dims(), {c.dim}), b.constant_int(x.dtype(), 0));
}
TP_OP("aten::nll_loss_backward", nll_loss_backward);
TP_OP("aten::nll_loss2d_backward", nll_loss_backward);

}  // namespace
}  // namespace tp
