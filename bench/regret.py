"""The planner's regret: the time of what `auto` does over that of the best choice that can be forced.

Every workload of a grid is run by `garuda bench` with `auto` and with forced paths and tunings, interleaved on the same
data, every result verified first. `any`: auto against the CPU path's own choices (radix bits, payload carried or gathered, the side to build on;
groupings) and, up to a hundred thousand rows, against the graphics path. `graphics`: the graphics path's own choices against every way that can be forced, on the
device that --device names (a software driver will do). Devices and host are calibrated first, into a folder that is
dropped at the end.

    ./dev bench regret [--quick] [--device D] [--output FILE.json]

The grid may be run in parts, on a machine that is quiet only now and then, with one calibration:

    XDG_CACHE_HOME=FOLDER garuda calibrate && ./dev bench regret --cache FOLDER --part 0/8 --output 0.json
    ./dev bench regret --summarise *.json
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

COMMAND = pathlib.Path(os.environ.get("GARUDA_COMMAND", pathlib.Path(__file__).parents[1] / "build/bin/garuda"))
MOST_MEDIAN, MOST_WORST = 1.15, 1.5
MOST_GRAPHICS_ROWS = 1_000_000

CPU_JOIN = [
    f"cpu:build={build},radix_bits={bits}{payload}"
    for build in ("left", "right")
    for bits in (0, 4, 8, 11)
    for payload in ((",payload=gather", ",payload=carry") if bits > 0 else ("",))
]
CPU_GROUP_BY = [f"cpu:grouping={grouping}" for grouping in ("direct", "local", "partitioned", "slices")] + [
    f"cpu:radix_bits={bits}" for bits in (4, 8)
]
JOIN_WAYS = ["storage=stack,probe=output", "storage=stack,probe=instanced", "storage=runs,probe=output"]
GROUP_BY_WAYS = ["radix_bits=0", "radix_bits=4"]


@dataclasses.dataclass(frozen=True)
class Workload:
    family: str
    operator: str
    rows: int
    arguments: tuple[str, ...]
    forced: tuple[str, ...]

    @property
    def auto(self) -> str:
        return "auto" if self.family == "any" else "graphics"

    def name(self) -> str:
        return f"{self.family} {self.operator} " + " ".join(a.removeprefix("--") for a in self.arguments)


def join(family: str, left: int, right: int, distribution: str, multiplicity: int = 1) -> Workload:
    arguments = ["--rows-left", str(left), "--rows-right", str(right), "--distribution", distribution]
    if multiplicity > 1:
        arguments += ["--multiplicity", str(multiplicity)]
    if family == "any":
        forced = CPU_JOIN + (["graphics"] if max(left, right) <= MOST_GRAPHICS_ROWS // 10 else [])
    else:
        addresses = ["hash"] + (["direct"] if distribution != "uniform" else [])
        forced = [f"graphics:address={address},{way}" for address in addresses for way in JOIN_WAYS]
        if max(left, right) >= 100_000:
            forced += ["graphics:radix_bits=4"]
    return Workload(family, "join", left + right, tuple(arguments), tuple(forced))


def group_by(family: str, rows: int, groups: int, distribution: str = "uniform") -> Workload:
    arguments = ("--rows", str(rows), "--groups", str(groups), "--distribution", distribution)
    if family == "any":
        forced = CPU_GROUP_BY + (["graphics"] if rows <= MOST_GRAPHICS_ROWS // 10 else [])
    else:
        forced = [f"graphics:address={address},{way}" for address in ("hash", "direct") for way in GROUP_BY_WAYS]
    return Workload(family, "group-by", rows, arguments, tuple(forced))


def grid() -> list[Workload]:
    distributions = ("dense", "uniform", "zipf:1.0")
    workloads = [
        join("any", left, right, distribution)
        for rows in (1_000, 10_000, 100_000, 1_000_000)
        for left, right in ((rows, rows), (rows // 10, rows))
        for distribution in distributions
    ]
    workloads += [join("any", 100_000, 100_000, "dense", 8), join("any", 10_000_000, 10_000_000, "dense")]
    workloads += [
        join("graphics", rows, rows, distribution) for rows in (1_000, 10_000, 100_000) for distribution in distributions
    ]
    workloads += [join("graphics", 10_000, 10_000, "dense", 8), join("graphics", 5_000, 50_000, "uniform")]
    workloads += [join("graphics", MOST_GRAPHICS_ROWS, MOST_GRAPHICS_ROWS, "dense")]
    workloads += [
        group_by("any", rows, groups)
        for rows in (1_000, 10_000, 100_000, 1_000_000)
        for groups in (16, rows // 20, rows)
    ]
    workloads += [group_by("any", 10_000_000, groups) for groups in (16, 100_000, 5_000_000)]
    workloads += [group_by("any", 1_000_000, 10_000, "zipf:1.0")]
    workloads += [group_by("graphics", rows, groups) for rows in (1_000, 10_000, 100_000) for groups in (16, rows // 4)]
    return workloads


def quick_grid() -> list[Workload]:
    return [
        join("any", 1_000, 1_000, "dense"),
        join("any", 10_000, 100_000, "uniform"),
        group_by("any", 10_000, 100),
    ]


def seconds_of(workload: Workload, device: str | None, repeat: int, environment: dict[str, str]) -> list[dict]:
    choices = [workload.auto, *workload.forced]
    command = [COMMAND, "bench", workload.operator, *workload.arguments, "--choices", ";".join(choices)]
    command += ["--repeat", str(repeat), "--json"]
    if workload.family == "graphics" and device is not None:
        command += ["--device", device]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        sys.exit(f"{workload.name()}: {done.stderr.strip()}")
    lines = [json.loads(line) for line in done.stdout.splitlines()]
    return [
        dict(choice=choice, path=line["path"], seconds=line["median_ns"] / 1e9, mad=line["mad_ns"] / 1e9)
        for choice, line in zip(choices, lines)
    ]


def measure(workload: Workload, arguments: argparse.Namespace, environment: dict[str, str]) -> dict:
    repeat = arguments.repeat or (15 if workload.rows <= 200_000 and workload.family == "any" else 5)
    auto, *forced = seconds_of(workload, arguments.device, repeat, environment)
    best = min(forced, key=lambda run: run["seconds"])
    regret = auto["seconds"] / best["seconds"]
    return dict(workload=workload.name(), regret=regret, auto=auto, best=best, forced=forced, repeat=repeat)


def has_graphics(environment: dict[str, str]) -> bool:
    done = subprocess.run([COMMAND, "devices", "--json"], env=environment, capture_output=True, text=True, check=True)
    return any(device["usable"] for device in json.loads(done.stdout))


def without_graphics(workload: Workload) -> Workload:
    return dataclasses.replace(workload, forced=tuple(c for c in workload.forced if not c.startswith("graphics")))


def show(run: dict) -> None:
    auto, best = run["auto"], run["best"]
    print(
        f"{run['regret']:6.2f}  {auto['seconds'] * 1e3:10.3f} ± {auto['mad'] * 1e3:.3f} ms  {auto['path']:<9}"
        f"best {best['seconds'] * 1e3:10.3f} ± {best['mad'] * 1e3:.3f} ms  {best['choice']:<55} {run['workload']}",
        flush=True,
    )


def run_grid(arguments: argparse.Namespace, environment: dict[str, str]) -> list[dict]:
    workloads = [w for w in (quick_grid() if arguments.quick else grid()) if (arguments.only or "") in w.name()]
    if arguments.part:
        index, count = map(int, arguments.part.split("/"))
        workloads = workloads[index::count]
    if not has_graphics(environment):
        workloads = [without_graphics(w) for w in workloads if w.family == "any"]
    runs = []
    for workload in workloads:
        runs.append(measure(workload, arguments, environment))
        show(runs[-1])
    return runs


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="three small workloads, no calibration")
    parser.add_argument("--device", help="of the graphics workloads (default: the first usable one)")
    parser.add_argument("--repeat", type=int, help="timed runs a choice")
    parser.add_argument("--only", help="workloads whose name contains this")
    parser.add_argument("--part", help="I/N: every Nth workload from the Ith on, from 0")
    parser.add_argument("--cache", type=pathlib.Path, help="cache folder with calibrations, instead of calibrating")
    parser.add_argument("--summarise", type=pathlib.Path, nargs="+", help="runs nothing: sums up such files")
    parser.add_argument("--output", type=pathlib.Path, help="JSON file for the grid and its times")
    parser.add_argument("--check", action="store_true", help="exit status 1 beyond the bounds")
    arguments = parser.parse_args()
    start = time.monotonic()
    if arguments.summarise:
        runs = [run for file in arguments.summarise for run in json.loads(file.read_text())["runs"]]
        for run in runs:
            show(run)
    elif arguments.cache:
        runs = run_grid(arguments, {**os.environ, "XDG_CACHE_HOME": str(arguments.cache)})
    else:
        with tempfile.TemporaryDirectory() as cache:
            environment = {**os.environ, "XDG_CACHE_HOME": cache}
            if not arguments.quick:
                calibrate = [COMMAND, "calibrate", "--quiet"]
                subprocess.run(calibrate, env=environment, check=True, stdout=subprocess.DEVNULL)
            runs = run_grid(arguments, environment)
    regrets = [run["regret"] for run in runs]
    median, worst = statistics.median(regrets), max(regrets)
    print(
        f"{len(runs)} workloads: median regret {median:.3f} (bound {MOST_MEDIAN}), worst {worst:.3f} (bound {MOST_WORST});"
        f" {time.monotonic() - start:.0f} s"
    )
    if arguments.output:
        arguments.output.write_text(json.dumps(dict(median=median, worst=worst, runs=runs), indent=1) + "\n")
    return int(arguments.check and (median > MOST_MEDIAN or worst > MOST_WORST))


if __name__ == "__main__":
    sys.exit(main())
