"""`garuda join` from files to files gives DuckDB's rows, on the CPU and on each Vulkan driver."""

from __future__ import annotations

import json

import pyarrow as pa
import pytest
import tables

LEFT_ROWS = 2_500
RIGHT_ROWS = 1_500


def join_and_compare(garuda, left, right, on, left_file, right_file, output, *options):
    tables.write(garuda.folder / left_file, left)
    tables.write(garuda.folder / right_file, right)
    left_key, _, right_key = on.partition("=")
    garuda.join(left_file, right_file, "--on", on, "-o", output, *options)
    expected = tables.expected_join(left, right, left_key, right_key or left_key)
    assert expected.num_rows > 1_000
    actual = tables.read(garuda.folder / output)
    tables.assert_same_rows(actual, expected, ordered="--ordered" in options)


@pytest.mark.parametrize("kind", tables.KEYS)
def test_every_key_type(join_on_each, kind):
    left = tables.table(kind, LEFT_ROWS, 1)
    right = tables.table(kind, RIGHT_ROWS, 2)
    join_and_compare(join_on_each, left, right, "k", "l.parquet", "r.arrow", "out.parquet")


@pytest.mark.parametrize(
    ("left_kind", "left_type", "right_type"),
    [
        ("int8", pa.int8(), pa.int64()),
        ("int16", pa.int16(), pa.int32()),
        ("uint8", pa.uint8(), pa.int32()),
        ("uint32", pa.uint32(), pa.int64()),
        ("uint16", pa.uint64(), pa.uint16()),
        ("decimal9", pa.decimal128(9, 2), pa.decimal128(18, 2)),
    ],
)
def test_safe_widening_of_keys(join_on_each, left_kind, left_type, right_type):
    left = tables.table(left_kind, LEFT_ROWS, 3)
    left = left.set_column(1, "k", left["k"].cast(left_type))
    right = tables.table(left_kind, RIGHT_ROWS, 4)
    right = right.set_column(1, "k", right["k"].cast(right_type))
    join_and_compare(join_on_each, left, right, "k", "l.arrow", "r.parquet", "out.arrow")


@pytest.mark.parametrize("output", ["out.parquet", "out.arrow", "out.feather"])
def test_ordered_rows_and_other_names(join_on_each, output):
    left = tables.table("int32", LEFT_ROWS, 5)
    right = tables.table("int32", RIGHT_ROWS, 6, key_name="other")
    join_and_compare(join_on_each, left, right, "k=other", "l.parquet", "r.feather", output, "--ordered")


def test_csv_in_and_out(join_on_each):
    kept = ["row", "k", "flag", "number", "real", "day", "word"]
    left = tables.table("int16", LEFT_ROWS, 7).select(kept)
    right = tables.table("int16", RIGHT_ROWS, 8).select(kept)
    for name, rows in (("l.csv", left), ("r.csv", right)):
        tables.write(join_on_each.folder / name, rows)
    join_on_each.join("l.csv", "r.csv", "--on", "k", "-o", "out.csv")
    join_on_each.join("l.csv", "r.csv", "--on", "k", "-o", "out.parquet")
    # A CSV file's columns have the types that their text suggests.
    left, right = tables.read(join_on_each.folder / "l.csv"), tables.read(join_on_each.folder / "r.csv")
    expected = tables.expected_join(left, right, "k", "k")
    for output in ("out.csv", "out.parquet"):
        tables.assert_same_rows(tables.read(join_on_each.folder / output), expected)


@pytest.mark.parametrize("storage", ["stack", "runs"])
@pytest.mark.parametrize("address", ["hash", "direct"])
def test_every_way_to_draw(on_lavapipe, address, storage):
    left = tables.table("int16", LEFT_ROWS, 9)
    right = tables.table("int16", RIGHT_ROWS, 10)
    for probe in ["output", "instanced"] if storage == "stack" else ["output"]:
        tuning = f"address={address},storage={storage},probe={probe}"
        join_and_compare(on_lavapipe, left, right, "k", "l.parquet", "r.parquet", "out.parquet", "--tuning", tuning)


