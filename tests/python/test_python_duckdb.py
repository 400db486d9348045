"""garuda.duckdb.connect: every statement gives what DuckDB alone gives."""

from __future__ import annotations

import duckdb
import garuda
import garuda.duckdb
import pyarrow
import pytest
from hypothesis import given
from hypothesis import strategies as st
from random_tables import KEYS, examples, number_types, tables

CPU = garuda.Engine(path="cpu")
TYPES = [pyarrow.int32(), pyarrow.int64(), pyarrow.uint16(), pyarrow.string(), pyarrow.date32(), pyarrow.timestamp("us"), pyarrow.bool_()]


def connection(**options: object) -> garuda.duckdb.Connection:
    return garuda.duckdb.connect(engine=CPU, **{"prices": False, **options})


def check(tried: garuda.duckdb.Connection, query: str) -> None:
    """Values, names and types, or the same error."""
    results = []
    for run in (tried.execute, tried.connection.execute):
        try:
            result = run(query)
            results.append(([tuple(d[:2]) for d in result.description], result.fetchall()))
        except duckdb.Error as error:
            results.append((type(error), []))
    (names, rows), (expected_names, expected) = results
    assert names == expected_names, query
    assert len(rows) == len(expected), query
    for row, other in zip(sorted(rows, key=repr), sorted(expected, key=repr)):
        for value, wanted in zip(row, other):
            assert value == (pytest.approx(wanted, rel=1e-12) if isinstance(wanted, float) else wanted), query


PARTS = {
    "select": ["l.k0", "k0x", "a0 + 1 as more", "b0", "upper(cast(l.k0 as varchar))", "case when a0 > 2 then b0 end", "count(*)", "*"],
    "grouped": ["count(*)", "count(b0)", "sum(a0)", "avg(b0) + count(a0)", "min(a0)", "max(l.k0)", "sum(b0) / count(*) as share"],
    "where": ["a0 > 1", "b0 is null", "a0 < b0", "l.k0 is not null", "a0 > 1 and b0 < 5", "a0 in (1, 2) or b0 > 3"],
}


@examples(60)
@given(data=st.data(), key=st.sampled_from(TYPES), left=number_types, right=number_types)
def test_statements(data: st.DataObject, key: pyarrow.DataType, left: list[object], right: list[object]) -> None:
    assert key in KEYS
    draw = data.draw
    with connection() as tried:
        tried.register("left_rows", draw(tables([key], "a", left)))
        tried.register("right_rows", draw(tables([key], "b", right)).rename_columns(["k0x", *(f"b{i}" for i in range(len(right)))]))
        tried.execute("create table l as from left_rows; create table r as from right_rows")
        source = "l " + draw(st.sampled_from(["join", "left join"])) + " r on " + draw(st.sampled_from(["l.k0 = r.k0x", "k0x = k0"]))
        where = draw(st.one_of(st.just(""), st.sampled_from(PARTS["where"]).map(" where ".__add__)))
        if draw(st.booleans()):
            chosen = ", ".join(draw(st.lists(st.sampled_from(PARTS["select"]), min_size=1, max_size=3, unique=True)))
            check(tried, f"select {chosen} from {source}{where}")
        else:
            chosen = ", ".join(draw(st.lists(st.sampled_from(PARTS["grouped"]), min_size=1, max_size=3, unique=True)))
            having = draw(st.sampled_from(["", " having count(*) > 1", " having sum(a0) > 3 or l.k0 is null"]))
            check(tried, f"select l.k0, {chosen} from {source}{where} group by l.k0{having} order by l.k0")


@pytest.fixture
def small() -> garuda.duckdb.Connection:
    tried = connection()
    tried.execute("create table t as select range as a, range % 3 as b, range / 2 as c from range(20)")
    tried.execute("create table u as select range % 5 as a, 'n' || range as s from range(10)")
    return tried


@pytest.mark.parametrize(
    ("query", "reason"),
    [
        ("select t.a, s from t join u on t.a = u.a", None),
        ("select b, sum(c) from t where a > 3 group by b", None),
        ("select x.a, count(*) n from t x left join u y on x.a = y.a group by x.a having n > 1 order by n, x.a limit 2", None),
        ("select * from t join u on t.a = u.a", "a star"),
        ("select t.a from t join u on t.a < u.a", "more than equal columns"),
        ("select t.a from t full join u on t.a = u.a", "other than inner or left"),
        ("select t.a from t join u using (a)", "other than inner or left"),
        ("select a + 1, count(*) from t group by a + 1", "computed groups"),
        ("select b, median(c) from t group by b", "neither a key nor aggregated"),
        ("select b, count(distinct c) from t group by b", "count with FILTER, DISTINCT"),
        ("select b, sum(c) filter (a > 2) from t group by b", "sum with FILTER"),
        ("select c, count(*) from t group by c", None),
        ("select b as a, count(*) from t group by b", "an alias that is a column"),
        ("select b as garuda_l0, count(*) as n from t group by b order by b", "an alias that begins with garuda_"),
        ("select b as l0, -b as l1, count(*) as a0 from t group by b order by l1 limit 1", None),
        ("select b, row_number() over (order by b) from t group by b", "a window function"),
        ("select t.a from t join u on t.a = u.a where t.a = (select max(a) from u)", "a subquery"),
        ("with v as (select 1) select b, count(*) from t group by b", "WITH"),
        ("select b, count(*) from t group by rollup (b)", "grouping sets"),
        ("select b, count(*) from t group by all", "neither a join nor a group-by"),
        ("select wrong from t join u on t.a = u.a", "not one column"),
        ("select b, count(*) from t group by b union select 1, 2", "a set operation"),
    ],
)
def test_what_stays_says_why(small: garuda.duckdb.Connection, query: str, reason: str | None) -> None:
    check(small, query)
    small.execute(query) if reason != "not one column" else None
    assert small.decision is not None
    if reason is None:
        assert small.decision.engine == "garuda", small.decision
    else:
        assert reason in small.decision.reason, small.decision


