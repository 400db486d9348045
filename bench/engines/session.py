"""A session: its options, its engines, the machine that it runs on, and the loop over works that every script has."""

from __future__ import annotations

import argparse
import dataclasses
import datetime
import importlib
import json
import os
import pathlib
import platform
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence

import pyarrow as pa
from engines import engine, files, garuda_command_rival, garuda_rival, measure, report

ROOT = pathlib.Path(__file__).resolve().parents[2]
# Modules and their classes: only those that are asked for need their packages.
RIVALS = {"duckdb": "DuckDb", "polars": "Polars", "pyarrow": "PyArrow"}
COMMANDS = {"duckdb-command": "DuckDbCommand"}  # which know Parquet and CSV files
FORCED = ["cpu", "graphics", "compute", "cuda"]
Tables = dict[str, pa.Table] | dict[str, pathlib.Path]


@dataclasses.dataclass(frozen=True)
class Work:
    """One line of the table. `tables` makes what the operation reads: tables in memory, or files of them; works with
    the same one follow each other."""

    name: str
    title: str
    operation: engine.Operation
    tables: Callable[[], Tables]
    target: report.Target | None = None


def add_arguments(parser: argparse.ArgumentParser, rivals: list[str], repeat: int, output: str | None) -> None:
    parser.add_argument("--rivals", default=",".join(rivals), help="by comma (%(default)s)")
    parser.add_argument("--path", default="cpu", help="of garuda (%(default)s)")
    parser.add_argument(
        "--forced", default="", metavar="PATH[,PATH…]",
        help="other paths of garuda, timed in turn: the regret is the time of --path over the fastest of them",
    )
    threads = len(os.sched_getaffinity(0))
    parser.add_argument("--threads", type=int, default=threads, help="of each engine (%(default)s)")
    parser.add_argument("--repeat", type=int, default=repeat, help="samples of each engine (%(default)s)")
    parser.add_argument(
        "--json", "--output", dest="output", type=pathlib.Path, default=output and ROOT / output, metavar="FILE",
        help="every sample, as JSON (%(default)s)",
    )
    parser.add_argument("--garuda", type=pathlib.Path, default=ROOT / "build/bin/garuda", help="the command")


def check_arguments(parser: argparse.ArgumentParser, arguments: argparse.Namespace, rivals: list[str]) -> None:
    """Makes a list of `rivals`, to which files add those of COMMANDS; ends with a sentence where something is not
    allowed. Without a rival that says what is right, DuckDB does, and is not timed."""
    arguments.rivals = [name for name in arguments.rivals.split(",") if name]
    arguments.untimed = [] if arguments.rivals else ["DuckDB"]
    arguments.rivals = arguments.rivals or ["duckdb"]
    if getattr(arguments, "files", None) in ("parquet", "csv"):
        rivals = [*rivals, *COMMANDS]
    for name in set(arguments.rivals) - set(rivals):
        parser.error(f"unknown rival (allowed: {', '.join(rivals)}): {name}")
    arguments.forced = [path for path in arguments.forced.split(",") if path]
    for path in set(arguments.forced) - set(FORCED):
        parser.error(f"not a path that can be forced (allowed: {', '.join(FORCED)}): {path}")
    if getattr(arguments, "batch", False) and not arguments.files:
        parser.error("--batch needs --files")
    if arguments.threads < 1 or arguments.repeat < 1:
        parser.error("--threads and --repeat must be at least 1")


def chosen_names(parser: argparse.ArgumentParser, given: str, known: list[str], what: str) -> list[str]:
    """Names by comma; ends with a sentence where one is not known."""
    names = given.split(",")
    for name in set(names) - set(known):
        parser.error(f"unknown {what} (allowed: {', '.join(known)}): {name}")
    return names


def processor() -> str:
    """The processor's name by lscpu, which names arm64's cores too: /proc/cpuinfo has numbers of them only."""
    plain = os.environ | {"LC_ALL": "C"}
    printed = subprocess.run(["lscpu"], check=True, capture_output=True, text=True, env=plain).stdout
    names = [line.split(":", 1)[1].strip() for line in printed.splitlines() if line.strip().startswith("Model name:")]
    return " + ".join(names) or platform.machine()


def environment(arguments: argparse.Namespace) -> dict:
    return {
        "processor": processor(),
        "cores": os.cpu_count(),
        "memory_bytes": os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"),
        "system": platform.platform(),
        "load": os.getloadavg()[0],
        "threads": arguments.threads,
        "path": arguments.path,
        "date": f"{datetime.date.today()}",
    }


def rival(name: str, suffix: str = "") -> type:
    return getattr(importlib.import_module(f"engines.{name.replace('-', '_')}_rival"), (RIVALS | COMMANDS)[name] + suffix)


