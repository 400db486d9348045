"""A join reads only the row groups of its larger Parquet file that may have a key of the smaller one; the rows are
DuckDB's."""

from __future__ import annotations

import datetime
import json

import pyarrow as pa
import pyarrow.parquet
import pytest
import tables

KINDS = ["inner", "left", "right", "full", "semi", "anti", "mark"]
DAY = datetime.date(2020, 1, 1)
# Kinds that leave out row groups of the right side, and of the left one, where it is the larger.
LEAVES_OUT_RIGHT = {"inner", "left", "semi", "anti", "mark"}
LEAVES_OUT_LEFT = {"inner", "right", "semi"}


def small(type_: pa.DataType, values: list) -> pa.Table:
    return pa.table({"k": pa.array(values, type_), "a": pa.array(range(len(values)), pa.int32())})


def large(type_: pa.DataType, values: list) -> pa.Table:
    words = [f"{i} of the larger table" for i in range(len(values))]
    return pa.table({"k": pa.array(values, type_), "b": words, "c": pa.array(range(len(values)), pa.int64())})


def numbers(null_every: int = 0) -> list:
    """4 000 keys that ascend from -2 000, and so do row groups of 400."""
    return [None if null_every and i % null_every == 0 else i - 2_000 for i in range(4_000)]


def run_join(garuda, left: pa.Table, right: pa.Table, kind: str, *options: str) -> int:
    """Compares with DuckDB's rows; returns the bytes that were read."""
    tables.write(garuda.folder / "l.parquet", left, batch_rows=400)
    tables.write(garuda.folder / "r.parquet", right, batch_rows=400)
    join = ["l.parquet", "r.parquet", "--on", "k", "--how", kind, "--stats=json", *options]
    done = garuda.join(*join, "-o", "out.parquet")
    expected = tables.expected_kind(left, right, kind, nulls_equal="--nulls-equal" in options)
    tables.assert_same_rows(tables.read(garuda.folder / "out.parquet"), expected, ordered="--ordered" in options)
    counting = [option for option in join if option not in ("--ordered", "--stats=json")]
    assert garuda.join(*counting, "--count").stdout == f"{expected.num_rows}\n"
    return json.loads(done.stderr.splitlines()[-1])["read_bytes"]


def whole_bytes(garuda) -> int:
    """Bytes of all columns of both files."""
    footers = [pyarrow.parquet.ParquetFile(garuda.folder / name).metadata for name in ("l.parquet", "r.parquet")]
    groups = [footer.row_group(i) for footer in footers for i in range(footer.num_row_groups)]
    return sum(group.column(c).total_compressed_size for group in groups for c in range(group.num_columns))


@pytest.mark.parametrize("options", [[], ["--nulls-equal"], ["--ordered"]], ids=["plain", "nulls-equal", "ordered"])
@pytest.mark.parametrize("kind", KINDS)
def test_every_kind(garuda, kind, options):
    few = small(pa.int64(), [-7, 3, None, 3, 411, 999_999_999])
    few = few if "--nulls-equal" in options else few.slice(0, 5)
    read = run_join(garuda, few, large(pa.int64(), numbers()), kind, *options)
    whole = whole_bytes(garuda)
    # Kinds that keep unmatched right rows read all of them; semi, anti and mark read keys alone anyway.
    if kind in ("inner", "left"):
        bound = whole if "--nulls-equal" in options else whole / 2
        assert read < bound
    if kind not in LEAVES_OUT_RIGHT:
        assert read == whole
    read = run_join(garuda, large(pa.int64(), numbers()), few, kind, *options)
    if kind in ("inner", "right"):
        assert read < whole_bytes(garuda)
    if kind not in LEAVES_OUT_LEFT and kind in ("left", "full"):
        assert read == whole_bytes(garuda)


