"""Group-bys in parts, of Dask and of Ray on two workers: the bits of one machine's, for any parts."""

from __future__ import annotations

import math
import random
import struct
from typing import Any, Iterator

import garuda
import pandas
import pyarrow
import pytest
from garuda.partial import Partial
from hypothesis import given
from hypothesis import strategies as st
from package import environment
from random_tables import examples, key_types, number_types, sorted_rows, tables

CPU = garuda.Engine(path="cpu")
OPTIONS = {"path": "cpu", "threads": 1}
EXACT = {"s": ("v", "sum"), "m": ("v", "mean"), "d": ("v", "std"), "c": ("v", "corr", "w"), "i": ("w", "sum"), "n": "count",
         "least": ("v", "min")}  # fmt: skip


def rows(count: int) -> pyarrow.Table:
    """Floats whose sums depend on their order, unless they are exact."""
    draw = random.Random(1)
    values = [draw.uniform(-1, 1) * 10.0 ** draw.randint(-30, 30) for _ in range(count)]
    return pyarrow.table({"k": [draw.choice(["a", "b", "c", None]) for _ in range(count)], "v": values,
                          "w": [draw.randint(-9, 9) for _ in range(count)]})  # fmt: skip


def bits(table: Any) -> list[Any]:
    """Rows, with floats as their bits."""
    columns = [column.to_pylist() for column in pyarrow.table(table).columns]
    cells = zip(*([struct.pack("d", v) if isinstance(v, float) else v for v in column] for column in columns))
    return sorted(cells, key=repr)


@examples(60)
@given(data=st.data(), keys=key_types, numbers=number_types)
def test_partial_groups(data: st.DataObject, keys: list[Any], numbers: list[Any]) -> None:
    table = data.draw(tables(keys, "v", numbers))
    names = [f"k{i}" for i in range(len(keys))]
    functions = ["sum", "mean", "var", "std_pop", "count", "min", "max"]
    named = {f"r{i}": (f"v{data.draw(st.integers(0, len(numbers) - 1))}", f) for i, f in enumerate(functions)}
    both = Partial(names, **named)
    cuts = sorted(data.draw(st.lists(st.integers(0, table.num_rows), max_size=6)))
    parts = [table.slice(a, b - a) for a, b in zip([0, *cuts], [*cuts, table.num_rows])]
    groups = [both.group(part, engine=CPU) for part in data.draw(st.permutations(parts))]
    if len(groups) > 2:
        groups = [both.merge(groups[:2], engine=CPU), *groups[2:]]
    made = both.finish(both.merge(groups, engine=CPU), table).to_arrow()
    assert sorted_rows(made) == sorted_rows(CPU.group_by(table, names).agg(**named).to_arrow())


def test_states_are_checked() -> None:
    both = Partial("k", s=("v", "sum"))
    groups = both.group({"k": [1], "v": [0.5]}).to_arrow()
    wrong = groups.set_column(1, "s", pyarrow.array([b"wrong"], pyarrow.large_binary()))
    with pytest.raises(garuda.InvalidInputError, match="not the exact state of an aggregate, by its size: 5"):
        both.merge([groups, wrong])
    product = Partial("k", s=("v", "product")).group({"k": [1], "v": [2]}).to_arrow()
    with pytest.raises(garuda.InvalidInputError, match="states of different aggregates are in one column"):
        both.merge([groups, product])
    with pytest.raises(garuda.InvalidInputError, match="beyond int64"):
        integers = {"k": [1], "v": [2**62]}
        both.finish(both.merge([both.group(integers)] * 2), integers)
    with pytest.raises(garuda.UsageError, match="median needs all rows of a group in one place"):
        Partial("k", m=("v", "median"))


def test_hostile_states() -> None:
    """Any bytes are values or an error."""
    both = Partial("k", s=("v", "sum"))
    state = both.group({"k": [1], "v": [1.5e300]}).to_arrow()["s"][0].as_py()
    draw = random.Random(2)
    for _ in range(300):
        damaged = bytearray(state)
        for _ in range(draw.randint(1, 4)):
            damaged[draw.randrange(len(damaged))] = draw.randrange(256)
        groups = pyarrow.table({"k": [1, 1], "s": pyarrow.array([state, bytes(damaged)], pyarrow.large_binary())})
        try:
            both.finish(both.merge([groups]), {"k": [1], "v": [0.5]})
        except garuda.InvalidInputError:
            pass


