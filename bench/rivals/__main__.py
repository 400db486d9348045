"""garuda against DuckDB, Polars and pyarrow: joins and group-bys, end to end in memory, on the same data.

Called by `./dev bench rivals`. Every engine holds the tables in its own in-memory form and is timed until the whole
result is in memory, by the fastest of its ways, with the same number of threads. Results are compared before anything
is timed; runs take turns. Prints a table, with the ratio of medians of the faster of DuckDB and Polars over garuda, and
stores every sample as JSON. Exit status 1 when results differ.
"""

from __future__ import annotations

import argparse
import functools
import sys

from engines import session
from rivals import workloads

DUCKDB_WAYS = ("table→table", "table→arrow")


def parse_arguments() -> argparse.Namespace:
    names = [workload.name for workload in workloads.WORKLOADS]
    parser = argparse.ArgumentParser(prog="./dev bench rivals", description=__doc__)
    parser.add_argument("works", nargs="*", metavar="WORK", help=f"which ones: {', '.join(names)}")
    session.add_arguments(parser, list(session.RIVALS), 7, "build/rivals.json")
    parser.add_argument("--quick", action="store_true", help=f"rows and groups divided by {workloads.QUICK}")
    arguments = parser.parse_args()
    session.check_arguments(parser, arguments, list(session.RIVALS))
    for name in set(arguments.works) - set(names):
        parser.error(f"unknown work (allowed: {', '.join(names)}): {name}")
    return arguments


def main() -> int:
    arguments = parse_arguments()
    divisor = workloads.QUICK if arguments.quick else 1
    chosen = [w for w in workloads.WORKLOADS if w.name in arguments.works or (w.by_default and not arguments.works)]
    works = [
        session.Work(w.name, w.title, w.operation, functools.partial(w.tables, arguments.garuda, divisor), w.target)
        for w in chosen
    ]
    facts = {"quick": arguments.quick, "tables": {w.name: w.bench_arguments(divisor) for w in chosen}}
    if arguments.quick:
        print(f"Quick: all numbers of rows and groups divided by {workloads.QUICK}, which says nothing about speed")
    return session.run(works, session.memory_engines(arguments, DUCKDB_WAYS), arguments, facts, "End to end in memory")


if __name__ == "__main__":
    sys.exit(main())
