// Reductions. Half sums accumulate in f32; NaN wins a maximum, and its first place is the index.

#include <cmath>

#include "ops/op.h"
#include "ops/promote.h"

namespace tp {
namespace {

// A dim argument that may be missing or empty: every dimension.
Dims dims_of(Build& b, const Value& x, const std::optional<Dims>& dims) {
  return b.wrap_dims(dims.value_or(Dims{}), x.rank());
}

int64_t count(const Value& x, const Dims& dims) {
  int64_t n = 1;
  for (int64_t d : dims) n *= x.size(static_cast<int>(d));
  return n;
}

Value summed(Build& b, const Value& x, const Dims& dims, bool keep) {
  return b.keep_dims(b.sum(x, dims), x.dims(), dims, keep);
}

Value sum_as(Build& b, const Value& x, const Dims& dims, bool keep, std::optional<Dtype> dtype) {
  if (!x) return Value();
  Dtype result = dtype.value_or(is_integral(x.dtype()) || x.dtype() == Dtype::pred ? Dtype::s64 : x.dtype());
  Value wide = b.convert(b.convert(x, result), accumulate_type(result));
  return b.convert(summed(b, wide, dims, keep), result);
}

Value sum_dims(Build& b, Value x, std::optional<Dims> dims, bool keep, std::optional<Dtype> dtype) {
  if (!x) return Value();
  return sum_as(b, x, dims_of(b, x, dims), keep, dtype);
}
Value sum_all(Build& b, Value x, std::optional<Dtype> dtype) { return sum_dims(b, x, {}, false, dtype); }

Value mean_dims(Build& b, Value x, std::optional<Dims> dims, bool keep, std::optional<Dtype> dtype) {
  if (!x) return Value();
  Dtype result = dtype.value_or(x.dtype());
  if (!is_floating(result) && !is_complex(result)) {
    return b.fail(
        Code::invalid_argument,
        std::string("mean(): could not infer output dtype. Input dtype must be either a floating point or complex "
                    "dtype. Got: ") +
            dtype_name(x.dtype()));
  }
  Dims over = dims_of(b, x, dims);
  Value wide = b.convert(b.convert(x, result), accumulate_type(result));
  double n = static_cast<double>(count(x, over));
  return b.convert(b.div(summed(b, wide, over, keep), n), result);
}
Value mean_all(Build& b, Value x, std::optional<Dtype> dtype) { return mean_dims(b, x, {}, false, dtype); }

Value nansum(Build& b, Value x, std::optional<Dims> dims, bool keep, std::optional<Dtype> dtype) {
  if (!x) return Value();
  Value clean = is_floating(x.dtype()) ? b.select(b.is_nan(x), b.like(x, 0), x) : x;
  return sum_dims(b, clean, dims, keep, dtype);
}

Value product(Build& b, const Value& x, const Dims& dims, bool keep, std::optional<Dtype> dtype) {
  if (!x) return Value();
  Dtype result = dtype.value_or(is_integral(x.dtype()) || x.dtype() == Dtype::pred ? Dtype::s64 : x.dtype());
  Value wide = b.convert(b.convert(x, result), accumulate_type(result));
  return b.convert(b.keep_dims(b.reduce(Combine::multiply, wide, dims), x.dims(), dims, keep), result);
}
Value prod_all(Build& b, Value x, std::optional<Dtype> dtype) {
  return x ? product(b, x, iota_dims(x.rank()), false, dtype) : x;
}
Value prod_dim(Build& b, Value x, int64_t dim, bool keep, std::optional<Dtype> dtype) {
  return x ? product(b, x, b.wrap_dims({dim}, x.rank()), keep, dtype) : x;
}

// --- any, all

template <Combine kind>
Value truth_over(Build& b, const Value& x, const Dims& dims, bool keep) {
  if (!x) return Value();
  Value out = b.keep_dims(b.reduce(kind, b.convert(x, Dtype::pred), dims), x.dims(), dims, keep);
  return x.dtype() == Dtype::u8 ? b.convert(out, Dtype::u8) : out;  // u8 is PyTorch's older bool
}
template <Combine kind>
Value truth_all(Build& b, Value x) {
  return x ? truth_over<kind>(b, x, iota_dims(x.rank()), false) : x;
}
template <Combine kind>
Value truth_dim(Build& b, Value x, int64_t dim, bool keep) {
  return x ? truth_over<kind>(b, x, b.wrap_dims({dim}, x.rank()), keep) : x;
}
template <Combine kind>
Value truth_dims(Build& b, Value x, std::optional<Dims> dims, bool keep) {
  return x ? truth_over<kind>(b, x, dims_of(b, x, dims), keep) : x;
}

// --- extremes

bool refuse_empty(Build& b, const Value& x, const Dims& dims, const char* name) {
  for (int64_t d : dims) {
    if (x.size(static_cast<int>(d)) == 0) {
      b.fail(Code::index,
             std::string(name) + "(): Expected reduction dim " + std::to_string(d) + " to have non-zero size.");
      return true;
    }
  }
  if (is_complex(x.dtype())) b.fail(Code::unimplemented, "not implemented for complex numbers");
  return !b.ok();
}

template <Combine kind>
Value extreme_over(Build& b, const Value& x, const Dims& dims, bool keep, const char* name) {
  if (!x || refuse_empty(b, x, dims, name)) return Value();
  return b.keep_dims(b.reduce(kind, x, dims), x.dims(), dims, keep);
}
template <Combine kind>
Value extreme_dims(Build& b, Value x, Dims dims, bool keep) {
  if (!x) return Value();
  const char* name = kind == Combine::maximum ? "amax" : "amin";
  if (dims.empty() && numel(x.dims()) == 0) {
    return b.fail(Code::invalid_argument,
                  std::string(name) +
                      "(): Expected reduction dim to be specified for input.numel() == 0. Specify the "
                      "reduction dim with the 'dim' argument.");
  }
  return extreme_over<kind>(b, x, b.wrap_dims(dims, x.rank()), keep, name);
}

template <Combine kind>
Value extreme_all(Build& b, Value x) {
  if (!x) return Value();
  if (numel(x.dims()) == 0) {
    const char* name = kind == Combine::maximum ? "max" : "min";
    return b.fail(Code::invalid_argument, std::string(name) +
                                              "(): Expected reduction dim to be specified for input.numel() == 0. "
                                              "Specify the reduction dim with the 'dim' argument.");
  }
  return extreme_over<kind>(b, x, iota_dims(x.rank()), false, "max");
}

// The first index along `dim` (already in range) where x equals the extreme; NaN equals NaN.
template <Combine kind>
Value index_of_extreme(Build& b, const Value& x, const Value& best, int64_t dim) {
  Value spread = b.spread(best, x.dims(), {dim});
  Value hit = b.compare(Direction::eq, x, spread);
  if (is_floating(x.dtype())) hit = b.or_(hit, b.is_nan(x));  // a NaN anywhere is the extreme
  Value places = b.iota(Dtype::s64, x.dims(), dim);
  Value none = b.constant_int(Dtype::s64, x.size(static_cast<int>(dim)), x.dims());
  return b.reduce(Combine::minimum, b.select(hit, places, none), {dim});
}

template <Combine kind>
std::tuple<Value, Value> extreme_dim(Build& b, Value x, int64_t dim, bool keep) {
  if (!x) return {};
  int64_t d = b.wrap_dim(dim, x.rank());
  if (!b.ok()) return {};
  if (x.rank() == 0) return {x, b.constant_int(Dtype::s64, 0)};
  if (refuse_empty(b, x, {d}, kind == Combine::maximum ? "max" : "min")) return {};
  Value best = b.reduce(kind, x, {d});
  Value index = index_of_extreme<kind>(b, x, best, d);
  return {b.keep_dims(best, x.dims(), {d}, keep), b.keep_dims(index, x.dims(), {d}, keep)};
}

template <Combine kind>
Value arg_extreme(Build& b, Value x, std::optional<int64_t> dim, bool keep) {
  if (!x) return Value();
  const char* name = kind == Combine::maximum ? "argmax" : "argmin";
  if (!dim) {
    if (numel(x.dims()) == 0) {
      return b.fail(Code::index, std::string(name) +
                                     "(): Expected reduction dim to be specified for input.numel() == 0. Specify "
                                     "the reduction dim with the 'dim' argument.");
    }
    Value flat = b.flatten(x);
    Value index = index_of_extreme<kind>(b, flat, extreme_over<kind>(b, flat, {0}, false, name), 0);
    return keep ? b.reshape(index, Dims(x.rank(), 1)) : index;
  }
  int64_t d = b.wrap_dim(*dim, x.rank());
  if (!b.ok()) return Value();
  if (x.rank() == 0) return b.constant_int(Dtype::s64, 0);
  if (refuse_empty(b, x, {d}, name)) return Value();
  Value index = index_of_extreme<kind>(b, x, b.reduce(kind, x, {d}), d);
  return b.keep_dims(index, x.dims(), {d}, keep);
}

std::tuple<Value, Value> aminmax(Build& b, Value x, std::optional<int64_t> dim, bool keep) {
  if (!x) return {};
  if (!dim && numel(x.dims()) == 0) {
    b.fail(Code::invalid_argument,
           "aminmax(): cannot compute aminmax over an empty dimension as the operation has no identity.");
    return {};
  }
  Dims dims = dim ? b.wrap_dims({*dim}, x.rank()) : iota_dims(x.rank());
  return {extreme_over<Combine::minimum>(b, x, dims, keep, "aminmax"),
          extreme_over<Combine::maximum>(b, x, dims, keep, "aminmax")};
}

// --- spread and norms

struct Moments {
  Value variance, mean;
};

// Two passes, which loses no digits; divides by n - correction.
Moments moments(Build& b, const Value& x, const Dims& dims, double correction, bool keep) {
  if (!b.require_floating(x)) return {};
  Value wide = b.convert(x, accumulate_type(x.dtype()));
  double n = static_cast<double>(count(x, dims));
  Value mean = b.div(summed(b, wide, dims, true), n);
  Value centred = b.sub(wide, mean);
  Value squares = is_complex(x.dtype())
                      ? b.add(b.mul(b.real(centred), b.real(centred)), b.mul(b.imag(centred), b.imag(centred)))
                      : b.mul(centred, centred);
  Value variance = b.div(summed(b, squares, dims, keep), std::max(n - correction, 0.0));
  Dims kept = keep ? mean.dims() : variance.dims();
  return {b.convert(variance, real_type(x.dtype())), b.convert(b.reshape(mean, kept), x.dtype())};
}

double correction_of(const std::optional<Scalar>& correction) { return correction ? correction->real() : 1; }

Value root(Build& b, const Value& x) {
  return in_accumulate(b, x, [&](const Value& w) { return b.sqrt(w); });
}

Value var(Build& b, Value x, std::optional<Dims> dims, std::optional<Scalar> correction, bool keep) {
  return x ? moments(b, x, dims_of(b, x, dims), correction_of(correction), keep).variance : x;
}
Value std_deviation(Build& b, Value x, std::optional<Dims> dims, std::optional<Scalar> correction, bool keep) {
  if (!b.require_floating(x)) return Value();
  Value wide = b.convert(x, accumulate_type(x.dtype()));
  return b.convert(b.sqrt(moments(b, wide, dims_of(b, x, dims), correction_of(correction), keep).variance),
                   real_type(x.dtype()));
}
std::tuple<Value, Value> var_mean(Build& b, Value x, std::optional<Dims> dims, std::optional<Scalar> correction,
                                  bool keep) {
  if (!x) return {};
  Moments m = moments(b, x, dims_of(b, x, dims), correction_of(correction), keep);
  return {m.variance, m.mean};
}
std::tuple<Value, Value> std_mean(Build& b, Value x, std::optional<Dims> dims, std::optional<Scalar> correction,
                                  bool keep) {
  if (!x) return {};
  Moments m = moments(b, x, dims_of(b, x, dims), correction_of(correction), keep);
  return {root(b, m.variance), m.mean};
}

// The p-norm of |x|, in the accumulate type.
Value p_norm(Build& b, const Value& magnitude, double p, const Dims& dims, bool keep) {
  const Dims& before = magnitude.dims();
  auto kept = [&](const Value& v) { return b.keep_dims(v, before, dims, keep); };
  if (p == INFINITY) return kept(b.reduce(Combine::maximum, magnitude, dims));
  if (p == -INFINITY) return kept(b.reduce(Combine::minimum, magnitude, dims));
  if (p == 0) return kept(b.sum(b.convert(b.compare(Direction::ne, magnitude, 0), magnitude.dtype()), dims));
  if (p == 1) return kept(b.sum(magnitude, dims));
  if (p == 2) return kept(b.sqrt(b.sum(b.mul(magnitude, magnitude), dims)));
  return kept(b.power(b.sum(b.power(magnitude, b.like(magnitude, p)), dims), b.constant(magnitude.dtype(), 1 / p)));
}

Value vector_norm(Build& b, Value x, Scalar order, std::optional<Dims> dims, bool keep, std::optional<Dtype> dtype) {
  if (!x) return Value();
  if (!is_floating(x.dtype()) && !is_complex(x.dtype())) {
    return b.fail(Code::invalid_argument,
                  std::string("linalg.vector_norm: Expected a floating point or complex tensor as input. Got ") +
                      dtype_name(x.dtype()));
  }
  Dims over = dims_of(b, x, dims);
  if (!b.ok()) return Value();
  if (count(x, over) == 0 && (order.real() < 0 || order.real() == INFINITY)) return b.decline("a norm of nothing");
  Dtype result = real_type(dtype.value_or(x.dtype()));
  Value magnitude = b.convert(b.abs(x), accumulate_type(result));
  return b.convert(p_norm(b, magnitude, order.real(), over, keep), result);
}

Value norm_dim(Build& b, Value x, std::optional<Scalar> p, Dims dims, bool keep) {
  return vector_norm(b, x, p.value_or(Scalar::of(2.0)), dims, keep, std::nullopt);
}
Value norm_dtype(Build& b, Value x, std::optional<Scalar> p, Dims dims, bool keep, Dtype dtype) {
  return vector_norm(b, x, p.value_or(Scalar::of(2.0)), dims, keep, dtype);
}
Value norm_all_dtype(Build& b, Value x, std::optional<Scalar> p, Dtype dtype) {
  return vector_norm(b, x, p.value_or(Scalar::of(2.0)), std::nullopt, false, dtype);
}
Value norm_all(Build& b, Value x, Scalar p) { return vector_norm(b, x, p, std::nullopt, false, std::nullopt); }

Value logsumexp(Build& b, Value x, Dims dims, bool keep) {
  if (!x) return Value();
  Dims over = b.wrap_dims(dims, x.rank());
  return in_accumulate(b, to_floating(b, x), [&](const Value& w) {
    Value top = b.convert(b.reduce(Combine::maximum, b.real(w), over), w.dtype());
    Value shift = b.select(b.compare(Direction::eq, b.abs(top), INFINITY), b.like(top, 0), top);
    Value sum = b.sum(b.exponential(b.sub(w, b.spread(shift, w.dims(), over))), over);
    return b.keep_dims(b.add(b.log(sum), shift), w.dims(), over, keep);
  });
}

Value count_nonzero(Build& b, Value x, Dims dims) {
  if (!x) return Value();
  Dims over = b.wrap_dims(dims, x.rank());
  return b.sum(b.convert(b.convert(x, Dtype::pred), Dtype::s64), over);
}
Value count_nonzero_dim(Build& b, Value x, std::optional<int64_t> dim) {
  return count_nonzero(b, x, dim ? Dims{*dim} : Dims{});
}

TP_OP("aten::sum", sum_all);
TP_OP("aten::sum.dim_IntList", sum_dims);
TP_OP("aten::nansum", nansum);
TP_OP("aten::mean", mean_all);
TP_OP("aten::mean.dim", mean_dims);
TP_OP("aten::prod", prod_all);
TP_OP("aten::prod.dim_int", prod_dim);
TP_OP("aten::any", truth_all<Combine::or_>);
TP_OP("aten::any.dim", truth_dim<Combine::or_>);
TP_OP("aten::any.dims", truth_dims<Combine::or_>);
TP_OP("aten::all", truth_all<Combine::and_>);
TP_OP("aten::all.dim", truth_dim<Combine::and_>);
TP_OP("aten::all.dims", truth_dims<Combine::and_>);
TP_OP("aten::amax", extreme_dims<Combine::maximum>);
TP_OP("aten::amin", extreme_dims<Combine::minimum>);
TP_OP("aten::aminmax", aminmax);
TP_OP("aten::max", extreme_all<Combine::maximum>);
TP_OP("aten::min", extreme_all<Combine::minimum>);
TP_OP("aten::max.dim", extreme_dim<Combine::maximum>);
TP_OP("aten::min.dim", extreme_dim<Combine::minimum>);
TP_OP("aten::argmax", arg_extreme<Combine::maximum>);
TP_OP("aten::argmin", arg_extreme<Combine::minimum>);
TP_OP("aten::var.correction", var);
TP_OP("aten::std.correction", std_deviation);
TP_OP("aten::var_mean.correction", var_mean);
TP_OP("aten::std_mean.correction", std_mean);
TP_OP("aten::linalg_vector_norm", vector_norm);
TP_OP("aten::norm.Scalar", norm_all);
TP_OP("aten::norm.ScalarOpt_dtype", norm_all_dtype);
TP_OP("aten::norm.ScalarOpt_dim", norm_dim);
TP_OP("aten::norm.ScalarOpt_dim_dtype", norm_dtype);
TP_OP("aten::logsumexp", logsumexp);
TP_OP("aten::count_nonzero.dim_IntList", count_nonzero);
TP_OP("aten::count_nonzero", count_nonzero_dim);

}  // namespace
}  // namespace tp
