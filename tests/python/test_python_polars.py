"""garuda.polars.Engine: every plan gives what Polars alone gives."""

from __future__ import annotations

import functools
import gc
import pathlib
import subprocess
import sys
from typing import Any

import garuda
import pytest
from hypothesis import given
from hypothesis import strategies as st
from package import ROOT
from random_tables import examples, key_types, number_types, tables

polars = pytest.importorskip("polars", "2.1")
import garuda.polars  # noqa: E402
from polars import col  # noqa: E402
from polars.testing import assert_frame_equal  # noqa: E402

sys.path.insert(0, str(ROOT / "bench"))
from tpch import lazy_queries  # noqa: E402

ALWAYS = garuda.polars.Engine(garuda.Engine(path="cpu"), prices=False)
JOINS = ["inner", "left", "right", "full", "semi", "anti"]
AGGREGATES = ["sum", "mean", "min", "max", "count", "n_unique", "var", "std", "first", "last", "median"]


def check(plan: polars.LazyFrame, ordered: bool = False) -> None:
    assert_frame_equal(plan.collect(engine="streaming"), plan.collect(engine=ALWAYS), check_row_order=ordered, rel_tol=1e-9,
                       abs_tol=1e-9)  # fmt: skip


def steps(data: st.DataObject, plan: polars.LazyFrame, number: str, ordered: bool) -> polars.LazyFrame:
    """A few nodes that stay with Polars, below those that do not; `ordered`: that keep rows in order."""
    for i in range(data.draw(st.integers(0, 2))):
        choices = [
            plan.filter(col(number) > 2), plan.filter(col(number).is_not_null() & ~(col(number) == 0)),
            plan.with_columns((col(number) * 2 - 1).alias(number)), plan.select(polars.all()),
            plan.with_columns(polars.when(col(number) > 0).then(number).otherwise(None).alias(number)),
        ]  # fmt: skip
        if i == 0:
            choices.append(plan.sort(number, nulls_last=True, maintain_order=True).head(20))
        if not ordered:
            choices += [plan.unique(), polars.concat([plan, plan.filter(col(number) < 0)])]
        plan = data.draw(st.sampled_from(choices))
    return plan


@st.composite
def lazy(draw: st.DrawFn, keys: list[object], prefix: str, payload: list[object]) -> polars.LazyFrame:
    table = draw(tables(keys, prefix, payload))
    return polars.DataFrame(table).lazy()


@examples(150)
@given(data=st.data(), keys=key_types, left=number_types, right=number_types)
def test_joins(data: st.DataObject, keys: list[object], left: list[object], right: list[object]) -> None:
    """Joins of all kinds, with null keys, names on both sides and what coalesce makes of keys."""
    names = [f"k{i}" for i in range(len(keys))]
    how = data.draw(st.sampled_from(JOINS))
    options = {"nulls_equal": data.draw(st.booleans()), "suffix": data.draw(st.sampled_from(["_right", "_r"]))}
    if how not in ("semi", "anti"):
        options["coalesce"] = data.draw(st.sampled_from([None, True, False]))
    ordered = how in ("inner", "left", "full") and data.draw(st.booleans())
    if ordered:
        options["maintain_order"] = "left_right"
    same = data.draw(st.booleans())
    plans = [steps(data, data.draw(lazy(keys, prefix, types)), f"{prefix}0", ordered)
             for prefix, types in (("a", left), ("a" if same else "b", right))]  # fmt: skip
    if data.draw(st.booleans()):
        plans[1] = plans[1].rename({name: f"other{name}" for name in names})
        options |= {"left_on": names, "right_on": [f"other{name}" for name in names]}
    else:
        options["on"] = names
    joined = plans[0].join(plans[1], how=how, **options)
    if data.draw(st.booleans()):
        joined = joined.filter(polars.any_horizontal(polars.all().is_not_null())).with_columns(more=polars.lit(1))
    check(joined, ordered)


@examples(150)
@given(data=st.data(), keys=key_types, payload=number_types)
def test_group_bys(data: st.DataObject, keys: list[object], payload: list[object]) -> None:
    names = [f"k{i}" for i in range(len(keys))]
    ordered = data.draw(st.booleans())
    plan = steps(data, data.draw(lazy(keys, "v", payload)), "v0", ordered)
    values = []
    for i, function in enumerate(data.draw(st.lists(st.sampled_from(AGGREGATES), min_size=1, max_size=4))):
        column = col(f"v{data.draw(st.integers(0, len(payload) - 1))}")
        value = getattr(column if data.draw(st.booleans()) else column + 1, function)()
        values.append((value / polars.len() if data.draw(st.booleans()) else value).alias(f"r{i}"))
    if not ordered:  # the first of unordered rows is any
        values = [v for v in values if not v.meta.serialize(format="json").count('"First"')]
    check(plan.group_by(names, maintain_order=ordered).agg(polars.len(), *values), ordered)


