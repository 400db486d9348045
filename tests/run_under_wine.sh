#!/usr/bin/env bash
# run_under_wine.sh PROGRAM ARGUMENT...: runs a program for Windows, prints what it printed, and ends as it ended.
#
# What Wine starts beside a program (services, a desktop) outlives it and keeps its output open, so that whoever reads
# that until its end waits for minutes: the output goes by way of a file.
set -uo pipefail

output=$(mktemp)
trap 'rm -f "$output"' EXIT
wine "$@" >"$output" 2>&1 </dev/null
status=$?
cat "$output"
exit "$status"
