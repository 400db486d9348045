# shellcheck shell=bash disable=SC2154  # variables of dev
# ./dev windows, of which this is a part: cross-compiles the command and its tests for Windows on x86-64, and runs them
# under Wine.

readonly windows_packages=(g++-mingw-w64-x86-64-posix googletest patch python3-six unicode-data wine wine64 xvfb)
readonly windows_sources=(onetbb fmtlib re2 utf8proc)  # of Debian, built for Windows
readonly windows_libraries=$root/.deps/windows
readonly windows_toolchain=$root/cmake/toolchains/x86_64-w64-mingw32.cmake
readonly windows_build=build-windows

# build_windows_library FOLDER [CMAKE-ARGUMENT...]
build_windows_library() {
  local source=$1 work
  shift
  work=$windows_libraries/work/$(basename "$source")
  cmake -S "$source" -B "$work" -G Ninja -DCMAKE_TOOLCHAIN_FILE="$windows_toolchain" -DGARUDA_WINDOWS_PREFIX="$windows_libraries" \
    -DCMAKE_INSTALL_PREFIX="$windows_libraries" -DCMAKE_BUILD_TYPE=Release -DBUILD_SHARED_LIBS=OFF "$@" || return
  cmake --build "$work" --parallel "$jobs" || return
  cmake --install "$work"
}

# copy_windows_headers: libraries that are headers, and volk, which is compiled with garuda.
copy_windows_headers() {
  local package
  mkdir -p "$windows_libraries"/{include,share/cmake,lib/cmake/VulkanHeaders} || return
  cp -r /usr/include/{tl,nlohmann,CLI,protozero,vulkan,vk_video} /usr/include/volk.[ch] "$windows_libraries/include/" || return
  for package in tl-expected nlohmann_json CLI11; do
    cp -r /usr/share/cmake/"$package" "$windows_libraries/share/cmake/" || return
  done
  # Debian's lies where only Debian's own prefix is computed from.
  cat >"$windows_libraries/lib/cmake/VulkanHeaders/VulkanHeadersConfig.cmake" <<CONFIG
add_library(Vulkan::Headers INTERFACE IMPORTED)
target_include_directories(Vulkan::Headers INTERFACE $windows_libraries/include)
CONFIG
}

# make_re2_tables WORK: Debian's archive of RE2 leaves out tables of Unicode, which are made from Debian's unicode-data.
make_re2_tables() {
  tar xOf "$1"/re2_*.debian.tar.xz debian/patches/debian-unicode-data.patch | patch -d "$1"/re2-* -p1 || return
  make -C "$1"/re2-* REBUILD_TABLES=1 re2/perl_groups.cc re2/unicode_casefold.cc re2/unicode_groups.cc
}

# build_windows_libraries: what Debian has no packages of for Windows, from its source packages; headers from its packages.
build_windows_libraries() {
  local work=$root/.deps/windows-source
  download_sources "$work" "${windows_sources[@]}" || return
  copy_windows_headers || return
  build_windows_library /usr/src/googletest || return
  build_windows_library "$(echo "$work"/fmt*/)" -DFMT_TEST=OFF -DFMT_DOC=OFF || return
  build_windows_library "$(echo "$work"/oneTBB-*/)" -DTBB_TEST=OFF -DTBB_EXAMPLES=OFF -DTBB_STRICT=OFF \
    -DTBBMALLOC_BUILD=OFF || return
  make_re2_tables "$work" || return
  build_windows_library "$(echo "$work"/re2-*/)" -DRE2_BUILD_TESTING=OFF || return
  build_windows_library "$(echo "$work"/utf8proc-*/)" -DUTF8PROC_ENABLE_TESTING=OFF || return
  rm -rf "$work" "$windows_libraries/work"
  printf '%s' "${windows_sources[*]}" >"$windows_libraries/complete"
}

# build_for_windows TARGET...
build_for_windows() {
  cmake -S . -B "$windows_build" -G Ninja -DCMAKE_TOOLCHAIN_FILE="$windows_toolchain" \
    -DGARUDA_WINDOWS_PREFIX="$windows_libraries" -DCMAKE_BUILD_TYPE=Release -DGARUDA_FILES=OFF -DGARUDA_CUDA=OFF || return
  cmake --build "$windows_build" --parallel "$jobs" --target "$@"
}

# expect_of_garuda STATUS TEXT ARGUMENT...: what garuda.exe ends with and says.
expect_of_garuda() {
  local status=$1 text=$2 output found=0
  shift 2
  output=$(timeout 300 tests/run_under_wine.sh "$windows_build/bin/garuda.exe" "$@") || found=$?
  say "$output"
  ((found == status)) && [[ $output == *"$text"* ]] && return
  say "garuda.exe $*: status $found, where status $status and '$text' were expected"
  return 1
}

# start_screen: Wine finds Vulkan by the driver of a screen. In screen_pid the process that has to be ended.
start_screen() {
  local number=''
  coproc SCREEN { exec Xvfb -displayfd 1 -screen 0 640x480x24 -nolisten tcp 2>/dev/null; }
  # shellcheck disable=SC2153  # coproc names it
  screen_pid=$SCREEN_PID
  read -r -t 60 -u "${SCREEN[0]}" number || return
  export DISPLAY=:$number
}

# test_under_wine LABELS: the command, and the entries of ctest that have one of these labels, a regular expression.
test_under_wine() {
  local failed=0 path screen_pid
  start_screen || return
  VK_ICD_FILENAMES=$(echo /usr/share/vulkan/icd.d/lvp_icd*.json)
  export VK_ICD_FILENAMES
  timeout 300 wineboot --init || return
  expect_of_garuda 0 'garuda 0.' --version || failed=1
  expect_of_garuda 0 'llvmpipe' devices || failed=1
  expect_of_garuda 2 'GARUDA_FILES=OFF' join a.csv b.csv --on id || failed=1
  for path in cpu compute graphics; do
    expect_of_garuda 0 'verified' bench join --rows-left 2^12 --rows-right 2^12 --path "$path" --repeat 1 || failed=1
    expect_of_garuda 0 'verified' bench group-by --rows 2^12 --groups 2^8 --path "$path" --repeat 1 || failed=1
  done
  # Every program has its time limit.
  run_ctest "$windows_build" --label-regex "$1" --label-exclude '^(cuda|full)$' || failed=1
  wineserver --kill || true
  kill "$screen_pid"
  return "$failed"
}

command_windows() {
  # Programs that need no driver run all tests, others what ./dev check runs, on lavapipe; with --full all tests there.
  local targets=(garuda garuda_check_tests) labels='^(check|smoke)$'
  if [[ $# == 1 && $1 == --full ]]; then
    targets=(all) labels='^(check|lavapipe)$'
  elif (($#)); then
    die "unknown option of ./dev windows: $*"
  fi
  setup_packages "${system_packages[@]}" "${windows_packages[@]}"
  [[ -e $windows_libraries/complete && $(<"$windows_libraries/complete") == "${windows_sources[*]}" ]] || timed windows-libraries build_windows_libraries ||
    die "the libraries that garuda uses could not be built for Windows"
  timed build-windows build_for_windows "${targets[@]}" || die "the build for Windows failed"
  # A Wine of its own, without words about what it lacks.
  export WINEPREFIX=$root/.deps/wine WINEARCH=win64 WINEDEBUG=-all
  export WINEDLLOVERRIDES='mscoree=;mshtml=;winemenubuilder.exe='
  timed_live test-windows test_under_wine "$labels"
}
