"""Joins and group-bys of columns of every type, cut into batches and files in every way, with results of as many rows as
an internal block has, one more and one less, with and without a memory limit, on every path, by the command, the library
and Python.

Each test is a type, a path and an interface. It tries one case of the other axes, chosen by its name, and all of them in
full runs; GARUDA_AXES_CASES=N tries N. Results are validated in full and compared row by row.
"""

from __future__ import annotations

import collections
import itertools
import math
import os
import pathlib
import random
from typing import Any

import pyarrow
import pytest
from columns import COLUMNS, CUTS, Column, array_of, chunks_of, cut, values_of
from interfaces import Call, run

FULL = os.environ.get("GARUDA_TEST_FULL") == "1"
CASES = int(os.environ.get("GARUDA_AXES_CASES", 10**9 if FULL else 1))
# Rows that the engine takes at once: a partition of the CPU's hash join, a gather, a part of the readers, of a scan.
BLOCKS = (64, 16_384, 65_536, 131_072)
ROWS = [block + more for block in BLOCKS for more in (-1, 0, 1)]
OPERATIONS = ("inner", "left", "right", "full", "semi", "anti", "mark", "values", "groups by it", "joined by it")
OPTIONS: tuple[dict[str, Any], ...] = (
    {}, {"strings": "view"}, {"ordered": True}, {"threads": 1}, {"where": True}, {"nulls": True},
    {"limited": True}, {"limited": True, "ordered": True},
)  # fmt: skip
FORMS = ("arrow", "arrows", "parquet")
EVERY = list(itertools.product(OPERATIONS, CUTS, ROWS, OPTIONS, FORMS))


def told_apart(value: Any) -> Any:
    """A value by which equality is tested: NaN does not equal itself, and −0.0 equals 0.0."""
    if isinstance(value, float):
        return "nan" if math.isnan(value) else (value, math.copysign(1, value))
    return value


def as_key(value: Any) -> Any:
    """Group-bys and joins take zeros for one key, and NaNs."""
    return "nan" if isinstance(value, float) and math.isnan(value) else value


def require_values(result: pyarrow.ChunkedArray, ids: list[Any], values: list[Any], is_float: bool) -> None:
    """Row by row, the value of the id, null where there is none."""
    got, wanted = result.to_pylist(), [None if i is None else values[i] for i in ids]
    if is_float:
        got, wanted = list(map(told_apart, got)), list(map(told_apart, wanted))
    if got != wanted:
        wrong = [i for i, (a, b) in enumerate(zip(got, wanted)) if a != b]
        pytest.fail(f"{len(wrong)} of {len(got)} values are wrong, first row {wrong[0]}: {got[wrong[0]]!r}, not {wanted[wrong[0]]!r}")


def require_pairs(ours: list[tuple[Any, ...]], wanted: list[tuple[Any, ...]], ordered: bool) -> None:
    assert len(ours) == len(wanted)
    if ordered:
        assert ours == wanted
    else:
        counts = collections.Counter(ours)
        counts.subtract(wanted)
        wrong = [(*row, count) for row, count in counts.items() if count != 0]
        assert not wrong, f"{len(wrong)} rows are too many, or missing where the last number is negative: {wrong[:9]}"


# --- Operations ---------------------------------------------------------------------------------------------------
# Each takes the number of rows that its result is to have, about, and gives a call and what looks at its result.


