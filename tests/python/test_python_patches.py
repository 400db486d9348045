"""pyarrow's joins and group-bys through garuda, beside pyarrow's own; relations of DuckDB."""

from __future__ import annotations

import duckdb
import garuda
import numpy
import pyarrow
import pyarrow.acero
import pyarrow.compute
import pyarrow.dataset
import pytest
from random_tables import sorted_rows

KINDS = ["left semi", "right semi", "left anti", "right anti", "inner", "left outer", "right outer", "full outer"]


@pytest.fixture
def installed():
    garuda.install("pyarrow")
    yield garuda.patches._installed["pyarrow"]
    garuda.uninstall("pyarrow")


def by_pyarrow(patches, name: str, call):
    """Makes the call by pyarrow itself."""
    (patch,) = [patch for patch in patches if patch.name == name]
    setattr(patch.module, name, patch.original)
    try:
        return call()
    finally:
        setattr(patch.module, name, patch.replacement)


def require_same(patches, name: str, call, through_garuda: bool = True) -> None:
    before = len(garuda.fallbacks())
    ours, theirs = call(), by_pyarrow(patches, name, call)
    assert ours.schema == theirs.schema
    assert str(sorted_rows(ours)) == str(sorted_rows(theirs))  # as text, where NaN is NaN
    assert (len(garuda.fallbacks()) == before) == through_garuda, garuda.fallbacks()[before:]


def table(seed: int, types=(pyarrow.int32(), pyarrow.string()), payload: str = "x") -> pyarrow.Table:
    random = numpy.random.default_rng(seed)
    columns = {"k": pyarrow.array(random.integers(0, 5, 30), mask=random.random(30) < 0.2).cast(types[0]),
               "l": pyarrow.array(random.integers(0, 2, 30)).cast(types[1]),
               payload: pyarrow.array(random.integers(0, 9, 30)), "v": pyarrow.array(random.random(30))}  # fmt: skip
    return pyarrow.table(columns)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("coalesce", [True, False])
def test_joins(installed, kind: str, coalesce: bool) -> None:
    left, right = table(1), table(2, payload="y")
    for keys, right_keys in (("k", None), (["k", "l"], ["k", "l"])):
        require_same(installed, "_perform_join", lambda: left.join(
            right, keys, right_keys, join_type=kind, left_suffix="_l", right_suffix="_r", coalesce_keys=coalesce))  # fmt: skip
    renamed = right.rename_columns(["m", "l", "y", "v"])
    require_same(installed, "_perform_join", lambda: left.join(
        renamed, ["k"], ["m"], join_type=kind, right_suffix="_r", coalesce_keys=coalesce))  # fmt: skip


def test_joins_that_stay(installed) -> None:
    left, right = table(1), table(2, payload="y")
    floats = pyarrow.table({"k": [0.0, float("nan")]})
    same = lambda call: require_same(installed, "_perform_join", call, through_garuda=False)  # noqa: E731
    same(lambda: floats.join(floats, "k", right_suffix="_r"))
    same(lambda: left.join(right, "k", join_type="inner", right_suffix="_r", filter_expression=pyarrow.compute.field("x") > 3))
    same(lambda: pyarrow.dataset.dataset(left).join(pyarrow.dataset.dataset(right), "k", right_suffix="_r").to_table())
    with pytest.raises(pyarrow.ArrowInvalid):
        left.join(right, "none")


def outcome(call):
    """The result of a call, or the error that it raises."""
    try:
        made = call()
    except Exception as error:
        return type(error), str(error)
    made.validate(full=True)
    return made.schema, str(sorted_rows(made))


SPARSE = [pyarrow.array([0, 0, 1], pyarrow.int8()), [pyarrow.array([1, 2, 3]), pyarrow.array(["x"] * 3)]]
OF_ANY_TYPE = {
    "list": pyarrow.array([[1], [2], None]),
    "list_view": pyarrow.array([[1], [2], None], pyarrow.list_view(pyarrow.int64())),
    "struct": pyarrow.array([{"a": 1}, {"a": 2}, None]),
    "map": pyarrow.array([[("a", 1)], [("b", 2)], None], pyarrow.map_(pyarrow.string(), pyarrow.int64())),
    "union": pyarrow.UnionArray.from_sparse(*SPARSE),
    "run_end_encoded": pyarrow.RunEndEncodedArray.from_arrays(pyarrow.array([2, 3], pyarrow.int32()), pyarrow.array([1, 2])),
    "string_view": pyarrow.array(["a", "b", None], pyarrow.string_view()),
    "dictionary": pyarrow.array(["a", "b", None]).dictionary_encode(),
    "half": pyarrow.array([1.0, 2.0, None], pyarrow.float16()),
    "decimal32": pyarrow.array([1, 2, None], pyarrow.int32()).cast(pyarrow.decimal128(12, 2)).cast(pyarrow.decimal32(5, 2)),
    "duration": pyarrow.array([1, 2, None], pyarrow.duration("s")),
    "uuid": pyarrow.ExtensionArray.from_storage(pyarrow.uuid(), pyarrow.array([b"1" * 16, b"2" * 16, None], pyarrow.binary(16))),
}


