# shellcheck shell=bash disable=SC2154  # variables of dev
# `./dev arm64`, read by dev: garuda cross-compiled for arm64 Linux, its tests under QEMU, and bytes of results compared
# with the native command's. No package of the machine changes: arm64's are unpacked in .deps/arm64/root, the sysroot of
# cmake/toolchains/aarch64-linux-gnu.cmake, by an apt with lists and a status of its own.

readonly arm64=.deps/arm64
readonly arm64_tools=(g++-12-aarch64-linux-gnu qemu-user-static)
readonly arm64_packages=(
  libc6-dev libstdc++-12-dev
  libvulkan1 libvulkan-dev libvulkan-volk-dev mesa-vulkan-drivers vulkan-validationlayers
  libcli11-dev libexpected-dev libfmt-dev libgmock-dev libgtest-dev libprotozero-dev librapidcheck-dev libre2-dev
  libsnappy-dev libtbb-dev libutf8proc-dev nlohmann-json3-dev)

# turn_to_root ROOT: what names absolute paths in the packages names those below ROOT.
turn_to_root() {
  local link
  find "$1" -type l -lname '/*' -print0 | while IFS= read -r -d '' link; do
    ln -sfnr "$1$(readlink "$link")" "$link" || return
  done
  # shellcheck disable=SC2016  # CMake's variable
  sed -i 's|"/usr/lib/|"${CMAKE_SYSROOT}/usr/lib/|' "$1"/usr/lib/*/cmake/Snappy/SnappyTargets-*.cmake
}

download_arm64_root() {
  local work=$root/$arm64/work package options
  rm -rf "$work" "${arm64:?}/root"
  mkdir -p "$work"/{lists/partial,cache/archives/partial,root}
  chmod 755 "$root/.deps" "$root/$arm64" "$work"  # apt downloads as the user _apt where it may
  # An empty status: what arm64's packages depend on is downloaded too, whatever is installed here.
  options=(-o Acquire::Retries=3 -o APT::Architecture=arm64 -o APT::Architectures=arm64
    -o "Dir::State::Lists=$work/lists" -o "Dir::Cache=$work/cache" -o Dir::State::status=/dev/null -o Debug::NoLocking=1)
  apt-get "${options[@]}" update || return
  apt-get "${options[@]}" install --download-only --no-install-recommends -y "${arm64_packages[@]}" || return
  for package in "$work"/cache/archives/*.deb; do
    dpkg -x "$package" "$work/root" || return
  done
  turn_to_root "$work/root" || return
  mv "$work/root" "$arm64/root" || return
  rm -rf "$work"
}

# download_arm64_pyarrow: Arrow C++ from the wheel of the pyarrow that the machine's own build takes.
download_arm64_pyarrow() {
  local work=$arm64/wheel
  rm -rf "$work" "${arm64:?}/pyarrow"
  "$python" -m pip download --no-deps --only-binary :all: --platform manylinux_2_28_aarch64 --dest "$work" \
    "$(grep '^pyarrow==' "$requirements")" || return
  "$python" -m zipfile -e "$work"/pyarrow-*.whl "$work" || return
  mv "$work/pyarrow" "$arm64/pyarrow" || return
  rm -rf "$work"
}

# unpack_arm64 NAME WANTED: download_arm64_NAME, unless what lies there was made from the same list.
unpack_arm64() {
  [[ -d $arm64/$1 && -f $arm64/$1.list && $(<"$arm64/$1.list") == "$2" ]] && return
  timed "arm64-$1" "download_arm64_$1" || return
  printf '%s' "$2" >"$arm64/$1.list"
}

setup_arm64() {
  setup_packages "${arm64_tools[@]}"
  [[ $(distribution) == 'debian 12' ]] || die "./dev arm64 takes arm64's packages from Debian 12; this is: $(distribution)"
  mkdir -p "$arm64"
  unpack_arm64 root "${arm64_packages[*]}" || die "Debian's arm64 packages could not be had"
  unpack_arm64 pyarrow "$(grep '^pyarrow==' "$requirements")" || die "pyarrow's wheel for aarch64 could not be had"
}

command_arm64() {
  local failed=0 emulator="qemu-aarch64-static -L $root/$arm64/root"
  (($# == 0)) || die "unknown option of ./dev arm64: $1"
  setup_runtime
  setup_arm64
  build_step release -- garuda
  build_step arm64
  timed_live test-arm64 run_ctest build-arm64 --label-regex '^(check|smoke)$' --label-exclude '^cuda$' || failed=1
  # shellcheck disable=SC2086  # words
  timed_live pages-arm64 $emulator -p 65536 build-arm64/bin/core_test --gtest_brief=1 || failed=1
  timed_live bytes-arm64 "$python" tests/same_bytes.py build/bin/garuda "$emulator build-arm64/bin/garuda" || failed=1
  return "$failed"
}
