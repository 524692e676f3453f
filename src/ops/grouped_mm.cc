// Products of groups, as in a mixture of experts: `offs` holds where each group ends along one dimension. Groups are
// cut into tiles of one size, a tile belongs to one group, and all tiles are one batched product. So the work grows
// with the rows and not with rows times groups; sizes don't depend on where groups end.

#include <algorithm>

#include "ops/indexing.h"
#include "ops/op.h"

namespace tp {
namespace {

struct Tiles {
  int64_t rows, tile, count, groups;
  Value group;                       // [count] the group of each tile
  Value row;                         // [count, tile] the row of each element, in range
  Value is_row;                      // [count, tile] whether there is one
  Value first_tile, first_row, end;  // [groups]
};

Value up_to(Build& b, int64_t n) { return b.iota(Dtype::s64, {n}, 0); }

// For each x [n] the number of edges [groups] that are not above it.
Value edges_below(Build& b, const Value& edges, const Value& x) {
  Dims grid{x.size(0), edges.size(0)};
  Value left = b.broadcast_in_dim(edges, grid, {1}), right = b.broadcast_in_dim(x, grid, {0});
  return b.sum(b.convert(b.compare(Direction::le, left, right), Dtype::s64), {1});
}

Value shifted_down(Build& b, const Value& x) {  // 0, x0, x1, …
  Value zero = b.constant_int(Dtype::s64, 0, {1});
  return b.concatenate({zero, b.slice_dim(x, 0, 0, x.size(0) - 1)}, 0);
}

Value running_sum(Build& b, const Value& x) {
  int64_t n = x.size(0);
  Dims square{n, n};
  Value before = b.compare(Direction::le, b.iota(Dtype::s32, square, 1), b.iota(Dtype::s32, square, 0));
  return b.sum(b.mul(b.convert(before, Dtype::s64), b.broadcast_in_dim(x, square, {1})), {1});
}

Tiles tiles_of(Build& b, int64_t rows, const Value& offs) {
  Tiles t;
  t.rows = rows;
  t.groups = offs.size(0);
  t.tile = 1;
  while (t.tile < 128 && t.tile * t.groups < rows) t.tile *= 2;
  t.count = std::max<int64_t>(1, std::min(rows, (rows + t.tile - 1) / t.tile + t.groups));
  t.end = b.convert(offs, Dtype::s64);
  t.first_row = shifted_down(b, t.end);
  Value needed = b.div(b.add(b.sub(t.end, t.first_row), static_cast<double>(t.tile - 1)), static_cast<double>(t.tile));
  Value last_tile = running_sum(b, needed);
  t.first_tile = shifted_down(b, last_tile);
  Value index = up_to(b, t.count);
  Value group = edges_below(b, last_tile, index);
  t.group = b.minimum(group, b.constant_int(Dtype::s64, t.groups - 1, {t.count}));
  Value start = b.add(b.take(t.first_row, t.group, 0),
                      b.mul(b.sub(index, b.take(t.first_tile, t.group, 0)), static_cast<double>(t.tile)));
  Dims grid{t.count, t.tile};
  Value row = b.add(b.broadcast_in_dim(start, grid, {0}), b.iota(Dtype::s64, grid, 1));
  Value end = b.broadcast_in_dim(b.take(t.end, t.group, 0), grid, {0});
  Value used = b.compare(Direction::lt, group, b.constant_int(Dtype::s64, t.groups, {t.count}));
  t.is_row = b.and_(b.compare(Direction::lt, row, end), b.broadcast_in_dim(used, grid, {0}));
  t.row = b.clamp(b.constant_int(Dtype::s64, 0), row, b.constant_int(Dtype::s64, std::max<int64_t>(rows - 1, 0)));
  return t;
}

// Rows of x [rows, n] as [count, tile, n]; 0 where a tile has none.
Value tiled(Build& b, const Tiles& t, const Value& x) {
  Value out = b.take(x, t.row, 0);
  return b.select(b.broadcast_in_dim(t.is_row, {t.count, t.tile, x.size(1)}, {0, 1}), out, b.scalar_like(x, 0));
}

// [rows, k] times [groups, k, n]: each row by its group's matrix. Rows beyond the last group are 0.
Value rows_by_group(Build& b, const Value& x, const Value& matrices, const Value& offs) {
  if (x.size(0) == 0) return b.constant(accumulate_type(x.dtype()), 0.0, {0, matrices.size(2)});
  Tiles t = tiles_of(b, x.size(0), offs);
  Value product =
      b.dot_general(tiled(b, t, x), b.take(matrices, t.group, 0), {{0}, {0}, {2}, {1}}, accumulate_type(x.dtype()));
  Value row = up_to(b, t.rows);
  Value group = edges_below(b, t.end, row);
  Value owner = b.minimum(group, b.constant_int(Dtype::s64, t.groups - 1, {t.rows}));
  Value at = b.sub(row, b.take(t.first_row, owner, 0));
  Value flat = b.add(b.mul(b.take(t.first_tile, owner, 0), static_cast<double>(t.tile)), at);
  flat = b.clamp(b.constant_int(Dtype::s64, 0), flat, b.constant_int(Dtype::s64, t.count * t.tile - 1));
  Value out = b.take(b.reshape(product, {t.count * t.tile, matrices.size(2)}), flat, 0);
  Value has_group = b.compare(Direction::lt, group, b.constant_int(Dtype::s64, t.groups, {t.rows}));
  return b.select(b.broadcast_in_dim(has_group, out.dims(), {0}), out, b.scalar_like(out, 0));
}

// [rows, m] and [rows, n] to [groups, m, n]: each group's rows contracted.
Value contracted_by_group(Build& b, const Value& x, const Value& y, const Value& offs) {
  Dtype wide = accumulate_type(x.dtype());
  Value none = b.constant(wide, 0.0, {offs.size(0), x.size(1), y.size(1)});
  if (x.size(0) == 0) return none;
  Tiles t = tiles_of(b, x.size(0), offs);
  Value product = b.dot_general(tiled(b, t, x), tiled(b, t, y), {{0}, {0}, {1}, {1}}, wide);
  return scatter_rows(b, Combine::add, none, 0, t.group, product);
}

Value grouped_mm(Build& b, Value x, Value y, std::optional<Value> offs, std::optional<Value> bias,
                 std::optional<Dtype> out_dtype) {
  if (!x || !y || !b.require_floating(x)) return Value();
  std::string got = ", got " + type_text(x.type()) + " and " + type_text(y.type());
  bool ranks = (x.rank() == 2 || x.rank() == 3) && (y.rank() == 2 || y.rank() == 3);
  if (!b.require(ranks && x.dtype() == y.dtype(), "expected two operands of 2 or 3 dimensions and one dtype" + got) ||
      !b.require(!bias, Code::unimplemented, "a bias is not implemented") ||
      !b.require(x.dims().back() == y.size(y.rank() - 2),
                 "contraction dimension of mat_a and mat_b must match" + got)) {
    return Value();
  }
  Dtype result = out_dtype.value_or(x.dtype());
  if (x.rank() == 3 && y.rank() == 3) {
    if (!b.require(!offs, "Must not provide offs for 3D x 3D") ||
        !b.require(x.size(0) == y.size(0), "batched dimension has to match" + got)) {
      return Value();
    }
    return b.convert(b.dot_general(x, y, {{0}, {0}, {2}, {1}}, accumulate_type(x.dtype())), result);
  }
  if (!b.require(offs && *offs && offs->rank() == 1 && offs->dtype() == Dtype::s32,
                 "Have to provide 1-d int32 offs where an operand has 2 dimensions")) {
    return Value();
  }
  int64_t groups = x.rank() == 3 ? x.size(0) : y.rank() == 3 ? y.size(0) : offs->size(0);
  if (!b.require(offs->size(0) == groups && groups > 0, "expected an end in offs for each matrix" + got))
    return Value();
  Value out;
  if (x.rank() == 2 && y.rank() == 3) {
    out = rows_by_group(b, x, y, *offs);
  } else if (x.rank() == 3) {  // columns of y: the same, transposed
    out = b.swap_dims(rows_by_group(b, b.swap_dims(y, 0, 1), b.swap_dims(x, 1, 2), *offs), 0, 1);
  } else {
    out = contracted_by_group(b, b.swap_dims(x, 0, 1), y, *offs);
  }
  return b.convert(out, result);
}

TP_OP("aten::_grouped_mm", grouped_mm);

}  // namespace
}  // namespace tp
