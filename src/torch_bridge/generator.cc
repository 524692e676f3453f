#include "torch_bridge/generator.h"

#include <ATen/EmptyTensor.h>
#include <ATen/core/Tensor.h>

#include <array>
#include <cstring>
#include <mutex>

namespace tp::bridge {
namespace {

constexpr int kMaxDevices = 128;  // c10::DeviceIndex is 8 bits

struct Defaults {
  std::mutex mutex;
  uint64_t seed = c10::default_rng_seed_val;
  std::array<at::Generator, kMaxDevices> generators;
};

Defaults& defaults() {
  static Defaults* d = new Defaults;  // Python may hold its generators after static destruction
  return *d;
}

c10::Device device_at(int index) { return {c10::DeviceType::PrivateUse1, static_cast<c10::DeviceIndex>(index)}; }

}  // namespace

TpuGenerator::TpuGenerator(int device, uint64_t seed)
    : c10::GeneratorImpl(device_at(device), c10::DispatchKeySet(c10::DispatchKey::PrivateUse1)), position_{seed, 0} {}

RandomSource::Position TpuGenerator::reserve(uint64_t count) {
  std::lock_guard<std::mutex> lock(mutex_);
  Position start = position_;
  position_.offset += count;
  return start;
}

void TpuGenerator::set_current_seed(uint64_t seed) { position_ = {seed, 0}; }

uint64_t TpuGenerator::seed() {
  uint64_t random = c10::detail::getNonDeterministicRandom();
  set_current_seed(random);
  return random;
}

// Seed, then offset, as eight bytes each.
c10::intrusive_ptr<c10::TensorImpl> TpuGenerator::get_state() const {
  at::Tensor state = at::Tensor(at::detail::empty_cpu({sizeof(Position)}, at::kByte));
  std::memcpy(state.mutable_data_ptr(), &position_, sizeof(Position));
  return state.getIntrusivePtr();
}

void TpuGenerator::set_state(const c10::TensorImpl& state) {
  at::detail::check_rng_state(state);
  TORCH_CHECK(state.numel() == sizeof(Position), "the state of a tpu generator has ", sizeof(Position), " bytes, got ",
              state.numel());
  std::memcpy(&position_, state.data(), sizeof(Position));
}

TpuGenerator* TpuGenerator::clone_impl() const {
  auto* copy = new TpuGenerator(device().index());
  copy->position_ = position_;
  return copy;
}

const at::Generator& default_generator(int device) {
  TORCH_CHECK(device >= 0 && device < kMaxDevices, "there is no tpu:", device);
  Defaults& d = defaults();
  std::lock_guard<std::mutex> lock(d.mutex);
  at::Generator& generator = d.generators[device];
  if (!generator.defined()) generator = at::make_generator<TpuGenerator>(device, d.seed);
  return generator;
}

TpuGenerator& default_generator_impl(int device) { return *default_generator(device).get<TpuGenerator>(); }

void manual_seed_all(uint64_t seed) {
  Defaults& d = defaults();
  std::lock_guard<std::mutex> lock(d.mutex);
  d.seed = seed;
  for (at::Generator& generator : d.generators) {
    if (!generator.defined()) continue;
    std::lock_guard<std::mutex> held(generator.mutex());
    generator.set_current_seed(seed);
  }
}

GeneratorScope::GeneratorScope(Build& b, const c10::IValue* argument, int device) : b_(b) {
  if (!argument || argument->isNone()) {
    b_.set_random(&default_generator_impl(device));
    return;
  }
  b_.set_random(at::check_generator<TpuGenerator>(argument->toGenerator()));
}

}  // namespace tp::bridge