def version(arguments: argparse.Namespace) -> str:
    printed = subprocess.run([arguments.garuda, "--version"], check=True, capture_output=True, text=True).stdout
    return printed.split()[1]


def memory_engines(arguments: argparse.Namespace, duckdb_ways: tuple[str, ...]) -> list[engine.Engine]:
    """garuda first: the others are compared with it; its forced paths last."""
    ours = [
        garuda_rival.Garuda(version(arguments), path, arguments.threads)
        for path in (arguments.path, *arguments.forced)
    ]
    ways = {"duckdb": (duckdb_ways,)}
    return [ours[0], *(rival(name)(arguments.threads, *ways.get(name, ())) for name in arguments.rivals), *ours[1:]]


def file_engines(arguments: argparse.Namespace, folder: pathlib.Path) -> list[engine.Engine]:
    """Likewise; results go to `folder`."""
    where = (arguments.threads, arguments.files, folder)
    ours = [
        garuda_command_rival.GarudaFiles(
            arguments.garuda, version(arguments), path, *where, arguments.memory_limit, arguments.batch
        )
        for path in (arguments.path, *arguments.forced)
    ]
    return [ours[0], *(rival(name, "Files")(*where) for name in arguments.rivals), *ours[1:]]


def load(engines: list[engine.Engine], make_tables: Callable[[], Tables]) -> None:
    for runner in engines:
        runner.unload()
    tables = make_tables()
    for runner in engines:
        runner.load(tables)


def run_work(work: Work, engines: list[engine.Engine], arguments: argparse.Namespace, mode: str) -> dict:
    all_series = measure.verify(engines, work.operation, arguments.threads)
    timed = [series for series in all_series if series.engine.name not in arguments.untimed]
    measure.sample(timed, work.operation, arguments.repeat)
    return report.record(work.name, work.title, mode, timed, work.target)


def run(works: list[Work], engines: list[engine.Engine], arguments: argparse.Namespace, facts: dict, mode: str) -> int:
    """Measures the works one after the other, prints the table, and stores what there is after each work. The exit
    status: 1 when a result differs, or an engine failed."""
    machine = environment(arguments) | facts
    records, loaded = [], None
    for work in works:
        print(f"{work.title} …", file=sys.stderr, flush=True)
        try:
            if work.tables is not loaded:
                load(engines, work.tables)
                loaded = work.tables
            records.append(run_work(work, engines, arguments, mode))
        except (measure.WrongResult, RuntimeError) as error:
            print(f"error: {work.name}: {error}", file=sys.stderr)
            return 1
        if arguments.output:
            arguments.output.parent.mkdir(parents=True, exist_ok=True)
            arguments.output.write_text(json.dumps(machine | {"works": records}, indent=1) + "\n", encoding="utf-8")
    versions = ", ".join(dict.fromkeys(f"{runner.name} {runner.version}" for runner in engines))
    print(f"{machine['processor']}, {arguments.threads} threads, {machine['date']}; {versions}")
    print(f"{mode}, verified; median ± MAD (least … greatest) of {arguments.repeat} samples")
    print()
    print(report.table(records))
    return 0


def run_in_memory_or_files(
    works: list[Work], arguments: argparse.Namespace, facts: dict, duckdb_ways: tuple[str, ...]
) -> int:
    """Runs in memory or from files to files, as --files says; the folder of result files is deleted afterwards."""
    if not arguments.files:
        return run(works, memory_engines(arguments, duckdb_ways), arguments, facts, "End to end in memory")
    arguments.data.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=arguments.data) as folder:
        engines = file_engines(arguments, pathlib.Path(folder))
        together = ", garuda's commands in one process" if arguments.batch else ""
        mode = f"From {arguments.files} to {arguments.files}{together}"
        return run(works, engines, arguments, facts | {"batch": arguments.batch}, mode)


def add_data_arguments(parser: argparse.ArgumentParser, formats: Sequence[str], to_files: bool) -> None:
    target = "files to files" if to_files else "files"
    parser.add_argument("--files", choices=formats, help=f"from {target} (default: in memory)")
    parser.add_argument(
        "--data", type=pathlib.Path, default=ROOT / "build/bench-data", help="where tables are kept (%(default)s)"
    )


def add_file_arguments(parser: argparse.ArgumentParser, formats: Sequence[str] = files.FORMATS) -> None:
    add_data_arguments(parser, formats, to_files=True)
    parser.add_argument(
        "--batch", action="store_true",
        help="with --files: garuda's commands run in one process (garuda batch), as its rivals do",
    )
    parser.add_argument("--memory-limit", metavar="SIZE", help="of garuda's command, with --files: 64GiB (none)")
