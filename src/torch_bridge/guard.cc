#include "torch_bridge/guard.h"

#include <c10/core/DeviceCapability.h>
#include <c10/core/impl/DeviceGuardImplInterface.h>

#include <atomic>
#include <chrono>
#include <mutex>
#include <thread>
#include <vector>

#include "torch_bridge/dtypes.h"
#include "torch_bridge/errors.h"
#include "torch_bridge/pending.h"
#include "torch_bridge/runtime.h"

namespace tp::bridge {
namespace {

constexpr c10::DeviceType kTpu = c10::DeviceType::PrivateUse1;

const std::thread::id g_importing_thread = std::this_thread::get_id();

// Streams of threads that ended are given to new ones, so that a pool of short-lived threads makes no new lists.
struct StreamIds {
  std::mutex mutex;
  std::vector<int64_t> free;
  int64_t next = 1;
};

StreamIds& stream_ids() {
  static StreamIds* ids = new StreamIds;
  return *ids;
}

int64_t take_stream_id() {
  StreamIds& ids = stream_ids();
  std::lock_guard<std::mutex> lock(ids.mutex);
  if (ids.free.empty()) return ids.next++;
  int64_t id = ids.free.back();
  ids.free.pop_back();
  return id;
}

struct ThreadStream {
  int64_t own, current;
  ThreadStream() : own(std::this_thread::get_id() == g_importing_thread ? 0 : take_stream_id()), current(own) {}
  ~ThreadStream() {
    if (own == 0) return;
    StreamIds& ids = stream_ids();
    std::lock_guard<std::mutex> lock(ids.mutex);
    ids.free.push_back(own);
  }
};

thread_local ThreadStream t_stream;
thread_local int t_device = 0;

void check_not_capturing(const char* what) {
  TORCH_CHECK(!capturing(), what, " looks at what is not computed yet: impossible while a graph is being captured");
}

// Values carry the order of work over streams, so an event needs no work of its own until the host waits for it.
struct Event {
  int device = 0;
  bool timed = false;
  std::chrono::steady_clock::time_point time;
};

class Guard final : public c10::impl::DeviceGuardImplInterface {
 public:
  c10::DeviceType type() const override { return kTpu; }
  c10::Device exchangeDevice(c10::Device device) const override {
    c10::Device old = getDevice();
    if (device.has_index()) setDevice(device);
    return old;
  }
  c10::Device getDevice() const override { return {kTpu, static_cast<c10::DeviceIndex>(t_device)}; }
  void setDevice(c10::Device device) const override {
    TORCH_CHECK(device.type() == kTpu, "expected a tpu device, got ", device);
    if (device.has_index() && device.index() != t_device) set_device(device.index());
  }
  void uncheckedSetDevice(c10::Device device) const noexcept override {
    if (device.has_index()) t_device = device.index();
  }
  c10::DeviceIndex deviceCount() const noexcept override { return static_cast<c10::DeviceIndex>(device_count()); }
  c10::DeviceCapability getDeviceCapability(c10::Device) const override {
    c10::DeviceCapability capability;
    for (size_t i = 0; i < c10::NUMBER_OF_DEVICE_CAPABILITIES; ++i) {
      if (!find_dtype(static_cast<c10::ScalarType>(i)))
        capability.capability_data.capability_bits &= ~(uint64_t{1} << i);
    }
    return capability;
  }

  c10::Stream getStream(c10::Device device) const override { return stream(device, t_stream.current); }
  c10::Stream getDefaultStream(c10::Device device) const override { return stream(device, 0); }
  c10::Stream getNewStream(c10::Device device, int) const override { return stream(device, new_stream_id()); }
  c10::Stream getStreamFromGlobalPool(c10::Device device, bool) const override {
    return stream(device, new_stream_id());
  }
  c10::Stream exchangeStream(c10::Stream next) const override {
    return stream(next.device(), exchange_stream_id(next.id()));
  }
  bool queryStream(const c10::Stream& s) const override {
    synchronizeStream(s);
    return true;
  }
  void synchronizeStream(const c10::Stream& s) const override {
    check_not_capturing("synchronizing a stream");
    run_pending(s.id());
    wait(s.device_index());
  }
  void synchronizeDevice(c10::DeviceIndex device) const override { synchronize(device); }
  bool isStreamCapturing(const c10::Stream&) const override { return capturing(); }

  void record(void** event, const c10::Stream& s, c10::DeviceIndex, c10::EventFlag flag) const override {
    if (!*event) *event = new Event;
    Event& e = *static_cast<Event*>(*event);
    e.device = s.device_index();
    e.timed = flag == c10::EventFlag::BACKEND_DEFAULT;
    if (!e.timed) return;
    // The plugin tells no times, so a timing event waits for its place in the stream.
    synchronizeStream(s);
    e.time = std::chrono::steady_clock::now();
  }
  void block(void*, const c10::Stream&) const override {}
  bool queryEvent(void* event) const override {
    synchronizeEvent(event);
    return true;
  }
  void synchronizeEvent(void* event) const override {
    if (event) synchronize(static_cast<Event*>(event)->device);
  }
  void destroyEvent(void* event, c10::DeviceIndex) const noexcept override { delete static_cast<Event*>(event); }
  double elapsedTime(void* first, void* second, c10::DeviceIndex) const override {
    auto *a = static_cast<Event*>(first), *b = static_cast<Event*>(second);
    TORCH_CHECK(a && b && a->timed && b->timed, "both events must be recorded, with enable_timing=True");
    return std::chrono::duration<double, std::milli>(b->time - a->time).count();
  }

 private:
  static c10::Stream stream(c10::Device device, int64_t id) {
    auto index = device.has_index() ? device.index() : static_cast<c10::DeviceIndex>(t_device);
    return c10::Stream(c10::Stream::UNSAFE, {kTpu, index}, id);
  }
  static void wait(int device) {
    Runner* run = runner_or_null();
    if (run) value_or_throw(run->synchronize(device));
  }
};

C10_REGISTER_GUARD_IMPL(PrivateUse1, Guard)

}  // namespace

int device_count() noexcept {
  if (Runner* run = runner_or_null()) return static_cast<int>(run->devices().size());
  try {
    return static_cast<int>(runner().devices().size());
  } catch (...) {
    return 0;
  }
}

int current_device() { return t_device; }

void set_device(int device) {
  runner();  // says what is wrong when there is none
  TORCH_CHECK(device >= 0 && device < device_count(), "invalid device tpu:", device, ": there are ", device_count());
  t_device = device;
}

int64_t current_stream_id() { return t_stream.current; }
int64_t exchange_stream_id(int64_t stream) { return std::exchange(t_stream.current, stream); }
int64_t new_stream_id() { return take_stream_id(); }

void synchronize(int device) {
  if (in_bad_fork()) runner();  // says so
  Runner* run = runner_or_null();
  if (!run) return;
  check_not_capturing("synchronizing the device");
  for (int64_t stream : pending_streams()) run_pending(stream);
  value_or_throw(run->synchronize(device));
}

}  // namespace tp::bridge
