#pragma once
// Appends StableHLO operations and infers their types. A Build lives for one op of the user; lowerings are written
// against it. The first error sticks: later calls return an empty Value and touch nothing, so a lowering is a plain
// expression and dispatch looks once, at the end.
//
// Binary operations, compare, select and clamp broadcast their operands as NumPy does; dtypes must agree already
// (convert first; ops/promote.h knows PyTorch's rules). A folded operation (a transpose that moves nothing) returns
// its operand. Dimension numbers are non-negative here; wrap_dim wraps PyTorch's.

#include <optional>
#include <string>
#include <string_view>

#include "stablehlo/dimension_numbers.h"
#include "stablehlo/node.h"
#include "stablehlo/random_source.h"

namespace tp {

class Build {
 public:
  // `aten` is the op the user called; it must have static lifetime.
  explicit Build(const char* aten = "", int device = 0, Loc loc = 0) : aten_(aten), device_(device), loc_(loc) {}

  bool ok() const { return !error_; }
  Error take_error() { return std::move(*error_); }
  int device() const { return device_; }
  void set_random(RandomSource* source) { random_ = source; }

  // --- errors; each returns an empty Value, so `return b.fail(...)` works in a lowering
  Value fail(Code code, std::string text);
  // invalid_argument unless `condition`.
  bool require(bool condition, std::string_view text);
  bool require(bool condition, Code code, std::string_view text);
  // "not implemented for i32" (NotImplementedError) unless x is floating or complex.
  bool require_floating(const Value& x);
  // Hands the call to PyTorch's decomposition, then to the CPU.
  Value decline(std::string_view reason);
  // A dimension number from -rank to rank-1, wrapped; IndexError otherwise. A scalar counts as rank 1.
  int64_t wrap_dim(int64_t dim, int64_t rank);
  // The same for a list; an empty list means every dimension. Repeated ones are an error. Sorted.
  Dims wrap_dims(const Dims& dims, int64_t rank);

  // --- leaves
  // One number splat over `dims`; a scalar when dims are empty.
  Value constant(Dtype dtype, Scalar number, const Dims& dims = {});
  Value constant(Dtype dtype, double n, const Dims& dims = {}) { return constant(dtype, Scalar::of(n), dims); }
  Value constant_int(Dtype dtype, int64_t n, const Dims& dims = {}) { return constant(dtype, Scalar::of(n), dims); }
  // A constant with x's dtype and sizes.
  Value like(const Value& x, double number) { return x ? constant(x.dtype(), Scalar::of(number), x.dims()) : Value(); }
  Value lowest(Dtype dtype, const Dims& dims = {});   // -inf, or the smallest integer
  Value highest(Dtype dtype, const Dims& dims = {});  // +inf, or the largest integer
  // 0, 1, 2, … along `dim`.
  Value iota(Dtype dtype, const Dims& dims, int64_t dim);
  // Uniform random bits u32[dims] from the generator's stream: Philox 4x32-10, block of 4 words a 128-bit counter,
  // by the flat index of the element, so that sizes and sharding don't change the numbers.
  Value random_bits(const Dims& dims, Dtype dtype = Dtype::u32);

  // --- unary; `unary` takes any Op of that class
  Value unary(Op op, const Value& x);
  Value abs(const Value& x);  // of a complex value: its real magnitude
  Value ceil(const Value& x) { return unary(Op::ceil, x); }
  Value cosine(const Value& x) { return unary(Op::cosine, x); }
  Value erf(const Value& x) { return unary(Op::erf, x); }
  Value exponential(const Value& x) { return unary(Op::exponential, x); }
  Value expm1(const Value& x) { return unary(Op::exponential_minus_one, x); }
  Value floor(const Value& x) { return unary(Op::floor, x); }
  Value is_finite(const Value& x);
  Value log(const Value& x) { return unary(Op::log, x); }
  Value log1p(const Value& x) { return unary(Op::log_plus_one, x); }
  Value logistic(const Value& x) { return unary(Op::logistic, x); }
  Value negate(const Value& x) { return unary(Op::negate, x); }
  Value not_(const Value& x) { return unary(Op::not_, x); }
  Value rsqrt(const Value& x) { return unary(Op::rsqrt, x); }
  Value sign(const Value& x) { return unary(Op::sign, x); }
  Value sine(const Value& x) { return unary(Op::sine, x); }
  Value sqrt(const Value& x) { return unary(Op::sqrt, x); }
  Value tanh(const Value& x) { return unary(Op::tanh, x); }
  Value real(const Value& x);
  Value imag(const Value& x);