@pytest.mark.parametrize("values", OF_ANY_TYPE.values(), ids=OF_ANY_TYPE)
def test_types_are_taken_and_refused_as_by_pyarrow(installed, values) -> None:
    left, right = pyarrow.table({"k": [1, 2, 3], "x": values}), pyarrow.table({"k": [1, 2, 4], "y": [7, 8, 9]})
    keyed = pyarrow.table({"j": [1, 2, 4], "x": values})
    joins = [lambda a=a, b=b, on=on, kind=kind: a.join(b, on, join_type=kind)
             for a, b, on in ((left, right, "k"), (right, left, "k"), (left, keyed, "x")) for kind in KINDS]  # fmt: skip
    for join in joins:
        assert outcome(join) == by_pyarrow(installed, "_perform_join", lambda: outcome(join))
    groups = [lambda on=on, what=what: left.group_by(on).aggregate([what]) for on, what in (
        ("x", ("k", "sum")), *(("k", ("x", name)) for name in ("min", "max", "sum", "mean", "variance", "count", "any")),
        *(([], ("x", name)) for name in ("min", "count_distinct", "product")))]  # fmt: skip
    for group in groups:
        assert outcome(group) == by_pyarrow(installed, "_group_by", lambda: outcome(group))


def test_the_order_of_one_thread(installed) -> None:
    left, right = table(1), table(2, payload="y").slice(0, 3)
    joined = left.join(right, "k", join_type="left semi", use_threads=False)
    assert joined == by_pyarrow(installed, "_perform_join", lambda: left.join(right, "k", join_type="left semi", use_threads=False))


@pytest.mark.parametrize("keys", ["k", ["k", "l"], []])
def test_group_bys(installed, keys) -> None:
    rows = table(3).append_column("b", [[True, False, None] * 10])
    same = lambda aggregates, **more: require_same(  # noqa: E731
        installed, "_group_by", lambda: rows.group_by(keys).aggregate(aggregates), **more)  # fmt: skip
    for function in ("sum", "min", "max", "count", "product", "mean"):
        same([("x", function), ("x", "sum")] if function != "sum" else [("x", "sum")])
    same([("v", "min"), ("v", "max"), ("b", "any"), ("b", "all"), ([], "count_all")])
    same([("x", "count_distinct", pyarrow.compute.CountOptions("only_valid"))])
    if keys:
        same([])
    same([("x", "list")], through_garuda=False) if keys else None
    same([("x", "count", pyarrow.compute.CountOptions("all"))], through_garuda=False)
    same([("x", "sum", pyarrow.compute.ScalarAggregateOptions(min_count=3))], through_garuda=False)
    close = rows.group_by(keys).aggregate([("x", "variance"), ("x", "stddev", pyarrow.compute.VarianceOptions(ddof=1))])
    theirs = by_pyarrow(installed, "_group_by", lambda: rows.group_by(keys).aggregate(
        [("x", "variance"), ("x", "stddev", pyarrow.compute.VarianceOptions(ddof=1))]))  # fmt: skip
    for ours, other in zip(sorted_rows(close), sorted_rows(theirs)):
        assert ours == pytest.approx(other)


def test_float_sums_are_exact(installed) -> None:
    assert pyarrow.table({"k": [1, 1, 1], "v": [1e300, 1.0, -1e300]}).group_by("k").aggregate([("v", "sum")])["v_sum"].to_pylist() == [1.0]


def test_strict_and_undone() -> None:
    join, group_by = pyarrow.acero._perform_join, pyarrow.acero._group_by
    garuda.install("pyarrow", strict=True)
    garuda.install("pyarrow", strict=True, engine=garuda.Engine(path="cpu"))
    assert garuda.installed() == ["pyarrow"]
    floats = pyarrow.table({"k": [0.0]})
    with pytest.raises(garuda.UsageError, match="float keys"):
        floats.join(floats, "k")
    ours = pyarrow.acero._group_by
    pyarrow.acero._group_by = None
    with pytest.raises(garuda.UsageError, match="another"):
        garuda.uninstall("pyarrow")
    pyarrow.acero._group_by = ours
    garuda.uninstall("pyarrow")
    garuda.uninstall("pyarrow")
    assert pyarrow.acero._perform_join is join and pyarrow.acero._group_by is group_by and garuda.installed() == []
    with pytest.raises(garuda.UsageError):
        garuda.install("numpy")


def test_relations() -> None:
    with duckdb.connect() as connection:
        left = connection.sql("select range as a, range % 7 as b, 'text ' || range as s from range(100)")
        right = connection.sql("select range as b, range * 2.5 as c from range(5)")
        joined = garuda.duckdb.join(left, right, "b", how="left", connection=connection)
        assert isinstance(joined, duckdb.DuckDBPyRelation) and joined.columns == ["a", "b", "s", "c"]
        expected = left.join(right, "b", how="left").order("a").fetchall()
        assert joined.order("a").fetchall() == expected == joined.order("a").fetchall()
        groups = garuda.duckdb.group_by(joined, "b", connection=connection)
        assert groups.agg(total=("c", "sum"), n="count").filter("b = 1").fetchall() == [(1, 37.5, 15)]
        assert "cpu" in str(groups.explain("count"))
        with pytest.raises(KeyError):
            garuda.duckdb.group_by(left, "none").agg("count")
