#include "torch_bridge/allocator.h"

#include <pthread.h>
#include <sys/mman.h>

#include <array>
#include <atomic>
#include <bit>
#include <cstdlib>
#include <map>
#include <mutex>
#include <unordered_map>

#include "graph/region.h"
#include "torch_bridge/errors.h"
#include "torch_bridge/guard.h"
#include "torch_bridge/runtime.h"

namespace tp::bridge {
namespace {

constexpr size_t kSmallest = 64;
constexpr int kClasses = 256;

// Four sizes for each power of two.
int class_of(size_t nbytes) {
  if (nbytes <= kSmallest) return 0;
  int top = std::bit_width(nbytes - 1);  // 2^(top-1) < nbytes <= 2^top
  size_t step = size_t{1} << (top - 3);
  return (top - 7) * 4 + static_cast<int>((nbytes - 1 - (size_t{1} << (top - 1))) / step) + 1;
}

size_t capacity_of(int size_class) {
  if (size_class == 0) return kSmallest;
  int top = (size_class - 1) / 4 + 7;
  return (size_t{1} << (top - 1)) + ((size_class - 1) % 4 + 1) * (size_t{1} << (top - 3));
}

struct PendingList {
  StorageValue *first = nullptr, *last = nullptr;
  int64_t nodes_at_run = 0;
};

struct Pool {
  std::mutex mutex;
  char *next = nullptr, *end = nullptr;  // the part of the reserved range that was never used
  std::array<std::vector<StorageValue*>, kClasses> free;
  std::map<const char*, StorageValue*> blocks;     // by address; never shrinks
  std::unordered_map<int64_t, PendingList> lists;  // by stream
  Values released;
  std::atomic<bool> has_released{false};
};

Pool& pool() {
  static Pool* p = [] {
    auto* made = new Pool;  // tensors may outlive every destructor
    // A child of fork() must not inherit the lock of a thread that it lacks.
    pthread_atfork([] { pool().mutex.lock(); }, [] { pool().mutex.unlock(); }, [] { pool().mutex.unlock(); });
    return made;
  }();
  return *p;
}

void reserve_range(Pool& p) {
  for (int bits = 44; bits >= 36; bits -= 2) {  // less where `ulimit -v` is set
    size_t size = size_t{1} << bits;
    void* range = mmap(nullptr, size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (range == MAP_FAILED) continue;
    p.next = static_cast<char*>(range);
    p.end = p.next + size;
    return;
  }
}

StorageValue* carve(Pool& p, size_t capacity) {
  if (!p.next) reserve_range(p);
  if (static_cast<size_t>(p.end - p.next) < capacity) return nullptr;
  auto* storage = new StorageValue;
  storage->address = p.next;
  storage->capacity = capacity;
  p.next += capacity;
  p.blocks.emplace(storage->address, storage);
  return storage;
}

void unlink(Pool& p, StorageValue& s) {
  if (s.stream < 0) return;
  PendingList& list = p.lists[s.stream];
  (s.previous ? s.previous->next : list.first) = s.next;
  (s.next ? s.next->previous : list.last) = s.previous;
  s.previous = s.next = nullptr;
  s.stream = -1;
}

void link(Pool& p, StorageValue& s, int64_t stream) {
  PendingList& list = p.lists[stream];
  s.stream = stream;
  s.previous = list.last;
  (list.last ? list.last->next : list.first) = &s;
  list.last = &s;
}

bool is_pending(const Value& value) { return value && value->op != Op::leaf && !is_cheap(*value.get()); }

// Takes the graph's lock only if it is free: tensors die with Python's lock held, and who holds the graph's lock may
// be waiting for Python's.
void release_storage(void* context) {
  auto* s = static_cast<StorageValue*>(context);
  Runner* run = runner_or_null();
  std::unique_lock<std::recursive_mutex> graph;
  if (run) graph = std::unique_lock<std::recursive_mutex>(run->mutex(), std::try_to_lock);
  Value value;
  Pool& p = pool();
  std::lock_guard<std::mutex> lock(p.mutex);
  unlink(p, *s);
  value = std::move(s->value);
  s->in_use = false;
  s->rebased = false;
  p.free[class_of(s->capacity)].push_back(s);
  if (!value || (graph && !in_bad_fork())) return;
  p.released.push_back(std::move(value));
  p.has_released = true;
}

void fill(c10::CachingAllocator::StatArray& stat, int64_t current, int64_t peak) {
  auto& all = stat[static_cast<size_t>(c10::CachingAllocator::StatType::AGGREGATE)];
  all.current = current;
  all.peak = peak;
}

class TpuAllocator final : public c10::DeviceAllocator {
 public:
  at::DataPtr allocate(size_t nbytes) override { return allocate_storage(nbytes, current_device()); }
  c10::DeleterFnPtr raw_deleter() const override { return nullptr; }

  void copy_data(void* destination, const void* source, size_t count) const override {
    if (count == 0) return;
    StorageValue *to = find_storage(destination), *from = find_storage(source);
    TORCH_CHECK(to && from && to->nbytes == from->nbytes && count == to->nbytes, "tpu copies whole storages only");
    std::lock_guard<std::recursive_mutex> graph(runner().mutex());
    set_value(*to, from->value);
  }

  bool initialized() override { return runner_or_null() != nullptr; }
  // PJRT owns the memory; freed buffers are its own to reuse.
  void emptyCache(c10::MempoolId_t) override {
    Runner* run = runner_or_null();
    if (!run) return;
    std::lock_guard<std::recursive_mutex> graph(run->mutex());
    drop_released();
  }
  // Work on a buffer keeps it alive in PJRT.
  void recordStream(const at::DataPtr&, c10::Stream) override {}

  c10::CachingDeviceAllocator::DeviceStats getDeviceStats(c10::DeviceIndex device) override {
    c10::CachingDeviceAllocator::DeviceStats stats;
    if (!runner_or_null()) return stats;
    emptyCache({});
    MemoryAccount& account = account_of(device);
    for (auto* bytes : {&stats.allocated_bytes, &stats.active_bytes, &stats.requested_bytes, &stats.reserved_bytes}) {
      fill(*bytes, account.in_use(), account.peak());
    }
    for (auto* count : {&stats.allocation, &stats.active}) fill(*count, account.buffers(), account.buffers());
    return stats;
  }
  // Only current values and peaks are kept.
  void resetAccumulatedStats(c10::DeviceIndex) override {}
  void resetPeakStats(c10::DeviceIndex device) override {
    if (!runner_or_null()) return;
    emptyCache({});
    account_of(device).reset_peak();
  }
  std::pair<size_t, size_t> getMemoryInfo(c10::DeviceIndex device) override {
    MemoryAccount& account = account_of(device);
    emptyCache({});
    return {static_cast<size_t>(std::max<int64_t>(account.free(), 0)),
            static_cast<size_t>(runner().total_memory(device))};
  }

 private:
  static MemoryAccount& account_of(c10::DeviceIndex device) {
    runner();
    TORCH_CHECK(device >= 0 && device < device_count(), "there is no tpu:", static_cast<int>(device));
    return runner().memory(device);
  }
};

TpuAllocator g_allocator;
REGISTER_ALLOCATOR(c10::DeviceType::PrivateUse1, &g_allocator)

// --- pinned host memory

struct Pinned {
  std::mutex mutex;
  std::map<const char*, size_t> ranges;
};

Pinned& pinned() {
  static Pinned* p = new Pinned;
  return *p;
}

void release_pinned(void* memory) {
  {
    std::lock_guard<std::mutex> lock(pinned().mutex);
    pinned().ranges.erase(static_cast<const char*>(memory));
  }
  std::free(memory);
}

class PinnedAllocator final : public c10::Allocator {
 public:
  at::DataPtr allocate(size_t nbytes) override {
    if (nbytes == 0) return {nullptr, nullptr, &c10::detail::deleteNothing, c10::Device(c10::DeviceType::CPU)};
    void* memory = nullptr;
    // Plugins read aligned host memory in place.
    TORCH_CHECK(posix_memalign(&memory, 64, nbytes) == 0, "cannot allocate ", nbytes, " bytes of pinned memory");
    std::lock_guard<std::mutex> lock(pinned().mutex);
    pinned().ranges[static_cast<const char*>(memory)] = nbytes;
    return {memory, memory, &release_pinned, c10::Device(c10::DeviceType::CPU)};
  }
  c10::DeleterFnPtr raw_deleter() const override { return &release_pinned; }
  void copy_data(void* destination, const void* source, size_t count) const override {
    default_copy_data(destination, source, count);
  }
};

}  // namespace

c10::DeviceAllocator& device_allocator() { return g_allocator; }

at::DataPtr allocate_storage(size_t nbytes, int device) {
  Pool& p = pool();
  StorageValue* s = nullptr;
  int size_class = nbytes <= (size_t{1} << 46) ? class_of(nbytes) : -1;
  if (size_class >= 0) {
    std::lock_guard<std::mutex> lock(p.mutex);
    auto& free = p.free[size_class];
    if (free.empty()) {
      s = carve(p, capacity_of(size_class));
    } else {
      s = free.back();
      free.pop_back();
    }
    if (s) s->in_use = true;
  }
  if (!s)
    throw_error(make_error(Code::out_of_memory,
                           "tpu out of memory. there are no addresses for " + std::to_string(nbytes) + " bytes"));
  s->nbytes = nbytes;
  s->device = device;
  s->made_at = 0;
  s->made_for = Type{Dtype::u8, Dims{static_cast<int64_t>(nbytes)}};
  return {nbytes ? s->address : nullptr, s, &release_storage,
          c10::Device(c10::DeviceType::PrivateUse1, static_cast<c10::DeviceIndex>(device))};
}

StorageValue* context_of(const at::DataPtr& data) {
  return data.get_deleter() == &release_storage ? static_cast<StorageValue*>(data.get_context()) : nullptr;
}

StorageValue* find_storage(const void* address) {
  Pool& p = pool();
  std::lock_guard<std::mutex> lock(p.mutex);
  auto it = p.blocks.upper_bound(static_cast<const char*>(address));
  if (it == p.blocks.begin()) return nullptr;
  StorageValue* s = std::prev(it)->second;
  bool inside = static_cast<const char*>(address) < s->address + s->capacity;
  return inside && s->in_use ? s : nullptr;
}

void for_each_live(const std::function<void(const StorageValue&)>& visit) {
  drop_released();
  Pool& p = pool();
  std::lock_guard<std::mutex> lock(p.mutex);
  for (const auto& [address, storage] : p.blocks) {
    if (storage->in_use) visit(*storage);
  }
}

void drop_released() {
  Pool& p = pool();
  if (!p.has_released.load(std::memory_order_relaxed) || in_bad_fork()) return;
  Values released;
  std::lock_guard<std::mutex> lock(p.mutex);
  released.swap(p.released);
  p.has_released = false;
}

// --- what is pending

void set_value(StorageValue& s, Value value) {
  if (value && value->wrapped_number) value = Build("", s.device).constant(value.dtype(), value->number, value.dims());
  bool pending = is_pending(value);
  Value old = std::exchange(s.value, std::move(value));
  s.rebased = false;
  if (!pending && s.stream < 0) return;
  drop_released();
  Pool& p = pool();
  std::lock_guard<std::mutex> lock(p.mutex);
  unlink(p, s);
  if (pending) link(p, s, current_stream_id());
}

void for_each_pending(int64_t stream, const std::function<void(StorageValue&)>& visit) {
  drop_released();
  Pool& p = pool();
  std::lock_guard<std::mutex> lock(p.mutex);
  auto list = p.lists.find(stream);
  if (list == p.lists.end()) return;
  for (StorageValue *s = list->second.first, *next; s; s = next) {
    next = s->next;
    if (is_pending(s->value))
      visit(*s);
    else
      unlink(p, *s);
  }
}

void forget_run(int64_t stream) {
  for_each_pending(stream, [](StorageValue&) {});
  Pool& p = pool();
  std::lock_guard<std::mutex> lock(p.mutex);
  auto list = p.lists.find(stream);
  if (list == p.lists.end()) return;
  list->second.nodes_at_run = live_nodes();
}

int64_t nodes_since_run(int64_t stream) {
  Pool& p = pool();
  std::lock_guard<std::mutex> lock(p.mutex);
  auto list = p.lists.find(stream);
  return list == p.lists.end() ? 0 : live_nodes() - list->second.nodes_at_run;
}

std::vector<int64_t> pending_streams() {
  Pool& p = pool();
  std::lock_guard<std::mutex> lock(p.mutex);
  std::vector<int64_t> streams;
  for (const auto& [stream, list] : p.lists) {
    if (list.first) streams.push_back(stream);
  }
  return streams;
}

// --- pinned host memory

c10::Allocator& pinned_allocator() {
  static PinnedAllocator allocator;
  return allocator;
}

bool is_pinned(const void* address) {
  std::lock_guard<std::mutex> lock(pinned().mutex);
  const auto& ranges = pinned().ranges;
  auto it = ranges.upper_bound(static_cast<const char*>(address));
  if (it == ranges.begin()) return false;
  --it;
  return static_cast<const char*>(address) < it->first + it->second;
}

}  // namespace tp::bridge
