"""Random queries in SQL, by garuda and by DuckDB: the same rows, in the same order where the query says one."""

from __future__ import annotations

import decimal
import functools
import math
import os
import random
import zlib
from typing import Any, Iterator, NamedTuple, Optional

import duckdb
import garuda
import pyarrow
import pytest
from random_sql import Queries, random_table
from random_tables import FULL

datafusion = pytest.importorskip("datafusion")

#: Seeds of a run; GARUDA_QUERY_CASES takes another number of them, GARUDA_TEST_SEED another first one.
CASES = int(os.environ.get("GARUDA_QUERY_CASES", 20_000 if FULL else 1_200))
FIRST = int(os.environ.get("GARUDA_TEST_SEED", 1))
PARTS = 8

#: Queries that DataFusion does not plan, or plans as what Substrait cannot say.
NOT_PLANNED = (
    "DataFusion does not plan this query", "DataFusion plans this NOT IN", "DataFusion's plans of Substrait have no USING",
)  # fmt: skip
#: Rules of DataFusion's that move conditions below aggregates without groups, where a constant one loses its rows.
RULES = ("push_down_filter",)

Tables = dict[str, pyarrow.Table]
Rows = list[tuple[Any, ...]]


class Case(NamedTuple):
    seed: int
    query: str
    tables: Tables


def case(seed: int) -> Case:
    draw = random.Random(seed)
    tables = {name: random_table(draw, name) for name in ("r", "s", "t")}
    return Case(seed, Queries(draw, tables).query(), tables)


def rows_of(table: pyarrow.Table) -> Rows:
    return list(zip(*(column.to_pylist() for column in table.columns)))


def is_close(found: Any, expected: Any) -> bool:
    """Whether two values are one: floats to 1e-9, decimals to their last digit beside a float."""
    if found is None or expected is None:
        return found is expected
    if isinstance(found, decimal.Decimal) and isinstance(expected, float):
        unit = 10.0 ** float(found.as_tuple().exponent)
        return abs(float(found) - expected) <= unit + 1e-9 * abs(expected)
    if isinstance(found, float) or isinstance(expected, float):
        if math.isnan(found) or math.isnan(expected):
            return math.isnan(found) and math.isnan(expected)
        return math.isclose(found, expected, rel_tol=1e-9, abs_tol=1e-9)
    return bool(found == expected)


def order(row: tuple[Any, ...]) -> tuple[Any, ...]:
    """A place among rows that values which are close share, as a rule."""
    exact = [(value is None, str(value)) for value in row if not isinstance(value, (float, decimal.Decimal))]
    rough = [f"{float(value):.4g}" for value in row if isinstance(value, (float, decimal.Decimal))]
    return (str(exact), rough)


def are_alike(row: tuple[Any, ...], other: tuple[Any, ...]) -> bool:
    return len(row) == len(other) and all(map(is_close, row, other))


def difference(found: Rows, expected: Rows, in_order: bool) -> Optional[str]:
    """The first row that differs; None: there is none."""
    if len(found) != len(expected):
        return f"{len(found)} rows, not {len(expected)}"
    if not in_order:
        found, expected = sorted(found, key=order), sorted(expected, key=order)
    wrong = [i for i, (row, other) in enumerate(zip(found, expected)) if not are_alike(row, other)]
    if not wrong:
        return None
    left = [expected[i] for i in wrong]
    for i in wrong:  # close values may have been sorted apart
        same = next((n for n, row in enumerate(left) if are_alike(found[i], row)), None)
        if in_order or same is None:
            return f"row {i} is {found[i]}, not {expected[i]}"
        del left[same]
    return None


@functools.cache
def database() -> duckdb.DuckDBPyConnection:
    return duckdb.connect(config={"threads": 1})


def by_duckdb(query: str, tables: Tables) -> Rows:
    for name, table in tables.items():
        database().register(name, table)
    return rows_of(database().sql(query).to_arrow_table())


def by_datafusion(query: str, tables: Tables, without: tuple[str, ...] = ()) -> Rows:
    context = datafusion.SessionContext()
    for rule in without:
        context.remove_optimizer_rule(rule)
    for name, table in tables.items():
        is_coded = pyarrow.types.is_dictionary
        plain = pyarrow.schema([f.with_type(pyarrow.string()) if is_coded(f.type) else f for f in table.schema])
        context.register_record_batches(name, [table.cast(plain).to_batches() or [pyarrow.RecordBatch.from_pylist([], plain)]])
    return rows_of(context.sql(query).to_arrow_table())