@pytest.mark.parametrize("nulls_equal", [False, True])
@pytest.mark.parametrize("null_every", [0, 3, 1_300])
def test_nulls_in_the_larger_table(garuda, null_every, nulls_equal):
    options = ["--nulls-equal"] if nulls_equal else []
    for kind in ("inner", "left", "semi"):
        few = small(pa.int32(), [None, 17, 18])
        run_join(garuda, few, large(pa.int32(), numbers(null_every)), kind, *options)
    run_join(garuda, small(pa.int32(), [None, None]), large(pa.int32(), numbers(null_every)), "inner", *options)
    run_join(garuda, small(pa.int32(), [1]), large(pa.int32(), [None] * 900), "left", *options)


@pytest.mark.parametrize(
    ("few", "many", "make"),
    [
        (pa.int8(), pa.int64(), lambda i: i),
        (pa.int64(), pa.int16(), lambda i: i),
        (pa.uint8(), pa.int32(), lambda i: abs(i)),
        (pa.int32(), pa.uint32(), lambda i: abs(i)),
        (pa.date32(), pa.date32(), lambda i: DAY + datetime.timedelta(days=i)),
        (pa.timestamp("ms"), pa.timestamp("ms"), lambda i: datetime.datetime(2020, 1, 1, i % 24)),
        (pa.decimal128(9, 2), pa.decimal128(9, 2), lambda i: i),
        (pa.string(), pa.string(), lambda i: f"{i:05}"),
    ],
    ids=lambda value: None if callable(value) else str(value),
)
def test_types_of_keys(garuda, few, many, make):
    left = small(few, [make(i) for i in (5, 9, 100)])
    right = large(many, [make(i) for i in range(-2_000, 2_000)])
    tables.write(garuda.folder / "l.parquet", left)
    tables.write(garuda.folder / "r.parquet", right, batch_rows=400)
    garuda.join("l.parquet", "r.parquet", "--on", "k", "-o", "out.parquet", "--ordered")
    tables.assert_same_rows(tables.read(garuda.folder / "out.parquet"), tables.expected_join(left, right, "k", "k"), True)


def test_several_keys_and_files_without_statistics(garuda):
    left = pa.table({"s": ["x", "y"], "k": pa.array([5, 1_900], pa.int32())})
    right = large(pa.int32(), numbers()).append_column("s", pa.array(["x", "y"] * 2_000))
    tables.write(garuda.folder / "l.csv", left)
    for statistics in (True, False):
        path = garuda.folder / "r.parquet"
        pyarrow.parquet.write_table(right, path, row_group_size=400, write_statistics=statistics)
        garuda.join("l.csv", "r.parquet", "--on", "s,k", "--columns", "left.k,right.c", "-o", "out.parquet")
        # Statistics may tell nothing of the first key column; row 2 005 has y.
        assert tables.read(garuda.folder / "out.parquet").to_pydict() == {"k": [], "c": []}
        garuda.join("l.csv", "r.parquet", "--on", "k", "--columns", "left.k,right.c", "--ordered", "-o", "out.parquet")
        assert tables.read(garuda.folder / "out.parquet").to_pydict() == {"k": [5, 1_900], "c": [2_005, 3_900]}


def test_folders_of_files(garuda):
    (garuda.folder / "d").mkdir()
    right = large(pa.int64(), numbers())
    for i in range(4):
        tables.write(garuda.folder / f"d/{i}.parquet", right.slice(1_000 * i, 1_000), batch_rows=400)
    tables.write(garuda.folder / "l.parquet", small(pa.int64(), [-1_999, 1_999]))
    garuda.join("l.parquet", "d", "--on", "k", "--columns", "left.k,right.c", "--ordered", "-o", "out.parquet")
    assert tables.read(garuda.folder / "out.parquet").to_pydict() == {"k": [-1_999, 1_999], "c": [1, 3_999]}
    tables.write(garuda.folder / "l.parquet", small(pa.int64(), [5_000]))
    garuda.join("l.parquet", "d", "--on", "k", "-o", "out.parquet")
    assert tables.read(garuda.folder / "out.parquet").num_rows == 0
