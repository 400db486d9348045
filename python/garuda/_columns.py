"""Columns of Python's lists and NumPy's arrays, laid out as Arrow has them."""

from __future__ import annotations

import array
import datetime
import itertools
from typing import AbstractSet, Any, Iterable, Mapping, Sequence

from ._arguments import wrong
from .errors import InvalidInputError

# Name, format of the Arrow C interface, nulls, buffers: as the extension takes a column.
Column = tuple[str, str, int, list[Any]]

_FORMATS = {"b1": "b", "i1": "c", "i2": "s", "i4": "i", "i8": "l", "u1": "C", "u2": "S", "u4": "I", "u8": "L",
            "f2": "e", "f4": "f", "f8": "g"}  # fmt: skip
_TYPECODES = {"b": "c", "B": "C", "h": "s", "H": "S", "i": "i", "I": "I", "q": "l", "Q": "L", "f": "f", "d": "g"}
_UNITS = {"s": "s", "ms": "m", "us": "u", "ns": "n"}
_EPOCH = datetime.datetime(1970, 1, 1)


# Values converted between two looks at Ctrl-C, which loops in C do not hear.
_BLOCK = 1 << 20


def _array(typecode: str, values: Iterable[Any]) -> array.array[Any]:
    made, rest = array.array(typecode), iter(values)
    while block := list(itertools.islice(rest, _BLOCK)):
        made += array.array(typecode, block)
    return made


def _listed(values: Iterable[Any]) -> list[Any]:
    if isinstance(values, list):
        return values
    made, rest = [], iter(values)
    while block := list(itertools.islice(rest, _BLOCK)):
        made += block
    return made


