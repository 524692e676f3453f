#include "graph/view.h"

#include <numeric>

namespace tp {
namespace {

// One step from the base towards the view; `before` is the shape it starts from.
struct Step {
  enum class Kind { reshape, slice, transpose, pad_high } kind;
  Dims before, after;
  Dims start, stride;  // slice
  Dims permutation;    // transpose
};

// A dimension of the view that moves through memory: sizes of 1 and strides of 0 are left out.
struct Moving {
  int64_t size, stride;
  int dim;  // in the view
};

bool larger_stride(const Moving& a, const Moving& b) { return a.stride > b.stride; }

std::vector<Moving> moving_dims(const View& view) {
  std::vector<Moving> dims;
  for (int i = 0; i < view.sizes.rank(); ++i) {
    if (view.sizes[i] != 1 && view.strides[i] != 0) dims.push_back({view.sizes[i], view.strides[i], i});
  }
  std::stable_sort(dims.begin(), dims.end(), larger_stride);
  return dims;
}

// True when each stride steps over all that the smaller ones reach, so that no two positions share an element.
bool is_nested(const std::vector<Moving>& dims) {
  int64_t reach = 0;
  for (size_t i = dims.size(); i-- > 0;) {
    if (dims[i].stride <= reach) return false;
    reach += (dims[i].size - 1) * dims[i].stride;
  }
  return true;
}

int64_t last_element(const View& view) {
  int64_t at = view.offset;
  for (int i = 0; i < view.sizes.rank(); ++i) at += (view.sizes[i] - 1) * view.strides[i];
  return at;
}

// Finds the steps from a base of some shape to the moving dimensions of a view, in memory order.
class Planner {
 public:
  Planner(const Dims& base, const View& view) : dims_(moving_dims(view)), current_(base), offset_(view.offset) {
    for (int64_t n : base) {
      if (n != 1) axes_.push_back(n);
    }
    if (axes_.empty()) axes_.push_back(1);
  }

  bool plan() {
    if (!is_nested(dims_) || !assign()) return false;
    reshape(axes_);
    while (cut_axes()) {
    }
    drop_fixed_axes();
    return true;
  }
  const std::vector<Step>& steps() const { return steps_; }
  const std::vector<Moving>& dims() const { return dims_; }

 private:
  // Gives each moving dimension the axis of the base that it walks along; merges axes where it walks along two.
  bool assign() {
    while (true) {
      strides_ = contiguous_strides(axes_);
      digits_ = Dims(axes_.size(), 0);
      int64_t rest = offset_;
      for (size_t j = 0; j < axes_.size(); ++j) {
        digits_[j] = rest / strides_[j];
        rest %= strides_[j];
      }
      int merge = first_conflict();
      if (merge < 0) return true;
      if (merge == 0) return false;
      axes_[merge - 1] *= axes_[merge];
      axes_.erase_at(merge);
    }
  }

  // The axis that must merge with the one before it; -1 when all fit, 0 when nothing can help.
  int first_conflict() {
    int last = axes_.rank() - 1;
    owners_.assign(axes_.size(), {});
    for (size_t k = 0; k < dims_.size(); ++k) {
      int j = 0;
      while (j < last && strides_[j] > dims_[k].stride) ++j;
      if (dims_[k].stride % strides_[j] != 0) return j < last ? j + 1 : j;
      owners_[j].push_back(static_cast<int>(k));
    }
    for (int j = last; j >= 0; --j) {
      int64_t top = digits_[j];
      for (int k : owners_[j]) top += (dims_[k].size - 1) * (dims_[k].stride / strides_[j]);
      if (top >= axes_[j]) return j > 0 ? j : (last > 0 ? 1 : 0);
    }
    return -1;
  }

  // Slices each axis to what the view uses; an axis with two or more moving dimensions is split. True when it must
  // be called again for the split-off parts.
  bool cut_axes() {
    size_t n = axes_.size();
    Dims start(n, 0), limit = current_, stride(n, 1), high(n, 0);
    for (size_t j = 0; j < n; ++j) {
      start[j] = digits_[j];
      digits_[j] = 0;
      if (owners_[j].empty()) {
        limit[j] = start[j] + 1;
        continue;
      }
      const Moving& outer = dims_[owners_[j][0]];
      int64_t step = outer.stride / strides_[j];
      if (owners_[j].size() == 1) {
        limit[j] = start[j] + (outer.size - 1) * step + 1;
        stride[j] = step;
        strides_[j] = outer.stride;
      } else {
        limit[j] = start[j] + outer.size * step;
        high[j] = std::max<int64_t>(limit[j] - current_[j], 0);
      }
    }
    pad_high(high);
    slice(start, limit, stride);
    return split_axes();
  }

