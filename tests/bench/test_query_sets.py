"""Query sets: their tables are what they say, answers that SQL allows pass and others do not, and `./dev bench queries`."""

from __future__ import annotations

import json
import os
import pathlib
import subprocess
import sys

import duckdb
import pyarrow as pa
import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
COMMAND = pathlib.Path(os.environ.get("GARUDA_COMMAND", ROOT / "build/bin/garuda"))
PYTHONPATH = f"{ROOT / 'bench'}{os.pathsep}{COMMAND.parents[1] / 'python'}"

sys.path[:0] = [str(ROOT / "bench")]
import clickbench.tables  # noqa: E402
import ssb.tables  # noqa: E402
from engines import files  # noqa: E402
from queries import answers, sets  # noqa: E402

ROWS = pa.table({"k": [1, 2, 2, 3, 3, 3], "v": [1.0, 2.0, 2.5, float("nan"), 4.0, None], "t": list("abcdef")})


@pytest.fixture
def database():
    with duckdb.connect() as connection:
        connection.register("r", ROWS)
        yield connection


def rows(*numbers: int) -> pa.Table:
    return ROWS.take(pa.array(numbers, pa.int64()))


RIGHT = [
    ("select * from r", (5, 4, 3, 2, 1, 0)),
    ("select * from r order by k", (0, 2, 1, 5, 3, 4)),
    ("select * from r order by k desc limit 2", (4, 5)),
    ("select * from r order by k limit 2 offset 1", (1, 2)),
    ("select * from r order by k limit 3 offset 2", (1, 3, 5)),
    ("select * from r limit 2", (3, 0)),
    ("select * from r order by k offset 5", (4,)),
    ("select * from r where k > 7 order by k limit 1", ()),
]
WRONG = [
    ("select * from r", (5, 4, 3, 2, 1), "5 rows, not 6"),
    ("select * from r", (5, 4, 3, 2, 1, 1), "the row"),
    ("select * from r order by k", (1, 0, 2, 5, 3, 4), "the row"),
    ("select * from r order by k limit 2 offset 1", (1, 1), "the row"),
    ("select * from r order by k limit 2 offset 1", (0, 1), "the row"),
    ("select * from r order by k limit 3 offset 2", (3, 1, 5), "the row"),
    ("select * from r limit 2", (3, 3), "the row"),
    ("select k, v, t || 'x' as t from r", (0, 1, 2, 3, 4, 5), "the row"),
    ("select k, v, t as u from r", (0, 1, 2, 3, 4, 5), "a column t, not u"),
    ("select k, v from r", (0, 1, 2, 3, 4, 5), "3 columns, not 2"),
]


@pytest.mark.parametrize(("query", "numbers"), RIGHT)
def test_answers_that_sql_allows(database, query, numbers):
    assert answers.difference(database, query, rows(*numbers)) is None


@pytest.mark.parametrize(("query", "numbers", "words"), WRONG)
def test_answers_that_are_wrong(database, query, numbers, words):
    assert words in answers.difference(database, query, rows(*numbers))


def test_values_that_are_rounded(database):
    shares = pa.table({"x": pa.array([1.0 / 3, 2.0 / 3]), "d": pa.array(["0.3333", "0.6667"]).cast(pa.decimal128(8, 4))})
    query = "select x / 3 as x, x / 3 as d from (values (1), (2)) as t(x)"
    assert answers.difference(database, query, shares) is None
    for wrong in ([1.0 / 3 + 1e-8, 2.0 / 3], [1.0 / 3, 1.0 / 3], [2.0 / 3, 2.0 / 3]):
        assert "the row" in answers.difference(database, query, shares.set_column(0, "x", pa.array(wrong)))
    other = shares.set_column(1, "d", pa.array(["0.3333", "0.6669"]).cast(pa.decimal128(8, 4)))
    assert "the row" in answers.difference(database, query, other)


def test_bits_tell_floats_apart():
    one, other = pa.table({"x": [0.0, 1.0]}), pa.table({"x": [1.0, -0.0]})
    assert answers.bits(one, in_order=False) == answers.bits(one.take([1, 0]), in_order=False)
    assert answers.bits(one, in_order=True) != answers.bits(one.take([1, 0]), in_order=True)
    assert answers.bits(one, in_order=False) != answers.bits(other, in_order=False)


def test_clickbench_has_its_columns():
    [batch] = clickbench.tables.hits(1_000)
    assert batch.num_columns == 105 and batch.num_rows == 1_000
    assert [str(kind) for kind in dict.fromkeys(batch.schema.types)] == [
        "int64", "int16", "string", "timestamp[us]", "date32[day]", "int32",
    ]
    assert all(column.null_count == 0 for column in batch.columns)
    assert next(clickbench.tables.hits(1_000)).equals(batch)


def test_ssb_joins_and_prices(tmp_path):
    paths = ssb.tables.make(tmp_path, "0.001", {"lineorder", "date"})
    lines, days = files.read(paths["lineorder"]), files.read(paths["date"])
    keys = set(days["d_datekey"].to_pylist())
    assert len(days) == 2_557 == len(keys)
    assert {*lines["lo_orderdate"].to_pylist(), *lines["lo_commitdate"].to_pylist()} <= keys
    assert 5_500 < len(lines) < 6_500 and lines["lo_discount"].to_pylist() != [0] * len(lines)


@pytest.mark.parametrize(("query", "arguments"), [("g2", []), ("g3", ["--files", "parquet"])], ids=["memory", "files"])
def test_the_bench_of_queries(query, arguments, tmp_path):
    chosen = ["--sets", "db-group-bys", "--queries", query, "--scale", "0.001", "--threads", 2]
    call = [sys.executable, "-m", "queries", "--garuda", COMMAND, "--data", tmp_path, "--repeat", 1, "--json",
            tmp_path / "stored.json", *chosen, *arguments]  # fmt: skip
    done = subprocess.run(list(map(str, call)), env={**os.environ, "PYTHONPATH": PYTHONPATH}, capture_output=True,
                          text=True, timeout=300, check=False)  # fmt: skip
    assert done.returncode == 0, done.stderr
    stored = json.loads((tmp_path / "stored.json").read_text())
    [one] = stored["sets"]
    [fields] = one["queries"]
    assert fields["name"] == query and fields["verified"] and fields["planning_s"] > 0
    assert [entry["name"] for entry in fields["engines"]][:2] == ["garuda", "DuckDB"]
    assert one["summary"]["geometric_mean"] == pytest.approx(fields["ratio"]) == one["summary"]["least"]
    assert "geometric mean" in done.stdout


def test_every_set_has_its_queries():
    assert {name: len(chosen.texts) for name, chosen in sets.SETS.items()} == {
        "tpch": 22, "ssb": 13, "clickbench": 43, "db-group-bys": 10, "db-joins": 5,
    }  # fmt: skip
