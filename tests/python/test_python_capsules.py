"""Tables of every library that speaks Arrow's PyCapsule interface, in and out, and of plain Python."""

from __future__ import annotations

import array
import datetime
import decimal

import garuda
import pytest

DATA = {"k": [1, 2, None, 4], "s": ["a", "ß", None, ""], "f": [0.5, None, -1.0, 2.0]}


def rows(table: garuda.Table) -> list[tuple[object, ...]]:
    return list(zip(*table.to_pydict().values()))


EXPECTED = list(zip(*DATA.values()))


def of_pyarrow() -> object:
    return pytest.importorskip("pyarrow").table(DATA)


def of_batch() -> object:
    return pytest.importorskip("pyarrow").RecordBatch.from_pydict(DATA)


def of_reader() -> object:
    return pytest.importorskip("pyarrow").table(DATA).to_reader()


def of_polars() -> object:
    return pytest.importorskip("polars").DataFrame(DATA)


def of_pandas() -> object:
    pandas = pytest.importorskip("pandas")
    return pandas.DataFrame({"k": pandas.array(DATA["k"], dtype="Int64"), "s": DATA["s"], "f": DATA["f"]})


def of_duckdb() -> object:
    duckdb = pytest.importorskip("duckdb")
    return duckdb.sql("from (values (1::bigint, 'a', 0.5::double), (2, 'ß', null), (null, null, -1), (4, '', 2)) t(k, s, f)")


def of_nanoarrow() -> object:
    nanoarrow = pytest.importorskip("nanoarrow")
    return nanoarrow.ArrayStream(pytest.importorskip("pyarrow").table(DATA))


@pytest.mark.parametrize("make", [of_pyarrow, of_batch, of_reader, of_polars, of_pandas, of_duckdb, of_nanoarrow])
def test_tables_of_other_libraries(make) -> None:
    table = garuda.table(make())
    assert table.column_names == ["k", "s", "f"]
    assert rows(table) == EXPECTED


def test_tables_go_to_other_libraries() -> None:
    table = garuda.table(DATA)
    assert table.to_arrow().to_pydict() == DATA
    assert table.to_polars().to_dict(as_series=False) == DATA
    assert table.to_pandas()["s"].tolist()[:2] == ["a", "ß"]
    assert table.to_duckdb().fetchall() == EXPECTED
    relation = table.to_duckdb()
    assert relation.aggregate("count(*)").fetchall() == relation.aggregate("count(*)").fetchall() == [(4,)]
    nanoarrow = pytest.importorskip("nanoarrow")
    assert [batch["k"] for batch in nanoarrow.ArrayStream(table).read_all().to_pylist()] == DATA["k"]


def test_columns_are_not_copied() -> None:
    pyarrow = pytest.importorskip("pyarrow")
    source = pyarrow.table({"a": pyarrow.array(range(1000), pyarrow.int64())})
    back = garuda.table(source).to_arrow()
    assert back["a"].chunk(0).buffers()[1].address == source["a"].chunk(0).buffers()[1].address
    numpy = pytest.importorskip("numpy")
    values = numpy.arange(1000)
    back = garuda.table({"a": values}).to_arrow()
    assert back["a"].chunk(0).buffers()[1].address == values.ctypes.data
    numbers = array.array("d", range(10))
    assert garuda.table({"a": numbers}).to_arrow()["a"].chunk(0).buffers()[1].address == numbers.buffer_info()[0]


def test_what_owns_columns_lives_as_long_as_they_are_read() -> None:
    numpy = pytest.importorskip("numpy")
    joined = garuda.join({"a": numpy.arange(1000), "b": numpy.arange(1000)}, {"a": numpy.arange(10)}, on="a")
    stream = joined.slice(0, 5).to_arrow()
    del joined
    assert sorted(stream["b"].to_pylist()) == sorted(stream["a"].to_pylist())


