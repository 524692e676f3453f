#pragma once
// Loads the fake plugin's controls: `FakePlugin fake(TP_FAKE_PLUGIN_PATH); fake.fail("PJRT_Client_Compile", 1, 8, "");`
// The library stays loaded, so all FakePlugins of a process share one state.

#include <dlfcn.h>

#include <cstdio>
#include <cstdlib>

#include "fake_plugin/fake_plugin.h"

class FakePlugin {
 public:
  explicit FakePlugin(const char* path) : library_(dlopen(path, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE)) {
    if (!library_) {
      std::fprintf(stderr, "%s\n", dlerror());
      std::abort();
    }
    find("fake_reset", reset);
    find("fake_calls", calls);
    find("fake_fail", fail);
    find("fake_fail_event", fail_event);
    find("fake_poison", poison);
    find("fake_hide", hide);
    find("fake_shorten", shorten);
    find("fake_set_api_version", set_api_version);
    find("fake_set_stablehlo_version", set_stablehlo_version);
    find("fake_set_num_devices", set_num_devices);
    find("fake_set_outputs", set_outputs);
    find("fake_hold_events", hold_events);
    find("fake_release_events", release_events);
    find("fake_set_memory_limit", set_memory_limit);
    find("fake_set_compiled_memory", set_compiled_memory);
    find("fake_live", live);
    find("fake_last_program", last_program);
    find("fake_last_options", last_options);
    find("fake_last_client_options", last_client_options);
    find("fake_last_non_donatable", last_non_donatable);
    reset();
  }
  ~FakePlugin() { reset(); }
  FakePlugin(const FakePlugin&) = delete;
  FakePlugin& operator=(const FakePlugin&) = delete;

  decltype(&fake_reset) reset;
  decltype(&fake_calls) calls;
  decltype(&fake_fail) fail;
  decltype(&fake_fail_event) fail_event;
  decltype(&fake_poison) poison;
  decltype(&fake_hide) hide;
  decltype(&fake_shorten) shorten;
  decltype(&fake_set_api_version) set_api_version;
  decltype(&fake_set_stablehlo_version) set_stablehlo_version;
  decltype(&fake_set_num_devices) set_num_devices;
  decltype(&fake_set_outputs) set_outputs;
  decltype(&fake_hold_events) hold_events;
  decltype(&fake_release_events) release_events;
  decltype(&fake_set_memory_limit) set_memory_limit;
  decltype(&fake_set_compiled_memory) set_compiled_memory;
  decltype(&fake_live) live;
  decltype(&fake_last_program) last_program;
  decltype(&fake_last_options) last_options;
  decltype(&fake_last_client_options) last_client_options;
  decltype(&fake_last_non_donatable) last_non_donatable;

 private:
  template <class Function>
  void find(const char* name, Function*& function) {
    function = reinterpret_cast<Function*>(dlsym(library_, name));
    if (!function) {
      std::fprintf(stderr, "the fake plugin has no %s\n", name);
      std::abort();
    }
  }

  void* library_;
};
