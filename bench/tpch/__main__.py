"""TPC-H's tables: the paper's joins (two columns out) and group-bys, and joins with all columns; garuda against DuckDB
and Polars.

Called by `./dev bench tpch`. In memory, from Arrow tables of the columns that a query reads, or, with --files, from
Parquet files to a file, garuda's command with its process, or by `garuda batch`. Whole results are compared before
anything is timed; runs take turns; all have the same number of threads. Prints a table, with the ratio of medians of the faster rival over
garuda. Exit status 1 when results differ.
"""

from __future__ import annotations

import argparse
import functools
import sys

from engines import files, report, session
from tpch import queries, tables

RIVALS = ["duckdb", "polars"]
DUCKDB_WAYS = ("table→arrow", "arrow→arrow")
FROM_PARQUET = report.Target(1, 1.5)


def parse_arguments() -> argparse.Namespace:
    names = [query.name for query in queries.QUERIES]
    parser = argparse.ArgumentParser(prog="./dev bench tpch", description=__doc__)
    parser.add_argument("--scale", default="1", help="factor (%(default)s)")
    parser.add_argument("--queries", default=",".join(names), help="by comma (%(default)s)")
    session.add_arguments(parser, RIVALS, 5, None)
    session.add_file_arguments(parser, ["parquet"])
    arguments = parser.parse_args()
    session.check_arguments(parser, arguments, RIVALS)
    arguments.queries = session.chosen_names(parser, arguments.queries, names, "query")
    return arguments


def make(operation: queries.engine.Operation, arguments: argparse.Namespace) -> session.Tables:
    reads = operation.reads()
    paths = tables.make(arguments.data, arguments.scale, set(reads))
    return paths if arguments.files else {name: files.read(path, reads[name]) for name, path in paths.items()}


def main() -> int:
    arguments = parse_arguments()
    target = FROM_PARQUET if arguments.files else None
    works = [
        session.Work(q.name, q.title, q.operation, functools.partial(make, q.operation, arguments), target)
        for q in queries.QUERIES
        if q.name in arguments.queries
    ]
    return session.run_in_memory_or_files(works, arguments, {"scale": arguments.scale}, DUCKDB_WAYS)


if __name__ == "__main__":
    sys.exit(main())
