"""Queries in SQL: against DuckDB, what a query reads by name, and what is refused."""

from __future__ import annotations

import datetime
import decimal
import math
import pathlib
import random
import re
import struct
import sys
from typing import Any

import duckdb
import garuda
import pandas
import polars
import pyarrow
import pyarrow.parquet
import pytest

sys.path.append(str(pathlib.Path(__file__).parents[2] / "bench"))
from queries.answers import are_close  # noqa: E402

pytest.importorskip("datafusion")


def rows_of(table: Any) -> list[tuple[Any, ...]]:
    columns = [column.to_pylist() for column in table.columns]
    return list(zip(*columns))


def assert_same(found: pyarrow.Table, expected: pyarrow.Table, in_order: bool) -> None:
    assert found.num_columns == expected.num_columns
    left, right = rows_of(found), rows_of(expected)
    assert len(left) == len(right)
    if not in_order:
        key = lambda row: tuple((value is None, str(value)) for value in row)  # noqa: E731
        left, right = sorted(left, key=key), sorted(right, key=key)
    for number, (row, other) in enumerate(zip(left, right)):
        for field, value, wanted in zip(found.schema, row, other):
            assert are_close(value, wanted, field.type), f"row {number}, {field}: {value}, not {wanted}"


def is_ordered(query: str) -> bool:
    """Whether the query orders its rows, which those of subqueries and windows does not."""
    outside = re.sub(r"\([^()]*\)", "", query)
    return "order by" in outside if outside == query else is_ordered(outside)


def by_duckdb(query: str, given: dict[str, pyarrow.Table]) -> pyarrow.Table:
    with duckdb.connect() as database:
        for name, table in given.items():
            database.register(name, table)
        return database.sql(query).to_arrow_table()


NUMBERS = pyarrow.table(
    {
        "id": pyarrow.array([1, 2, 3, 4, 5, 6], pyarrow.int64()),
        "part": pyarrow.array(["a", "b", None, "a", "b", "c"]),
        "price": pyarrow.array([1.5, None, -0.0, 2.25, float("nan"), 7.0]),
        "day": pyarrow.array([0, 365, None, 12000, 19000, 31], pyarrow.date32()),
        "cost": pyarrow.array([decimal.Decimal("1.25"), decimal.Decimal("-3.10"), None] * 2, pyarrow.decimal128(10, 2)),
        "good": pyarrow.array([True, False, None, True, None, False]),
    }
)
PARTS = pyarrow.table(
    {"part": pyarrow.array(["a", "b", "d", None]), "weight": pyarrow.array([10, None, 30, 40], pyarrow.int32())}
)

