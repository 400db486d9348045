"""Peak anonymous memory of joins that are far larger than the memory they may use.

Called by `./dev bench memory`. Joins two tables from Parquet to Parquet under --memory-limit and watches RssAnon of the
process from outside. Two workloads: `equal`, one key on both sides, ROWS x ROWS result rows; `dense`, the keys
0 ... ROWS-1 once on each side in scattered order, tables that are spilled. DuckDB then checks the whole result. Exit
status 1 when the result is wrong or the peak exceeds the limit.
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
from collections.abc import Callable

import duckdb

ROOT = pathlib.Path(__file__).resolve().parent.parent
POLL_SECONDS = 0.005
ROW_GROUP_ROWS = 1_000_000
UNITS = {"": 1, "KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30}


@dataclasses.dataclass(frozen=True)
class Run:
    """One join: its peak RssAnon, how often that was read, its time and what the command said of itself."""

    peak_bytes: int
    polls: int
    seconds: float
    stats: dict


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="./dev bench memory", description=__doc__)
    parser.add_argument("--workload", choices=WORKLOADS, default="equal", help="what is joined (%(default)s)")
    parser.add_argument("--rows", type=int, help="rows of each side (equal: 20 000, dense: 2^24)")
    parser.add_argument("--threads", type=int, help="given to garuda (all)")
    parser.add_argument("--memory-limit", default="256MiB", help="given to garuda (%(default)s)")
    parser.add_argument("--path", default="cpu", help="given to garuda (%(default)s)")
    parser.add_argument("--repeat", type=int, default=1, help="runs (%(default)s)")
    parser.add_argument("--garuda", type=pathlib.Path, default=ROOT / "build/bin/garuda", help="the command")
    parser.add_argument("--json", action="store_true", help="one JSON object")
    arguments = parser.parse_args()
    arguments.rows = arguments.rows or WORKLOADS[arguments.workload].rows
    if arguments.rows < 1 or arguments.repeat < 1:
        parser.error("--rows and --repeat must be at least 1")
    return arguments


def parse_size(text: str) -> int:
    """Bytes of a size such as 256MiB."""
    match = re.fullmatch(r"(\d+)([KMG]iB|)", text)
    if match is None:
        sys.exit(f"not a size (allowed: bytes, KiB, MiB, GiB): {text}")
    return int(match[1]) * UNITS[match[2]]


def write_equal(folder: pathlib.Path, rows: int) -> tuple[pathlib.Path, pathlib.Path]:
    """Two tables of one key, with the row number as payload."""
    return write_tables(folder, rows, "7", "7", "i", "i")


def write_dense(folder: pathlib.Path, rows: int) -> tuple[pathlib.Path, pathlib.Path]:
    """The keys 0 ... rows-1 once a side: multipliers prime to `rows` scatter them; payloads are hashes."""
    left, right = (step_prime_to(rows, start) for start in (1_103_515_245, 22_695_477))
    hashes = "hash(i) % 2147483647", "hash(i + 1) % 2147483647"
    return write_tables(folder, rows, f"(i * {left}) % {rows}", f"(i * {right}) % {rows}", *hashes)


def step_prime_to(rows: int, start: int) -> int:
    return next(step for step in range(start, start + rows + 1) if math.gcd(step, rows) == 1)


def write_tables(
    folder: pathlib.Path, rows: int, left_key: str, right_key: str, left_payload: str, right_payload: str
) -> tuple[pathlib.Path, pathlib.Path]:
    """Columns (k, l) and (k, r) of int32, made of the row number i."""
    paths = folder / "l.parquet", folder / "r.parquet"
    for path, key, payload in zip(paths, (left_key, right_key), (left_payload, right_payload)):
        columns = f"({key})::INTEGER AS k, ({payload})::INTEGER AS {path.stem}"
        duckdb.sql(
            f"COPY (SELECT {columns} FROM range({rows}::BIGINT) AS t(i)) TO '{path}'"
            f" (FORMAT parquet, ROW_GROUP_SIZE {ROW_GROUP_ROWS})"
        )
    return paths


def read_rss_anon(pid: int) -> int | None:
    """RssAnon in bytes; None once the process has let go of its memory."""
    try:
        status = pathlib.Path(f"/proc/{pid}/status").read_text(encoding="ascii", errors="replace")
    except OSError:
        return None
    match = re.search(r"^RssAnon:\s+(\d+) kB$", status, re.MULTILINE)
    return int(match[1]) * 1024 if match else None


def run_join(arguments: argparse.Namespace, left: pathlib.Path, right: pathlib.Path, output: pathlib.Path) -> Run:
    command = [arguments.garuda, "join", left, right, "--on", "k", "-o", output, "--path", arguments.path]
    command += ["--memory-limit", arguments.memory_limit, "--stats=json", "--quiet"]
    command += ["--temp-folder", output.parent]
    if arguments.threads:
        command += ["--threads", str(arguments.threads)]
    start = time.monotonic()
    # A file, not a pipe: nobody reads while the process is watched.
    with (
        tempfile.TemporaryFile("w+") as messages_file,
        subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=messages_file) as process,
    ):
        peak, polls = 0, 0
        while process.poll() is None:
            anonymous = read_rss_anon(process.pid)
            if anonymous is not None:
                peak, polls = max(peak, anonymous), polls + 1
            time.sleep(POLL_SECONDS)
        messages_file.seek(0)
        messages = messages_file.read()
    seconds = time.monotonic() - start
    if process.returncode != 0:
        sys.exit(f"garuda join ended with status {process.returncode}: {messages.strip()}")
    return Run(peak, polls, seconds, json.loads(messages.strip().splitlines()[-1]))


def check_equal(folder: pathlib.Path, output: pathlib.Path, rows: int) -> None:
    """Every left row with every right row, each pair once: as many rows as distinct right rows for every left row."""
    query = (
        "SELECT count(*), min(num_rows), max(num_rows), min(num_distinct), bool_and(same_key) FROM ("
        f"  SELECT count(*) AS num_rows, bit_count(bitstring_agg(r, 0, {rows - 1})) AS num_distinct,"
        "         min(k) = 7 AND max(k) = 7 AS same_key"
        f"  FROM read_parquet('{output}') GROUP BY l)"
    )
    [(groups, least, most, least_distinct, keys)] = duckdb.sql(query).fetchall()
    if (groups, least, most, least_distinct, keys) != (rows, rows, rows, rows, True):
        sys.exit(
            f"wrong result: {groups} left rows with {least} to {most} matches, {least_distinct} distinct at least;"
            f" expected {rows} of each"
        )


def check_dense(folder: pathlib.Path, output: pathlib.Path, rows: int) -> None:
    """As many rows as DuckDB's join has, and the same sum of their hashes."""
    join = f"(SELECT k, l, r FROM '{folder}/l.parquet' JOIN '{folder}/r.parquet' USING (k))"
    [actual], [expected] = (
        duckdb.sql(f"SELECT count(*), sum(hash(k, l, r)::HUGEINT) FROM {source}").fetchall()
        for source in (f"'{output}'", join)
    )
    if actual != expected or actual[0] != rows:
        sys.exit(f"wrong result: {actual[0]} rows of hash {actual[1]}; expected {expected[0]} of {expected[1]}")