  bool split_axes() {
    Dims axes, strides;
    std::vector<std::vector<int>> owners;
    bool any = false;
    for (size_t j = 0; j < axes_.size(); ++j) {
      if (owners_[j].size() < 2) {
        axes.push_back(current_[j]);
        strides.push_back(strides_[j]);
        owners.push_back(owners_[j]);
        continue;
      }
      any = true;
      const Moving& outer = dims_[owners_[j][0]];
      axes.push_back(outer.size);
      strides.push_back(outer.stride);
      owners.push_back({owners_[j][0]});
      axes.push_back(outer.stride / strides_[j]);
      strides.push_back(strides_[j]);
      owners.push_back({owners_[j].begin() + 1, owners_[j].end()});
    }
    axes_ = axes;
    strides_ = strides;
    owners_ = owners;
    digits_ = Dims(axes_.size(), 0);
    reshape(axes_);
    return any;
  }

  void drop_fixed_axes() {
    Dims kept;
    for (size_t j = 0; j < axes_.size(); ++j) {
      if (!owners_[j].empty()) kept.push_back(current_[j]);
    }
    reshape(kept);
  }

  void push(Step step) {
    step.before = current_;
    current_ = step.after;
    steps_.push_back(std::move(step));
  }
  void reshape(const Dims& dims) {
    if (dims == current_) return;
    push({Step::Kind::reshape, {}, dims, {}, {}, {}});
  }
  void pad_high(const Dims& high) {
    Dims after = current_;
    bool any = false;
    for (size_t j = 0; j < high.size(); ++j) {
      after[j] += high[j];
      any = any || high[j] > 0;
    }
    if (any) push({Step::Kind::pad_high, {}, after, {}, {}, {}});
  }
  void slice(const Dims& start, const Dims& limit, const Dims& stride) {
    Dims after;
    for (size_t j = 0; j < start.size(); ++j) after.push_back((limit[j] - start[j] + stride[j] - 1) / stride[j]);
    if (after == current_) return;
    push({Step::Kind::slice, {}, after, start, stride, {}});
  }

