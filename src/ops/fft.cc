// Fourier transforms. StableHLO transforms the last one to three dimensions: others are moved there, in groups.

#include <cmath>

#include "ops/op.h"

namespace tp {
namespace {

// PyTorch's fft_norm_mode.
constexpr int64_t kByRoot = 1, kByCount = 2;
constexpr size_t kMostDims = 3;

double scale_of(const Value& x, const Dims& dims, int64_t normalization) {
  double count = 1;
  for (int64_t d : dims) count *= static_cast<double>(x.size(static_cast<int>(d)));
  if (normalization == kByRoot) return 1 / std::sqrt(count);
  return normalization == kByCount ? 1 / count : 1;
}

Value scaled(Build& b, const Value& x, double scale) {
  if (!x || scale == 1) return x;
  if (!is_complex(x.dtype())) return b.mul(x, scale);
  return b.complex(b.mul(b.real(x), scale), b.mul(b.imag(x), scale));
}

// Everything else in front, then `dims` in their order.
Dims moved_last(int rank, const Dims& dims) {
  Dims order;
  for (int i = 0; i < rank; ++i) {
    if (!dims.contains(i)) order.push_back(i);
  }
  order.append(dims);
  return order;
}

Dims inverse(const Dims& permutation) {
  Dims out(permutation.size(), 0);
  for (size_t i = 0; i < permutation.size(); ++i) out[permutation[i]] = static_cast<int64_t>(i);
  return out;
}

// `lengths` are those of the signal: the real side's for real transforms.
Value transformed(Build& b, const Value& x, const Dims& dims, Build::Fft kind, const Dims& lengths) {
  if (!b.ok() || !x) return Value();
  Dims order = moved_last(x.rank(), dims);
  return b.transpose(b.fft(b.transpose(x, order), kind, lengths), inverse(order));
}

Value complex_transform(Build& b, Value x, const Dims& dims, bool forward) {
  for (size_t at = 0; at < dims.size() && b.ok() && x; at += kMostDims) {
    Dims some(dims.data() + at, std::min(kMostDims, dims.size() - at)), lengths;
    for (int64_t d : some) lengths.push_back(x.size(static_cast<int>(d)));
    double count = static_cast<double>(numel(lengths));
    x = transformed(b, x, some, forward ? Build::Fft::forward : Build::Fft::inverse, lengths);
    // StableHLO's inverse divides by the count; PyTorch's scale comes apart.
    if (!forward) x = scaled(b, x, count);
  }
  return x;
}

Dims wrapped(Build& b, const Value& x, const Dims& dims) {
  Dims out;
  for (int64_t d : dims) out.push_back(b.wrap_dim(d, x.rank()));
  return out;
}

bool check_dtype(Build& b, const Value& x) {
  bool narrow = is_floating(x.dtype()) && accumulate_type(x.dtype()) != x.dtype();
  return b.require(!narrow, Code::unimplemented, std::string("not implemented for ") + dtype_name(x.dtype()));
}

// conj at the mirrored position: what a real signal's transform holds beyond its first half.
Value mirrored(Build& b, const Value& half, const Dims& dims, int64_t full) {
  if (!b.ok()) return Value();
  int64_t last = dims.back(), kept = half.size(static_cast<int>(last));
  if (full == kept) return half;
  // Elements full - 1 … kept of the last dimension are those of full - k = 1 … in reverse.
  Value tail = b.reverse(b.slice_dim(half, last, 1, full - kept + 1), {last});
  tail = b.complex(b.real(tail), b.negate(b.imag(tail)));
  for (size_t i = 0; i + 1 < dims.size(); ++i) {
    // Index k becomes -k: element 0 stays, the rest turn round.
    int64_t d = dims[i], n = tail.size(static_cast<int>(d));
    if (n > 1) tail = b.concatenate({b.slice_dim(tail, d, 0, 1), b.reverse(b.slice_dim(tail, d, 1, n), {d})}, d);
  }
  return b.concatenate({half, tail}, last);
}

Value fft_r2c(Build& b, Value x, Dims dims, int64_t normalization, bool onesided) {
  if (!check_dtype(b, x)) return Value();
  dims = wrapped(b, x, dims);
  if (!b.ok() || dims.empty()) return b.ok() ? b.convert(x, complex_type(x.dtype())) : Value();
  double scale = scale_of(x, dims, normalization);
  int64_t last = dims.back(), full = x.size(static_cast<int>(last));
  Value half = transformed(b, x, {last}, Build::Fft::real_forward, {full});
  half = complex_transform(b, half, Dims(dims.data(), dims.size() - 1), true);
  return scaled(b, onesided ? half : mirrored(b, half, dims, full), scale);
}
TP_OP("aten::_fft_r2c", fft_r2c);

Value fft_c2r(Build& b, Value x, Dims dims, int64_t normalization, int64_t last_size) {
  if (!check_dtype(b, x)) return Value();
  dims = wrapped(b, x, dims);
  if (!b.ok() || !b.require(!dims.empty(), "expected at least one dimension to transform")) return Value();
  int64_t last = dims.back(), wanted = last_size / 2 + 1, had = x.size(static_cast<int>(last));
  if (!b.require(last_size >= 1, "invalid number of data points (" + std::to_string(last_size) + ") specified") ||
      !b.require(had >= wanted, "the last dimension has too few elements for the signal")) {
    return Value();
  }
  Value y = complex_transform(b, x, Dims(dims.data(), dims.size() - 1), false);
  y = transformed(b, b.slice_dim(y, last, 0, wanted), {last}, Build::Fft::real_inverse, {last_size});
  if (!y) return Value();
  // The scale counts the signal's elements; StableHLO's inverse has divided by the last dimension's.
  return scaled(b, y, scale_of(y, dims, normalization) * static_cast<double>(last_size));
}
TP_OP("aten::_fft_c2r", fft_c2r);

Value fft_c2c(Build& b, Value x, Dims dims, int64_t normalization, bool forward) {
  if (!b.require(is_complex(x.dtype()), "expected a complex tensor")) return Value();
  dims = wrapped(b, x, dims);
  if (!b.ok()) return Value();
  return scaled(b, complex_transform(b, x, dims, forward), scale_of(x, dims, normalization));
}
TP_OP("aten::_fft_c2c", fft_c2c);

}  // namespace
}  // namespace tp