@dataclasses.dataclass(frozen=True)
class Workload:
    """Tables, the check of their join, and how many rows a side has unless told, and how many come out."""

    write: Callable[[pathlib.Path, int], tuple[pathlib.Path, pathlib.Path]]
    check: Callable[[pathlib.Path, pathlib.Path, int], None]
    rows: int
    rows_out: Callable[[int], int]


WORKLOADS = {
    "equal": Workload(write_equal, check_equal, 20_000, lambda rows: rows * rows),
    "dense": Workload(write_dense, check_dense, 1 << 24, lambda rows: rows),
}


def report(arguments: argparse.Namespace, runs: list[Run]) -> None:
    peaks = [run.peak_bytes for run in runs]
    seconds = statistics.median(run.seconds for run in runs)
    stats = runs[-1].stats
    rows_out = WORKLOADS[arguments.workload].rows_out(arguments.rows)
    spilled = stats["counters"].get("spilled_bytes", 0)
    if arguments.json:
        fields = {
            "op": "memory",
            "workload": arguments.workload,
            "path": stats["path"],
            "device": stats["device"],
            "driver": stats["driver"],
            "mode": "file-to-file",
            "rows_left": arguments.rows,
            "rows_right": arguments.rows,
            "rows_out": rows_out,
            "median_ns": round(seconds * 1e9),
            "samples": len(runs),
            "peak_rss_anon_bytes": max(peaks),
            "spilled_bytes": spilled,
            "memory_limit_bytes": parse_size(arguments.memory_limit),
            "verified": True,
        }
        print(json.dumps(fields))
        return
    shape = f"{arguments.rows} x {arguments.rows} rows, {arguments.workload} keys"
    print(f"join {stats['path']} on {stats['device']}, file to file, {shape}")
    print(f"  {rows_out} rows out, verified; {spilled / 2**20:.1f} MiB spilled")
    spread = f"{min(run.seconds for run in runs):.2f} to {max(run.seconds for run in runs):.2f}"
    print(f"  median {seconds:.2f} s of {len(runs)} runs ({spread})")
    print(
        f"  peak RssAnon {min(peaks) / 2**20:.1f} to {max(peaks) / 2**20:.1f} MiB"
        f" (read every {POLL_SECONDS * 1000:.0f} ms) under --memory-limit {arguments.memory_limit}"
    )


def main() -> int:
    arguments = parse_arguments()
    limit = parse_size(arguments.memory_limit)
    workload = WORKLOADS[arguments.workload]
    runs = []
    with tempfile.TemporaryDirectory(prefix="garuda-memory-") as name:
        folder = pathlib.Path(name)
        left, right = workload.write(folder, arguments.rows)
        output = folder / "joined.parquet"
        for _ in range(arguments.repeat):
            runs.append(run_join(arguments, left, right, output))
        workload.check(folder, output, arguments.rows)
    report(arguments, runs)
    return 0 if all(run.peak_bytes <= limit for run in runs) else 1


if __name__ == "__main__":
    sys.exit(main())
