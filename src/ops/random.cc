// Random numbers of every distribution, on Build::random_bits. The bits differ from PyTorch's CPU stream, the
// distributions, sizes and errors do not. Sampling from weights: multinomial.cc.

#include <cmath>
#include <numbers>

#include "ops/promote.h"
#include "ops/uniform.h"

namespace tp {
namespace {

bool require_real_floating(Build& b, const Value& x) {
  if (!b.require_floating(x)) return false;
  if (!is_complex(x.dtype())) return true;
  b.decline("random complex numbers");
  return false;
}

std::string number_text(double v) {
  std::string text = std::to_string(v);
  text.erase(text.find_last_not_of('0') + 1);
  if (text.back() == '.') text.pop_back();
  return text;
}

Value uniform(Build& b, Value x, double from, double to, Ignored) {
  if (!require_real_floating(b, x)) return Value();
  if (!b.require(from <= to, "uniform_ expects to return a [from, to) range, but found from=" + number_text(from) +
                                 " > to=" + number_text(to))) {
    return Value();
  }
  Value unit = uniform_bits(b, x.dims(), x.dtype());
  if (from == 0 && to == 1) return b.convert(unit, x.dtype());
  Value value = b.convert(b.add(b.mul(unit, to - from), from), x.dtype());
  // Rounding may reach `to`, which is excluded.
  return b.select(b.compare(Direction::ge, value, to), b.like(value, from), value);
}
TP_OP("aten::uniform", uniform);

bool require_deviation(Build& b, double std) {
  return b.require(std >= 0, "normal expects std >= 0.0, but found std " + number_text(std));
}

Value normal(Build& b, Value x, double mean, double std, Ignored) {
  if (!require_real_floating(b, x) || !require_deviation(b, std)) return Value();
  Value z = standard_normal(b, x.dims(), x.dtype());
  if (std != 1) z = b.mul(z, std);
  if (mean != 0) z = b.add(z, mean);
  return b.convert(z, x.dtype());
}
TP_OP("aten::normal_functional", normal);
TP_OP("aten::normal_", normal);  // its functional form has another name, so nothing derives it

Value normal_mean(Build& b, Value mean, double std, Ignored) {
  if (!require_real_floating(b, mean) || !require_deviation(b, std)) return Value();
  Value z = b.mul(standard_normal(b, mean.dims(), mean.dtype()), std);
  return b.convert(b.add(z, b.convert(mean, z ? z.dtype() : mean.dtype())), mean.dtype());
}
TP_OP("aten::normal.Tensor_float", normal_mean);

Value normal_both(Build& b, Value mean, Value std, Ignored) {
  if (!require_real_floating(b, std) || !require_real_floating(b, mean)) return Value();
  Dims dims = b.broadcast_dims(mean.dims(), std.dims());
  Dtype result = mean.dtype(), wide = accumulate_type(result);
  if (!b.ok()) return Value();
  Value z = b.mul(standard_normal(b, dims, result), b.convert(std, wide));
  return b.convert(b.add(z, b.convert(mean, wide)), result);
}
TP_OP("aten::normal.Tensor_Tensor", normal_both);

Value normal_deviation(Build& b, double mean, Value std, Ignored) {
  if (!require_real_floating(b, std)) return Value();
  return normal_both(b, b.constant(std.dtype(), mean, std.dims()), std, {});
}
TP_OP("aten::normal.float_Tensor", normal_deviation);

Value log_normal(Build& b, Value x, double mean, double std, Ignored) {
  if (!require_real_floating(b, x)) return Value();
  if (!b.require(std > 0, "log_normal_ expects std > 0.0, but found std=" + number_text(std))) return Value();
  Value z = b.add(b.mul(standard_normal(b, x.dims(), x.dtype()), std), mean);
  return b.convert(b.exponential(z), x.dtype());
}
TP_OP("aten::log_normal", log_normal);

Value exponential(Build& b, Value x, double rate, Ignored) {
  if (!require_real_floating(b, x)) return Value();
  if (!b.require(rate > 0, "exponential_ expects lambda > 0.0, but found lambda=" + number_text(rate))) return Value();
  return b.convert(b.mul(b.log(open_uniform(b, x.dims(), x.dtype())), -1 / rate), x.dtype());
}
TP_OP("aten::exponential", exponential);

Value geometric(Build& b, Value x, double p, Ignored) {
  if (!b.require(p > 0 && p < 1, "geometric_ expects p to be in (0, 1), but got p=" + number_text(p))) return Value();
  Dtype wide = is_floating(x.dtype()) ? x.dtype() : Dtype::f32;
  Value tries = b.ceil(b.mul(b.log(open_uniform(b, x.dims(), wide)), 1 / std::log1p(-p)));
  return b.convert(b.maximum(tries, b.scalar_like(tries, 1)), x.dtype());
}
TP_OP("aten::geometric", geometric);

Value cauchy(Build& b, Value x, double median, double sigma, Ignored) {
  if (!require_real_floating(b, x)) return Value();
  if (!b.require(sigma > 0, "cauchy_ expects sigma > 0.0, but found sigma=" + number_text(sigma))) return Value();
  Value angle = b.mul(b.sub(open_uniform(b, x.dims(), x.dtype()), 0.5), std::numbers::pi);
  return b.convert(b.add(b.mul(b.unary(Op::tan, angle), sigma), median), x.dtype());
}
TP_OP("aten::cauchy", cauchy);

// --- bernoulli and dropout

// True with probability p, per element; p broadcasts. The same width for every dtype: 24 bits, so bf16 is not coarse.
Value coin(Build& b, const Dims& dims, const Value& p) {
  Dtype wide = p && p.dtype() == Dtype::f64 ? Dtype::f64 : Dtype::f32;
  return b.compare(Direction::lt, uniform_bits(b, dims, wide), b.convert(p, wide));
}

Value bernoulli_p(Build& b, Value x, double p, Ignored) {
  if (!b.require(p >= 0 && p <= 1, "bernoulli_ expects p to be in [0, 1], but got p=" + number_text(p))) return Value();
  return b.convert(coin(b, x.dims(), b.constant(Dtype::f32, p)), x.dtype());
}
TP_OP("aten::bernoulli.p", bernoulli_p);

Value bernoulli_tensor(Build& b, Value x, Value p, Ignored) {
  if (!require_real_floating(b, p)) return Value();
  return b.convert(coin(b, x.dims(), b.broadcast_to(p, x.dims())), x.dtype());
}
TP_OP("aten::bernoulli.Tensor", bernoulli_tensor);

Value bernoulli(Build& b, Value p, Ignored) { return bernoulli_tensor(b, p, p, {}); }
TP_OP("aten::bernoulli", bernoulli);

std::tuple<Value, Value> native_dropout(Build& b, Value x, double p, std::optional<bool> train) {
  if (!b.require(p >= 0 && p <= 1, "dropout probability has to be between 0 and 1, but got " + number_text(p)))
    return {};
  if (!b.require_floating(x)) return {};
  if (!train.value_or(true) || p == 0) return {x, b.constant(Dtype::pred, Scalar::of(true), x.dims())};
  if (p == 1) return {b.like(x, 0), b.constant(Dtype::pred, Scalar::of(false), x.dims())};
  Value keep = coin(b, x.dims(), b.constant(Dtype::f32, 1 - p));
  Dtype wide = accumulate_type(x.dtype());
  Value kept = b.convert(b.mul(b.convert(x, wide), 1 / (1 - p)), x.dtype());
  return {b.select(keep, kept, b.scalar_like(x, 0)), keep};
}
TP_OP("aten::native_dropout", native_dropout);

Value native_dropout_backward(Build& b, Value gradient, Value mask, double scale) {
  Value grad = to_floating(b, gradient);
  if (!grad) return Value();
  Dtype wide = accumulate_type(grad.dtype());
  Value scaled = b.convert(b.mul(b.convert(grad, wide), scale), grad.dtype());
  return b.select(mask, scaled, b.scalar_like(grad, 0));
}
TP_OP("aten::native_dropout_backward", native_dropout_backward);

// --- integers

// low + random number in [0, range), modulo as in PyTorch; range 0 stands for 2^64.
Value integers(Build& b, const Value& x, int64_t low, uint64_t range) {
  if (!b.ok() || !x) return Value();
  bool wide = range == 0 || range > 0xFFFFFFFFull;
  Dtype word = wide ? Dtype::u64 : Dtype::u32;
  Value bits = b.random_bits(x.dims(), word);
  if (range != 0) bits = b.remainder(bits, b.constant_int(word, static_cast<int64_t>(range)));
  Value number = b.convert(bits, Dtype::s64);
  if (low != 0) number = b.add(number, b.constant_int(Dtype::s64, low));
  return b.convert(number, x.dtype());
}

// The largest integer that random_() may give: every integer up to it is exact in the dtype.
int64_t largest_exact(Dtype dtype) {
  switch (dtype) {
    case Dtype::f64: return int64_t{1} << 53;
    case Dtype::f32: return int64_t{1} << 24;
    case Dtype::f16: return int64_t{1} << 11;
    case Dtype::bf16: return int64_t{1} << 8;
    case Dtype::pred: return 1;
    case Dtype::u64: return INT64_MAX;
    default: break;
  }
  int bits = 8 * dtype_size(dtype) - (is_unsigned(dtype) ? 0 : 1);
  return bits >= 63 ? INT64_MAX : (int64_t{1} << bits) - 1;
}

Value random_from(Build& b, Value x, int64_t from, std::optional<int64_t> to, Ignored) {
  if (is_complex(x.dtype())) return b.decline("random complex numbers");
  if (!to) {
    int64_t top = largest_exact(x.dtype());
    b.require(from <= top,
              "random_ expects 'from' casted to dtype to be less than or equal to the dtype's largest value");
    return integers(b, x, from, static_cast<uint64_t>(top) - static_cast<uint64_t>(from) + 1);
  }
  if (!b.require(from < *to, "random_ expects 'from' to be less than 'to', but got from=" + std::to_string(from) +
                                 " >= to=" + std::to_string(*to))) {
    return Value();
  }
  return integers(b, x, from, static_cast<uint64_t>(*to) - static_cast<uint64_t>(from));
}
TP_OP("aten::random.from", random_from);

Value random_to(Build& b, Value x, int64_t to, Ignored) { return random_from(b, x, 0, to, {}); }
TP_OP("aten::random.to", random_to);

Value random(Build& b, Value x, Ignored) {
  if (is_complex(x.dtype())) return b.decline("random complex numbers");
  return integers(b, x, 0, static_cast<uint64_t>(largest_exact(x.dtype())) + 1);
}
TP_OP("aten::random", random);

// Sorting by 64 random bits; equal keys are one in 2^64 pairs.
Value randperm_generator(Build& b, int64_t n, Ignored, std::optional<Dtype> dtype, Ignored, Ignored, Ignored) {
  if (!b.require(n >= 0, "n must be non-negative, got " + std::to_string(n))) return Value();
  Dtype result = dtype.value_or(Dtype::s64);
  if (n < 2) return b.constant_int(result, 0, {n});
  Values out = b.sort({b.random_bits({n}, Dtype::u64), b.iota(Dtype::s64, {n}, 0)}, 0, false);
  return b.ok() ? b.convert(out[1], result) : Value();
}
TP_OP("aten::randperm.generator", randperm_generator);

Value randperm(Build& b, int64_t n, std::optional<Dtype> dtype, Ignored, Ignored, Ignored) {
  return randperm_generator(b, n, {}, dtype, {}, {}, {});
}
TP_OP("aten::randperm", randperm);

}  // namespace
}  // namespace tp
