"""Joins and groups TPC-H and skewed tables through the graphics pipeline and on the CPU, then runs a query of TPC-H in
SQL on every path, and compares the results.

Called by `./dev demo`. Uses the garuda command, its Python package for SQL, tpchgen-cli for the data and DuckDB as the
reference: each path's whole result, columns and rows, must be the multiset that DuckDB computes. Exit status 1 when any
is not.
"""

from __future__ import annotations

import argparse
import os
import pathlib
import random
import sys
import tempfile
import time

import duckdb
import garuda
import pyarrow
import pyarrow.parquet
from engines import duckdb_rival, engine, garuda_command_rival
from queries import answers
from tpch import queries, tables, texts

ROOT = pathlib.Path(__file__).resolve().parent.parent
DATA = ROOT / "demo-data"
SCALE_FACTOR = "0.1"
PATHS = ("graphics", "cpu")
SQL_PATHS = ("graphics", "compute", "cpu")
SQL_QUERY = "q5"
# Columns of the tables, and the phases of a run that each adds up.
JOIN_PHASES = {
    "partition": ("partition",),
    "upload": ("upload",),
    "build": ("statistics", "build"),
    "count": ("count", "prefix"),
    "probe": ("probe",),
    "download": ("download",),
    "gather": ("gather",),
}
GROUP_PHASES = {
    "partition": ("encode", "partition"),
    "upload": ("upload", "values"),
    "group": ("group", "hash", "map", "prefix"),
    "aggregate": ("aggregate", "count", "windows", "sum", "minmax", "fold"),
    "download": ("download",),
    "gather": ("merge", "gather"),
}


JOINS = {
    "JO1": engine.Join("customer", "orders", (("c_custkey", "o_custkey"),)),
    "JO4": engine.Join("orders", "lineitem", (("o_orderkey", "l_orderkey"),)),
    "Zipf n:m": engine.Join("zipf-left", "zipf-right"),
}
# GARUDA §6.1.1, over lineitem ⋈ orders and over partsupp.
GROUP_BYS = {query.name: query.operation for query in queries.QUERIES if query.name[:3] in ("SGO", "MGO")}
LINEORDER = engine.Join("lineitem", "orders", (("l_orderkey", "o_orderkey"),))


def make_zipf(file: pathlib.Path, value_name: str, num_rows: int, seed: int) -> None:
    """Writes `num_rows` rows (key, value): keys Zipf-distributed (exponent 1) over 10 000 values, value the row number."""
    if file.exists():
        return
    num_keys = 10_000
    # The most frequent keys are the same on both sides, so the join is many-to-many; their values are scattered.
    labels = list(range(num_keys))
    random.Random(1).shuffle(labels)
    weights = [1.0 / (rank + 1) for rank in range(num_keys)]
    keys = random.Random(seed).choices(labels, weights=weights, k=num_rows)
    table = pyarrow.table({"key": pyarrow.array(keys, pyarrow.int32()), value_name: pyarrow.array(range(num_rows))})
    unfinished = file.with_suffix(".unfinished")
    pyarrow.parquet.write_table(table, unfinished)
    unfinished.rename(file)


def make_tables() -> dict[str, pathlib.Path]:
    """Generates the data that is missing."""
    tpch = DATA / f"tpch-{SCALE_FACTOR}"
    DATA.mkdir(exist_ok=True)
    tables.generate(tpch, SCALE_FACTOR, texts.TABLES)
    files = {name: tpch / f"{name}.parquet" for name in texts.TABLES}
    for name, value_name, num_rows, seed in (("zipf-left", "left_value", 8_000, 2), ("zipf-right", "right_value", 12_000, 3)):
        files[name] = DATA / f"{name}.parquet"
        make_zipf(files[name], value_name, num_rows, seed)
    return files


def reference_of(operation: engine.Operation, files: dict[str, pathlib.Path]) -> str:
    """An operation as a statement of DuckDB's."""
    if isinstance(operation, engine.Join):
        sides = (f"read_parquet('{files[name]}')" for name in (operation.left, operation.right))
        return duckdb_rival.join_text(operation, *sides)
    return duckdb_rival.group_by_text(operation, f"read_parquet('{files[operation.table]}')")


def phase_columns(stats: dict, phases: dict[str, tuple[str, ...]]) -> list[str]:
    """The milliseconds of each group of phases; a dash where a path has no such phase."""
    spent = {}
    for phase in stats["phases"]:
        spent[phase["name"]] = spent.get(phase["name"], 0) + phase["ns"]
    columns = []
    for names in phases.values():
        present = [spent[name] for name in names if name in spent]
        columns.append(f"{sum(present) / 1e6:.1f}" if present else "-")
    return columns


def format_table(rows: list[list[str]]) -> str:
    """Aligns the cells: the first three columns to the left, numbers to the right."""
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    lines = []
    for row in rows:
        cells = [c.ljust(w) if i < 3 else c.rjust(w) for i, (c, w) in enumerate(zip(row, widths))]
        lines.append("  ".join(cells).rstrip())
    return "\n".join(lines)


