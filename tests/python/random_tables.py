"""Random tables of a few rows, whose keys repeat, for tests of whole results."""

from __future__ import annotations

import datetime
import decimal
import os

import pyarrow
from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st

FULL = os.environ.get("GARUDA_TEST_FULL") == "1"

# A few values of a type, so that they meet; the ends of its range among them.
KEYS = {
    pyarrow.int8(): [-128, -1, 0, 1, 127],
    pyarrow.int32(): [-(2**31), -1, 0, 1, 2**31 - 1],
    pyarrow.int64(): [-(2**63), -1, 0, 1, 2**63 - 1],
    pyarrow.uint16(): [0, 1, 65535],
    pyarrow.uint64(): [0, 1, 2**64 - 1],
    pyarrow.bool_(): [False, True],
    pyarrow.string(): ["", "a", "b", "a longer string than twelve bytes", "ß"],
    pyarrow.large_string(): ["", "x", "x\0"],
    pyarrow.string_view(): ["", "y", "another string of many bytes"],
    pyarrow.binary(): [b"", b"\0", b"\xff"],
    pyarrow.date32(): [datetime.date(1, 1, 1), datetime.date(1970, 1, 1), datetime.date(2024, 2, 29)],
    pyarrow.timestamp("us"): [datetime.datetime(1970, 1, 1), datetime.datetime(2024, 2, 29, 1, 2, 3, 4)],
    pyarrow.decimal128(12, 2): [decimal.Decimal("-0.05"), decimal.Decimal(0), decimal.Decimal("9999999999.99")],
}
NUMBERS = {
    pyarrow.int16(): st.integers(-(2**15), 2**15 - 1),
    pyarrow.int64(): st.integers(-(2**40), 2**40),
    pyarrow.float64(): st.integers(-1000, 1000).map(lambda n: n / 8),
    pyarrow.float32(): st.integers(-1000, 1000).map(lambda n: n / 8),
}


def examples(count: int) -> settings:
    """`count` random cases in CI, twenty times as many in full runs."""
    return settings(
        max_examples=count * (20 if FULL else 1), deadline=None, database=None, print_blob=True, derandomize=not FULL,
        phases=[Phase.explicit, Phase.generate, Phase.shrink],
        suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture, HealthCheck.data_too_large],
    )  # fmt: skip


def columns(values: st.SearchStrategy[object], rows: int) -> st.SearchStrategy[list[object]]:
    return st.lists(st.one_of(st.none(), values, values, values), min_size=rows, max_size=rows)


@st.composite
def tables(draw: st.DrawFn, types: list[pyarrow.DataType], prefix: str, payload: list[pyarrow.DataType]) -> pyarrow.Table:
    """Key columns k0, k1, …, then PREFIX0, … of `payload`, in one or two batches."""
    rows = draw(st.one_of(st.integers(0, 3), st.integers(0, 40)))
    named = [(f"k{i}", t, st.sampled_from(KEYS[t])) for i, t in enumerate(types)]
    named += [(f"{prefix}{i}", t, NUMBERS[t] if t in NUMBERS else st.sampled_from(KEYS[t])) for i, t in enumerate(payload)]
    table = pyarrow.table({name: pyarrow.array(draw(columns(values, rows)), t) for name, t, values in named})
    cut = draw(st.integers(0, rows))
    return pyarrow.concat_tables([table.slice(0, cut), table.slice(cut)]) if cut else table


key_types = st.lists(st.sampled_from(list(KEYS)), min_size=1, max_size=3)
number_types = st.lists(st.sampled_from(list(NUMBERS)), min_size=1, max_size=2)


def sorted_rows(table: pyarrow.Table) -> list[tuple[object, ...]]:
    """Rows in an order that does not depend on theirs; nulls and values of any type have a place."""
    rows = zip(*(column.to_pylist() for column in table.columns))
    return sorted(rows, key=lambda row: [(value is None, str(type(value)), value if value is not None else 0) for value in row])
