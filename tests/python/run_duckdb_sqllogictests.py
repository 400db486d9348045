"""DuckDB's own sqllogictest files through garuda.duckdb.connect, beside plain DuckDB, by hand: nothing is fetched.

  .venv/bin/python tests/python/run_duckdb_sqllogictests.py CHECKOUT [--prices] [--verbose] [--files GLOB…]

CHECKOUT is one of DuckDB's repository, at the version that is installed or the nearest one before. Every statement of a
file runs in two databases: by plain DuckDB, and by garuda.duckdb.connect(prices=False), or at default prices. Rows are
compared as multisets, floats to 1e-9, errors by their types; what a file expects itself is not looked at, since plain
DuckDB is the reference. Printed: files, queries tried, how many garuda ran, how many of all were wrong, errors that
DuckDB does not have; what differs and is known to; why queries stayed with DuckDB. Exit status 1 when a query is wrong
or fails that does not in DuckDB.
"""

from __future__ import annotations

import argparse
import collections
import concurrent.futures
import json
import math
import os
import pathlib
import re
import subprocess
import sys
import tempfile
from typing import Any, Iterator, NamedTuple

FILES = ("join", "aggregate", "subquery", "collate")
CHECKOUT_TESTS = "test/sql"
SECONDS = 120  # A file is given up after so many.
REPEATED = 3
_QUERY = re.compile(r"\s*(select|from|with|values|\()", re.IGNORECASE)
_COLLECTIONS = {
    "<integral>": "tinyint smallint integer bigint hugeint utinyint usmallint uinteger ubigint uhugeint",
    "<signed>": "tinyint smallint integer bigint hugeint",
    "<unsigned>": "utinyint usmallint uinteger ubigint uhugeint",
    "<numeric>": "tinyint smallint integer bigint hugeint utinyint usmallint uinteger ubigint uhugeint float double",
    "<alltypes>": "tinyint smallint integer bigint hugeint utinyint usmallint uinteger ubigint uhugeint float double bool interval varchar",
}
# Requirements that every build of the package fulfils; other words are names of extensions, which are tried.
_FULFILLED = {"64bit", "longdouble", "strinline", "noforcestorage", "skip_reload", "no_alternative_verify", "vector_size",
              "exact_vector_size", "core_functions", "ram", "notwindows", "disk_space", "no_extension_autoloading"}  # fmt: skip
# Statements that differ by design, each with its reason.
KNOWN = (
    (re.compile(r"\s*(explain|pragma\s+explain)", re.IGNORECASE), "EXPLAIN has a row more: who runs the statement, and why"),
    (re.compile(r"\s*copy\b.*\breturn_(files|stats)\b", re.IGNORECASE | re.DOTALL), "COPY gives the paths of its files, in another folder here"),
    (re.compile(r"\s*insert\b.*\brandom\(\)", re.IGNORECASE | re.DOTALL), "INSERT gives the number of rows, which random() decides"),
)  # fmt: skip


class Left(Exception):
    """Why the rest of a file is left out."""


class Record(NamedTuple):
    """A statement or a query of a file."""

    line: int
    sql: str
    connection: str
    is_query: bool


def same(value: Any, wanted: Any) -> bool:
    if isinstance(value, float) and isinstance(wanted, float):
        if math.isnan(value) or math.isnan(wanted) or value == wanted == 0:
            return repr(value) == repr(wanted)
        return math.isclose(value, wanted, rel_tol=1e-9)
    if isinstance(value, (list, tuple)) and isinstance(wanted, (list, tuple)):
        return len(value) == len(wanted) and all(map(same, value, wanted))
    if isinstance(value, dict) and isinstance(wanted, dict):
        return same(list(value.items()), list(wanted.items()))
    return type(value) is type(wanted) and bool(value == wanted)


def _sorted(rows: list[Any]) -> list[Any]:
    return sorted(rows, key=lambda row: [f"{value:.9g}" if isinstance(value, float) else repr(value) for value in row])


def same_outcome(outcome: tuple[str, list[Any]], wanted: tuple[str, list[Any]]) -> bool:
    if outcome[0] != wanted[0] or len(outcome[1]) != len(wanted[1]):
        return False
    return same(outcome[1], wanted[1]) or same(_sorted(outcome[1]), _sorted(wanted[1]))


