"""`garuda join --how`: DuckDB's rows for every kind of join, from files to files, on every path, spilled or not."""

from __future__ import annotations

import json

import pyarrow as pa
import pytest
import tables

USAGE = 2
KINDS = ["inner", "left", "right", "full", "semi", "anti", "mark"]
LEFT_ONLY = ["semi", "anti", "mark"]


def join_and_compare(garuda, left, right, kind, *options, files=("l.parquet", "r.arrow", "out.parquet")):
    left_file, right_file, output = files
    tables.write(garuda.folder / left_file, left)
    tables.write(garuda.folder / right_file, right)
    join = [left_file, right_file, "--on", "k", "--how", kind, *options]
    done = garuda.join(*join, "-o", output)
    expected = tables.expected_kind(left, right, kind, nulls_equal="--nulls-equal" in options)
    ordered = "--ordered" in options or (kind in LEFT_ONLY and "--memory-limit" not in options)
    tables.assert_same_rows(tables.read(garuda.folder / output), expected, ordered=ordered)
    counting = [option for option in join if option != "--ordered"]
    assert garuda.join(*counting, "--count").stdout == f"{expected.num_rows}\n"
    return done


@pytest.mark.parametrize("options", [[], ["--nulls-equal"], ["--ordered"]], ids=["plain", "nulls-equal", "ordered"])
@pytest.mark.parametrize("kind", KINDS)
def test_every_kind(join_on_each, kind, options):
    left, right = tables.table("int16", 900, 1), tables.table("int16", 700, 2)
    expected = join_and_compare(join_on_each, left, right, kind, *options)
    assert expected.returncode == 0


@pytest.mark.parametrize("key", tables.KEYS)
@pytest.mark.parametrize("kind", ["full", "mark"])
def test_every_key_type(garuda, kind, key):
    left, right = tables.table(key, 800, 3), tables.table(key, 600, 4)
    join_and_compare(garuda, left, right, kind)


@pytest.mark.parametrize("kind", KINDS)
def test_keys_of_two_types_become_one(garuda, kind):
    left = pa.table({"k": pa.array([5, None, 3, 200, 3], pa.uint8()), "a": range(5)})
    right = pa.table({"b": range(4), "k": pa.array([3, -7, None, 2**40], pa.int64())})
    for options in ([], ["--nulls-equal"], ["--ordered"]):
        join_and_compare(garuda, left, right, kind, *options, files=("l.arrow", "r.parquet", "out.arrow"))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("empty", ["left", "right", "both"])
def test_files_without_rows(garuda, kind, empty):
    left, right = tables.table("int32", 300, 5), tables.table("int32", 200, 6)
    left = left.slice(0, 0) if empty != "right" else left
    right = right.slice(0, 0) if empty != "left" else right
    join_and_compare(garuda, left, right, kind)


@pytest.mark.parametrize("kind", KINDS)
def test_columns_that_are_asked_for(garuda, kind):
    left = pa.table({"k": [1, 2, None], "mark": ["x", "y", "z"]})
    right = pa.table({"k": [2, 3], "b": [20, 30]})
    for name, rows in (("l.arrow", left), ("r.arrow", right)):
        tables.write(garuda.folder / name, rows)
    join = ["l.arrow", "r.arrow", "--on", "k", "--how", kind]
    if kind in LEFT_ONLY:
        garuda.join(*join, "--columns", "left.mark", "-o", "out.arrow")
        rows = {"semi": [("y",)], "anti": [("x",), ("z",)], "mark": [("x", False), ("y", True), ("z", False)]}[kind]
        assert tables.rows_of(tables.read(garuda.folder / "out.arrow")) == rows
        for wrong in ([], ["--count"], ["--memory-limit", "1GB"]):
            sentence = garuda.refused(USAGE, "join", *join, "--columns", "left.mark,right.b", *wrong)
            assert kind in sentence and "left columns only" in sentence and sentence.endswith("right.b")
        return
    garuda.join(*join, "--columns", "right.k,left.k,right.b", "-o", "out.arrow")
    pairs, left_rows, right_rows = [(2, 2, 20)], [(None, 1, None), (None, None, None)], [(3, None, 30)]
    rows = {"inner": pairs, "left": pairs + left_rows, "right": pairs + right_rows}
    expected = rows.get(kind, pairs + left_rows + right_rows)
    assert sorted(tables.rows_of(tables.read(garuda.folder / "out.arrow")), key=repr) == sorted(expected, key=repr)