@pytest.fixture(scope="module")
def dask_client() -> Iterator[Any]:
    distributed = pytest.importorskip("distributed")
    with pytest.MonkeyPatch.context() as patch:
        for name, value in environment().items():
            patch.setenv(name, value)
        with distributed.LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster:
            with distributed.Client(cluster) as client:
                yield client


def of_dask(frame: Any) -> pyarrow.Table:
    return pyarrow.Table.from_pandas(frame.compute(), preserve_index=False)


def test_dask(dask_client: Any) -> None:
    dask_frames = pytest.importorskip("dask.dataframe")
    import garuda.dask

    table = rows(2000)
    expected = bits(CPU.group_by(table, "k").agg(**EXACT))
    for count in (1, 2, 7):
        frame = dask_frames.from_pandas(table.to_pandas(), npartitions=count)
        groups = garuda.dask.group_by(frame, "k", options=OPTIONS).agg(**EXACT, npartitions=min(count, 2))
        assert groups.npartitions == min(count, 2)
        assert bits(of_dask(groups)) == expected
    medians = garuda.dask.group_by(frame, "k", options=OPTIONS).agg(m=("v", "median"), npartitions=2)
    assert bits(of_dask(medians)) == bits(CPU.group_by(table, "k").agg(m=("v", "median")))

    names = pandas.DataFrame({"w": range(-5, 6), "name": [f"n{i}" for i in range(11)]})
    right = dask_frames.from_pandas(names, npartitions=2)
    for how in ("inner", "left", "anti", "full"):
        joined = garuda.dask.merge(frame, right, "w", how=how, options=OPTIONS)
        assert bits(of_dask(joined)) == bits(CPU.join(table, names, "w", how=how))
    with pytest.raises(garuda.UsageError, match="keys must be of one type"):
        garuda.dask.merge(frame, right, ("v", "w"))
    with pytest.raises(garuda.UsageError, match="in no order that first"):
        garuda.dask.group_by(frame, "k").agg(f=("v", "first"))


def test_ray() -> None:
    ray = pytest.importorskip("ray")
    import garuda.ray

    with pytest.MonkeyPatch.context() as patch:
        for name, value in environment(RAY_ENABLE_UV_RUN_RUNTIME_ENV="0").items():
            patch.setenv(name, value)
        ray.init(num_cpus=2, include_dashboard=False, configure_logging=False, log_to_driver=False,
                 object_store_memory=100 << 20)  # fmt: skip
    try:
        table = rows(2000)
        expected = bits(CPU.group_by(table, "k").agg(**EXACT))
        for count in (1, 2, 7):
            blocks = [table.slice(i * 2000 // count, (i + 1) * 2000 // count - i * 2000 // count) for i in range(count)]
            data = ray.data.from_arrow(blocks)
            groups = garuda.ray.group_by(data, "k", options=OPTIONS).agg(**EXACT, parts=min(count, 2))
            assert bits(pyarrow.concat_tables(ray.get(groups.to_arrow_refs()))) == expected
        medians = garuda.ray.group_by(data, "k", options=OPTIONS).agg(m=("v", "median"), parts=2)
        assert bits(pyarrow.concat_tables(ray.get(medians.to_arrow_refs()))) == bits(
            CPU.group_by(table, "k").agg(m=("v", "median"))
        )
        with pytest.raises(garuda.UsageError, match="in no order that first"):
            garuda.ray.group_by(data, "k").agg(f=("v", "last"))
        names = pyarrow.table({"w": list(range(-5, 6)), "name": [f"n{i}" for i in range(11)]})
        for how in ("inner", "left", "full"):
            joined = garuda.ray.join(data, ray.data.from_arrow([names, names.slice(0, 0)]), "w", how=how, options=OPTIONS)
            assert bits(pyarrow.concat_tables(ray.get(joined.to_arrow_refs()))) == bits(CPU.join(table, names, "w", how=how))
    finally:
        ray.shutdown()


def test_exact_sums_are_those_of_fsum() -> None:
    table = rows(2000)
    both = Partial("k", s=("v", "sum"))
    groups = both.merge([both.group(table.slice(i * 100, 100)) for i in range(20)])
    for key, total in zip(*both.finish(groups, table).to_pydict().values()):
        values = [v for k, v in zip(table["k"].to_pylist(), table["v"].to_pylist()) if k == key]
        assert total == math.fsum(values)
