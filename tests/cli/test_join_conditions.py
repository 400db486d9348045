"""`garuda join --where`: DuckDB's rows for every kind of join with a condition beside its keys, files to files."""

from __future__ import annotations

import datetime
import decimal
import json
import random

import pyarrow as pa
import pytest
import tables
from command import Garuda

USAGE = 2
BAD_INPUT = 3
KINDS = ["inner", "left", "right", "full", "semi", "anti", "mark"]
LEFT_ONLY = ["semi", "anti", "mark"]
EPOCH = datetime.datetime(2020, 1, 1)


def rows(count: int, seed: int) -> pa.Table:
    """A key and a column of every kind that conditions compare, of few values, with nulls."""
    rng = random.Random(seed)

    def column(data_type: pa.DataType, make) -> pa.Array:
        return pa.array([None if rng.random() < 0.15 else make(rng.randrange(-5, 6)) for _ in range(count)], data_type)

    reals = [0.0, -0.0, 0.1, 1.5, float("nan"), float("inf"), float("-inf"), -2.5]
    words = ["", "a", "ab", "b", "Ä", "a longer text"]
    zoned = column(pa.timestamp("us", "Europe/Berlin"), lambda i: EPOCH + datetime.timedelta(hours=i))
    return pa.table(
        {
            "k": column(pa.int32(), lambda i: i),
            "row": pa.array(range(count), pa.int64()),
            "tiny": column(pa.int8(), lambda i: i * 20),
            "number": column(pa.int64(), lambda i: i * 2**40),
            "plain": column(pa.uint16(), lambda i: i + 5),
            "real": column(pa.float64(), lambda i: rng.choice(reals)),
            "small": column(pa.float32(), lambda i: rng.choice(reals)),
            "money": column(pa.decimal128(15, 2), lambda i: decimal.Decimal(i) / 4),
            "huge": column(pa.decimal128(38, 6), lambda i: decimal.Decimal(i) * 10**20 + decimal.Decimal("0.5")),
            "day": column(pa.date32(), lambda i: EPOCH.date() + datetime.timedelta(days=i)),
            "moment": column(pa.timestamp("us"), lambda i: EPOCH + datetime.timedelta(microseconds=i)),
            "second": column(pa.timestamp("s"), lambda i: EPOCH + datetime.timedelta(seconds=i)),
            "zoned": zoned,
            "utc": column(pa.timestamp("us", "UTC"), lambda i: EPOCH + datetime.timedelta(hours=i)),
            "hour": column(pa.time64("us"), lambda i: datetime.time(i + 6, 30)),
            "flag": column(pa.bool_(), lambda i: i > 0),
            "word": column(pa.string(), lambda i: rng.choice(words)),
            "label": column(pa.string(), lambda i: rng.choice(words)).dictionary_encode(),
            "bytes": column(pa.binary(), lambda i: rng.choice(words).encode()),
        }
    )


# Conditions as garuda reads them, and as DuckDB does where that differs.
CONDITIONS = [
    "left.tiny < right.tiny",
    "left.tiny < right.number or left.plain >= right.tiny",
    "left.real < right.real",
    "left.real = right.small and not left.small >= 1.5",
    ("left.real = 'nan' or right.small < 0.1", "left.real = 'nan'::DOUBLE or right.small < 0.1::FLOAT"),
    "left.money <> right.huge and left.money < 0.3",
    "left.money <= right.tiny",
    "left.day < right.day or left.day = '2020-01-03'",
    "left.moment < right.second",
    "left.moment >= '2020-01-01 00:00:00.000002'",
    "left.zoned < right.utc and left.zoned > '2019-12-31 22:00:00+00:00'",
    "left.hour <> right.hour and right.hour < '08:00:00'",
    "left.flag < right.flag or right.flag = true",
    "left.word < right.word",
    "left.word <> right.label and right.label >= 'a'",
    ("left.label = right.label or left.bytes < right.bytes", None),
    "not (left.word = 'a' and right.tiny > 0 or left.number = null)",
    ("left.tiny < 1000 and right.plain > -1 and left.tiny <> 0.5", None),
    "left.row < right.row and (right.word <> 'ab' or not left.money >= 0.5)",
    "left.k > 1",
]


def of_duckdb(condition) -> str:
    text = condition if isinstance(condition, str) else condition[1] or condition[0]
    return text.replace("left.", "left_keys.").replace("right.", "right_keys.")


def text_of(condition) -> str:
    return condition if isinstance(condition, str) else condition[0]


