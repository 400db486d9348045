"""The whole command against DuckDB and plain Python: files in, groups out, for every type, aggregate and format."""

from __future__ import annotations

import decimal
import math
import random

import duckdb
import groups
import pyarrow as pa
import pytest
import tables
from command import Garuda


def numbers(num_rows: int, seed: int) -> pa.Table:
    """Keys with nulls and values of many types; floats are eighths, so that any order of adding gives one sum."""
    rng = random.Random(seed)

    def column(data_type: pa.DataType, make) -> pa.Array:
        return pa.array([None if rng.random() < 0.1 else make() for _ in range(num_rows)], data_type)

    def money(precision: int, scale: int, digits: int) -> pa.Array:
        context = decimal.Context(prec=40)
        return column(
            pa.decimal128(precision, scale),
            lambda: context.scaleb(decimal.Decimal(rng.randrange(-(10**digits), 10**digits)), -scale),
        )

    return pa.table(
        {
            "city": column(pa.string(), lambda: rng.choice(["Oslo", "Graz", "", "Ulm"])),
            "day": tables.keys("date32", num_rows, seed).cast(pa.date32()),
            "level": column(pa.int16(), lambda: rng.randrange(-3, 3)),
            "i8": column(pa.int8(), lambda: rng.randrange(-128, 128)),
            "i64": column(pa.int64(), lambda: rng.randrange(-(2**50), 2**50)),
            "u32": column(pa.uint32(), lambda: rng.randrange(2**32)),
            "u64": column(pa.uint64(), lambda: rng.randrange(2**51)),
            "f32": column(pa.float32(), lambda: rng.randrange(-1000, 1000) / 8),
            "f64": column(pa.float64(), lambda: rng.randrange(-(10**9), 10**9) / 8),
            "money": money(15, 2, 12),
            "huge": money(38, 10, 34),
            "moment": column(pa.timestamp("us"), lambda: rng.randrange(10**15)),
            "word": column(pa.string(), lambda: rng.choice(["a", "bb", "ccc", "Ä"])),
            "special": pa.array(groups.special_floats(num_rows, seed), pa.float64()),
        }
    )


NUMBERS = ["i8", "i64", "u32", "u64", "f32", "f64", "money", "huge"]


def expected_groups(rows: pa.Table, keys: list[str], aggregates: list[tuple[str, str | None]]) -> pa.Table:
    def call(function: str, column: str | None) -> str:
        name = f"{function}_{column}" if column else function
        return f'{"avg" if function == "mean" else function}({column or "*"}) AS "{name}"'

    listed = ", ".join([*keys, *(call(*aggregate) for aggregate in aggregates)])
    with duckdb.connect() as database:
        database.register("rows", rows)
        grouping = f" GROUP BY {', '.join(keys)}" if keys else ""
        return database.sql(f"SELECT {listed} FROM rows{grouping}").to_arrow_table()


def by_keys(result: pa.Table, keys: list[str]) -> list[tuple]:
    """Rows sorted by their keys."""
    rows = zip(*(column.to_pylist() for column in result.columns))
    return sorted(rows, key=lambda row: [(cell is not None, str(cell)) for cell in row[: len(keys)]])


def same_cell(name: str, ours: object, theirs: object) -> bool:
    """DuckDB's averages are not rounded once."""
    if ours is None or theirs is None or not isinstance(ours, float):
        return ours == theirs
    if name.startswith("mean"):
        return math.isclose(ours, theirs, rel_tol=1e-12)
    return ours == theirs or (math.isnan(ours) and math.isnan(theirs))


