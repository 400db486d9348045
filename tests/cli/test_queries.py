"""garuda run: plans of Substrait over files, as DuckDB answers them, and what is refused."""

from __future__ import annotations

import decimal
import json
import random

import pyarrow as pa
import pytest
import tables
from command import Garuda

datafusion = pytest.importorskip("datafusion")
import plans  # noqa: E402

USAGE, BAD_INPUT, NO_DEVICE, NO_ROOM = 2, 3, 4, 5


def orders(rows: int) -> pa.Table:
    draw = random.Random(rows)
    return pa.table({
        "id": pa.array(range(rows), pa.int64()),
        "customer": pa.array([draw.choice([None, *range(20)]) for _ in range(rows)], pa.int32()),
        "price": pa.array([draw.choice([None, decimal.Decimal(draw.randrange(10**6)).scaleb(-2)]) for _ in range(rows)],
                          pa.decimal128(12, 2)),
        "day": pa.array([draw.randrange(10_000) for _ in range(rows)], pa.date32()),
        "remark": pa.array([draw.choice([None, "", "plain", "a longer remark than twelve bytes"]) for _ in range(rows)]),
    })  # fmt: skip


CUSTOMERS = pa.table(
    {"id": pa.array(range(0, 30, 2), pa.int32()), "name": [f"customer {i}" for i in range(15)], "spare": ["x"] * 15}
)
QUERIES = [
    "select id, price * 2 as double from o where price > 5000 and remark like '%long%'",
    "select customer, count(*) as n, sum(price) as total, min(remark) as r from o group by customer",
    "select o.id, c.name from o join c on o.customer = c.id where o.day < date '1990-01-01'",
    "select c.name, sum(o.price) as total from o join c on o.customer = c.id group by c.name order by total desc, name limit 5",
    "select * from o where id in (select max(id) from o group by customer) order by id",
    "select remark from o union all select name from c",
    "select count(*) as n from o",
    "select 1 as one",
]


@pytest.fixture
def files(garuda: Garuda) -> Garuda:
    """Tables o and c in a folder, beside files that are no tables."""
    folder = garuda.folder / "tables"
    (folder / "c").mkdir(parents=True)
    tables.write(folder / "o.parquet", orders(3000))
    tables.write(folder / "c" / "1.parquet", CUSTOMERS.slice(0, 7))
    tables.write(folder / "c" / "2.parquet", CUSTOMERS.slice(7))
    (folder / "read.me").write_text("no table")
    (folder / "_hidden.parquet").write_text("no table either")
    (folder / "broken.parquet").write_text("a table that no plan reads")
    return garuda


def write_plan(garuda: Garuda, query: str, o: pa.Table, name: str = "plan.substrait") -> str:
    (garuda.folder / name).write_bytes(plans.substrait(query, {"o": o.schema, "c": CUSTOMERS.schema}))
    return name


@pytest.mark.parametrize("query", QUERIES)
def test_rows_are_duckdbs(files, query):
    o = orders(3000)
    plan = write_plan(files, query, o)
    for threads in (1, 2):
        done = files.run("run", plan, "--tables", "tables", "-o", "out.parquet", "--path=cpu", "--threads", threads)
        assert done.returncode == 0, done.stderr
        tables.assert_as_duckdb(tables.read(files.folder / "out.parquet"), query, {"o": o, "c": CUSTOMERS})


@pytest.mark.parametrize("form", ["parquet", "arrow", "csv"])
@pytest.mark.parametrize("rows", [0, 1, 1023, 1024, 1025])
def test_formats_and_sizes(garuda, form, rows):
    """A table of --table stands before one of --tables. CSV files of no rows have no types."""
    if form == "csv" and rows == 0:
        pytest.skip("no value says the types")
    o = orders(rows)
    if form == "csv":  # whose decimals and integers have types of their own
        o = o.select(["id", "day"])
    (garuda.folder / "tables").mkdir()
    tables.write(garuda.folder / "tables" / "o.parquet", orders(5))
    tables.write(garuda.folder / f"o.{form}", o)
    for query in ["select id, day from o where id % 3 = 1", "select day, count(*) as n, max(id) as m from o group by day"]:
        plan = write_plan(garuda, query, o)
        done = garuda.run("run", plan, "--table", f"o=o.{form}", "--tables", "tables", "-o", "out.arrow")
        assert done.returncode == 0, done.stderr
        tables.assert_as_duckdb(tables.read(garuda.folder / "out.arrow"), query, {"o": o, "c": CUSTOMERS})


def test_only_columns_that_the_plan_reads_are_read(files):
    o = orders(3000)
    read = {}
    for query in ["select id from o", "select id, remark from o", "select * from o"]:
        done = files.run("run", write_plan(files, query, o), "--tables", "tables", "--stats=json", "--path=cpu")
        assert done.returncode == 0, done.stderr
        read[query] = json.loads(done.stderr.splitlines()[-1])["read_bytes"]
    assert 0 < read["select id from o"] < read["select id, remark from o"] < read["select * from o"]


def test_a_plan_from_standard_input_and_a_preview(files):
    plan = files.folder / write_plan(files, "select count(*) as n from o", orders(3000))
    with plan.open("rb") as bytes_:
        done = files.run("run", "-", "--tables", "tables", stdin=bytes_)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == ["    n", "int64", " 3000", "1 row"]


