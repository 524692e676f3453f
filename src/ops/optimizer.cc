// PyTorch's fused optimizer steps. They write lists in place: results come in the order of the written arguments.

#include "ops/op.h"

namespace tp {
namespace {

// What the parameters of one call share.
struct Shared {
  Value lr;  // f32 scalar; it changes every step, so it travels from the first
  std::optional<Value> grad_scale, found_inf;
};

Value travelling(Build& b, double number) {
  Value value = b.constant(Dtype::f32, number);
  if (value) value->runtime_number = true;
  return value;
}

Value as_scalar(Build& b, const Value& x) { return x ? b.reshape(b.convert(x, Dtype::f32), {}) : Value(); }

// The value in the type that the step computes in.
Value wide(Build& b, const Value& x) { return x ? b.convert(x, accumulate_type(x.dtype())) : Value(); }
Value like_wide(Build& b, const Value& scalar, const Value& x) { return b.convert(scalar, x ? x.dtype() : Dtype::f32); }

// Keeps the old value where an overflow was found.
Value unless_found(Build& b, const Shared& shared, const Value& fresh, const Value& old) {
  if (!old) return Value();
  Value out = b.convert(fresh, old.dtype());
  if (!shared.found_inf) return out;
  Value found = b.compare(Direction::ne, as_scalar(b, *shared.found_inf), 0);
  return b.select(found, old, out);
}

Value unscaled(Build& b, const Shared& shared, const Value& grad) {
  Value g = wide(b, grad);
  if (!shared.grad_scale || !g) return g;
  return b.div(g, like_wide(b, as_scalar(b, *shared.grad_scale), g));
}

// The rate of a `tensor_lr` form. A number is one that changes every step.
Value rate_of(Build& b, const Value& lr) {
  Value rate = as_scalar(b, lr);
  return rate && rate->op == Op::constant ? travelling(b, rate->number.real()) : rate;
}

// Written lists, in the order of the arguments.
Values in_order(std::initializer_list<const Values*> lists) {
  Values out;
  for (const Values* list : lists) out.insert(out.end(), list->begin(), list->end());
  return out;
}

struct AdamOptions {
  double beta1, beta2, weight_decay, eps;
  bool amsgrad, maximize, decoupled;  // decoupled weight decay is AdamW
};

// One parameter's lists and what comes out of them.
struct AdamState {
  Value param, grad, mean, square, top, step;
};

// Kingma and Ba 2014, arXiv:1412.6980; Loshchilov and Hutter 2017, arXiv:1711.05101.
AdamState adam_step(Build& b, const Shared& shared, const AdamOptions& o, const AdamState& s) {
  Value p = wide(b, s.param), grad = unscaled(b, shared, s.grad);
  if (!p || !grad || !s.step) return {};
  Value lr = like_wide(b, shared.lr, p);
  Value g = b.convert(o.maximize ? b.negate(grad) : grad, p.dtype());
  if (o.weight_decay != 0) {
    if (o.decoupled)
      p = b.sub(p, b.mul(p, b.mul(lr, o.weight_decay)));
    else
      g = b.add(g, b.mul(p, o.weight_decay));
  }
  Value mean = b.convert(s.mean, p.dtype()), square = b.convert(s.square, p.dtype());
  mean = b.add(mean, b.mul(b.sub(g, mean), 1 - o.beta1));
  square = b.add(b.mul(square, o.beta2), b.mul(b.mul(g, g), 1 - o.beta2));
  Value t = b.convert(b.reshape(s.step, {}), p.dtype());
  Value one = b.constant(p.dtype(), 1.0);
  Value correction1 = b.sub(one, b.power(b.constant(p.dtype(), o.beta1), t));
  Value correction2 = b.sqrt(b.sub(one, b.power(b.constant(p.dtype(), o.beta2), t)));
  Value top;
  Value spread = square;
  if (o.amsgrad) {
    top = b.maximum(b.convert(s.top, p.dtype()), square);
    spread = top;
  }
  Value denominator = b.add(b.div(b.sqrt(spread), correction2), o.eps);
  p = b.sub(p, b.mul(b.div(lr, correction1), b.div(mean, denominator)));

  AdamState out;
  out.param = unless_found(b, shared, p, s.param);
  out.grad = shared.grad_scale ? b.convert(grad, s.grad.dtype()) : s.grad;
  out.mean = unless_found(b, shared, mean, s.mean);
  out.square = unless_found(b, shared, square, s.square);
  if (o.amsgrad) out.top = unless_found(b, shared, top, s.top);
  return out;
}

Values adam_lists(Build& b, const Shared& shared, const AdamOptions& o, const Values& params, const Values& grads,
                  const Values& means, const Values& squares, const Values& tops, const Values& steps) {
  Values out_params, out_grads, out_means, out_squares, out_tops;
  for (size_t i = 0; i < params.size() && b.ok(); ++i) {
    AdamState s =
        adam_step(b, shared, o, {params[i], grads[i], means[i], squares[i], o.amsgrad ? tops[i] : Value(), steps[i]});
    out_params.push_back(s.param);
    out_grads.push_back(s.grad);
    out_means.push_back(s.mean);
    out_squares.push_back(s.square);
    if (o.amsgrad) out_tops.push_back(s.top);
  }
  if (!o.amsgrad) out_tops = tops;  // written by nobody
  return in_order({&out_params, &out_grads, &out_means, &out_squares, &out_tops});
}

template <bool decoupled>
Values fused_adam(Build& b, Values params, Values grads, Values means, Values squares, Values tops, Values steps,
                  double lr, double beta1, double beta2, double weight_decay, double eps, bool amsgrad, bool maximize,
                  std::optional<Value> grad_scale, std::optional<Value> found_inf) {
  Shared shared{travelling(b, lr), grad_scale, found_inf};
  return adam_lists(b, shared, {beta1, beta2, weight_decay, eps, amsgrad, maximize, decoupled}, params, grads, means,
                    squares, tops, steps);
}

template <bool decoupled>
Values fused_adam_tensor_lr(Build& b, Values params, Values grads, Values means, Values squares, Values tops,
                            Values steps, Value lr, double beta1, double beta2, double weight_decay, double eps,
                            bool amsgrad, bool maximize, std::optional<Value> grad_scale,
                            std::optional<Value> found_inf) {
  Shared shared{rate_of(b, lr), grad_scale, found_inf};
  return adam_lists(b, shared, {beta1, beta2, weight_decay, eps, amsgrad, maximize, decoupled}, params, grads, means,
                    squares, tops, steps);
}

struct SgdOptions {
  double weight_decay, momentum, dampening;
  bool nesterov, maximize, is_first_step;
};

// With Sutskever's momentum as torch.optim.SGD has it: the rate is outside the buffer.
Values sgd_lists(Build& b, const Shared& shared, const SgdOptions& o, const Values& params, const Values& grads,
                 const Values& buffers) {
  Values out_params, out_grads, out_buffers;
  for (size_t i = 0; i < params.size() && b.ok(); ++i) {
    Value p = wide(b, params[i]), grad = unscaled(b, shared, grads[i]);
    if (!p || !grad) return {};
    Value g = b.convert(o.maximize ? b.negate(grad) : grad, p.dtype());
    if (o.weight_decay != 0) g = b.add(g, b.mul(p, o.weight_decay));
    if (o.momentum != 0) {
      Value kept = b.convert(buffers[i], p.dtype());
      Value buffer = o.is_first_step ? g : b.add(b.mul(kept, o.momentum), b.mul(g, 1 - o.dampening));
      g = o.nesterov ? b.add(g, b.mul(buffer, o.momentum)) : buffer;
      out_buffers.push_back(unless_found(b, shared, buffer, buffers[i]));
    }
    out_params.push_back(unless_found(b, shared, b.sub(p, b.mul(like_wide(b, shared.lr, p), g)), params[i]));
    out_grads.push_back(shared.grad_scale ? b.convert(grad, grads[i].dtype()) : grads[i]);
  }
  if (o.momentum == 0) out_buffers = buffers;  // written by nobody
  return in_order({&out_params, &out_grads, &out_buffers});
}

Values fused_sgd(Build& b, Values params, Values grads, Values buffers, double weight_decay, double momentum, double lr,
                 double dampening, bool nesterov, bool maximize, bool is_first_step, std::optional<Value> grad_scale,
                 std::optional<Value> found_inf) {
  return sgd_lists(b, {travelling(b, lr), grad_scale, found_inf},
                   {weight_decay, momentum, dampening, nesterov, maximize, is_first_step}, params, grads, buffers);
}

Values fused_sgd_tensor_lr(Build& b, Values params, Values grads, Values buffers, double weight_decay, double momentum,
                           Value lr, double dampening, bool nesterov, bool maximize, bool is_first_step,
                           std::optional<Value> grad_scale, std::optional<Value> found_inf) {
  return sgd_lists(b, {rate_of(b, lr), grad_scale, found_inf},
                   {weight_decay, momentum, dampening, nesterov, maximize, is_first_step}, params, grads, buffers);
}

struct AdagradOptions {
  double lr_decay, weight_decay, eps;
  bool maximize;
};

// Duchi, Hazan and Singer 2011, with the rate falling as lr / (1 + (step - 1) lr_decay).
Values adagrad_lists(Build& b, const Shared& shared, const AdagradOptions& o, const Values& params, const Values& grads,
                     const Values& sums, const Values& steps) {
  Values out_params, out_grads, out_sums;
  for (size_t i = 0; i < params.size() && b.ok(); ++i) {
    Value p = wide(b, params[i]), grad = unscaled(b, shared, grads[i]);
    if (!p || !grad || !steps[i]) return {};
    Value g = b.convert(o.maximize ? b.negate(grad) : grad, p.dtype());
    if (o.weight_decay != 0) g = b.add(g, b.mul(p, o.weight_decay));
    Value before = b.sub(b.convert(b.reshape(steps[i], {}), p.dtype()), 1.0);
    Value rate = b.div(like_wide(b, shared.lr, p), b.add(b.mul(before, o.lr_decay), 1.0));
    Value sum = b.add(b.convert(sums[i], p.dtype()), b.mul(g, g));
    Value fresh = b.sub(p, b.mul(rate, b.div(g, b.add(b.sqrt(sum), o.eps))));
    out_params.push_back(unless_found(b, shared, fresh, params[i]));
    out_grads.push_back(shared.grad_scale ? b.convert(grad, grads[i].dtype()) : grads[i]);
    out_sums.push_back(unless_found(b, shared, sum, sums[i]));
  }
  return in_order({&out_params, &out_grads, &out_sums});  // the steps are only read
}

Values fused_adagrad(Build& b, Values params, Values grads, Values sums, Values steps, double lr, double lr_decay,
                     double weight_decay, double eps, bool maximize, std::optional<Value> grad_scale,
                     std::optional<Value> found_inf) {
  return adagrad_lists(b, {travelling(b, lr), grad_scale, found_inf}, {lr_decay, weight_decay, eps, maximize}, params,
                       grads, sums, steps);
}

Values fused_adagrad_tensor_lr(Build& b, Values params, Values grads, Values sums, Values steps, Value lr,
                               double lr_decay, double weight_decay, double eps, bool maximize,
                               std::optional<Value> grad_scale, std::optional<Value> found_inf) {
  return adagrad_lists(b, {rate_of(b, lr), grad_scale, found_inf}, {lr_decay, weight_decay, eps, maximize}, params,
                       grads, sums, steps);
}

TP_OP("aten::_fused_sgd_", fused_sgd);
TP_OP("aten::_fused_sgd_.tensor_lr", fused_sgd_tensor_lr);
TP_OP("aten::_fused_adagrad_", fused_adagrad);
TP_OP("aten::_fused_adagrad_.tensor_lr", fused_adagrad_tensor_lr);
TP_OP("aten::_fused_adam_", fused_adam<false>);
TP_OP("aten::_fused_adam_.tensor_lr", fused_adam_tensor_lr<false>);
TP_OP("aten::_fused_adamw_", fused_adam<true>);
TP_OP("aten::_fused_adamw_.tensor_lr", fused_adam_tensor_lr<true>);

}  // namespace
}  // namespace tp
