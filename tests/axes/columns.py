"""Columns of every Arrow type, in every way that a table can be cut into batches or files."""

from __future__ import annotations

import dataclasses
import datetime
import decimal
import functools
from typing import Any, Callable

import pyarrow
import pyarrow.compute

EPOCH = datetime.datetime(1970, 1, 1)
DAY = datetime.timedelta(1)
UNION_FIELDS = [pyarrow.field("n", pyarrow.int32()), pyarrow.field("t", pyarrow.string())]


@dataclasses.dataclass(frozen=True)
class Column:
    """A type, its values by number, and what may be asked of it. `build` makes an array of values."""

    type: pyarrow.DataType
    value: Callable[[int], Any]
    is_key: bool = True
    is_ordered: bool = True  # min, max, count_distinct
    is_counted: bool = True  # count, first, last, any
    in_parquet: bool = True  # and comes back as the same type
    build: Callable[[list[Any], pyarrow.DataType], pyarrow.Array] = pyarrow.array


def nested(arrow_type: pyarrow.DataType, value: Callable[[int], Any], **more: Any) -> Column:
    return Column(arrow_type, value, is_key=False, is_ordered=False, **more)


def union_of(mode: str) -> Callable[[list[Any], pyarrow.DataType], pyarrow.Array]:
    """Even values are integers, others strings. Unions have no validity of their own: nulls are those of a child."""

    def build(values: list[Any], _: pyarrow.DataType) -> pyarrow.Array:
        codes = [isinstance(value, str) for value in values]
        kinds = pyarrow.array(codes, pyarrow.bool_()).cast(pyarrow.int8())
        numbers = [None if code else value for code, value in zip(codes, values)]
        texts = [value if code else None for code, value in zip(codes, values)]
        if mode == "sparse":
            children = [pyarrow.array(numbers, pyarrow.int32()), pyarrow.array(texts, pyarrow.string())]
            return pyarrow.UnionArray.from_sparse(kinds, children, ["n", "t"])
        places, seen = [], [0, 0]
        for code in codes:
            places.append(seen[code])
            seen[code] += 1
        children = [
            pyarrow.array([n for code, n in zip(codes, numbers) if not code], pyarrow.int32()),
            pyarrow.array([t for code, t in zip(codes, texts) if code], pyarrow.string()),
        ]
        return pyarrow.UnionArray.from_dense(kinds, pyarrow.array(places, pyarrow.int32()), children, ["n", "t"])

    return build


def run_ends(values: list[Any], arrow_type: pyarrow.DataType) -> pyarrow.Array:
    return pyarrow.compute.run_end_encode(pyarrow.array(values, arrow_type.value_type), run_end_type=arrow_type.run_end_type)


def text(i: int) -> str:
    """Some at most, some over the 12 bytes that a view holds, one empty."""
    return "" if i % 101 == 100 else f"s{i}" if i % 2 else f"a longer string {i}"


def number(i: int) -> float:
    return {5: float("nan"), 6: -0.0, 7: float("inf")}.get(i % 1009, i / 8 - 500)


def integers(width: int, signed: bool) -> Column:
    low, high = (-(2 ** (width - 1)), 2 ** (width - 1) - 1) if signed else (0, 2**width - 1)
    arrow_type = getattr(pyarrow, f"{'' if signed else 'u'}int{width}")()
    return Column(arrow_type, lambda i: low + (i * 7919) % (high - low + 1) if i % 1009 else high)


