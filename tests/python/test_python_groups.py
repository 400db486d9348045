"""Group-bys from Python against Polars, DuckDB and math.fsum, on every path."""

from __future__ import annotations

import math
import struct

import duckdb
import garuda
import polars
import pyarrow
import pytest
from hypothesis import given
from hypothesis import strategies as st
from random_tables import examples, key_types, number_types, sorted_rows, tables

connection = duckdb.connect()

# Polars' expression of column v0 for each function.
POLARS = {
    "count": polars.col("v0").count(),
    "sum": polars.when(polars.col("v0").count() > 0).then(polars.col("v0").cast(polars.Float64).sum()),
    "min": polars.col("v0").min(),
    "max": polars.col("v0").max(),
    "mean": polars.col("v0").cast(polars.Float64).mean(),
    "var": polars.col("v0").cast(polars.Float64).var(),
    "var_pop": polars.col("v0").cast(polars.Float64).var(ddof=0),
    "std": polars.col("v0").cast(polars.Float64).std(),
    "std_pop": polars.col("v0").cast(polars.Float64).std(ddof=0),
    "median": polars.col("v0").cast(polars.Float64).median(),
    "count_distinct": polars.col("v0").drop_nulls().n_unique(),
    "first": polars.col("v0").drop_nulls().first(),
    "last": polars.col("v0").drop_nulls().last(),
    "any": polars.col("v0").drop_nulls().first(),
}
# DuckDB's expression of v0 and v1 for each function; None: one value decides.
DUCKDB = {
    ("covar", "v1"): "covar_samp(v0, v1)",
    ("covar_pop", "v1"): "covar_pop(v0, v1)",
    ("quantile", 0.25): "quantile_cont(v0::double, 0.25)",
    ("max_n", 2): "max(v0, 2)",
    ("min_n", 3): "min(v0, 3)",
}


def is_close(a: object, b: object) -> bool:
    if isinstance(a, float) and isinstance(b, (float, int)):
        return math.isclose(a, b, rel_tol=1e-9, abs_tol=1e-9)
    return a == b


def require_equal(ours: pyarrow.Table, theirs: pyarrow.Table) -> None:
    ours, theirs = sorted_rows(ours), sorted_rows(theirs)
    assert len(ours) == len(theirs)
    for mine, other in zip(ours, theirs):
        assert all(map(is_close, mine, other)), (mine, other)


@examples(200)
@given(data=st.data())
def test_random_group_bys(run_on, data) -> None:
    types = data.draw(key_types)
    table = data.draw(tables(types, "v", data.draw(number_types) * 2))
    keys = [f"k{i}" for i in range(len(types))]
    functions = data.draw(st.lists(st.sampled_from(list(POLARS)), unique=True, max_size=4))
    result = garuda.group_by(table, keys, ordered=data.draw(st.booleans()), **run_on).agg(*[("v0", f) for f in functions])
    groups = polars.DataFrame(table).group_by(keys)
    require_equal(result.to_arrow(), groups.agg(**{f: POLARS[f] for f in functions}).to_arrow())


@examples(200)
@given(data=st.data())
def test_random_group_bys_against_duckdb(data) -> None:
    table = data.draw(tables([pyarrow.int8()], "v", [pyarrow.int16(), pyarrow.int16()]))
    result = garuda.group_by(table, "k0").agg(**{f"r{i}": ("v0", f, p) for i, (f, p) in enumerate(DUCKDB)})
    connection.register("t", table)
    theirs = connection.sql(f"select k0, {', '.join(DUCKDB.values())} from t group by k0").to_arrow_table()
    as_text = [tuple(str(v) if isinstance(v, list) else v for v in row) for row in sorted_rows(theirs)]
    ours = [tuple(str(v) if isinstance(v, list) else v for v in row) for row in sorted_rows(result.to_arrow())]
    assert len(ours) == len(as_text)
    for mine, other in zip(ours, as_text):
        for a, b in zip(mine, other):
            assert is_close(a, b) or (a == "[]" and b is None) or (a is None and b == "[]"), (mine, other)


def bits(value: float) -> bytes:
    return struct.pack("<d", value)


@examples(200)
@given(values=st.lists(st.tuples(st.integers(0, 3), st.floats(allow_nan=False, allow_infinity=False)), max_size=50))
def test_float_sums_are_fsum(run_on, values) -> None:
    keys, numbers = [k for k, _ in values], [v for _, v in values]
    table = pyarrow.table({"k": pyarrow.array(keys, pyarrow.int32()), "v": pyarrow.array(numbers, pyarrow.float64())})
    result = garuda.group_by(table, "k", **run_on).agg(total=("v", "sum")).to_pydict()
    for key, total in zip(result["k"], result["total"]):
        try:
            expected = math.fsum(v for k, v in values if k == key) + 0.0
        except OverflowError:  # an intermediate sum: fsum gives up, the exact sum may be in range
            continue
        assert bits(total) == bits(expected)


def test_further_aggregates() -> None:
    table = {"k": [1, 1, 2], "v": [3, 4, 5], "b": [True, False, True], "s": ["x", "y", "z"]}
    result = garuda.group_by(table, "k", ordered=True).agg(
        ("v", "product"), ("b", "bool_and"), ("b", "bool_or"), ("s", "arg_max", "v"), ("s", "arg_min", "v"), ("v", "corr", "v"),
        ("v", "min_n", 2), "count",
    )  # fmt: skip
    assert result.to_pydict() == {
        "k": [1, 2], "product_v": [12, 5], "bool_and_b": [False, True], "bool_or_b": [True, True],
        "arg_max_s_v": ["y", "z"], "arg_min_s_v": ["x", "z"], "corr_v_v": [1.0, None], "min_n_v_2": [[3, 4], [5]],
        "count": [2, 1],
    }  # fmt: skip
    assert garuda.group_by(table, "k", ordered=True).agg().to_pydict() == {"k": [1, 2]}
    assert garuda.group_by(table).agg("count").to_pydict() == {"count": [3]}
    assert garuda.group_by(table, "k").explain("count").path
    for bad in ("sum", ("v", "summ"), ("v", "quantile", 2), ("v", "sum", "s")):
        with pytest.raises(garuda.UsageError):
            garuda.group_by(table, "k").agg(bad)


def test_columns_that_share_their_memory() -> None:
    values = pyarrow.array([float(i * 7919 % 1000) for i in range(10_000)])
    keys = pyarrow.array([i * 31 % 3_000 for i in range(10_000)])
    rows = pyarrow.table({"k": keys, "a": values, "b": values, "c": values.view(pyarrow.int64())})
    aggregates = {"m": ("a", "median"), "s": ("b", "std"), "r": ("a", "corr", "b"), "x": ("c", "max"), "q": ("b", "median")}
    found = garuda.group_by(rows, "k", ordered=True, path="cpu").agg(**aggregates).to_arrow()  # type: ignore[arg-type]
    for name, aggregate in aggregates.items():
        copied = pyarrow.table({n: pyarrow.array(rows[n].to_pylist(), rows[n].type) for n in rows.column_names})
        alone = garuda.group_by(copied, "k", ordered=True, path="cpu").agg(**{name: aggregate}).to_arrow()  # type: ignore[arg-type]
        assert found[name].equals(alone[name])