QUERIES = [
    "select id, part from n where id > 2 and part = 'a'",
    "select id + 1 as x, id * 2 - 3 as y, -id as z, id % 4 as r from n",
    "select id, case part when 'a' then 1 when 'b' then 2 else 0 end as c from n",
    "select id, case when good then 'yes' when not good then 'no' end as c from n",
    "select id, coalesce(part, 'none') as p, nullif(part, 'a') as q from n",
    "select id from n where part in ('a', 'c') or part is null",
    "select id from n where part not in ('a')",
    "select id, good is true as a, good is not true as b, good is false as c, good is not false as d, good is null as e from n",
    "select id, part is distinct from 'a' as d, part is not distinct from null as e from n",
    "select id, part like 'a%' as l, part not like '%b%' as m, part || '!' as c, concat(part, 'x') as d from n",
    "select id, substring(part, 1, 1) as s, left(part, 1) as l, upper(part) as u, length(part) as n from n",
    "select id, extract(year from day) as y, extract(month from day) as m, extract(doy from day) as d from n",
    "select id, cast(day + interval '1 month' as date) as m, cast(day - interval '3 days' as date) as d from n",
    "select id, cost * 2 as d, cost + id as s, cost * cost as p from n",
    "select sum(cost) as s, min(cost) as l, max(cost) as m, count(cost) as c, count(*) as n from n",
    "select avg(cost) as a, avg(id) as i, avg(price) as p from n where id < 5",
    "select part, sum(id) as s, count(distinct good) as c, sum(id) filter (where good) as f from n group by part",
    "select distinct part from n",
    "select part, count(*) as c from n group by part having count(*) > 1 order by c desc, part limit 1",
    "select id from n order by part desc nulls last, id limit 3 offset 1",
    "select n.id, p.weight from n join p on n.part = p.part",
    "select n.id, p.weight from n left join p on n.part = p.part and p.weight > 5",
    "select n.id, p.weight from n right join p on n.part = p.part",
    "select n.id, p.weight from n full join p on n.part = p.part",
    "select n.id, p.weight from n join p on n.part is not distinct from p.part",
    "select n.id, p.weight from n, p where n.id < p.weight",
    "select n.id, p.part from n cross join p",
    "select id from n where exists (select 1 from p where p.part = n.part)",
    "select id from n where not exists (select 1 from p where p.part = n.part)",
    "select id from n where exists (select 1 from p where weight > 35)",
    "select id from n where part in (select part from p)",
    "select id from n where part in (select part from p) or id = 6",
    "select id, (select max(weight) from p) as m from n where id > (select avg(weight) - 24 from p)",
    "select part from n union all select part from p",
    "select part from n union select part from p",
    "select part from n intersect select part from p",
    "select part from n except select part from p",
    "select 1 as one, 'x' as text, cast(null as integer) as nothing",
    "select * from (values (1, 'a'), (2, null)) as v(k, t)",
    "select id from n where false",
    "with big as (select * from n where id > 3) select b.id, c.id as other from big b join big c on b.part = c.part",
    "select try_cast(part as integer) as i, cast(id as varchar) as t, cast(id as double) as d from n",
    "select id, abs(price - 2) as a, round(price, 1) as r, floor(price) as f, ceil(price) as c from n where id <> 5",
    "select id, greatest(id, 3) as g, least(id, 3) as l, id between 2 and 4 as b, id not between 2 and 4 as c from n",
    "select id, starts_with(part, 'a') as s, ends_with(part, 'b') as e, contains(part, 'c') as c, part ~ '^[ab]$' as r from n",
    "select id, regexp_replace(part, '[ab]', 'x') as r, trim(part) as t, lower(part) as l from n",
    "select id, cast(date_trunc('month', cast(day as timestamp)) as date) as m, extract(quarter from day) as q from n",
    "select n.id, p.weight from n join p on n.part = p.part or n.id = p.weight / 10",
    "select n.id, p.weight from n left join p on n.part = p.part where p.weight is null",
    "select a.id, b.id, p.weight from n a join n b on a.id = b.id + 1 left join p on b.part = p.part",
    "select part, min(day) as a, max(day) as b, min(part) as c, sum(price) as d from n where id <> 5 group by part",
    "select good, part, count(*) as c from n group by good, part",
    "select upper(part) as u, sum(id * id) as s from n group by upper(part)",
    "select sum(case when good then cost else 0 end) as s, avg(cost * 2) as a from n",
    "select count(*) as c from n where price > (select avg(id) from n where id < 3) and id < (select max(weight) from p)",
    "select id from n where id not in (select id from n where id > 3)",
    "select id from n where id not in (select weight from p where weight is not null)",
    "select id from n where part not in (select part from p)",
    "select id from n where part not in (select part from p where part is not null)",
    "select id from n where part not in (select part from p where weight > 100)",
    "select id from n where id = 1 or part not in (select part from p where part <> 'a')",
    "select id from n where id = 1 or not (part in (select part from p where part <> 'a') and id > 2)",
    "select x from (select id as x from n order by id desc limit 3) order by x",
    "select distinct good, part is null as p from n",
    "select count(distinct part) as d, count(part) as c from n",
    "select max(id) as m from n where id > 100",
    "select part, count(*) as c from n where id > 100 group by part",
    "select id from n where price is not null and not (price > 2)",
    "select part, median(price) as m from n where id <> 5 group by part",
    "select stddev(id) as s, var_pop(id) as v, bool_and(good) as b from n",
    "select id, power(price, 2) as p, pow(id, 3) as q, pow(cast(cost as double), 1) as r from n",
    "select part, pow(corr(id, cost), 2) as r from n group by part",
    "select id, part, row_number() over (partition by part order by id desc) as k from n",
    "select id, row_number() over (order by price desc nulls last, id) as k, row_number() over (order by -id) as l from n",
    "select part, id from (select *, row_number() over (partition by upper(part), good order by day, id) as k from n) where k <= 1",
    "select id + row_number() over (partition by id % 2 order by id desc) as k from n where id > 1 order by k, id limit 3",
    "select count(*) as c from (select id, row_number() over (order by id) as k from n)",
    "select n.id, k from n join (select part, row_number() over (partition by weight order by part) as k from p) q on n.part = q.part",
]  # fmt: skip