def _bits(flags: Sequence[bool]) -> bytes:
    packed = bytearray((len(flags) + 7) // 8)
    for i, flag in enumerate(flags):
        if flag:
            packed[i >> 3] |= 1 << (i & 7)
    return bytes(packed)


def _of_numpy(name: str, values: Any) -> Column:
    import numpy

    if values.ndim != 1:
        raise InvalidInputError(f"column '{name}' must have one dimension: {values.ndim}")
    kind, _, unit = values.dtype.str[1:].partition("[")
    if kind in ("m8", "M8"):
        nulls = numpy.isnat(values)
        validity = numpy.packbits(~nulls, bitorder="little") if nulls.any() else None
        unit = unit.rstrip("]")
        if kind == "M8" and unit == "D":
            days = numpy.where(nulls, 0, values.view("i8")).astype("i4")
            return name, "tdD", int(nulls.sum()), [validity, days]
        if unit not in _UNITS:
            raise InvalidInputError(f"the unit of column '{name}' must be one of D (dates), s, ms, us, ns: {unit}")
        form = f"ts{_UNITS[unit]}:" if kind == "M8" else f"tD{_UNITS[unit]}"
        return name, form, int(nulls.sum()), [validity, numpy.ascontiguousarray(values).view("i8")]
    if kind not in _FORMATS or not values.dtype.isnative:
        return _of_values(name, values.tolist())
    if kind == "b1":
        return name, "b", 0, [None, numpy.packbits(values, bitorder="little")]
    return name, _FORMATS[kind], 0, [None, numpy.ascontiguousarray(values)]


def _variable(name: str, form: str, values: Sequence[bytes | None]) -> tuple[str, list[Any]]:
    offsets = array.array("q", [0])
    for value in values:
        offsets.append(offsets[-1] + (len(value) if value is not None else 0))
    return form, [offsets, b"".join(value for value in values if value is not None)]


def _microseconds(value: datetime.datetime) -> int:
    if value.tzinfo is not None:
        value = value.astimezone(datetime.timezone.utc).replace(tzinfo=None)
    return (value - _EPOCH) // datetime.timedelta(microseconds=1)


def _of_values(name: str, values: Sequence[Any]) -> Column:
    kinds = {type(value) for value in values if value is not None}
    nulls = sum(value is None for value in values)
    validity = _bits([value is not None for value in values]) if nulls else None
    buffers: list[Any]
    if not kinds or kinds == {bool}:
        form, buffers = "b", [_bits([bool(value) for value in values])]
    elif kinds == {int}:
        code, form = ("q", "l") if min(v for v in values if v is not None) < 0 or max(
            v for v in values if v is not None) < 2**63 else ("Q", "L")  # fmt: skip
        try:
            buffers = [_array(code, (value or 0 for value in values) if nulls else values)]
        except OverflowError:
            raise InvalidInputError(f"an integer of column '{name}' is beyond 64 bits") from None
    elif kinds <= {int, float}:
        try:
            form, buffers = "g", [_array("d", (0.0 if value is None else value for value in values) if nulls else values)]
        except OverflowError:
            raise InvalidInputError(f"an integer of column '{name}' is beyond float64, which its floats are") from None
    elif kinds == {str}:
        try:
            form, buffers = _variable(name, "U", [None if value is None else value.encode() for value in values])
        except UnicodeEncodeError as error:
            raise InvalidInputError(f"a value of column '{name}' cannot be UTF-8", (str(error),)) from None
    elif kinds == {bytes}:
        form, buffers = _variable(name, "Z", values)
    elif kinds == {datetime.date}:
        days = [0 if value is None else value.toordinal() - _EPOCH.toordinal() for value in values]
        form, buffers = "tdD", [_array("i", days)]
    elif kinds == {datetime.datetime}:
        zones = {value.tzinfo is not None for value in values if value is not None}
        if len(zones) == 2:
            raise InvalidInputError(f"column '{name}' has moments with and without a zone")
        form = "tsu:UTC" if True in zones else "tsu:"
        buffers = [_array("q", (0 if value is None else _microseconds(value) for value in values))]
    else:
        known = "bool, int, float, str, bytes, date, datetime"
        found = ", ".join(sorted(kind.__name__ for kind in kinds))
        raise InvalidInputError(f"values of column '{name}' must be of one type of {known}, or None: {found}")
    return name, form, nulls, [validity, *buffers]


def _require_columns(data: Mapping[str, Any]) -> int:
    """Raises TypeError and InvalidInputError for what are no columns; their length."""
    for name, values in data.items():
        if not isinstance(name, str):
            raise TypeError(f"names of columns are strings: {name!r}")
        if isinstance(values, (str, bytes, Mapping, AbstractSet)) or not (hasattr(values, "__len__") and hasattr(values, "__iter__")):
            raise wrong(f"column {name!r}", "a list or an array", values)
    lengths = {name: len(values) for name, values in data.items()}
    if len(set(lengths.values())) > 1:
        shown = ", ".join(f"{name} {length}" for name, length in lengths.items())
        raise InvalidInputError(f"columns must be equally long: {shown}")
    return next(iter(lengths.values()), 0)


def speaks_arrow(values: Any) -> bool:
    """Whether a column comes by the Arrow PyCapsule interface, or pandas' way before it."""
    return (hasattr(values, "__arrow_c_stream__") or hasattr(values, "__arrow_c_array__")
            or type(values).__module__.partition(".")[0] == "pandas")  # fmt: skip


def arrow_columns(data: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Columns that speak Arrow as pyarrow has them, and the others as they are."""
    import pyarrow

    _require_columns(data)
    others = {name: values for name, values in data.items() if not speaks_arrow(values)}
    columns: dict[str, Any] = {}
    for name, values in data.items():
        if name in others:
            continue
        if isinstance(values, (pyarrow.Array, pyarrow.ChunkedArray)):
            columns[name] = values
        elif hasattr(values, "__arrow_c_stream__"):
            columns[name] = pyarrow.chunked_array(values)
        else:
            columns[name] = pyarrow.array(values)
    return columns, others


def columns_of(data: Mapping[str, Any]) -> tuple[list[Column], int]:
    """Columns as the extension takes them, and their length."""
    rows = _require_columns(data)
    columns: list[Column] = []
    for name, values in data.items():
        if type(values).__module__ == "numpy" and hasattr(values, "dtype"):
            columns.append(_of_numpy(name, values))
        elif isinstance(values, array.array) and values.typecode in _TYPECODES:
            columns.append((name, _TYPECODES[values.typecode], 0, [None, values]))
        else:
            columns.append(_of_values(name, _listed(values)))
    return columns, rows
