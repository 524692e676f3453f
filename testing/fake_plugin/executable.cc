#include <algorithm>
#include <cstring>

#include "fake_plugin/table.h"

namespace fake {
namespace {

constexpr char kFormat[] = "mlir";
constexpr char kSerialized[] = "fake executable\n";
constexpr char kFingerprint[] = "fake fingerprint";

int64_t total(const std::vector<ArrayType>& types) {
  int64_t bytes = 0;
  for (const ArrayType& type : types) bytes += static_cast<int64_t>(type.bytes());
  return bytes;
}

Program make_program(const std::string& text) {
  Program program = parse_program(text);
  State& s = state();
  std::lock_guard<std::mutex> lock(s.mutex);
  if (s.outputs) program.outputs = *s.outputs;
  program.memory = s.compiled_memory;
  return program;
}

PJRT_Executable* make_executable(const Program& program) {
  auto* executable = new PJRT_Executable{.program = program};
  for (const ArrayType& type : program.outputs) {
    executable->types.push_back(type.type);
    executable->dims.insert(executable->dims.end(), type.dims.begin(), type.dims.end());
    executable->ranks.push_back(type.dims.size());
  }
  count_live("executable", 1);
  return executable;
}

void remember(const PJRT_Program* program, const char* options, size_t size) {
  State& s = state();
  std::lock_guard<std::mutex> lock(s.mutex);
  s.last_program.assign(program->code, program->code_size);
  s.last_options.assign(options ? options : "", size);
}

PJRT_Error* compile(PJRT_Client_Compile_Args* args) {
  remember(args->program, args->compile_options, args->compile_options_size);
  std::string text(args->program->code, args->program->code_size);
  args->executable = new PJRT_LoadedExecutable{args->client, make_program(text)};
  count_live("loaded", 1);
  return nullptr;
}

PJRT_Error* compile_for_topology(PJRT_Compile_Args* args) {
  remember(args->program, args->compile_options, args->compile_options_size);
  args->executable = make_executable(make_program(std::string(args->program->code, args->program->code_size)));
  return nullptr;
}

PJRT_Error* deserialize(PJRT_Executable_DeserializeAndLoad_Args* args) {
  std::string bytes(args->serialized_executable, args->serialized_executable_size);
  if (bytes.rfind(kSerialized, 0) != 0) {
    return error(PJRT_Error_Code_INVALID_ARGUMENT, "not a serialized executable of this plugin");
  }
  args->loaded_executable =
      new PJRT_LoadedExecutable{args->client, make_program(bytes.substr(sizeof(kSerialized) - 1))};
  count_live("loaded", 1);
  return nullptr;
}

PJRT_Error* destroy(PJRT_Executable_Destroy_Args* args) {
  if (args->executable) count_live("executable", -1);
  delete args->executable;
  return nullptr;
}

PJRT_Error* name(PJRT_Executable_Name_Args* args) {
  args->executable_name = "main";
  args->executable_name_size = 4;
  return nullptr;
}

PJRT_Error* num_outputs(PJRT_Executable_NumOutputs_Args* args) {
  args->num_outputs = args->executable->types.size();
  return nullptr;
}

PJRT_Error* code_size(PJRT_Executable_SizeOfGeneratedCodeInBytes_Args* args) {
  args->size_in_bytes = 100;
  return nullptr;
}

PJRT_Error* cost_analysis(PJRT_Executable_GetCostAnalysis_Args* args) {
  static PJRT_NamedValue flops{.struct_size = sizeof(flops), .name = "flops", .name_size = 5};
  flops.type = PJRT_NamedValue_kFloat;
  flops.float_value = 8;
  flops.value_size = 1;
  args->properties = &flops;
  args->num_properties = 1;
  return nullptr;
}

PJRT_Error* optimized_program(PJRT_Executable_OptimizedProgram_Args* args) {
  const std::string& text = args->executable->program.text;
  args->program->format = kFormat;
  args->program->format_size = sizeof(kFormat) - 1;
  if (args->program->code)
    std::memcpy(args->program->code, text.data(), std::min(text.size(), args->program->code_size));
  args->program->code_size = text.size();
  return nullptr;
}

PJRT_Error* serialize(PJRT_Executable_Serialize_Args* args) {
  auto* bytes = new std::string(kSerialized + args->executable->program.text);
  args->serialized_bytes = bytes->data();
  args->serialized_bytes_size = bytes->size();
  args->serialized_executable = reinterpret_cast<PJRT_SerializedExecutable*>(bytes);
  args->serialized_executable_deleter = [](PJRT_SerializedExecutable* held) {
    delete reinterpret_cast<std::string*>(held);
  };
  return nullptr;
}

PJRT_Error* fingerprint(PJRT_Executable_Fingerprint_Args* args) {
  args->executable_fingerprint = kFingerprint;
  args->executable_fingerprint_size = sizeof(kFingerprint) - 1;
  return nullptr;
}

PJRT_Error* output_types(PJRT_Executable_OutputElementTypes_Args* args) {
  args->output_types = args->executable->types.data();
  args->num_output_types = args->executable->types.size();
  return nullptr;
}

PJRT_Error* output_dimensions(PJRT_Executable_OutputDimensions_Args* args) {
  args->num_outputs = args->executable->ranks.size();
  args->dims = args->executable->dims.data();
  args->dim_sizes = args->executable->ranks.data();
  return nullptr;
}

PJRT_Error* memory_stats(PJRT_Executable_GetCompiledMemoryStats_Args* args) {
  const Program& program = args->executable->program;
  std::vector<int64_t> memory =
      program.memory.value_or(std::vector<int64_t>{total(program.arguments), total(program.outputs), 0, 0, 100, 0});
  args->argument_size_in_bytes = memory[0];
  args->output_size_in_bytes = memory[1];
  args->alias_size_in_bytes = memory[2];
  args->temp_size_in_bytes = memory[3];
  args->generated_code_size_in_bytes = memory[4];
  args->peak_memory_in_bytes = memory[5];
  return nullptr;
}

PJRT_Error* destroy_loaded(PJRT_LoadedExecutable_Destroy_Args* args) {
  if (args->executable) count_live("loaded", -1);
  delete args->executable;
  return nullptr;
}

PJRT_Error* get_executable(PJRT_LoadedExecutable_GetExecutable_Args* args) {
  args->executable = make_executable(args->loaded_executable->program);
  return nullptr;
}

PJRT_Error* delete_loaded(PJRT_LoadedExecutable_Delete_Args* args) {
  args->executable->deleted = true;
  return nullptr;
}

PJRT_Error* is_deleted(PJRT_LoadedExecutable_IsDeleted_Args* args) {
  args->is_deleted = args->executable->deleted;
  return nullptr;
}

// Why this launch cannot start; also finds the error that its inputs carry.
PJRT_Error* check_arguments(const PJRT_LoadedExecutable_Execute_Args* args, size_t device, Outcome& outcome) {
  const Program& program = args->executable->program;
  if (!program.arguments.empty() && program.arguments.size() != args->num_args) {
    return error(PJRT_Error_Code_INVALID_ARGUMENT, "Execution supplied " + std::to_string(args->num_args) +
                                                       " buffers but compiled program expected " +
                                                       std::to_string(program.arguments.size()) + " buffers");
  }
  for (size_t i = 0; i < args->num_args; ++i) {
    const PJRT_Buffer* argument = args->argument_lists[device][i];
    if (argument->deleted) return error(PJRT_Error_Code_INVALID_ARGUMENT, "Buffer has been deleted or donated.");
    if (argument->outcome.code) outcome = argument->outcome;
  }
  return nullptr;
}

void donate(const PJRT_LoadedExecutable_Execute_Args* args, size_t device) {
  const Program& program = args->executable->program;
  const int64_t* kept = args->options->non_donatable_input_indices;
  const int64_t* kept_end = kept + args->options->num_non_donatable_input_indices;
  for (size_t i = 0; i < args->num_args && i < program.donated.size(); ++i) {
    if (program.donated[i] && std::find(kept, kept_end, static_cast<int64_t>(i)) == kept_end) {
      release(*args->argument_lists[device][i]);
    }
  }
}

PJRT_Error* make_outputs(const PJRT_LoadedExecutable_Execute_Args* args, size_t device, const Outcome& outcome) {
  PJRT_LoadedExecutable* executable = args->executable;
  PJRT_Device* where = args->execute_device ? args->execute_device : executable->client->handles[device];
  for (size_t i = 0; i < executable->program.outputs.size(); ++i) {
    PJRT_Buffer* output = make_buffer(executable->program.outputs[i], where, nullptr);
    if (!output) return error(PJRT_Error_Code_RESOURCE_EXHAUSTED, "allocating an output");
    output->outcome = outcome;
    args->output_lists[device][i] = output;
  }
  return nullptr;
}

PJRT_Error* execute(PJRT_LoadedExecutable_Execute_Args* args) {
  if (args->options->struct_size != sizeof(PJRT_ExecuteOptions)) {
    return error(PJRT_Error_Code_INVALID_ARGUMENT, "PJRT_ExecuteOptions: wrong struct_size");
  }
  if (args->executable->deleted) return error(PJRT_Error_Code_INVALID_ARGUMENT, "executable has been deleted");
  if (args->num_devices > args->executable->client->devices.size()) {
    return error(PJRT_Error_Code_INVALID_ARGUMENT, "more argument lists than devices");
  }
  Outcome poison;
  {
    State& s = state();
    std::lock_guard<std::mutex> lock(s.mutex);
    const int64_t* kept = args->options->non_donatable_input_indices;
    s.last_non_donatable.assign(kept, kept + args->options->num_non_donatable_input_indices);
    if (auto struck = strike(s.poisons, "")) poison = *struck;
  }
  for (size_t device = 0; device < args->num_devices; ++device) {
    Outcome outcome;
    if (PJRT_Error* failed = check_arguments(args, device, outcome)) return failed;
    if (poison.code) outcome = poison;
    donate(args, device);
    if (PJRT_Error* failed = make_outputs(args, device, outcome)) return failed;
    if (args->device_complete_events) args->device_complete_events[device] = make_event(outcome);
  }
  return nullptr;
}

}  // namespace

void add_executable(Table& table) {
  add<PJRT_Client_Compile_Args, compile>(table, &PJRT_Api::PJRT_Client_Compile);
  add<PJRT_Compile_Args, compile_for_topology>(table, &PJRT_Api::PJRT_Compile);
  add<PJRT_Executable_DeserializeAndLoad_Args, deserialize>(table, &PJRT_Api::PJRT_Executable_DeserializeAndLoad);
  add<PJRT_Executable_Destroy_Args, destroy>(table, &PJRT_Api::PJRT_Executable_Destroy);
  add<PJRT_Executable_Name_Args, name>(table, &PJRT_Api::PJRT_Executable_Name);
  add<PJRT_Executable_NumOutputs_Args, num_outputs>(table, &PJRT_Api::PJRT_Executable_NumOutputs);
  add<PJRT_Executable_SizeOfGeneratedCodeInBytes_Args, code_size>(
      table, &PJRT_Api::PJRT_Executable_SizeOfGeneratedCodeInBytes);
  add<PJRT_Executable_GetCostAnalysis_Args, cost_analysis>(table, &PJRT_Api::PJRT_Executable_GetCostAnalysis);
  add<PJRT_Executable_OptimizedProgram_Args, optimized_program>(table, &PJRT_Api::PJRT_Executable_OptimizedProgram);
  add<PJRT_Executable_Serialize_Args, serialize>(table, &PJRT_Api::PJRT_Executable_Serialize);
  add<PJRT_Executable_Fingerprint_Args, fingerprint>(table, &PJRT_Api::PJRT_Executable_Fingerprint);
  add<PJRT_Executable_OutputElementTypes_Args, output_types>(table, &PJRT_Api::PJRT_Executable_OutputElementTypes);
  add<PJRT_Executable_OutputDimensions_Args, output_dimensions>(table, &PJRT_Api::PJRT_Executable_OutputDimensions);
  add<PJRT_Executable_GetCompiledMemoryStats_Args, memory_stats>(table,
                                                                 &PJRT_Api::PJRT_Executable_GetCompiledMemoryStats);
  add<PJRT_LoadedExecutable_Destroy_Args, destroy_loaded>(table, &PJRT_Api::PJRT_LoadedExecutable_Destroy);
  add<PJRT_LoadedExecutable_GetExecutable_Args, get_executable>(table, &PJRT_Api::PJRT_LoadedExecutable_GetExecutable);
  add<PJRT_LoadedExecutable_Delete_Args, delete_loaded>(table, &PJRT_Api::PJRT_LoadedExecutable_Delete);
  add<PJRT_LoadedExecutable_IsDeleted_Args, is_deleted>(table, &PJRT_Api::PJRT_LoadedExecutable_IsDeleted);
  add<PJRT_LoadedExecutable_Execute_Args, execute>(table, &PJRT_Api::PJRT_LoadedExecutable_Execute);
}

}  // namespace fake
