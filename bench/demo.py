"""Joins and groups TPC-H and skewed tables through the graphics pipeline and on the CPU, and compares the results.

Called by `./dev demo`. Uses the garuda command, tpchgen-cli for the data and DuckDB as the reference: each path's whole
result, columns and rows, must be the multiset that DuckDB computes. Exit status 1 when any is not.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import pathlib
import random
import subprocess
import sys
import tempfile

import duckdb
import pyarrow
import pyarrow.parquet
from tpch import tables

ROOT = pathlib.Path(__file__).resolve().parent.parent
DATA = ROOT / "demo-data"
SCALE_FACTOR = "0.1"
TABLES = ("customer", "orders", "lineitem", "partsupp")
PATHS = ("graphics", "cpu")
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


@dataclasses.dataclass(frozen=True)
class Join:
    """An inner join of two Parquet files on one key."""

    name: str
    left: pathlib.Path
    right: pathlib.Path
    left_key: str
    right_key: str

    phases = JOIN_PHASES
    inputs = ("rows left", "rows right")

    def arguments(self) -> list[object]:
        on = self.left_key if self.left_key == self.right_key else f"{self.left_key}={self.right_key}"
        return ["join", self.left, self.right, "--on", on]

    def reference(self) -> str:
        """The same join in DuckDB's SQL: left columns, then right columns without the key."""
        return (
            f"SELECT l.*, r.* EXCLUDE ({self.right_key}) FROM read_parquet('{self.left}') l"
            f" JOIN read_parquet('{self.right}') r ON l.{self.left_key} = r.{self.right_key}"
        )


@dataclasses.dataclass(frozen=True)
class GroupBy:
    """The sum of one column of a Parquet file by one or more keys."""

    name: str
    table: pathlib.Path
    keys: tuple[str, ...]
    summed: str

    phases = GROUP_PHASES
    inputs = ("rows",)

    def arguments(self) -> list[object]:
        return ["group-by", self.table, "--keys", ",".join(self.keys), "--agg", f"sum:{self.summed}"]

    def reference(self) -> str:
        keys = ", ".join(self.keys)
        return (
            f"SELECT {keys}, sum({self.summed}) AS sum_{self.summed} FROM read_parquet('{self.table}') GROUP BY {keys}"
        )


Query = Join | GroupBy


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


def make_joins() -> list[Join]:
    """Generates the data that is missing and returns the demo's joins."""
    tpch = DATA / f"tpch-{SCALE_FACTOR}"
    DATA.mkdir(exist_ok=True)
    tables.generate(tpch, SCALE_FACTOR, list(TABLES))
    make_zipf(DATA / "zipf-left.parquet", "left_value", 8_000, seed=2)
    make_zipf(DATA / "zipf-right.parquet", "right_value", 12_000, seed=3)
    return [
        Join("JO1", tpch / "customer.parquet", tpch / "orders.parquet", "c_custkey", "o_custkey"),
        Join("JO4", tpch / "orders.parquet", tpch / "lineitem.parquet", "o_orderkey", "l_orderkey"),
        Join("Zipf n:m", DATA / "zipf-left.parquet", DATA / "zipf-right.parquet", "key", "key"),
    ]


def make_group_bys(command: pathlib.Path, scratch: pathlib.Path) -> list[GroupBy]:
    """Joins lineitem with orders into `scratch` and returns the demo's group-bys (GARUDA §6.1.1)."""
    tpch = DATA / f"tpch-{SCALE_FACTOR}"
    line_order = scratch / "lineorder.parquet"
    arguments = ["join", tpch / "lineitem.parquet", tpch / "orders.parquet", "--on", "l_orderkey=o_orderkey"]
    run_garuda(command, [*arguments, "-o", line_order])
    price = "l_extendedprice"
    return [
        GroupBy("SGO1", line_order, ("o_orderdate",), price),
        GroupBy("SGO2", line_order, ("l_orderkey",), price),
        GroupBy("SGO3", tpch / "partsupp.parquet", ("ps_partkey",), "ps_supplycost"),
        GroupBy("MGO1", line_order, ("l_orderkey", "o_orderdate"), price),
        GroupBy("MGO2", line_order, ("l_orderkey", "o_orderdate", "o_shippriority"), price),
    ]


def run_garuda(command: pathlib.Path, arguments: list[object]) -> dict:
    """Runs the command and returns its statistics; raises RuntimeError with the command's own sentence."""
    finished = subprocess.run(
        [command, *arguments, "--stats=json", "--quiet"],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )
    lines = finished.stderr.strip().splitlines()
    if finished.returncode != 0:
        raise RuntimeError(f"exit status {finished.returncode}: {' '.join(lines[-3:])}")
    return json.loads(lines[-1])