def test_chosen_columns(join_on_each):
    left = tables.table("uint64", LEFT_ROWS, 11)
    right = tables.table("uint64", RIGHT_ROWS, 12)
    # A type that garuda does not have is no matter as long as nobody asks for it.
    nested = pa.array([[i] for i in range(LEFT_ROWS)], pa.list_(pa.int32()))
    tables.write(join_on_each.folder / "l.parquet", left.append_column("nested", nested))
    tables.write(join_on_each.folder / "r.parquet", right)
    columns = "right.word,left.k,right.k,left.label,left.word"
    join_on_each.join("l.parquet", "r.parquet", "--on", "k", "--columns", columns, "-o", "out.parquet")
    joined = tables.expected_join(left, right, "k", "k")
    expected = [joined[name] for name in ("word_right", "k", "k", "label", "word")]
    actual = tables.read(join_on_each.folder / "out.parquet")
    assert len(set(actual.column_names)) == 5
    tables.assert_same_rows(actual, pa.table(expected, names=actual.column_names))
    count = join_on_each.join("l.parquet", "r.parquet", "--on", "k", "--count")
    assert count.stdout == f"{joined.num_rows}\n"


@pytest.mark.parametrize("extension", ["parquet", "arrow", "csv"])
@pytest.mark.parametrize("empty_side", ["left", "right", "both", "neither"])
def test_results_without_rows(join_on_each, extension, empty_side):
    left = pa.table({"k": pa.array([1, 2], pa.int64()), "a": ["x", "y"]})
    right = pa.table({"k": pa.array([3, 4], pa.int64()), "b": [1.5, 2.5]})
    left = left.slice(0, 0) if empty_side in ("left", "both") else left
    right = right.slice(0, 0) if empty_side in ("right", "both") else right
    tables.write(join_on_each.folder / f"l.{extension}", left)
    tables.write(join_on_each.folder / f"r.{extension}", right)
    join_on_each.join(f"l.{extension}", f"r.{extension}", "--on", "k", "-o", f"out.{extension}")
    actual = tables.read(join_on_each.folder / f"out.{extension}")
    assert actual.column_names == ["k", "a", "b"] and actual.num_rows == 0
    assert join_on_each.join(f"l.{extension}", f"r.{extension}", "--on", "k", "--count").stdout == "0\n"


def test_all_keys_null(join_on_each):
    rows = pa.table({"k": pa.array([None] * 100, pa.int32()), "a": range(100)})
    tables.write(join_on_each.folder / "l.parquet", rows)
    assert join_on_each.join("l.parquet", "l.parquet", "--on", "k", "--count").stdout == "0\n"


def test_output_over_an_input(join_on_each):
    left = tables.table("int64", LEFT_ROWS, 13)
    right = tables.table("int64", RIGHT_ROWS, 14)
    join_and_compare(join_on_each, left, right, "k", "l.parquet", "r.parquet", "l.parquet")


def test_a_million_rows_in_many_partitions(on_lavapipe):
    """Dense keys in scattered order on both sides; DuckDB compares whole rows."""
    num_rows = 1_000_000
    for name, step, payload in (("l", 7_919, "a"), ("r", 104_729, "b")):
        keys = pa.array([i * step % num_rows for i in range(num_rows)], pa.int32())
        rows = pa.table({"k": keys, payload: pa.array(range(num_rows), pa.int32())})
        tables.write(on_lavapipe.folder / f"{name}.parquet", rows, batch_rows=150_000)
    done = on_lavapipe.join(
        "l.parquet", "r.parquet", "--on", "k", "-o", "out.parquet", "--stats=json", "--tuning", "radix_bits=4"
    )
    stats = json.loads(done.stderr.splitlines()[-1])
    assert stats["counters"]["partitions"] == 16
    folder = on_lavapipe.folder
    with tables.duckdb.connect() as database:
        difference = database.sql(
            f"""SELECT count(*) FROM (SELECT sum(n) AS surplus FROM (
                  SELECT *, 1 AS n FROM '{folder}/out.parquet' UNION ALL
                  SELECT k, a, b, -1 AS n FROM '{folder}/l.parquet' JOIN '{folder}/r.parquet' USING (k))
                GROUP BY k, a, b HAVING surplus <> 0)"""
        ).fetchall()
        rows = database.sql(f"SELECT count(*) FROM '{folder}/out.parquet'").fetchall()
    assert difference == [(0,)] and rows == [(num_rows,)]


def test_count_beyond_32_bits(join_on_each):
    tuning = ["--tuning", "address=direct,storage=runs"] if join_on_each.path == "graphics" else []
    equal_keys = pa.table({"k": pa.array([7] * 70_000, pa.int32())})
    tables.write(join_on_each.folder / "equal.parquet", equal_keys)
    done = join_on_each.join("equal.parquet", "equal.parquet", "--on", "k", "--count", *tuning)
    assert done.stdout == "4900000000\n"
