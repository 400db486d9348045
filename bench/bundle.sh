#!/usr/bin/env bash
# Packs the built command, test programs and the shared libraries they need, to run them on a machine without garuda.
#
#   bench/bundle.sh OUTDIR [TEST...]
#
# Writes OUTDIR/garuda-bundle.tar.xz with one folder, garuda-bundle: bin/ (stripped; $ORIGIN/../lib is where the wrapper
# bin/run looks first), lib/ (all of ldd's libraries but glibc and the compiler's, which every machine brings in a
# version at least as new as its own system's), loader/ (libvulkan, for machines that have none), layers/ (the
# validation layer, which the tests want), and sanitize_cuda.sh (to run as `sanitize_cuda.sh bin bin/run`).
# TEST: names in BUILD/bin, default bench_points_test, vk_runtime_* and graphics_*.
# Environment: BUILD, the build folder (default build); MAX_MIB, largest archive (default 55).
set -euo pipefail

source_folder=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
readonly source_folder
readonly build=${BUILD:-$source_folder/../build}
readonly max_mib=${MAX_MIB:-55}
staging=

die() {
  printf 'bundle.sh: %s\n' "$1" >&2
  exit "${2:-1}"
}

# Libraries that belong to the system they run on: another version of these beside the system's own breaks programs.
is_system_library() {
  case $1 in
    linux-vdso.so.* | ld-linux*.so.* | libc.so.* | libm.so.* | libdl.so.* | librt.so.* | libpthread.so.* | \
      libresolv.so.* | libstdc++.so.* | libgcc_s.so.*) return 0 ;;
  esac
  return 1
}

# Prints "NAME PATH" of every library that the programs need.
needed_libraries() {
  local name arrow path rest
  for program in "$@"; do
    while read -r name arrow path rest; do
      [[ $arrow == '=>' ]] || continue
      [[ $path != not ]] || die "$program needs $name, which is not installed"
      is_system_library "$name" || printf '%s %s\n' "$name" "$path"
    done < <(ldd "$program")
  done | sort -u
}

copy_libraries() {
  local folder=$1 name path
  shift
  while read -r name path; do
    cp -L "$path" "$folder/$name"
  done < <(needed_libraries "$@")
}

# First of the files that exists, or nothing.
first_existing() {
  local path
  for path in "$@"; do
    [[ -e $path ]] && printf '%s\n' "$path" && return
  done
  return 0
}

# The loader and the validation layer are opened by name at run time, so that ldd does not list them.
copy_vulkan() {
  local bundle=$1 library_folder loader layer manifest
  library_folder=/usr/lib/$(uname -m)-linux-gnu
  loader=$(first_existing "$library_folder/libvulkan.so.1" /usr/lib64/libvulkan.so.1)
  [[ -n $loader ]] && cp -L "$loader" "$bundle/loader/libvulkan.so.1"
  layer=$(first_existing "$library_folder/libVkLayer_khronos_validation.so")
  manifest=$(first_existing /usr/share/vulkan/explicit_layer.d/VkLayer_khronos_validation.json)
  if [[ -n $layer && -n $manifest ]]; then
    cp -L "$layer" "$bundle/layers/"
    sed 's|"library_path": *"[^"]*"|"library_path": "./libVkLayer_khronos_validation.so"|' "$manifest" \
      >"$bundle/layers/VkLayer_khronos_validation.json"
    copy_libraries "$bundle/layers" "$layer"
  fi
}

write_wrapper() {
  cat >"$1" <<'WRAPPER'
#!/usr/bin/env bash
# bin/run PROGRAM ARGUMENTS...: runs a program of this folder with the libraries packed beside it.
folder=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
export LD_LIBRARY_PATH=$folder/lib${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
# A program's words on a missing loader are clearer than a second loader in front of an installed one.
ldconfig -p | grep -q 'libvulkan\.so\.1' || LD_LIBRARY_PATH+=:$folder/loader
export VK_LAYER_PATH=$folder/layers
program=$1
shift
exec "$folder/bin/$program" "$@"
WRAPPER
  chmod +x "$1"
}

main() {
  (($# >= 1)) || die 'usage: bench/bundle.sh OUTDIR [TEST...]' 2
  local out=$1 bundle programs=(garuda) program loaded=() library size
  shift
  [[ -x $build/bin/garuda ]] || die "no build at $build: build the target garuda first"
  if (($#)); then
    programs+=("$@")
  else
    while read -r program; do
      programs+=("$(basename "$program")")
    done < <(compgen -G "$build/bin/bench_points_test"; compgen -G "$build/bin/vk_runtime_*"; compgen -G "$build/bin/graphics_*")
  fi

  mkdir -p "$out"
  staging=$(mktemp -d)
  trap 'rm -rf "$staging"' EXIT
  bundle=$staging/garuda-bundle
  mkdir -p "$bundle"/{bin,lib,loader,layers}
  for program in "${programs[@]}"; do
    [[ -x $build/bin/$program ]] || die "no such program in $build/bin: $program"
    cp "$build/bin/$program" "$bundle/bin/"
  done
  # Loaded at run time, so no program names them.
  for library in "$build"/lib/libgaruda_{files,cuda}.so; do
    [[ -e $library ]] || continue
    loaded+=("$library")
    cp "$library" "$bundle/lib/"
  done
  copy_libraries "$bundle/lib" "${programs[@]/#/$build/bin/}" "${loaded[@]}"
  copy_vulkan "$bundle"
  find "$bundle" -type f \( -path '*/bin/*' -o -name '*.so*' \) -exec strip --strip-unneeded {} +
  write_wrapper "$bundle/bin/run"
  cp "$source_folder/../tests/sanitize_cuda.sh" "$bundle/"

  tar -C "$staging" -c garuda-bundle | xz -T0 -6 >"$out/garuda-bundle.tar.xz"
  size=$(stat -c %s "$out/garuda-bundle.tar.xz")
  printf '%s: %d KiB, %d programs, %d libraries\n' "$out/garuda-bundle.tar.xz" $((size / 1024)) "${#programs[@]}" \
    "$(find "$bundle/lib" -type f | wc -l)"
  ((size <= max_mib << 20)) || die "the archive is larger than $max_mib MiB: name fewer tests, or set MAX_MIB"
}

main "$@"
