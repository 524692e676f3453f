#pragma once
// The table of lowerings. `TP_OP("aten::silu", silu)` in one .cc is all that an op needs: arguments are unpacked from
// the function's own signature, torch_bridge checks it against the ATen schema at import, and derives `silu_` and
// `silu.out` from it.
//
// A lowering is `R name(Build&, arguments…)`. R is Value, Values (Tensor[]) or a tuple of Values. Arguments, by schema
// type:
//   Tensor -> Value            Tensor? -> std::optional<Value>     Tensor[] -> Values    Tensor?[] -> OptionalValues
//   Scalar -> Scalar           int, SymInt -> int64_t              float -> double       bool -> bool
//   int[], SymInt[] -> Dims    float[] -> std::vector<double>      bool[] -> std::vector<bool>   str ->
//   std::string_view ScalarType -> Dtype        Device, Layout, MemoryFormat, Generator, Dimname… -> Ignored
// and std::optional of each. A Tensor that is a 0-d CPU tensor arrives as a constant (wrapped_number when it was a
// Python number). Random ops get their generator through Build::random_bits.

#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "stablehlo/build.h"

namespace tp {

struct Ignored {};
using OptionalValues = std::vector<std::optional<Value>>;

struct None {};
using Arg = std::variant<None, Value, Values, OptionalValues, Scalar, int64_t, double, bool, Dims, std::vector<double>,
                         std::vector<bool>, std::string_view, Dtype>;

enum class ArgKind : uint8_t {
  ignored,
  tensor,
  tensors,
  optional_tensors,
  scalar,
  integer,
  floating,
  boolean,
  integers,
  floats,
  booleans,
  string,
  dtype
};
struct ArgSpec {
  ArgKind kind;
  bool optional;
  friend bool operator==(const ArgSpec&, const ArgSpec&) = default;
};

// How the strides of an op's results follow from its arguments.
enum class Layout : uint8_t {
  contiguous,  // row-major
  pointwise,   // TensorIterator's rule: the memory order of the arguments is kept
};

struct OpEntry {
  const char* name;  // "aten::add.Tensor"
  Values (*lower)(Build&, const Arg* args);
  std::vector<ArgSpec> args;
  Layout layout;
  bool list_result;  // returns Tensor[]
};

// The entry of an op, or null.
const OpEntry* find_op(std::string_view name);
const std::vector<const OpEntry*>& all_ops();
// Called by TP_OP; a duplicate name stops the process at load, before main.
bool register_op(OpEntry entry);

namespace detail {

template <class T>
struct Unpack;

template <class T, ArgKind K>
struct UnpackAs {
  static constexpr ArgSpec spec{K, false};
  static T get(const Arg& arg) { return *std::get_if<T>(&arg); }
};
template <>
struct Unpack<Value> : UnpackAs<Value, ArgKind::tensor> {};
template <>
struct Unpack<Values> : UnpackAs<Values, ArgKind::tensors> {};
template <>
struct Unpack<OptionalValues> : UnpackAs<OptionalValues, ArgKind::optional_tensors> {};
template <>
struct Unpack<Scalar> : UnpackAs<Scalar, ArgKind::scalar> {};
template <>
struct Unpack<int64_t> : UnpackAs<int64_t, ArgKind::integer> {};
template <>
struct Unpack<double> : UnpackAs<double, ArgKind::floating> {};
template <>
struct Unpack<bool> : UnpackAs<bool, ArgKind::boolean> {};
template <>
struct Unpack<Dims> : UnpackAs<Dims, ArgKind::integers> {};
template <>
struct Unpack<std::vector<double>> : UnpackAs<std::vector<double>, ArgKind::floats> {};
template <>
struct Unpack<std::vector<bool>> : UnpackAs<std::vector<bool>, ArgKind::booleans> {};
template <>
struct Unpack<std::string_view> : UnpackAs<std::string_view, ArgKind::string> {};
template <>
struct Unpack<Dtype> : UnpackAs<Dtype, ArgKind::dtype> {};
template <>
struct Unpack<Ignored> {
  static constexpr ArgSpec spec{ArgKind::ignored, false};
  static Ignored get(const Arg&) { return {}; }
};
template <class T>
struct Unpack<std::optional<T>> {
  static constexpr ArgSpec spec{Unpack<T>::spec.kind, true};
  static std::optional<T> get(const Arg& arg) {
    if (std::holds_alternative<None>(arg)) return std::nullopt;
    return Unpack<T>::get(arg);
  }
};

inline Values as_values(Value value) {
  Values values;
  values.push_back(std::move(value));
  return values;
}
inline Values as_values(Values values) { return values; }
template <class... T>
Values as_values(std::tuple<T...> results) {
  Values values;
  std::apply([&](T&... each) { (values.push_back(std::move(each)), ...); }, results);
  return values;
}

template <auto F>
struct Lowering;
template <class R, class... A, R (*F)(Build&, A...)>
struct Lowering<F> {
  static constexpr bool kList = std::is_same_v<R, Values>;
  static std::vector<ArgSpec> specs() { return {Unpack<std::decay_t<A>>::spec...}; }
  static Values call(Build& b, const Arg* args) { return unpack(b, args, std::index_sequence_for<A...>()); }
  template <size_t... I>
  static Values unpack(Build& b, const Arg* args, std::index_sequence<I...>) {
    return as_values(F(b, Unpack<std::decay_t<A>>::get(args[I])...));
  }
};

template <auto F>
OpEntry entry(const char* name, Layout layout = Layout::contiguous) {
  return {name, &Lowering<F>::call, Lowering<F>::specs(), layout, Lowering<F>::kList};
}

}  // namespace detail
}  // namespace tp

// TP_OP("aten::silu", silu, Layout::pointwise);
#define TP_OP_JOIN2(a, b) a##b
#define TP_OP_JOIN(a, b) TP_OP_JOIN2(a, b)
#define TP_OP(name, function, ...)                                     \
  [[maybe_unused]] static const bool TP_OP_JOIN(tp_op_, __COUNTER__) = \
      ::tp::register_op(::tp::detail::entry<function>(name __VA_OPT__(, ) __VA_ARGS__))
