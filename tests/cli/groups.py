"""Grouping in plain Python: what garuda must give, cell by cell and bit for bit."""

from __future__ import annotations

import datetime
import decimal
import math
import random
import struct

import pyarrow as pa

CANONICAL_NAN = 0x7FF8_0000_0000_0000
EPOCH = datetime.datetime(2000, 1, 1)

# Functions that a column of a kind has.
EVERY = ("count", "sum", "min", "max", "mean")
ORDERED = ("count", "min", "max")


def bits_of(value: float) -> int:
    return struct.unpack("<Q", struct.pack("<d", value))[0]


def float_of(bits: int) -> float:
    return struct.unpack("<d", struct.pack("<Q", bits))[0]


def hostile_floats(num_rows: int, seed: int) -> list[float]:
    """Floats from 1e-300 to 1e300, subnormal ones, and some that cancel nearly or wholly."""
    rng = random.Random(seed)
    values: list[float] = []
    while len(values) < num_rows:
        kind = rng.randrange(4)
        value = rng.uniform(-1, 1) * 10.0 ** rng.uniform(-300, 300)
        if kind == 0:
            value = float_of(rng.randrange(2**52))
        values.append(value)
        if kind > 1:
            values.append(-value * (1 + (rng.randrange(3) - 1) * 2.0**-52))
    rng.shuffle(values)
    return values[:num_rows]


def special_floats(num_rows: int, seed: int) -> list[float]:
    """Now and then an infinity, a NaN of some payload or a zero of some sign."""
    rng = random.Random(seed)
    rare = [math.inf, -math.inf, float_of(CANONICAL_NAN | 7), float_of(0xFFF0_0000_0000_0001)]
    usual = [0.0, -0.0, 5e-324, -2.5, 1e300]
    return [rng.choice(rare) if rng.random() < 0.02 else rng.choice(usual) for _ in range(num_rows)]


def every_type(num_rows: int, seed: int) -> pa.Table:
    """Columns of every type that can be aggregated, with nulls; a group never sums beyond its type."""
    rng = random.Random(seed)

    def column(data_type: pa.DataType, make) -> pa.Array:
        return pa.array([None if rng.random() < 0.12 else make() for _ in range(num_rows)], data_type)

    def integers(bits: int, data_type: pa.DataType) -> pa.Array:
        return column(data_type, lambda: rng.randrange(-(2 ** (bits - 1)), 2 ** (bits - 1)))

    def moments(data_type: pa.DataType) -> pa.Array:
        return column(data_type, lambda: rng.randrange(-(10**9), 10**9))

    def money(precision: int, scale: int, digits: int) -> pa.Array:
        context = decimal.Context(prec=60)
        return column(
            pa.decimal128(precision, scale),
            lambda: context.scaleb(decimal.Decimal(rng.randrange(-(10**digits), 10**digits)), -scale),
        )

    words = ["", "a", "Ä", "zebra", "a\0b", "long " * 30]
    hostile, special = iter(hostile_floats(num_rows, seed)), iter(special_floats(num_rows, seed))
    return pa.table(
        {
            "i8": integers(8, pa.int8()),
            "i16": integers(16, pa.int16()),
            "i32": integers(32, pa.int32()),
            "i64": integers(50, pa.int64()),
            "u8": column(pa.uint8(), lambda: rng.randrange(2**8)),
            "u16": column(pa.uint16(), lambda: rng.randrange(2**16)),
            "u32": column(pa.uint32(), lambda: rng.randrange(2**32)),
            "u64": column(pa.uint64(), lambda: rng.randrange(2**51)),
            "f32": column(pa.float32(), lambda: rng.uniform(-1, 1) * 10.0 ** rng.uniform(-44, 37)),
            "f64": column(pa.float64(), lambda: next(hostile)),
            "special": column(pa.float64(), lambda: next(special)),
            "d9": money(9, 2, 9),
            "d18": money(18, 0, 18),
            "d38": money(38, 20, 34),
            "flag": column(pa.bool_(), lambda: rng.random() < 0.9),
            "day": moments(pa.int32()).cast(pa.date32()),
            "day64": column(pa.date64(), lambda: EPOCH.date() + datetime.timedelta(days=rng.randrange(-9000, 9000))),
            "second": moments(pa.timestamp("s")),
            "nano": moments(pa.timestamp("ns", "UTC")),
            "hour": column(pa.int32(), lambda: rng.randrange(86_400_000)).cast(pa.time32("ms")),
            "hour64": column(pa.int64(), lambda: rng.randrange(86_400_000_000)).cast(pa.time64("us")),
            "span": moments(pa.duration("us")),
            "word": column(pa.string(), lambda: rng.choice(words)),
            "text": column(pa.large_string(), lambda: rng.choice(words)),
            "bytes": column(pa.binary(), lambda: rng.randbytes(rng.randrange(4))),
            "label": column(pa.string(), lambda: rng.choice(words)).dictionary_encode(),
            "void": pa.nulls(num_rows, pa.int64()),
        }
    )


def functions_of(data_type: pa.DataType) -> tuple[str, ...]:
    is_number = pa.types.is_integer(data_type) or pa.types.is_floating(data_type) or pa.types.is_decimal(data_type)
    return EVERY if is_number else ORDERED


