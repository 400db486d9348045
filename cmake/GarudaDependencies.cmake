# Finds what garuda links against. What is missing is named together with the way to get it.
#
# Debian packages: TBB, fmt, tl-expected, nlohmann-json, VulkanHeaders, volk, RE2, utf8proc, protozero; for the command
# CLI11; for files Snappy; for tests GoogleTest and, but on Windows, RapidCheck. Arrow C++ and Parquet come with the
# pyarrow package of the Python environment GARUDA_PYTHON, so that files are read by the same library in C++ and in
# Python.

if(SKBUILD)
  # Pip's build environment, for which pyproject.toml names pyarrow.
  set(garuda_default_python ${Python_EXECUTABLE})
elseif(EXISTS ${PROJECT_SOURCE_DIR}/.venv/bin/python)
  set(garuda_default_python ${PROJECT_SOURCE_DIR}/.venv/bin/python)
else()
  set(garuda_default_python python3)
endif()
set(GARUDA_PYTHON ${garuda_default_python} CACHE STRING "Python whose pyarrow package provides Arrow C++ and Parquet")
set(GARUDA_PYARROW "" CACHE PATH "Folder of an unpacked pyarrow package, where no Python of the target can be asked for it")

# garuda_missing(WHAT HINT): ends the configuration with the name of what is missing and how to get it.
function(garuda_missing what hint)
  message(FATAL_ERROR "${what} was not found. Run ./dev setup, or: ${hint}")
endfunction()

# garuda_require(PACKAGE APT): find_package, in config mode, of something that a Debian package provides.
macro(garuda_require package apt)
  find_package(${package} CONFIG QUIET)
  if(NOT ${package}_FOUND)
    garuda_missing("${package}" "apt-get install ${apt}")
  endif()
endmacro()

set(THREADS_PREFER_PTHREAD_FLAG ON)
find_package(Threads REQUIRED)
garuda_require(TBB libtbb-dev)
garuda_require(fmt libfmt-dev)
garuda_require(tl-expected libexpected-dev)
garuda_require(nlohmann_json nlohmann-json3-dev)
garuda_require(VulkanHeaders libvulkan-dev)
include(GarudaTextLibraries)
# protozero is headers alone, whose package has no CMake configuration; only sources of the room that reads plans of
# Substrait include them.
find_path(GARUDA_PROTOZERO_INCLUDE protozero/pbf_reader.hpp)
mark_as_advanced(GARUDA_PROTOZERO_INCLUDE)
if(NOT GARUDA_PROTOZERO_INCLUDE)
  garuda_missing("protozero" "apt-get install libprotozero-dev")
endif()
if(GARUDA_BUILD_CLI)
  garuda_require(CLI11 libcli11-dev)
endif()
if(GARUDA_FILES)
  garuda_require(Snappy libsnappy-dev)
  # garuda::snappy: linked into the command, where its calls into the C library can be led elsewhere
  # (io/parquet/short_moves.cpp).
  add_library(garuda_snappy INTERFACE)
  add_library(garuda::snappy ALIAS garuda_snappy)
  if(TARGET Snappy::snappy-static AND CMAKE_SYSTEM_NAME STREQUAL "Linux")
    add_library(garuda_short_moves STATIC ${PROJECT_SOURCE_DIR}/io/parquet/short_moves.cpp)
    target_compile_features(garuda_short_moves PRIVATE cxx_std_20)
    target_link_libraries(garuda_snappy INTERFACE Snappy::snappy-static garuda_short_moves)
    target_link_options(garuda_snappy INTERFACE LINKER:--wrap=memmove)
  else()
    target_link_libraries(garuda_snappy INTERFACE Snappy::snappy)
  endif()
endif()
if(GARUDA_BUILD_TESTS)
  garuda_require(GTest libgtest-dev)
  if(NOT WIN32)  # one suite: not worth building it for Windows
    garuda_require(rapidcheck librapidcheck-dev)
  endif()
endif()

# volk is compiled here because the distributions package its source, and because every user has to agree on
# VK_NO_PROTOTYPES: with prototypes, a call would bypass the function pointers that volk loads.
find_file(GARUDA_VOLK_SOURCE volk.c PATH_SUFFIXES include Volk include/Volk)
if(NOT GARUDA_VOLK_SOURCE)
  garuda_missing("volk.c" "apt-get install libvulkan-volk-dev")
endif()
get_filename_component(garuda_volk_directory ${GARUDA_VOLK_SOURCE} DIRECTORY)
enable_language(C)
add_library(garuda_volk STATIC ${GARUDA_VOLK_SOURCE})
add_library(garuda::volk ALIAS garuda_volk)
target_compile_definitions(garuda_volk PUBLIC VK_NO_PROTOTYPES)
if(NOT garuda_volk_directory IN_LIST CMAKE_C_IMPLICIT_INCLUDE_DIRECTORIES)
  target_include_directories(garuda_volk SYSTEM PUBLIC $<BUILD_INTERFACE:${garuda_volk_directory}>)
endif()
target_link_libraries(garuda_volk PUBLIC Vulkan::Headers ${CMAKE_DL_LIBS})

# garuda_ask_pyarrow(): in include_directory and library_directory what GARUDA_PYTHON's pyarrow says of itself.
function(garuda_ask_pyarrow)
  set(query "import pyarrow; print(pyarrow.get_include(), pyarrow.get_library_dirs()[0], sep=';')")
  execute_process(COMMAND ${GARUDA_PYTHON} -c "${query}"
                  OUTPUT_VARIABLE answer ERROR_VARIABLE error RESULT_VARIABLE status OUTPUT_STRIP_TRAILING_WHITESPACE)
  if(NOT status EQUAL 0)
    message(STATUS "${GARUDA_PYTHON}: ${error}")
    garuda_missing("pyarrow (Arrow C++ and Parquet)"
                   "pip install pyarrow, and -DGARUDA_PYTHON=that environment's python; -DGARUDA_FILES=OFF builds without")
  endif()
  list(GET answer 0 include_directory)
  list(GET answer 1 library_directory)
  set(include_directory ${include_directory} PARENT_SCOPE)
  set(library_directory ${library_directory} PARENT_SCOPE)
endfunction()

# garuda_find_arrow(): imported targets Arrow::arrow and Arrow::parquet, and GARUDA_ARROW_DIRECTORY.
function(garuda_find_arrow)
  if(GARUDA_PYARROW)
    set(include_directory ${GARUDA_PYARROW}/include)
    set(library_directory ${GARUDA_PYARROW})
  else()
    garuda_ask_pyarrow()
  endif()
  foreach(library arrow parquet)
    # The wheel carries only the versioned name, libarrow.so.2600, which -larrow would not find.
    file(GLOB candidates ${library_directory}/lib${library}.so.*)
    list(LENGTH candidates num_candidates)
    if(NOT num_candidates EQUAL 1)
      message(FATAL_ERROR "pyarrow has no single lib${library}.so.* in ${library_directory}: ${candidates}")
    endif()
    add_library(Arrow::${library} SHARED IMPORTED GLOBAL)
    set_target_properties(Arrow::${library} PROPERTIES IMPORTED_LOCATION ${candidates}
                          INTERFACE_INCLUDE_DIRECTORIES ${include_directory})
  endforeach()
  set_property(TARGET Arrow::parquet PROPERTY INTERFACE_LINK_LIBRARIES Arrow::arrow)
  set(GARUDA_ARROW_DIRECTORY ${library_directory} PARENT_SCOPE)
  message(STATUS "Arrow C++: ${library_directory}")
endfunction()

if(GARUDA_FILES)
  garuda_find_arrow()
endif()
