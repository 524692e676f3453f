#include "rewrite/products.h"

#include "stablehlo/attributes.h"

namespace tp {
namespace {

// The newest CPU plugins (PJRT API 0.107 and up) run a bf16 product with one row at 1.5 GB/s: they convert the whole
// matrix. Two rows take their fast path. Older ones are fast with one row and slow with two.
constexpr int kFirstSlowSingleRow = 107;

int64_t free_elements(const Value& x, const Dims& batch, const Dims& contract) {
  int64_t n = 1;
  for (int i = 0; i < x.rank(); ++i) {
    if (!batch.contains(i) && !contract.contains(i)) n *= x.size(i);
  }
  return n;
}

Value pad_row(Build& b, const Value& x, int64_t dim) {
  Dims none(x.rank(), 0), high = none;
  high[dim] = 1;
  return b.pad(x, b.constant_int(x.dtype(), 0), none, high, none);
}

// a's only row gets a second one of zeros; the result is cut back.
Value with_two_rows(Build& b, const Node& node, const DotDims& d) {
  const Value &a = node.inputs[0], &w = node.inputs[1];
  int64_t row = -1;
  for (int i = 0; i < a.rank(); ++i) {
    if (!d.batch_a.contains(i) && !d.contract_a.contains(i)) row = i;
  }
  Value wide = a;
  DotDims dims = d;
  bool added = row < 0;
  if (added) {
    row = a.rank();
    wide = b.unsqueeze(a, row);
  }
  Value product = b.dot_general(pad_row(b, wide, row), w, dims, node.type.dtype);
  // Free dimensions of a follow the batch dimensions; the padded one is the last of them.
  int64_t at = static_cast<int64_t>(d.batch_a.size());
  for (int i = 0; i < wide.rank(); ++i) at += i < row && !d.batch_a.contains(i) && !d.contract_a.contains(i);
  Value first = b.slice_dim(product, at, 0, 1);
  return added ? b.squeeze(first, at) : first;
}

}  // namespace

Value rewrite_product(Build& b, const Node& node, const Target& target) {
  if (node.op != Op::dot_general || target.platform != "cpu") return Value();
  if (node.inputs[0].dtype() != Dtype::bf16 || target.api_minor < kFirstSlowSingleRow) return Value();
  DotDims d = dot_dims(node);
  if (!d.batch_a.empty()) return Value();
  if (free_elements(node.inputs[0], d.batch_a, d.contract_a) != 1) return Value();
  if (free_elements(node.inputs[1], d.batch_b, d.contract_b) < 16) return Value();
  return with_two_rows(b, node, d);
}

}  // namespace tp
