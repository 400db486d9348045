"""A refused group-by gives one sentence that names the thing, the exit code of its kind, and no file left behind."""

from __future__ import annotations

import os
import resource

import pyarrow as pa
import pytest
import tables
from command import Garuda

USAGE, BAD_INPUT, NO_DEVICE, NO_ROOM = 2, 3, 4, 5


@pytest.fixture
def sales(garuda: Garuda) -> Garuda:
    """A small table in a file of each format."""
    rows = pa.table(
        {
            "city": ["Oslo", "Graz", None],
            "number": pa.array([1, 2, 3], pa.int32()),
            "word": ["a", "b", "c"],
            "flag": [True, False, None],
            "day": pa.array([1, 2, 3], pa.int32()).cast(pa.date32()),
            "wide": pa.array([None, None, None], pa.decimal256(50, 2)),
            "nested": pa.array([[1], [], None], pa.list_(pa.int32())),
            "nothing": pa.nulls(3),
        }
    )
    tables.write(garuda.folder / "sales.parquet", rows)
    tables.write(garuda.folder / "sales.arrow", rows)
    tables.write(garuda.folder / "sales.csv", rows.select(["city", "number", "word"]))
    return garuda


def refused(garuda: Garuda, status: int, *arguments: object, **options: object) -> str:
    return garuda.refused(status, "group-by", *arguments, **options)


@pytest.mark.parametrize("suffix", ["parquet", "arrow", "csv"])
@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        (["--keys", "cty"], "unknown column (nearest name: city): cty"),
        (["--keys", "city,nubmer"], "unknown column (nearest name: number): nubmer"),
        (["--keys", "city", "--agg", "sum:numbr"], "unknown column (nearest name: number): numbr"),
        (["--agg", "count:wurd"], "unknown column (nearest name: word): wurd"),
    ],
)
def test_unknown_columns(sales, arguments, named, suffix):
    sentence = refused(sales, BAD_INPUT, f"sales.{suffix}", *arguments, "-o", "out.parquet")
    assert sentence == f"garuda: sales.{suffix}: {named}"


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        (["--agg", "sum:word"], "sum is not defined for column 'word' of type utf8"),
        (["--agg", "mean:word"], "mean is not defined for column 'word' of type utf8"),
        (["--agg", "sum:flag"], "sum is not defined for column 'flag' of type bool"),
        (["--agg", "sum:day"], "sum is not defined for column 'day' of type date32"),
        (["--keys", "city", "--agg", "count,mean:day"], "mean is not defined for column 'day' of type date32"),
        (["--agg", "median:word"], "median is not defined for column 'word' of type utf8"),
        (["--agg", "var:day"], "var is not defined for column 'day' of type date32"),
        (["--agg", "bool_or:number"], "bool_or is not defined for column 'number' of type int32"),
        (["--agg", "corr:number:word"], "corr is not defined for a second column 'word' of type utf8"),
    ],
)
def test_functions_that_a_type_has_not(sales, arguments, named):
    assert refused(sales, BAD_INPUT, "sales.parquet", *arguments, "-o", "out.csv") == f"garuda: {named}"


@pytest.mark.parametrize("suffix", ["parquet", "arrow"])
def test_nested_types_are_named_when_used(sales, suffix):
    named = {
        "--keys nested": "column 'nested' cannot be a key, which has any type but nested ones and null: list<",
        "--keys nothing": "column 'nothing' cannot be a key, which has any type but nested ones and null: null",
        "--agg count:nothing": "count is not defined for column 'nothing' of type null",
        "--agg min:nested": "min is not defined for column 'nested' of type list<",
        "--agg sum:nested": "sum is not defined for column 'nested' of type list<",
        "--agg product:wide": "product is not defined for column 'wide' of type decimal256(50, 2)",
    }
    for arguments, words in named.items():
        assert words in refused(sales, BAD_INPUT, f"sales.{suffix}", *arguments.split(), "-o", "out.parquet")
    assert sales.group_by(f"sales.{suffix}", "--keys", "city,wide", "--agg", "count:wide").returncode == 0


