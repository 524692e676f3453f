#include "rewrite/philox.h"

namespace tp {
namespace {

constexpr int kRounds = 10;
constexpr int64_t kMultiplier[2] = {0xD2511F53, 0xCD9E8D57};
constexpr int64_t kKeyStep[2] = {0x9E3779B9, 0xBB67AE85};

struct Halves {
  Value low, high;
};

Halves halves(Build& b, const Value& wide) {
  Value shift = b.constant_int(Dtype::u64, 32, wide ? wide.dims() : Dims());
  return {b.convert(wide, Dtype::u32), b.convert(b.binary(Op::shift_right_logical, wide, shift), Dtype::u32)};
}

// word * multiplier in 64 bits.
Halves product(Build& b, const Value& word, int64_t multiplier) {
  return halves(b, b.mul(b.convert(word, Dtype::u64), b.constant_int(Dtype::u64, multiplier)));
}

// The four words of each block; every block's counter has its high 64 bits zero.
Values blocks(Build& b, const Value& seed, const Value& offset, int64_t count) {
  Halves counter = halves(b, b.add(b.iota(Dtype::u64, {count}, 0), offset));
  Halves key = halves(b, seed);
  Value zero = b.constant_int(Dtype::u32, 0, {count});
  Values word{counter.low, counter.high, zero, zero};
  for (int round = 0; round < kRounds && b.ok(); ++round) {
    Halves p = product(b, word[0], kMultiplier[0]), q = product(b, word[2], kMultiplier[1]);
    word = {b.xor_(b.xor_(q.high, word[1]), key.low), q.low, b.xor_(b.xor_(p.high, word[3]), key.high), p.low};
    key.low = b.add(key.low, b.constant_int(Dtype::u32, kKeyStep[0]));
    key.high = b.add(key.high, b.constant_int(Dtype::u32, kKeyStep[1]));
  }
  return word;
}

}  // namespace

Values expand_philox_bits(Build& b, const Node& node, const Target&) {
  const Type& type = node.type;
  bool wide = type.dtype == Dtype::u64;
  int64_t elements = numel(type.dims), words = elements * (wide ? 2 : 1);
  if (words == 0) return {b.constant_int(type.dtype, 0, type.dims)};
  int64_t count = (words + 3) / 4;
  Values parts = blocks(b, node.inputs[0], node.inputs[1], count);
  if (wide) {
    // Two words make a number before the parts are interleaved.
    Value shift = b.constant_int(Dtype::u64, 32, {count});
    for (int i = 0; i < 2; ++i) {
      Value high = b.binary(Op::shift_left, b.convert(parts[2 * i + 1], Dtype::u64), shift);
      parts[i] = b.or_(b.convert(parts[2 * i], Dtype::u64), high);
    }
    parts.resize(2);
  }
  int64_t each = static_cast<int64_t>(parts.size());
  for (Value& part : parts) part = b.reshape(part, {count, 1});
  Value flat = b.reshape(b.concatenate(parts, 1), {count * each});
  return {b.reshape(b.slice_dim(flat, 0, 0, elements), type.dims)};
}

}  // namespace tp
