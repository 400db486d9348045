"""Joins TPC-H tables and two skewed tables through the graphics pipeline and on the CPU, and compares the results.

Called by `./dev demo`. Uses the garuda command, tpchgen-cli for the data and DuckDB as the reference: each path's whole
result, columns and rows, must be the multiset that DuckDB computes. Exit status 1 when any is not.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import pathlib
import random
import shutil
import subprocess
import sys
import tempfile

import duckdb
import pyarrow
import pyarrow.parquet

ROOT = pathlib.Path(__file__).resolve().parent.parent
DATA = ROOT / "demo-data"
SCALE_FACTOR = "0.1"
PATHS = ("graphics", "cpu")
# Columns of the table, and the phases of a run that each adds up.
PHASES = {
    "partition": ("partition",),
    "upload": ("upload",),
    "build": ("statistics", "build"),
    "count": ("count", "prefix"),
    "probe": ("probe",),
    "download": ("download",),
    "gather": ("gather",),
}


@dataclasses.dataclass(frozen=True)
class Query:
    """An inner join of two Parquet files on one key."""

    name: str
    left: pathlib.Path
    right: pathlib.Path
    left_key: str
    right_key: str

    def reference(self) -> str:
        """The same join in DuckDB's SQL: left columns, then right columns without the key."""
        return (
            f"SELECT l.*, r.* EXCLUDE ({self.right_key}) FROM read_parquet('{self.left}') l"
            f" JOIN read_parquet('{self.right}') r ON l.{self.left_key} = r.{self.right_key}"
        )


def make_tpch(folder: pathlib.Path) -> None:
    """Writes customer, orders and lineitem as Parquet, unless they are there already."""
    if folder.is_dir():
        return
    generator = pathlib.Path(sys.executable).parent / "tpchgen-cli"
    unfinished = folder.with_suffix(".unfinished")
    shutil.rmtree(unfinished, ignore_errors=True)
    unfinished.mkdir(parents=True)
    subprocess.run(
        [generator, "parquet", "-s", SCALE_FACTOR, "--tables=customer,orders,lineitem", f"--output-dir={unfinished}"],
        check=True,
        stdout=subprocess.DEVNULL,
    )
    unfinished.rename(folder)


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


def make_queries() -> list[Query]:
    """Generates the data that is missing and returns the demo's joins."""
    tpch = DATA / f"tpch-{SCALE_FACTOR}"
    DATA.mkdir(exist_ok=True)
    make_tpch(tpch)
    make_zipf(DATA / "zipf-left.parquet", "left_value", 8_000, seed=2)
    make_zipf(DATA / "zipf-right.parquet", "right_value", 12_000, seed=3)
    return [
        Query("JO1", tpch / "customer.parquet", tpch / "orders.parquet", "c_custkey", "o_custkey"),
        Query("JO4", tpch / "orders.parquet", tpch / "lineitem.parquet", "o_orderkey", "l_orderkey"),
        Query("Zipf n:m", DATA / "zipf-left.parquet", DATA / "zipf-right.parquet", "key", "key"),
    ]


def run_garuda(command: pathlib.Path, query: Query, path: str, device: str | None, output: pathlib.Path) -> dict:
    """Runs one join into `output` and returns its statistics; raises RuntimeError with the command's own sentence."""
    on = query.left_key if query.left_key == query.right_key else f"{query.left_key}={query.right_key}"
    arguments = [command, "join", query.left, query.right, "--on", on, "--path", path, "-o", output]
    arguments += ["--stats=json", "--quiet"]
    if device is not None and path != "cpu":
        arguments += ["--device", device]
    finished = subprocess.run(arguments, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
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


def phase_columns(stats: dict) -> list[str]:
    """The milliseconds of each group of phases; a dash where a path has no such phase."""
    spent = {}
    for phase in stats["phases"]:
        spent[phase["name"]] = spent.get(phase["name"], 0) + phase["ns"]
    columns = []
    for names in PHASES.values():
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


def main() -> int:
    parser = argparse.ArgumentParser(prog="./dev demo", description=__doc__.splitlines()[0])
    parser.add_argument("--command", type=pathlib.Path, default=ROOT / "build" / "bin" / "garuda", help="the command")
    parser.add_argument("--device", help="Vulkan device, by index or part of its name")
    arguments = parser.parse_args()

    header = ["query", "path", "device", "rows left", "rows right", "rows out", "DuckDB", *PHASES, "total", "equal"]
    table = [header]
    failures = []
    queries = make_queries()
    with tempfile.TemporaryDirectory(dir=DATA) as scratch, duckdb.connect() as database:
        for query in queries:
            for path in PATHS:
                print(f"{query.name} through {path} …", file=sys.stderr, flush=True)
                output = pathlib.Path(scratch) / "result.parquet"
                try:
                    stats = run_garuda(arguments.command, query, path, arguments.device, output)
                except RuntimeError as error:
                    failures.append(f"{query.name} through {path}: {error}")
                    continue
                equal, num_expected = same_rows(database, query, output)
                if not equal or stats["path"] != path:
                    failures.append(f"{query.name} through {path} differs from DuckDB's result")
                counts = [stats["rows_left"], stats["rows_right"], stats["rows_out"], num_expected]
                times = [*phase_columns(stats), f"{stats['total_ns'] / 1e6:.1f}"]
                row = [query.name, path, stats["device"], *(f"{count:,}" for count in counts)]
                table.append([*row, *times, "yes" if equal else "NO"])
    if len(table) > 1:
        print(f"TPC-H at scale factor {SCALE_FACTOR}; JO1 customer ⋈ orders, JO4 orders ⋈ lineitem; times in ms, summed")
        print("over the partitions in flight; equal: all columns and rows are those of DuckDB's join, as multisets\n")
        print(format_table(table))
    for failure in failures:
        print(f"error: {failure}", file=sys.stderr)
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