def test_counting_rows_of_nested_columns(sales):
    tables.write(sales.folder / "nested.arrow", pa.table({"nested": pa.array([[1]], pa.list_(pa.int32()))}))
    assert "1 row" in sales.group_by("nested.arrow", "--agg", "count").stdout


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        ([], "group-by wants --keys, --agg or both"),
        (["--keys", ""], "group-by wants --keys, --agg or both"),
        (["--keys", ","], "--keys wants column names"),
        (["--keys", "city,"], "--keys wants column names"),
        (["--agg", "mode:number"], "aggregate must be one of count, sum, min, max, mean, var, "),
        (["--agg", "SUM:number"], "'SUM'"),
        (["--agg", ","], "min_n, max_n, product: ''"),
        (["--agg", "count,"], "min_n, max_n, product: ''"),
        (["--agg", ":number"], "min_n, max_n, product: ''"),
        (["--agg", "covar:number"], "covar wants two columns, as in x:y: covar:number"),
        (["--agg", "quantile:number:1.5"], "quantile wants a column and a number within [0, 1], as in x:0.9"),
        (["--agg", "min_n:number:none"], "min_n wants a column and how many values, 1 to 2147483647, as in x:3"),
        (["--agg", "sum"], "aggregate needs a column: sum"),
        (["--agg", "sum:"], "aggregate has an empty column: sum:"),
        (["--agg", "sum:number="], "aggregate has an empty name: sum:number="),
        (["--agg", "sum:number,sum:number"], "two columns of the result have one name: 'sum_number'"),
        (["--agg", "min:number=x,max:number=x"], "two columns of the result have one name: 'x'"),
        (["--keys", "city,city"], "two columns of the result have one name: 'city'"),
        (["--keys", "city", "--agg", "count=city"], "two columns of the result have one name: 'city'"),
        (["--keys", "city", "--tuning", "storage=runs"], "storage"),
        (["--keys", "city", "--tuning", "keys=heap"], "tuning value of keys must be auto, packed, words, rowid: heap"),
        (["--keys", "city", "--tuning", "lanes=2000"], "tuning value of lanes must be auto or 1 to 256: 2000"),
        (["--keys", "city", "--path", "gpu"], "gpu"),
        (["--keys", "city", "--count"], "--count"),
        (["--keys", "city", "-o", "out.txt"], "out.txt"),
        (["--keys", "city", "-o", ""], "--output"),
        (["--keys", "city\\"], "a backslash must stand before a character of a name"),
        (["--keys", "city", "--temp-folder", ""], "--temp-folder: must not be empty"),
        (["--keys", "city", "--threads", "0"], "--threads"),
        (["--keys", "city", "--memory-limit", "much"], "--memory-limit"),
    ],
)
def test_wrong_usage(sales, arguments, named):
    assert named in refused(sales, USAGE, "sales.parquet", *arguments)


def test_missing_damaged_and_foreign_files(sales):
    arguments = ["--keys", "city", "-o", "out.parquet"]
    for name in ("none.parquet", "none.arrow", "none.csv"):
        assert refused(sales, BAD_INPUT, name, *arguments) == f"garuda: cannot read {name}: no such file or directory"
    assert "sales.txt" in refused(sales, USAGE, "sales.txt", *arguments)
    whole = (sales.folder / "sales.parquet").read_bytes()
    for content in (b"", whole[: len(whole) // 2], b"city\nOslo\n"):
        (sales.folder / "bad.parquet").write_bytes(content)
        assert "bad.parquet" in refused(sales, BAD_INPUT, "bad.parquet", *arguments)


def test_outputs_that_cannot_be_written(sales):
    assert "none/out.csv" in refused(sales, NO_ROOM, "sales.parquet", "--keys", "city", "-o", "none/out.csv")
    (sales.folder / "folder.csv").mkdir()
    assert "folder.csv" in refused(sales, NO_ROOM, "sales.parquet", "--keys", "city", "-o", "folder.csv")
    with open("/dev/full", "w", encoding="ascii") as full:
        done = sales.run("group-by", "sales.parquet", "--keys", "city", "--quiet", stdout=full)
    assert done.returncode == NO_ROOM and "no space left" in done.stderr


@pytest.mark.parametrize("output", ["out.parquet", "out.arrow", "out.csv"])
def test_full_disk(sales, output):
    """A limit on the size of files stands for the disk: in both cases write(2) fails in the middle."""
    words = [os.urandom(8).hex() for _ in range(20_000)]
    tables.write(sales.folder / "many.arrow", pa.table({"k": words}))

    def small_files():
        resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, 100_000))

    assert output in refused(sales, NO_ROOM, "many.arrow", "--keys", "k", "-o", output, preexec_fn=small_files)


def test_memory_limits_that_cannot_be_kept(sales, on_lavapipe):
    arguments = ["sales.parquet", "--keys", "city", "--agg", "sum:number", "-o", "out.parquet"]
    assert "host memory, over the limit" in refused(sales, NO_ROOM, *arguments, "--memory-limit", "1")
    graphics = Garuda(sales.folder, on_lavapipe.icd, "graphics")
    assert "device memory" in refused(graphics, NO_ROOM, *arguments, "--device-memory-limit", "16")


def test_no_device_or_path(sales, on_lavapipe):
    arguments = ["sales.parquet", "--keys", "city", "-o", "out.parquet"]
    for path in ("graphics", "compute", "cuda"):
        assert path in refused(sales, NO_DEVICE, *arguments, "--path", path)
    with_driver = Garuda(sales.folder, on_lavapipe.icd)
    assert "Voodoo" in refused(with_driver, NO_DEVICE, *arguments, "--device", "Voodoo")


def test_keys_that_do_not_pack(on_each: Garuda):
    """A form of keys that is asked for and cannot hold them is refused, not replaced."""
    rows = pa.table({"a": pa.array([-(2**63), 2**63 - 1], pa.int64()), "b": pa.array([0, 2**40], pa.int64())})
    tables.write(on_each.folder / "rows.arrow", rows)
    arguments = ["rows.arrow", "--keys", "a,b", "--tuning", "keys=packed", "-o", "out.csv"]
    assert "64 bits" in refused(on_each, USAGE, *arguments)


def test_an_existing_output_survives_a_failed_run(sales):
    (sales.folder / "out.parquet").write_text("precious")
    refused(sales, BAD_INPUT, "sales.parquet", "--agg", "sum:word", "-o", "out.parquet")
    assert (sales.folder / "out.parquet").read_text() == "precious"
