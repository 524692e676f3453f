# Finds the PJRT header, the CPU plugin and torch in the Python environment. Nothing is imported, so this is quick.
find_package(Python 3.11 REQUIRED COMPONENTS Interpreter)

execute_process(
  COMMAND "${Python_EXECUTABLE}" "${CMAKE_CURRENT_LIST_DIR}/locate.py" xla_plugins.xla_cpu_pjrt torch
  OUTPUT_VARIABLE located
  OUTPUT_STRIP_TRAILING_WHITESPACE COMMAND_ERROR_IS_FATAL ANY)
string(REGEX MATCH "xla_cpu_pjrt=([^\n]*)" _ "${located}")
set(TP_CPU_PLUGIN_DIR "${CMAKE_MATCH_1}")
string(REGEX MATCH "torch=([^\n]*)" _ "${located}")
set(TP_TORCH_DIR "${CMAKE_MATCH_1}")

if(NOT TP_PJRT_INCLUDE_DIR AND TP_CPU_PLUGIN_DIR)
  set(TP_PJRT_INCLUDE_DIR "${TP_CPU_PLUGIN_DIR}/include")
endif()
if(NOT EXISTS "${TP_PJRT_INCLUDE_DIR}/pjrt_c_api.h")
  message(FATAL_ERROR "pjrt_c_api.h was not found. It comes with a Python package: "
                      "'${Python_EXECUTABLE} -m pip install xla-cpu-pjrt==0.0.1', "
                      "or pass -DTP_PJRT_INCLUDE_DIR=<its folder>.")
endif()

# Empty when the package is not there: tests that need a real plugin then skip themselves.
set(TP_CPU_PLUGIN_PATH "")
if(EXISTS "${TP_CPU_PLUGIN_DIR}/xla_cpu_pjrt.so")
  set(TP_CPU_PLUGIN_PATH "${TP_CPU_PLUGIN_DIR}/xla_cpu_pjrt.so")
endif()

set(TP_TORCH_FOUND OFF)
if(EXISTS "${TP_TORCH_DIR}/include/torch/library.h")
  set(TP_TORCH_FOUND ON)
endif()
