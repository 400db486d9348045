#!/usr/bin/env bash
# Tests and measures garuda on a machine with a GPU, from a bundle that bench/bundle.sh packed elsewhere.
#
#   gpu_host.sh BUNDLE OUTDIR
#
# BUNDLE: garuda-bundle.tar.xz, or the folder in it. Writes into OUTDIR: devices.txt, tests.log, points.jsonl and
# join.jsonl (one object a line: {"arguments": what was run, "record": a line of `garuda bench --json`}), errors.log,
# summary.txt (also printed). Exit status: 0 when all tests passed and every benchmark verified its result, else 1.
# Environment:
#   VULKAN_DEBS      .deb files, separated by spaces, unpacked into / when the machine has no Vulkan loader (else the
#                    bundle's own loader serves)
#   VK_DRIVER_FILES  manifest of the Vulkan driver, where the loader does not find it by itself
#   DEVICE           device to use (default 0)
#   POWERS           row counts 2^N of the joins (default "20 22 24")
#   POINTS           points of the bare draws (default 16M)
#   REPEAT           samples (default 7)
#   SECONDS_EACH     limit of one benchmark (default 120); TEST_SECONDS, of one test program (default 240)
#   SKIP_TESTS       1: benchmarks only
set -uo pipefail

readonly device=${DEVICE:-0}
readonly powers=${POWERS:-20 22 24}
readonly points=${POINTS:-16M}
readonly repeat=${REPEAT:-7}
readonly seconds_each=${SECONDS_EACH:-120}
readonly test_seconds=${TEST_SECONDS:-240}
failures=0

die() {
  printf 'gpu_host.sh: %s\n' "$1" >&2
  exit 2
}

unpack_bundle() {
  if [[ -d $1 ]]; then
    bundle=$(cd "$1" && pwd)
    return
  fi
  [[ -f $1 ]] || die "no such bundle: $1"
  local folder
  folder=$(mktemp -d) || die 'no temporary folder'
  tar -C "$folder" -xJf "$1" || die "the bundle cannot be unpacked: $1"
  bundle=$folder/garuda-bundle
}

provide_loader() {
  ldconfig -p | grep -q 'libvulkan\.so\.1' && return
  [[ -n ${VULKAN_DEBS:-} ]] || return 0
  local package
  for package in $VULKAN_DEBS; do
    dpkg -x "$package" / || die "the package cannot be unpacked: $package"
  done
  ldconfig
}

# run SECONDS PROGRAM ARGUMENTS...
run() {
  local seconds=$1
  shift
  timeout "$seconds" "$bundle/bin/run" "$@"
}

fail() {
  failures=$((failures + 1))
  printf 'FAILED %s\n' "$1" | tee -a "$out/summary.txt"
}

run_tests() {
  local program name
  for program in "$bundle"/bin/*_test; do
    [[ -x $program ]] || continue
    name=$(basename "$program")
    printf '== %s\n' "$name" >>"$out/tests.log"
    if run "$test_seconds" "$name" --gtest_brief=1 >>"$out/tests.log" 2>&1; then
      printf 'passed %s: %s\n' "$name" "$(grep -a '^\[  PASSED  \]' "$out/tests.log" | tail -1)" >>"$out/summary.txt"
    else
      fail "$name (status $?, see tests.log)"
    fi
  done
}

# bench FILE ARGUMENTS...: one benchmark, its lines kept together with its arguments.
bench() {
  local file=$1 line lines
  shift
  if ! lines=$(run "$seconds_each" garuda bench "$@" --repeat "$repeat" --json 2>>"$out/errors.log"); then
    fail "garuda bench $*: $(tail -1 "$out/errors.log")"
    return
  fi
  while read -r line; do
    printf '{"arguments":"%s","record":%s}\n' "$*" "$line" >>"$out/$file"
    [[ $line == *'"verified":true'* ]] || fail "not verified: garuda bench $*"
    summarise "$line" "$*" | tee -a "$out/summary.txt"
  done <<<"$lines"
}

field() { sed -n "s/.*\"$2\":\"\\{0,1\\}\\([^,\"}]*\\).*/\\1/p" <<<"$1"; }

summarise() {
  local line=$1
  awk -v op="$(field "$line" op)" -v path="$(field "$line" path)" -v ns="$(field "$line" median_ns)" \
    -v mad="$(field "$line" mad_ns)" -v rate="$(field "$line" rows_per_s)" -v mode="$(field "$line" mode)" \
    -v samples="$(field "$line" samples)" -v arguments="$2" 'BEGIN {
      printf "%-12s %-8s %-10s %10.3f ms +- %7.3f (%d samples) %9.2f M rows/s  %s\n", op, path, mode, ns / 1e6,
             mad / 1e6, samples, rate / 1e6, arguments }'
}

bench_points() {
  local image order blend
  for image in 1024 4096; do
    for order in random pixel; do
      for blend in none add; do
        bench points.jsonl points --rows "$points" --image "$image" --order "$order" --blend "$blend" --device "$device"
      done
    done
  done
}

bench_joins() {
  local power
  for power in $powers; do
    bench join.jsonl join --rows-left "2^$power" --rows-right "2^$power" --path graphics,cpu --device "$device"
  done
  power=${powers%% *}
  bench join.jsonl join --rows-left "2^$power" --rows-right "2^$power" --path graphics --device "$device" --floor
  bench join.jsonl join --rows-left "2^$power" --rows-right "2^$power" --path graphics,cpu --device "$device" \
    --distribution uniform
  bench join.jsonl join --rows-left "2^$power" --rows-right "2^$power" --path graphics,cpu --device "$device" \
    --distribution zipf:1.0
}

main() {
  (($# == 2)) || die 'usage: gpu_host.sh BUNDLE OUTDIR'
  mkdir -p "$2" || die "no such folder: $2"
  out=$(cd "$2" && pwd)
  unpack_bundle "$1"
  provide_loader
  : >"$out/summary.txt"
  if run "$seconds_each" garuda devices >"$out/devices.txt" 2>>"$out/errors.log"; then
    cat "$out/devices.txt"
  else
    fail "garuda devices: $(tail -1 "$out/errors.log")"
  fi
  [[ ${SKIP_TESTS:-} == 1 ]] || run_tests
  bench_points
  bench_joins
  printf '%d failures; results in %s\n' "$failures" "$out"
  ((failures == 0))
}

main "$@"
