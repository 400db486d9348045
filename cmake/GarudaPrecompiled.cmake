# Headers that nearly every source includes, parsed once for all targets: a third of what a build costs.
#
# Only headers of the standard library and of third parties, so that a change in this tree compiles no more than it did.
# Every source still includes what it uses: `./dev lint` reads the sources without these, and the build for
# ThreadSanitizer goes without them. What was compiled with one optimisation level must not be used with another (GCC 12
# ends with an internal error), so each level has headers of its own.
set(garuda_precompiled_headers
  <algorithm> <array> <atomic> <bit> <chrono> <cmath> <cstddef> <cstdint> <cstring> <filesystem> <functional> <limits>
  <map> <memory> <mutex> <numeric> <optional> <span> <sstream> <string> <string_view> <thread> <tuple> <type_traits>
  <unordered_map> <utility> <variant> <vector> <fmt/format.h> <tl/expected.hpp> <volk.h>)

# garuda_add_precompiled(TARGET [LIBS libs...] [HEADERS headers...] [OPTIONS options...]): precompiled headers for others
# to reuse, compiled with OPTIONS.
function(garuda_add_precompiled target)
  cmake_parse_arguments(arg "" "" "LIBS;HEADERS;OPTIONS" ${ARGN})
  set(source ${PROJECT_BINARY_DIR}/${target}.cpp)
  file(CONFIGURE OUTPUT ${source} CONTENT "// A source for the headers of ${target} to belong to.\n")
  add_library(${target} OBJECT ${source})
  target_link_libraries(${target} PRIVATE garuda_options fmt::fmt tl::expected garuda_volk ${arg_LIBS})
  target_compile_options(${target} PRIVATE ${arg_OPTIONS})
  target_precompile_headers(${target} PRIVATE ${garuda_precompiled_headers} ${arg_HEADERS})
endfunction()

# They are taken only where the macros that they depend on are defined alike.
target_compile_definitions(garuda_options INTERFACE
  VK_NO_PROTOTYPES $<TARGET_PROPERTY:fmt::fmt,INTERFACE_COMPILE_DEFINITIONS>)

garuda_add_precompiled(garuda_precompiled
  LIBS TBB::tbb HEADERS <oneapi/tbb/parallel_for.h> <oneapi/tbb/task_arena.h>)
if(GARUDA_BUILD_CLI)
  garuda_add_precompiled(garuda_precompiled_commands
    LIBS CLI11::CLI11 HEADERS <CLI/CLI.hpp> OPTIONS ${garuda_command_options})
endif()
if(GARUDA_BUILD_TESTS)
  # As CMake compiles programs.
  garuda_add_precompiled(garuda_precompiled_tests
    LIBS GTest::gmock GTest::gtest garuda_test_options HEADERS <gmock/gmock.h> <gtest/gtest.h> <random> <set>
    OPTIONS $<$<NOT:$<PLATFORM_ID:Windows>>:-fPIE>)
endif()