def decimals(arrow_type: pyarrow.DataType) -> Column:
    top = 10 ** (arrow_type.precision - 2)
    return Column(
        arrow_type, lambda i: decimal.Decimal((i * 7919) % top - top // 2).scaleb(-2), in_parquet=arrow_type.bit_width > 64
    )


COLUMNS: dict[str, Column] = {
    "bool": Column(pyarrow.bool_(), lambda i: i % 3 == 0),
    **{f"{'' if signed else 'u'}int{width}": integers(width, signed) for width in (8, 16, 32, 64) for signed in (True, False)},
    "float16": Column(pyarrow.float16(), lambda i: float(i % 2048) / 8),
    "float32": Column(pyarrow.float32(), lambda i: number(i % 65536)),
    "float64": Column(pyarrow.float64(), number),
    "decimal32": decimals(pyarrow.decimal32(9, 2)),
    "decimal64": decimals(pyarrow.decimal64(18, 2)),
    "decimal128": decimals(pyarrow.decimal128(38, 2)),
    "decimal256": decimals(pyarrow.decimal256(76, 2)),
    "date32": Column(pyarrow.date32(), lambda i: (EPOCH + i * DAY).date()),
    "date64": Column(pyarrow.date64(), lambda i: (EPOCH + i * DAY).date(), in_parquet=False),
    "time32": Column(pyarrow.time32("s"), lambda i: (EPOCH + datetime.timedelta(seconds=i % 86400)).time(), in_parquet=False),
    "time64": Column(pyarrow.time64("us"), lambda i: (EPOCH + datetime.timedelta(microseconds=i)).time()),
    "timestamp": Column(pyarrow.timestamp("us"), lambda i: EPOCH + datetime.timedelta(microseconds=i - 500)),
    "timestamp of a zone": Column(
        pyarrow.timestamp("ms", "Asia/Tokyo"), lambda i: EPOCH.replace(tzinfo=datetime.timezone.utc) + i * DAY / 24
    ),
    "duration": Column(pyarrow.duration("ms"), lambda i: datetime.timedelta(milliseconds=i - 500)),
    "interval": Column(
        pyarrow.month_day_nano_interval(), lambda i: pyarrow.MonthDayNano([i, 1, i]), is_key=False, is_ordered=False,
        in_parquet=False,
    ),
    "fixed-size binary": Column(pyarrow.binary(5), lambda i: b"%05d" % (i % 100_000)),
    "string": Column(pyarrow.string(), text),
    "large string": Column(pyarrow.large_string(), text),
    "string view": Column(pyarrow.string_view(), text),
    "binary": Column(pyarrow.binary(), lambda i: text(i).encode() + b"\xff\0"),
    "large binary": Column(pyarrow.large_binary(), lambda i: text(i).encode() + b"\xff\0"),
    "binary view": Column(pyarrow.binary_view(), lambda i: text(i).encode() + b"\xff\0"),
    "dictionary of strings": Column(pyarrow.dictionary(pyarrow.int16(), pyarrow.string()), lambda i: text(i % 500)),
    "dictionary of integers": Column(
        pyarrow.dictionary(pyarrow.uint32(), pyarrow.int64()), lambda i: i % 500, is_ordered=False, in_parquet=False
    ),
    "list": nested(pyarrow.list_(pyarrow.int32()), lambda i: list(range(i, i + i % 4))),
    "list of strings": nested(pyarrow.list_(pyarrow.string()), lambda i: [text(i), None][: i % 3]),
    "large list": nested(pyarrow.large_list(pyarrow.float64()), lambda i: [i / 2] * (i % 3)),
    "fixed-size list": nested(pyarrow.list_(pyarrow.int64(), 2), lambda i: [i, None if i % 5 == 0 else -i]),
    "list of lists": nested(pyarrow.list_(pyarrow.list_(pyarrow.string())), lambda i: [[text(i)] * (i % 2), None, []]),
    "struct": nested(
        pyarrow.struct([("f", pyarrow.int32()), ("g", pyarrow.string()), ("h", pyarrow.list_(pyarrow.bool_()))]),
        lambda i: {"f": i, "g": text(i), "h": [i % 2 == 0]},
    ),
    "struct of views": nested(
        pyarrow.struct([("f", pyarrow.string_view()), ("g", pyarrow.decimal128(9, 2))]),
        lambda i: {"f": text(i), "g": decimal.Decimal(i).scaleb(-2)}, in_parquet=False,
    ),
    "list of dictionaries": nested(
        pyarrow.list_(pyarrow.dictionary(pyarrow.int16(), pyarrow.string())), lambda i: [text(i % 50)], in_parquet=False
    ),
    "map": nested(pyarrow.map_(pyarrow.string(), pyarrow.int32()), lambda i: [(text(i), i)] * (i % 3)),
    "dense union": nested(
        pyarrow.dense_union(UNION_FIELDS), lambda i: text(i) if i % 2 else i,
        is_counted=False, in_parquet=False, build=union_of("dense"),
    ),
    "sparse union": nested(
        pyarrow.sparse_union(UNION_FIELDS), lambda i: text(i) if i % 2 else i,
        is_counted=False, in_parquet=False, build=union_of("sparse"),
    ),
    "run-end encoded": nested(
        pyarrow.run_end_encoded(pyarrow.int32(), pyarrow.string()), lambda i: text(i // 3), is_counted=False,
        in_parquet=False, build=run_ends,
    ),
    "null": nested(pyarrow.null(), lambda i: None, is_counted=False, in_parquet=False),
}  # fmt: skip


def one(rows: int) -> list[int]:
    return [0, rows]


def several(rows: int) -> list[int]:
    return sorted({0, min(rows, 7), rows // 7, rows // 3, rows // 2 + 1 if rows else 0, rows})


def with_empty(rows: int) -> list[int]:
    """Batches without rows at the begin, in the middle and at the end."""
    return [0, 0, rows // 3, rows // 3, rows // 3, rows // 2, rows, rows]


CUTS = {"one": one, "several": several, "empty between": with_empty, "slices": several, "files": several}


@functools.lru_cache(maxsize=64)
def values_of(name: str, rows: int) -> list[Any]:
    """Every seventh is null."""
    value = COLUMNS[name].value
    return [None if i % 7 == 3 else value(i) for i in range(rows)]


def array_of(name: str, values: list[Any]) -> pyarrow.Array:
    column = COLUMNS[name]
    return column.build(values, column.type)


@functools.lru_cache(maxsize=32)
def chunks_of(name: str, rows: int, layout: str) -> pyarrow.ChunkedArray:
    """The values in the batches of a layout; those of `slices` begin within longer arrays."""
    values, cuts = values_of(name, rows), CUTS[layout](rows)
    if layout == "slices":
        whole = array_of(name, [*values[:3], *values, *values[:2]])
        chunks = [whole.slice(3 + first, last - first) for first, last in zip(cuts, cuts[1:])]
    else:
        chunks = [array_of(name, values[first:last]) for first, last in zip(cuts, cuts[1:])]
    return pyarrow.chunked_array(chunks, COLUMNS[name].type)


def cut(values: Any, arrow_type: pyarrow.DataType, layout: str) -> pyarrow.ChunkedArray:
    array = pyarrow.array(values, arrow_type)
    cuts = CUTS[layout](len(array))
    return pyarrow.chunked_array([array.slice(first, last - first) for first, last in zip(cuts, cuts[1:])], arrow_type)