  // --- binary; operands broadcast, dtypes agree
  Value binary(Op op, const Value& a, const Value& b);
  Value add(const Value& a, const Value& b) { return binary(Op::add, a, b); }
  Value sub(const Value& a, const Value& b) { return binary(Op::subtract, a, b); }
  Value mul(const Value& a, const Value& b) { return binary(Op::multiply, a, b); }
  Value div(const Value& a, const Value& b) { return binary(Op::divide, a, b); }       // integers truncate
  Value maximum(const Value& a, const Value& b) { return binary(Op::maximum, a, b); }  // NaN wins, as in PyTorch
  Value minimum(const Value& a, const Value& b) { return binary(Op::minimum, a, b); }
  Value power(const Value& a, const Value& b) { return binary(Op::power, a, b); }
  Value remainder(const Value& a, const Value& b) { return binary(Op::remainder, a, b); }  // sign of a, as C's fmod
  Value and_(const Value& a, const Value& b) { return binary(Op::and_, a, b); }
  Value or_(const Value& a, const Value& b) { return binary(Op::or_, a, b); }
  Value xor_(const Value& a, const Value& b) { return binary(Op::xor_, a, b); }
  Value complex(const Value& re, const Value& im);
  // With a number on the right, in a's dtype.
  Value add(const Value& a, double n) { return add(a, scalar_like(a, n)); }
  Value sub(const Value& a, double n) { return sub(a, scalar_like(a, n)); }
  Value mul(const Value& a, double n) { return mul(a, scalar_like(a, n)); }
  Value div(const Value& a, double n) { return div(a, scalar_like(a, n)); }

  Value compare(Direction direction, const Value& a, const Value& b);  // bool
  Value compare(Direction direction, const Value& a, double n) { return compare(direction, a, scalar_like(a, n)); }
  Value is_nan(const Value& x) { return compare(Direction::ne, x, x); }
  Value select(const Value& condition, const Value& on_true, const Value& on_false);
  Value clamp(const Value& low, const Value& x, const Value& high);

  // --- types and sizes
  // PyTorch's conversion: to bool is != 0, from complex drops the imaginary part, float to integer truncates.
  Value convert(const Value& x, Dtype dtype);
  Value bitcast(const Value& x, Dtype dtype, const Dims& dims);
  Value reshape(const Value& x, const Dims& dims);
  Value flatten(const Value& x) { return x ? reshape(x, Dims{numel(x.dims())}) : Value(); }
  // Result dimension i is x's dimension permutation[i].
  Value transpose(const Value& x, const Dims& permutation);
  Value swap_dims(const Value& x, int64_t a, int64_t b);
  // x's dimension i becomes dimension mapping[i] of the result.
  Value broadcast_in_dim(const Value& x, const Dims& dims, const Dims& mapping);
  // NumPy broadcasting; an error in PyTorch's words when the sizes don't fit.
  Value broadcast_to(const Value& x, const Dims& dims);
  // Puts back a dimension that a reduction removed, and spreads it to `dims`.
  Value spread(const Value& reduced, const Dims& dims, const Dims& reduced_dims);
  Value unsqueeze(const Value& x, int64_t dim);
  Value squeeze(const Value& x, int64_t dim);
  Value slice(const Value& x, const Dims& start, const Dims& limit, const Dims& stride);
  // Elements start to limit of one dimension.
  Value slice_dim(const Value& x, int64_t dim, int64_t start, int64_t limit, int64_t stride = 1);
  Value dynamic_slice(const Value& x, const Values& start, const Dims& sizes);
  // Starts that are host numbers (they become runtime scalars when they change) or 0-d values.
  Value update_slice(const Value& x, const Value& update, const Dims& start);
  Value dynamic_update_slice(const Value& x, const Value& update, const Values& start);
  Value pad(const Value& x, const Value& fill, const Dims& low, const Dims& high, const Dims& interior);
  Value concatenate(const Values& parts, int64_t dim);
  Value reverse(const Value& x, const Dims& dims);

