#pragma once
// A short list of int64: sizes, strides, dimension numbers. Six fit inline, since most shapes have fewer;
// dispatch makes several per op, so allocation would show in bench/dispatch.

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <initializer_list>
#include <string>

namespace tp {

class Dims {
 public:
  Dims() = default;
  Dims(std::initializer_list<int64_t> list) { assign(list.begin(), list.size()); }
  explicit Dims(size_t count, int64_t fill = 0) { resize(count, fill); }
  Dims(const int64_t* data, size_t count) { assign(data, count); }
  Dims(const Dims& other) { assign(other.data_, other.size_); }
  Dims(Dims&& other) noexcept { take(other); }
  ~Dims() { release(); }
  Dims& operator=(const Dims& other) {
    if (this != &other) assign(other.data_, other.size_);
    return *this;
  }
  Dims& operator=(Dims&& other) noexcept {
    if (this != &other) {
      release();
      take(other);
    }
    return *this;
  }

  size_t size() const { return size_; }
  int rank() const { return static_cast<int>(size_); }
  bool empty() const { return size_ == 0; }
  int64_t* data() { return data_; }
  const int64_t* data() const { return data_; }
  int64_t* begin() { return data_; }
  int64_t* end() { return data_ + size_; }
  const int64_t* begin() const { return data_; }
  const int64_t* end() const { return data_ + size_; }
  int64_t& operator[](size_t i) { return data_[i]; }
  int64_t operator[](size_t i) const { return data_[i]; }
  int64_t front() const { return data_[0]; }
  int64_t& back() { return data_[size_ - 1]; }
  int64_t back() const { return data_[size_ - 1]; }

  void clear() { size_ = 0; }
  void push_back(int64_t v) {
    if (size_ == capacity_) grow(size_ + 1);
    data_[size_++] = v;
  }
  void pop_back() { --size_; }
  void resize(size_t count, int64_t fill = 0) {
    if (count > capacity_) grow(count);
    for (size_t i = size_; i < count; ++i) data_[i] = fill;
    size_ = static_cast<uint32_t>(count);
  }
  void insert_at(size_t position, int64_t v) {
    push_back(v);
    std::rotate(begin() + position, end() - 1, end());
  }
  void erase_at(size_t position) {
    std::copy(begin() + position + 1, end(), begin() + position);
    --size_;
  }
  void append(const Dims& other) {
    for (int64_t v : other) push_back(v);
  }
  bool contains(int64_t v) const { return std::find(begin(), end(), v) != end(); }

  friend bool operator==(const Dims& a, const Dims& b) {
    return a.size_ == b.size_ && std::equal(a.begin(), a.end(), b.begin());
  }

 private:
  static constexpr uint32_t kInline = 6;

  void assign(const int64_t* data, size_t count) {
    if (count > capacity_) grow(count);
    if (count) std::memcpy(data_, data, count * sizeof(int64_t));
    size_ = static_cast<uint32_t>(count);
  }
  void take(Dims& other) {
    if (other.data_ == other.inline_) {
      data_ = inline_;
      capacity_ = kInline;
      size_ = other.size_;
      std::memcpy(inline_, other.inline_, sizeof(inline_));
    } else {
      data_ = other.data_;
      size_ = other.size_;
      capacity_ = other.capacity_;
      other.data_ = other.inline_;
      other.capacity_ = kInline;
    }
    other.size_ = 0;
  }
  void grow(size_t wanted) {
    size_t capacity = std::max<size_t>(wanted, capacity_ * 2);
    int64_t* data = new int64_t[capacity];
    if (size_) std::memcpy(data, data_, size_ * sizeof(int64_t));
    release();
    data_ = data;
    capacity_ = static_cast<uint32_t>(capacity);
  }
  void release() {
    if (data_ != inline_) delete[] data_;
  }

  int64_t* data_ = inline_;
  uint32_t size_ = 0;
  uint32_t capacity_ = kInline;
  int64_t inline_[kInline] = {};
};

// Product of the sizes; 1 for a scalar.
int64_t numel(const Dims& sizes);
// "4,8"
std::string dims_text(const Dims& dims);
// Row-major strides in elements; a dimension of size 0 counts as 1, as in PyTorch.
Dims contiguous_strides(const Dims& sizes);
// 0, 1, …, rank-1.
Dims iota_dims(size_t rank);

}  // namespace tp