@pytest.mark.parametrize("keys", [[], ["city"], ["level"], ["day", "city"], ["city", "level", "day"]])
def test_equals_duckdb(on_each: Garuda, keys):
    rows = numbers(3000, len(keys))
    aggregates = [("count", None), ("count", "f64")]
    aggregates += [(function, name) for name in NUMBERS for function in ("sum", "min", "max", "mean")]
    aggregates += [(function, name) for name in ("day", "moment", "word") for function in ("min", "max", "count")]
    aggregates += [("min", "special"), ("max", "special")]
    tables.write(on_each.folder / "rows.parquet", rows)
    chosen = ["--keys", ",".join(keys)] if keys else []
    on_each.group_by("rows.parquet", *chosen, "--agg", groups.spelled(aggregates), "-o", "out.arrow")
    actual = tables.read(on_each.folder / "out.arrow")
    expected = expected_groups(rows, keys, aggregates)
    assert actual.column_names == expected.column_names
    actual_rows, expected_rows = by_keys(actual, keys), by_keys(expected, keys)
    assert len(actual_rows) == len(expected_rows)
    for ours, theirs in zip(actual_rows, expected_rows):
        for name, cell, other in zip(actual.column_names, ours, theirs):
            assert same_cell(name, cell, other), (name, cell, other)


KEY_COLUMNS = [
    [],
    ["flag"],
    ["special"],
    ["label", "i8"],
    ["f32", "d38"],
    ["word", "day64", "u64", "span", "bytes", "void", "nano", "hour", "d9"],
]


def types_of(rows: pa.Table, keys: list[str], aggregates: list[tuple[str, str | None]]) -> list[pa.DataType]:
    types = [rows.schema.field(key).type for key in keys]
    for function, column in aggregates:
        data_type = rows.schema.field(column).type if column else None
        if function in ("min", "max"):
            types.append(data_type)
        else:
            types.append({"count": pa.int64(), "mean": pa.float64()}.get(function) or groups.sum_type(data_type))
    return types


@pytest.mark.parametrize("keys", KEY_COLUMNS, ids=",".join)
def test_every_type_and_aggregate(on_each: Garuda, keys):
    """Every cell bit for bit, sums of floats that cancel, groups in the order of their first rows."""
    rows = groups.every_type(600, len(keys))
    aggregates = groups.every_aggregate(rows)
    tables.write(on_each.folder / "rows.arrow", rows, batch_rows=250)
    chosen = ["--keys", ",".join(keys)] if keys else []
    on_each.group_by("rows.arrow", *chosen, "--agg", groups.spelled(aggregates), "--ordered", "-o", "out.arrow")
    actual = tables.read(on_each.folder / "out.arrow")
    groups.assert_groups(actual, groups.group(rows, keys, aggregates))
    assert actual.schema.types == types_of(rows, keys, aggregates)


@pytest.mark.parametrize("num_rows", [0, 1, 255, 257])
@pytest.mark.parametrize("keys", [[], ["i8", "word"]], ids=["no keys", "keys"])
def test_few_rows(on_each: Garuda, keys, num_rows):
    rows = groups.every_type(num_rows, 9).select(["i8", "i64", "f64", "d38", "day", "word"])
    aggregates = groups.every_aggregate(rows)
    tables.write(on_each.folder / "rows.parquet", rows)
    chosen = ["--keys", ",".join(keys)] if keys else []
    on_each.group_by("rows.parquet", *chosen, "--agg", groups.spelled(aggregates), "--ordered", "-o", "out.arrow")
    groups.assert_groups(tables.read(on_each.folder / "out.arrow"), groups.group(rows, keys, aggregates))


@pytest.mark.parametrize("suffix", [".parquet", ".arrow", ".feather", ".csv"])
def test_formats(on_each: Garuda, suffix):
    rows = pa.table({"k": [3, 1, 3, 1], "x": [1.5, 2.0, 4.0, None]})
    tables.write(on_each.folder / f"rows{suffix}", rows)
    on_each.group_by(f"rows{suffix}", "--keys", "k", "--agg", "sum:x=total", "--ordered", "-o", f"out{suffix}")
    assert tables.read(on_each.folder / f"out{suffix}").to_pydict() == {"k": [3, 1], "total": [5.5, 2.0]}


# What Parquet gives back as it took it, and CSV with the types that its text has.
PARQUET_COLUMNS = ["i8", "u64", "f32", "f64", "special", "d9", "d38", "flag", "day", "nano", "hour64", "word", "bytes"]
CSV_COLUMNS = ["i64", "f64", "day", "second", "word"]


