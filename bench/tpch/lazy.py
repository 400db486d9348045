"""TPC-H's 22 queries by Polars alone and with garuda.polars.Engine, in turns, from memory or from Parquet files; answers
are compared before anything is timed. Exit status 1 when they differ.

  PYTHONPATH=build/python:bench .venv/bin/python -m tpch.lazy --scale 1 --repeat 5
"""

from __future__ import annotations

import argparse
import pathlib
import statistics
import sys
import time

import garuda.polars
from polars.exceptions import PolarsError
from polars.testing import assert_frame_equal
from tpch import lazy_queries, tables


def main() -> int:
    parser = argparse.ArgumentParser(prog="tpch.lazy", description=__doc__)
    parser.add_argument("--scale", default="1", help="factor (%(default)s)")
    parser.add_argument("--data", type=pathlib.Path, default=pathlib.Path("build/bench_data"), help="folder (%(default)s)")
    parser.add_argument("--queries", default=",".join(lazy_queries.QUERIES), help="by comma (%(default)s)")
    parser.add_argument("--repeat", type=int, default=5, help="samples (%(default)s)")
    parser.add_argument("--files", action="store_true", help="from Parquet files")
    parser.add_argument("--all", action="store_true", help="whatever it costs")
    arguments = parser.parse_args()
    arguments.data.mkdir(parents=True, exist_ok=True)
    tables.make(arguments.data, arguments.scale, set(lazy_queries.TABLES))
    frames = lazy_queries.tables(arguments.data / f"tpch-{arguments.scale}", in_memory=not arguments.files)
    engines = {"polars": "streaming", "garuda": garuda.polars.Engine(prices=not arguments.all)}
    print("query    Polars ms          with garuda ms     ratio of medians, of least; nodes by garuda")
    for name in arguments.queries.split(","):
        plan = lazy_queries.QUERIES[name](frames)
        seconds: dict[str, list[float]] = {engine: [] for engine in engines}
        try:
            assert_frame_equal(*(plan.collect(engine=engine) for engine in engines.values()), rel_tol=1e-9)
        except (AssertionError, PolarsError) as error:
            print(f"{name}: {error}")
            return 1
        for _ in range(arguments.repeat):
            for label, engine in engines.items():
                start = time.perf_counter()
                plan.collect(engine=engine)
                seconds[label].append(1e3 * (time.perf_counter() - start))
        middle = {label: statistics.median(samples) for label, samples in seconds.items()}
        least = {label: min(samples) for label, samples in seconds.items()}
        shown = "  ".join(f"{middle[e]:7.1f} ({least[e]:7.1f})" for e in engines)
        taken = sum(decision.engine == "garuda" for decision in engines["garuda"].decisions)
        print(f"{name:<6} {shown}   {middle['polars'] / middle['garuda']:.2f}, {least['polars'] / least['garuda']:.2f}; "
              f"{taken} of {len(engines['garuda'].decisions)}", flush=True)  # fmt: skip
    return 0


if __name__ == "__main__":
    sys.exit(main())
