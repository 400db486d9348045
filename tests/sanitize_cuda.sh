#!/usr/bin/env bash
# Runs the tests of the CUDA path under compute-sanitizer: every kernel, in few launches.
#
#   sanitize_cuda.sh BIN [RUNNER...]
#
# BIN: the folder of the test programs. RUNNER: a command that starts them (a bundle's bin/run, with names for
# programs); default none. Prints a line for each tool and suite: what the tool found, the tests that ran, seconds.
# Exit status: 0 when every run finished without a finding, 1 else, 2 when something is missing.
# Tests that cross many cases take minutes under these tools and are left out; the tests called ReducedMatrix launch
# every kernel in their place.
# Environment: TOOLS (default "memcheck racecheck"; synccheck and initcheck are there, too), SUITES, SECONDS_EACH, the
# limit on a run (default 120), LOGS, a folder for what the runs print (default: none kept).
set -euo pipefail

readonly tools=${TOOLS:-memcheck racecheck}
readonly suites=${SUITES:-cuda_join_test cuda_group_by_test cuda_resident_test cuda_interop_test}
readonly seconds_each=${SECONDS_EACH:-120}
readonly crossed='-*EverySmallCase:*EveryBuildSideOnEveryPattern:*KernelCases:*LargeCases:*EveryShape:*HeavyKeys'
readonly more_crossed='*MoreThanExpected:*AggregatesEveryKind:*AggregatesInOnePass:*RestartsAtAnyPairOfAnyWindow:*OfOnePartition*'
readonly finding=99  # what compute-sanitizer exits with when it found something

die() {
  printf 'sanitize_cuda.sh: %s\n' "$1" >&2
  exit 2
}

# What a log says of itself: the tool's summary, and how many tests ran.
summary_of() {
  local found ran
  found=$(grep -oE '(ERROR|RACECHECK) SUMMARY: .*' "$1" | tail -n 1)
  ran=$(grep -cE '^\[       OK \]' "$1" || true)
  printf '%s, %d tests passed' "${found:-no summary}" "$ran"
}

# sanitize TOOL SUITE COMMAND...: one run, and its line.
sanitize() {
  local tool=$1 suite=$2 log=$logs/$1.$2.log start=$SECONDS status=0 outcome=ok options=()
  shift 2
  # Every status of CUDA's calls is checked, and tests provoke some that are errors.
  [[ $tool != memcheck ]] || options=(--report-api-errors no)
  timeout "$seconds_each" compute-sanitizer --tool "$tool" "${options[@]}" --error-exitcode "$finding" "$@" \
    "--gtest_filter=$crossed:$more_crossed" >"$log" 2>&1 || status=$?
  case $status in
    0)
      # Warnings of racecheck leave the status 0.
      if grep -q 'no CUDA device for tests: ' "$log"; then
        outcome='SKIPPED: no CUDA device'
      elif ! grep -qE 'SUMMARY: 0 ' "$log"; then
        outcome=FOUND
      fi
      ;;
    124) outcome="NOT FINISHED in $seconds_each s" ;;
    "$finding") outcome=FOUND ;;
    *) outcome="FAILED with status $status" ;;
  esac
  printf '%-10s %-20s %s: %s, %d s\n' "$tool" "$suite" "$outcome" "$(summary_of "$log")" $((SECONDS - start))
  [[ $outcome == ok ]] && return
  grep -E '^\[  FAILED  \]|^=========' "$log" | head -n 20 | sed 's/^/    /'
  return 1
}

main() {
  (($# >= 1)) || die 'usage: sanitize_cuda.sh BIN [RUNNER...]'
  local bin=$1 failed=0 tool suite
  shift
  command -v compute-sanitizer >/dev/null || die 'compute-sanitizer is missing: it comes with the CUDA toolkit'
  logs=${LOGS:-$(mktemp -d)}
  mkdir -p "$logs"
  [[ -n ${LOGS:-} ]] || trap 'rm -rf "$logs"' EXIT
  for tool in $tools; do
    for suite in $suites; do
      [[ -x $bin/$suite ]] || die "no such program: $bin/$suite"
      if (($#)); then
        sanitize "$tool" "$suite" "$@" "$suite" || failed=1
      else
        sanitize "$tool" "$suite" "$bin/$suite" || failed=1
      fi
    done
  done
  exit "$failed"
}

main "$@"
