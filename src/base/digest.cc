#include "base/digest.h"

#include <cstring>

namespace tp {

std::string Digest::hex() const {
  static const char* kDigits = "0123456789abcdef";
  std::string text(32, '0');
  for (int i = 0; i < 16; ++i) {
    text[i] = kDigits[(high >> (60 - 4 * i)) & 15];
    text[16 + i] = kDigits[(low >> (60 - 4 * i)) & 15];
  }
  return text;
}

void Hasher::add(std::string_view text) {
  add(text.size());
  size_t i = 0;
  for (; i + 8 <= text.size(); i += 8) {
    uint64_t word;
    std::memcpy(&word, text.data() + i, 8);
    add(word);
  }
  if (i < text.size()) {
    uint64_t word = 0;
    std::memcpy(&word, text.data() + i, text.size() - i);
    add(word);
  }
}

Digest digest_of(std::string_view bytes) {
  Hasher hasher;
  hasher.add(bytes);
  return hasher.digest();
}

}  // namespace tp
