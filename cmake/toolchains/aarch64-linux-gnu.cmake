# Compiles for arm64 Linux on another machine: Debian's cross compiler, arm64 libraries in .deps/arm64 (tests/arm64.sh
# unpacks them there), and QEMU to run what was built.
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR aarch64)

get_filename_component(garuda_arm64 ${CMAKE_CURRENT_LIST_DIR}/../../.deps/arm64 ABSOLUTE)
set(CMAKE_SYSROOT ${garuda_arm64}/root)
set(CMAKE_C_COMPILER aarch64-linux-gnu-gcc-12)
set(CMAKE_CXX_COMPILER aarch64-linux-gnu-g++-12)
set(CMAKE_CROSSCOMPILING_EMULATOR qemu-aarch64-static -L ${CMAKE_SYSROOT})
set(GARUDA_PYARROW ${garuda_arm64}/pyarrow)

# Programs are the building machine's, all else is the target's.
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_PACKAGE ONLY)