@examples(60)
@given(data=st.data(), keys=key_types, payload=number_types)
def test_joins_below_group_bys(data: st.DataObject, keys: list[object], payload: list[object]) -> None:
    """A plan of several nodes, one of its inputs read twice."""
    names = [f"k{i}" for i in range(len(keys))]
    left, right = data.draw(lazy(keys, "a", payload)), data.draw(lazy(keys, "b", payload))
    sums = right.group_by(names).agg(col("b0").max())
    plan = left.join(sums, on=names, how=data.draw(st.sampled_from(["inner", "left"])))
    plan = plan.join(sums, on=names, how=data.draw(st.sampled_from(["semi", "anti", "left"])))
    check(plan.group_by(names).agg(col("a0").sum(), n=polars.len()))


@functools.cache
def tpch(folder: pathlib.Path) -> dict[str, polars.LazyFrame]:
    generator = pathlib.Path(sys.executable).parent / "tpchgen-cli"
    subprocess.run([generator, "parquet", "-s", "0.01", f"--output-dir={folder}"], check=True, stdout=subprocess.DEVNULL)
    return lazy_queries.tables(folder, in_memory=False)


@pytest.mark.parametrize("name", list(lazy_queries.QUERIES))
def test_tpch(name: str, tmp_path_factory: pytest.TempPathFactory) -> None:
    """All 22 queries, of Parquet files; at least one node of each runs through garuda, but for those without any."""
    plan = lazy_queries.QUERIES[name](tpch(tmp_path_factory.getbasetemp() / "tpch"))
    expected = plan.collect(engine="streaming")
    assert_frame_equal(expected, plan.collect(engine=ALWAYS), rel_tol=1e-9)
    engines = [decision.engine for decision in ALWAYS.decisions]
    assert "garuda" in engines or name in ("q6", "q19"), ALWAYS.decisions
    assert_frame_equal(expected, plan.collect(engine=garuda.polars.Engine()), rel_tol=1e-9)


left = polars.LazyFrame({"a": [1, 2, 2], "x": [1.0, float("nan"), 3.0]})
right = polars.LazyFrame({"a": [2, 3], "y": ["p", "q"]})


