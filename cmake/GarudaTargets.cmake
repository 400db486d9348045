# Compile settings shared by every target, and the two ways to declare one.

set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
set(CMAKE_RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/bin)
if(NOT CMAKE_BUILD_TYPE AND NOT CMAKE_CONFIGURATION_TYPES)
  set(CMAKE_BUILD_TYPE Release CACHE STRING "Build type" FORCE)
endif()

find_program(CCACHE_PROGRAM ccache)
if(CCACHE_PROGRAM AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  # Without these ccache does not touch what uses precompiled headers (GarudaPrecompiled.cmake).
  set(CMAKE_CXX_COMPILER_LAUNCHER ${CMAKE_COMMAND} -E env CCACHE_SLOPPINESS=pch_defines,time_macros ${CCACHE_PROGRAM})
endif()

add_library(garuda_options INTERFACE)
target_compile_options(garuda_options INTERFACE -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wno-sign-conversion)
# A failed assertion names the file in this tree, wherever the tree lies.
target_compile_options(garuda_options INTERFACE $<$<COMPILE_LANGUAGE:CXX>:-fmacro-prefix-map=${PROJECT_SOURCE_DIR}/=>)
# A multiplication and an addition round twice, on every machine: compilers fuse them where the target has instructions
# for it, as arm64 and AVX-512 do.
target_compile_options(garuda_options INTERFACE -ffp-contract=off)
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  # The compiler collects its garbage, precompiled headers included, only where 600 MB lie about: a fifteenth of its time.
  target_compile_options(garuda_options INTERFACE $<$<COMPILE_LANGUAGE:CXX>:--param=ggc-min-heapsize=600000>)
endif()
if(GARUDA_SANITIZE)
  # UBSan's checks for null pointers and for the size of objects take up to a fifth of the time of compiling and are left
  # off: AddressSanitizer finds an access through a null pointer or beyond an object, though not a null reference that
  # nothing is read through.
  target_compile_options(garuda_options INTERFACE -fsanitize=${GARUDA_SANITIZE} -fno-sanitize=null,object-size
                         -fno-sanitize-recover=all -fno-omit-frame-pointer)
  target_link_options(garuda_options INTERFACE -fsanitize=${GARUDA_SANITIZE})
endif()

# The command reads arguments and writes text: nothing in it is in a loop over rows, and -O3 takes twice the time.
# -Og is a quarter faster to compile than -O1.
set(garuda_command_options $<$<CONFIG:Release>:-Og>)
# Tests are compiled with these. Linked behind garuda_options: the last option counts.
add_library(garuda_test_options INTERFACE)
if(GARUDA_SANITIZE)
  # The tests' own code is not what is sanitized: most of its build time would go into its instrumentation.
  # AddressSanitizer stays, which knows the containers that tests and libraries share.
  target_compile_options(garuda_test_options INTERFACE -O0 -fno-sanitize=undefined)
else()
  # The code that is to be fast lies in the libraries; full optimisation of gtest's macros is half of a release build's time.
  target_compile_options(garuda_test_options INTERFACE -Og)
endif()

# Sources of a target are compiled sixteen at a time: templates and inline functions that they share are then compiled once,
# two fifths of what a build costs. So what the sources of a room, or of a test program, call their own has different
# names. Every source still includes what it uses: `./dev lint` and the build for ThreadSanitizer compile them one by one.
option(GARUDA_UNITY "Compile the sources of a target sixteen at a time" ON)
function(garuda_compile_together target)
  set_target_properties(${target} PROPERTIES UNITY_BUILD ${GARUDA_UNITY} UNITY_BUILD_BATCH_SIZE 16)
endfunction()

# garuda_add_kernels(TARGET STEM...): on x86-64 also compiles STEM.cpp, a source of TARGET, for AVX2 and for AVX-512, with
# GARUDA_KERNEL_SET naming the set (GARUDA_KERNELS in core/instruction_set.hpp).
function(garuda_add_kernels target)
  if(NOT CMAKE_SYSTEM_PROCESSOR MATCHES "^(x86_64|AMD64)$")
    return()
  endif()
  set(avx2 "-mavx2;-mbmi2")
  set(avx512 "-mbmi2;-mavx512f;-mavx512bw;-mavx512dq;-mavx512vl;-mprefer-vector-width=512")
  foreach(stem ${ARGN})
    foreach(set avx2 avx512)
      set(source ${CMAKE_CURRENT_BINARY_DIR}/${stem}_${set}.cpp)
      file(CONFIGURE OUTPUT ${source} CONTENT "#include \"${CMAKE_CURRENT_SOURCE_DIR}/${stem}.cpp\"\n")
      target_sources(${target} PRIVATE ${source})
      # Without the precompiled headers, which know the target's instructions.
      set_source_files_properties(${source} PROPERTIES COMPILE_OPTIONS "${${set}}" SKIP_PRECOMPILE_HEADERS ON
        COMPILE_DEFINITIONS GARUDA_KERNEL_SET=${set})
    endforeach()
  endforeach()
endfunction()

# garuda_add_library(FOLDER SOURCES ... PUBLIC libs... PRIVATE libs... [COMMANDS]): the static library garuda_FOLDER.
# COMMANDS: it reads arguments and prints, see garuda_command_options.
# Sources may include by folder name ("partition/radix_partition.hpp") and the public headers ("garuda/table.hpp").
function(garuda_add_library name)
  cmake_parse_arguments(arg "COMMANDS" "" "SOURCES;PUBLIC;PRIVATE" ${ARGN})
  add_library(garuda_${name} STATIC ${arg_SOURCES})
  add_library(garuda::${name} ALIAS garuda_${name})
  target_include_directories(garuda_${name} PUBLIC
    $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include>
    $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}>
    $<INSTALL_INTERFACE:include>)
  target_link_libraries(garuda_${name} PUBLIC ${arg_PUBLIC} PRIVATE $<BUILD_INTERFACE:garuda_options> ${arg_PRIVATE})
  if(arg_COMMANDS)
    target_compile_options(garuda_${name} PRIVATE ${garuda_command_options})
    target_precompile_headers(garuda_${name} REUSE_FROM garuda_precompiled_commands)
  else()
    target_precompile_headers(garuda_${name} REUSE_FROM garuda_precompiled)
  endif()
  garuda_compile_together(garuda_${name})
  set_property(GLOBAL APPEND PROPERTY GARUDA_LIBRARIES garuda_${name})
endfunction()
