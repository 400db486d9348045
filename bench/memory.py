"""Peak anonymous memory of joins and group-bys that are far larger than the memory they may use.

Called by `./dev bench memory`. Joins two tables, or groups one, from Parquet to Parquet under --memory-limit and watches
RssAnon of the process from outside. Joins: `equal`, one key on both sides, ROWS x ROWS result rows; `dense`, the keys
0 ... ROWS-1 once on each side in scattered order, tables that are spilled. Group-bys, by count and exact sum of float64:
`few`, 1000 groups, whose states are merged; `distinct`, a group a row, spilled. DuckDB then checks the whole result: its
number of rows and the sum of a hash of each. Exit status 1 when the result is wrong or the peak exceeds the limit.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import math
import pathlib
import re
import statistics
import subprocess
import sys
import tempfile
import time

import duckdb

ROOT = pathlib.Path(__file__).resolve().parent.parent
POLL_SECONDS = 0.005
ROW_GROUP_ROWS = 1_000_000
UNITS = {"": 1, "KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30}
# Rows of each table unless told.
WORKLOADS = {"equal": 20_000, "dense": 1 << 24, "few": 1 << 26, "distinct": 1 << 24}
GROUP_BYS = "few", "distinct"
FEW_GROUPS = 1_000


@dataclasses.dataclass(frozen=True)
class Run:
    """One run: its peak RssAnon, its time and what the command said of itself."""

    peak_bytes: int
    seconds: float
    stats: dict


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="./dev bench memory", description=__doc__)
    parser.add_argument("--workload", choices=WORKLOADS, default="equal", help="what is joined or grouped (%(default)s)")
    parser.add_argument("--rows", type=int, help="rows of each table (equal: 20 000, few: 2^26, else 2^24)")
    parser.add_argument("--ordered", action="store_true", help="rows in the order of the inputs")
    parser.add_argument("--threads", type=int, help="given to garuda (all)")
    parser.add_argument("--memory-limit", default="256MiB", help="given to garuda (%(default)s)")
    parser.add_argument("--path", default="cpu", help="given to garuda (%(default)s)")
    parser.add_argument("--repeat", type=int, default=1, help="runs (%(default)s)")
    parser.add_argument("--garuda", type=pathlib.Path, default=ROOT / "build/bin/garuda", help="the command")
    parser.add_argument("--json", action="store_true", help="one JSON object")
    arguments = parser.parse_args()
    arguments.rows = arguments.rows or WORKLOADS[arguments.workload]
    if arguments.rows < 1 or arguments.repeat < 1:
        parser.error("--rows and --repeat must be at least 1")
    return arguments


def parse_size(text: str) -> int:
    """Bytes of a size such as 256MiB."""
    match = re.fullmatch(r"(\d+)([KMG]iB|)", text)
    if match is None:
        sys.exit(f"not a size (allowed: bytes, KiB, MiB, GiB): {text}")
    return int(match[1]) * UNITS[match[2]]


def scattered(rows: int, start: int) -> str:
    """0 ... rows-1 in another order: a multiplier prime to `rows` scatters them."""
    step = next(step for step in range(start, start + rows + 1) if math.gcd(step, rows) == 1)
    return f"(i * {step}) % {rows}"


def write_tables(folder: pathlib.Path, workload: str, rows: int) -> None:
    """l.parquet and r.parquet: columns (k, l) and (k, r) of int32, made of the row number i."""
    for name, start in (("l", 1_103_515_245), ("r", 22_695_477)):
        if name == "r" and workload in GROUP_BYS:
            continue
        scatter = scattered(rows, start), f"hash(i + {start}) % 2147483647"
        key, payload = ("7", "i") if workload == "equal" else scatter
        key = f"hash(i) % {FEW_GROUPS}" if workload == "few" else key
        # Eighths: whatever the order of adding, DuckDB's sum is the exact one.
        payload = f"({payload})::DOUBLE / 8" if workload in GROUP_BYS else f"({payload})::INTEGER"
        columns = f"({key})::INTEGER AS k, {payload} AS {name}"
        duckdb.sql(
            f"COPY (SELECT {columns} FROM range({rows}::BIGINT) AS t(i)) TO '{folder}/{name}.parquet'"
            f" (FORMAT parquet, ROW_GROUP_SIZE {ROW_GROUP_ROWS})"
        )


def read_rss_anon(pid: int) -> int:
    """RssAnon in bytes; 0 once the process has let go of its memory."""
    try:
        status = pathlib.Path(f"/proc/{pid}/status").read_text(encoding="ascii", errors="replace")
    except OSError:
        return 0
    match = re.search(r"^RssAnon:\s+(\d+) kB$", status, re.MULTILINE)
    return int(match[1]) * 1024 if match else 0


def run_operator(arguments: argparse.Namespace, folder: pathlib.Path, output: pathlib.Path) -> Run:
    command = [arguments.garuda, "join", folder / "l.parquet", folder / "r.parquet", "--on", "k", "-o", output]
    if arguments.workload in GROUP_BYS:
        command = [arguments.garuda, "group-by", folder / "l.parquet", "--keys", "k", "--agg", "count,sum:l", "-o", output]
    command += ["--ordered"] if arguments.ordered else []
    command += ["--path", arguments.path, "--memory-limit", arguments.memory_limit, "--stats=json", "--quiet"]
    command += ["--temp-folder", folder]
    if arguments.threads:
        command += ["--threads", str(arguments.threads)]
    start = time.monotonic()
    # A file, not a pipe: nobody reads while the process is watched.
    with (
        tempfile.TemporaryFile("w+") as messages_file,
        subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=messages_file) as process,
    ):
        peak = 0
        while process.poll() is None:
            peak = max(peak, read_rss_anon(process.pid))
            time.sleep(POLL_SECONDS)
        messages_file.seek(0)
        messages = messages_file.read()
    seconds = time.monotonic() - start
    if process.returncode != 0:
        sys.exit(f"garuda {command[1]} ended with status {process.returncode}: {messages.strip()}")
    return Run(peak, seconds, json.loads(messages.strip().splitlines()[-1]))


def check(workload: str, folder: pathlib.Path, output: pathlib.Path) -> int:
    """The result's rows: as many as DuckDB's have, with the same sum of their hashes."""
    expected_rows = f"(SELECT k, l, r FROM '{folder}/l.parquet' JOIN '{folder}/r.parquet' USING (k))"
    columns = "k, l, r"
    if workload in GROUP_BYS:
        expected_rows = f"(SELECT k, count(*) AS count, sum(l) AS sum_l FROM '{folder}/l.parquet' GROUP BY k)"
        columns = "k, count, sum_l"
    [actual], [expected] = (
        duckdb.sql(f"SELECT count(*), sum(hash({columns})::HUGEINT) FROM {source}").fetchall()
        for source in (f"'{output}'", expected_rows)
    )
    if actual != expected:
        sys.exit(f"wrong result: {actual[0]} rows of hash {actual[1]}; expected {expected[0]} of {expected[1]}")
    return actual[0]


def report(arguments: argparse.Namespace, runs: list[Run], rows_out: int) -> None:
    peaks = [run.peak_bytes for run in runs]
    times = [run.seconds for run in runs]
    stats = runs[-1].stats
    fields = {
        "op": "memory",
        "workload": arguments.workload,
        "path": stats["path"],
        "device": stats["device"],
        "driver": stats["driver"],
        "mode": "file-to-file",
        "rows_left": arguments.rows,
        "rows_right": 0 if arguments.workload in GROUP_BYS else arguments.rows,
        "ordered": arguments.ordered,
        "rows_out": rows_out,
        "median_ns": round(statistics.median(times) * 1e9),
        "samples": len(runs),
        "peak_rss_anon_bytes": max(peaks),
        "spilled_bytes": stats["counters"].get("spilled_bytes", 0),
        "memory_limit_bytes": parse_size(arguments.memory_limit),
        "verified": True,
    }
    if arguments.json:
        print(json.dumps(fields))
        return
    is_join = arguments.workload not in GROUP_BYS
    shape = f"{arguments.rows}{f' x {arguments.rows}' if is_join else ''} rows, {arguments.workload} keys"
    shape += ", ordered" if arguments.ordered else ""
    print(f"{'join' if is_join else 'group-by'} {stats['path']} on {stats['device']}, file to file, {shape}")
    print(f"  {rows_out} rows out, verified; {fields['spilled_bytes'] / 2**20:.1f} MiB spilled")
    spread = f"{min(times):.2f} to {max(times):.2f}"
    print(f"  median {statistics.median(times):.2f} s of {len(runs)} runs ({spread})")
    print(
        f"  peak RssAnon {min(peaks) / 2**20:.1f} to {max(peaks) / 2**20:.1f} MiB"
        f" (read every {POLL_SECONDS * 1000:.0f} ms) under --memory-limit {arguments.memory_limit}"
    )


def main() -> int:
    arguments = parse_arguments()
    limit = parse_size(arguments.memory_limit)
    with tempfile.TemporaryDirectory(prefix="garuda-memory-") as name:
        folder = pathlib.Path(name)
        write_tables(folder, arguments.workload, arguments.rows)
        output = folder / "joined.parquet"
        runs = [run_operator(arguments, folder, output) for _ in range(arguments.repeat)]
        rows_out = check(arguments.workload, folder, output)
    report(arguments, runs, rows_out)
    return 0 if all(run.peak_bytes <= limit for run in runs) else 1


if __name__ == "__main__":
    sys.exit(main())
