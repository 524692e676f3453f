// Reads just enough StableHLO text: the types of @main.
#include <cstdlib>
#include <string_view>

#include "fake_plugin/state.h"

namespace fake {
namespace {

struct Name {
  std::string_view text;
  PJRT_Buffer_Type type;
};

constexpr Name kNames[] = {
    {"i1", PJRT_Buffer_Type_PRED},
    {"i8", PJRT_Buffer_Type_S8},
    {"i16", PJRT_Buffer_Type_S16},
    {"i32", PJRT_Buffer_Type_S32},
    {"i64", PJRT_Buffer_Type_S64},
    {"ui8", PJRT_Buffer_Type_U8},
    {"ui16", PJRT_Buffer_Type_U16},
    {"ui32", PJRT_Buffer_Type_U32},
    {"ui64", PJRT_Buffer_Type_U64},
    {"f16", PJRT_Buffer_Type_F16},
    {"bf16", PJRT_Buffer_Type_BF16},
    {"f32", PJRT_Buffer_Type_F32},
    {"f64", PJRT_Buffer_Type_F64},
    {"complex<f32>", PJRT_Buffer_Type_C64},
    {"complex<f64>", PJRT_Buffer_Type_C128},
    {"f8E4M3FN", PJRT_Buffer_Type_F8E4M3FN},
    {"f8E5M2", PJRT_Buffer_Type_F8E5M2},
    {"f8E4M3FNUZ", PJRT_Buffer_Type_F8E4M3FNUZ},
    {"f8E5M2FNUZ", PJRT_Buffer_Type_F8E5M2FNUZ},
};

// Where the bracket that opens at `open` closes; arrows do not count.
size_t matching(std::string_view text, size_t open) {
  int depth = 0;
  bool quoted = false;
  for (size_t i = open; i < text.size(); ++i) {
    char c = text[i];
    if (c == '"') quoted = !quoted;
    if (quoted || (c == '>' && i > 0 && text[i - 1] == '-')) continue;
    if (c == '(' || c == '<' || c == '{' || c == '[') ++depth;
    if (c == ')' || c == '>' || c == '}' || c == ']') {
      if (--depth == 0) return i;
    }
  }
  return text.size();
}

// "2x3xf32"
ArrayType parse_type(std::string_view text) {
  ArrayType type;
  while (!text.empty() && text.front() >= '0' && text.front() <= '9') {
    size_t end = text.find('x');
    type.dims.push_back(std::atoll(std::string(text.substr(0, end)).c_str()));
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
  }
  for (const Name& name : kNames) {
    if (name.text == text) type.type = name.type;
  }
  return type;
}

// The types of a list, and for each whether its attributes say that it is donated.
void parse_list(std::string_view list, std::vector<ArrayType>& types, std::vector<bool>& donated) {
  size_t at = list.find("tensor<");
  while (at != std::string_view::npos) {
    size_t open = at + 6, close = matching(list, open);
    types.push_back(parse_type(list.substr(open + 1, close - open - 1)));
    size_t next = list.find("tensor<", close);
    std::string_view rest = list.substr(close, next == std::string_view::npos ? next : next - close);
    donated.push_back(rest.find("jax.buffer_donor") != std::string_view::npos ||
                      rest.find("tf.aliasing_output") != std::string_view::npos);
    at = next;
  }
}

}  // namespace

Program parse_program(const std::string& text) {
  Program program;
  program.text = text;
  std::string_view view = text;
  size_t name = view.find("@main(");
  if (name == std::string_view::npos) return program;
  size_t open = name + 5, close = matching(view, open);
  parse_list(view.substr(open, close - open), program.arguments, program.donated);
  size_t arrow = view.find("->", close), body = view.find('{', close);
  if (arrow == std::string_view::npos || arrow > body) return program;
  size_t first = view.find_first_not_of(' ', arrow + 2);
  size_t end = view[first] == '(' ? matching(view, first) : body;
  std::vector<bool> unused;
  parse_list(view.substr(first, end - first), program.outputs, unused);
  return program;
}

}  // namespace fake
