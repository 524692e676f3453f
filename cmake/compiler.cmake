# Language, warnings, optimisation; ccache and mold when the machine has them.
set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_CXX_VISIBILITY_PRESET hidden)
set(CMAKE_VISIBILITY_INLINES_HIDDEN ON)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)

if(NOT CMAKE_BUILD_TYPE AND NOT CMAKE_CONFIGURATION_TYPES)
  set(CMAKE_BUILD_TYPE Release CACHE STRING "Build type" FORCE)
endif()
set(CMAKE_CXX_FLAGS_RELEASE "-O2 -g0 -DNDEBUG")

# Designated initialisers leave members out on purpose.
add_compile_options(-Wall -Wextra -Wno-missing-field-initializers)
if(TP_WERROR)
  add_compile_options(-Werror)
endif()
if(TP_SANITIZE)
  add_compile_options(-fsanitize=${TP_SANITIZE} -fno-omit-frame-pointer -g1 -D_GLIBCXX_ASSERTIONS)
  add_link_options(-fsanitize=${TP_SANITIZE})
endif()

# ccache takes objects built with a precompiled header only when told to.
find_program(TP_CCACHE ccache)
if(TP_CCACHE AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  set(CMAKE_CXX_COMPILER_LAUNCHER "${CMAKE_COMMAND}" -E env CCACHE_SLOPPINESS=pch_defines,time_macros "${TP_CCACHE}")
endif()

find_program(TP_MOLD mold)
if(TP_MOLD)
  include(CheckLinkerFlag)
  check_linker_flag(CXX -fuse-ld=mold TP_MOLD_WORKS)
  if(TP_MOLD_WORKS)
    add_link_options(-fuse-ld=mold)
  endif()
endif()