  std::vector<Moving> dims_;
  Dims current_;
  int64_t offset_;
  Dims axes_, strides_, digits_;
  std::vector<std::vector<int>> owners_;  // by axis: moving dimensions, largest stride first
  std::vector<Step> steps_;
};

Dims slice_limit(const Step& step) {
  Dims limit;
  for (size_t j = 0; j < step.start.size(); ++j) {
    limit.push_back(step.start[j] + (step.after[j] - 1) * step.stride[j] + 1);
  }
  return limit;
}

Value forward(Build& b, const Value& x, const Step& step) {
  switch (step.kind) {
    case Step::Kind::reshape: return b.reshape(x, step.after);
    case Step::Kind::transpose: return b.transpose(x, step.permutation);
    case Step::Kind::slice: return b.slice(x, step.start, slice_limit(step), step.stride);
    case Step::Kind::pad_high: {
      Dims none(step.before.size(), 0), high = step.after;
      for (size_t j = 0; j < high.size(); ++j) high[j] -= step.before[j];
      return b.pad(x, b.constant_int(x.dtype(), 0), none, high, none);
    }
  }
  return Value();
}

// Puts `part` (shaped as after the slice) into `whole` where the slice took it from.
Value put_slice(Build& b, const Value& whole, const Value& part, const Step& step) {
  bool dense = std::all_of(step.stride.begin(), step.stride.end(), [](int64_t s) { return s == 1; });
  if (dense) return b.update_slice(whole, part, step.start);
  // With gaps: spread both the part and a mask over the whole, then choose.
  Dims low = step.start, high, interior;
  for (size_t j = 0; j < low.size(); ++j) {
    interior.push_back(step.stride[j] - 1);
    high.push_back(step.before[j] - (step.start[j] + (step.after[j] - 1) * step.stride[j] + 1));
  }
  Value spread = b.pad(part, b.constant_int(part.dtype(), 0), low, high, interior);
  Value mask = b.pad(b.constant(Dtype::pred, Scalar::of(true), part.dims()), b.constant(Dtype::pred, Scalar::of(false)),
                     low, high, interior);
  return b.select(mask, spread, whole);
}

Value backward(Build& b, const Value& whole, const Value& part, const Step& step) {
  switch (step.kind) {
    case Step::Kind::reshape: return b.reshape(part, step.before);
    case Step::Kind::slice: return put_slice(b, whole, part, step);
    case Step::Kind::pad_high:
      return b.slice(part, Dims(step.before.size(), 0), step.before, Dims(step.before.size(), 1));
    case Step::Kind::transpose: {
      Dims inverse(step.permutation.size());
      for (size_t i = 0; i < inverse.size(); ++i) inverse[step.permutation[i]] = static_cast<int64_t>(i);
      return b.transpose(part, inverse);
    }
  }
  return Value();
}

// The flat storage index of each element of the view.
Value flat_index(Build& b, const View& view) {
  Value index = b.constant_int(Dtype::s64, view.offset, view.sizes);
  for (int i = 0; i < view.sizes.rank(); ++i) {
    if (view.sizes[i] == 1 || view.strides[i] == 0) continue;
    Value along = b.iota(Dtype::s64, view.sizes, i);
    index = b.add(index, b.mul(along, b.constant_int(Dtype::s64, view.strides[i], view.sizes)));
  }
  return index;
}

bool reaches_past(Build& b, const Value& base, const View& view) {
  int64_t elements = numel(base.dims()), last = last_element(view);
  if (view.offset >= 0 && last < elements) return false;
  b.fail(Code::index, "a view of sizes [" + dims_text(view.sizes) + "], strides [" + dims_text(view.strides) +
                          "] and offset " + std::to_string(view.offset) + " reaches past its storage of " +
                          std::to_string(elements) + " elements");
  return true;
}

// From the moving dimensions in memory order to the view's own sizes.
Value arrange(Build& b, const Value& x, const std::vector<Moving>& dims, const View& view) {
  Dims permutation, mapping;
  for (int i = 0; i < view.sizes.rank(); ++i) {
    for (size_t k = 0; k < dims.size(); ++k) {
      if (dims[k].dim != i) continue;
      permutation.push_back(static_cast<int64_t>(k));
      mapping.push_back(i);
    }
  }
  Value ordered = b.transpose(x, permutation);
  bool broadcasts = false;
  for (int i = 0; i < view.sizes.rank(); ++i) broadcasts = broadcasts || (view.sizes[i] != 1 && view.strides[i] == 0);
  return broadcasts ? b.broadcast_in_dim(ordered, view.sizes, mapping) : b.reshape(ordered, view.sizes);
}

}  // namespace

Value read_view(Build& b, const Value& base, const View& view) {
  if (!b.ok() || !base) return Value();
  if (numel(view.sizes) == 0) return b.constant_int(base.dtype(), 0, view.sizes);
  if (view.offset == 0 && base.dims() == view.sizes && view.strides == contiguous_strides(view.sizes)) return base;
  if (reaches_past(b, base, view)) return Value();
  Planner planner(base.dims(), view);
  if (!planner.plan()) return b.take(b.flatten(base), flat_index(b, view), 0);
  Value x = base;
  for (const Step& step : planner.steps()) x = forward(b, x, step);
  return arrange(b, x, planner.dims(), view);
}

Value write_view(Build& b, const Value& base, const View& view, const Value& update) {
  if (!b.ok() || !base || !update) return Value();
  if (numel(view.sizes) == 0) return base;
  if (reaches_past(b, base, view)) return Value();
  Planner planner(base.dims(), view);
  bool shared = false;  // several positions of the view name one element
  for (int i = 0; i < view.sizes.rank(); ++i) shared = shared || (view.sizes[i] != 1 && view.strides[i] == 0);
  if (shared || !planner.plan()) {
    int64_t n = numel(view.sizes);
    ScatterDims d;
    d.index_vector_dim = 1;
    d.inserted_window_dims = {0};
    d.scatter_dims_to_operand_dims = {0};
    Value flat =
        b.scatter(Combine::replace, b.flatten(base), b.reshape(flat_index(b, view), {n, 1}), b.flatten(update), d);
    return b.reshape(flat, base.dims());
  }
  // Down to the view, keeping each shape's value, then back up with the update.
  const std::vector<Step>& steps = planner.steps();
  Values before{base};
  for (const Step& step : steps) before.push_back(forward(b, before.back(), step));
  const std::vector<Moving>& dims = planner.dims();
  Dims sizes, permutation;
  for (int i = 0; i < view.sizes.rank(); ++i) {
    if (view.sizes[i] != 1) sizes.push_back(view.sizes[i]);
  }
  for (const Moving& m : dims) {
    int64_t position = 0;
    for (int i = 0; i < m.dim; ++i) position += view.sizes[i] != 1;
    permutation.push_back(position);
  }
  Value part = b.transpose(b.reshape(update, sizes), permutation);
  for (size_t i = steps.size(); i-- > 0;) part = backward(b, before[i], part, steps[i]);
  return b.reshape(part, base.dims());
}

Dims memory_order(const View& view) {
  Dims order = iota_dims(view.sizes.size());
  std::stable_sort(order.begin(), order.end(), [&](int64_t x, int64_t y) {
    if (view.strides[x] != view.strides[y]) return view.strides[x] > view.strides[y];
    return view.sizes[x] < view.sizes[y];  // a size of 1 shares its stride with the dimension inside it
  });
  return order;
}

std::optional<Dims> full_cover(const View& view, int64_t elements) {
  if (view.offset != 0 || numel(view.sizes) != elements) return std::nullopt;
  Dims sizes;
  int64_t expected = elements;
  for (int64_t i : memory_order(view)) {
    if (view.sizes[i] != 1) {
      if (view.strides[i] * view.sizes[i] != expected) return std::nullopt;
      expected = view.strides[i];
    }
    sizes.push_back(view.sizes[i]);
  }
  return sizes;
}

}  // namespace tp
