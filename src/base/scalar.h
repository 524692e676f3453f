#pragma once
// A Python number as PyTorch passes it: bool, int, float or complex.

#include <complex>
#include <cstdint>

#include "base/dtype.h"

namespace tp {

class Scalar {
 public:
  enum class Kind : uint8_t { boolean, integer, floating, complex };

  Scalar() = default;
  static Scalar of(bool v) { return Scalar(Kind::boolean, v, v, 0); }
  static Scalar of(int64_t v) { return Scalar(Kind::integer, v, static_cast<double>(v), 0); }
  static Scalar of(double v) { return Scalar(Kind::floating, 0, v, 0); }
  static Scalar of(std::complex<double> v) { return Scalar(Kind::complex, 0, v.real(), v.imag()); }

  Kind kind() const { return kind_; }
  bool is_floating() const { return kind_ == Kind::floating; }
  bool is_complex() const { return kind_ == Kind::complex; }
  bool is_boolean() const { return kind_ == Kind::boolean; }
  bool is_integer() const { return kind_ == Kind::integer; }
  double real() const { return real_; }
  double imag() const { return imag_; }
  // Exact for integers; truncates a float toward zero.
  int64_t integer() const { return kind_ <= Kind::integer ? integer_ : static_cast<int64_t>(real_); }
  bool truth() const { return kind_ <= Kind::integer ? integer_ != 0 : real_ != 0 || imag_ != 0; }

 private:
  Scalar(Kind kind, int64_t integer, double real, double imag)
      : kind_(kind), integer_(integer), real_(real), imag_(imag) {}
  Kind kind_ = Kind::integer;
  int64_t integer_ = 0;
  double real_ = 0, imag_ = 0;
};

}  // namespace tp