class File:
    """A file that runs in two databases."""

    def __init__(self, checkout: pathlib.Path, prices: bool, folder: str) -> None:
        self.checkout = checkout
        self.prices = prices
        self.paths = [f"{folder}/duckdb", f"{folder}/garuda"]
        self.counts: collections.Counter[str] = collections.Counter()
        self.reasons: list[str] = []
        self.ran: list[str] = []
        self.found: list[list[Any]] = []
        self.skips = False
        for path in self.paths:
            os.mkdir(path)
        self.open([":memory:", ":memory:"])

    def open(self, paths: list[str]) -> None:
        import duckdb
        import garuda
        import garuda.duckdb

        self.databases = paths
        plain = duckdb.connect(paths[0])
        ours = garuda.duckdb.connect(paths[1], engine=garuda.Engine(path="cpu"), prices=self.prices)
        self.connections: dict[str, Any] = {"": (plain, ours)}

    def close(self) -> None:
        for pair in self.connections.values():
            for connection in pair:
                connection.close()

    def pair(self, name: str) -> Any:
        if name not in self.connections:
            plain, ours = self.connections[""]
            self.connections[name] = (plain.cursor(), ours.cursor())
        return self.connections[name]

    def run(self, path: pathlib.Path, variables: dict[str, str]) -> None:
        lines = path.read_text(encoding="utf-8").splitlines()
        self.run_lines(lines, 0, len(lines), variables)

    def run_lines(self, lines: list[str], start: int, end: int, variables: dict[str, str]) -> None:
        at = start
        while at < end:
            line = lines[at].strip()
            if not line or line.startswith("#"):
                at += 1
                continue
            word, *rest = line.split()
            if word in ("loop", "foreach", "concurrentloop", "concurrentforeach"):
                after = _end_of_loop(lines, at)
                if not self.skips:
                    for values in _turns(word, [_filled(part, variables) for part in rest]):
                        self.run_lines(lines, at + 1, after, {**variables, **values})
                at = after + 1
                continue
            stop = at + 1
            while stop < end and lines[stop].strip():
                stop += 1
            if word in ("statement", "query"):
                body = lines[at + 1 : stop]
                marks = [i for i, text in enumerate(body) if text.strip() == "----"]
                sql = "\n".join(body[: marks[0]] if marks else body)
                name = rest[1] if word == "statement" and len(rest) > 1 else ""
                if word == "query" and len(rest) > 1 and rest[1] not in ("nosort", "rowsort", "valuesort"):
                    name = rest[1]
                if not self.skips:
                    self.record(Record(at + 1, sql, name, word == "query"), variables)
            else:
                self.directive(word, [_filled(part, variables) for part in rest], variables)
                stop = at + 1
            at = stop

    def directive(self, word: str, rest: list[str], variables: dict[str, str]) -> None:
        if word == "mode":
            self.skips = rest == ["skip"] if rest[0] in ("skip", "unskip") else self.skips
        elif self.skips:
            return
        elif word == "require":
            self.require(rest)
        elif word == "set" and rest[0] == "seed":
            self.record(Record(0, f"select setseed({rest[1]})", "", False), {})
        elif word == "set" and rest[0] == "variable":
            variables[rest[1]] = rest[2]
        elif word in ("load", "restart"):
            self.close()
            self.open([self.placed(rest[0], i) for i in (0, 1)] if word == "load" and rest else self.databases)
        elif word == "include":
            self.run(self.checkout / rest[0], variables)
        elif word not in ("hash-threshold", "tags", "sleep"):
            raise Left(f"{word} {' '.join(rest)}")

    def require(self, rest: list[str]) -> None:
        if rest[0] in _FULFILLED:
            return
        for connection in self.pair(""):
            try:
                connection.execute(f"load {rest[0]}")
            except Exception:
                raise Left(f"require {rest[0]}") from None

    def placed(self, text: str, which: int) -> str:
        text = text.replace("{TEST_DIR}", self.paths[which]).replace("__TEST_DIR__", self.paths[which])
        return text.replace("{DATA_DIR}", "data").replace("__WORKING_DIRECTORY__", str(self.checkout))

    def outcome(self, connection: Any, sql: str) -> tuple[str, list[Any]]:
        """An error's type and no rows, or nothing and the rows."""
        try:
            connection.execute(sql)
            return "", connection.fetchall()
        except Exception as error:
            return f"{type(error).__name__}", [(str(error).splitlines()[0],)] if "INTERNAL" in str(error) else []

    def record(self, record: Record, variables: dict[str, str]) -> None:
        sql = _filled(record.sql, variables)
        plain, ours = self.pair(record.connection)
        wanted = self.outcome(plain, self.placed(sql, 0))
        outcome = self.outcome(ours, self.placed(sql, 1))
        is_query = _QUERY.match(sql) is not None
        decision = getattr(ours, "decision", None) if is_query else None
        self.counts["queries" if is_query else "statements"] += 1
        if decision is not None and decision.engine == "garuda":
            self.counts["garuda"] += 1
            self.ran.append(f"{record.line}: {' '.join(sql.split())}")
        elif decision is not None:
            self.reasons.append(decision.reason)
        if same_outcome(outcome, wanted):
            return
        known = next((why for pattern, why in KNOWN if pattern.match(sql)), None)
        kind = "known" if known and not outcome[0] else "extra error" if outcome[0] and not wanted[0] else "wrong"
        if kind == "wrong" and is_query and not outcome[0] and (decision is None or decision.engine == "duckdb"):
            # Repeated by DuckDB alone, rows that vary differ from rows that are wrong.
            repeated = [(plain, 0), (ours.connection, 1)] * REPEATED
            again = [self.outcome(connection, self.placed(sql, which)) for connection, which in repeated]
            if not all(same_outcome(other, wanted) for other in again):
                kind = "varies"
        self.counts[kind] += 1
        self.found.append([kind, record.line, sql, known or [str(outcome)[:300], str(wanted)[:300]]])


