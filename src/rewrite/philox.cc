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

// The four words of the blocks with these counters, whose high 64 bits are zero.
Values rounds(Build& b, const Value& seed, const Value& counters) {
  if (!b.ok() || !counters) return {};
  Halves counter = halves(b, counters), key = halves(b, seed);
  Value zero = b.constant_int(Dtype::u32, 0, counters.dims());
  Values word{counter.low, counter.high, zero, zero};
  for (int round = 0; round < kRounds && b.ok(); ++round) {
    Halves p = product(b, word[0], kMultiplier[0]), q = product(b, word[2], kMultiplier[1]);
    word = {b.xor_(b.xor_(q.high, word[1]), key.low), q.low, b.xor_(b.xor_(p.high, word[3]), key.high), p.low};
    key.low = b.add(key.low, b.constant_int(Dtype::u32, kKeyStep[0]));
    key.high = b.add(key.high, b.constant_int(Dtype::u32, kKeyStep[1]));
  }
  return word;
}

// What one block gives: its four words, or two numbers of two words each.
Values parts(Build& b, const Value& seed, const Value& counters, bool wide) {
  Values word = rounds(b, seed, counters);
  if (!wide || !b.ok()) return word;
  Value shift = b.constant_int(Dtype::u64, 32);
  Values pairs;
  for (int i = 0; i < 4; i += 2) {
    Value high = b.binary(Op::shift_left, b.convert(word[i + 1], Dtype::u64), shift);
    pairs.push_back(b.or_(b.convert(word[i], Dtype::u64), high));
  }
  return pairs;
}

// Each block computed once, its parts laid side by side.
Value interleaved(Build& b, const Value& seed, const Value& offset, int64_t elements, bool wide) {
  int64_t each = wide ? 2 : 4, count = (elements + each - 1) / each;
  Values columns = parts(b, seed, b.add(b.iota(Dtype::u64, {count}, 0), offset), wide);
  for (Value& column : columns) column = b.reshape(column, {count, 1});
  return b.slice_dim(b.reshape(b.concatenate(columns, 1), {count * each}), 0, 0, elements);
}

// Each element computes its block and picks its part.
Value by_element(Build& b, const Value& seed, const Value& offset, int64_t elements, bool wide) {
  int64_t each = wide ? 2 : 4;
  Value index = b.iota(Dtype::u64, {elements}, 0);
  Value block = b.binary(Op::shift_right_logical, index, b.constant_int(Dtype::u64, wide ? 1 : 2));
  Value lane = b.and_(index, b.constant_int(Dtype::u64, each - 1));
  Values part = parts(b, seed, b.add(block, offset), wide);
  if (!b.ok()) return Value();
  Value picked = part.back();
  for (int64_t i = each - 2; i >= 0; --i) {
    picked = b.select(b.compare(Direction::eq, lane, b.constant_int(Dtype::u64, i)), part[i], picked);
  }
  return picked;
}

}  // namespace

Values expand_philox_bits(Build& b, const Node& node, const Target& target) {
  const Type& type = node.type;
  int64_t elements = numel(type.dims);
  if (elements == 0) return {b.constant_int(type.dtype, 0, type.dims)};
  // XLA's CPU fuses the concatenation into a branch for each element, which no longer vectorises; there four times the
  // arithmetic is about ten times faster.
  bool branches = target.platform == "cpu";
  Value flat =
      (branches ? by_element : interleaved)(b, node.inputs[0], node.inputs[1], elements, type.dtype == Dtype::u64);
  return {b.reshape(flat, type.dims)};
}

}  // namespace tp
