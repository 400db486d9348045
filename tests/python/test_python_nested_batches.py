"""Columns of nested types in tables of several batches, through results of more rows than one block of a gather."""

from __future__ import annotations

import garuda
import pyarrow
import pytest

BLOCK_ROWS = 16_384  # kGatherBlockRows of operators/materialize/gather_rows.hpp
VALUES = {
    "list": (pyarrow.list_(pyarrow.int32()), lambda i: [i, i]),
    "list of strings": (pyarrow.large_list(pyarrow.string()), lambda i: [f"s{i}"]),
    "struct": (pyarrow.struct([("f", pyarrow.int32()), ("g", pyarrow.string())]), lambda i: {"f": i, "g": f"s{i}"}),
    "map": (pyarrow.map_(pyarrow.string(), pyarrow.int32()), lambda i: [(f"s{i}", i)]),
    "fixed-size list": (pyarrow.list_(pyarrow.int64(), 2), lambda i: [i, -i]),
}


@pytest.mark.parametrize("name", VALUES)
@pytest.mark.parametrize("rows", [BLOCK_ROWS - 1, BLOCK_ROWS, BLOCK_ROWS + 1, 3 * BLOCK_ROWS + 5])
@pytest.mark.parametrize("how", ["inner", "left"])
def test_nested_columns_of_several_batches_are_joined(name: str, rows: int, how: str) -> None:
    arrow_type, make = VALUES[name]
    values = [make(i) if i % 7 else None for i in range(rows)]
    cuts = [0, rows // 3, rows // 3, rows // 2, rows]  # the second batch is empty
    pieces = [pyarrow.array(values[first:last], arrow_type) for first, last in zip(cuts, cuts[1:])]
    keys = [pyarrow.array(range(first, last), pyarrow.int64()) for first, last in zip(cuts, cuts[1:])]
    right = pyarrow.table({"k": pyarrow.chunked_array(keys), "s": pyarrow.chunked_array(pieces)})
    left = pyarrow.table({"k": pyarrow.array(range(rows))})
    joined = pyarrow.table(garuda.join(left, right, on="k", how=how, path="cpu"))
    joined.validate(full=True)
    assert joined.num_rows == rows
    taken = dict(zip(joined["k"].to_pylist(), joined["s"].to_pylist()))
    assert [taken[i] for i in range(rows)] == values
