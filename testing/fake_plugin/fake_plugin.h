#pragma once
// A PJRT plugin that computes nothing, for tests: it answers, counts calls and fails when told to. It is a
// library of its own; tests reach these functions by dlsym on the same path (testing/fake_plugin/control.h).
// Thread-safe. Settings last until fake_reset().

#include <cstddef>
#include <cstdint>

extern "C" {

// Back to the start: no faults, nothing hidden, counts 0, two devices, one f32[2] output, versions of the header.
void fake_reset();

// How often the entry "PJRT_Client_Compile" was called; 0 for unknown names.
int64_t fake_calls(const char* entry);
// The nth call from now (1 is the next) of the entry fails with this code and text; n = 0: every call.
void fake_fail(const char* entry, int nth, int code, const char* text);
// The nth event from now that the plugin hands out ends with this error; n = 0: every event.
void fake_fail_event(int nth, int code, const char* text);
// The entry's pointer is null.
void fake_hide(const char* entry);
// The table ends before the entry, as that of an older plugin would.
void fake_shorten(const char* entry);

void fake_set_api_version(int major, int minor);
// For the attribute lists; current = nullptr leaves both out.
void fake_set_stablehlo_version(const int64_t current[3], const int64_t minimum[3]);
// Devices of the clients made afterwards; 1 to 8.
void fake_set_num_devices(int count);
// Of the executables made afterwards. `types` are PJRT_Buffer_Type, `dims` all dimensions in a row.
void fake_set_outputs(size_t count, const int* types, const size_t* ranks, const int64_t* dims);
// Whether events are ready at once (the default) or when fake_release_events() is called.
void fake_hold_events(bool hold);
void fake_release_events();
// bytes_in_use follows the live buffers; limit < 0: memory statistics are unimplemented (the default).
void fake_set_memory_limit(int64_t bytes);
// CompiledMemoryStats of the executables made afterwards.
void fake_set_compiled_memory(int64_t arguments, int64_t outputs, int64_t aliased, int64_t temporaries, int64_t code,
                              int64_t peak);

// Objects that were made and not destroyed: "client", "buffer", "executable", "loaded", "event", "error", "topology".
int64_t fake_live(const char* kind);
// The last program's text, compile options and client options as "name=value\n"; valid until the next call.
const char* fake_last_program(size_t* size);
const char* fake_last_options(size_t* size);
const char* fake_last_client_options();
// Arguments that the last execution was told not to donate.
size_t fake_last_non_donatable(int64_t* indices, size_t capacity);

}