def every_aggregate(rows: pa.Table) -> list[tuple[str, str | None]]:
    """Rows counted, and each function of each column that has it."""
    named = [(function, field.name) for field in rows.schema for function in functions_of(field.type)]
    return [("count", None), *named]


def spelled(aggregates: list[tuple[str, str | None]]) -> str:
    """Aggregates as --agg takes them."""
    return ",".join(f"{function}:{column}" if column else function for function, column in aggregates)


def raw(column: pa.ChunkedArray) -> list:
    """Cells as Python values; of dates and times the numbers in them, of floats the bits."""
    values = column.combine_chunks()
    data_type = values.type
    if pa.types.is_dictionary(data_type):
        return values.dictionary_decode().to_pylist()
    if pa.types.is_floating(data_type):
        return values.view(pa.uint64() if data_type.bit_width == 64 else pa.uint32()).to_pylist()
    if pa.types.is_temporal(data_type):
        return values.view(pa.int64() if data_type.bit_width == 64 else pa.int32()).to_pylist()
    return values.to_pylist()


def floats(column: pa.ChunkedArray) -> list[float | None]:
    return column.cast(pa.float64()).to_pylist()


def float_sum(values: list[float]) -> float:
    """Rounded once; a zero is +0.0."""
    if any(map(math.isnan, values)) or (math.inf in values and -math.inf in values):
        return float_of(CANONICAL_NAN)
    return math.fsum(values) + 0.0


def float_cell(value: float, data_type: pa.DataType) -> int:
    """The bits of a result: one NaN, one zero."""
    canonical = float_of(CANONICAL_NAN) if math.isnan(value) else value + 0.0
    if data_type.bit_width == 32:
        return struct.unpack("<I", struct.pack("<f", canonical))[0]
    return bits_of(canonical)


def aggregate_floats(function: str, values: list[float], data_type: pa.DataType) -> int:
    if function == "sum":
        return float_cell(float_sum(values), pa.float64())
    if function == "mean":
        return float_cell(float_sum(values) / len(values), pa.float64())
    chosen = (min if function == "min" else max)(values, key=lambda value: (math.isnan(value), value))
    return float_cell(chosen, data_type)


def aggregate_numbers(function: str, values: list[int], scale: int) -> object:
    """`values` count units of 10^-scale."""
    if function == "mean":
        return bits_of(float(sum(values)) / len(values) / 10.0**scale)
    return {"sum": sum, "min": min, "max": max}[function](values)


def aggregate(function: str, column: pa.ChunkedArray, members: list[int], cells: list) -> object:
    """One cell of the result, as `raw` gives it; `cells` are raw(column), or floats(column) where it holds floats."""
    values = [cells[row] for row in members if cells[row] is not None]
    if function == "count":
        return len(values)
    if not values:
        return None
    if pa.types.is_floating(column.type):
        return aggregate_floats(function, values, column.type)
    if pa.types.is_decimal(column.type):
        scale = column.type.scale
        context = decimal.Context(prec=60)
        result = aggregate_numbers(function, [int(context.scaleb(value, scale)) for value in values], scale)
        return result if function == "mean" else context.scaleb(decimal.Decimal(result), -scale)
    if pa.types.is_integer(column.type):
        return aggregate_numbers(function, values, 0)
    if values and isinstance(values[0], str):
        return (min if function == "min" else max)(values, key=str.encode)
    return (min if function == "min" else max)(values)


def key_cells(column: pa.ChunkedArray) -> list:
    """Keys as they are written: one zero, one NaN."""
    if not pa.types.is_floating(column.type):
        return raw(column)
    return [None if value is None else float_cell(value, column.type) for value in floats(column)]


def group(rows: pa.Table, keys: list[str], aggregates: list[tuple[str, str | None]]) -> dict[str, list]:
    """The result's columns by name, groups in the order of their first rows."""
    key_columns = [key_cells(rows[key]) for key in keys]
    members: dict[tuple, list[int]] = {} if keys else {(): list(range(rows.num_rows))}
    if keys:
        for row, key in enumerate(zip(*key_columns)):
            members.setdefault(key, []).append(row)
    result: dict[str, list] = {key: [found[k] for found in members] for k, key in enumerate(keys)}
    cells = {name: floats(rows[name]) if pa.types.is_floating(rows[name].type) else raw(rows[name])
             for name in {column for _, column in aggregates if column}}
    for function, column in aggregates:
        if column is None:
            result[function] = [len(found) for found in members.values()]
        else:
            result[f"{function}_{column}"] = [
                aggregate(function, rows[column], found, cells[column]) for found in members.values()
            ]
    return result


def assert_groups(actual: pa.Table, expected: dict[str, list]) -> None:
    """Names, then every cell, in order."""
    assert actual.column_names == list(expected)
    for name, cells in expected.items():
        assert raw(actual[name]) == cells, name


def sum_type(data_type: pa.DataType) -> pa.DataType:
    if pa.types.is_floating(data_type):
        return pa.float64()
    if pa.types.is_decimal(data_type):
        return pa.decimal128(38, data_type.scale)
    return pa.int64() if pa.types.is_signed_integer(data_type) else pa.uint64()
