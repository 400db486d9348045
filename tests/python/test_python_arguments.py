"""Arguments of wrong types and values: each public function says, in one sentence, which one and what it may be."""

from __future__ import annotations

import pathlib
import re
from typing import Any, Callable

import garuda
import numpy
import pytest
from garuda.partial import Partial

T = {"a": [1, 2], "s": ["x", "y"]}
TABLE = garuda.table(T)
ENGINE = garuda.Engine(path="cpu")
GROUPS = ENGINE.group_by(T, "a")

Call = Callable[[Any], Any]
# The call and the values that it refuses, by an argument's name in messages.
JOINS: dict[str, Call] = {
    "join": lambda **options: ENGINE.join(T, T, **{"on": "a", **options}),
    "join_stream": lambda **options: ENGINE.join_stream(T, T, **{"on": "a", **options}),
    "join_count": lambda **options: ENGINE.join_count(T, T, **{"on": "a", **options}),
    "explain_join": lambda **options: ENGINE.explain_join(T, T, **{"on": "a", **options}),
}
OF_JOINS: dict[str, list[Any]] = {
    "on": [3, 1.5, {"a": "a"}, {"a"}, b"a", [3], [None], [["a"]], [("a", "s", "a")], [("a", 3)], ("a", 3), [["a", None]], T, object()],
    "how": [None, 3, ["inner"], {}, b"inner"],
    "where": [3, ["left.a < right.a"], {}, True],
    "nulls_equal": [None, 1, "yes", []],
    "allow_cross": [None, 1, "yes"],
    "ordered": [None, 0, "left"],
    "columns": [3, {"left.a": 1}, [3], [None], b"left.a", True],
    "progress": [3, "yes", [], ("a", "sum")],
    "left_on": [3, [3], {"a": "a"}, [("a", "a")]],
    "right_on": [3, [3], {"a": "a"}],
}
OPTIONS: dict[str, list[Any]] = {
    "path": [None, 3, ["cpu"], "gpu"],
    "device": [1.5, [], {}, True],
    "tuning": [3, [], "speed", {3: 4}],
    "memory_limit": [[], 1.5, "lots", -1, 0, "-1GB", 2**64, "1e30 GB", "nan", True],
    "device_memory_limit": [[], "lots", -1, 2**70],
    "threads": ["2", 1.5, -1, 2**40, 4097, 100_000, 2**32 - 1, [], False],
    "allow_cuda": [None, 1, "yes"],
    "expected_rows": [None, -1, 1.5, 2**64, "many", True],
    "strings": [None, 3, "ascii"],
}
NOT_IN = {"join_count": {"ordered", "columns"}, "join_stream": {"progress"}, "explain_join": {"progress"}}
CASES = [(f"{name}({argument}={value!r})", argument, lambda call=call, argument=argument, value=value: call(
    **{**({"on": None, "left_on": "a", "right_on": "a"} if argument.endswith("_on") else {}), argument: value}))
         for name, call in JOINS.items() for argument, values in {**OF_JOINS, **OPTIONS}.items() for value in values
         if argument not in NOT_IN.get(name, ())]  # fmt: skip
CASES += [(f"Engine({argument}={value!r})", argument, lambda argument=argument, value=value: garuda.Engine(**{argument: value}).join(T, T, on="a"))
          for argument, values in OPTIONS.items() if argument != "expected_rows" for value in values]  # fmt: skip
CASES += [(f"group_by({argument}={value!r})", argument, lambda argument=argument, value=value: ENGINE.group_by(T, **{"keys": "a", argument: value}).agg())
          for argument, values in {**OPTIONS, "ordered": [None, 1, "yes"], "keys": [None, 3, {"a": 1}, {"a"}, [3], [("a",)], b"a"]}.items()
          for value in values]  # fmt: skip

NO_TABLES = [None, 3, 1.5, "a", b"a", [], [1], [{"a": 1}], object(), dict, garuda.Table]
NO_COLUMNS = [3, None, "text", b"text", {"x": 1}, {1}, iter([1]), [[1]], [1, "x"], [object()], [2**70]]
AGGREGATES = [None, 3, (), ("a",), ("a", None), (None, "sum"), ("a", "sum", "s", "s"), {"a": "sum"}, "sum", ["a"], [("a", "sum")],
              ("a", "quantile", None), ("a", "quantile", [0.5]), ("a", "quantile", True), ("a", "sum", 1), ("a", "total")]  # fmt: skip


def case(name: str, argument: str, call: Call, values: list[Any]) -> list[tuple[str, str, Callable[[], Any]]]:
    return [(f"{name}({value!r})"[:60], argument, lambda call=call, value=value: call(value)) for value in values]


