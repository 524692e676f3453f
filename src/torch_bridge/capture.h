#pragma once
// Captured graphs: a callable is run once on tensors whose storages hold placeholders; what it leaves in its outputs
// and in storages that it wrote becomes one executable. Views, aliases and in-place writes need no care of their own,
// since storages are the truth here too.

#include <ATen/core/Tensor.h>

#include <functional>
#include <memory>
#include <optional>
#include <vector>

namespace tp::bridge {

class Capture {
 public:
  // Runs `body` and compiles what it did to `inputs`. Throws what body throws, and when body looks at a value.
  // Nothing that body did remains in the inputs.
  static std::shared_ptr<Capture> record(std::vector<at::Tensor> inputs,
                                         const std::function<std::vector<at::Tensor>()>& body);
  ~Capture();

  // Runs the executable on other tensors of the same storages' shapes; nullopt when their storages are laid out or
  // shared in another way than the recorded ones.
  std::optional<std::vector<at::Tensor>> call(const std::vector<at::Tensor>& inputs);

 private:
  struct State;
  explicit Capture(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace tp::bridge
