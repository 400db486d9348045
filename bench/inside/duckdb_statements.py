"""Statements of DuckDB, alone and by garuda.duckdb.connect() over the same database."""

from __future__ import annotations

import argparse
import dataclasses
from collections.abc import Callable, Iterator
from typing import Any

import duckdb
import garuda.duckdb
import pyarrow
from db_benchmark import questions
from db_benchmark import tables as db_tables
from engines import duckdb_rival, engine, files

# Tables of 1 000 and 100 rows; and what takes DuckDB well below a millisecond, or some.
SMALL = {
    "no table": "select 42 as answer",
    "a row": "select a, x from s where a = 7",
    "a sum": "select sum(x) as total from s",
    "groups": "select b, sum(x) as total from s group by b",
    "join": "select s.a, t.y from s join t on s.b = t.b",
    "join and groups": "select t.y, sum(s.x) as total from s join t on s.b = t.b group by t.y",
    "three tables": "select t.y, count(*) as n from s join t on s.b = t.b join t u on u.b = t.b group by t.y",
    "subquery": "select a from s where b in (select b from t where y > 3 group by b)",
}
# Tables of 3 M rows, of which some are promising at first sight and do not pay.
LARGE = {
    "few groups": "select b, sum(x) as total, count(*) as n from big group by b",
    "few groups, a filter": "select b, sum(x) as total from big where x > 0.5 group by b",
    "groups of a filter": "select k, sum(x) as total from big where a < 1000 group by k",
    "many groups": "select k, sum(x) as total, count(*) as n from big group by k",
    "a join": "select sum(l.x) as total from big l join big2 r on l.k = r.k",
    "a join with few": "select sum(l.x + t.y) as total from big l join t on l.b = t.b",
    "join and few groups": "select r.b, sum(l.x) as total from big l join big2 r on l.k = r.k group by r.b",
}


def sorted_rows(rows: pyarrow.Table) -> pyarrow.Table:
    return rows.sort_by([(name, "ascending") for name in rows.column_names])


def difference(expected_columns: dict[str, Any], columns: dict[str, Any]) -> str | None:
    expected, rows = pyarrow.table(expected_columns), pyarrow.table(columns)
    if expected.schema != rows.schema or len(expected) != len(rows):
        return f"{len(rows)} rows of {rows.schema}, not {len(expected)} of {expected.schema}"
    query = " and ".join(
        f"(a.{n} is not distinct from b.{n} or abs(a.{n} - b.{n}) <= 1e-9 * abs(a.{n}))" if pyarrow.types.is_floating(kind) else
        f"a.{n} is not distinct from b.{n}" for n, kind in ((duckdb_rival.quoted(f.name), f.type) for f in rows.schema)
    )  # fmt: skip
    with duckdb.connect() as database:
        database.register("a", sorted_rows(expected))
        database.register("b", sorted_rows(rows))
        [(equal,)] = database.execute(f"select count(*) from a positional join b where {query}").fetchall()
    return None if equal == len(rows) else f"{len(rows) - equal} other rows"


def pair_of(make: Callable[..., Any], database: garuda.duckdb.Connection, name: str, query: str) -> Any:
    def run(connection: Any) -> Callable[[], Any]:
        return lambda: connection.execute(query).fetchnumpy()

    return make(name, run(database.connection), run(database), difference, lambda: str(database.decision))


def connect(arguments: argparse.Namespace) -> garuda.duckdb.Connection:
    return garuda.duckdb.connect(config={"preserve_insertion_order": "false"}, prices=not arguments.always)


def small(arguments: argparse.Namespace, make: Callable[..., Any]) -> Iterator[Any]:
    database = connect(arguments)
    for name, rows, keys in (("s", 1_000, 97), ("big", 3_000_000, 1_000), ("big2", 3_000_000, 1_000)):
        database.execute(f"create table {name} as select range as a, range % {keys} as b, hash(range + {len(name)}) % 2000000 as k, "
                         f"random() as x from range({rows})")  # fmt: skip
    database.execute("create table t as select range as b, range % 11 as y from range(100)")
    for name, query in {**SMALL, **LARGE}.items():
        yield pair_of(make, database, name, query)


def named(join: engine.Join, tables: dict[str, pyarrow.Table]) -> engine.Join:
    """With its columns by name, which garuda needs: one of a name, the left one."""
    left, right = (tables[name].column_names for name in (join.left, join.right))
    columns = [f"left.{name}" for name in left] + [f"right.{name}" for name in right if name not in left]
    return dataclasses.replace(join, columns=tuple(columns))


def db_benchmark(arguments: argparse.Namespace, make: Callable[..., Any]) -> Iterator[Any]:
    shape = db_tables.Shape(arguments.rows, False, False)
    for kind in db_tables.NAMES:
        paths = db_tables.make(arguments.data, kind, shape, "arrow")
        tables = {name: files.read(path) for name, path in paths.items()}
        database = connect(arguments)
        for name, rows in tables.items():
            database.register(f"{name}_rows", rows)
            database.execute(f"create table {name} as from {name}_rows")
        for question in questions.QUESTIONS:
            asked = question.operation
            if question.tables != kind:
                continue
            if isinstance(asked, engine.Join):
                asked = named(asked, tables)
                query = duckdb_rival.join_text(asked, asked.left, asked.right)
            else:
                query = duckdb_rival.group_by_text(asked, asked.table)
            yield pair_of(make, database, question.name, query)