@pytest.mark.parametrize(
    ("plan", "reason"),
    [
        (left.join(right, on="a").select("a", "y").head(1), "a part of the rows is wanted"),
        (left.join(right, how="cross"), "without equal keys"),
        (left.join(left, on="x"), "float keys"),
        (left.join(right.with_columns(col("a").cast(polars.Int32)), on=col("a") * 2), ""),
        (left.join(right, on="a", maintain_order="right"), "maintain_order='right'"),
        (left.group_by("a").agg(col("x").max()), "NaN in x"),
        (left.group_by("a").agg(col("x")), "implode"),
        (left.group_by("a").agg(col("x").median()), "NaN in x"),
        (left.group_by("x").agg(col("a").sum()), "float keys"),
        (left.group_by(col("a") // 2).agg(col("x").sum()), ""),
        (left.join(right, on="a", validate="m:1").group_by("y").agg(col("x").sum()), "validate="),
        (left.group_by("a").agg((col("x") * polars.Series([2.0])).sum()), "a series among the expressions"),
        (polars.LazyFrame({"a": [2**62] * 3, "k": [1] * 3}).group_by("k").agg(col("a").sum()), "beyond int64"),
    ],
)
def test_what_stays_says_why(plan: polars.LazyFrame, reason: str) -> None:
    check(plan)
    if reason:
        assert [d for d in ALWAYS.decisions if d.engine == "polars" and reason in d.reason], ALWAYS.decisions
        with pytest.raises(garuda.UsageError, match=reason):
            plan.collect(engine=garuda.polars.Engine(strict=True))


def test_prices_leave_small_tables_alone() -> None:
    engine = garuda.polars.Engine()
    plan = left.join(right, on="a")
    assert plan.collect(engine=engine).height == 2
    assert "at most 5 rows" in engine.decisions[0].reason
    assert "at most 5 rows" in engine.explain(plan)
    assert "inner join on a: garuda" in ALWAYS.explain(plan)
    assert engine.explain(left) == "neither joins nor group-bys"


SORTED = [col(name).sort_by("i", "j").first() for name in ("a", "b")]


@pytest.mark.parametrize("is_shown", [True, False])
def test_a_panic_leaves_the_plan_to_polars(monkeypatch: pytest.MonkeyPatch, is_shown: bool) -> None:
    """Two expressions of one order make Polars add a column whose type it cannot show: asking for it panics."""
    frame = polars.LazyFrame({"g": [1, 1, 2], "a": [1, 2, 3], "b": [4, 5, 6], "i": [0, 1, 2], "j": [0, 1, 2]})
    plan = frame.group_by("g").agg(SORTED)
    reason = "the function min_by"
    if not is_shown:
        monkeypatch.setattr(garuda._polars_nodes, "_require_scalar", lambda *_: None)
        reason = "Polars panics as it shows its plan: not implemented"
    check(plan)
    assert [decision.reason for decision in ALWAYS.decisions] == [reason]
    assert reason in ALWAYS.explain(plan)
    with pytest.raises(garuda.UsageError, match=reason):
        plan.collect(engine=garuda.polars.Engine(strict=True))


def test_an_interrupt_between_polars_and_the_engine_is_one(monkeypatch: pytest.MonkeyPatch) -> None:
    """Raised before the first line of what Polars calls, where nothing can catch it, Polars makes it an error of its own."""

    def interrupted(*_: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(garuda.polars._Run, "__call__", interrupted)
    with pytest.raises(KeyboardInterrupt):
        left.join(right, on="a").collect(engine=ALWAYS)


@pytest.mark.parametrize("how", ["inner", "left", "full"])
def test_keys_are_still_validated(how: Any) -> None:
    """Plans that are shown to others do not have what `validate` asks for."""
    with pytest.raises(polars.exceptions.ComputeError, match="1:1 validation"):
        left.join(right, on="a", how=how, validate="1:1").group_by("y").agg(col("x").sum()).collect(engine=ALWAYS)


def test_small_queries_leave_looks_at_large_ones() -> None:
    """Counting rows is not charged for, so what small queries were is no reason to leave a large one alone; nor are looks
    that hand a query over."""
    engine = garuda.polars.Engine(garuda.Engine(path="cpu"))
    small = polars.LazyFrame({"k": [1, 2, 1], "v": [1, 2, 3]})
    large = polars.LazyFrame({"k": polars.int_range(1_500_000, eager=True) % 700_000, "v": polars.int_range(1_500_000, eager=True)})
    reasons = []
    for plan in [small] * 1_000 + [large] * 8:
        plan.group_by("k").agg(col("v").sum()).collect(engine=engine)
        reasons.append(engine.decisions[0].reason)
    assert set(reasons[:1_000]) == {"at most 3 rows, too few to be worth handing over"}
    assert all(reason.startswith("Polars takes about ") for reason in reasons[1_000:]), reasons[1_000:]


def test_looks_take_a_share_of_the_time(tmp_path: pathlib.Path) -> None:
    """A fiftieth goes to plans whose rows are not known beforehand; one that takes long is looked at again, and what was
    looked at keeps no rows."""
    engine = garuda.polars.Engine()
    left.collect().write_parquet(tmp_path / "left.parquet")
    plan = polars.scan_parquet(tmp_path / "left.parquet").join(right, on="a").group_by("y").agg(col("x").count())
    reasons = set()
    for _ in range(300):
        assert plan.collect(engine=engine).rows() == [("p", 2)]
        reasons.add(engine.decisions[0].reason)
    assert len(reasons) > 1 and "not looked at, which has taken its share of the time" in reasons, reasons
    engine._allowance.earn(1.0)
    many = polars.LazyFrame({"k": range(300_000)})
    gc.collect()
    before = sum(isinstance(found, garuda.polars._Run) for found in gc.get_objects())
    gc.disable()
    try:
        many.join(many.head(3), on="k").collect(engine=engine)
        assert engine.decisions[0].node == "inner join on k"
        assert sum(isinstance(found, garuda.polars._Run) for found in gc.get_objects()) == before
    finally:
        gc.enable()


def test_affinity_and_sinks(tmp_path: pathlib.Path) -> None:
    plan = left.join(right, on="a", maintain_order="left")
    with polars.Config(engine_affinity=ALWAYS):
        assert plan.collect()["y"].to_list() == ["p", "p"]
        assert ALWAYS.decisions[0].engine == "garuda"
        ALWAYS.decisions = []
        plan.sink_parquet(tmp_path / "out.parquet")
    assert ALWAYS.decisions[0].engine == "garuda"
    assert polars.read_parquet(tmp_path / "out.parquet").height == 2


def test_an_unknown_plan_format_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(garuda.polars, "PLAN_VERSIONS", ((99, 0),))
    with pytest.raises(garuda.UsageError, match="plans of Polars .* have format 16.0; garuda reads 99.0"):
        left.join(right, on="a").collect(engine=ALWAYS)


def test_what_has_no_plan_is_said() -> None:
    engine = garuda.polars.Engine()
    assert len(polars.collect_all([left, right], engine=engine)) == 2
    assert engine.decisions[0].node == "collect_all"
    with pytest.raises(garuda.UsageError, match="collect_all"):
        polars.collect_all([left, right], engine=garuda.polars.Engine(strict=True))