def join_call(name: str, rows: int, how: str, layout: str, options: dict[str, Any]) -> tuple[Call, Any]:
    """Right rows come in another order than left ones, so that a result's blocks are of several batches."""
    values = values_of(name, rows)
    shift = {"anti": rows, "left": rows // 3, "right": rows // 3, "full": rows // 3}.get(how, 0)
    step = next(step for step in (7919, 7907, 7901) if math.gcd(step, rows) == 1)
    right_keys: list[Any] = [i * step % rows + shift for i in range(rows)]
    left_keys: list[Any] = list(range(rows))
    if "nulls" in options:
        left_keys[rows // 2] = right_keys[rows // 3] = None
    left = {"k": cut(left_keys, pyarrow.int64(), layout), "id": cut(range(rows), pyarrow.int64(), layout)}
    right = {"k": cut(right_keys, pyarrow.int64(), layout), "id": cut(range(rows), pyarrow.int64(), layout)}
    one_side = how in ("semi", "anti", "mark")
    columns = ("left.id", "left.v") if one_side else ("left.id", "left.v", "right.id", "right.v")
    call = Call(
        pyarrow.table({**left, "v": chunks_of(name, rows, layout)}),
        pyarrow.table({**right, "v": chunks_of(name, rows, layout)}),
        (("k", "k"),), how, columns, where="left.id >= right.id" if "where" in options else None,
        nulls_equal="nulls" in options,
    )  # fmt: skip
    rights = {key: i for i, key in enumerate(right_keys)}
    partner = [rights.get(key) for key in left_keys]
    if "where" in options:
        partner = [j if j is not None and i >= j else None for i, j in enumerate(partner)]
    pairs: list[tuple[Any, ...]]
    if how == "semi" or how == "anti":
        pairs = [(i,) for i in range(rows) if (partner[i] is None) == (how == "anti")]
    elif how == "mark":
        pairs = [(i, partner[i] is not None) for i in range(rows)]
    else:
        pairs = [(i, j) for i, j in enumerate(partner) if j is not None or how in ("left", "full")]
        if how in ("right", "full"):
            taken = set(partner)
            pairs += [(None, j) for j in range(rows) if j not in taken]

    def check(result: pyarrow.Table) -> None:
        is_float = pyarrow.types.is_floating(COLUMNS[name].type)
        ids = result.column(0).to_pylist()
        require_values(result.column(1), ids, values, is_float)
        if how == "mark":
            require_pairs(list(zip(ids, result.column(2).to_pylist())), pairs, False)
        elif one_side:
            require_pairs([(i,) for i in ids], pairs, False)
        else:
            others = result.column(2).to_pylist()
            require_values(result.column(3), others, values, is_float)
            require_pairs(list(zip(ids, others)), pairs, "ordered" in options and how in ("inner", "left"))

    return call, check


def values_call(name: str, rows: int, layout: str, options: dict[str, Any]) -> tuple[Call, Any]:
    """Groups of two rows each, as many as `rows`, and the values that are rows' own."""
    column = COLUMNS[name]
    values = values_of(name, 2 * rows)
    groups = [i * 7919 % rows for i in range(rows)] if math.gcd(7919, rows) == 1 else list(range(rows))
    groups += groups
    table = {"g": cut(groups, pyarrow.int32(), layout), "id": cut(range(2 * rows), pyarrow.int64(), layout)}
    aggregates = [("id", "min", "id"), ("f", "first", "v"), ("l", "last", "v"), ("a", "any", "v")]
    aggregates += [("lo", "arg_min", "v:id"), ("hi", "arg_max", "v:id")]
    if column.is_ordered:
        aggregates += [("least", "min", "v"), ("most", "max", "v"), ("d", "count_distinct", "v")]
    call = Call(
        pyarrow.table({**table, "v": chunks_of(name, 2 * rows, layout)}), keys=(("g", "g"),), aggregates=tuple(aggregates)
    )

    def check(result: pyarrow.Table) -> None:
        ids = result["id"].to_pylist()
        require_pairs([(i,) for i in ids], [(i,) for i in range(rows)], "ordered" in options)
        is_float = pyarrow.types.is_floating(column.type)

        def there(i: int) -> list[int]:
            return [j for j in (i, i + rows) if values[j] is not None]

        # Each group has two rows at most: the first of them that has a value, and the last.
        firsts = [there(i)[0] if there(i) else None for i in ids]
        lasts = [there(i)[-1] if there(i) else None for i in ids]
        for place, wanted in (("f", firsts), ("a", firsts), ("lo", firsts), ("l", lasts), ("hi", lasts)):
            require_values(result[place], wanted, values, is_float)
        if column.is_ordered:

            def rank(j: int) -> Any:
                value = values[j]
                return (math.isnan(value), value) if is_float else value.encode() if isinstance(value, str) else value

            for place, choose in (("least", min), ("most", max)):
                wanted = [choose(there(i), key=rank, default=None) for i in ids]
                got = list(map(as_key, result[place].to_pylist()))
                assert got == [None if j is None else as_key(values[j]) for j in wanted]
            assert result["d"].to_pylist() == [len({as_key(values[j]) for j in there(i)}) for i in ids]

    return call, check


def groups_call(name: str, rows: int, layout: str, options: dict[str, Any]) -> tuple[Call, Any]:
    values = values_of(name, rows)
    table = {"v": chunks_of(name, rows, layout), "id": cut(range(rows), pyarrow.int64(), layout)}
    aggregates = (("n", "count", "id"), ("lo", "min", "id"), ("hi", "max", "id"))
    call = Call(pyarrow.table(table), keys=(("v", "v"),), aggregates=aggregates)
    groups: dict[Any, list[int]] = {}
    for i, value in enumerate(values):
        groups.setdefault(as_key(value), []).append(i)

    def check(result: pyarrow.Table) -> None:
        wanted = [(key, len(ids), ids[0], ids[-1]) for key, ids in groups.items()]
        got = [(as_key(row[0]), *row[1:]) for row in zip(*(result[c].to_pylist() for c in ("v", "n", "lo", "hi")))]
        if "ordered" not in options:
            got, wanted = sorted(got, key=lambda row: row[2]), sorted(wanted, key=lambda row: row[2])
        assert got == wanted

    return call, check


def joined_call(name: str, rows: int, layout: str, options: dict[str, Any]) -> tuple[Call, Any]:
    """A join by the column itself: left rows with the first row of each value, of every second value."""
    values = values_of(name, rows)
    firsts: dict[Any, int] = {}
    for i, value in enumerate(values):
        if value is not None:
            firsts.setdefault(as_key(value), i)
    kept = [j for n, j in enumerate(firsts.values()) if n % 2 == 0]
    right_values = [values[j] for j in kept] + [None]
    left = {"v": chunks_of(name, rows, layout), "id": cut(range(rows), pyarrow.int64(), layout)}
    right = {"v": pyarrow.chunked_array([array_of(name, right_values)]), "id": pyarrow.array([*kept, -1], pyarrow.int64())}
    call = Call(
        pyarrow.table(left), pyarrow.table(right), (("v", "v"),), "inner", ("left.id", "right.id", "left.v", "right.v"),
        nulls_equal="nulls" in options,
    )  # fmt: skip
    partner = {as_key(values[j]): j for j in kept}
    if "nulls" in options:
        partner[None] = -1
    pairs = [(i, partner[as_key(value)]) for i, value in enumerate(values) if as_key(value) in partner]

    def check(result: pyarrow.Table) -> None:
        is_float = pyarrow.types.is_floating(COLUMNS[name].type)
        ids, others = result.column(0).to_pylist(), result.column(1).to_pylist()
        require_pairs(list(zip(ids, others)), pairs, "ordered" in options)
        require_values(result.column(2), ids, values, is_float)
        require_values(result.column(3), [None if j == -1 else j for j in others], values, is_float)

    return call, check


def make_call(name: str, operation: str, rows: int, layout: str, options: dict[str, Any]) -> tuple[Call, Any]:
    if operation == "values":
        return values_call(name, rows, layout, options)
    if operation == "groups by it":
        return groups_call(name, rows, layout, options)
    if operation == "joined by it":
        return joined_call(name, rows, layout, options)
    return join_call(name, rows, operation, layout, options)


# --- Cases --------------------------------------------------------------------------------------------------------


def is_possible(
    column: Column, interface: str, operation: str, layout: str, rows: int, options: dict[str, Any], form: str
) -> bool:
    if operation in ("groups by it", "joined by it") and not column.is_key:
        return False
    if operation == "values" and not column.is_counted:
        return False
    if "where" in options and operation in ("values", "groups by it", "joined by it"):
        return False
    if "nulls" in options and operation in ("values", "groups by it"):
        return False
    if "limited" in options and rows < BLOCKS[1] - 1:  # so few fit any limit
        return False
    if interface != "command":
        return layout != "files" and form == "arrow"  # tables come from memory, whatever the form of files
    return layout != "slices" and (form != "parquet" or column.in_parquet)


def cases(name: str, path: str, interface: str) -> list[tuple[Any, ...]]:
    """Each is the one of fewer rows of two that were drawn, unless all are taken: the largest take most of the time."""
    shuffled = random.Random(f"{name} {path} {interface}").sample(EVERY, len(EVERY))
    possible = [case for case in shuffled if is_possible(COLUMNS[name], interface, *case)]
    if 2 * CASES > len(possible):
        return possible[:CASES]
    return [min(pair, key=lambda case: max(case[2], BLOCKS[1])) for pair in zip(possible[:CASES], possible[CASES:])]


@pytest.mark.parametrize("name", COLUMNS)
@pytest.mark.parametrize("path", ("cpu", "compute", "graphics"))
@pytest.mark.parametrize("interface", ("command", "library", "python"))
def test_columns_of_every_type(
    name: str, path: str, interface: str, icd: str, tmp_path: pathlib.Path, record_property: Any
) -> None:
    tried = 0
    for operation, layout, rows, options, form in cases(name, path, interface):
        call, check = make_call(name, operation, rows, layout, options)
        given = {key: value for key, value in options.items() if key in ("strings", "ordered", "threads", "limited")}
        call = Call(**{**vars(call), **given, "path": path, "layout": layout})
        where = f"{operation}, {rows} rows, {layout}, {options}" + (f", .{form}" if interface == "command" else "")
        try:
            check(run(call, interface, tmp_path / str(tried), form, icd))
        except (AssertionError, pytest.fail.Exception) as error:
            raise AssertionError(f"{where}: {error}") from error
        tried += 1
    assert tried > 0
    record_property("axes", [name, path, interface, tried])
