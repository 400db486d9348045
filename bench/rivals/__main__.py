"""garuda against DuckDB, Polars and pyarrow: joins and group-bys, end to end in memory, on the same data.

Called by `./dev bench rivals`. Every engine holds the tables in its own in-memory form and is timed until the whole
result is in memory, by the fastest of its ways, with the same number of threads. Results are compared before anything
is timed; runs take turns. Prints a table, with the ratio of medians of the faster of DuckDB and Polars over garuda, and
stores every sample as JSON. Exit status 1 when results differ.
"""

from __future__ import annotations

import argparse
import datetime
import importlib
import json
import os
import pathlib
import platform
import subprocess
import sys
import tempfile

import garuda_rival
import measure
import report
import workloads

ROOT = pathlib.Path(__file__).resolve().parents[2]
# Modules and their classes: only those that are asked for need their packages.
RIVALS = {"duckdb": "DuckDb", "polars": "Polars", "pyarrow": "PyArrow"}


def parse_arguments() -> argparse.Namespace:
    names = [workload.name for workload in workloads.WORKLOADS]
    parser = argparse.ArgumentParser(prog="./dev bench rivals", description=__doc__)
    parser.add_argument("works", nargs="*", metavar="WORK", help=f"which ones: {', '.join(names)}")
    parser.add_argument("--rivals", default=",".join(RIVALS), help="by comma (%(default)s)")
    parser.add_argument("--path", default="cpu", help="of garuda (%(default)s)")
    parser.add_argument("--threads", type=int, default=len(os.sched_getaffinity(0)), help="of each engine (%(default)s)")
    parser.add_argument("--repeat", type=int, default=7, help="samples of each engine (%(default)s)")
    parser.add_argument("--quick", action="store_true", help=f"rows and groups divided by {workloads.QUICK}")
    parser.add_argument("--output", type=pathlib.Path, default=ROOT / "build/rivals.json", help="JSON (%(default)s)")
    parser.add_argument("--garuda", type=pathlib.Path, default=ROOT / "build/bin/garuda", help="the command")
    parser.add_argument("--library", type=pathlib.Path, default=ROOT / "build/lib/libgaruda.so", help="the C ABI")
    arguments = parser.parse_args()
    arguments.rivals = [name for name in arguments.rivals.split(",") if name]
    for name in set(arguments.rivals) - set(RIVALS):
        parser.error(f"unknown rival (allowed: {', '.join(RIVALS)}): {name}")
    for name in set(arguments.works) - set(names):
        parser.error(f"unknown work (allowed: {', '.join(names)}): {name}")
    if arguments.threads < 1 or arguments.repeat < 1:
        parser.error("--threads and --repeat must be at least 1")
    return arguments


def processor() -> str:
    for line in pathlib.Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines():
        if line.startswith("model name"):
            return line.split(":", 1)[1].strip()
    return platform.machine()


def rival(name: str) -> type:
    return getattr(importlib.import_module(f"{name}_rival"), RIVALS[name])


def make_engines(arguments: argparse.Namespace) -> list:
    """garuda first: the others are compared with it."""
    printed = subprocess.run([arguments.garuda, "--version"], check=True, capture_output=True, text=True).stdout
    version = printed.split()[1]
    ours = garuda_rival.Garuda(arguments.library, version, arguments.path, arguments.threads)
    return [ours, *(rival(name)(arguments.threads) for name in arguments.rivals)]


def run(workload: workloads.Workload, engines: list, arguments: argparse.Namespace) -> dict:
    divisor = workloads.QUICK if arguments.quick else 1
    with tempfile.TemporaryDirectory(prefix="garuda-rivals-") as folder:
        tables = workload.tables(arguments.garuda, pathlib.Path(folder), divisor)
    for runner in engines:
        runner.load(tables)
    del tables
    all_series = measure.verify(engines, workload.operation, arguments.threads)
    measure.sample(all_series, workload.operation, arguments.repeat)
    for runner in engines:
        runner.unload()
    return report.record(workload, divisor, all_series)


def main() -> int:
    arguments = parse_arguments()
    engines = make_engines(arguments)
    chosen = [w for w in workloads.WORKLOADS if w.name in arguments.works or (w.by_default and not arguments.works)]
    machine = {"processor": processor(), "threads": arguments.threads, "date": f"{datetime.date.today()}"}
    machine |= {"quick": arguments.quick}
    records = []
    for workload in chosen:
        print(f"{workload.title} …", file=sys.stderr, flush=True)
        try:
            records.append(run(workload, engines, arguments))
        except (measure.WrongResult, RuntimeError) as error:
            print(f"error: {workload.name}: {error}", file=sys.stderr)
            return 1
        arguments.output.parent.mkdir(parents=True, exist_ok=True)
        arguments.output.write_text(json.dumps(machine | {"works": records}, indent=1) + "\n", encoding="utf-8")
    versions = ", ".join(f"{runner.name} {runner.version}" for runner in engines)
    print(f"{machine['processor']}, {arguments.threads} threads, {machine['date']}; {versions}")
    print(f"End to end in memory, verified; median ± MAD (least … greatest) of {arguments.repeat} samples")
    if arguments.quick:
        print(f"Quick: all numbers of rows and groups divided by {workloads.QUICK}, which says nothing about speed")
    print()
    print(report.table(records))
    return 0


if __name__ == "__main__":
    sys.exit(main())