def test_on_every_path(join_on_each):
    """Joins and group-bys run on the path that is asked for."""
    o = orders(1025)
    query = "select c.name, count(*) as n, sum(o.price) as total from o join c on o.customer = c.id group by c.name"
    tables.write(join_on_each.folder / "o.parquet", o)
    tables.write(join_on_each.folder / "c.parquet", CUSTOMERS)
    plan = write_plan(join_on_each, query, o)
    done = join_on_each.run("run", plan, "--tables", ".", "-o", "out.parquet")
    assert done.returncode == 0, done.stderr
    tables.assert_as_duckdb(tables.read(join_on_each.folder / "out.parquet"), query, {"o": o, "c": CUSTOMERS})


def test_statistics_and_explanation(files):
    plan = write_plan(files, QUERIES[3], orders(3000))
    done = files.run("run", plan, "--tables", "tables", "--stats", "--path=cpu")
    assert done.returncode == 0, done.stderr
    assert "3015 in, 5 out" in done.stderr
    explained = files.run("explain", "run", plan, "--tables", "tables")
    assert explained.returncode == 0, explained.stderr
    for operator in ("join", "group-by", "sort"):
        assert f"{operator} on" in explained.stdout
    as_json = files.run("explain", "run", plan, "--tables", "tables", "--json")
    assert json.loads(as_json.stdout)["tree"]["inputs"]


def refused(files: Garuda, status: int, *arguments: object) -> str:
    return files.refused(status, "run", *arguments, "-o", "out.parquet")


def test_tables_that_are_not_there(files):
    plan = write_plan(files, QUERIES[2], orders(3))
    assert "there are: none): c" in refused(files, BAD_INPUT, plan) or ": o" in refused(files, BAD_INPUT, plan)
    sentence = refused(files, BAD_INPUT, plan, "--table", "o=tables/o.parquet")
    assert sentence.endswith("the plan reads a table that neither --table nor --tables gives (there are: o): c")
    assert "none.parquet" in refused(files, BAD_INPUT, plan, "--tables=tables", "--table=o=none.parquet")
    assert "none" in refused(files, BAD_INPUT, plan, "--tables", "none")
    for text in ("o", "o=", "=tables/o.parquet"):
        assert f"--table wants NAME=FILE, the name being the plan's: '{text}'" in refused(files, USAGE, plan, "--table", text)
    twice = ["--table", "o=tables/o.parquet", "--table", "o=tables/c"]
    assert "--table names this table twice: o" in refused(files, USAGE, plan, *twice)
    (files.folder / "tables" / "o.csv").write_text("id\n1\n")
    sentence = refused(files, BAD_INPUT, plan, "--tables", "tables")
    assert "two of its tables are called 'o': tables/o.csv, tables/o.parquet" in sentence


def test_tables_that_do_not_fit_the_plan(files):
    plan = write_plan(files, "select id, remark from o", orders(3))
    tables.write(files.folder / "few.parquet", orders(3).select(["id"]))
    assert "remark" in refused(files, BAD_INPUT, plan, "--table", "o=few.parquet")
    tables.write(files.folder / "other.parquet", pa.table({"id": ["text"], "remark": ["text"]}))
    sentence = refused(files, BAD_INPUT, plan, "--table", "o=other.parquet")
    assert "the plan reads column 'id' of table 'o' as int64, which it is not: utf8" in sentence
    assert "broken.parquet" in refused(files, BAD_INPUT, plan, "--table", "o=tables/broken.parquet")


def test_plans_that_are_none(files):
    whole = (files.folder / write_plan(files, QUERIES[1], orders(3))).read_bytes()
    for content in (whole[:-1], whole[: len(whole) // 2], b"\xff" * 40, b"select 1"):
        (files.folder / "bad.substrait").write_bytes(content)
        refused(files, BAD_INPUT, "bad.substrait", "--tables", "tables")
    (files.folder / "bad.substrait").write_text('{"version": {"minorNumber": 54}}')
    assert "JSON" in refused(files, BAD_INPUT, "bad.substrait", "--tables", "tables")
    (files.folder / "bad.substrait").write_bytes(b"")
    assert "bad.substrait" in refused(files, BAD_INPUT, "bad.substrait", "--tables", "tables")
    for name in ("none.substrait", "tables"):
        assert f"cannot read a plan from {name}" in refused(files, BAD_INPUT, name, "--tables", "tables")


@pytest.mark.parametrize(
    ("query", "says"),
    [
        ("select 9223372036854775807 + id as x from o", "beyond its type"),
        ("select id / (id - 2) as x from o", "divided by zero: (id / (id - 2))"),
        ("select cast(remark as integer) as x from o", "cast"),
        ("select sum(id * 4611686018427387904) as x from o", "beyond its type"),
    ],
)
def test_rows_without_a_value(files, query, says):
    plan = write_plan(files, query, orders(3))
    assert says in refused(files, BAD_INPUT, plan, "--tables", "tables")


def test_options(files):
    plan = write_plan(files, QUERIES[1], orders(3))
    assert "path must be" in refused(files, USAGE, plan, "--tables", "tables", "--path", "abacus")
    assert refused(files, NO_DEVICE, plan, "--tables", "tables", "--path", "graphics")
    assert "radix_bits" in refused(files, USAGE, plan, "--tables", "tables", "--tuning", "radix_bits=99")
    assert files.run("run", plan, "--tables", "tables", "-o", "none/out.parquet").returncode == NO_ROOM
    assert "memory" in refused(files, NO_ROOM, plan, "--tables", "tables", "--memory-limit", "1KiB")
    helped = files.run("run", "--help")
    assert helped.returncode == 0 and "--tables FOLDER" in helped.stdout