def join_and_compare(garuda, left, right, kind, condition, *options, files=("l.parquet", "r.arrow", "out.arrow")):
    left_file, right_file, output = files
    for name, table in ((left_file, left), (right_file, right)):
        tables.write(garuda.folder / name, table)
    # Parquet has no seconds.
    left, right = tables.read(garuda.folder / left_file), tables.read(garuda.folder / right_file)
    join = [left_file, right_file, "--on", "k", "--how", kind, "--where", text_of(condition), *options]
    done = garuda.join(*join, "-o", output)
    nulls_equal = "--nulls-equal" in options
    expected = tables.expected_kind(left, right, kind, nulls_equal, of_duckdb(condition))
    ordered = "--ordered" in options or (kind in LEFT_ONLY and "--memory-limit" not in options)
    tables.assert_same_rows(tables.read(garuda.folder / output), expected, ordered=ordered)
    counting = [option for option in join if option != "--ordered"]
    assert garuda.join(*counting, "--count").stdout == f"{expected.num_rows}\n"
    return done


@pytest.mark.parametrize("condition", CONDITIONS, ids=text_of)
def test_every_type(garuda, condition):
    left, right = rows(250, 1), rows(230, 2)
    for kind in ("inner", "full", "anti"):
        join_and_compare(garuda, left, right, kind, condition)


@pytest.mark.parametrize("options", [[], ["--nulls-equal"], ["--ordered"]], ids=["plain", "nulls-equal", "ordered"])
@pytest.mark.parametrize("kind", KINDS)
def test_every_kind(join_on_each, kind, options):
    join_and_compare(join_on_each, rows(300, 3), rows(280, 4), kind, CONDITIONS[-2], *options)


@pytest.mark.parametrize("empty", ["left", "right", "both"])
@pytest.mark.parametrize("kind", KINDS)
def test_files_without_rows(garuda, kind, empty):
    left, right = rows(50, 5), rows(40, 6)
    left = left.slice(0, 0) if empty != "right" else left
    right = right.slice(0, 0) if empty != "left" else right
    join_and_compare(garuda, left, right, kind, "left.word < right.word or left.tiny < 3")


@pytest.mark.parametrize("options", [[], ["--nulls-equal"]], ids=["plain", "nulls-equal"])
@pytest.mark.parametrize("kind", KINDS)
def test_spilled(garuda, kind, options):
    """Eleven keys fill their partitions: blocks of both sides are joined, and no block alone knows what matches."""
    kept = ["k", "row", "tiny", "word"]
    left, right = rows(2_500, 7).select(kept), rows(1_200, 8).select(kept)
    where = "left.row = right.row or left.word < right.word and left.tiny > 60"
    done = join_and_compare(garuda, left, right, kind, where, *options, "--memory-limit", "48KiB", "--stats=json")
    assert json.loads(done.stderr.splitlines()[-1])["counters"]["spilled_rows"] >= 3_700


@pytest.mark.parametrize("limit", [[], ["--memory-limit", "64MiB"]], ids=["unlimited", "limited"])
def test_columns_that_only_the_condition_names(garuda, limit):
    left, right = rows(100, 9), rows(90, 10)
    tables.write(garuda.folder / "l.parquet", left)
    tables.write(garuda.folder / "r.parquet", right)
    where = ["--where", "left.tiny < right.tiny and right.word <> 'ab'"]
    join = ["l.parquet", "r.parquet", "--on", "k", *where, *limit]
    garuda.join(*join, "--columns", "right.row,left.row", "-o", "out.parquet")
    condition = of_duckdb("left.tiny < right.tiny and right.word <> 'ab'")
    pairs = tables.row_numbers(left, right, "inner", False, "r, l", condition)
    found = tables.read(garuda.folder / "out.parquet")
    assert sorted(tables.rows_of(found)) == sorted(tables.rows_of(pairs))
    semi = garuda.join(*join, "--how", "semi", "--columns", "left.row", "--count")
    assert int(semi.stdout) == len(set(pairs["l"].to_pylist()))


def test_csv_columns_without_values(garuda):
    """Columns without a value take the type of the operand that they are compared with."""
    (garuda.folder / "l.csv").write_text("k,a,b\n1,,\n2,,\n")
    (garuda.folder / "r.csv").write_text("k,a,b\n1,5,x\n2,6,y\n")
    for where in ("left.a < right.a", "left.b <> right.b", "right.b > left.b", "left.a = 'x'", "left.b < 3"):
        join = ["l.csv", "r.csv", "--on", "k", "--where", where, "--count"]
        assert garuda.join(*join).stdout == "0\n"
        assert garuda.join(*join, "--how", "anti").stdout == "2\n"