def test_a_column_called_mark_keeps_its_name(garuda):
    rows = pa.table({"k": [1, 2], "mark": [3, 4]})
    tables.write(garuda.folder / "t.parquet", rows)
    garuda.join("t.parquet", "t.parquet", "--on", "k", "--how", "mark", "-o", "out.parquet")
    assert tables.read(garuda.folder / "out.parquet").column_names == ["k", "mark", "mark_right"]


def test_plans_and_statistics_say_the_kind(join_on_each):
    tables.write(join_on_each.folder / "l.parquet", tables.table("int32", 400, 7))
    join = ["join", "l.parquet", "l.parquet", "--on", "k", "--how", "anti", "--nulls-equal"]
    plan = json.loads(join_on_each.run("explain", *join, "--json").stdout)
    assert plan["details"]["kind"] == "anti, nulls equal" and plan["path"] == join_on_each.path
    done = join_on_each.run(*join, "--stats=json")
    assert json.loads(done.stderr.splitlines()[-1])["plan"]["details"]["kind"] == "anti, nulls equal"
    assert "anti, nulls equal" in join_on_each.run(*join, "--stats").stderr


@pytest.mark.parametrize("options", [[], ["--nulls-equal"]], ids=["plain", "nulls-equal"])
@pytest.mark.parametrize("kind", KINDS)
def test_spilled(garuda, kind, options):
    left, right = tables.table("int64", 2_500, 8), tables.table("int64", 1_500, 9)
    done = join_and_compare(garuda, left, right, kind, *options, "--memory-limit", "48KiB", "--stats=json")
    assert json.loads(done.stderr.splitlines()[-1])["counters"]["spilled_rows"] >= 4_000


@pytest.mark.parametrize("nulls_equal", [[], ["--nulls-equal"]], ids=["plain", "nulls-equal"])
@pytest.mark.parametrize(("left_rows", "right_rows"), [(30_000, 40), (40, 30_000), (20_000, 16_000)])
@pytest.mark.parametrize("kind", ["left", "right", "full", "semi", "anti", "mark"])
def test_spilled_in_blocks(garuda, kind, left_rows, right_rows, nulls_equal):
    """One key, or null, fills a partition, so blocks of both sides are joined: no block alone knows what matches."""

    def rows(name, count, least):
        keys = [None if i % 3 == 0 else 7 if i == count - 2 else least + i % 2 for i in range(count)]
        return pa.table({"k": pa.array(keys, pa.int32()), name: pa.array(range(count), pa.int64())})

    left, right = rows("a", left_rows, 100), rows("b", right_rows, 101)
    for name, table in (("l.parquet", left), ("r.parquet", right)):
        tables.write(garuda.folder / name, table, batch_rows=1_000)
    join = ["l.parquet", "r.parquet", "--on", "k", "--how", kind, *nulls_equal, "--memory-limit", "256KiB"]
    count = tables.expected_count(left, right, kind, nulls_equal=bool(nulls_equal))
    done = garuda.join(*join, "--count", "--stats=json")
    assert done.stdout == f"{count}\n"
    assert json.loads(done.stderr.splitlines()[-1])["counters"]["block_partitions"] >= 1
    if count > 300_000:
        return
    garuda.join(*join, "-o", "out.parquet")
    expected = tables.expected_kind(left, right, kind, nulls_equal=bool(nulls_equal))
    tables.assert_same_rows(tables.read(garuda.folder / "out.parquet"), expected)


def test_kinds_that_do_not_exist(garuda):
    tables.write(garuda.folder / "t.parquet", tables.table("int32", 5, 1))
    sentence = garuda.refused(USAGE, "join", "t.parquet", "t.parquet", "--on", "k", "--how", "outer")
    assert sentence.endswith("--how: a join is inner, left, right, full, semi, anti or mark: outer")
