"""Every aggregate and every kind of join of strings and binary in each form that Arrow has for them, given as they are
and as views, with every option and a memory limit, on every path, by the command, the library and Python.

Each test tries a few calls, chosen by its name, and all of them in full runs. Results are compared with Python's own.
"""

from __future__ import annotations

import itertools
import os
import pathlib
import random
from typing import Any, Callable

import pyarrow
import pytest
from columns import COLUMNS, array_of, cut, text
from interfaces import Call, run
from test_axes import require_pairs

FULL = os.environ.get("GARUDA_TEST_FULL") == "1"
CALLS = int(os.environ.get("GARUDA_AXES_CASES", 10**9 if FULL else 2))
FORMS = ("string", "large string", "string view", "binary", "large binary", "binary view", "dictionary of strings")
ROWS = 1_500
HOWS = ("inner", "left", "right", "full", "semi", "anti", "mark")
OPTIONS: tuple[dict[str, Any], ...] = (
    {}, {"ordered": True}, {"nulls_equal": True}, {"threads": 1}, {"where": "v"}, {"limited": True},
    {"limited": True, "ordered": True},
)  # fmt: skip

Values = list[Any]


def first_of(there: list[int], values: Values) -> Any:
    return values[there[0]] if there else None


# By name: the aggregate's function and columns, and what Python says of the rows of a group that have a value.
AGGREGATES: dict[str, tuple[str, str, Callable[[list[int], Values], Any]]] = {
    "n": ("count", "v", lambda there, values: len(there)),
    "distinct": ("count_distinct", "v", lambda there, values: len({values[i] for i in there})),
    "least": ("min", "v", lambda there, values: min((values[i] for i in there), default=None)),
    "most": ("max", "v", lambda there, values: max((values[i] for i in there), default=None)),
    "first_v": ("first", "v", first_of),
    "any_v": ("any", "v", first_of),
    "last_v": ("last", "v", lambda there, values: first_of(there[::-1], values)),
    "v_of_least": ("arg_min", "v:id", first_of),
    "v_of_most": ("arg_max", "v:id", lambda there, values: first_of(there[::-1], values)),
    "least_v": ("arg_min", "id:v", lambda there, values: min(there, key=lambda i: (values[i], i), default=None)),
    "most_v": ("arg_max", "id:v", lambda there, values: max(there, key=lambda i: (values[i], -i), default=None)),
    "few": ("min_n", "v:3", lambda there, values: sorted(values[i] for i in there)[:3] or None),
    "many": ("max_n", "v:20", lambda there, values: sorted((values[i] for i in there), reverse=True)[:20] or None),
}


def table_of(name: str, values: Values, ids: list[int], layout: str) -> pyarrow.Table:
    """The values in batches, whose number is `id`, and ten groups of them, `g`."""
    numbers = cut(ids, pyarrow.int64(), layout)
    chunks, row = [], 0
    for chunk in numbers.chunks:
        chunks.append(array_of(name, values[row : row + len(chunk)]))
        row += len(chunk)
    groups = cut([i % 10 for i in ids], pyarrow.int8(), layout)
    return pyarrow.table({"v": pyarrow.chunked_array(chunks, COLUMNS[name].type), "id": numbers, "g": groups})


