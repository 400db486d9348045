"""The whole command against DuckDB and Python: files in, groups out, for every aggregate and format."""

from __future__ import annotations

import decimal
import json
import math
import random
import struct

import duckdb
import pyarrow as pa
import pytest
import tables
from command import Garuda

BAD_INPUT = 3


def numbers(num_rows: int, seed: int) -> pa.Table:
    """Keys with nulls and values of many types; floats are eighths, so that any order of adding gives one sum."""
    rng = random.Random(seed)

    def column(data_type: pa.DataType, make) -> pa.Array:
        return pa.array([None if rng.random() < 0.1 else make() for _ in range(num_rows)], data_type)

    return pa.table(
        {
            "city": column(pa.string(), lambda: rng.choice(["Oslo", "Graz", "", "Ulm"])),
            "day": tables.keys("date32", num_rows, seed).cast(pa.date32()),
            "level": column(pa.int16(), lambda: rng.randrange(-3, 3)),
            "i8": column(pa.int8(), lambda: rng.randrange(-128, 128)),
            "i64": column(pa.int64(), lambda: rng.randrange(-(2**50), 2**50)),
            "u32": column(pa.uint32(), lambda: rng.randrange(2**32)),
            "f32": column(pa.float32(), lambda: rng.randrange(-1000, 1000) / 8),
            "f64": column(pa.float64(), lambda: rng.randrange(-(10**9), 10**9) / 8),
            "money": column(pa.decimal128(15, 2), lambda: decimal.Decimal(rng.randrange(-(10**12), 10**12)) / 100),
            "moment": column(pa.timestamp("us"), lambda: rng.randrange(10**15)),
            "word": column(pa.string(), lambda: rng.choice(["a", "bb", "ccc", "Ä"])),
        }
    )


NUMBERS = ["i8", "i64", "u32", "f32", "f64", "money"]


def expected_groups(rows: pa.Table, keys: list[str], aggregates: list[tuple[str, str | None]]) -> pa.Table:
    def call(function: str, column: str | None) -> str:
        name = f"{function}_{column}" if column else function
        arguments = column or "*"
        sql = {"mean": "avg", "sum": "sum"}.get(function, function)
        return f'{sql}({arguments}) AS "{name}"'

    listed = ", ".join([*keys, *(call(*aggregate) for aggregate in aggregates)])
    with duckdb.connect() as database:
        database.register("rows", rows)
        grouping = f" GROUP BY {', '.join(keys)}" if keys else ""
        return database.sql(f"SELECT {listed} FROM rows{grouping}").to_arrow_table()


def comparable(result: pa.Table, keys: list[str]) -> list[tuple]:
    """Rows sorted by their keys; integers and floats that are equal are the same cell."""
    rows = zip(*(column.to_pylist() for column in result.columns))
    return sorted(rows, key=lambda row: [(cell is not None, str(cell)) for cell in row[: len(keys)]])


def spelled(aggregates: list[tuple[str, str | None]]) -> str:
    return ",".join(f"{function}:{column}" if column else function for function, column in aggregates)


@pytest.mark.parametrize("keys", [[], ["city"], ["level"], ["day", "city"], ["city", "level", "day"]])
def test_equals_duckdb(on_each: Garuda, keys):
    rows = numbers(3000, len(keys))
    aggregates = [("count", None), ("count", "f64")]
    aggregates += [(function, name) for name in NUMBERS for function in ("sum", "min", "max", "mean")]
    aggregates += [(function, name) for name in ("day", "moment", "word") for function in ("min", "max", "count")]
    tables.write(on_each.folder / "rows.parquet", rows)
    chosen = ["--keys", ",".join(keys)] if keys else []
    on_each.group_by("rows.parquet", *chosen, "--agg", spelled(aggregates), "-o", "out.arrow")
    actual = tables.read(on_each.folder / "out.arrow")
    expected = expected_groups(rows, keys, aggregates)
    assert actual.column_names == expected.column_names
    actual_rows, expected_rows = comparable(actual, keys), comparable(expected, keys)
    assert len(actual_rows) == len(expected_rows)
    for ours, theirs in zip(actual_rows, expected_rows):
        for name, cell, other in zip(actual.column_names, ours, theirs):
            if name.startswith("mean") and cell is not None:
                assert math.isclose(cell, other, rel_tol=1e-12), name
            else:
                assert cell == other, name


@pytest.mark.parametrize("suffix", [".parquet", ".arrow", ".feather", ".csv"])
def test_formats(on_each: Garuda, suffix):
    rows = pa.table({"k": [3, 1, 3, 1], "x": [1.5, 2.0, 4.0, None]})
    tables.write(on_each.folder / f"rows{suffix}", rows)
    on_each.group_by(f"rows{suffix}", "--keys", "k", "--agg", "sum:x=total", "--ordered", "-o", f"out{suffix}")
    assert tables.read(on_each.folder / f"out{suffix}").to_pydict() == {"k": [3, 1], "total": [5.5, 2.0]}