CASES += [
    *case("join left", "left", lambda v: ENGINE.join(v, T, "a"), NO_TABLES),
    *case("join right", "right", lambda v: ENGINE.join(T, v, "a"), NO_TABLES),
    *case("group_by data", "data", lambda v: ENGINE.group_by(v, "a").agg(), NO_TABLES),
    *case("upload data", "data", lambda v: ENGINE.upload(v), NO_TABLES),
    *case("upload device", "device", lambda v: ENGINE.upload(T, device=v), [1.5, [], True]),
    *case("devices", "cuda", lambda v: ENGINE.devices(cuda=v), [None, 1, "yes"]),
    *case("Engine validation", "validation", lambda v: garuda.Engine(validation=v), [None, 1, "yes"]),
    *case("table", "data", garuda.table, NO_TABLES),
    *case("table of a column", "column 'v'", lambda v: garuda.table({"v": v}), NO_COLUMNS),
    *case("table of a name", "names of columns", lambda v: garuda.table({v: [1]}), [3, None, b"a", ("a",)]),
    *case("table columns", "columns", lambda v: garuda.table(T, columns=v), [3, [3], {"a": 1}, b"a"]),
    *case("table lengths", "columns", lambda v: garuda.table({"a": [1], "b": v}), [[], [1, 2], numpy.arange(3)]),
    *case("agg", "aggregate|function|q|third part", lambda v: GROUPS.agg(v), AGGREGATES),
    *case("agg named", "v|function|q|third part", lambda v: GROUPS.agg(v=v), AGGREGATES),
    *case("stream", "v|function|q|third part", lambda v: GROUPS.stream(v=v), AGGREGATES),
    *case("explain", "v|function|q|third part", lambda v: GROUPS.explain(v=v), AGGREGATES),
    *case("agg progress", "progress", lambda v: GROUPS.agg(progress=v), [3, "yes", ("a", "sum")]),
    *case("slice begin", "begin", lambda v: TABLE.slice(v), [None, "1", 1.5, -1, [], True]),
    *case("slice count", "count", lambda v: TABLE.slice(0, v), ["1", 1.5, -1, []]),
    *case("head", "count", lambda v: TABLE.head(v), ["1", 1.5, -1]),
    *case("download", "progress", lambda v: TABLE.download(progress=v), [3, "yes"]),
    *case("Table", "garuda.table", garuda.Table, [None, 3, T]),
    *case("Stream", "join_stream", garuda.Stream, [None, 3, T]),
    *case("Partial keys", "keys", Partial, [None, 3, {"a": 1}, [3]]),
    *case("Partial aggregate", "v|function", lambda v: Partial("a", v=v), [None, 3, ("a",), {}, ("a", "sum", 1)]),
    *case("Partial engine", "engine", lambda v: Partial("a", n="count").group(T, engine=v), [None, 3, "cpu"]),
    *case("Partial group", "data", lambda v: Partial("a", n="count").group(v), NO_TABLES),
    *case("install", "pyarrow", garuda.install, [None, 3, "numpy", ["pyarrow"]]),
    *case("install strict", "strict", lambda v: garuda.install(strict=v), [None, 1]),
    *case("install engine", "engine", lambda v: garuda.install(engine=v), [3, "cpu"]),
    *case("uninstall", "library", garuda.uninstall, [None, 3, ["pyarrow"]]),
    *case("scan", "path|file", garuda.scan, [None, 3, {}, [], [3], b"a.csv", "a", "a.txt", [None], ["a.csv", "b.parquet"], pathlib.Path("a.txt")]),
    *case("read", "path|file", garuda.read, [None, 3, {}, [], [3], "a.txt"]),
    *case("read_parquet", "path", garuda.read_parquet, [None, 3, ["a.parquet"], b"a.parquet"]),
    *case("read_ipc", "path", garuda.read_ipc, [None, 3, ["a.arrow"]]),
    *case("read_csv", "path", garuda.read_csv, [None, 3, ["a.csv"]]),
    *case("scan columns", "columns", lambda v: garuda.scan("a.csv", columns=v), [3, [3], {"a": 1}, [None]]),
    *case("read_parquet columns", "columns", lambda v: garuda.read_parquet("a.parquet", columns=v), [3, [3], {"a": 1}]),
    *case("read_ipc columns", "columns", lambda v: garuda.read_ipc("a.arrow", columns=v), [3, [3], {"a": 1}]),
]  # fmt: skip


@pytest.mark.parametrize(("argument", "call"), [pytest.param(argument, call, id=re.sub(" at 0x[0-9a-f]+", "", name)) for name, argument, call in CASES])
def test_wrong_arguments(argument: str, call: Callable[[], Any]) -> None:
    """A class of garuda, or a TypeError of its own words: never one of an interpreter's or an extension's."""
    with pytest.raises((garuda.Error, TypeError), match=argument) as raised:
        call()
    text = str(raised.value)
    assert "\n" not in text and len(text) < 400, text
    for words in ("incompatible function arguments", "object is not", "has no len", "unexpected keyword", "unhashable", "nanobind"):
        assert words not in text, text


