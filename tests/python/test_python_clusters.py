"""Group-bys in parts, of Dask and of Ray on two workers: the bits of one machine's, for any parts."""

from __future__ import annotations

import datetime
import decimal
import math
import random
import struct
from typing import Any, Iterator

import garuda
import numpy
import pandas
import pyarrow
import pytest
from garuda._key_hashes import key_hashes
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


def encoded(values: list[Any], value_type: Any = None) -> pyarrow.Array:
    return pyarrow.array(values, value_type).dictionary_encode()


DECIMALS = [decimal.Decimal("0.1"), decimal.Decimal("-12.5")]
DAYS = [datetime.datetime(1, 1, 1), datetime.datetime(2024, 2, 29)]
# Forms that a worker may have the same two values in.
FORMS = {
    "numbers": [pyarrow.array([0, 100], t) for t in (pyarrow.int8(), pyarrow.uint64(), pyarrow.float16(), pyarrow.float64(),
                pyarrow.decimal32(5, 2), pyarrow.decimal256(70, 9))] + [pyarrow.array([-0.0, 100.0])],
    "decimals": [pyarrow.array(DECIMALS, t) for t in (pyarrow.decimal128(3, 1), pyarrow.decimal64(12, 9))]
    + [pyarrow.array([0.1, -12.5]), encoded(DECIMALS)],
    "NaN": [pyarrow.array(numpy.array([bits, 0], numpy.uint64).view(numpy.float64)) for bits in (0x7FF8 << 48, 0xFFF8 << 48 | 1)],
    "strings": [pyarrow.array(["", "a value of many bytes"], t) for t in (pyarrow.string(), pyarrow.large_string(),
                pyarrow.string_view(), pyarrow.binary(), pyarrow.binary_view())] + [encoded(["", "a value of many bytes"])],
    "binary": [pyarrow.array([b"ab", b"cd"], t) for t in (pyarrow.binary(2), pyarrow.large_binary())],
    "moments": [pyarrow.array(DAYS, t) for t in (pyarrow.date32(), pyarrow.date64(), pyarrow.timestamp("s"),
                pyarrow.timestamp("us"), pyarrow.timestamp("ms", "Asia/Kolkata"))],
    "times": [pyarrow.array([datetime.time(0), datetime.time(23, 59)], t) for t in (pyarrow.time32("s"), pyarrow.time64("ns"))],
    "durations": [pyarrow.array([datetime.timedelta(-1), datetime.timedelta(9)], pyarrow.duration(u)) for u in ("s", "ns")],
    "intervals": [pyarrow.array([(1, 2, 3), (3, 2, 1)], pyarrow.month_day_nano_interval())],
    "booleans": [pyarrow.array([False, True]), encoded([False, True])],
}  # fmt: skip


@pytest.mark.parametrize("kind", FORMS)
def test_a_hash_depends_on_the_value_alone(kind: str) -> None:
    first = key_hashes(pyarrow.table({"k": FORMS[kind][0]}))
    assert len(set(first)) == 2
    for form in FORMS[kind]:
        with_null = pyarrow.chunked_array([form.slice(1), pyarrow.nulls(1, form.type), form])
        hashes = key_hashes(pyarrow.table({"k": with_null, "l": [7] * 4}))
        assert len(set(hashes)) == 3 and hashes[0] == hashes[3]
        assert list(key_hashes(pyarrow.table({"k": form}))) == list(first)
        null = key_hashes(pyarrow.table({"k": pyarrow.nulls(1)}))
        assert key_hashes(pyarrow.table({"k": with_null}))[1] == null
    assert len(key_hashes(pyarrow.table({"k": FORMS[kind][0].slice(0, 0)}))) == 0


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
    with pytest.raises(garuda.InvalidInputError, match="cannot be compared, their types differ: float64 and int64"):
        garuda.dask.merge(frame, right, ("v", "w"))
    with pytest.raises(garuda.UsageError, match="in no order that first"):
        garuda.dask.group_by(frame, "k").agg(f=("v", "first"))


def series(values: list[Any], arrow_type: Any = None) -> Any:
    return pandas.Series(pandas.arrays.ArrowExtensionArray(pyarrow.chunked_array([pyarrow.array(values, arrow_type)])))


