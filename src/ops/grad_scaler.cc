// The two ops of torch.amp.GradScaler: gradients are unscaled on the device, and so is the choice of the next scale.

#include "ops/op.h"

namespace tp {
namespace {

// found_inf becomes 1 where a gradient holds an infinity or NaN, else it stays; gradients are multiplied by inv_scale.
Values non_finite_check_and_unscale(Build& b, Values grads, Value found_inf, Value inv_scale) {
  Values out;
  Value scale = b.reshape(inv_scale, {});
  Value found = b.compare(Direction::ne, found_inf, 0);
  for (const Value& grad : grads) {
    if (!b.require_floating(grad)) return {};
    Value wide = b.convert(grad, accumulate_type(grad.dtype()));
    Value bad = b.reduce(Combine::or_, b.flatten(b.not_(b.is_finite(wide))), {0});
    found = b.or_(found, bad);
    out.push_back(b.convert(b.mul(wide, b.convert(scale, wide.dtype())), grad.dtype()));
  }
  out.push_back(b.select(found, b.like(found_inf, 1.0), found_inf));
  return out;
}

// Backs off after an overflow; grows after growth_interval steps without one, unless the scale would overflow itself.
Values update_scale(Build& b, Value scale, Value tracker, Value found_inf, double growth, double backoff,
                    int64_t interval) {
  if (!scale || !tracker) return {};
  Value found = b.compare(Direction::ne, b.reshape(found_inf, {}), 0);
  Value successful = b.add(tracker, 1.0);
  Value due = b.compare(Direction::eq, successful, static_cast<double>(interval));
  Value grown = b.mul(scale, growth);
  Value fits = b.and_(b.reshape(due, scale.dims()), b.is_finite(grown));
  Value next = b.select(found, b.mul(scale, backoff), b.select(fits, grown, scale));
  Value none = b.like(tracker, 0.0);
  return {next, b.select(b.or_(found, due), none, successful)};
}

TP_OP("aten::_amp_foreach_non_finite_check_and_unscale_", non_finite_check_and_unscale);
TP_OP("aten::_amp_update_scale_", update_scale);

}  // namespace
}  // namespace tp