def same_rows(database: duckdb.DuckDBPyConnection, query: Query, output: pathlib.Path) -> tuple[bool, int]:
    """Compares `output` with DuckDB's result as multisets of whole rows; also returns DuckDB's number of rows."""
    reference = query.reference()
    expected = [column[:2] for column in database.execute(f"DESCRIBE {reference}").fetchall()]
    actual = [column[:2] for column in database.execute(f"DESCRIBE FROM read_parquet('{output}')").fetchall()]
    ((num_rows,),) = database.execute(f"SELECT count(*) FROM ({reference})").fetchall()
    if expected != actual:
        return False, num_rows
    # Each distinct row counts +1 here and -1 there. No name of a joined column is `occurrence`.
    ((num_different,),) = database.execute(
        "SELECT count(*) FROM (SELECT sum(occurrence) AS surplus FROM"
        f" (SELECT *, 1 AS occurrence FROM ({reference}) UNION ALL"
        f" SELECT *, -1 AS occurrence FROM read_parquet('{output}'))"
        f" GROUP BY {', '.join(name for name, _ in expected)} HAVING surplus <> 0)"
    ).fetchall()
    return num_different == 0, num_rows


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
    """Runs queries through every path, compares each result with DuckDB's, and collects what went wrong."""

    def __init__(self, command: pathlib.Path, device: str | None, scratch: pathlib.Path) -> None:
        self.command = command
        self.device = device
        self.output = scratch / "result.parquet"
        self.failures: list[str] = []

    def run(self, title: str, queries: list[Query]) -> None:
        """Prints one table: a row for each query and path."""
        phases, inputs = queries[0].phases, queries[0].inputs
        table = [["query", "path", "device", *inputs, "rows out", "DuckDB", *phases, "total", "equal"]]
        with duckdb.connect() as database:
            for query in queries:
                for path in PATHS:
                    print(f"{query.name} through {path} …", file=sys.stderr, flush=True)
                    row = self.run_one(database, query, path)
                    if row:
                        table.append(row)
        if len(table) > 1:
            print(f"{title}\n\n{format_table(table)}\n")

    def run_one(self, database: duckdb.DuckDBPyConnection, query: Query, path: str) -> list[str] | None:
        chosen = ["--path", path, "-o", self.output]
        if self.device is not None and path != "cpu":
            chosen += ["--device", self.device]
        try:
            stats = run_garuda(self.command, [*query.arguments(), *chosen])
        except RuntimeError as error:
            self.failures.append(f"{query.name} through {path}: {error}")
            return None
        equal, num_expected = same_rows(database, query, self.output)
        if not equal or stats["path"] != path:
            self.failures.append(f"{query.name} through {path} differs from DuckDB's result")
        read = [stats[name.replace(" ", "_")] for name in query.inputs]
        counts = [*read, stats["rows_out"], num_expected]
        times = [*phase_columns(stats, query.phases), f"{stats['total_ns'] / 1e6:.1f}"]
        row = [query.name, path, stats["device"], *(f"{count:,}" for count in counts)]
        return [*row, *times, "yes" if equal else "NO"]


def main() -> int:
    parser = argparse.ArgumentParser(prog="./dev demo", description=__doc__.splitlines()[0])
    parser.add_argument("--command", type=pathlib.Path, default=ROOT / "build" / "bin" / "garuda", help="the command")
    parser.add_argument("--device", help="Vulkan device, by index or part of its name")
    arguments = parser.parse_args()

    joins = make_joins()
    with tempfile.TemporaryDirectory(dir=DATA) as folder:
        scratch = pathlib.Path(folder)
        demo = Demo(arguments.command, arguments.device, scratch)
        print(f"TPC-H at scale factor {SCALE_FACTOR}. Times in ms, summed over the partitions in flight; equal: all columns")
        print("and rows are those of DuckDB's result, as multisets.\n")
        demo.run("Joins: JO1 customer ⋈ orders, JO4 orders ⋈ lineitem, two skewed tables", joins)
        try:
            group_bys = make_group_bys(arguments.command, scratch)
        except RuntimeError as error:
            demo.failures.append(f"lineitem ⋈ orders for the group-bys: {error}")
        else:
            demo.run("Group-bys: sums over lineitem ⋈ orders, joined by garuda, and over partsupp (SGO3)", group_bys)
    for failure in demo.failures:
        print(f"error: {failure}", file=sys.stderr)
    return 1 if demo.failures else 0


if __name__ == "__main__":
    sys.exit(main())
