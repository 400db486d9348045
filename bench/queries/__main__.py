"""Whole queries in SQL, TPC-H's 22, SSB's 13, ClickBench's 43 and db-benchmark's 15: garuda against DuckDB, and Polars
where its SQL reads a text.

Called by `./dev bench queries`. In memory (garuda from stored tables, DuckDB from its own, plain and compressed, Polars from frames with texts and with
categories, whichever is faster) or, with --files parquet, from Parquet files, to a result in memory; runs take turns; all have the same number of threads. Every answer is compared with DuckDB's before
anything is timed. garuda's time begins when DataFusion has planned the query, which is a column of its own. Prints a
table with the ratio of medians of the faster rival over garuda, the geometric mean of these and the least. Exit status
1 when an answer of garuda is wrong.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import time

import duckdb
import pyarrow as pa
from engines import files, measure, report, session
from queries import answers, rivals, sets

RIVALS = ["duckdb", "polars"]
#: The geometric mean of a set's ratios that is required and the one that is aimed at, and the least ratio, on the CPU.
BOUNDS = {
    "memory": {"tpch": (1.3, 2.0, 0.9), "ssb": (1.3, 2.0, 0.9), "clickbench": (1.2, 1.2, 0.0)},
    "parquet": {"tpch": (1.1, 1.6, 0.0), "ssb": (1.1, 1.6, 0.0)},
}


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="./dev bench queries", description=__doc__)
    parser.add_argument("--sets", default=",".join(sets.SETS), help="by comma (%(default)s)")
    parser.add_argument("--queries", help="by comma (all)")
    parser.add_argument("--scale", default="1", help="factor, or 10^6 rows (%(default)s)")
    session.add_arguments(parser, RIVALS, 5, None)
    session.add_data_arguments(parser, ["parquet"], to_files=False)
    arguments = parser.parse_args()
    if arguments.forced:
        parser.error(f"joins and group-bys alone are run by several paths in turn: --forced {arguments.forced}")
    session.check_arguments(parser, arguments, RIVALS)
    arguments.sets = session.chosen_names(parser, arguments.sets, list(sets.SETS), "set")
    every = [name for chosen in arguments.sets for name in sets.SETS[chosen].texts]
    arguments.queries = session.chosen_names(parser, arguments.queries or ",".join(every), every, "query")
    return arguments


def engines_of(arguments: argparse.Namespace) -> list:
    ours = rivals.GarudaSql(session.version(arguments), arguments.path, arguments.threads)
    makers = {
        "duckdb": lambda: rivals.DuckDbSql(arguments.threads, bool(arguments.files)),
        "polars": lambda: rivals.PolarsSql(arguments.threads, bool(arguments.files)),
    }
    return [ours, *(makers[name]() for name in arguments.rivals)]


def verified(runners: list, query: str, oracle: duckdb.DuckDBPyConnection) -> tuple[list[measure.Series], dict[str, str]]:
    """Runs every way of every engine, and says of rivals that do not answer the query why. Raises WrongResult where
    garuda does not."""
    every, left_out = [], {}
    for runner in runners:
        series = measure.Series(runner)
        for way in runner.ways:
            try:
                run = measure.timed(runner, query, way)
                found = runner.to_arrow(run.result)
                wrong = answers.difference(oracle, query, found)
            except Exception as error:  # each engine has classes of errors of its own
                wrong = f"{type(error).__name__}: {error}"
            if wrong and runner is runners[0]:
                raise measure.WrongResult(wrong)
            if wrong:
                left_out[f"{runner.name} ({way})"] = wrong.splitlines()[0]
                continue
            series.rows_out = found.num_rows
            series.tried[way] = min(run.seconds, measure.timed(runner, query, way).seconds)
        if series.tried:
            every.append(series)
    return every, left_out


def run_query(name: str, query: str, runners: list, oracle: duckdb.DuckDBPyConnection, arguments: argparse.Namespace) -> dict:
    runners[0].planning_s.clear()
    every, left_out = verified(runners, query, oracle)
    measure.sample(every, query, arguments.repeat)
    fields = report.record(name, name, "From Parquet" if arguments.files else "In memory", every, None)
    return fields | {"planning_s": runners[0].planning_s[0], "left_out": left_out}


def summary(records: list[dict], bounds: tuple[float, float, float] | None) -> dict:
    """The geometric mean and the least of the ratios, with what is required of them."""
    ratios = [fields["ratio"] for fields in records if "ratio" in fields]
    if not ratios:
        return {}
    least = min((fields for fields in records if "ratio" in fields), key=lambda fields: fields["ratio"])
    found = {"geometric_mean": statistics.geometric_mean(ratios), "least": least["ratio"], "least_of": least["name"]}
    return found | (dict(zip(("must", "aim", "least_must"), bounds)) if bounds else {})


def table(records: list[dict], runners: list) -> str:
    lines = [["query", "rows", "planning, ms", *(runner.name for runner in runners), "rival / garuda"]]
    for fields in records:
        by_name = {entry["name"]: report.time_cell(entry) for entry in fields["engines"]}
        planning = f"{1e3 * fields['planning_s']:.1f}"
        times = [by_name.get(runner.name, "–") for runner in runners]
        lines.append([fields["name"], f"{fields['rows_out']:,}", planning, *times, report.ratio_cell(fields, "ratio")])
    widths = [max(map(len, column)) for column in zip(*lines)]
    lines.insert(1, ["-" * width for width in widths])
    return "\n".join(f"| {' | '.join(cell.ljust(width) for cell, width in zip(line, widths))} |" for line in lines)


def run_set(name: str, runners: list, arguments: argparse.Namespace) -> dict | None:
    """Measures the queries of a set; None: an answer is wrong."""
    chosen, records = sets.SETS[name], []
    paths = chosen.make(arguments.data, arguments.scale)
    tables: rivals.Tables = paths if arguments.files else {n: files.read(path) for n, path in paths.items()}
    oracle = rivals.DuckDbSql(arguments.threads, from_files=True)
    oracle.load(paths)
    load_s = {}
    for runner in runners:
        start = time.perf_counter()
        runner.load(tables)
        load_s[runner.name] = time.perf_counter() - start
    for query in chosen.texts:
        if query not in arguments.queries:
            continue
        print(f"{chosen.title} {query} …", file=sys.stderr, flush=True)
        try:
            records.append(run_query(query, chosen.texts[query], runners, oracle.database, arguments))
        except measure.WrongResult as error:
            print(f"error: {chosen.title} {query}: {error}", file=sys.stderr)
            return None
    bounds = BOUNDS[arguments.files or "memory"].get(name) if arguments.path == "cpu" else None
    return {"set": name, "load_s": load_s, "queries": records, "summary": summary(records, bounds)}


def show(stored: dict, runners: list) -> None:
    print(f"\n{sets.SETS[stored['set']].title}\n\n{table(stored['queries'], runners)}")
    for fields in stored["queries"]:
        for who, why in fields["left_out"].items():
            print(f"{fields['name']}: left out: {who}: {why}")
    loads = ", ".join(f"{name} {seconds:.2f}" for name, seconds in stored["load_s"].items())
    print(f"tables were loaded, in all the forms that are tried, in s: {loads}")
    found = stored["summary"]
    if found:
        required = f" (must {found['must']:g}, aim {found['aim']:g})" if "must" in found else ""
        print(f"geometric mean {found['geometric_mean']:.2f}{required}, least {found['least']:.2f} ({found['least_of']})")


def main() -> int:
    arguments = parse_arguments()
    arguments.data.mkdir(parents=True, exist_ok=True)
    runners, done = engines_of(arguments), []
    machine = session.environment(arguments) | {"scale": arguments.scale, "pyarrow": pa.__version__}
    for name in arguments.sets:
        stored = run_set(name, runners, arguments)
        if stored is None:
            return 1
        done.append(stored)
        if arguments.output:
            arguments.output.parent.mkdir(parents=True, exist_ok=True)
            arguments.output.write_text(json.dumps(machine | {"sets": done}, indent=1) + "\n", encoding="utf-8")
    versions = ", ".join(f"{runner.name} {runner.version}" for runner in runners)
    mode = "from Parquet files" if arguments.files else "in memory"
    print(f"{machine['processor']}, {arguments.threads} threads, {machine['date']}; {versions}; scale {arguments.scale}")
    print(f"Queries in SQL, {mode}, verified; median ± MAD (least … greatest) of {arguments.repeat} samples")
    for stored in done:
        show(stored, runners)
    return 0


if __name__ == "__main__":
    sys.exit(main())
