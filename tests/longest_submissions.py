#!/usr/bin/env python3
"""The longest submissions of the suites that ran last, a Markdown table with a row a driver.

Suites on Vulkan write a file each (tests/longest_submission.cpp). Timed by whatever else the machine did, so it fails
nothing: a number past the limit is marked.
"""
import argparse
import pathlib
import sys

LIMIT_MS = 100.0
SOFTWARE_LIMIT_MS = 400.0  # vk::longest_submission_ns
SOFTWARE = ("lavapipe", "swiftshader")


def read(folder: pathlib.Path) -> dict[str, dict[str, tuple[float, float]]]:
    """By driver and suite the milliseconds of the longest submission, and of the longest that compiled."""
    drivers: dict[str, dict[str, tuple[float, float]]] = {}
    for file in sorted(folder.iterdir()):
        suite, _, driver = file.name.partition(".")
        longest, compiling = (int(ns) / 1e6 for ns in file.read_text().split())
        # A profile is another GPU's limits, whose pace lavapipe does not have; a null device runs nothing.
        if not driver.startswith(("profile-", "radv-")) and longest + compiling > 0:
            drivers.setdefault(driver, {})[suite] = (longest, compiling)
    return drivers


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
        limit = SOFTWARE_LIMIT_MS if driver.startswith(SOFTWARE) else LIMIT_MS
        rows = [{suite: times} for suite, times in suites.items()] if options.suites else [suites]
        for row in rows:
            longest = max(row, key=lambda suite: row[suite][0])
            compiling = max(row, key=lambda suite: row[suite][1])
            mark = " (over)" if row[longest][0] > limit else ""
            print(
                f"| {driver} | {len(row)} | {limit:.0f} | {row[longest][0]:.1f}{mark} | {longest}"
                f" | {row[compiling][1]:.1f} | {compiling} |"
            )
    return 0


if __name__ == "__main__":
    sys.exit(main())
