"""garuda inside Polars and DuckDB, beside each of them alone: lazy plans with garuda.polars.Engine, statements of
garuda.duckdb.connect().

Called by `./dev bench inside`. db-benchmark's questions, TPC-H's 22 queries and small statements, over tables in memory
(--files: Parquet files, of TPC-H). Answers are compared before anything is timed; both run in turns, short ones more
often, two that follow one another making a pair. A ratio is the time alone over the time with garuda: its median over
all pairs stands with the interval that holds the median of such pairs in 95 of 100 runs. Where all of it lies below 0.95
the promise is broken that nothing gets slower by more than 5 %; where it reaches below, more pairs tell. Exit status 1
when answers differ.
"""

from __future__ import annotations

import argparse
import dataclasses
import gc
import math
import pathlib
import statistics
import sys
import time
from collections.abc import Callable, Iterator

from engines import session
from inside import duckdb_statements, polars_plans

SUBJECTS = {
    "polars-tpch": polars_plans.tpch,
    "polars-db-benchmark": polars_plans.db_benchmark,
    "duckdb-db-benchmark": duckdb_statements.db_benchmark,
    "duckdb-small": duckdb_statements.small,
}
LEAST_SECONDS = 1.0  # that a pair is sampled for
MOST_SAMPLES = 400


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="./dev bench inside", description=__doc__)
    parser.add_argument("--subjects", default=",".join(SUBJECTS), help="by comma (%(default)s)")
    parser.add_argument("--names", help="of queries, by comma (all)")
    parser.add_argument("--rows", type=lambda text: int(float(text)), default=10**7, help="of db-benchmark's x (%(default)s)")
    parser.add_argument("--scale", default="1", help="of TPC-H (%(default)s)")
    parser.add_argument("--files", action="store_true", help="TPC-H from Parquet files")
    parser.add_argument("--always", action="store_true", help="all that garuda can run, whatever it costs")
    parser.add_argument("--repeat", type=int, default=5, help="samples, at least (%(default)s)")
    parser.add_argument("--data", type=pathlib.Path, default=session.ROOT / "build/bench-data", help="folder (%(default)s)")
    arguments = parser.parse_args()
    arguments.subjects = session.chosen_names(parser, arguments.subjects, list(SUBJECTS), "subject")
    arguments.data.mkdir(parents=True, exist_ok=True)
    return arguments


@dataclasses.dataclass(frozen=True)
class Pair:
    """A query alone and with garuda; `decided` says what garuda ran of it the last time."""

    name: str
    alone: Callable[[], object]
    inside: Callable[[], object]
    difference: Callable[[object, object], str | None]
    decided: Callable[[], str]


def milliseconds(run: Callable[[], object]) -> tuple[float, float]:
    """Runs a query and returns milliseconds by the clock, and of processors."""
    gc.collect()
    start = time.perf_counter(), time.process_time()
    result = run()
    taken = time.perf_counter() - start[0], time.process_time() - start[1]
    del result
    return 1e3 * taken[0], 1e3 * taken[1]


def median_interval(values: list[float]) -> tuple[float, float]:
    """Bounds of the median at 95 %, from the order of the values alone; all values lie within where fewer than six."""
    ordered, count = sorted(values), len(values)
    tail, outside = 0.5**count, 0
    while tail <= 0.025:
        outside += 1
        tail += math.comb(count, outside) * 0.5**count
    last = max(outside - 1, 0)
    return ordered[last], ordered[count - 1 - last]


def line(pair: Pair, repeat: int) -> str:
    """Medians by the clock and the least of them; the ratio of pairs, then those of the least and of the processors'
    medians, which other work on the machine reaches less."""
    gc.collect()
    gc.freeze()  # what is there by now is not looked through before every run
    samples: tuple[list[tuple[float, float]], list[tuple[float, float]]] = ([], [])
    once = milliseconds(pair.alone)[0]
    turns = [(pair.alone, samples[0]), (pair.inside, samples[1])]
    for _ in range(max(repeat, min(MOST_SAMPLES, int(1e3 * LEAST_SECONDS / once)))):
        for run, taken in turns:
            taken.append(milliseconds(run))
        turns.reverse()  # what the first of a pair leaves behind is there for either
    gc.unfreeze()
    (alone, alone_cpu), (inside, inside_cpu) = (tuple(zip(*taken)) for taken in samples)
    shown = "  ".join(f"{statistics.median(taken):9.2f} ({min(taken):9.2f})" for taken in (alone, inside))
    paired = [one / other for one, other in zip(alone, inside)]
    ratio = "{:4.2f} ({:4.2f} … {:4.2f})".format(statistics.median(paired), *median_interval(paired))
    others = min(alone) / min(inside), statistics.median(alone_cpu) / statistics.median(inside_cpu)
    return f"{pair.name:<22} {shown}   {ratio}  {'  '.join(f'{r:4.2f}' for r in others)}  {len(alone):3}  {pair.decided()}"


def pairs(arguments: argparse.Namespace) -> Iterator[Pair]:
    for subject in arguments.subjects:
        print(f"\n{subject}", flush=True)
        for pair in SUBJECTS[subject](arguments, Pair):
            if not arguments.names or pair.name in arguments.names.split(","):
                yield pair


def main() -> int:
    arguments = parse_arguments()
    print(f"{session.processor()}; ms, median (least), alone and with garuda;")
    print("ratio of pairs, its median and 95 % interval, ratios of least and of processor time; pairs; what garuda ran")
    for pair in pairs(arguments):
        wrong = pair.difference(pair.alone(), pair.inside())
        if wrong is not None:
            print(f"error: {pair.name}: {wrong}", file=sys.stderr)
            return 1
        print(line(pair, arguments.repeat), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
