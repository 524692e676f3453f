#pragma once
// The one pointer that torch's hooks force on us: the process's Runner. Made by init() and leaked on purpose, since
// tensors may outlive every destructor.

#include <string>

#include "exec/runner.h"

namespace tp::bridge {

// Null before init().
Runner* runner_or_null();
// Calls the Python side's lazy start when nothing is initialised yet; throws when that fails.
Runner& runner();
void set_runner(std::unique_ptr<Runner> runner);
// What runner() calls to start; it ends in set_runner.
void set_lazy_init(void (*start)());
// True in a child forked after init().
bool in_bad_fork();

// The user-visible switches.
enum class FallbackMode { warn, error };
void set_fallback_mode(FallbackMode mode);
FallbackMode fallback_mode();
// 0 off, 1 warn, 2 error: at every host read.
void set_sync_debug_mode(int mode);
int sync_debug_mode();
// Whether each op's floating results are checked for NaN. From TORCH_PJRT_DETECT_NAN at first.
void set_detect_nan(bool detect);
bool detect_nan();
// Warns or throws by sync_debug_mode.
void note_host_sync(const char* what);

}  // namespace tp::bridge
