#include "pjrt/executable.h"

#include "pjrt/call.h"
#include "pjrt/element_type.h"

namespace tp {

void Executable::Destroy::operator()(PJRT_Executable* executable) const {
  (void)perform(*plugin, &PJRT_Api::PJRT_Executable_Destroy, {.executable = executable});
}

Executable::Executable(const Plugin& plugin, PJRT_Executable* executable) : executable_(executable, Destroy{&plugin}) {}

Result<std::string> Executable::name() const {
  TP_TRY(auto args, call(plugin(), &PJRT_Api::PJRT_Executable_Name, {.executable = executable_.get()}));
  return std::string(args.executable_name, args.executable_name_size);
}

Result<size_t> Executable::num_outputs() const {
  TP_TRY(auto args, call(plugin(), &PJRT_Api::PJRT_Executable_NumOutputs, {.executable = executable_.get()}));
  return args.num_outputs;
}

Result<std::vector<OutputType>> Executable::output_types() const {
  TP_TRY(auto types, call(plugin(), &PJRT_Api::PJRT_Executable_OutputElementTypes, {.executable = executable_.get()}));
  TP_TRY(auto shapes, call(plugin(), &PJRT_Api::PJRT_Executable_OutputDimensions, {.executable = executable_.get()}));
  if (types.num_output_types != shapes.num_outputs) {
    return make_error(Code::internal, "plugin " + plugin().name() + " gave " + std::to_string(types.num_output_types) +
                                          " output types and " + std::to_string(shapes.num_outputs) + " shapes");
  }
  std::vector<OutputType> outputs;
  const int64_t* dims = shapes.dims;
  for (size_t i = 0; i < shapes.num_outputs; ++i) {
    TP_TRY(Dtype dtype, dtype_from_pjrt(plugin(), types.output_types[i]));
    outputs.push_back({dtype, Dims(dims, shapes.dim_sizes[i])});
    dims += shapes.dim_sizes[i];
  }
  return outputs;
}

Result<CompiledMemoryStats> Executable::memory_stats() const {
  TP_TRY(auto args,
         call(plugin(), &PJRT_Api::PJRT_Executable_GetCompiledMemoryStats, {.executable = executable_.get()}));
  CompiledMemoryStats stats;
  stats.arguments = args.argument_size_in_bytes;
  stats.outputs = args.output_size_in_bytes;
  stats.aliased = args.alias_size_in_bytes;
  stats.temporaries = args.temp_size_in_bytes;
  stats.code = args.generated_code_size_in_bytes;
  stats.peak = args.peak_memory_in_bytes;
  return stats;
}

Result<std::string> Executable::serialize() const {
  TP_TRY(auto args, call(plugin(), &PJRT_Api::PJRT_Executable_Serialize, {.executable = executable_.get()}));
  std::string bytes(args.serialized_bytes, args.serialized_bytes_size);
  if (args.serialized_executable_deleter) args.serialized_executable_deleter(args.serialized_executable);
  return bytes;
}

Result<std::string> Executable::fingerprint() const {
  TP_TRY(auto args, call(plugin(), &PJRT_Api::PJRT_Executable_Fingerprint, {.executable = executable_.get()}));
  return std::string(args.executable_fingerprint, args.executable_fingerprint_size);
}

Result<OptimizedProgram> Executable::optimized_program() const {
  PJRT_Program program{.struct_size = sizeof(program)};
  PJRT_Executable_OptimizedProgram_Args args{.executable = executable_.get(), .program = &program};
  // The first call tells the size, the second fills the code.
  TP_TRY(args, call(plugin(), &PJRT_Api::PJRT_Executable_OptimizedProgram, args));
  OptimizedProgram result;
  result.code.resize(program.code_size);
  program.code = result.code.data();
  TP_TRY(args, call(plugin(), &PJRT_Api::PJRT_Executable_OptimizedProgram, args));
  result.format.assign(program.format, program.format_size);
  return result;
}

Result<NamedValues> Executable::cost_analysis() const {
  TP_TRY(auto args, call(plugin(), &PJRT_Api::PJRT_Executable_GetCostAnalysis, {.executable = executable_.get()}));
  return from_c(args.properties, args.num_properties);
}

Result<int64_t> Executable::code_size() const {
  TP_TRY(auto args,
         call(plugin(), &PJRT_Api::PJRT_Executable_SizeOfGeneratedCodeInBytes, {.executable = executable_.get()}));
  return args.size_in_bytes;
}

}  // namespace tp