def test_most_threads() -> None:
    assert garuda.Engine(path="cpu", threads=4096).join(T, T, "a").num_rows == 2
    assert ENGINE.group_by(T, "a", threads=4096).agg("count").num_rows == 2
    with pytest.raises(garuda.UsageError, match="^threads must be at most 4096: 4097$"):
        garuda.Engine(path="cpu", threads=4097)


@pytest.mark.parametrize("module", ["polars", "duckdb", "dask", "ray"])
def test_wrong_arguments_of_other_tools(module: str) -> None:
    """Wrong arguments are refused without a cluster, before anything is sent anywhere."""
    import importlib

    tool: Any = pytest.importorskip(f"garuda.{module}")
    cases: list[tuple[str, Call, list[Any]]] = []
    if module == "polars":
        cases = [("engine", lambda v: tool.Engine(v), [None, 3, "cpu", {}]),
                 ("prices", lambda v: tool.Engine(prices=v), [None, 1, "no"]),
                 ("strict", lambda v: tool.Engine(strict=v), [None, 1]),
                 ("lf", lambda v: tool.Engine().explain(v), [None, 3, T])]  # fmt: skip
    elif module == "duckdb":
        relation = importlib.import_module("duckdb").sql("select 1 as a")
        cases = [("left", lambda v: tool.join(v, relation, "a"), [None, 3, "t"]),
                 ("right", lambda v: tool.join(relation, v, "a"), [None, 3]),
                 ("on", lambda v: tool.join(relation, relation, v), [3, {"a": "a"}]),
                 ("data", lambda v: tool.group_by(v, "a"), [None, 3, "t"]),
                 ("keys", lambda v: tool.group_by(relation, v), [None, 3, {}]),
                 ("v", lambda v: tool.group_by(relation, "a").agg(v=v), [None, 3, ("a",)]),
                 ("connection", lambda v: tool.join(relation, relation, "a", connection=v), [3, "memory"]),
                 ("engine", lambda v: tool.join(relation, relation, "a", engine=v), [None, 3]),
                 ("connection", lambda v: tool.group_by(relation, "a", connection=v), [3, "memory"]),
                 ("engine", lambda v: tool.connect(engine=v), [None, 3]),
                 ("prices", lambda v: tool.connect(prices=v), [None, 1]),
                 ("strict", lambda v: tool.connect(strict=v), [None, 1]),
                 ("connection", lambda v: TABLE.to_duckdb(v), [3, "memory"])]  # fmt: skip
    elif module == "dask":
        pandas = importlib.import_module("pandas")
        frame = importlib.import_module("dask.dataframe").from_pandas(pandas.DataFrame(T), npartitions=2)
        cases = [("left", lambda v: tool.merge(v, frame, "a"), [None, 3, T]),
                 ("right", lambda v: tool.merge(frame, v, "a"), [None, 3, T]),
                 ("on", lambda v: tool.merge(frame, frame, v), [3, {"a": "a"}, [3]]),
                 ("z", lambda v: tool.merge(frame, frame, v), ["z", ("a", "z")]),
                 ("how", lambda v: tool.merge(frame, frame, "a", how=v), [None, 3, "mark", "outer"]),
                 ("nulls_equal", lambda v: tool.merge(frame, frame, "a", nulls_equal=v), [None, 1]),
                 ("npartitions", lambda v: tool.merge(frame, frame, "a", npartitions=v), [0, -1, 1.5, "2"]),
                 ("option", lambda v: tool.merge(frame, frame, "a", options=v), [3, "cpu", {"speed": 1}]),
                 ("rows", lambda v: tool.group_by(v, "a"), [None, 3, T]),
                 ("keys", lambda v: tool.group_by(frame, v), [None, 3, {}]),
                 ("z", lambda v: tool.group_by(frame, v), ["z"]),
                 ("npartitions", lambda v: tool.group_by(frame, "a").agg(npartitions=v), [0, "2", None]),
                 ("v", lambda v: tool.group_by(frame, "a").agg(v=v), [None, 3, ("a",)])]  # fmt: skip
    else:
        cases = [("left", lambda v: tool.join(v, v, "a"), [None, 3, T]),
                 ("on", lambda v: tool.join(T, T, v), [3, {"a": "a"}, [3]]),
                 ("how", lambda v: tool.join(T, T, "a", how=v), [None, 3, "mark"]),
                 ("parts", lambda v: tool.join(T, T, "a", parts=v), [0, 1.5, "2"]),
                 ("option", lambda v: tool.join(T, T, "a", options=v), [3, "cpu", {"speed": 1}]),
                 ("rows", lambda v: tool.group_by(v, "a"), [None, 3, T])]  # fmt: skip
    for argument, call, values in cases:
        for value in values:
            test_wrong_arguments(argument, lambda call=call, value=value: call(value))


