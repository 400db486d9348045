"""garuda.duckdb.connect hands over only what it has proved: aggregates, macros, collations, filters, signs of zeros."""

from __future__ import annotations

import garuda
import garuda.duckdb
import pytest
from duckdb_rows import check, rows, tried  # noqa: F401


def test_every_aggregate_of_a_key_is_known_or_refused(tried: garuda.duckdb.Connection) -> None:
    names = "select distinct function_name from duckdb_functions() where function_type = 'aggregate' order by all"
    for (name,) in tried.connection.execute(names).fetchall():
        for arguments in ("k", "1", "k + 1", "k, 0.5", "s, k"):
            if name.startswith(("reservoir", "approx")) and "," in arguments:
                continue  # these choose their rows by chance
            check(tried, f'select "{name}"({arguments}) as made from t group by k, s')


@pytest.mark.parametrize(
    "item",
    ["count(1)", "sum(k + 1)", "sum(1)", "k.sum()", "main.sum(k)", "system.main.sum(v)", "total(k)", "twice(v)", "plus(k)",
     "sum(v), total(k)", "count(v), twice(v)", "k, grouping(k)", "list(k order by k)", "unnest([k, k])", "mode() within group (order by k)",
     "count(k) filter (k > 2)", "[x + k for x in [1, 2]]", "coalesce(k, count(*))", "case when count(*) > 1 then k end"],
)  # fmt: skip
def test_functions_and_macros(tried: garuda.duckdb.Connection, item: str) -> None:
    tried.execute("create macro total(x) as sum(x); create macro twice(x) as sum(x) * 2; create macro plus(x) as x + 1")
    check(tried, f"select {item} from t group by k")
    check(tried, f"select k from t group by k having ({item.split(',')[-1]}) is not null")
    check(tried, f"select k from t group by k order by {item.split(',')[-1]}, k")


def test_a_macro_that_is_called_as_an_aggregate(tried: garuda.duckdb.Connection) -> None:
    query = "select k, sum(v) from t group by k"
    tried.execute(query)
    assert tried.decision.engine == "garuda"
    tried.execute("create macro sum(x) as system.main.sum(x) * 2")
    check(tried, query)


@pytest.mark.parametrize("how", ["table", "view", "query", "default"])
@pytest.mark.parametrize(
    "query",
    ["select s, sum(v) from c group by s", "select c.v, d.w from c join d on c.s = d.s", "select c.v, c.s = 'KEY1' from c join d on c.v = d.w",
     "select v % 2 as m, min(s), max(s), count(s) from (from c) group by v % 2", "select v, max(s) from c group by v",
     "select c.v, c.s from c join d on c.v = d.w order by c.s, c.v", "select c.s from c left join d on c.v = d.w group by c.s",
     "select c.v, count(*) from c join d on c.s = d.s group by c.v", "select v, count(*) from c where s = 'KEY1' group by v"],
)  # fmt: skip
def test_collations(tried: garuda.duckdb.Connection, how: str, query: str) -> None:
    collated = "s collate nocase" if how == "view" else "s"
    kind = {"table": "varchar collate nocase", "query": "varchar collate noaccent"}.get(how, "varchar")
    tried.execute(f"create table plain (s {kind}, v bigint)")
    tried.execute("insert into plain select 'key' || range % 7, range from range(30)")
    tried.execute("insert into plain select 'KEY' || range % 7, range + 30 from range(30); insert into plain values (null, 99)")
    tried.execute("insert into plain select 'KÉY' || range % 7, range + 60 from range(30)")
    tried.execute(f"create view c as select {collated} as s, v from plain; create view d as select {collated} as s, v as w from plain")
    if how == "default":
        tried.execute("set default_collation = 'nocase'")
    check(tried, query)


def test_strings_without_a_collation_are_handed_over(tried: garuda.duckdb.Connection) -> None:
    for query in ("select s, min(s), sum(v) from t group by s", "select t.s, name from t join u on t.k = u.k"):
        check(tried, query)
        tried.execute(query)
        assert tried.decision.engine == "garuda", tried.decision


@pytest.mark.parametrize("float_type", ["double", "float"])
@pytest.mark.parametrize("values", ["-0.0", "0.0", "-0.0, 0.0", "0.0, -0.0", "null, -0.0, 1", "nan, -0.0", "nan, inf, -inf, null"])
def test_signs_of_zeros(tried: garuda.duckdb.Connection, float_type: str, values: str) -> None:
    listed = ", ".join(f"('{value}')" for value in values.split(", ")).replace("'null'", "null")
    tried.execute("set threads = 1")
    tried.execute(f"create table z as select x::{float_type} as x, k from (values {listed}) v(x), range(3) r(k)")
    for item in ("x", "x, count(*)", "k, min(x), max(x)", "k, sum(x), avg(x)", "x, k, max(x)"):
        check(tried, f"select {item} from z group by {'k' if item.startswith('k') else 'x' if 'k' not in item else 'x, k'}")
    check(tried, "select x, name from z join u on z.k = u.k")


def test_filters_that_change_from_call_to_call_stay(tried: garuda.duckdb.Connection) -> None:
    tried.execute("create sequence numbers; create macro chance() as random()")
    for condition in ("random() >= 0", "random() * t.v >= 0", "nextval('numbers') + t.v > 0", "chance() + t.v >= 0"):
        for query in (f"select t.v from t join u on t.k = u.k where {condition}", f"select k, count(*) from t where {condition} group by k"):
            check(tried, query)
            tried.execute(query)
            if "t.v" in condition or "group" in query:
                assert tried.decision.engine == "duckdb", (query, tried.decision)