@pytest.mark.parametrize("shuffle", ["tasks", "p2p"])
@pytest.mark.parametrize(
    "parts",
    [
        [series([True, False]), series([True, None])],
        [series([1, 2]), series([1, None])],
        [pandas.Series([True, False], dtype="boolean"), pandas.Series([True, None], dtype="boolean")],
        [pandas.Series([1.0, -0.0]), pandas.Series([0.0, None])],
        [pandas.Series(["x", "y"], dtype="category"), pandas.Series(["y", None, "z"], dtype="category")],
        [series(encoded(["x", "y"])), series(encoded(["y", None, "x"]))],
        [series(DECIMALS, pyarrow.decimal128(5, 2)), series([DECIMALS[0], None], pyarrow.decimal128(5, 2))],
        [pandas.Series(pandas.to_datetime(DAYS, utc=True)), pandas.Series(pandas.to_datetime([DAYS[1], None], utc=True))],
    ],
    ids=["bool", "int", "boolean", "float", "category", "dictionary", "decimal", "timestamp"],
)
def test_dask_keys_beside_nulls(dask_client: Any, shuffle: str, parts: list[Any]) -> None:
    """Equal keys come together, whether or not there is a null in the partition that they come from."""
    frames = pytest.importorskip("dask.dataframe")
    import dask
    import garuda.dask

    left, right = (pandas.DataFrame({"k": keys, "v": range(len(keys))}) for keys in parts)
    sides = [frames.from_pandas(side, npartitions=1) for side in (left, right.rename(columns={"v": "w"}))]
    both = frames.concat([frames.from_pandas(side, npartitions=1) for side in (left, right)])
    arrow = [pyarrow.Table.from_pandas(side, preserve_index=False) for side in (left, right.rename(columns={"v": "w"}))]
    with dask.config.set({"dataframe.shuffle.method": shuffle}):
        joined = garuda.dask.merge(*sides, "k", npartitions=3, options=OPTIONS).compute()
        assert len(joined) == CPU.join(*arrow, "k").to_arrow().num_rows > 0
        count = len(CPU.group_by(pyarrow.concat_tables(side.select(["k"]) for side in arrow), "k").agg())
        for named in ({"s": ("v", "sum")}, {"m": ("v", "median")}):
            assert len(garuda.dask.group_by(both, "k", options=OPTIONS).agg(npartitions=3, **named).compute()) == count


@pytest.mark.parametrize("function", ["sum", "median"])
def test_dask_without_keys(dask_client: Any, function: str) -> None:
    frames = pytest.importorskip("dask.dataframe")
    import garuda.dask

    frame = frames.from_pandas(pandas.DataFrame({"v": [1, 2, 6]}), npartitions=2)
    groups = garuda.dask.group_by(frame, [], options=OPTIONS).agg(npartitions=3, n="count", r=("v", function))
    assert groups.compute().to_dict("list") == {"n": [3], "r": [9 if function == "sum" else 2.0]}
    with pytest.raises(garuda.UsageError, match="must have a type before its rows are there, which object is not: k"):
        garuda.dask.group_by(frame.assign(k=frame.v.astype(object)), "k")


@pytest.fixture(scope="module")
def ray() -> Iterator[Any]:
    ray = pytest.importorskip("ray")
    with pytest.MonkeyPatch.context() as patch:
        for name, value in environment(RAY_ENABLE_UV_RUN_RUNTIME_ENV="0").items():
            patch.setenv(name, value)
        ray.init(num_cpus=2, include_dashboard=False, configure_logging=False, log_to_driver=False,
                 object_store_memory=100 << 20)  # fmt: skip
    yield ray
    ray.shutdown()


def of_ray(data: Any) -> pyarrow.Table:
    import ray

    return pyarrow.concat_tables(ray.get(data.to_arrow_refs()), promote_options="permissive")


