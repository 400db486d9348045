"""Sums are exact: floats as math.fsum rounds them, whatever the order of rows; overflow is judged on the total."""

from __future__ import annotations

import decimal
import math
import random

import groups
import pyarrow as pa
import pytest
import tables
from command import Garuda

BAD_INPUT = 3
INT64_MAX, UINT64_MAX = 2**63 - 1, 2**64 - 1


def grouped(garuda: Garuda, rows: pa.Table, aggregates: str, *arguments: str, suffix: str = ".parquet") -> pa.Table:
    """Groups `rows` by their column k, groups in the order of first rows."""
    tables.write(garuda.folder / f"rows{suffix}", rows)
    arguments = ("--keys", "k", "--agg", aggregates, "--ordered", *arguments)
    garuda.group_by(f"rows{suffix}", *arguments, "-o", "out.arrow")
    return tables.read(garuda.folder / "out.arrow")


def members(values: list, num_groups: int) -> tuple[list[int], list[list]]:
    """Keys of rows, and the values of each group in the order of first rows."""
    keys = [row * row % num_groups for row in range(len(values))]
    found: dict[int, list] = {}
    for key, value in zip(keys, values):
        found.setdefault(key, []).append(value)
    return keys, list(found.values())


def wide(num_rows: int, seed: int) -> list[float]:
    return groups.hostile_floats(num_rows, seed)


def subnormal(num_rows: int, seed: int) -> list[float]:
    rng = random.Random(seed)
    return [math.copysign(groups.float_of(rng.randrange(2**53)), rng.random() - 0.5) for _ in range(num_rows)]