  // --- reductions and products; reduced dimensions are removed
  Value reduce(Combine kind, const Value& x, const Dims& dims);
  Value sum(const Value& x, const Dims& dims) { return reduce(Combine::add, x, dims); }
  // Puts size-1 dimensions back when keep is true.
  Value keep_dims(const Value& reduced, const Dims& before, const Dims& dims, bool keep);
  Value reduce_window(Combine kind, const Value& x, const WindowDims& window);
  // The gradient of max pooling: each window's update goes to the first element for which `ge` (or `le`) holds.
  Value select_and_scatter(const Value& x, const Value& updates, const WindowDims& window);
  // Computes in accumulate_type and returns `result` (default: a's dtype).
  Value dot_general(const Value& a, const Value& b, const DotDims& dims, std::optional<Dtype> result = {});
  Value convolution(const Value& x, const Value& weight, const ConvolutionDims& dims);

  // --- indexing
  Value gather(const Value& x, const Value& indices, const GatherDims& dims, const Dims& slice_sizes);
  Value scatter(Combine kind, const Value& x, const Value& indices, const Value& updates, const ScatterDims& dims);
  // x's rows along `dim` by an index of any rank, whose dimensions replace `dim`. Indices must be in range (see
  // check_index).
  Value take(const Value& x, const Value& index, int64_t dim);
  // The same element-wise: result[i…] = x[i… with i_dim = index[i…]] (torch.gather's meaning, equal ranks).
  Value take_along(const Value& x, const Value& index, int64_t dim);
  // Sorts all operands by the first along `dim`; NaN counts as largest, as in PyTorch. Stable.
  Values sort(const Values& operands, int64_t dim, bool descending);
  // A check on the device: where `bad` (bool, any sizes) holds anywhere, the error follows at the next host read.
  void check(const Value& bad, Code code, std::string_view text);
  // Checks that every index is in [low, high), and returns it clamped into range, so that nothing undefined is read.
  Value check_index(const Value& index, int64_t low, int64_t high, std::string_view text, Code code = Code::index);
  struct Check {
    Value flag;  // bool scalar
    Error error;
  };
  std::vector<Check> take_checks() { return std::move(checks_); }

  // --- linear algebra, fft and the rest
  Value cholesky(const Value& x, bool lower);
  Value triangular_solve(const Value& a, const Value& b, bool left, bool lower, bool unit, bool transpose);
  enum class Fft : uint8_t { forward, inverse, real_forward, real_inverse };
  Value fft(const Value& x, Fft kind, const Dims& lengths);
  Values optimization_barrier(const Values& operands);  // the operands; none is there before all are

  // A piece that stays whole until rewrite; rewrite/ must know `name`. Attributes are ints and one number.
  Values composite(std::string name, Values inputs, std::vector<Type> results, Dims ints = {}, Scalar number = {});
  Value composite1(std::string name, Values inputs, Type result, Dims ints = {}, Scalar number = {});
  // A call of a kernel that the plugin knows by name (XLA's FFI); made by rewrite only.
  Value custom_call(std::string target, Values inputs, Type result, std::string backend_config = {});

  // A 0-d constant in x's dtype.
  Value scalar_like(const Value& x, double number) { return x ? constant(x.dtype(), Scalar::of(number)) : Value(); }
  // Common sizes of two operands; an error in PyTorch's words when they don't fit.
  Dims broadcast_dims(const Dims& a, const Dims& b);

 private:
  Value make(Op op, Type type, Inputs inputs, uint8_t kind = 0, Dims ints = {});
  bool all_present(const Values& values);
  Values projections(const Value& node);
  Value philox_number(uint64_t v);

  std::optional<Error> error_;
  std::vector<Check> checks_;
  RandomSource* random_ = nullptr;
  const char* aten_;
  int device_;
  Loc loc_;
};

}  // namespace tp
