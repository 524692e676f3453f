#include "torch_bridge/runtime.h"

#include "base/env.h"

#include <c10/util/Exception.h>
#include <pthread.h>

#include <atomic>

namespace tp::bridge {
namespace {

std::atomic<Runner*> g_runner{nullptr};
std::atomic<bool> g_forked{false};  // set in a child forked after the client was made
void (*g_lazy_init)() = nullptr;
std::atomic<FallbackMode> g_fallback_mode{FallbackMode::warn};
std::atomic<int> g_sync_debug_mode{0};
std::atomic<int> g_detect_nan{-1};  // -1: as the environment says

void after_fork_in_child() {
  if (g_runner.load()) g_forked = true;
}

}  // namespace

Runner* runner_or_null() { return g_forked.load(std::memory_order_relaxed) ? nullptr : g_runner.load(); }

Runner& runner() {
  Runner* made = g_runner.load(std::memory_order_acquire);
  TORCH_CHECK(
      !g_forked.load(std::memory_order_relaxed),
      "Cannot re-initialize tpu in forked subprocess. To use tpu with multiprocessing, you must use the 'spawn' "
      "start method");
  if (made) [[likely]]
    return *made;
  TORCH_CHECK(g_lazy_init, "tpu is not initialised: import torch_pjrt first");
  g_lazy_init();
  made = g_runner.load();
  TORCH_CHECK(made, "tpu could not be initialised");
  return *made;
}

void set_runner(std::unique_ptr<Runner> runner) {
  static bool registered = (pthread_atfork(nullptr, nullptr, &after_fork_in_child), true);
  (void)registered;
  g_runner = runner.release();
}

void set_lazy_init(void (*start)()) { g_lazy_init = start; }
bool in_bad_fork() { return g_forked; }

void set_fallback_mode(FallbackMode mode) { g_fallback_mode = mode; }
FallbackMode fallback_mode() { return g_fallback_mode; }

void set_sync_debug_mode(int mode) {
  TORCH_CHECK_VALUE(mode >= 0 && mode <= 2, "expected sync debug mode 0, 1 or 2, got ", mode);
  g_sync_debug_mode = mode;
}
int sync_debug_mode() { return g_sync_debug_mode; }

void set_detect_nan(bool detect) { g_detect_nan = detect; }
bool detect_nan() {
  int wanted = g_detect_nan.load(std::memory_order_relaxed);
  return wanted < 0 ? env().detect_nan : wanted != 0;
}

void note_host_sync(const char* what) {
  int mode = g_sync_debug_mode.load(std::memory_order_relaxed);
  if (mode == 0) return;
  TORCH_CHECK(mode == 1, "called a synchronizing tpu operation: ", what);
  TORCH_WARN("called a synchronizing tpu operation: ", what);
}

}  // namespace tp::bridge