def cancelling(num_rows: int, seed: int) -> list[float]:
    """Each value and its negative, far apart, and one least subnormal that remains."""
    half = groups.hostile_floats(num_rows // 2, seed)
    return [*half, 5e-324, *(-value for value in reversed(half))]


def halfway(num_rows: int, seed: int) -> list[float]:
    """Totals between two doubles, or a hair beside the middle."""
    rng = random.Random(seed)
    return [rng.choice([1.0, 2.0**-53, 2.0**-106, -(2.0**-106), 2.0**53, -1.0, 5e-324]) for _ in range(num_rows)]


def single(num_rows: int, seed: int) -> list[float]:
    """Values of float32, subnormal ones too."""
    rng = random.Random(seed)
    values = [rng.uniform(-1, 1) * 10.0 ** rng.uniform(-46, 38.5) for _ in range(num_rows)]
    return pa.array(values, pa.float32()).to_pylist()


@pytest.mark.parametrize("suffix", [".parquet", ".arrow", ".csv"])
@pytest.mark.parametrize("make", [wide, subnormal, cancelling, halfway, single])
def test_equal_fsum(on_each: Garuda, make, suffix):
    values = make(4000, 5)
    keys, found = members(values, 37)
    data_type = pa.float32() if make is single and suffix != ".csv" else pa.float64()
    rows = pa.table({"k": keys, "x": pa.array(values, data_type)})
    result = grouped(on_each, rows, "sum:x,mean:x", suffix=suffix)
    assert groups.raw(result["sum_x"]) == [groups.bits_of(math.fsum(group) + 0.0) for group in found]
    assert groups.raw(result["mean_x"]) == [groups.bits_of(math.fsum(group) / len(group) + 0.0) for group in found]


def test_nan_infinities_and_zeros(on_each: Garuda):
    nan, inf = math.nan, math.inf
    expected = {
        "nan": ([nan, 1.0], nan),
        "negative nan": ([groups.float_of(0xFFF0_0000_0000_0001), -1.0], nan),
        "inf": ([inf, -1e308, 1.0], inf),
        "-inf": ([-inf, 1e308], -inf),
        "both": ([inf, 1.0, -inf], nan),
        "-0": ([-0.0, -0.0], 0.0),
        "cancelled": ([1e300, 5e-324, -1e300, -5e-324], 0.0),
        "null": ([None, None], None),
        "beyond the greatest double": ([1.5e308, 1.5e308], inf),
        "beyond and back": ([1.5e308, 1.5e308, -1.75e308], 2 * (1.5e308 - 0.875e308)),
    }
    values = [(name, value) for name, (group, _) in expected.items() for value in group]
    rows = pa.table({"k": [name for name, _ in values], "x": pa.array([value for _, value in values], pa.float64())})
    result = grouped(on_each, rows, "sum:x,mean:x,count:x")
    assert result["k"].to_pylist() == list(expected)
    sums = [None if total is None else groups.float_cell(total, pa.float64()) for _, total in expected.values()]
    assert groups.raw(result["sum_x"]) == sums
    counts = [sum(value is not None for value in group) for group, _ in expected.values()]
    assert result["count_x"].to_pylist() == counts
    means = [
        None if total is None else groups.float_cell(total / count, pa.float64())
        for (_, total), count in zip(expected.values(), counts)
    ]
    assert groups.raw(result["mean_x"]) == means


def test_shuffled_rows_give_the_same_bytes(on_each: Garuda):
    values = groups.hostile_floats(3000, 6)
    rows = [(i % 11, value) for i, value in enumerate(values)]
    outputs = set()
    for seed in range(3):
        random.Random(seed).shuffle(rows)
        table = pa.table({"k": [row[0] for row in rows], "x": [row[1] for row in rows]})
        tables.write(on_each.folder / "rows.arrow", table)
        arguments = ["--keys", "k", "--agg", "sum:x,mean:x,min:x,max:x", "--tuning", f"slice_rows={700 + 100 * seed}"]
        on_each.group_by("rows.arrow", *arguments, "-o", "out.csv")
        outputs.add("\n".join(sorted((on_each.folder / "out.csv").read_text().splitlines())))
    assert len(outputs) == 1


@pytest.mark.parametrize(("precision", "scale"), [(9, 2), (18, 18), (38, 0), (38, 38), (38, 12)])
def test_decimals(on_each: Garuda, precision, scale):
    """Values have as many digits as their type, and partial sums pass 38 digits; means round the exact total once."""
    rng = random.Random(precision + scale)
    greatest = 10**precision - 1
    firsts = [rng.randrange(-greatest, greatest + 1) for _ in range(150)]
    seconds = [max(-greatest, min(greatest, rng.randrange(-greatest // 200, greatest // 200) - v)) for v in firsts]
    units = [*firsts, *seconds]
    keys = [row % 150 % 7 for row in range(len(units))]
    found = [[value for key, value in zip(keys, units) if key == group] for group in range(7)]
    context = decimal.Context(prec=60)

    def written(value: int) -> decimal.Decimal:
        return context.scaleb(decimal.Decimal(value), -scale)

    rows = pa.table({"k": keys, "d": pa.array(list(map(written, units)), pa.decimal128(precision, scale))})
    result = grouped(on_each, rows, "sum:d,min:d,max:d,mean:d", "--tuning", "slice_rows=90")
    assert result.schema.field("sum_d").type == pa.decimal128(38, scale)
    for name, function in {"sum_d": sum, "min_d": min, "max_d": max}.items():
        assert result[name].to_pylist() == [written(function(group)) for group in found]
    means = [float(sum(group)) / len(group) / 10.0**scale for group in found]
    assert groups.raw(result["mean_d"]) == list(map(groups.bits_of, means))


OVERFLOWS = [
    (pa.int64(), [INT64_MAX, 1], [-1], INT64_MAX, "int64"),
    (pa.int64(), [-(2**63), -1], [1], -(2**63), "int64"),
    (pa.uint64(), [UINT64_MAX, 1], None, None, "uint64"),
    (
        pa.decimal128(38, 0),
        [decimal.Decimal(10**38 - 1), decimal.Decimal(1)],
        [decimal.Decimal(-1)],
        decimal.Decimal(10**38 - 1),
        "decimal128(38, 0)",
    ),
]


@pytest.mark.parametrize(("data_type", "over", "back", "total", "named"), OVERFLOWS)
def test_overflow_of_the_total_only(on_each: Garuda, data_type, over, back, total, named):
    """A total beyond the type fails with the group named and nothing written; a partial sum may pass the range."""
    def write(values: list) -> list[str]:
        rows = pa.table({"k": ["a", *["b"] * len(values)], "x": pa.array([over[1], *values], data_type)})
        tables.write(on_each.folder / "rows.parquet", rows)
        return ["rows.parquet", "--keys", "k", "--agg", "count,sum:x", "-o", "out.parquet"]

    sentence = on_each.refused(BAD_INPUT, "group-by", *write(over))
    assert f"'sum_x' is beyond {named} in the group k = 'b'" in sentence
    if back is None:
        return
    on_each.group_by(*write([*over, *back]), "--ordered", "--tuning", "slice_rows=2,lanes=1")
    result = tables.read(on_each.folder / "out.parquet")
    assert result["sum_x"].to_pylist() == [over[1], total]


def test_overflow_names_every_key(on_each: Garuda):
    rows = pa.table(
        {
            "name": pa.array(["x", None, "x", None]),
            "day": pa.array([1, 19_783, 2, 19_783], pa.int32()).cast(pa.date32()),
            "v": pa.array([INT64_MAX] * 4, pa.int64()),
        }
    )
    tables.write(on_each.folder / "rows.arrow", rows)
    arguments = ["group-by", "rows.arrow", "--agg", "sum:v=total", "-o", "out.csv"]
    sentence = on_each.refused(BAD_INPUT, *arguments, "--keys", "name,day")
    assert sentence == "garuda: 'total' is beyond int64 in the group name = null, day = 2024-03-01"
    assert "'total' is beyond int64 in the group of all rows" in on_each.refused(BAD_INPUT, *arguments)


@pytest.mark.parametrize(
    ("key", "text"),
    [
        (pa.array([-7], pa.int8()), "-7"),
        (pa.array([2**64 - 1], pa.uint64()), "18446744073709551615"),
        (pa.array([-0.5], pa.float32()), "-0.5"),
        (pa.array([decimal.Decimal("-0.05")], pa.decimal128(9, 2)), "-0.05"),
        (pa.array([True]), "true"),
        (pa.array(["Ä"]).dictionary_encode(), "'Ä'"),
        (pa.array([b"\x00\xff"]), "0x00ff"),
        (pa.array([-1], pa.int32()).cast(pa.date32()), "1969-12-31"),
        (pa.array([-86_400_000], pa.int64()).cast(pa.date64()), "1969-12-31"),
        (pa.array([-1], pa.timestamp("us")), "1969-12-31 23:59:59.999999"),
        (pa.array([1_709_251_261], pa.timestamp("s")), "2024-03-01 00:01:01"),
        (pa.array([5], pa.timestamp("ns", "UTC")), "1970-01-01 00:00:00.000000005"),
        (pa.array([2**62], pa.timestamp("s")), str(2**62)),
        (pa.array([3], pa.duration("s")), "3"),
    ],
)
def test_how_keys_are_spelled(garuda: Garuda, key, text):
    rows = pa.table({"k": pa.concat_arrays([key, key]), "v": pa.array([INT64_MAX] * 2, pa.int64())})
    tables.write(garuda.folder / "rows.arrow", rows)
    sentence = garuda.refused(BAD_INPUT, "group-by", "rows.arrow", "--keys", "k", "--agg", "sum:v", "-o", "out.csv")
    assert sentence.endswith(f"in the group k = {text}")