def _filled(text: str, variables: dict[str, str]) -> str:
    for name, value in variables.items():
        text = text.replace("${" + name + "}", value).replace("{" + name + "}", value)
    return text


def _end_of_loop(lines: list[str], at: int) -> int:
    depth = 0
    for i in range(at, len(lines)):
        words = lines[i].split()
        depth += bool(words) and words[0] in ("loop", "foreach", "concurrentloop", "concurrentforeach")
        depth -= bool(words) and words[0] == "endloop"
        if not depth:
            return i
    raise Left("a loop without an end")


def _turns(word: str, rest: list[str]) -> Iterator[dict[str, str]]:
    name, *values = rest
    if word.endswith("loop"):
        values = [str(i) for i in range(int(values[0]), int(values[1]))]
    for value in (part for given in values for part in _COLLECTIONS.get(given, given).split()):
        if "," in name:
            yield dict(zip(name.split(","), value.split(",")))
        else:
            yield {name: value}


def run_one(checkout: pathlib.Path, name: str, prices: bool) -> dict[str, Any]:
    with tempfile.TemporaryDirectory() as folder:
        file = File(checkout, prices, folder)
        left = ""
        try:
            file.run(checkout / name, {})
        except Left as why:
            left = str(why)
        file.close()
    return {"counts": file.counts, "reasons": file.reasons, "found": file.found, "ran": file.ran, "left": left}


def in_a_process(checkout: pathlib.Path, name: str, prices: bool) -> dict[str, Any]:
    here = pathlib.Path(__file__).resolve()
    package = os.environ.get("GARUDA_PACKAGE", str(here.parents[2] / "build/python"))
    command = [sys.executable, str(here), str(checkout), "--one", name, *(["--prices"] if prices else [])]
    try:
        done = subprocess.run(command, cwd=checkout, env={**os.environ, "PYTHONPATH": package}, capture_output=True,
                              text=True, check=False, timeout=SECONDS)  # fmt: skip
    except subprocess.TimeoutExpired:
        return {"counts": {}, "reasons": [], "found": [], "ran": [], "left": f"not done in {SECONDS} s"}
    if done.returncode:
        found = [["extra error", 0, f"the process ended with {done.returncode}", done.stderr[-2000:]]]
        return {"counts": {"extra error": 1}, "reasons": [], "found": found, "ran": [], "left": ""}
    return dict(json.loads(done.stdout.splitlines()[-1]))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("checkout", type=pathlib.Path)
    parser.add_argument("--files", nargs="+", help="in test/sql; by default the *.test files of " + ", ".join(FILES))
    parser.add_argument("--prices", action="store_true", help="default prices, in place of all that garuda can run")
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--ran", type=pathlib.Path, help="a file that gets the queries that garuda ran")
    parser.add_argument("--verbose", action="store_true", help="what is known to differ, and what varies, too")
    parser.add_argument("--one", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    checkout = arguments.checkout.resolve()
    if arguments.one:
        print(json.dumps(run_one(checkout, arguments.one, arguments.prices)))
        return 0
    tests = checkout / CHECKOUT_TESTS
    names = sorted(str(path.relative_to(checkout)) for pattern in arguments.files or [f"{folder}/**/*.test" for folder in FILES]
                   for path in tests.glob(pattern))  # fmt: skip
    if not names:
        parser.error(f"no tests of DuckDB there: {tests}")
    counts: collections.Counter[str] = collections.Counter()
    reasons: collections.Counter[str] = collections.Counter()
    ran: list[str] = []
    with concurrent.futures.ThreadPoolExecutor(arguments.processes) as pool:
        results = pool.map(lambda name: in_a_process(checkout, name, arguments.prices), names)
        for name, result in zip(names, results):
            counts.update(result["counts"])
            reasons.update(re.sub(r"(: |of |types ).*|[\d,]+", r"\1…", reason) for reason in result["reasons"])
            ran += [f"{name}:{query}" for query in result["ran"]]
            if result["left"]:
                counts["left"] += 1
                print(f"{name}: the rest is left out: {result['left']}", flush=True)
            for kind, line, sql, why in result["found"]:
                if arguments.verbose or kind not in ("known", "varies"):
                    print(f"{kind}: {name}:{line}\n  {sql}\n  {why}", flush=True)
    if arguments.ran:
        arguments.ran.write_text("\n".join(ran) + "\n", encoding="utf-8")
    print(f"{len(names)} files, {counts['left']} of them in part; {counts['queries']} queries tried and {counts['statements']} "
          f"other statements; {counts['garuda']} queries run by garuda; {counts['wrong']} wrong, {counts['extra error']} errors "
          f"that DuckDB does not have; {counts['known']} known to differ, {counts['varies']} vary in DuckDB alone")  # fmt: skip
    print("queries that stayed with DuckDB, and why:")
    for reason, count in reasons.most_common():
        print(f"  {count:5} {reason}")
    return 1 if counts["wrong"] or counts["extra error"] else 0


if __name__ == "__main__":
    sys.exit(main())
