#include "stablehlo/node.h"

#include <mutex>

namespace tp {
namespace {

// In the order of Op.
constexpr const char* kNames[kOpCount] = {
    "leaf",
    "constant",
    "project",
    "composite",
    "abs",
    "cbrt",
    "ceil",
    "cosine",
    "count_leading_zeros",
    "exponential",
    "exponential_minus_one",
    "floor",
    "imag",
    "is_finite",
    "log",
    "log_plus_one",
    "logistic",
    "negate",
    "not",
    "popcnt",
    "real",
    "round_nearest_afz",
    "round_nearest_even",
    "rsqrt",
    "sign",
    "sine",
    "sqrt",
    "tan",
    "tanh",
    "acos",
    "acosh",
    "asin",
    "asinh",
    "atan",
    "atanh",
    "bessel_i1e",
    "cosh",
    "digamma",
    "erf",
    "erf_inv",
    "erfc",
    "lgamma",
    "sinh",
    "add",
    "and",
    "atan2",
    "complex",
    "divide",
    "maximum",
    "minimum",
    "multiply",
    "or",
    "power",
    "remainder",
    "shift_left",
    "shift_right_arithmetic",
    "shift_right_logical",
    "subtract",
    "xor",
    "next_after",
    "polygamma",
    "zeta",
    "bitcast_convert",
    "broadcast_in_dim",
    "cholesky",
    "clamp",
    "compare",
    "concatenate",
    "convert",
    "convolution",
    "custom_call",
    "dot_general",
    "dynamic_slice",
    "dynamic_update_slice",
    "fft",
    "gather",
    "iota",
    "optimization_barrier",
    "pad",
    "reduce",
    "reduce_window",
    "reshape",
    "reverse",
    "scatter",
    "select",
    "select_and_scatter",
    "slice",
    "sort",
    "transpose",
    "triangular_solve",
};

std::atomic<int64_t> g_live{0};

// Freed nodes wait here for the next new_node: tracing makes and drops thousands a step.
struct Pool {
  std::mutex mutex;
  std::vector<void*> free;
};

Pool& pool() {
  static Pool* p = new Pool;  // outlives static destruction
  return *p;
}

void* take_memory() {
  Pool& p = pool();
  std::lock_guard<std::mutex> lock(p.mutex);
  if (p.free.empty()) {
    constexpr size_t kChunk = 64;
    char* chunk = static_cast<char*>(::operator new(sizeof(Node) * kChunk));
    for (size_t i = 0; i < kChunk; ++i) p.free.push_back(chunk + i * sizeof(Node));
  }
  void* memory = p.free.back();
  p.free.pop_back();
  return memory;
}

void destroy(Node* node) {
  node->~Node();
  g_live.fetch_sub(1, std::memory_order_relaxed);
  Pool& p = pool();
  std::lock_guard<std::mutex> lock(p.mutex);
  p.free.push_back(node);
}

bool drop_reference(Node* node) { return node->refs.fetch_sub(1, std::memory_order_acq_rel) == 1; }

}  // namespace

const char* op_name(Op op) { return kNames[static_cast<int>(op)]; }

bool op_is_chlo(Op op) { return (op >= Op::acos && op <= Op::sinh) || (op >= Op::next_after && op <= Op::zeta); }

Inputs::Inputs(Values values) : count_(static_cast<uint32_t>(values.size())) {
  if (count_ > 3) {
    many_ = std::move(values);
  } else {
    for (size_t i = 0; i < count_; ++i) few_[i] = std::move(values[i]);
  }
}

// A chain of ten thousand nodes dies without recursion: each node gives its inputs to the list.
void release_node(Node* node) {
  if (!drop_reference(node)) return;
  if (node->inputs.size() == 0) return destroy(node);
  std::vector<Inputs> waiting;
  waiting.push_back(std::move(node->inputs));
  destroy(node);
  while (!waiting.empty()) {
    Inputs inputs = std::move(waiting.back());
    waiting.pop_back();
    for (Value& input : inputs) {
      Node* child = input.get();
      if (!child || child->refs.load(std::memory_order_acquire) != 1) continue;  // ~Inputs drops it
      if (child->inputs.size()) waiting.push_back(std::move(child->inputs));
    }
  }
}

void Node::become_leaf(std::shared_ptr<Resident> bytes) {
  Inputs old = std::move(inputs);
  inputs = Inputs();
  op = Op::leaf;
  ints.clear();
  text.clear();
  more_types.clear();
  resident = std::move(bytes);
}

Value new_node(Op op, Type type, Inputs inputs) {
  Node* node = new (take_memory()) Node;
  g_live.fetch_add(1, std::memory_order_relaxed);
  node->op = op;
  node->type = std::move(type);
  node->inputs = std::move(inputs);
  return Value(node);
}

Value new_leaf(Type type, std::shared_ptr<Resident> bytes, int device) {
  Value leaf = new_node(Op::leaf, std::move(type));
  leaf->device = static_cast<uint8_t>(device);
  leaf->resident = std::move(bytes);
  return leaf;
}

int64_t live_nodes() { return g_live.load(std::memory_order_relaxed); }

}  // namespace tp