def test_ray(ray: Any) -> None:
    import garuda.ray

    table = rows(2000)
    expected = bits(CPU.group_by(table, "k").agg(**EXACT))
    for count in (1, 2, 7):
        blocks = [table.slice(i * 2000 // count, (i + 1) * 2000 // count - i * 2000 // count) for i in range(count)]
        data = ray.data.from_arrow(blocks)
        groups = garuda.ray.group_by(data, "k", options=OPTIONS).agg(**EXACT, parts=min(count, 2))
        assert bits(of_ray(groups)) == expected
    medians = garuda.ray.group_by(data, "k", options=OPTIONS).agg(m=("v", "median"), parts=2)
    assert bits(of_ray(medians)) == bits(CPU.group_by(table, "k").agg(m=("v", "median")))
    with pytest.raises(garuda.UsageError, match="in no order that first"):
        garuda.ray.group_by(data, "k").agg(f=("v", "last"))
    names = pyarrow.table({"w": list(range(-5, 6)), "name": [f"n{i}" for i in range(11)]})
    for how in ("inner", "left", "full"):
        joined = garuda.ray.join(data, ray.data.from_arrow([names, names.slice(0, 0)]), "w", how=how, options=OPTIONS)
        assert bits(of_ray(joined)) == bits(CPU.join(table, names, "w", how=how))


@pytest.mark.parametrize(
    "blocks",
    [
        [pyarrow.array([1, 2]), pyarrow.array([1, None]), pyarrow.nulls(1)],
        [pyarrow.array([True, False]), pyarrow.array([True, None])],
        [pyarrow.array([1, 2], pyarrow.int8()), pyarrow.array([1, None], pyarrow.int64())],
        [encoded(["x", "y"]), encoded(["y", None, "z"]), pyarrow.array(["x"])],
        [pyarrow.array(["x"]), pyarrow.array(["x", None], pyarrow.large_string()), encoded(["x"])],
        [pyarrow.array(DECIMALS), pyarrow.array(DECIMALS, pyarrow.decimal128(12, 9))],
        [pyarrow.array(DAYS, pyarrow.timestamp("s", "UTC")), pyarrow.array(DAYS, pyarrow.timestamp("us", "Asia/Kolkata"))],
        [pyarrow.array([0.0, math.nan]), pyarrow.array([-0.0, -math.nan, None])],
    ],
    ids=["int", "bool", "widths", "dictionary", "layouts", "decimal", "zones", "float"],
)
def test_ray_keys_in_several_forms(ray: Any, blocks: list[Any]) -> None:
    """Equal keys come together, whatever form the blocks that they come from have them in."""
    import garuda.ray

    tables = [pyarrow.table({"k": keys, "v": list(range(len(keys)))}) for keys in blocks]
    plain = garuda.ray._plain(blocks[1].type)
    alike = pyarrow.table({"k": pyarrow.chunked_array([keys.cast(plain) for keys in blocks])})
    data = ray.data.from_arrow(tables)
    for named in ({"s": ("v", "sum")}, {"m": ("v", "median")}):
        for parts in (1, 3):
            groups = garuda.ray.group_by(data, "k", options=OPTIONS).agg(parts=parts, **named)
            assert groups.count() == len(CPU.group_by(alike, "k").agg())
    right = ray.data.from_arrow([table.rename_columns(["k", "w"]) for table in tables[1:]])
    joined = garuda.ray.join(ray.data.from_arrow(tables[0]), right, "k", parts=3, options=OPTIONS)
    count = len(blocks[0])
    assert joined.count() == len(CPU.join(alike.slice(0, count), alike.slice(count), "k")) > 0


def test_ray_without_keys(ray: Any) -> None:
    import garuda.ray

    data = ray.data.from_arrow([pyarrow.table({"v": [1, 2]}), pyarrow.table({"v": [6]})])
    for function, value in (("sum", 9), ("median", 2.0)):
        groups = garuda.ray.group_by(data, [], options=OPTIONS).agg(parts=3, n="count", r=("v", function))
        assert groups.take_all() == [{"n": 3, "r": value}]
    other = ray.data.from_arrow([pyarrow.table({"v": [1, 2]}), pyarrow.table({"v": ["x"]})])
    with pytest.raises(garuda.UsageError, match="blocks of rows have no common type for column v: int64, string"):
        garuda.ray.group_by(other, "v").agg(n="count")


def test_exact_sums_are_those_of_fsum() -> None:
    table = rows(2000)
    both = Partial("k", s=("v", "sum"))
    groups = both.merge([both.group(table.slice(i * 100, 100)) for i in range(20)])
    for key, total in zip(*both.finish(groups, table).to_pydict().values()):
        values = [v for k, v in zip(table["k"].to_pylist(), table["v"].to_pylist()) if k == key]
        assert total == math.fsum(values)
