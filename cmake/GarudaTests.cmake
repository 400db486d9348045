# Declares tests, one ctest entry for each process: a suite that needs Vulkan has one entry per driver.
#
# A test sees in its environment:
#   VK_ICD_FILENAMES, VK_DRIVER_FILES  the driver of this entry, and no other
#   GARUDA_TEST_DRIVER                 its name: lavapipe, swiftshader, nodevice, lavapipe-16, radv-FAMILY,
#                                      radv-FAMILY-wave32, profile-NAME, cuda (no Vulkan driver, but the CUDA plug-in)
#   GARUDA_TEST_PROFILE                of profile-NAME the profile: tests/device_profiles/NAME.json
#   GARUDA_TEST_FULL                   "1" when `./dev test --full` runs: every case, not the chosen ones; never with a
#                                      profile
#   GARUDA_CUDA_PLUGIN                 a file that is not there, but for tests with the label `cuda` and the driver cuda
#   XDG_CACHE_HOME                     build/test_cache: no calibration of the user's; pipelines and Mesa's shaders
#   GARUDA_TEST_MAX_ROWS               set (257) in sanitizer builds: skip cases with more rows than this on a side
#   GARUDA_TEST_VALIDATION             "0" in sanitizer builds and on Windows: no validation layer but in full runs; the same
#                                      calls are validated in the release build
#   GARUDA_TEST_SUBMISSIONS            of suites on Vulkan: where they write how long their longest submissions were, for
#                                      tests/longest_submissions.py
#   GARUDA_TEST_REGISTERS              of radv-FAMILY: where suites that compile all pipelines write what each takes, for
#                                      bench/registers.py

set(GARUDA_TEST_TIMEOUT_SCALE 1 CACHE STRING "Factor on the time limit of every test")

# garuda_find_icd(NAME PATHS...): GARUDA_ICD_NAME, the manifest of a Vulkan driver, or NOTFOUND.
function(garuda_find_icd name)
  set(GARUDA_ICD_${name} NOTFOUND)
  foreach(path ${ARGN})
    if(EXISTS ${path})
      set(GARUDA_ICD_${name} ${path})
      break()
    endif()
  endforeach()
  set(GARUDA_ICD_${name} ${GARUDA_ICD_${name}} PARENT_SCOPE)
  message(STATUS "Vulkan driver for tests, ${name}: ${GARUDA_ICD_${name}}")
endfunction()

set(garuda_icd_folder ${CMAKE_SYSROOT}/usr/share/vulkan/icd.d)
garuda_find_icd(lavapipe ${garuda_icd_folder}/lvp_icd.${CMAKE_SYSTEM_PROCESSOR}.json ${garuda_icd_folder}/lvp_icd.json)
garuda_find_icd(radv ${garuda_icd_folder}/radeon_icd.${CMAKE_SYSTEM_PROCESSOR}.json
                ${garuda_icd_folder}/radeon_icd.json)
if(CMAKE_CROSSCOMPILING)
  set(garuda_unpacked_drivers /nonexistent)  # those of .deps are the building machine's
else()
  set(garuda_unpacked_drivers ${PROJECT_SOURCE_DIR}/.deps)
endif()
# A newer Mesa, which knows GFX12 and spills less; `./dev test` unpacks it.
garuda_find_icd(radv_new ${garuda_unpacked_drivers}/mesa-new/radeon_icd.json)
set(garuda_radv_new_libraries ${garuda_unpacked_drivers}/mesa-new/lib)
garuda_find_icd(swiftshader ${garuda_unpacked_drivers}/swiftshader/vk_swiftshader_icd.json)

# Where the layer that shows profiles, tests/device_profiles, and its manifest lie.
set(garuda_profile_layer ${PROJECT_BINARY_DIR}/tests/profile_layer)

# Every test on Vulkan runs under the validation layer, so without it there is nothing to test; but on Windows, where
# the same calls are made as here.
find_file(GARUDA_VALIDATION_LAYER VkLayer_khronos_validation.json
          PATHS /usr/share/vulkan/explicit_layer.d /etc/vulkan/explicit_layer.d
          /usr/local/share/vulkan/explicit_layer.d NO_DEFAULT_PATH)
