#pragma once
// A program as a graph of StableHLO operations. A Node is made once, by Build; afterwards only its execution
// turns it into a leaf (become_leaf), under the graph's lock. Reference counts are atomic, so handles may be
// dropped on any thread.

#include <atomic>
#include <memory>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/scalar.h"
#include "stablehlo/operation.h"
#include "stablehlo/type.h"

namespace tp {

// What a leaf holds; exec/ derives from it. Shared by every leaf that names the same bytes.
class Resident {
 public:
  virtual ~Resident() = default;
};

struct Node;
void release_node(Node* node);

// A counted reference to a Node. Empty means "no value" or, from Build, "an error came before".
class Value {
 public:
  Value() = default;
  explicit Value(Node* node);
  Value(const Value& other);
  Value(Value&& other) noexcept : node_(other.node_) { other.node_ = nullptr; }
  ~Value() {
    if (node_) release_node(node_);
  }
  Value& operator=(Value other) noexcept {
    std::swap(node_, other.node_);
    return *this;
  }
  explicit operator bool() const { return node_ != nullptr; }
  Node* get() const { return node_; }
  Node* operator->() const { return node_; }
  const Type& type() const;
  Dtype dtype() const;
  const Dims& dims() const;
  int rank() const { return dims().rank(); }
  int64_t size(int dim) const { return dims()[dim]; }
  friend bool operator==(const Value& a, const Value& b) { return a.node_ == b.node_; }

 private:
  friend struct Node;
  Node* node_ = nullptr;
};

using Values = std::vector<Value>;

// Up to three inputs lie in the node itself.
class Inputs {
 public:
  Inputs() = default;
  Inputs(Inputs&& other) noexcept { *this = std::move(other); }
  Inputs& operator=(Inputs&& other) noexcept {
    for (size_t i = 0; i < 3; ++i) few_[i] = std::move(other.few_[i]);
    many_ = std::move(other.many_);
    count_ = std::exchange(other.count_, 0);
    return *this;
  }
  Inputs(const Inputs&) = default;
  Inputs& operator=(const Inputs&) = default;
  explicit Inputs(Values values);
  Inputs(Value a) : count_(1) { few_[0] = std::move(a); }
  Inputs(Value a, Value b) : count_(2) {
    few_[0] = std::move(a);
    few_[1] = std::move(b);
  }
  Inputs(Value a, Value b, Value c) : count_(3) {
    few_[0] = std::move(a);
    few_[1] = std::move(b);
    few_[2] = std::move(c);
  }
  size_t size() const { return count_; }
  Value* begin() { return count_ > 3 ? many_.data() : few_; }
  Value* end() { return begin() + count_; }
  const Value* begin() const { return count_ > 3 ? many_.data() : few_; }
  const Value* end() const { return begin() + count_; }
  const Value& operator[](size_t i) const { return begin()[i]; }
  Value& operator[](size_t i) { return begin()[i]; }

 private:
  uint32_t count_ = 0;
  Value few_[3];
  Values many_;
};

struct Node {
  std::atomic<uint32_t> refs{0};
  Op op = Op::leaf;
  uint8_t kind = 0;             // Direction, Combine, or what the op's Build method says
  uint8_t device = 0;           // index among the client's devices
  bool wrapped_number = false;  // a Python number: it never widens a tensor of its category
  bool runtime_number = false;  // a number that is a runtime scalar from the first time (random seeds)
  Loc loc = 0;                  // never in a key
  const char* aten = "";        // the op the user called; static storage, never in a key
  Type type;
  Inputs inputs;
  Dims ints;                           // the op's attributes, packed as its Build method says
  Scalar number;                       // constant only
  std::string text;                    // composite and custom_call: the name
  std::vector<Type> more_types;        // of the second and later results
  std::shared_ptr<Resident> resident;  // leaf only

  // Scratch of one traversal, valid under the graph's lock while mark is that traversal's number.
  uint64_t mark = 0;
  int32_t index = 0;
  int32_t uses = 0;

  // The node ran: it forgets how it was made and holds its bytes.
  void become_leaf(std::shared_ptr<Resident> bytes);
};

inline Value::Value(Node* node) : node_(node) {
  if (node_) node_->refs.fetch_add(1, std::memory_order_relaxed);
}
inline Value::Value(const Value& other) : Value(other.node_) {}
inline const Type& Value::type() const { return node_->type; }
inline Dtype Value::dtype() const { return node_->type.dtype; }
inline const Dims& Value::dims() const { return node_->type.dims; }

// A new node with one reference; the memory comes from a free list.
Value new_node(Op op, Type type, Inputs inputs = {});
// A leaf on `device`.
Value new_leaf(Type type, std::shared_ptr<Resident> bytes, int device = 0);
// Nodes alive in the process; counted by tests.
int64_t live_nodes();

}  // namespace tp
