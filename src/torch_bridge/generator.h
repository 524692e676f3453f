#pragma once
// Random numbers: a seed and an offset in Philox's stream, both on the host.

#include <ATen/core/Generator.h>
#include <ATen/core/ivalue.h>

#include "stablehlo/build.h"

namespace tp::bridge {

class TpuGenerator final : public c10::GeneratorImpl, public RandomSource {
 public:
  explicit TpuGenerator(int device, uint64_t seed = c10::default_rng_seed_val);

  // Thread-safe.
  Position reserve(uint64_t count) override;
  // Reserves; returns the offset alone.
  uint64_t take(uint64_t count) { return reserve(count).offset; }
  uint64_t philox_offset() const { return position_.offset; }
  void set_philox_offset(uint64_t offset) { position_.offset = offset; }

  // As in torch, the caller holds mutex_.
  void set_current_seed(uint64_t seed) override;
  uint64_t current_seed() const override { return position_.seed; }
  uint64_t seed() override;
  void set_offset(uint64_t offset) override { position_.offset = offset; }
  uint64_t get_offset() const override { return position_.offset; }
  void set_state(const c10::TensorImpl& state) override;
  c10::intrusive_ptr<c10::TensorImpl> get_state() const override;
  static c10::DeviceType device_type() { return c10::DeviceType::PrivateUse1; }

 private:
  TpuGenerator* clone_impl() const override;
  Position position_{};
};

// The device's own, used when an op is given none. Needs no client: seeding must not start one in a forked worker.
const at::Generator& default_generator(int device);
TpuGenerator& default_generator_impl(int device);
// Every device's, those not used so far too.
void manual_seed_all(uint64_t seed);

// Gives `b` the generator argument of an op, or the device's own when `argument` is null or None.
class GeneratorScope {
 public:
  GeneratorScope(Build& b, const c10::IValue* argument, int device);
  ~GeneratorScope() { b_.set_random(nullptr); }
  GeneratorScope(const GeneratorScope&) = delete;
  GeneratorScope& operator=(const GeneratorScope&) = delete;

 private:
  Build& b_;
};

}  // namespace tp::bridge
