// What PyTorch asks every accelerator.

#include <ATen/detail/PrivateUse1HooksInterface.h>

#include "torch_bridge/allocator.h"
#include "torch_bridge/generator.h"
#include "torch_bridge/guard.h"
#include "torch_bridge/runtime.h"

namespace tp::bridge {
namespace {

class Hooks final : public at::PrivateUse1HooksInterface {
 public:
  bool isBuilt() const override { return true; }
  bool isAvailable() const override { return bridge::device_count() > 0; }
  void init() const override { runner(); }
  bool hasPrimaryContext(c10::DeviceIndex device) const override {
    return runner_or_null() && device < bridge::device_count();
  }

  c10::DeviceIndex deviceCount() const override { return static_cast<c10::DeviceIndex>(bridge::device_count()); }
  c10::DeviceIndex getCurrentDevice() const override { return static_cast<c10::DeviceIndex>(current_device()); }
  void setCurrentDevice(c10::DeviceIndex device) const override { set_device(device); }
  c10::DeviceIndex exchangeDevice(c10::DeviceIndex device) const override {
    c10::DeviceIndex old = getCurrentDevice();
    if (device >= 0 && device != old) set_device(device);
    return old;
  }
  c10::DeviceIndex maybeExchangeDevice(c10::DeviceIndex device) const override { return exchangeDevice(device); }

  c10::Device getDeviceFromPtr(void* data) const override {
    StorageValue* storage = find_storage(data);
    TORCH_CHECK(storage, "the pointer is no address of a tpu tensor");
    return {c10::DeviceType::PrivateUse1, static_cast<c10::DeviceIndex>(storage->device)};
  }
  bool isPinnedPtr(const void* data) const override { return is_pinned(data); }
  c10::Allocator* getPinnedMemoryAllocator() const override { return &pinned_allocator(); }

  const at::Generator& getDefaultGenerator(c10::DeviceIndex device) const override {
    return default_generator(device < 0 ? current_device() : device);
  }
  at::Generator getNewGenerator(c10::DeviceIndex device) const override {
    return at::make_generator<TpuGenerator>(device < 0 ? current_device() : static_cast<int>(device));
  }

  void resizePrivateUse1Bytes(const c10::Storage& storage, size_t nbytes) const override {
    std::lock_guard<std::recursive_mutex> lock(runner().mutex());
    resize_storage(storage.unsafeGetStorageImpl(), nbytes);
  }
};

// Torch keeps the pointer for good.
[[maybe_unused]] const bool g_registered = [] {
  at::RegisterPrivateUse1HooksInterface(new Hooks);
  return true;
}();

}  // namespace
}  // namespace tp::bridge