def test_names_of_odd_characters(garuda):
    table = pa.table({"k": [1, 1, 2], "net, \"gross\"": [1, 2, 3], "größe": [2, 1, 3]})
    tables.write(garuda.folder / "t.arrow", table)
    for where in ('left."net, ""gross""" < right.größe', 'left.net\\,\\ \\"gross\\" < right.größe'):
        assert garuda.join("t.arrow", "t.arrow", "--on", "k", "--where", where, "--count").stdout == "1\n"


def test_plans_and_statistics_say_the_condition(join_on_each):
    tables.write(join_on_each.folder / "l.parquet", rows(200, 11))
    join = ["join", "l.parquet", "l.parquet", "--on", "k", "--where", "left.row<right.row AND left.flag=true"]
    plan = json.loads(join_on_each.run("explain", *join, "--json").stdout)
    assert plan["details"]["where"] == "left.row < right.row and left.flag = true"
    assert plan["path"] == join_on_each.path
    text = join_on_each.run("explain", *join, "--phases").stdout
    assert "condition" in text and "left.row < right.row and left.flag = true" in text
    stats = json.loads(join_on_each.run(*join, "--stats=json").stderr.splitlines()[-1])
    assert stats["counters"]["pairs_tested"] > 0 and any(p["name"] == "condition" for p in stats["phases"])


@pytest.mark.parametrize(
    ("status", "where", "said"),
    [
        (USAGE, "", "--where"),
        (USAGE, "left.a", "one of =, <>, <, <=, >, >= at position 7: its end"),
        (USAGE, "left.a < b", "left.NAME, right.NAME, a number, 'text', true, false or null at position 10: b"),
        (USAGE, "left.a < 'x", "a quote behind the text at position 10"),
        (USAGE, "left.a is null", "one of =, <>, <, <=, >, >= at position 8: is"),
        (USAGE, "1 < 2", "a comparison is of a column with a column or a constant: 1 < 2"),
        (BAD_INPUT, "left.tinny < 2", "nearest name: tiny"),
        (BAD_INPUT, "left.tiny < right.word", "their types differ: int8 and utf8"),
        (BAD_INPUT, "left.tiny < 'x'", "is compared with a number, as in -12.5: 'x'"),
        (BAD_INPUT, "left.day < '2020-02-30'", "is compared with a date, as in '2024-02-29': '2020-02-30'"),
        (BAD_INPUT, "left.zoned < '2020-02-01'", "with a zone"),
        (BAD_INPUT, "left.zoned < right.moment", "their types differ"),
    ],
)
def test_wrong_conditions(garuda, status, where, said):
    tables.write(garuda.folder / "t.parquet", rows(20, 12))
    for options in ([], ["--count"], ["--memory-limit", "64MiB"], ["-o", "out.parquet"]):
        sentence = garuda.refused(status, "join", "t.parquet", "t.parquet", "--on", "k", "--where", where, *options)
        assert said in sentence
    assert said in garuda.refused(status, "explain", "join", "t.parquet", "t.parquet", "--on", "k", "--where", where)


def test_placement_on_a_device_tests_conditions_there(garuda, on_lavapipe):
    tables.write(garuda.folder / "t.parquet", rows(60, 13))
    compute = Garuda(garuda.folder, on_lavapipe.icd, "compute")
    join = ["t.parquet", "t.parquet", "--on", "k", "--where", "left.tiny < right.number and left.row > 3"]
    there = ["--tuning", "placement=device"]
    for kind in KINDS:
        columns = "left.row,left.k" if kind in LEFT_ONLY else "left.row,left.k,right.row"
        chosen = [*join, "--how", kind, "--columns", columns, "--ordered", "-o"]
        compute.join(*chosen, "there.arrow", *there)
        garuda.join(*chosen, "here.arrow")
        assert tables.read(garuda.folder / "there.arrow").equals(tables.read(garuda.folder / "here.arrow"))
        counted = compute.join(*join, "--how", kind, "--count", *there, "--stats=json")
        assert counted.stdout == garuda.join(*join, "--how", kind, "--count").stdout
        assert json.loads(counted.stderr.splitlines()[-1])["counters"]["copied_up_bytes"] > 0
    refused = compute.refused(USAGE, "join", *join, *there)
    assert "have columns of fixed width: 'word' is" in refused
