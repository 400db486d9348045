# Installs the libraries with their headers and a package for find_package(garuda), and the command together with the
# Arrow libraries that it was linked against, so that an installed command needs no Python environment.
#
# A user links garuda::garuda. The libraries behind it are exported because they are static; their headers are not.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

# Behind the command only: these need Arrow C++ or belong to no API.
set(garuda_command_libraries garuda_file_names garuda_io garuda_cli_files garuda_spill garuda_bench garuda_bench_commands garuda_report garuda_cli)

add_library(garuda_api INTERFACE)
add_library(garuda::garuda ALIAS garuda_api)
target_link_libraries(garuda_api INTERFACE garuda_core garuda_engine)
set_target_properties(garuda_api PROPERTIES EXPORT_NAME garuda)
target_compile_features(garuda_api INTERFACE cxx_std_20)

get_property(garuda_exported GLOBAL PROPERTY GARUDA_LIBRARIES)
list(REMOVE_ITEM garuda_exported ${garuda_command_libraries})
list(APPEND garuda_exported garuda_volk)
foreach(library ${garuda_exported})
  string(REGEX REPLACE "^garuda_" "" name ${library})
  set_target_properties(${library} PROPERTIES EXPORT_NAME ${name})
endforeach()

set(garuda_package_directory ${CMAKE_INSTALL_LIBDIR}/cmake/garuda)
install(TARGETS garuda_api ${garuda_exported} EXPORT garuda-targets
        ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT development)
install(TARGETS garuda_c RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR} COMPONENT library
        LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT library
        NAMELINK_COMPONENT development)
install(EXPORT garuda-targets NAMESPACE garuda:: DESTINATION ${garuda_package_directory} COMPONENT development)
install(DIRECTORY ${PROJECT_SOURCE_DIR}/include/garuda DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} COMPONENT development)

configure_package_config_file(${PROJECT_SOURCE_DIR}/cmake/garuda-config.cmake.in
                              ${PROJECT_BINARY_DIR}/garuda-config.cmake
                              INSTALL_DESTINATION ${garuda_package_directory})
write_basic_package_version_file(${PROJECT_BINARY_DIR}/garuda-config-version.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/garuda-config.cmake ${PROJECT_BINARY_DIR}/garuda-config-version.cmake
              ${PROJECT_SOURCE_DIR}/cmake/GarudaTextLibraries.cmake
        DESTINATION ${garuda_package_directory} COMPONENT development)

if(TARGET garuda_cuda)
  install(TARGETS garuda_cuda LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}/garuda COMPONENT library)
endif()

if(TARGET garuda)
  set(garuda_private_libraries ${CMAKE_INSTALL_LIBDIR}/garuda)
  install(TARGETS garuda RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR} COMPONENT command)
  if(GARUDA_FILES)
    set_target_properties(garuda_files PROPERTIES INSTALL_RPATH "$ORIGIN")
    install(TARGETS garuda_files LIBRARY DESTINATION ${garuda_private_libraries} COMPONENT command)
    install(FILES $<TARGET_FILE:Arrow::arrow> $<TARGET_FILE:Arrow::parquet>
            DESTINATION ${garuda_private_libraries} COMPONENT command)
  endif()
endif()
