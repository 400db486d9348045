# The libraries of patterns and of Unicode, of which Debian's packages have no CMake configuration: the targets
# garuda_re2 and garuda_utf8proc. Also read by those who link against an installed garuda.

# garuda_find_text_library(NAME HEADER APT)
function(garuda_find_text_library name header apt)
  string(TOUPPER ${name} upper)
  find_path(GARUDA_${upper}_INCLUDE ${header})
  find_library(GARUDA_${upper}_LIBRARY ${name})
  mark_as_advanced(GARUDA_${upper}_INCLUDE GARUDA_${upper}_LIBRARY)
  if(NOT GARUDA_${upper}_INCLUDE OR NOT GARUDA_${upper}_LIBRARY)
    message(FATAL_ERROR "${name} was not found. Run ./dev setup, or: apt-get install ${apt}")
  endif()
  add_library(garuda_${name} UNKNOWN IMPORTED GLOBAL)
  set_target_properties(garuda_${name} PROPERTIES IMPORTED_LOCATION ${GARUDA_${upper}_LIBRARY})
  if(NOT GARUDA_${upper}_INCLUDE IN_LIST CMAKE_CXX_IMPLICIT_INCLUDE_DIRECTORIES)
    set_target_properties(garuda_${name} PROPERTIES INTERFACE_INCLUDE_DIRECTORIES ${GARUDA_${upper}_INCLUDE})
  endif()
endfunction()

if(NOT TARGET garuda_re2)
  garuda_find_text_library(re2 re2/re2.h libre2-dev)
  garuda_find_text_library(utf8proc utf8proc.h libutf8proc-dev)
  set_property(TARGET garuda_re2 PROPERTY INTERFACE_LINK_LIBRARIES Threads::Threads)
  if(WIN32)  # linked statically, so not imported from a DLL
    set_property(TARGET garuda_utf8proc PROPERTY INTERFACE_COMPILE_DEFINITIONS UTF8PROC_STATIC)
  endif()
endif()
