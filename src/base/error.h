#pragma once
// Errors are values inside the core; torch_bridge/errors.cc is the one place that throws.

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

namespace tp {

// The first block follows PJRT's codes; the second adds the Python classes that PyTorch distinguishes.
enum class Code : uint8_t {
  ok = 0,
  cancelled = 1,
  unknown = 2,
  invalid_argument = 3,
  deadline_exceeded = 4,
  not_found = 5,
  already_exists = 6,
  permission_denied = 7,
  out_of_memory = 8,
  failed_precondition = 9,
  aborted = 10,
  out_of_range = 11,
  unimplemented = 12,
  internal = 13,
  unavailable = 14,
  data_loss = 15,
  unauthenticated = 16,
  index = 32,     // IndexError
  value = 33,     // ValueError
  type = 34,      // TypeError
  declined = 35,  // a lowering hands the call to PyTorch's decomposition, then to the CPU; no user sees it
};

const char* code_name(Code code);

// Names a recorded place in the user's program (base/loc.h); 0 is "not recorded".
using Loc = uint32_t;

struct Error {
  Code code = Code::unknown;
  std::string text;  // lower case, no full stop
  std::string op;    // the op that the user called, e.g. "aten::mm"; empty outside dispatch
  std::string args;  // its operand types, e.g. "bf16[4,8], bf16[8,2]"
  Loc loc = 0;

  // "op(args): text", or the text alone when no op is known.
  std::string message() const;
};

// A value or an Error.
template <class T>
class [[nodiscard]] Result {
 public:
  Result(T value) : state_(std::in_place_index<0>, std::move(value)) {}
  Result(Error error) : state_(std::in_place_index<1>, std::move(error)) {}

  bool ok() const { return state_.index() == 0; }
  T& value() & { return *std::get_if<0>(&state_); }
  const T& value() const& { return *std::get_if<0>(&state_); }
  T&& value() && { return std::move(*std::get_if<0>(&state_)); }
  Error& error() { return *std::get_if<1>(&state_); }
  const Error& error() const { return *std::get_if<1>(&state_); }
  T* operator->() { return &value(); }
  T& operator*() & { return value(); }

 private:
  std::variant<T, Error> state_;
};

struct Done {};
// The result of a call that returns nothing but success.
using Status = Result<Done>;
inline Status done() { return Done{}; }

Error make_error(Code code, std::string text);

[[noreturn]] void check_failed(const char* file, int line, const char* what);

}  // namespace tp

// Passes an error up, or gives the value: `TP_TRY(auto client, Client::create(plugin));`
#define TP_TRY_JOIN2(a, b) a##b
#define TP_TRY_JOIN(a, b) TP_TRY_JOIN2(a, b)
#define TP_TRY_IMPL(temporary, declaration, ...)            \
  auto temporary = (__VA_ARGS__);                           \
  if (!temporary.ok()) return std::move(temporary.error()); \
  declaration = std::move(temporary).value()
#define TP_TRY(declaration, ...) TP_TRY_IMPL(TP_TRY_JOIN(tp_try_, __LINE__), declaration, __VA_ARGS__)

// Our own mistake: aborts. Must be unreachable by user input.
#define TP_CHECK(condition) ((condition) ? void(0) : ::tp::check_failed(__FILE__, __LINE__, #condition))