def test_distinct_and_counting_rows(on_each: Garuda):
    tables.write(on_each.folder / "rows.parquet", pa.table({"k": ["b", "a", None, "b", None]}))
    done = on_each.group_by("rows.parquet", "--keys", "k", "--ordered")
    assert done.stdout.split() == ["k", "utf8", "b", "a", "null", "3", "rows"]
    assert on_each.group_by("rows.parquet", "--agg", "count").stdout.split()[:3] == ["count", "int64", "5"]


def hostile_floats(num_rows: int, seed: int) -> list[float]:
    """From 1e-300 to 1e300, subnormal, and cancelling nearly or wholly."""
    rng = random.Random(seed)
    values: list[float] = []
    while len(values) < num_rows:
        kind = rng.randrange(4)
        value = rng.uniform(-1, 1) * 10.0 ** rng.uniform(-300, 300)
        if kind == 0:
            value = struct.unpack("d", struct.pack("Q", rng.randrange(2**52)))[0]
        values.append(value)
        if kind > 1:
            values.append(-value * (1 + (rng.randrange(3) - 1) * 2.0**-52))
    rng.shuffle(values)
    return values[:num_rows]


def test_float_sums_equal_fsum(on_each: Garuda):
    values = hostile_floats(4000, 5)
    groups = [i * i % 37 for i in range(len(values))]
    tables.write(on_each.folder / "rows.parquet", pa.table({"g": groups, "x": values}))
    on_each.group_by("rows.parquet", "--keys", "g", "--agg", "sum:x,mean:x", "-o", "out.arrow")
    for group, total, mean in zip(*tables.read(on_each.folder / "out.arrow").to_pydict().values()):
        members = [value for g, value in zip(groups, values) if g == group]
        assert struct.pack("d", total) == struct.pack("d", math.fsum(members))
        assert mean == math.fsum(members) / len(members)


def test_shuffled_input_gives_the_same_bytes(on_each: Garuda):
    values = hostile_floats(3000, 6)
    rows = [(i % 11, value) for i, value in enumerate(values)]
    outputs = set()
    for seed in range(3):
        random.Random(seed).shuffle(rows)
        tables.write(on_each.folder / "rows.arrow", pa.table({"g": [r[0] for r in rows], "x": [r[1] for r in rows]}))
        on_each.group_by("rows.arrow", "--keys", "g", "--agg", "sum:x", "--tuning", "slice_rows=700", "-o", "out.csv")
        outputs.add("\n".join(sorted((on_each.folder / "out.csv").read_text().splitlines())))
    assert len(outputs) == 1


def test_overflow_names_the_group(on_each: Garuda):
    most = 2**63 - 1
    tables.write(on_each.folder / "rows.parquet", pa.table({"k": ["a", "b", "b"], "x": [1, most, 1]}))
    arguments = ["--keys", "k", "--agg", "sum:x", "-o", "out.parquet"]
    sentence = on_each.refused(BAD_INPUT, "group-by", "rows.parquet", *arguments)
    assert "'sum_x' is beyond int64 in the group k = 'b'" in sentence
    # A partial sum may pass the type's range as long as the total does not.
    tables.write(on_each.folder / "rows.parquet", pa.table({"k": ["a", "b", "b", "b"], "x": [1, most, 1, -2]}))
    on_each.group_by("rows.parquet", *arguments)
    assert tables.read(on_each.folder / "out.parquet")["sum_x"].to_pylist() == [1, most - 1]


def test_stats_and_explain(on_each: Garuda):
    tables.write(on_each.folder / "rows.parquet", numbers(500, 1))
    done = on_each.group_by("rows.parquet", "--keys", "city,level", "--agg", "sum:f64", "--stats=json")
    stats = json.loads(done.stderr.splitlines()[-1])
    expected = ["path", "device", "driver", "rows", "rows_out", "total_ns", "phases", "plan"]
    assert list(stats)[: len(expected)] == expected
    assert stats["path"] == on_each.path and stats["rows"] == 500 and stats["rows_out"] == 35
    done = on_each.run("explain", "group-by", "rows.parquet", "--keys", "city,level", "--json")
    plan = json.loads(done.stdout)
    assert plan["path"] == on_each.path and "city 5 (dictionary), level 7" in plan["details"]["diversity"]


@pytest.mark.parametrize(
    ("arguments", "status", "named"),
    [
        (["--keys", "cty"], BAD_INPUT, "nearest name: city"),
        (["--agg", "sum:word"], BAD_INPUT, "word"),
        (["--agg", "median:i8"], 2, "median"),
        (["--agg", "sum"], 2, "sum"),
        (["--keys", "city,"], 2, "--keys"),
        (["--keys", "city", "--agg", "count=city"], 2, "city"),
        (["--keys", "city", "--tuning", "storage=runs"], 2, "storage"),
        ([], 2, "--keys"),
    ],
)
def test_bad_input(garuda: Garuda, arguments, status, named):
    tables.write(garuda.folder / "rows.parquet", numbers(10, 1))
    assert named in garuda.refused(status, "group-by", "rows.parquet", *arguments, "-o", "out.parquet")