class Demo:
    """Runs operations through every path, compares each result with DuckDB's, and collects what went wrong."""

    def __init__(self, command: pathlib.Path, device: str | None, files: dict[str, pathlib.Path], scratch: pathlib.Path) -> None:
        self.command, self.device, self.files, self.scratch = command, device, files, scratch
        self.failures: list[str] = []

    def runner(self, path: str) -> garuda_command_rival.GarudaFiles:
        runner = garuda_command_rival.GarudaFiles(self.command, "", path, os.cpu_count() or 1, "parquet", self.scratch)
        if self.device is not None and path != "cpu":
            runner.command += ["--device", self.device]
        runner.load(self.files)
        return runner

    def run(self, title: str, operations: dict[str, engine.Operation], inputs: tuple[str, ...], phases: dict) -> None:
        """Prints one table: a row for each operation and path."""
        table = [["query", "path", "device", *inputs, "rows out", *phases, "total", "equal"]]
        with duckdb.connect() as database:
            for name, operation in operations.items():
                for path in PATHS:
                    print(f"{name} through {path} …", file=sys.stderr, flush=True)
                    runner = self.runner(path)
                    try:
                        output = runner.run(operation, path)
                    except RuntimeError as error:
                        self.failures.append(f"{name} through {path}: {error}")
                        continue
                    stats = runner.statistics(output)
                    reference = reference_of(operation, self.files)
                    wrong = answers.difference(database, reference, pyarrow.parquet.read_table(output))
                    if stats["path"] != path:
                        wrong = f"{stats['path']} ran"
                    if wrong:
                        self.failures.append(f"{name} through {path} differs from DuckDB's result: {wrong}")
                    read = [stats[column.replace(" ", "_")] for column in inputs]
                    counts = (f"{count:,}" for count in (*read, stats["rows_out"]))
                    times = [*phase_columns(stats, phases), f"{stats['total_ns'] / 1e6:.1f}"]
                    table.append([name, path, stats["device"], *counts, *times, "NO" if wrong else "yes"])
        if len(table) > 1:
            print(f"{title}\n\n{format_table(table)}\n")

    def join_lineorder(self) -> bool:
        try:
            joined = self.runner("auto").run(LINEORDER, "auto")
        except RuntimeError as error:
            self.failures.append(f"lineitem ⋈ orders for the group-bys: {error}")
            return False
        self.files[tables.LINEORDER] = joined.rename(self.scratch / "lineorder.parquet")
        return True

    def run_sql(self, database: duckdb.DuckDBPyConnection) -> None:
        """Prints a table with a row for each path, and the rows of the query, whose bits must be the same on all."""
        query, given = texts.TEXTS[SQL_QUERY], {name: garuda.scan(self.files[name]) for name in texts.TABLES}
        table, found = [["query", "path", "from", "rows out", "total", "equal"]], {}
        for name in given:
            database.execute(f"create view {name} as from read_parquet('{self.files[name]}')")
        for path in SQL_PATHS:
            print(f"{SQL_QUERY} through {path} …", file=sys.stderr, flush=True)
            begin = time.perf_counter()
            try:
                answer = garuda.sql(query, tables=given, path=path, device=None if path == "cpu" else self.device)
            except garuda.Error as error:
                self.failures.append(f"{SQL_QUERY} through {path}: {error}")
                continue
            milliseconds = 1e3 * (time.perf_counter() - begin)
            wrong = answers.difference(database, query, answer.to_arrow())
            if wrong:
                self.failures.append(f"{SQL_QUERY} through {path} differs from DuckDB's result: {wrong}")
            found[path] = answer.to_arrow()
            table.append([SQL_QUERY, path, "Parquet", f"{len(answer):,}", f"{milliseconds:.1f}", "NO" if wrong else "yes"])
        same = [answers.bits(rows, in_order=True) for rows in found.values()]
        if any(rows != same[0] for rows in same):
            self.failures.append(f"{SQL_QUERY} has other bits on another path")
        print(f"TPC-H's {SQL_QUERY} in SQL, from Parquet to memory, by garuda.sql\n\n{format_table(table)}\n")
        for rows in list(found.values())[:1]:
            print(garuda.table(rows))


def main() -> int:
    parser = argparse.ArgumentParser(prog="./dev demo", description=__doc__.splitlines()[0])
    parser.add_argument("--command", type=pathlib.Path, default=ROOT / "build" / "bin" / "garuda", help="the command")
    parser.add_argument("--device", help="Vulkan device, by index or part of its name")
    arguments = parser.parse_args()

    files = make_tables()
    with tempfile.TemporaryDirectory(dir=DATA) as folder:
        demo = Demo(arguments.command, arguments.device, files, pathlib.Path(folder))
        print(f"TPC-H at scale factor {SCALE_FACTOR}. Times in ms, summed over the partitions in flight; equal: all columns")
        print("and rows are those of DuckDB's result, as multisets.\n")
        title = "Joins: JO1 customer ⋈ orders, JO4 orders ⋈ lineitem, two skewed tables"
        demo.run(title, JOINS, ("rows left", "rows right"), JOIN_PHASES)
        if demo.join_lineorder():
            title = "Group-bys: sums over lineitem ⋈ orders, joined by garuda, and over partsupp (SGO3)"
            demo.run(title, GROUP_BYS, ("rows",), GROUP_PHASES)
        with duckdb.connect() as database:
            demo.run_sql(database)
    for failure in demo.failures:
        print(f"error: {failure}", file=sys.stderr)
    return 1 if demo.failures else 0


if __name__ == "__main__":
    sys.exit(main())