def some_values(name: str, rows: int) -> Values:
    """Nulls, and values of 12 bytes, fewer and more, each about three times."""
    as_given = str if "string" in name else str.encode
    return [None if i % 11 == 3 else as_given(text(i * 7 % (rows // 3))) for i in range(rows)]


def grouped(name: str, aggregates: tuple[str, ...], key: str, limited: bool) -> tuple[Call, Callable[[pyarrow.Table], None]]:
    values = some_values(name, ROWS)
    table = table_of(name, values, list(range(ROWS)), "empty between")
    named = tuple((a, *AGGREGATES[a][:2]) for a in aggregates)
    call = Call(table, keys=((key, key),), aggregates=(("of", "min", "id"), *named), layout="empty between", limited=limited)
    groups: dict[Any, list[int]] = {}
    for i, value in enumerate(values):
        groups.setdefault(value if key == "v" else i % 10, []).append(i)

    def check(result: pyarrow.Table) -> None:
        wanted = []
        for k, rows in groups.items():
            there = [i for i in rows if values[i] is not None]
            wanted.append((k, rows[0], *(AGGREGATES[a][2](there, values) for a in aggregates)))
        got = zip(*(result[c].to_pylist() for c in (key, "of", *aggregates)))
        assert sorted(got, key=lambda row: row[1]) == wanted

    return call, check


def joined(name: str, other: str, how: str, options: dict[str, Any]) -> tuple[Call, Callable[[pyarrow.Table], None]]:
    """Strings with strings and binary with binary, whatever the form of each."""
    lefts, rights = some_values(name, ROWS), some_values(other, ROWS // 2)
    columns = ("left.id", "left.v") if how in ("semi", "anti", "mark") else ("left.id", "left.v", "right.id", "right.v")
    where = "left.v >= right.v and left.id < right.id" if "where" in options else None
    call = Call(
        table_of(name, lefts, list(range(ROWS)), "several"), table_of(other, rights, list(range(len(rights))), "empty between"),
        (("v", "v"),), how, columns, **{**options, "where": where}, layout="several",
    )  # fmt: skip
    rows_of: dict[Any, list[int]] = {}
    for j, value in enumerate(rights):
        if value is not None or "nulls_equal" in options:
            rows_of.setdefault(value, []).append(j)
    partners = [[j for j in rows_of.get(v, []) if where is None or (v is not None and i < j)] for i, v in enumerate(lefts)]
    pairs: list[tuple[Any, ...]]
    if how == "mark":
        pairs = [(i, bool(js)) for i, js in enumerate(partners)]
    elif how in ("semi", "anti"):
        pairs = [(i,) for i, js in enumerate(partners) if bool(js) == (how == "semi")]
    else:
        pairs = [(i, j) for i, js in enumerate(partners) for j in js]
        if how in ("left", "full"):
            pairs += [(i, None) for i, js in enumerate(partners) if not js]
        if how in ("right", "full"):
            taken = {j for js in partners for j in js}
            pairs += [(None, j) for j in range(len(rights)) if j not in taken]

    def check(result: pyarrow.Table) -> None:
        ids = result.column(0).to_pylist()
        assert result.column(1).to_pylist() == [None if i is None else lefts[i] for i in ids]
        others = [] if len(result.column_names) == 2 else [result.column(2).to_pylist()]
        require_pairs(list(zip(ids, *others)), pairs, False)
        if len(columns) == 4:
            assert result.column(3).to_pylist() == [None if j is None else rights[j] for j in others[0]]

    return call, check


def calls(name: str) -> list[tuple[str, Callable[[], tuple[Call, Callable[[pyarrow.Table], None]]]]]:
    made = []
    for key, limited in itertools.product(("v", "g"), (False, True)):
        for some in [(a,) for a in AGGREGATES] + [(), tuple(AGGREGATES)]:
            what = f"{some} by {key}" + (", limited" if limited else "")
            made.append((what, lambda some=some, key=key, limited=limited: grouped(name, some, key, limited)))
    others = [other for other in FORMS if ("string" in other) == ("string" in name)]
    for other, how, options in itertools.product(others, HOWS, OPTIONS):
        made.append(
            (f"{how} with {other}, {options}", lambda other=other, how=how, options=options: joined(name, other, how, options))
        )
    return made


@pytest.mark.parametrize("name", FORMS)
@pytest.mark.parametrize("strings", ("utf8", "view"))
@pytest.mark.parametrize("path", ("cpu", "compute", "graphics"))
@pytest.mark.parametrize("interface", ("command", "library", "python"))
def test_strings_of_every_form(
    name: str, strings: str, path: str, interface: str, icd: str, tmp_path: pathlib.Path, record_property: Any
) -> None:
    chosen = calls(name)
    if len(chosen) > CALLS:
        chosen = random.Random(f"{name} {strings} {path} {interface}").sample(chosen, CALLS)
    for number, (what, make) in enumerate(chosen):
        call, check = make()
        call = Call(**{**vars(call), "path": path, "strings": strings})
        try:
            check(run(call, interface, tmp_path / str(number), ("arrow", "arrows", "parquet")[number % 3], icd))
        except AssertionError as error:
            raise AssertionError(f"{what}: {error}") from error
    record_property("axes", [name, path, interface, len(chosen)])
