// LoadedExecutable of pjrt/executable.h.
#include "pjrt/call.h"
#include "pjrt/executable.h"

namespace tp {
namespace {

std::vector<Buffer> take_buffers(const Plugin& plugin, const std::vector<PJRT_Buffer*>& handles) {
  std::vector<Buffer> buffers;
  buffers.reserve(handles.size());
  for (PJRT_Buffer* handle : handles) buffers.emplace_back(plugin, handle);
  return buffers;
}

PJRT_ExecuteOptions c_options(const ExecuteOptions& options) {
  return {.struct_size = sizeof(PJRT_ExecuteOptions),
          .launch_id = options.launch_id,
          .non_donatable_input_indices = options.non_donatable.data(),
          .num_non_donatable_input_indices = options.non_donatable.size()};
}

}  // namespace

void LoadedExecutable::Destroy::operator()(PJRT_LoadedExecutable* executable) const {
  (void)perform(*plugin, &PJRT_Api::PJRT_LoadedExecutable_Destroy, {.executable = executable});
}

Result<LoadedExecutable> LoadedExecutable::create(const Plugin& plugin, PJRT_LoadedExecutable* executable) {
  LoadedExecutable loaded;
  loaded.executable_ = std::unique_ptr<PJRT_LoadedExecutable, Destroy>(executable, Destroy{&plugin});
  TP_TRY(auto args, call(plugin, &PJRT_Api::PJRT_LoadedExecutable_GetExecutable, {.loaded_executable = executable}));
  loaded.inert_ = Executable(plugin, args.executable);
  TP_TRY(loaded.num_outputs_, loaded.inert_.num_outputs());
  return loaded;
}

Result<std::vector<Buffer>> LoadedExecutable::execute(std::span<PJRT_Buffer* const> arguments,
                                                      const ExecuteOptions& options, Event* done) const {
  PJRT_ExecuteOptions c = c_options(options);
  std::vector<PJRT_Buffer*> outputs(num_outputs_);
  PJRT_Buffer* const* argument_list = arguments.data();
  PJRT_Buffer** output_list = outputs.data();
  PJRT_Event* event = nullptr;

  TP_TRY([[maybe_unused]] auto args, call(plugin(), &PJRT_Api::PJRT_LoadedExecutable_Execute,
                                          {.executable = executable_.get(),
                                           .options = &c,
                                           .argument_lists = &argument_list,
                                           .num_devices = 1,
                                           .num_args = arguments.size(),
                                           .output_lists = &output_list,
                                           .device_complete_events = done ? &event : nullptr,
                                           .execute_device = options.device ? options.device->get() : nullptr}));
  if (done) *done = Event(plugin(), event);
  return take_buffers(plugin(), outputs);
}

Result<std::vector<std::vector<Buffer>>> LoadedExecutable::execute_on_all(
    std::span<const std::vector<PJRT_Buffer*>> arguments, const ExecuteOptions& options,
    std::vector<Event>* done) const {
  size_t devices = arguments.size();
  std::vector<std::vector<PJRT_Buffer*>> outputs(devices, std::vector<PJRT_Buffer*>(num_outputs_));
  std::vector<PJRT_Buffer* const*> argument_lists;
  std::vector<PJRT_Buffer**> output_lists;
  for (size_t i = 0; i < devices; ++i) {
    if (arguments[i].size() != arguments[0].size()) {
      return make_error(Code::invalid_argument, "expected as many arguments on each device, got " +
                                                    std::to_string(arguments[0].size()) + " and " +
                                                    std::to_string(arguments[i].size()));
    }
    argument_lists.push_back(arguments[i].data());
    output_lists.push_back(outputs[i].data());
  }
  PJRT_ExecuteOptions c = c_options(options);
  std::vector<PJRT_Event*> events(devices);

  TP_TRY([[maybe_unused]] auto args, call(plugin(), &PJRT_Api::PJRT_LoadedExecutable_Execute,
                                          {.executable = executable_.get(),
                                           .options = &c,
                                           .argument_lists = argument_lists.data(),
                                           .num_devices = devices,
                                           .num_args = devices ? arguments[0].size() : 0,
                                           .output_lists = output_lists.data(),
                                           .device_complete_events = done ? events.data() : nullptr}));
  if (done) {
    done->clear();
    for (PJRT_Event* event : events) done->emplace_back(plugin(), event);
  }
  std::vector<std::vector<Buffer>> lists;
  for (const auto& list : outputs) lists.push_back(take_buffers(plugin(), list));
  return lists;
}

Status LoadedExecutable::delete_() {
  return perform(plugin(), &PJRT_Api::PJRT_LoadedExecutable_Delete, {.executable = executable_.get()});
}

Result<bool> LoadedExecutable::is_deleted() const {
  TP_TRY(auto args, call(plugin(), &PJRT_Api::PJRT_LoadedExecutable_IsDeleted, {.executable = executable_.get()}));
  return args.is_deleted;
}

}  // namespace tp