def is_planners(query: str, tables: Tables, found: Rows) -> bool:
    """Whether DataFusion gives these rows with its rules, and others without them: the plan is wrong, not its run."""
    try:
        own, plain = by_datafusion(query, tables), by_datafusion(query, tables, RULES)
    except Exception:  # of DataFusion, which has its own classes
        return False
    return difference(found, own, False) is None and difference(found, plain, False) is not None


def check(query: str, tables: Tables, engine: garuda.Engine) -> tuple[str, str]:
    """What came of a query, every other one over stored tables: `same`, `wrong`, `both fail`, `not planned`, `planned wrongly` or `DuckDB fails`, and why."""
    try:
        expected: Optional[Rows] = by_duckdb(query, tables)
        reason = ""
    except duckdb.Error as error:
        expected, reason = None, str(error)
    stored = {name: engine.store(table) for name, table in tables.items()} if zlib.crc32(query.encode()) % 2 else tables
    try:
        found = rows_of(engine.sql(query, tables=stored).to_arrow())
    except garuda.Error as error:
        if str(error).startswith(NOT_PLANNED):
            return "not planned", str(error)
        return ("both fail", reason) if expected is None else ("wrong", f"{type(error).__name__}: {error}")
    if expected is None:
        return "DuckDB fails", reason
    tail = query.rsplit(")", 1)[-1] if "order by" in query else ""
    wrong = difference(found, expected, "order by" in tail)
    if wrong is None:
        return "same", ""
    return ("planned wrongly" if is_planners(query, tables, found) else "wrong"), wrong


def parts(tables: Tables) -> Iterator[Tables]:
    """The same tables, one of them with fewer rows."""
    for name, table in tables.items():
        half = table.num_rows // 2
        for rows in (table.slice(0, half), table.slice(half), *(table.slice(i, 1) for i in range(table.num_rows) if half < 2)):
            if rows.num_rows < table.num_rows:
                yield {**tables, name: rows.combine_chunks()}
        if 1 < table.num_rows <= 12:
            for i in range(table.num_rows):
                yield {**tables, name: pyarrow.concat_tables([table.slice(0, i), table.slice(i + 1)]).combine_chunks()}


def smallest(query: str, tables: Tables, engine: garuda.Engine) -> Tables:
    """Tables of fewer rows with which the query still goes wrong."""
    for fewer in parts(tables):
        if check(query, fewer, engine)[0] == "wrong":
            return smallest(query, fewer, engine)
    return tables


def report(failed: Case, reason: str, engine: garuda.Engine) -> str:
    tables = smallest(failed.query, failed.tables, engine)
    shown = "\n".join(f"{name}: {table.to_pylist()}" for name, table in tables.items() if f" {name} " in failed.query)
    return f"seed {failed.seed}: {reason}\n{failed.query}\n{check(failed.query, tables, engine)[1]}, with\n{shown}"


@pytest.mark.parametrize("part", range(PARTS))
def test_random_queries_give_duckdbs_rows(part: int) -> None:
    counts: dict[str, int] = {}
    engine = garuda.Engine(path="cpu", threads=1 + part % 3)
    for seed in range(FIRST + part, FIRST + CASES, PARTS):
        tried = case(seed)
        came, reason = check(tried.query, tried.tables, engine)
        assert came != "wrong", report(tried, reason, engine)
        counts[came] = counts.get(came, 0) + 1
    print(counts)
    assert counts.get("planned wrongly", 0) <= 1 + CASES // 2_000, counts
    if CASES >= 50 * PARTS:
        assert counts.get("same", 0) > 0.9 * sum(counts.values()), counts


def test_random_queries_on_devices(run_on: dict[str, object]) -> None:
    if run_on["path"] == "cpu":
        pytest.skip("the test above runs on the CPU")
    engine = garuda.Engine(**run_on)
    for seed in range(FIRST, FIRST + CASES // 40):
        tried = case(seed)
        came, reason = check(tried.query, tried.tables, engine)
        assert came != "wrong", report(tried, reason, engine)
