"""Queries over Parquet files: row groups are left out that their statistics exclude, and the rows are DuckDB's."""

from __future__ import annotations

import datetime
import decimal
import math
import os
import pathlib
import random
from typing import Any, Callable, Optional

import duckdb
import garuda
import polars
import pyarrow
import pyarrow.parquet
import pytest
from random_tables import FULL

pytest.importorskip("datafusion")

ENGINE = garuda.Engine(path="cpu", threads=2)
CASES = int(os.environ.get("GARUDA_QUERY_CASES", 6_000 if FULL else 160))
FIRST = int(os.environ.get("GARUDA_TEST_SEED", 1))
ROWS, GROUP_ROWS = 1_200, 50
DAY = datetime.date(2001, 1, 1)
MOMENT = datetime.datetime(2001, 1, 1)

Values = list[Any]


def spread(draw: random.Random, number: int, least: int, greatest: int) -> int:
    """An integer that grows with the number of its row, about: a row group has a small part of all values."""
    width = greatest - least
    return min(max(least + width * number // ROWS + draw.randint(-width // 40, width // 40), least), greatest)


def text(draw: random.Random, number: int, prefix: str) -> str:
    return f"{prefix}{spread(draw, number, 0, 9_999):04}{draw.choice(['', 'x', 'é', chr(0x10FFFF), '%', '_'])}"


def float_of(draw: random.Random, number: int) -> float:
    special = draw.choice([math.nan, math.inf, -math.inf, -0.0, 0.0]) if draw.random() < 0.02 else None
    return spread(draw, number, -500, 500) / 4 if special is None else special


#: Types of columns, and the value of a row.
COLUMNS: dict[str, tuple[pyarrow.DataType, Callable[[random.Random, int], Any]]] = {
    "i8": (pyarrow.int8(), lambda d, i: spread(d, i, -128, 127)),
    "i32": (pyarrow.int32(), lambda d, i: spread(d, i, -(2**31), 2**31 - 1)),
    "i64": (pyarrow.int64(), lambda d, i: spread(d, i, -(2**63), 2**63 - 1)),
    "u8": (pyarrow.uint8(), lambda d, i: spread(d, i, 0, 255)),
    "u32": (pyarrow.uint32(), lambda d, i: spread(d, i, 0, 2**32 - 1)),
    "u64": (pyarrow.uint64(), lambda d, i: spread(d, i, 0, 2**64 - 1)),
    "f32": (pyarrow.float32(), float_of),
    "f64": (pyarrow.float64(), float_of),
    "flag": (pyarrow.bool_(), lambda d, i: i * 3 // ROWS > d.random() * 2),
    "d9": (pyarrow.decimal128(9, 2), lambda d, i: decimal.Decimal(spread(d, i, -99_999, 99_999)).scaleb(-2)),
    "d18": (pyarrow.decimal128(18, 4), lambda d, i: decimal.Decimal(spread(d, i, -(10**15), 10**15)).scaleb(-4)),
    "d30": (pyarrow.decimal128(30, 3), lambda d, i: decimal.Decimal(spread(d, i, -(10**27), 10**27)).scaleb(-3)),
    "day": (pyarrow.date32(), lambda d, i: DAY + datetime.timedelta(days=spread(d, i, -4_000, 4_000))),
    "ms": (pyarrow.timestamp("ms"), lambda d, i: MOMENT + datetime.timedelta(milliseconds=spread(d, i, -(10**9), 10**9))),
    "us": (pyarrow.timestamp("us"), lambda d, i: MOMENT + datetime.timedelta(microseconds=spread(d, i, -(10**12), 10**12))),
    "ns": (pyarrow.timestamp("ns"), lambda d, i: MOMENT + datetime.timedelta(microseconds=spread(d, i, -(10**9), 10**9))),
    "sec": (pyarrow.timestamp("s"), lambda d, i: MOMENT + datetime.timedelta(seconds=spread(d, i, -(10**9), 10**9))),
    "clock": (pyarrow.time64("us"), lambda d, i: (MOMENT + datetime.timedelta(microseconds=spread(d, i, 0, 86_399_999_999))).time()),
    "s": (pyarrow.string(), lambda d, i: text(d, i, "")),
    "wide": (pyarrow.string(), lambda d, i: text(d, i, "a prefix of more bytes than the statistics of most writers keep of a string: " * 2)),
}  # fmt: skip


def random_table(draw: random.Random) -> pyarrow.Table:
    columns = {}
    for name, (kind, value) in COLUMNS.items():
        nulls = draw.choice([0, 0, 0.05, 0.5])
        gap = range(0, 0) if draw.random() < 0.5 else range(draw.randrange(ROWS), ROWS)
        values = [None if draw.random() < nulls or i in gap else value(draw, i) for i in range(ROWS)]
        columns[name] = pyarrow.array(values, kind)
    return pyarrow.table({"k": pyarrow.array(range(ROWS), pyarrow.int64()), **columns})


def write(draw: random.Random, table: pyarrow.Table, path: pathlib.Path) -> None:
    """The table as a file of many row groups, by one of several writers."""
    if draw.random() < 0.2:
        polars.from_arrow(table).write_parquet(path, row_group_size=GROUP_ROWS, statistics="full")
        return
    pyarrow.parquet.write_table(
        table, path, row_group_size=GROUP_ROWS, use_dictionary=draw.random() < 0.5, version=draw.choice(["2.4", "2.6"]),
        write_statistics=draw.choice([True, True, True, list(COLUMNS)[::2]]), store_schema=draw.random() < 0.8,
        store_decimal_as_integer=draw.random() < 0.5, data_page_version=draw.choice(["1.0", "2.0"]),
    )  # fmt: skip


def literal(value: Any, kind: pyarrow.DataType) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, datetime.datetime):
        return f"timestamp '{value.isoformat(' ')}'"
    if isinstance(value, datetime.time):
        return f"time '{value}'"
    if isinstance(value, datetime.date):
        return f"date '{value}'"
    if isinstance(value, str):
        return f"'{value}'"
    if isinstance(value, float):
        return f"cast('{value}' as {'real' if kind == pyarrow.float32() else 'double'})"
    if isinstance(value, decimal.Decimal):  # digits with a point are floats to DataFusion
        return f"cast('{value:f}' as decimal({kind.precision}, {kind.scale}))"
    return str(value)


class Predicates:
    def __init__(self, draw: random.Random, table: pyarrow.Table) -> None:
        self.draw, self.table = draw, table

    def value(self, name: str) -> str:
        kind, make = COLUMNS[name]
        found: Optional[Any] = self.draw.choice(self.table[name]).as_py() if self.draw.random() < 0.5 else None
        if found is None:
            found = make(self.draw, self.draw.randrange(ROWS))
        if kind == pyarrow.timestamp("ns"):
            found = getattr(found, "to_pydatetime", lambda: found)()
        return literal(found, kind)

    def one(self) -> str:
        draw = self.draw
        name = draw.choice(list(COLUMNS))
        form = draw.randrange(10)
        if form < 4:
            return f"{name} {draw.choice(['=', '<>', '<', '<=', '>', '>='])} {self.value(name)}"
        if form == 4:
            return f"{self.value(name)} {draw.choice(['=', '<', '<=', '>', '>='])} {name}"
        if form == 5:
            return f"{name} between {self.value(name)} and {self.value(name)}"
        if form == 6:
            return f"{name} {draw.choice(['in', 'in', 'not in'])} ({', '.join(self.value(name) for _ in range(draw.randint(1, 5)))})"
        if form == 7:
            return f"{name} is {draw.choice(['', 'not '])}null"
        name = draw.choice(["s", "wide"])
        whole = text(draw, draw.randrange(ROWS), "" if name == "s" else "a prefix of more bytes than the statistics of most writers keep of a string: " * 2)
        part = whole[: draw.randint(0, len(whole))].rstrip("%_")
        return f"starts_with({name}, '{part}')" if form == 8 else f"{name} like '{part}{draw.choice(['%', '_%', '', '%0%'])}'"

    def predicate(self, depth: int = 2) -> str:
        kind = self.draw.random()
        if depth == 0 or kind < 0.3:
            return self.one()
        if kind < 0.4:
            return f"not ({self.predicate(depth - 1)})"
        word = " and " if kind < 0.75 else " or "
        return f"({word.join(self.predicate(depth - 1) for _ in range(2))})"


QUERIES = (
    "select k from r where {p}",
    "select count(*) as n, min(k) as least from r where {p}",
    "select r.k, q.k as other from r join (select * from r where {p}) q on r.k = q.k + 600",
    "select r.k, q.k as other from r left join r q on r.k = q.k and q.k < 900 where r.k > 100 and {r}",
    "select k from r where {p} and k in (select k from r where {q})",
    "select k from r where {p} union all select k + 1 from r where {q}",
    "select k, s from (select * from r where {p} order by k limit 100) where {q}",
)


def query_of(draw: random.Random, table: pyarrow.Table) -> str:
    make = Predicates(draw, table)
    one = make.predicate()
    qualified = one
    for name in sorted(COLUMNS, key=len, reverse=True):
        qualified = " ".join(f"r.{word}" if word == name else word for word in qualified.replace("(", "( ").replace(")", " )").replace(",", " ,").split(" "))
    return draw.choice(QUERIES).format(p=one, q=make.predicate(), r=qualified)


def test_random_predicates_give_duckdbs_rows(tmp_path: pathlib.Path) -> None:
    read = whole = refused = 0
    database = duckdb.connect(config={"threads": 1})
    for seed in range(FIRST, FIRST + CASES):
        draw = random.Random(seed)
        if seed % 8 == FIRST % 8:
            table = random_table(draw)
            database.register("rows", table)
            database.execute("create or replace table r as from rows")
            path = tmp_path / f"{seed}"
            path.mkdir()
            parts = draw.choice([1, 1, 3])
            for part in range(parts):
                size = ROWS // parts
                write(draw, table.slice(part * size, size), path / f"{part}.parquet")
        query = query_of(draw, table)
        expected = database.sql(query).fetchall()
        try:
            found = ENGINE.sql(query, r=garuda.scan(sorted(path.iterdir())))
        except garuda.UsageError as error:
            assert "DataFusion does not plan this query" in str(error), (seed, query)
            refused += 1
            continue
        rows = list(zip(*found.to_pydict().values()))
        assert sorted(map(repr, rows)) == sorted(map(repr, expected)), (seed, query, found.plan)
        read += found.stats["counters"].get("row_groups_read", 0)
        whole += found.stats["counters"].get("row_groups", 0)
    assert read < 0.8 * whole, (read, whole)
    assert refused <= 4 + CASES // 8, refused


# --- one thing each -------------------------------------------------------------------------------------------------


@pytest.fixture
def clustered(tmp_path: pathlib.Path) -> garuda.Scan:
    """Row groups of ten rows; a is null in the first one, b and zero ascend."""
    rows = range(100)
    table = pyarrow.table({
        "a": pyarrow.array([None if i < 10 else i for i in rows], pyarrow.int64()), "b": pyarrow.array(rows, pyarrow.int64()),
        "zero": pyarrow.array([max(i - 49, 0) for i in rows], pyarrow.int64()),
    })  # fmt: skip
    pyarrow.parquet.write_table(table, tmp_path / "clustered.parquet", row_group_size=10)
    return garuda.scan(tmp_path / "clustered.parquet")


def groups_read(query: str, **tables: Any) -> int:
    return int(ENGINE.sql(query, tables=tables).stats["counters"].get("row_groups_read", 0))


@pytest.mark.parametrize(("condition", "groups"), [
    ("b < 10", 1), ("b < 9 or b > 95", 2), ("b in (5, 55, 5000)", 2), ("a is null", 1), ("a is not null", 9), ("a > 200", 0),
    ("b between 20 and 39 and a <> 25", 2), ("not (b >= 10)", 1), ("b + 1 < 10", 10), ("cast(b as decimal(30, 2)) < 9.5", 1),
    ("b < null", 0),
])  # fmt: skip
def test_row_groups_that_a_filter_needs(clustered: garuda.Scan, condition: str, groups: int) -> None:
    query = f"select b from t where {condition}"
    assert groups_read(query, t=clustered) == groups
    assert sorted(ENGINE.sql(query, t=clustered).to_pydict()["b"]) == sorted(ENGINE.sql(query, t=clustered.read()).to_pydict()["b"])


@pytest.mark.parametrize(("query", "groups"), [
    ("select t.b from t join u on t.b = u.b and u.b < 10", 2), ("select t.b from t left join u on t.b = u.b and u.b < 10", 11),
    ("select b from t where b < 10 union all select b from u where b > 85", 3),
    ("select b from t where b < 10 union all select b from t where b > 85", 6),
    ("select sum(b) from (select * from t limit 50) where b < 10", 10),
    ("select count(*) from t where exists (select 1 from u where u.b = t.b and u.b > 95)", 11),
])  # fmt: skip
def test_row_groups_that_queries_of_several_scans_need(clustered: garuda.Scan, query: str, groups: int) -> None:
    rows = clustered.read()
    expected = ENGINE.sql(query, t=rows, u=rows).to_pydict()
    found = ENGINE.sql(query, t=clustered, u=clustered)
    assert sorted(map(repr, zip(*found.to_pydict().values()))) == sorted(map(repr, zip(*expected.values())))
    assert found.stats["counters"].get("row_groups_read", 0) == groups, found.plan


def test_errors_of_rows_are_not_left_out(clustered: garuda.Scan) -> None:
    # The rows where `zero` is zero are asked for the quotient before they are compared, or not at all.
    failing = "select b from t where 100 / zero > 0 and b > 80"
    for table in (clustered, clustered.read()):
        with pytest.raises(garuda.InvalidInputError, match="zero"):
            ENGINE.sql(failing, t=table)
    asked = "select b from t where b > 80 and 100 / zero > 1"
    assert ENGINE.sql(asked, t=clustered).to_pydict() == ENGINE.sql(asked, t=clustered.read()).to_pydict()
    assert groups_read(asked, t=clustered) == 2
    # A column that a row needs before its filter is computed for it, too.
    computed = "select b, q from (select b, 100 / zero as q from t) where q > 1 and b > 80"
    with pytest.raises(garuda.InvalidInputError, match="zero"):
        ENGINE.sql(computed, t=clustered)


def test_files_of_other_types_are_read_whole(tmp_path: pathlib.Path) -> None:
    polars.DataFrame({"k": [1, 2]}, schema={"k": polars.Int32}).write_parquet(tmp_path / "1.parquet")
    polars.DataFrame({"k": [3, 4]}, schema={"k": polars.Int64}).write_parquet(tmp_path / "2.parquet")
    files = garuda.scan(sorted(tmp_path.iterdir()))
    assert ENGINE.sql("select k from f where k > 1 order by k", f=files).to_pydict() == {"k": [2, 3, 4]}


def test_plans_say_what_was_read(clustered: garuda.Scan) -> None:
    found = ENGINE.sql("select b from t where b < 10", t=clustered)
    assert "1 of 10 row groups, " in str(found.plan)
    assert found.stats["counters"]["row_groups"] == 10
    assert 0 < found.stats["counters"]["file_bytes_read"] < found.stats["counters"]["file_bytes"]


def test_results_have_the_types_of_files(tmp_path: pathlib.Path) -> None:
    rows = {"s": ["a", "b", "a"] * 400, "d": [decimal.Decimal("1.25"), None, decimal.Decimal("-3.50")] * 400}
    table = pyarrow.table(rows, schema=pyarrow.schema([("s", pyarrow.string()), ("d", pyarrow.decimal128(9, 2))]))
    pyarrow.parquet.write_table(table, tmp_path / "t.parquet", store_decimal_as_integer=True, compression="none")
    for query in ("select s, d from t", "select s, min(d) as d from t group by s", "select s, d from t order by d, s limit 5",
                  "select coalesce(s, 'x') as s, d + d as d from t", "select s, d from t union all select s, d from t"):  # fmt: skip
        found = ENGINE.sql(query, t=garuda.scan(tmp_path / "t.parquet")).to_arrow()
        expected = ENGINE.sql(query, t=table).to_arrow()
        assert found.schema.types == expected.schema.types, query
        assert sorted(map(repr, found.to_pylist())) == sorted(map(repr, expected.to_pylist())), query
