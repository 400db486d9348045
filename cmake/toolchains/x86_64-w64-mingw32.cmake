# Windows on x86-64, cross-compiled by GCC of mingw-w64 with POSIX threads (Debian's g++-mingw-w64-x86-64-posix).
#
# GARUDA_WINDOWS_PREFIX: where the libraries built for Windows are installed (./dev windows builds them); nothing of
# this machine's is looked for in their place.
set(CMAKE_SYSTEM_NAME Windows)
set(CMAKE_SYSTEM_PROCESSOR x86_64)
set(CMAKE_C_COMPILER x86_64-w64-mingw32-gcc-posix)
set(CMAKE_CXX_COMPILER x86_64-w64-mingw32-g++-posix)
set(CMAKE_RC_COMPILER x86_64-w64-mingw32-windres)
get_filename_component(CMAKE_CROSSCOMPILING_EMULATOR ${CMAKE_CURRENT_LIST_DIR}/../../tests/run_under_wine.sh ABSOLUTE)

list(APPEND CMAKE_TRY_COMPILE_PLATFORM_VARIABLES GARUDA_WINDOWS_PREFIX)
set(CMAKE_FIND_ROOT_PATH ${GARUDA_WINDOWS_PREFIX} /usr/x86_64-w64-mingw32)
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_PACKAGE ONLY)

# Vectors of 32 and 64 bytes are spilled with aligned moves, but Windows's calling convention aligns the stack to 16
# bytes, and GCC does not align it further there (its bug 54412): moves that need no alignment are assembled instead.
set(CMAKE_C_FLAGS_INIT "-Wa,-muse-unaligned-vector-move")
set(CMAKE_CXX_FLAGS_INIT "-Wa,-muse-unaligned-vector-move")

# GCC's libraries and threads belong into each program: nothing has to lie beside it.
set(CMAKE_EXE_LINKER_FLAGS_INIT "-static")
set(CMAKE_SHARED_LINKER_FLAGS_INIT "-static")
