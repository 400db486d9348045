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
  set(CMAKE_CXX_COMPILER_LAUNCHER ${CCACHE_PROGRAM})
endif()

add_library(garuda_options INTERFACE)
target_compile_options(garuda_options INTERFACE -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wno-sign-conversion)
if(GARUDA_SANITIZE)
  target_compile_options(garuda_options INTERFACE
    -fsanitize=${GARUDA_SANITIZE} -fno-sanitize-recover=all -fno-omit-frame-pointer)
  target_link_options(garuda_options INTERFACE -fsanitize=${GARUDA_SANITIZE})
endif()

# garuda_add_library(FOLDER SOURCES ... PUBLIC libs... PRIVATE libs...): the static library garuda_FOLDER.
# Sources may include by folder name ("partition/radix_partition.hpp") and the public headers ("garuda/table.hpp").
function(garuda_add_library name)
  cmake_parse_arguments(arg "" "" "SOURCES;PUBLIC;PRIVATE" ${ARGN})
  add_library(garuda_${name} STATIC ${arg_SOURCES})
  add_library(garuda::${name} ALIAS garuda_${name})
  target_include_directories(garuda_${name} PUBLIC
    $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include>
    $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}>
    $<INSTALL_INTERFACE:include>)
  target_link_libraries(garuda_${name} PUBLIC ${arg_PUBLIC} PRIVATE $<BUILD_INTERFACE:garuda_options> ${arg_PRIVATE})
  set_property(GLOBAL APPEND PROPERTY GARUDA_LIBRARIES garuda_${name})
endfunction()
