"""Joins from Python against Polars and DuckDB, on every path."""

from __future__ import annotations

import duckdb
import garuda
import polars
import pyarrow
import pytest
from hypothesis import given
from hypothesis import strategies as st
from package import LAVAPIPE
from random_tables import KEYS, examples, key_types, number_types, sorted_rows, tables

connection = duckdb.connect()
HOW = ["inner", "left", "right", "full", "semi", "anti", "mark"]


@st.composite
def joins(draw: st.DrawFn) -> tuple[pyarrow.Table, pyarrow.Table, int]:
    types = draw(key_types)
    compared = st.sampled_from([pyarrow.int16(), pyarrow.int64()])
    left = draw(tables(types, "x", [draw(compared), *draw(number_types)]))
    right = draw(tables(types, "y", [draw(compared), *draw(number_types)]))
    return left, right, len(types)


def by_duckdb(left: pyarrow.Table, right: pyarrow.Table, keys: list[str], how: str, nulls_equal: bool, where: str) -> pyarrow.Table:
    equals = "is not distinct from" if nulls_equal else "="
    on = " and ".join([f"l.{key} {equals} r.{key}" for key in keys] + ([where] if where else []))
    match = f"exists (select 1 from r where {on})"
    if how in ("semi", "anti", "mark"):
        chosen = {"semi": f"* from l where {match}", "anti": f"* from l where not {match}", "mark": f"*, {match} from l"}
        query = f"select {chosen[how]}"
    else:
        key_of = {"inner": "l.{0}", "left": "l.{0}", "right": "r.{0}", "full": "coalesce(l.{0}, r.{0})"}[how]
        chosen_keys = [key_of.format(key) for key in keys]
        rest = [f"l.{name}" for name in left.schema.names[len(keys) :]] + [f"r.{name}" for name in right.schema.names[len(keys) :]]
        query = f"select {', '.join(chosen_keys + rest)} from l {how} join r on {on}"
    connection.register("l", left)
    connection.register("r", right)
    return connection.sql(query).to_arrow_table()


def by_polars(left: pyarrow.Table, right: pyarrow.Table, keys: list[str], how: str, nulls_equal: bool) -> pyarrow.Table:
    joined = polars.DataFrame(left).join(polars.DataFrame(right), on=keys, how=how, nulls_equal=nulls_equal,
                                         coalesce=None if how in ("semi", "anti") else True)  # fmt: skip
    names = [*left.schema.names, *([] if how in ("semi", "anti") else right.schema.names[len(keys) :])]
    return joined.select(names).to_arrow()


@examples(200)
@given(data=joins(), how=st.sampled_from(HOW), nulls_equal=st.booleans(), ordered=st.booleans(), on_condition=st.booleans())
def test_random_joins(run_on, data, how: str, nulls_equal: bool, ordered: bool, on_condition: bool) -> None:
    left, right, num_keys = data
    keys = [f"k{i}" for i in range(num_keys)]
    where = "left.x0 < right.y0" if on_condition else None
    result = garuda.join(left, right, on=keys, how=how, where=where, nulls_equal=nulls_equal, ordered=ordered, **run_on)
    rows = sorted_rows(result.to_arrow())
    assert rows == sorted_rows(by_duckdb(left, right, keys, how, nulls_equal, "l.x0 < r.y0" if where else ""))
    if where is None and how != "mark":
        assert rows == sorted_rows(by_polars(left, right, keys, how, nulls_equal))
    assert garuda.join_count(left, right, on=keys, how=how, where=where, nulls_equal=nulls_equal, **run_on) == len(rows)


@st.composite
def compared_joins(draw: st.DrawFn) -> tuple[pyarrow.Table, pyarrow.Table, int]:
    """The first column of either side beside the keys is of one type, whichever."""
    types = draw(key_types)
    compared = draw(st.sampled_from(list(KEYS)))
    return draw(tables(types, "x", [compared])), draw(tables(types, "y", [compared])), len(types)


