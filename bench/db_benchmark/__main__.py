"""db-benchmark, the public group-by and join benchmark that H2O.ai began and DuckDB Labs keeps, over our own tables of
its shapes: garuda against DuckDB and Polars.

Called by `./dev bench db-benchmark`. In memory every engine is timed from Arrow, or from tables of its own where that
is faster, to a result in memory; with --files from files to a file, garuda's command with its process, or by `garuda
batch`. Whole results are compared with DuckDB's before anything is timed, floats to within 1e-9; runs take turns; all
have the same number of threads. Prints a table, with the ratio of medians of the faster rival over garuda. Exit status 1 when results differ.
"""

from __future__ import annotations

import argparse
import functools
import sys

from db_benchmark import questions, tables
from engines import files, report, session

RIVALS = ["duckdb", "polars"]
DUCKDB_WAYS = ("table→arrow", "arrow→arrow")
# A target is the ratio that a run has to reach and the one that it aims at: from Parquet, in memory by rows and path.
FROM_PARQUET = report.Target(1, 1.5)
IN_MEMORY = {(10**7, "cpu"): report.Target(1.5, 3), (10**8, "cpu"): report.Target(1.2, 2.5)}
IN_MEMORY[10**8, "auto"] = report.Target(2, 5)


def rows(text: str) -> int:
    """1e7, or 10000000."""
    count = int(float(text))
    if count < 1 or count != float(text):
        raise argparse.ArgumentTypeError(f"must be a positive number of rows: {text}")
    return count


def parse_arguments() -> argparse.Namespace:
    names = [question.name for question in questions.QUESTIONS]
    parser = argparse.ArgumentParser(prog="./dev bench db-benchmark", description=__doc__)
    parser.add_argument("--rows", type=rows, default=10**7, help="of the tables x: 1e7, 1e8, 1e9 (%(default)s)")
    parser.add_argument("--sorted", action="store_true", help="tables sorted by their id columns")
    parser.add_argument("--nulls", action="store_true", help="5 %% of the values are null")
    parser.add_argument("--questions", default=",".join(names), help="by comma (%(default)s)")
    session.add_arguments(parser, RIVALS, 5, None)
    session.add_file_arguments(parser)
    arguments = parser.parse_args()
    session.check_arguments(parser, arguments, RIVALS)
    arguments.questions = session.chosen_names(parser, arguments.questions, names, "question")
    return arguments


def target(arguments: argparse.Namespace) -> report.Target | None:
    if arguments.sorted or arguments.nulls:
        return None
    if arguments.files:
        return FROM_PARQUET if arguments.files == "parquet" else None
    return IN_MEMORY.get((arguments.rows, arguments.path))


def main() -> int:
    arguments = parse_arguments()
    shape = tables.Shape(arguments.rows, arguments.sorted, arguments.nulls)

    def make(kind: str) -> session.Tables:
        paths = tables.make(arguments.data, kind, shape, arguments.files or "arrow")
        return paths if arguments.files else {name: files.read(path) for name, path in paths.items()}

    makers = {kind: functools.partial(make, kind) for kind in tables.NAMES}
    works = [
        session.Work(question.name, question.title, question.operation, makers[question.tables], target(arguments))
        for question in questions.QUESTIONS
        if question.name in arguments.questions
    ]
    facts = {"rows": shape.rows, "sorted": shape.ordered, "nulls": shape.nulls}
    return session.run_in_memory_or_files(works, arguments, facts, DUCKDB_WAYS)


if __name__ == "__main__":
    sys.exit(main())
