# The Python module torch_pjrt.bridge.torch_<major>_<minor>._C: src/torch_bridge and the core.
# TorchConfig.cmake is slow and looks for CUDA, so paths come from the package's folder.
if(NOT TP_TORCH_FOUND)
  message(FATAL_ERROR "the bridge needs torch in ${Python_EXECUTABLE}: 'pip install torch==2.13.0', "
                      "or pass -DTP_BRIDGE=OFF for the core alone.")
endif()
find_package(Python 3.11 REQUIRED COMPONENTS Interpreter Development.Module)

file(STRINGS "${TP_TORCH_DIR}/version.py" torch_version REGEX "^__version__")
string(REGEX MATCH "([0-9]+)\\.([0-9]+)\\.[0-9]+" _ "${torch_version}")
set(bridge_folder "torch_${CMAKE_MATCH_1}_${CMAKE_MATCH_2}")
file(STRINGS "${TP_TORCH_DIR}/share/cmake/Torch/TorchConfig.cmake" torch_flags REGEX "_GLIBCXX_USE_CXX11_ABI=")
if(torch_flags MATCHES "_GLIBCXX_USE_CXX11_ABI=0")
  set(torch_abi 0)
else()
  set(torch_abi 1)
endif()

file(GLOB sources CONFIGURE_DEPENDS "src/torch_bridge/*.cc")
list(FILTER sources EXCLUDE REGEX "_test\\.cc$")
if(NOT sources)
  message(WARNING "src/torch_bridge has no sources: no bridge")
  return()
endif()

Python_add_library(torch_bridge MODULE WITH_SOABI ${sources})
set_target_properties(
  torch_bridge
  PROPERTIES OUTPUT_NAME _C
             BUILD_RPATH "${TP_TORCH_DIR}/lib"
             INSTALL_RPATH "$ORIGIN/../../../torch/lib")
target_include_directories(torch_bridge SYSTEM PRIVATE "${TP_TORCH_DIR}/include"
                                                       "${TP_TORCH_DIR}/include/torch/csrc/api/include"
                                                       "${TP_TORCH_DIR}/include/kineto")
target_compile_definitions(torch_bridge PRIVATE _GLIBCXX_USE_CXX11_ABI=${torch_abi} TP_VERSION="${PROJECT_VERSION}")
# -fpch-preprocess lets ccache see through the precompiled header.
target_compile_options(torch_bridge PRIVATE -fpch-preprocess)
# What torch's profiler was built with; its fmt is not exported.
set_source_files_properties(${CMAKE_SOURCE_DIR}/src/torch_bridge/profiler.cc
                            PROPERTIES COMPILE_DEFINITIONS "USE_KINETO;FMT_HEADER_ONLY" SKIP_PRECOMPILE_HEADERS ON)
target_precompile_headers(torch_bridge PRIVATE <ATen/core/Tensor.h> <ATen/core/dispatch/Dispatcher.h>
                          <torch/library.h>)
foreach(library torch torch_cpu torch_python c10)
  target_link_libraries(torch_bridge PRIVATE "${TP_TORCH_DIR}/lib/lib${library}.so")
endforeach()
target_link_libraries(torch_bridge PRIVATE tp_core)

install(TARGETS torch_bridge LIBRARY DESTINATION "torch_pjrt/bridge/${bridge_folder}")