@pytest.mark.parametrize("query", QUERIES)
def test_queries_give_duckdbs_rows(query: str) -> None:
    found = garuda.sql(query, n=NUMBERS, p=PARTS, path="cpu").to_arrow()
    expected = by_duckdb(query, {"n": NUMBERS, "p": PARTS})
    assert_same(found, expected, is_ordered(query))


def random_rows(size: int) -> pyarrow.Table:
    """Columns as those of NUMBERS, in two chunks."""
    draw = random.Random(size)
    columns = {
        "id": list(range(size)),
        "part": [draw.choice([None, "", "a", "b", "c", "ab", "xx"]) for _ in range(size)],
        "price": [draw.choice([None, 1.5, -0.0, 2.25, 7.0, 1e10]) for _ in range(size)],
        "day": [draw.choice([None, draw.randrange(20_000)]) for _ in range(size)],
        "cost": [draw.choice([None, decimal.Decimal(draw.randrange(-(10**6), 10**6)).scaleb(-2)]) for _ in range(size)],
        "good": [draw.choice([None, True, False]) for _ in range(size)],
    }
    kinds = NUMBERS.schema
    rows = pyarrow.table({name: pyarrow.array(values, kinds.field(name).type) for name, values in columns.items()})
    return pyarrow.concat_tables([rows.slice(0, size // 3), rows.slice(size // 3)])


@pytest.mark.parametrize("size", [0, 1, 1023, 1024, 1025])
def test_sizes_around_blocks(size: int) -> None:
    rows = random_rows(size)
    for query in QUERIES:
        found = garuda.sql(query, n=rows, p=PARTS, path="cpu").to_arrow()
        assert_same(found, by_duckdb(query, {"n": rows, "p": PARTS}), is_ordered(query))


COLUMNS = {
    "bools": pyarrow.array([True, None, False]),
    "bytes": pyarrow.array([-128, None, 127], pyarrow.int8()),
    "longs": pyarrow.array([-(2**63), None, 2**63 - 1], pyarrow.int64()),
    "ulongs": pyarrow.array([0, None, 2**64 - 1], pyarrow.uint64()),
    "floats": pyarrow.array([1.5, None, math.inf], pyarrow.float32()),
    "texts": pyarrow.array(["", None, "ä€𝄞"]),
    "views": pyarrow.array(["", None, "a string of more than twelve bytes"], pyarrow.string_view()),
    "binaries": pyarrow.array([b"", None, b"\x00\xff"]),
    "fixed": pyarrow.array([b"abcd", None, b"\x00\x01\x02\x03"], pyarrow.binary(4)),
    "millis": pyarrow.array([0, None, 86_400_000], pyarrow.date64()),
    "clock": pyarrow.array([0, None, 86_399_999_999], pyarrow.time64("us")),
    "stamps": pyarrow.array([0, None, -1], pyarrow.timestamp("ns")),
    "zoned": pyarrow.array([0, None, 10**9], pyarrow.timestamp("s", "Europe/Berlin")),
    "wide": pyarrow.array([decimal.Decimal("-" + "9" * 38), None, decimal.Decimal(1)], pyarrow.decimal128(38, 0)),
    "narrow": pyarrow.array([decimal.Decimal("-1.25"), None, decimal.Decimal("0.01")], pyarrow.decimal32(5, 2)),
    "words": pyarrow.array(["a", None, "b"]).dictionary_encode(),
}
NESTED = {
    "lists": pyarrow.array([[1], None, []]),
    "structs": pyarrow.array([{"x": 1, "y": [{"z": 2}]}, None, {"x": 2, "y": None}]),
    "maps": pyarrow.array([[("a", 1)], None, []], pyarrow.map_(pyarrow.string(), pyarrow.int32())),
}


@pytest.mark.parametrize("name", COLUMNS)
def test_columns_of_every_type(name: str) -> None:
    rows = pyarrow.table({"id": [1, 2, 3], "x": COLUMNS[name]})
    run = lambda query: garuda.sql(query, rows=rows, path="cpu").to_arrow().to_pydict()  # noqa: E731
    assert run("select x from rows") == {"x": rows["x"].to_pylist()}
    assert run("select id from rows where x is null") == {"id": [2]}
    assert run("select count(*) as n, count(distinct x) as d from (select x, count(*) as c from rows group by x)") == {"n": [3], "d": [2]}
    assert sorted(run("select a.id from rows a join rows b on a.x = b.x")["id"]) == [1, 3]
    assert run("select case when id = 3 then x end as c from rows") == {"c": [None, None, rows["x"].to_pylist()[2]]}
    assert run("select id from rows order by x nulls first limit 1") == {"id": [2]}


def test_nested_columns_ride_along() -> None:
    rows = pyarrow.table({"id": [1, 2, 3], **NESTED})
    found = garuda.sql("select structs, id as number, maps, lists from rows where id <> 2", path="cpu")
    assert found.column_names == ["structs", "number", "maps", "lists"]
    assert found.to_arrow()["structs"].to_pylist() == [NESTED["structs"][i].as_py() for i in (0, 2)]


def test_tables_come_by_name(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    polars.DataFrame({"k": [1, 2]}).write_parquet("part-1.parquet")
    polars.DataFrame({"k": [3]}).write_parquet("part-2.parquet")
    Frame = pandas.DataFrame({"k": [2, 3], "v": [20, 30]})  # noqa: F841, N806
    rows = garuda.sql("select f.k, v, w from 'part-*.parquet' f join frame using (k) join w using (k) order by k",
                      w={"k": [2, 3], "w": [5, 6]})  # fmt: skip
    assert rows.to_pydict() == {"k": [2, 3], "v": [20, 30], "w": [5, 6]}
    assert garuda.sql("select k from path", tables={"path": {"k": [7]}}, path="cpu").to_pydict() == {"k": [7]}
    with pytest.raises(garuda.UsageError, match="neither given nor a variable: nowhere"):
        garuda.sql("select * from nowhere")
    with pytest.raises(FileNotFoundError, match="missing.parquet"):
        garuda.sql("select * from 'missing.parquet'")


@pytest.mark.parametrize("by_pyarrow", [False, True])
def test_files_are_read_by_their_columns(
    by_pyarrow: bool, tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO", logger="garuda")
    path = tmp_path / "wide.parquet"
    rows = {"a": [1, 2, None], "b": [4, 5, 6], "c": ["x", "y", "z"], "d, e": [7, 8, 9]}
    polars.DataFrame(rows).write_parquet(path)
    read: list[list[str]] = []
    if by_pyarrow:
        monkeypatch.setattr(garuda._core, "reader_failure", lambda: "it is not there")
    whole = garuda._sql.read_scans
    monkeypatch.setattr(garuda._sql, "read_scans", lambda reads, how: read.extend(r[1] for r in reads) or whole(reads, how))
    assert garuda.sql(f"select sum(b) as s from '{path}' where a > 1").to_pydict() == {"s": [5]}
    assert garuda.sql(f"select count(*) as n from '{path}'").to_pydict() == {"n": [3]}
    assert garuda.sql(f"select * from '{path}'").to_pydict() == rows
    assert garuda.sql(f"select c from '{path}' where b not in (select a from t where a = 4)", t={"a": [4]}).num_rows == 2
    assert read[:3] == [["a", "b"], ["a"], list(rows)]
    assert {"b", "c"} <= set(read[3])
    assert set(caplog.messages) == ({f"{path} is read by pyarrow: it is not there"} if by_pyarrow else set())


def test_frames_are_read_by_their_columns() -> None:
    offsets = pyarrow.py_buffer(struct.pack("4i", 0, 9, 2, 3))
    broken = pyarrow.StringArray.from_buffers(3, offsets, pyarrow.py_buffer(b"abc"))
    rows = pyarrow.table({"a": [1, 2, 3], "broken": broken})
    assert garuda.sql("select sum(a) as s, count(*) as n from t", t=rows).to_arrow().to_pylist() == [{"s": 6, "n": 3}]
    with pytest.raises(garuda.InvalidInputError, match="broken: offsets decrease"):
        garuda.sql("select max(broken) from t", t=rows)
    frame = polars.DataFrame({"a": [1, None, 3], "s": ["x", "y", None]})
    query = "select s, a from t where a is not null or s = 'y' order by a nulls last"
    expected = [{"s": "x", "a": 1}, {"s": None, "a": 3}, {"s": "y", "a": None}]
    for table in (frame, frame.to_arrow(), frame.head(0)):
        found = garuda.sql(query, t=table).to_arrow().to_pylist()
        assert found == (expected if len(table) else [])
    doubled = pyarrow.Table.from_arrays([pyarrow.array([1]), pyarrow.array([2])], ["a", "a"])
    with pytest.raises(garuda.UsageError, match="duplicate"):
        garuda.sql("select a from t", t=doubled)


def test_engines_have_options_of_their_own() -> None:
    engine = garuda.Engine(path="cpu", threads=1)
    numbers = {"x": [1, 2, 3]}
    assert engine.sql("select sum(x) as s from numbers").to_pydict() == {"s": [6]}
    assert numbers and engine.sql("select x from t where x > 1", t=numbers, threads=2).to_pydict() == {"x": [2, 3]}
    plan = garuda.explain_sql("select x from t where x > 1", t=numbers, path="cpu")
    assert "filter" in str(plan)


REFUSED = {
    "selec 1": "does not plan",
    "select x from": "Expected: identifier",
    "select y from t": "No field named y",
    "select nothing(x) from t": "nothing",
    "drop table t": "DDL not supported",
    "copy t to 'x.csv'": "DML not supported",
    "select x, rank() over (order by x) from t": "window function 'rank'",
    "select x, sum(x) over (order by x) from t": "window function 'sum'",
    "select sqrt(x) from t": "'sqrt'",
    "select pow(x, 0.5) from t": "exponent",
    "select pow(2, x) from t": "exponent",
    "select pow(x, 9) from t": "from 1 to 8",
    "select * from t left join t as u using (x)": "write ON",
    "select x from t where x > (select x from t)": "scalar subquery",
    "select count(x), sum(distinct x) from t": "distinct",
    "select x, count(*) from t group by rollup(x)": "grouping sets",
}


@pytest.mark.parametrize("query", REFUSED)
def test_what_cannot_run_is_named(query: str) -> None:
    with pytest.raises(garuda.UsageError) as refused:
        garuda.sql(query, t=pyarrow.table({"x": [1, 2, None]}), path="cpu")
    assert REFUSED[query] in str(refused.value)


PLACES = {
    "select x\nfrom t wher x > 1 1": 12,
    "select x from t\nwhere  missing = 1": 7,
    "select\n  nothing(x) from t": 2,
    "select t.other from t": 9,
}


@pytest.mark.parametrize("query", PLACES)
def test_the_place_of_an_error_is_shown(query: str) -> None:
    with pytest.raises(garuda.UsageError) as refused:
        garuda.sql(query, t={"x": [1]})
    line, caret = str(refused.value).splitlines()[-2:]
    assert line in query.splitlines()
    assert caret == " " * PLACES[query] + "^"


def test_plans_are_kept_for_the_same_text_and_types() -> None:
    from garuda import _sql_plan

    query = "select sum(v) as s from kept_plan where v > 1"
    before = _sql_plan._kept_plan.cache_info()
    sums = []
    for values in ([1, 2, 3], [4, 5], [2.5, 0.5]):
        sums += garuda.sql(query, kept_plan=pyarrow.table({"v": values})).to_arrow()["s"].to_pylist()
    after = _sql_plan._kept_plan.cache_info()
    assert sums == [5, 9, 2.5]
    assert (after.hits - before.hits, after.misses - before.misses) == (1, 2)
    for _ in range(2):
        garuda.sql("select v from kept_plan where v < now()", kept_plan=pyarrow.table({"v": [datetime.datetime.now()]}))
    assert _sql_plan._kept_plan.cache_info() == after


def test_without_datafusion_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "datafusion", None)
    with pytest.raises(ImportError, match=r"pip install garuda\[sql\]"):
        garuda.sql("select 1")


def test_tables_on_a_device() -> None:
    from package import LAVAPIPE

    if LAVAPIPE is None:
        pytest.skip("lavapipe is not installed")
    engine = garuda.Engine(device=0, path="compute")
    rows = garuda.table({"k": [1, 2, 3, 4, None, 2], "s": ["a", "b", None, "a", "ab", "b"], "v": [1.5, 2.5, 3.5, None, 5.5, 6.5]})
    there = engine.upload(rows)
    for query in (
        "select s, sum(v) as x, count(*) as n from t where k > 1 group by s order by s",
        "select k * 2 as z, v from t where s like 'a%' order by z",
        "select a.k, b.v from t a join t b on a.k = b.k order by 1, 2",
        "select * from t order by v",
    ):
        wanted = garuda.sql(query, t=rows, path="cpu").to_arrow()
        assert engine.sql(query, t=there).to_arrow() == wanted
        assert garuda.Engine(path="cpu").sql(query, t=there).to_arrow() == wanted


def nodes(tree: dict[str, Any]) -> list[dict[str, Any]]:
    return [tree, *(node for below in tree["inputs"] for node in nodes(below))]


def test_nodes_say_why_they_run_on_the_host() -> None:
    from package import LAVAPIPE

    if LAVAPIPE is None:
        pytest.skip("lavapipe is not installed")
    engine = garuda.Engine(device=0, path="compute")
    plan = engine.sql("select k + 1 as z, v from t where v > 1 order by z limit 2", t={"k": [3, 1, 2], "v": [1.5, 2.5, 3.5]}).plan
    assert plan is not None
    tree = nodes(plan.to_dict()["tree"])
    (sort,) = (node for node in tree if node["operator"] == "sort")
    assert sort["device"] == "host" and sort["reason"] == "the host sorts, numbers, cuts and appends rows"
    assert any(node.get("reason") == "path compute was asked for" and node["device"] != "host" for node in tree)
    assert sort["reason"] in str(plan) and f"<small>{sort['reason']}</small>" in plan._repr_html_()
    with pytest.raises(garuda.NoDeviceError, match="sort"):
        engine.explain_sql("select k from t order by k", t={"k": [3, 1, 2]}, strict=True)


def test_nodes_say_what_they_spilled() -> None:
    numbers = {"k": [i * 7919 % 30_011 for i in range(60_000)], "v": list(range(60_000))}
    query = "select n, count(*) as m from (select k, count(*) as n from t group by k) group by n order by n"
    table = garuda.sql(query, t=numbers, path="cpu", memory_limit=200_000)
    assert table.plan is not None and table.stats is not None
    spilled = [node["details"]["spilled"] for node in nodes(table.plan.to_dict()["tree"]) if "spilled" in node.get("details", {})]
    assert spilled and sum(int(text.split()[0]) for text in spilled) == table.stats["counters"]["spilled_bytes"]