def test_arguments_in_other_forms() -> None:
    """Other forms of an argument are taken: NumPy's numbers, indexes and arrays of names, one name in place of a list."""
    expected = ENGINE.join(T, T, ["a", "s"], ordered=True).to_pydict()
    for on in (("a", "s", "a")[:2] and [("a", "a"), "s"], numpy.array(["a", "s"]), T.keys(), [["a", "a"], ["s", "s"]]):
        assert ENGINE.join(T, T, on, ordered=True).to_pydict() == expected
    assert ENGINE.join(T, T, "a", columns="left.s", ordered=True).to_pydict() == {"s": ["x", "y"]}
    assert ENGINE.join(T, T, left_on="a", right_on=["a"], threads=numpy.int32(1), memory_limit=numpy.int64(2**30)).num_rows == 2
    groups = ENGINE.group_by({"v": [1.0, 2.0, 3.0]})
    assert groups.agg(m=("v", "quantile", numpy.float64(0.5)), n=["v", "min_n", numpy.int64(2)]).to_pydict() == {"m": [2.0], "n": [[1.0, 2.0]]}
    assert TABLE.slice(numpy.int64(1), numpy.int8(1)).to_pydict() == {"a": [2], "s": ["y"]}
    pandas = pytest.importorskip("pandas")
    assert ENGINE.join(T, T, pandas.DataFrame(T).columns, ordered=True).to_pydict() == expected


def test_columns_of_other_libraries() -> None:
    """Within a mapping, beside lists."""
    pandas, polars, pyarrow = (pytest.importorskip(name) for name in ("pandas", "polars", "pyarrow"))
    values = [3, 1, 2]
    for column in (pandas.Series(values), pandas.Index(values), polars.Series(values), pyarrow.array(values),
                   pyarrow.chunked_array([values[:1], values[1:]])):  # fmt: skip
        made = garuda.table({"n": ["x", "y", None], "v": column})
        assert made.column_names == ["n", "v"] and made.schema["n"] == "large_utf8"
        assert made.to_pydict() == {"n": ["x", "y", None], "v": values}
        with pytest.raises(garuda.InvalidInputError, match="columns must be equally long: n 1, v 3"):
            garuda.table({"n": ["x"], "v": column})


def test_what_a_first_use_meets() -> None:
    """A column in place of a table, no keys, a group-by that was not run; modules that were not imported by name."""
    for column in (pytest.importorskip("pandas").Series([1]), pytest.importorskip("polars").Series([1]), pytest.importorskip("pyarrow").array([1])):
        with pytest.raises(garuda.InvalidInputError, match=r"left may be a column, of which \{'name': column\} is a table: "):
            ENGINE.join(column, T, "a")
    for keys in (None, []):
        with pytest.raises(garuda.UsageError, match="has to be allowed: allow_cross=False"):
            ENGINE.join(T, T, keys)
    assert ENGINE.join_count(T, T, allow_cross=True) == 4
    assert repr(ENGINE.group_by(T, ["a", "s"])) == "<garuda.GroupBy by a, s: agg(name=(column, function)) gives the groups>"
    assert "by nothing" in repr(ENGINE.group_by(T))
    for name in ("duckdb", "partial", "polars"):
        assert getattr(garuda, name).__name__ == f"garuda.{name}"
    with pytest.raises(AttributeError, match="nope"):
        garuda.nope  # noqa: B018


def test_columns_that_a_file_does_not_have(tmp_path: pathlib.Path) -> None:
    pyarrow = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    rows = pyarrow.table(TABLE)
    parquet.write_table(rows, tmp_path / "t.parquet")
    with pyarrow.ipc.new_file(str(tmp_path / "t.arrow"), rows.schema) as writer:
        writer.write_table(rows)
    for read in (garuda.read_parquet, garuda.read):
        assert read(tmp_path / "t.parquet", columns="s").to_pydict() == {"s": ["x", "y"]}
        with pytest.raises(garuda.ColumnNotFoundError, match="z"):
            read(tmp_path / "t.parquet", columns=["a", "z"])
    with pytest.raises(garuda.ColumnNotFoundError, match="z"):
        garuda.read_ipc(tmp_path / "t.arrow", columns=["z"])
    assert ENGINE.join_count(garuda.scan(tmp_path / "t.arrow", columns="a"), T, "a") == 2
    with pytest.raises(garuda.ColumnNotFoundError, match="z"):
        ENGINE.join_count(garuda.scan(tmp_path / "t.arrow", columns="z"), T, "a")
