#!/usr/bin/env python3
"""The longest submissions of the suites that ran last, a Markdown table with a row a driver.

Suites on Vulkan write a file each (tests/longest_submission.cpp). Times depend on whatever else the machine did, so one
past the limit is marked and named below the table, and fails nothing; that no suite wrote any, or one wrote something
else, is an error.
"""
import argparse
import pathlib
import sys
from typing import NamedTuple

LIMIT_MS = 100.0
SOFTWARE_LIMIT_MS = 400.0  # vk::longest_submission_ns
SOFTWARE = ("lavapipe", "swiftshader")


class Submission(NamedTuple):
    ms: float = 0.0
    phases: str = ""


class Longest(NamedTuple):
    usual: Submission
    compiling: Submission


def read(folder: pathlib.Path) -> dict[str, dict[str, Longest]]:
    """The longest submission by driver and suite, and the longest of those in which the driver compiled."""
    drivers: dict[str, dict[str, Longest]] = {}
    for file in sorted(folder.iterdir()):
        suite, _, driver = file.name.partition(".")
        lines = [line.partition(" ") for line in file.read_text().splitlines()]
        usual, compiling = (Submission(int(ns) / 1e6, phases) for ns, _, phases in lines)
        # A profile is another GPU's limits, whose pace lavapipe does not have; a null device runs nothing.
        if not driver.startswith(("profile-", "radv-")) and usual.ms + compiling.ms > 0:
            drivers.setdefault(driver, {})[suite] = Longest(usual, compiling)
    return drivers


def limit_of(driver: str) -> float:
    return SOFTWARE_LIMIT_MS if driver.startswith(SOFTWARE) else LIMIT_MS


def row(driver: str, suites: dict[str, Longest]) -> str:
    usual = max(suites, key=lambda suite: suites[suite].usual)
    compiling = max(suites, key=lambda suite: suites[suite].compiling)
    longest = suites[usual].usual
    mark = " (over)" if longest.ms > limit_of(driver) else ""
    return (
        f"| {driver} | {len(suites)} | {limit_of(driver):.0f} | {longest.ms:.1f}{mark} | {usual}: {longest.phases}"
        f" | {suites[compiling].compiling.ms:.1f} | {compiling} |"
    )


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", nargs="?", type=pathlib.Path, default=pathlib.Path("build/submissions"))
    parser.add_argument("--suites", action="store_true", help="a row for every suite")
    options = parser.parse_args()
    drivers = read(options.folder) if options.folder.is_dir() else {}
    if not drivers:
        print(f"no suite has run on a device yet: {options.folder}", file=sys.stderr)
        return 1
    print("| driver | suites | limit, ms | longest, ms | in | while compiling, ms | in |")
    print("|---|---|---|---|---|---|---|")
    for driver, suites in drivers.items():
        for rows in [{suite: times} for suite, times in suites.items()] if options.suites else [suites]:
            print(row(driver, rows))
    for driver, suites in drivers.items():
        for suite, longest in suites.items():
            if longest.usual.ms > limit_of(driver):
                print(f"over the limit: {suite} on {driver}: {longest.usual.ms:.1f} ms in {longest.usual.phases}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
