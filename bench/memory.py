"""Peak anonymous memory of a join whose result is far larger than the memory it may use.

Called by `./dev bench memory`. Joins two tables of equal keys, ROWS x ROWS result rows, from Parquet to Parquet under
--memory-limit, and watches RssAnon of the process from outside. DuckDB then checks that every pair of rows is in the
result exactly once. Exit status 1 when the result is wrong or the peak exceeds the limit.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import pathlib
import re
import statistics
import subprocess
import sys
import tempfile
import time

import duckdb
import pyarrow
import pyarrow.parquet

ROOT = pathlib.Path(__file__).resolve().parent.parent
POLL_SECONDS = 0.005
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
    parser.add_argument("--rows", type=int, default=20_000, help="rows of each side, all with one key (%(default)s)")
    parser.add_argument("--memory-limit", default="256MiB", help="given to garuda (%(default)s)")
    parser.add_argument("--path", default="cpu", help="given to garuda (%(default)s)")
    parser.add_argument("--repeat", type=int, default=1, help="runs (%(default)s)")
    parser.add_argument("--garuda", type=pathlib.Path, default=ROOT / "build/bin/garuda", help="the command")
    parser.add_argument("--json", action="store_true", help="one JSON object")
    arguments = parser.parse_args()
    if arguments.rows < 1 or arguments.repeat < 1:
        parser.error("--rows and --repeat must be at least 1")
    return arguments


def parse_size(text: str) -> int:
    """Bytes of a size such as 256MiB."""
    match = re.fullmatch(r"(\d+)([KMG]iB|)", text)
    if match is None:
        sys.exit(f"not a size (allowed: bytes, KiB, MiB, GiB): {text}")
    return int(match[1]) * UNITS[match[2]]


def write_inputs(folder: pathlib.Path, rows: int) -> tuple[pathlib.Path, pathlib.Path]:
    """Two tables of one key, with the row number as payload."""
    paths = []
    for payload in ("l", "r"):
        path = folder / f"{payload}.parquet"
        columns = {"k": [7] * rows, payload: list(range(rows))}
        pyarrow.parquet.write_table(pyarrow.table(columns, schema=schema(payload)), path)
        paths.append(path)
    return paths[0], paths[1]


def schema(payload: str) -> pyarrow.Schema:
    return pyarrow.schema([("k", pyarrow.int32()), (payload, pyarrow.int32())])


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


def check_result(output: pathlib.Path, rows: int) -> None:
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


def report(arguments: argparse.Namespace, runs: list[Run]) -> None:
    peaks = [run.peak_bytes for run in runs]
    seconds = statistics.median(run.seconds for run in runs)
    stats = runs[-1].stats
    if arguments.json:
        fields = {
            "op": "memory",
            "path": stats["path"],
            "device": stats["device"],
            "driver": stats["driver"],
            "mode": "file-to-file",
            "rows_left": arguments.rows,
            "rows_right": arguments.rows,
            "rows_out": arguments.rows**2,
            "median_ns": round(seconds * 1e9),
            "samples": len(runs),
            "peak_rss_anon_bytes": max(peaks),
            "memory_limit_bytes": parse_size(arguments.memory_limit),
            "verified": True,
        }
        print(json.dumps(fields))
        return
    print(f"join {stats['path']} on {stats['device']}, file to file, {arguments.rows} x {arguments.rows} equal keys")
    print(f"  {arguments.rows**2} rows out, every pair once; median {seconds:.1f} s of {len(runs)} runs")
    print(
        f"  peak RssAnon {min(peaks) / 2**20:.1f} to {max(peaks) / 2**20:.1f} MiB"
        f" (read every {POLL_SECONDS * 1000:.0f} ms) under --memory-limit {arguments.memory_limit}"
    )


def main() -> int:
    arguments = parse_arguments()
    limit = parse_size(arguments.memory_limit)
    runs = []
    with tempfile.TemporaryDirectory(prefix="garuda-memory-") as name:
        folder = pathlib.Path(name)
        left, right = write_inputs(folder, arguments.rows)
        output = folder / "joined.parquet"
        for _ in range(arguments.repeat):
            runs.append(run_join(arguments, left, right, output))
        check_result(output, arguments.rows)
    report(arguments, runs)
    return 0 if all(run.peak_bytes <= limit for run in runs) else 1


if __name__ == "__main__":
    sys.exit(main())