if(NOT GARUDA_VALIDATION_LAYER AND NOT WIN32)
  garuda_missing("The Vulkan validation layer" "apt-get install vulkan-validationlayers")
endif()

if(GARUDA_SANITIZE)
  add_library(garuda_keep_libraries_loaded OBJECT ${PROJECT_SOURCE_DIR}/tests/keep_libraries_loaded.cpp)
  target_link_libraries(garuda_keep_libraries_loaded PRIVATE garuda_options)
endif()

file(MAKE_DIRECTORY ${PROJECT_BINARY_DIR}/submissions ${PROJECT_BINARY_DIR}/registers)

add_custom_target(garuda_tests)
add_custom_target(garuda_check_tests)
add_custom_target(garuda_asan_tests)
add_custom_target(garuda_asan_full_tests)
add_dependencies(garuda_asan_full_tests garuda_asan_tests)
add_custom_target(garuda_tsan_tests)

# garuda_driver_environment(DRIVER): in garuda_icd the manifest, in garuda_environment the variables of a driver.
function(garuda_driver_environment driver)
  set(environment GARUDA_TEST_DRIVER=${driver})
  if(driver MATCHES "^(nodevice|cuda)$")
    set(icd /nonexistent/no_driver.json)
  elseif(driver MATCHES "^lavapipe-([0-9]+)$")
    # lavapipe with subgroups of so many invocations, a vector of 32-bit lanes each: 4, 8 or 16.
    set(icd ${GARUDA_ICD_lavapipe})
    math(EXPR bits "32 * ${CMAKE_MATCH_1}")
    list(APPEND environment LP_NATIVE_VECTOR_WIDTH=${bits})
  elseif(driver MATCHES "^profile-(.+)$")
    set(icd ${GARUDA_ICD_lavapipe})
    # The loader stacks layers in the order in which it finds them, the first uppermost: the validation layer has to be
    # above, so that it sees the profile.
    get_filename_component(validation ${GARUDA_VALIDATION_LAYER} DIRECTORY)
    list(APPEND environment GARUDA_TEST_PROFILE=${PROJECT_SOURCE_DIR}/tests/device_profiles/${CMAKE_MATCH_1}.json
         VK_LAYER_PATH=${validation}:${garuda_profile_layer} GARUDA_TEST_FULL=0
         VK_INSTANCE_LAYERS=VK_LAYER_KHRONOS_validation:VK_LAYER_GARUDA_profile)
  elseif(driver MATCHES "^radv-([a-z0-9]+)(-wave32)?$")
    string(TOUPPER ${CMAKE_MATCH_1} family)
    set(wave ${CMAKE_MATCH_2})
    set(icd ${GARUDA_ICD_radv})
    if(GARUDA_ICD_radv_new OR family MATCHES "^GFX12")
      set(icd ${GARUDA_ICD_radv_new})
      string(REPLACE GFX1100 NAVI31 family ${family})  # as it is called since Mesa 23
      list(APPEND environment LD_LIBRARY_PATH=${garuda_radv_new_libraries})
    endif()
    list(APPEND environment RADV_FORCE_FAMILY=${family})
    if(wave)
      list(APPEND environment RADV_PERFTEST=gewave32,pswave32,cswave32)
    endif()
  else()
    set(icd ${GARUDA_ICD_${driver}})
  endif()
  list(APPEND environment VK_ICD_FILENAMES=${icd} VK_DRIVER_FILES=${icd})
  set(garuda_icd ${icd} PARENT_SCOPE)
  set(garuda_environment ${environment} PARENT_SCOPE)
endfunction()