@pytest.mark.parametrize(("suffix", "names"), [(".parquet", PARQUET_COLUMNS), (".csv", CSV_COLUMNS)])
def test_types_of_formats(on_each: Garuda, suffix, names):
    rows = groups.every_type(500, 3).select(names)
    if suffix == ".csv":  # an empty text is a null there
        rows = rows.set_column(rows.column_names.index("word"), "word", pa.array(["x", "Ä", None, "z"] * 125))
    tables.write(on_each.folder / f"rows{suffix}", rows)
    rows = tables.read(on_each.folder / f"rows{suffix}")
    aggregates = groups.every_aggregate(rows)
    arguments = ["--keys", "word", "--agg", groups.spelled(aggregates), "--ordered"]
    on_each.group_by(f"rows{suffix}", *arguments, "-o", f"out{suffix}")
    groups.assert_groups(tables.read(on_each.folder / f"out{suffix}"), groups.group(rows, ["word"], aggregates))


def test_distinct_and_counting_rows(on_each: Garuda):
    tables.write(on_each.folder / "rows.parquet", pa.table({"k": ["b", "a", None, "b", None]}))
    done = on_each.group_by("rows.parquet", "--keys", "k", "--ordered")
    assert done.stdout.split() == ["k", "utf8", "b", "a", "null", "3", "rows"]
    assert on_each.group_by("rows.parquet", "--agg", "count").stdout.split()[:3] == ["count", "int64", "5"]


TUNINGS = [
    "address=direct",
    "address=hash",
    "keys=words",
    "keys=rowid",
    "slice_rows=300,lanes=1",
    "radix_bits=3",
]


@pytest.mark.parametrize("tuning", TUNINGS)
def test_graphics_and_cpu_write_the_same_bytes(on_graphics: Garuda, tuning):
    """Keys are small enough to be packed; groups come in the order of first rows, and as a set in any other order."""
    rows = groups.every_type(1500, 21)
    tables.write(on_graphics.folder / "rows.arrow", rows)
    arguments = ["rows.arrow", "--keys", "i8,flag", "--agg", groups.spelled(groups.every_aggregate(rows))]
    on_cpu = Garuda(on_graphics.folder, path="cpu")
    on_graphics.group_by(*arguments, "--ordered", "--tuning", tuning, "-o", "graphics.arrow")
    on_cpu.group_by(*arguments, "--ordered", "-o", "cpu.arrow")
    written = (on_graphics.folder / "graphics.arrow").read_bytes()
    assert written == (on_graphics.folder / "cpu.arrow").read_bytes()

    on_graphics.group_by(*arguments, "--tuning", tuning, "-o", "any.arrow")
    ordered, any_order = (
        sorted(zip(*map(groups.raw, tables.read(on_graphics.folder / name).columns)), key=repr)
        for name in ("cpu.arrow", "any.arrow")
    )
    assert any_order == ordered


@pytest.mark.parametrize("num_groups", [1, 64, 20_000])
def test_many_rows(on_each: Garuda, num_groups):
    """More rows of a group than a block of the accumulator takes, and more groups than rows of them."""
    rng = random.Random(num_groups)
    values = groups.hostile_floats(70_000, 4)
    keys = [rng.randrange(num_groups) if rng.random() < 0.3 else 0 for _ in values]
    rows = pa.table({"k": keys, "x": values, "n": [rng.randrange(-(2**46), 2**46) for _ in values]})
    aggregates = [("count", None), ("sum", "x"), ("sum", "n"), ("min", "n"), ("max", "x")]
    tables.write(on_each.folder / "rows.arrow", rows, batch_rows=40_000)
    arguments = ["--keys", "k", "--agg", groups.spelled(aggregates), "--ordered"]
    on_each.group_by("rows.arrow", *arguments, "-o", "out.arrow")
    groups.assert_groups(tables.read(on_each.folder / "out.arrow"), groups.group(rows, ["k"], aggregates))