@pytest.mark.skipif(LAVAPIPE is None, reason="lavapipe is not installed")
@pytest.mark.parametrize("place", ["uploaded", "brought"])
@examples(60)
@given(data=compared_joins(), how=st.sampled_from(HOW), nulls_equal=st.booleans(), operator=st.sampled_from(["=", "<>", "<", ">="]))
def test_random_conditions_on_a_device(place: str, data, how: str, nulls_equal: bool, operator: str) -> None:
    """Tables that live there, and those that are brought there whole."""
    left, right, num_keys = data
    keys = [f"k{i}" for i in range(num_keys)]
    expected = by_duckdb(left, right, keys, how, nulls_equal, f"l.x0 {operator} r.y0")
    where = f"left.x0 {operator} right.y0"
    options: dict[str, object] = {"path": "compute", "device": 0, "tuning": "placement=device"}
    if place == "uploaded":
        left, right = garuda.upload(left, device=0), garuda.upload(right, device=0)
    rows = sorted_rows(garuda.join(left, right, keys, how=how, where=where, nulls_equal=nulls_equal, **options).to_arrow())
    assert rows == sorted_rows(expected)
    assert garuda.join_count(left, right, keys, how=how, where=where, nulls_equal=nulls_equal, **options) == len(rows)


ORDERS = {"id": [1, 2, 3, 4], "customer": [7, 8, 7, None]}
CUSTOMERS = {"number": [7, 8, 9], "name": ["Ada", "Bo", "Cy"]}


def test_columns_and_keys_by_name() -> None:
    for keys in ({"on": ("customer", "number")}, {"on": [("customer", "number")]},
                 {"left_on": "customer", "right_on": ["number"]}):  # fmt: skip
        assert len(garuda.join(ORDERS, CUSTOMERS, **keys)) == 3
    chosen = garuda.join(
        ORDERS, CUSTOMERS, ("customer", "number"), how="right", columns=["right.name", "left.id"], ordered=True)  # fmt: skip
    assert chosen.to_pydict() == {"name": ["Ada", "Bo", "Ada", "Cy"], "id": [1, 2, 3, None]}
    odd = {"a.b": [1], "c\\d": [2], "e,f=g:h": [3]}
    assert garuda.join(odd, odd, on=list(odd), columns=["left.a.b", "right.c\\d", "left.e,f=g:h"]).num_columns == 3
    assert garuda.group_by(odd, ["a.b"]).agg(("e,f=g:h", "sum"), **{"x=y:z": ("c\\d", "max")}).column_names == [
        "a.b", "sum_e,f=g:h", "x=y:z"]  # fmt: skip


def test_conditions_and_cross_joins() -> None:
    assert garuda.join_count(ORDERS, CUSTOMERS, where="left.customer < right.number") == 5
    assert garuda.join_count(ORDERS, CUSTOMERS, allow_cross=True) == 12
    with pytest.raises(garuda.UsageError):
        garuda.join(ORDERS, CUSTOMERS)
    with pytest.raises(garuda.UsageError):
        garuda.join(ORDERS, CUSTOMERS, where="left.id <")


def test_plans() -> None:
    plan = garuda.explain_join(ORDERS, CUSTOMERS, ("customer", "number"), path="cpu")
    assert plan.path == "cpu" and plan.device == "cpu" and "cpu" in str(plan) and plan.reason
    shown = plan._repr_html_()
    assert "<pre>" in shown and ">join</td>" in shown and plan.to_html().startswith("<!doctype html>")
    assert "cpu" in repr(plan)
    made = garuda.join(ORDERS, CUSTOMERS, ("customer", "number"), path="cpu")
    assert made.plan is not None and made.plan.path == "cpu"
    assert made.stats is not None and made.stats["rows_left"] == 4 and "total" in repr(dict(made.stats)) and len(made.stats)
    assert garuda.table(ORDERS).plan is None and garuda.table(ORDERS).stats is None
