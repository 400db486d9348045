"""The planner's regret: the time of what `auto` does over that of the best choice that can be forced.

Every workload of a grid is run by `garuda bench` with `auto` and with forced paths and tunings, interleaved on the same
data, every result verified first. Grids:

  host     `any`: auto against the CPU path's own choices (radix bits, payload carried or gathered, the side to build on;
           groupings) and, up to a hundred thousand rows, against the graphics path. `graphics`: the graphics path's own
           choices against every way that can be forced, on the device that --device names (a software driver will do).
  device   auto against the paths of a machine with a GPU, up to 2^28 rows (graphics up to 2^22), of the CPU path also
           some of its own choices.
  quick    three small workloads, not calibrated.

Devices and host are calibrated first, into a folder that is dropped at the end. Needs nothing but Python and garuda.

    ./dev bench regret [--grid G] [--device D] [--output FILE.json]

A grid may be run in parts, on a machine that is quiet only now and then, with one calibration:

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
MOST_DEVICE_GRAPHICS_ROWS = 1 << 22
# Timed runs of each choice, by the workload's rows. Runs of microseconds waver between threads that sleep and threads
# that do not, by more than choices differ: their median needs hundreds.
REPETITIONS = {20_000: 401, 200_000: 61, 3_000_000: 9}
GRAPHICS_REPETITIONS = {20_000: 41}
FEWEST_REPETITIONS = 5

CPU_JOIN = [
    f"cpu:build={build},radix_bits={bits}{payload}"
    for build in ("left", "right")
    for bits in (0, 4, 8, 11)
    for payload in ((",payload=gather", ",payload=carry") if bits > 0 else ("",))
]
CPU_GROUP_BY = [f"cpu:grouping={grouping}" for grouping in ("direct", "local", "partitioned", "slices")] + [
    f"cpu:radix_bits={bits}" for bits in (4, 8)
]
DEVICE_CPU_JOIN = ["cpu"] + [f"cpu:build=left,radix_bits={bits},payload=carry" for bits in (4, 8, 11)]
DEVICE_JOIN = [*DEVICE_CPU_JOIN, "compute:method=partitioned", "compute:method=global"]
DEVICE_GROUP_BY = ["cpu", *(f"cpu:grouping={grouping}" for grouping in ("direct", "local", "partitioned")), "compute"]
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
        return "graphics" if self.family == "graphics" else "auto"

    @property
    def repetitions(self) -> int:
        repetitions = GRAPHICS_REPETITIONS if self.family == "graphics" else REPETITIONS
        return next((n for rows, n in repetitions.items() if self.rows <= rows), FEWEST_REPETITIONS)

    def name(self) -> str:
        return f"{self.family} {self.operator} " + " ".join(a.removeprefix("--") for a in self.arguments)


def options(**values: object) -> list[str]:
    """Options of the command: key_type="i64" is --key-type i64."""
    return [part for name, value in values.items() for part in (f"--{name.replace('_', '-')}", str(value))]


def join_choices(family: str, larger: int, distribution: str) -> list[str]:
    if family == "any":
        return CPU_JOIN + (["graphics"] if larger <= MOST_GRAPHICS_ROWS // 10 else [])
    if family == "device":
        return DEVICE_JOIN + (["graphics"] if larger <= MOST_DEVICE_GRAPHICS_ROWS else [])
    addresses = ["hash"] + (["direct"] if distribution != "uniform" else [])
    ways = [f"{way},matching={matching}" for way in JOIN_WAYS for matching in ("draw", "compute")]
    forced = [f"graphics:address={address},{way}" for address in addresses for way in ways]
    return forced + (["graphics:radix_bits=4"] if larger >= 100_000 else [])


def join(family: str, left: int, right: int, distribution: str, **more: object) -> Workload:
    arguments = options(rows_left=left, rows_right=right, distribution=distribution, **more)
    forced = join_choices(family, max(left, right), distribution)
    return Workload(family, "join", left + right, tuple(arguments), tuple(forced))


def group_by_choices(family: str, rows: int) -> list[str]:
    if family == "any":
        return CPU_GROUP_BY + (["graphics"] if rows <= MOST_GRAPHICS_ROWS // 10 else [])
    if family == "device":
        return DEVICE_GROUP_BY + (["graphics"] if rows <= MOST_DEVICE_GRAPHICS_ROWS else [])
    return [f"graphics:address={address},{way}" for address in ("hash", "direct") for way in GROUP_BY_WAYS]


def group_by(family: str, rows: int, groups: int, distribution: str = "uniform", **more: object) -> Workload:
    arguments = options(rows=rows, groups=groups, distribution=distribution, **more)
    return Workload(family, "group-by", rows, tuple(arguments), tuple(group_by_choices(family, rows)))


def host_grid() -> list[Workload]:
    distributions = ("dense", "uniform", "zipf:1.0")
    small = (1_000, 10_000, 100_000)
    million, most = 1_000_000, 10_000_000
    return [
        *(
            join("any", left, right, distribution)
            for rows in (*small, million)
            for left, right in ((rows, rows), (rows // 10, rows))
            for distribution in distributions
        ),
        join("any", 100_000, 100_000, "dense", multiplicity=8),
        join("any", million, million, "uniform", multiplicity=2),
        join("any", 10_000, 100_000, "uniform", key_type="i64"),
        join("any", million, million, "uniform", key_type="i64"),
        join("any", 100_000, million, "dense", match_ratio=0.03),
        join("any", million, 4 * million, "uniform", match_ratio=0.03),
        join("any", million, million, "dense", payload_left=4, payload_right=4),
        join("any", million, million, "uniform", payload_left=8, payload_right=1, payload_type="i64"),
        join("any", most, most, "dense"),
        join("any", most, most, "uniform"),
        join("any", million, most, "zipf:1.0"),
        *(join("graphics", rows, rows, distribution) for rows in small for distribution in distributions),
        join("graphics", 10_000, 10_000, "dense", multiplicity=8),
        join("graphics", 5_000, 50_000, "uniform"),
        join("graphics", MOST_GRAPHICS_ROWS, MOST_GRAPHICS_ROWS, "dense"),
        *(group_by("any", rows, groups) for rows in (*small, million) for groups in (16, rows // 20, rows)),
        *(group_by("any", most, groups) for groups in (16, 100_000, most // 2)),
        group_by("any", million, 10_000, "zipf:1.0"),
        group_by("any", 100_000, 1_000, keys=2),
        group_by("any", million, 50_000, keys=3, agg="sum,min,max"),
        group_by("any", million, 1_000, value_type="f64"),
        group_by("any", million, 200_000, value_type="f64"),
        *(group_by("graphics", rows, groups) for rows in small for groups in (16, rows // 4)),
        group_by("graphics", MOST_GRAPHICS_ROWS, 10_000),
    ]


def device_grid() -> list[Workload]:
    def bits(left: int, right: int, distribution: str, **more: object) -> Workload:
        return join("device", 1 << left, 1 << right, distribution, **more)

    return [
        *(bits(rows, rows, distribution) for rows in (12, 16, 20, 22) for distribution in ("dense", "uniform")),
        *(group_by("device", 1 << rows, groups) for rows in (16, 20, 22) for groups in (16, 1 << (rows - 4))),
        bits(24, 24, "dense"),
        bits(24, 24, "uniform", key_type="i64"),
        bits(20, 24, "zipf:1.0"),
        bits(22, 24, "dense", match_ratio=0.03),
        bits(22, 22, "dense", payload_left=4, payload_right=4),
        *(group_by("device", 1 << 24, groups) for groups in (16, 1 << 16, 1 << 22)),
        bits(26, 26, "dense"),
        group_by("device", 1 << 26, 1 << 20),
        bits(20, 26, "dense"),
        bits(26, 26, "uniform"),
        bits(28, 28, "dense"),
    ]


def quick_grid() -> list[Workload]:
    return [
        join("any", 1_000, 1_000, "dense"),
        join("any", 10_000, 100_000, "uniform"),
        group_by("any", 10_000, 100),
    ]


GRIDS = {"host": host_grid, "device": device_grid, "quick": quick_grid}


def seconds_of(workload: Workload, device: str | None, repeat: int, environment: dict[str, str]) -> list[dict]:
    # A device's threads spoil the caches for the next run: one that is not counted comes between.
    choices = [workload.auto, workload.auto, *workload.forced]
    command = [COMMAND, "bench", workload.operator, *workload.arguments, "--choices", ";".join(choices)]
    command += ["--repeat", str(repeat), "--json"]
    if workload.family != "any" and device is not None:
        command += ["--device", device]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        sys.exit(f"{workload.name()}: {done.stderr.strip()}")
    lines = [json.loads(line) for line in done.stdout.splitlines()]
    return [
        dict(
            choice=choice,
            path=line["path"],
            seconds=line["median_ns"] / 1e9,
            mad=line["mad_ns"] / 1e9,
            phases={phase["name"]: phase["ns"] / 1e9 for phase in line["phases"]},
        )
        for choice, line in zip(choices[1:], lines[1:])
    ]


def measure(workload: Workload, arguments: argparse.Namespace, environment: dict[str, str]) -> dict:
    repeat = arguments.repeat or workload.repetitions
    auto, *forced = seconds_of(workload, arguments.device, repeat, environment)
    best = min(forced, key=lambda run: run["seconds"])
    regret = auto["seconds"] / best["seconds"]
    return dict(workload=workload.name(), rows=workload.rows, regret=regret, auto=auto, best=best, forced=forced, repeat=repeat)


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


def bounds(runs: list[dict]) -> tuple[float, float]:
    regrets = [run["regret"] for run in runs]
    return statistics.median(regrets), max(regrets)


def write(runs: list[dict], file: pathlib.Path | None) -> None:
    if file:
        median, worst = bounds(runs)
        file.write_text(json.dumps(dict(median=median, worst=worst, runs=runs), indent=1) + "\n")


def summarise(runs: list[dict]) -> None:
    """Median and worst regret by family, operator and power of ten of the rows."""
    kinds: dict[tuple, list[float]] = {}
    for run in runs:
        family, operator, *_ = run["workload"].split()
        kinds.setdefault((family, operator, len(str(run["rows"])) - 1), []).append(run["regret"])
    print("| choices | operator | rows | workloads | median | worst |\n|---|---|---|---|---|---|")
    for (family, operator, power), regrets in sorted(kinds.items()):
        median = statistics.median(regrets)
        print(f"| {family} | {operator} | 10^{power} | {len(regrets)} | {median:.2f} | {max(regrets):.2f} |")


def chosen_workloads(arguments: argparse.Namespace) -> list[Workload]:
    workloads = [w for w in GRIDS[arguments.grid]() if (arguments.only or "") in w.name()]
    if arguments.part:
        index, count = map(int, arguments.part.split("/"))
        workloads = workloads[index::count]
    return workloads


def run_grid(workloads: list[Workload], arguments: argparse.Namespace, environment: dict[str, str]) -> list[dict]:
    if not has_graphics(environment):
        workloads = [without_graphics(w) for w in workloads if w.family == "any"]
    runs = []
    for workload in workloads:
        runs.append(measure(workload, arguments, environment))
        show(runs[-1])
        write(runs, arguments.output)
    return runs


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--grid", choices=GRIDS, default="host")
    parser.add_argument("--quick", action="store_const", const="quick", dest="grid", help="--grid quick")
    parser.add_argument("--device", help="of the workloads that draw (default: the first usable one)")
    parser.add_argument("--repeat", type=int, help="timed runs a choice")
    parser.add_argument("--only", help="workloads whose name contains this")
    parser.add_argument("--part", help="I/N: every Nth workload from the Ith on, from 0")
    parser.add_argument("--cache", type=pathlib.Path, help="cache folder with calibrations, instead of calibrating")
    parser.add_argument("--summarise", type=pathlib.Path, nargs="+", help="runs nothing: sums up such files")
    parser.add_argument("--output", type=pathlib.Path, help="JSON file for the grid and its times")
    parser.add_argument("--check", action="store_true", help="exit status 1 beyond the bounds")
    arguments = parser.parse_args()
    start = time.monotonic()
    workloads = chosen_workloads(arguments)
    if not workloads and not arguments.summarise:
        like = GRIDS[arguments.grid]()[0].name()
        parser.error(f"no workload of the {arguments.grid} grid is chosen; one is named '{like}'")
    if arguments.summarise:
        runs = [run for file in arguments.summarise for run in json.loads(file.read_text())["runs"]]
        for run in runs:
            show(run)
    elif arguments.cache:
        runs = run_grid(workloads, arguments, {**os.environ, "XDG_CACHE_HOME": str(arguments.cache)})
    else:
        with tempfile.TemporaryDirectory() as cache:
            environment = {**os.environ, "XDG_CACHE_HOME": cache}
            if arguments.grid != "quick":
                calibrate = [COMMAND, "calibrate", "--quiet"]
                subprocess.run(calibrate, env=environment, check=True, stdout=subprocess.DEVNULL)
            runs = run_grid(workloads, arguments, environment)
    median, worst = bounds(runs)
    summarise(runs)
    print(
        f"{len(runs)} workloads: median regret {median:.3f} (bound {MOST_MEDIAN}), worst {worst:.3f} (bound {MOST_WORST});"
        f" {time.monotonic() - start:.0f} s"
    )
    write(runs, arguments.output)
    return int(arguments.check and (median > MOST_MEDIAN or worst > MOST_WORST))


if __name__ == "__main__":
    sys.exit(main())
