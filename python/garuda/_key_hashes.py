"""Hashes of keys by which rows are divided among workers: keys that garuda takes as equal have one hash.

A hash depends on the value alone and not on the form that a part of the rows has it in: with or without nulls beside
it, in a dictionary or not, in a wide or a narrow type, in a fine or a coarse unit.
"""

from __future__ import annotations

from typing import Any

import numpy
import pandas.util
import pyarrow
import pyarrow.compute
import pyarrow.types as types

_hash_array: Any = pandas.util.hash_array  # type checkers see an object
_NULL = numpy.uint64(0x9E3779B97F4A7C15)
_FACTOR = numpy.uint64(0x100000001B3)
_NANOSECONDS = {"s": 10**9, "ms": 10**6, "us": 10**3, "ns": 1}
_DAY = 86_400 * 10**9


def key_hashes(keys: pyarrow.Table) -> Any:
    """Hashes the rows of a table that has the key columns alone.

    Returns a NumPy array of num_rows × uint64. Raises pyarrow.ArrowException for types that cannot be keys.
    """
    hashes = numpy.zeros(keys.num_rows, numpy.uint64)
    for column in keys.columns:
        hashes = hashes * _FACTOR + _hashes(column)
    return hashes


def _hashes(column: pyarrow.ChunkedArray) -> Any:
    if isinstance(column.type, pyarrow.BaseExtensionType):
        storage = [chunk.storage for chunk in column.chunks]
        return _hashes(pyarrow.chunked_array(storage, column.type.storage_type))
    if types.is_dictionary(column.type):
        return numpy.concatenate([_dictionary_hashes(chunk) for chunk in column.chunks] or [numpy.zeros(0, numpy.uint64)])
    if types.is_null(column.type):
        return numpy.full(len(column), _NULL)
    if types.is_interval(column.type) or not (types.is_primitive(column.type) or types.is_decimal(column.type)):
        hashes = _hashes_of_bytes(column)
    else:
        hashes = _hash_array(_nanoseconds(column) if types.is_temporal(column.type) else _doubles(column))
    hashes[column.is_null().to_numpy()] = _NULL
    return hashes


def _dictionary_hashes(chunk: pyarrow.DictionaryArray) -> Any:
    """Hashes what the codes stand for, each value of the dictionary once; a null row has the code after the last."""
    values = _hashes(pyarrow.chunked_array([chunk.dictionary]))
    codes = chunk.indices.cast(pyarrow.int64()).fill_null(len(values)).to_numpy()
    return numpy.append(values, _NULL)[codes]


def _nanoseconds(column: pyarrow.ChunkedArray) -> Any:
    """Dates, times and durations as nanoseconds modulo 2^64, so that units do not matter."""
    is_day = types.is_date32(column.type)
    scale = _DAY if is_day else 10**6 if types.is_date64(column.type) else _NANOSECONDS[column.type.unit]
    ticks = column.cast(pyarrow.int32() if column.type.bit_width == 32 else pyarrow.int64()).cast(pyarrow.int64())
    return ticks.fill_null(0).to_numpy().view(numpy.uint64) * numpy.uint64(scale)


def _doubles(column: pyarrow.ChunkedArray) -> Any:
    """Numbers as the nearest double, which does not depend on their type; one zero and one NaN. A decimal is read from
    its digits, since its own cast rounds by the scale."""
    if types.is_decimal(column.type):
        column = column.cast(pyarrow.string())
    values = column.cast(pyarrow.float64(), safe=False).fill_null(0.0).to_numpy() + 0.0
    values[numpy.isnan(values)] = numpy.nan
    return values


def _hashes_of_bytes(column: pyarrow.ChunkedArray) -> Any:
    """Hashes strings and binary of any layout, each distinct value once."""
    compute: Any = pyarrow.compute
    if types.is_interval(column.type):
        column = pyarrow.chunked_array([chunk.view(pyarrow.binary(16)) for chunk in column.chunks], pyarrow.binary(16))
    if types.is_string_view(column.type):
        column = column.cast(pyarrow.large_string())
    encoded = compute.dictionary_encode(column.cast(pyarrow.large_binary()).combine_chunks(), null_encoding="encode")
    distinct = _hash_array(encoded.dictionary.to_numpy(zero_copy_only=False), categorize=False)
    return distinct[encoded.indices.to_numpy()]
