#pragma once
// A PJRT plugin that computes nothing, for tests: it answers, counts calls and fails when told to. It is a
// library of its own; tests reach these functions through FakePlugin (control.h).
// Thread-safe. Settings last until fake_reset().
//
// Executables take their output types from the text's "@main(...) -> (...)", give zeros, and donate arguments
// that carry jax.buffer_donor or tf.aliasing_output, as real plugins do.

#include <cstddef>
#include <cstdint>

extern "C" {

// Back to the start: no faults, nothing hidden, counts 0, two devices, events ready at once, versions of the header.
void fake_reset();

// How often the entry, such as "PJRT_Client_Compile", was called.
int64_t fake_calls(const char* entry);
// The nth call from now (1 is the next) of the entry fails with this code and text; n = 0: every call.
void fake_fail(const char* entry, int nth, int code, const char* text);
// The nth event from now that the plugin hands out ends with this error; n = 0: every event.
void fake_fail_event(int nth, int code, const char* text);
// The nth execution from now starts well and then fails: its outputs and their events carry the error, and so do
// those of later executions that read them. n = 0: every execution.
void fake_poison(int nth, int code, const char* text);
// The entry's pointer is null.
void fake_hide(const char* entry);
// The table ends before the entry, as that of an older plugin would.
void fake_shorten(const char* entry);

void fake_set_api_version(int major, int minor);
// For the attribute list; current = nullptr leaves both out.
void fake_set_stablehlo_version(const int64_t* current, const int64_t* minimum);
// Devices of the clients made afterwards, 1 to 8.
void fake_set_num_devices(int count);
// Overrides the outputs of the executables made afterwards. `types` are PJRT_Buffer_Type, `dims` all in a row.
void fake_set_outputs(size_t count, const int* types, const size_t* ranks, const int64_t* dims);
// Holds the events made afterwards back until fake_release_events().
void fake_hold_events(bool hold);
void fake_release_events();
// Uploads and outputs above the limit fail with code 8. < 0: no limit, and memory statistics are unimplemented.
void fake_set_memory_limit(int64_t bytes);
// CompiledMemoryStats of the executables made afterwards; without it they follow the program's types.
void fake_set_compiled_memory(int64_t arguments, int64_t outputs, int64_t aliased, int64_t temporaries, int64_t code,
                              int64_t peak);

// Objects made and not destroyed: "client", "buffer", "executable", "loaded", "event", "error", "topology".
int64_t fake_live(const char* kind);
// The last compiled text and its options, and the last client's options as "name=value\n". Valid until the next.
const char* fake_last_program(size_t* size);
const char* fake_last_options(size_t* size);
const char* fake_last_client_options();
// Arguments that the last execution was told not to donate; gives their number.
size_t fake_last_non_donatable(int64_t* indices, size_t capacity);
}