def test_the_rest_of_a_connection(small: garuda.duckdb.Connection) -> None:
    query = "select b, count(*) as n from t group by b order by b"
    relation = small.sql(query)
    assert str(small.decision) == "duckdb: a relation, which runs when it is read"
    assert small.execute(query).fetchall() == relation.fetchall() == [(0, 7), (1, 7), (2, 6)]
    assert relation.filter("b > 0").fetchall() == [(1, 7), (2, 6)]
    assert small.execute("select b from t where a = ?", [4]).fetchall() == [(1,)]
    small.execute("create table words as select 'word' as w, 1 as b")
    failing = "select b, sum(a) from (select 1) s join t on true group by b"
    check(small, failing)
    broken = "select t.a, count(*) from t join words on t.b = words.b where cast(w as bigint) > 0 group by t.a"
    with pytest.raises(duckdb.ConversionException):
        small.execute(broken).fetchall()
    assert small.execute("select 1").fetchall() == [(1,)]
    small.begin()
    small.execute("insert into t values (99, 99, 0)")
    assert small.execute(query).fetchall()[-1] == (99, 1)
    small.rollback()
    assert small.execute(query).fetchall()[-1] == (2, 6)
    explained = dict(small.execute(f"explain {query}").fetchall())
    assert explained["garuda"] == "garuda: group-by b, whatever it costs" and "physical_plan" in explained


def test_prices_and_strictness(small: garuda.duckdb.Connection) -> None:
    query = "select b, count(*) from t group by b"
    priced = garuda.duckdb.connect(small.connection)
    assert len(priced.execute(query).fetchall()) == 3
    assert str(priced.decision).startswith("duckdb: 20 rows, with which DuckDB is done")
    with pytest.raises(garuda.UsageError, match="computed groups"):
        garuda.duckdb.connect(small.connection, strict=True).execute("select a + 1 from t group by a + 1")
    priced.execute("create table large as select hash(range) % 1000000 as k, range as v from range(1200000)")
    priced.execute("alter table large alter k type bigint")
    largest = "select k, sum(v) as total from large group by k order by total desc, k limit 3"
    handed = {
        9: "duckdb: 9 threads, with which DuckDB is done before its rows are handed over",
        2: "garuda: group-by k, 1,200,000 rows, with which DuckDB is slower",
    }
    for threads, decision in handed.items():
        priced.execute(f"set threads = {threads}")
        check(priced, largest)
        looking = garuda.duckdb.connect(small.connection)  # which has not spent its time on looks yet
        looking.execute(largest).fetchall()
        assert str(looking.decision) == decision
        assert dict(looking.execute(f"explain {largest}").fetchall())["garuda"] == decision


def test_joins_that_hand_over_several_columns_of_strings_are_left_to_duckdb() -> None:
    with connection(prices=True, config={"threads": 2}) as priced:
        priced.execute("create table t as select range as k, range::varchar as s from range(2000000)")
        handed = {
            "l.k, r.s": "garuda: inner join, 2,000,000 and 2,000,000 rows, with which DuckDB is slower",
            "l.s, r.s as other": "duckdb: 2 columns of strings, which take longer to hand over than DuckDB to join",
        }
        for columns, decision in handed.items():
            explained = priced.execute(f"explain select {columns} from t l join t r on l.k = r.k").fetchall()
            assert dict(explained)["garuda"] == decision


def test_results_need_not_be_read_to_their_end(small: garuda.duckdb.Connection) -> None:
    query = "select b, count(*) as n from t group by b order by b"
    first = small.execute(query).fetchone()
    assert str(small.decision).startswith("garuda")
    assert small.execute(query).fetchone() == first == small.connection.execute(query).fetchone()
    small.execute(query)
    assert small.execute(f"explain {query}").fetchall()[-1][0] == "garuda"


def test_many_small_statements_are_not_all_looked_at() -> None:
    with connection(prices=True) as tried:
        tried.execute("create table t as select range as a, range % 3 as b from range(6)")
        query = "select b, sum(a) from t group by b order by b"
        reasons = set()
        for _ in range(2_000):
            assert tried.execute(query).fetchall() == [(0, 3), (1, 5), (2, 7)]
            reasons.add(tried.decision.reason)
        assert len(reasons) == 2 and any("not looked at" in reason for reason in reasons), reasons
        assert "6 rows" in dict(tried.execute(f"explain {query}").fetchall())["garuda"]