def test_columns_are_checked_where_they_are_read() -> None:
    pyarrow = pytest.importorskip("pyarrow")
    count = 100_000  # beyond those that are checked at once
    offsets = pyarrow.array(range(count + 1), pyarrow.int32()).buffers()[1].to_pybytes()
    middle = 4 * (count // 2)
    broken = offsets[:middle] + (1 << 30).to_bytes(4, "little") + offsets[middle + 4 :]  # a value of less than no bytes
    text = pyarrow.py_buffer(b"x" * count)
    column = pyarrow.Array.from_buffers(pyarrow.string(), count, [None, pyarrow.py_buffer(broken), text])
    table = garuda.table(pyarrow.table({"k": pyarrow.array([7] * count), "s": column}))
    assert rows(garuda.group_by(table, "k", path="cpu").agg(n="count")) == [(7, count)]
    few = {"k": [7]}
    assert garuda.join(table, few, on="k", columns=["left.k"], path="cpu").num_rows == count
    assert garuda.join(few, table, on="k", how="semi", path="cpu").num_rows == 1
    reads = [
        lambda: garuda.group_by(table, "s", path="cpu").agg(n="count"),
        lambda: garuda.group_by(table, "s", path="cpu").explain(n="count"),
        lambda: garuda.join(table, few, on="k", path="cpu"),
        lambda: garuda.join(few, table, on="k", path="cpu"),
        lambda: garuda.join(few, table, on="k", where="left.k = 7 or right.s = 'x'", columns=["left.k"], path="cpu"),
        lambda: garuda.join_stream(table, few, on="k", path="cpu"),
        lambda: table.to_arrow(),
        lambda: table.slice(count // 4).to_pydict(),
    ]
    for read in reads:
        with pytest.raises(garuda.InvalidInputError, match="column: s"):
            read()


def test_frames_of_chunks_are_shared_chunk_by_chunk() -> None:
    polars = pytest.importorskip("polars")
    parts = [
        polars.DataFrame({"k": range(first, first + 5_000), "s": [f"a long value, {first}"] * 5_000})
        for first in (0, 9_000, 20_000)
    ]
    chunked = polars.concat(parts, rechunk=False)
    table = garuda.table(chunked)
    assert [len(batch) for batch in table.batches()] == [5_000] * 3
    assert rows(table) == chunked.rows()
    assert chunked.n_chunks() == 3  # as it was
    # Cut differently, or finely, it is one chunk first.
    cut_differently = chunked.with_columns(v=polars.concat(parts, rechunk=True)["k"])
    cut_finely = polars.concat([part[:9] for part in parts], rechunk=False)
    for frame in (cut_differently, cut_finely):
        assert rows(garuda.table(frame)) == frame.rows()


def test_parts_of_different_columns() -> None:
    polars = pytest.importorskip("polars")
    streams = [polars.DataFrame({name: [1, 2]}).__arrow_c_stream__() for name in ("a", "b", "b")]
    with pytest.raises(garuda.InvalidInputError, match="different columns"):
        garuda._core.Table.of_streams(streams)
    with pytest.raises(ValueError, match="taken before"):
        garuda._core.Table.of_streams(streams)
    with pytest.raises(ValueError, match="no stream"):
        garuda._core.Table.of_streams([])


def test_numpy_columns() -> None:
    numpy = pytest.importorskip("numpy")
    data = {
        "flag": numpy.array([True, False, True]), "small": numpy.array([1, 2, 3], "u1"),
        "half": numpy.array([0.5, 1, 2], "f2"), "strided": numpy.arange(6)[::2],
        "day": numpy.array(["2024-02-29", "NaT", "1970-01-01"], "M8[D]"),
        "moment": numpy.array(["2024-02-29T12:00:00.5", "NaT", "1969-12-31"], "M8[us]"),
        "span": numpy.array([1, 2, 3], "m8[s]"), "text": numpy.array(["a", "b", "c"]),
    }  # fmt: skip
    table = garuda.table(data)
    assert table.schema["day"] == "date32" or table.schema["day"].startswith("date32")
    values = table.to_pydict()
    assert values["flag"] == [True, False, True] and values["strided"] == [0, 2, 4] and values["half"] == [0.5, 1, 2]
    assert values["day"] == [datetime.date(2024, 2, 29), None, datetime.date(1970, 1, 1)]
    assert values["moment"][0] == datetime.datetime(2024, 2, 29, 12, 0, 0, 500000)
    assert values["span"][0] == datetime.timedelta(seconds=1) and values["text"] == ["a", "b", "c"]
    for bad in (numpy.zeros((2, 2)), numpy.array(["2024"], "M8[Y]")):
        with pytest.raises(garuda.InvalidInputError):
            garuda.table({"a": bad})


def test_python_values_of_every_type() -> None:
    pyarrow = pytest.importorskip("pyarrow")
    moment = datetime.datetime(2024, 2, 29, 12, 30, tzinfo=datetime.timezone.utc)
    source = pyarrow.table({
        "decimal": pyarrow.array([decimal.Decimal("-0.05"), None], pyarrow.decimal128(10, 2)),
        "wide": pyarrow.array([decimal.Decimal("1e40"), None], pyarrow.decimal256(60, 2)),
        "zoned": pyarrow.array([moment, None], pyarrow.timestamp("ms", "Asia/Kolkata")),
        "time": pyarrow.array([datetime.time(1, 2, 3), None], pyarrow.time64("us")),
        "dictionary": pyarrow.array(["x", None]).dictionary_encode(),
        "view": pyarrow.array(["a string of more than twelve bytes", None], pyarrow.string_view()),
        "bytes": pyarrow.array([b"\0\1", None]),
        "list": pyarrow.array([[1, 2], None]),
        "nothing": pyarrow.array([None, None]),
    })  # fmt: skip
    assert garuda.table(source).to_pydict() == source.to_pydict()
    assert "a string of more than twelve by…" in repr(garuda.table(source))


@pytest.mark.parametrize(
    ("data", "error"),
    [
        ({"a": [1, "x"]}, garuda.InvalidInputError), ({"a": [1], "b": []}, garuda.InvalidInputError),
        ({"a": [object()]}, garuda.InvalidInputError), ({"a": [2**64]}, garuda.InvalidInputError),
        ({1: [1]}, TypeError), ([1, 2], TypeError), ("text", TypeError),
    ],
)  # fmt: skip
def test_what_is_no_table(data: object, error: type[Exception]) -> None:
    with pytest.raises(error):
        garuda.table(data)
    if hasattr(data, "items"):
        return
    polars = pytest.importorskip("polars")
    with pytest.raises(TypeError, match="collect"):
        garuda.table(polars.LazyFrame({"a": [1]}))


def test_a_producer_that_fails() -> None:
    pyarrow = pytest.importorskip("pyarrow")
    schema = pyarrow.schema([("a", pyarrow.int64())])

    def batches():
        yield pyarrow.record_batch({"a": [1]})
        raise RuntimeError("the disk is gone")

    with pytest.raises(garuda.InvalidInputError, match="the disk is gone"):
        garuda.table(pyarrow.RecordBatchReader.from_batches(schema, batches()))


def test_a_capsule_is_taken_once() -> None:
    from garuda import _core

    capsule = garuda.table({"a": [1]}).__arrow_c_stream__()
    _core.Table.of_stream(capsule)
    with pytest.raises(ValueError, match="taken before"):
        _core.Table.of_stream(capsule)
    with pytest.raises(TypeError):
        _core.Table.of_stream(object())


def test_schemas() -> None:
    pyarrow = pytest.importorskip("pyarrow")
    source = pyarrow.schema([
        ("a", pyarrow.list_(pyarrow.int8())), ("b", pyarrow.dictionary(pyarrow.int8(), pyarrow.string()))
    ])  # fmt: skip
    assert pyarrow.schema(garuda.table(source.empty_table())) == source


def test_shown() -> None:
    table = garuda.table({"name": ["<b>"] * 20, "x": list(range(20))})
    assert repr(table).endswith("… 20 rows")
    assert "&lt;b&gt;" in table._repr_html_() and "<b>" not in table._repr_html_()
    wide = garuda.table({f"c{i}": [i] for i in range(30)})
    assert repr(wide).endswith("1 row, 30 columns")
    assert repr(garuda.table({})) and garuda.table({}).shape == (0, 0)
    assert [len(batch) for batch in table.batches()] == [20]
    assert table.head(2).to_pydict()["x"] == [0, 1] and table.slice(30).num_rows == 0


def test_streams_give_the_rows_once() -> None:
    pyarrow = pytest.importorskip("pyarrow")
    left = {"a": list(range(100))}
    options = {"on": "a", "path": "cpu", "tuning": {"chunk_rows": 7}}
    stream = garuda.join_stream(left, left, **options)
    assert stream.column_names == ["a"] and stream.plan.path == "cpu"
    sizes = [len(batch) for batch in stream]
    assert sum(sizes) == 100 and len(sizes) > 10 and stream.stats["rows_out"] == 100
    stream = garuda.join_stream(left, left, **options)
    assert sorted(pyarrow.table(stream)["a"].to_pylist()) == left["a"]
    with pytest.raises(garuda.UsageError, match="handed on"):
        next(iter(stream))
    garuda.join_stream(left, left, **options)  # never read
    assert len(garuda.group_by(garuda.join_stream(left, left, **options), "a").agg()) == 100


def test_resident_tables() -> None:
    from package import LAVAPIPE

    if LAVAPIPE is None:
        pytest.skip("lavapipe is not installed")
    engine = garuda.Engine(device=0, path="compute")
    left = engine.upload({"a": [1, 2, 3, None], "x": [0.5, 1.5, 2.5, 3.5]})
    right = engine.upload({"a": [2, 3, 3]})
    assert left.device == 0 and left.device_bytes > 0 and "on device 0" in repr(left) and left._repr_html_()
    joined = engine.join(left, right, "a")
    assert joined.device == 0 and sorted(joined.to_pydict()["x"]) == [1.5, 2.5, 2.5]
    assert sorted(joined.to_arrow()["x"].to_pylist()) == [1.5, 2.5, 2.5]
    groups = engine.group_by(joined, "a").agg(total=("x", "sum"))
    assert sorted(rows(groups)) == [(2, 1.5), (3, 5.0)]
    assert joined.download().device is None and joined.download().stats["rows_out"] == 3
    with pytest.raises(garuda.UsageError, match="download"):
        joined.head()
    texts = engine.upload({"s": ["text", None, "", "a longer text than a view holds", "text"], "n": [1, 2, 3, 4, 5]})
    assert texts.download().to_pydict()["s"] == ["text", None, "", "a longer text than a view holds", "text"]
    assert sorted(rows(engine.group_by(texts, "s").agg(total=("n", "sum"))), key=str) == sorted(
        [("text", 6), (None, 2), ("", 3), ("a longer text than a view holds", 4)], key=str
    )
    matched = engine.join(texts, engine.upload({"s": ["", "text", "none"]}), "s")
    assert matched.device == 0 and sorted(matched.to_pydict()["n"]) == [1, 3, 5]
    with pytest.raises(garuda.InvalidInputError):
        engine.upload({"s": [["text"]]})
    engine.release_memory()
    del engine, left, right
    assert len(joined.download()) == 3


def test_files(tmp_path) -> None:
    pyarrow = pytest.importorskip("pyarrow")
    import pyarrow.csv
    import pyarrow.feather
    import pyarrow.parquet

    source = pyarrow.table({"a": [1, 2], "b": ["x", "y"], "c": [0.5, 1.5]})
    pyarrow.parquet.write_table(source, tmp_path / "t.parquet")
    pyarrow.feather.write_feather(source, str(tmp_path / "t.arrow"), compression="uncompressed")
    pyarrow.csv.write_csv(source, tmp_path / "t.csv")
    readers = {"parquet": garuda.read_parquet, "arrow": garuda.read_ipc, "csv": garuda.read_csv}
    for suffix, read in readers.items():
        path = tmp_path / f"t.{suffix}"
        assert read(path).to_pydict() == garuda.read(path).to_pydict() == source.to_pydict()
        scan = garuda.scan(path)
        assert scan.column_names == ["a", "b", "c"] and str(path) in repr(scan)
        assert rows(garuda.group_by(scan, "a", ordered=True).agg(c=("c", "sum"))) == [(1, 0.5), (2, 1.5)]
        assert garuda.join(scan, scan, on="a", columns=["left.b"], ordered=True).to_pydict() == {"b": ["x", "y"]}
        with pytest.raises(KeyError):
            garuda.group_by(scan, "z").agg()
    assert garuda.read([tmp_path / "t.csv"] * 2, columns=["a"]).to_pydict() == {"a": [1, 2, 1, 2]}
    (tmp_path / "bad.parquet").write_bytes(b"no")
    for read in (garuda.read, garuda.read_parquet):
        with pytest.raises(garuda.InvalidInputError):
            read(tmp_path / "bad.parquet")
        with pytest.raises(FileNotFoundError):
            read(tmp_path / "none.parquet")
    for bad in ("t.txt", []):
        with pytest.raises(garuda.UsageError):
            garuda.read(bad)