# garuda_add_test(NAME name SOURCES files... [LIBS targets...] [VULKAN] [DRIVERS names...] [FULL_DRIVERS names...]
#                 [ARGS args...]
#                 [ENVIRONMENT var=value...] [LABELS labels...] [TIMEOUT seconds] [SMOKE tests...])
#
# Builds bin/name with GoogleTest's main and the target's sources. Without VULKAN and DRIVERS there is one ctest entry,
# `name`; otherwise one per driver, `name.lavapipe`, …: VULKAN stands for lavapipe and swiftshader, DRIVERS adds others
# (nodevice; lavapipe-16, with subgroups of 16; radv-FAMILY[-wave32]: RADV's null device of that family, which compiles
# pipelines, of graphics for subgroups of 64 or 32, but must not be submitted to; cuda, which is skipped, with the reason,
# where there is no plug-in or no device; profile-NAME: lavapipe with the limits of tests/device_profiles/NAME.json).
# FULL_DRIVERS are left to `./dev test --full`, by the label `full`.
# A driver that is not installed gives a skipped entry, with the reason. The label `asan` puts an entry into the run
# under AddressSanitizer and UBSan: of VULKAN's drivers lavapipe's; the other gets `asan-full`, for `./dev test --full`.
# LABELS asan-full keeps a suite for those runs altogether, where others under AddressSanitizer run the same code or where
# it is long beside what it could find.
# SMOKE names tests of the suite, "Suite.Name", that run on lavapipe for `./dev check`, as the entry `name.smoke`; all
# entries without a driver have the label `check` and run there, too.
# `tsan` into the one under ThreadSanitizer: suites where threads of the host meet, and no driver's, which are not
# instrumented. ARGS go to the executable (--gtest_filter=…).
function(garuda_add_test)
  cmake_parse_arguments(arg "VULKAN" "NAME;TIMEOUT" "SOURCES;LIBS;DRIVERS;FULL_DRIVERS;ARGS;ENVIRONMENT;LABELS;SMOKE" ${ARGN})
  if(arg_UNPARSED_ARGUMENTS)
    message(FATAL_ERROR "garuda_add_test(${arg_NAME}): unknown arguments: ${arg_UNPARSED_ARGUMENTS}")
  endif()
  if(NOT TARGET ${arg_NAME})
    add_executable(${arg_NAME} ${arg_SOURCES})
    target_include_directories(${arg_NAME} PRIVATE ${PROJECT_SOURCE_DIR})
    target_link_libraries(${arg_NAME} PRIVATE ${arg_LIBS} GTest::gmock GTest::gtest GTest::gtest_main garuda_options
                          garuda_test_options)
    if(arg_VULKAN)
      target_sources(${arg_NAME} PRIVATE ${PROJECT_SOURCE_DIR}/tests/longest_submission.cpp)
    endif()
    target_precompile_headers(${arg_NAME} REUSE_FROM garuda_precompiled_tests)
    garuda_compile_together(${arg_NAME})
    if(GARUDA_SANITIZE)
      target_sources(${arg_NAME} PRIVATE $<TARGET_OBJECTS:garuda_keep_libraries_loaded>)
      target_link_options(${arg_NAME} PRIVATE -Wl,--export-dynamic-symbol=dlclose)
    endif()
    add_dependencies(garuda_tests ${arg_NAME})
    if("asan" IN_LIST arg_LABELS)
      add_dependencies(garuda_asan_tests ${arg_NAME})
    endif()
    if("asan-full" IN_LIST arg_LABELS)
      add_dependencies(garuda_asan_full_tests ${arg_NAME})
    endif()
    if("tsan" IN_LIST arg_LABELS)
      add_dependencies(garuda_tsan_tests ${arg_NAME})
    endif()
  endif()
  if(arg_VULKAN)
    list(PREPEND arg_DRIVERS lavapipe swiftshader)
  endif()
  set(no_cuda)  # so that the other tests are the same on machines with an NVIDIA GPU
  if(NOT "cuda" IN_LIST arg_LABELS)
    set(no_cuda GARUDA_CUDA_PLUGIN=/nonexistent/libgaruda_cuda.so)
  endif()
  if(NOT arg_TIMEOUT)
    set(arg_TIMEOUT 300)
  endif()
  math(EXPR timeout "${arg_TIMEOUT} * ${GARUDA_TEST_TIMEOUT_SCALE}")
  list(APPEND arg_ENVIRONMENT XDG_CACHE_HOME=${PROJECT_SOURCE_DIR}/build/test_cache)
  if(GARUDA_SANITIZE)
    # A damaged file may ask for any amount of memory: as the system's allocators, the sanitizer's answers with null.
    list(APPEND arg_ENVIRONMENT ASAN_OPTIONS=allocator_may_return_null=1 UBSAN_OPTIONS=print_stacktrace=1
         GARUDA_TEST_MAX_ROWS=257 GARUDA_TEST_VALIDATION=0
         "LSAN_OPTIONS=suppressions=${PROJECT_SOURCE_DIR}/tests/lsan.supp")
  endif()
  if(WIN32)
    list(APPEND arg_ENVIRONMENT GARUDA_TEST_VALIDATION=0)
  endif()
  list(APPEND arg_DRIVERS ${arg_FULL_DRIVERS})
  if(arg_SMOKE OR NOT arg_DRIVERS)
    add_dependencies(garuda_check_tests ${arg_NAME})
  endif()
  if(NOT arg_DRIVERS)
    add_test(NAME ${arg_NAME} COMMAND ${arg_NAME} ${arg_ARGS})
    set_tests_properties(${arg_NAME} PROPERTIES TIMEOUT ${timeout} LABELS "${arg_LABELS};check"
                         ENVIRONMENT "${arg_ENVIRONMENT};${no_cuda}")
  endif()
  if(arg_SMOKE AND GARUDA_ICD_lavapipe AND NOT GARUDA_SANITIZE)
    garuda_driver_environment(lavapipe)
    list(JOIN arg_SMOKE ":" filter)
    add_test(NAME ${arg_NAME}.smoke COMMAND ${arg_NAME} --gtest_filter=${filter})
    set_tests_properties(${arg_NAME}.smoke PROPERTIES TIMEOUT ${timeout} LABELS smoke
                         ENVIRONMENT "${garuda_environment};${arg_ENVIRONMENT};${no_cuda}")
  endif()
  foreach(driver ${arg_DRIVERS})
    set(entry ${arg_NAME}.${driver})
    garuda_driver_environment(${driver})
    if(garuda_icd)
      add_test(NAME ${entry} COMMAND ${arg_NAME} ${arg_ARGS})
    else()
      add_test(NAME ${entry} COMMAND ${CMAKE_COMMAND} -E echo "skipped: driver not installed: ${driver}")
      set_tests_properties(${entry} PROPERTIES SKIP_REGULAR_EXPRESSION "^skipped: driver not installed")
    endif()
    # The host's code is the same on every driver, so a sanitizer needs one of them; the others are for full runs.
    set(labels ${arg_LABELS})
    if(arg_VULKAN AND NOT driver STREQUAL lavapipe)
      list(TRANSFORM labels REPLACE "^asan$" asan-full)
    endif()
    if(driver MATCHES "^profile-")
      list(FILTER labels EXCLUDE REGEX "^(asan|asan-full|tsan)$")
    endif()
    if(driver IN_LIST arg_FULL_DRIVERS)
      list(APPEND labels full)
    endif()
    if(driver STREQUAL cuda)
      set_tests_properties(${entry} PROPERTIES TIMEOUT ${timeout} LABELS cuda
                           SKIP_REGULAR_EXPRESSION "no CUDA device for tests: "
                           ENVIRONMENT "${garuda_environment};${arg_ENVIRONMENT}")
      if(TARGET garuda_cuda)
        add_dependencies(${arg_NAME} garuda_cuda)
      endif()
      continue()
    endif()
    # The slowest entry starts first, so that no core waits for the last entry.
    set(cost ${arg_TIMEOUT})
    if(driver STREQUAL swiftshader)
      math(EXPR cost "2 * ${cost}")
    endif()
    set(written GARUDA_TEST_SUBMISSIONS=${PROJECT_BINARY_DIR}/submissions/${entry})
    if(driver MATCHES "^radv-")
      list(APPEND written GARUDA_TEST_REGISTERS=${PROJECT_BINARY_DIR}/registers/${entry})
    endif()
    set_tests_properties(${entry} PROPERTIES TIMEOUT ${timeout} COST ${cost} LABELS "${labels};vulkan;${driver}"
                         ENVIRONMENT "${garuda_environment};${arg_ENVIRONMENT};${no_cuda};${written}")
  endforeach()
endfunction()
