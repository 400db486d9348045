"""Stored tables: `garuda.store`, queries over what it makes, and the rows that it gives back."""

from __future__ import annotations

import decimal
import threading
from typing import Any

import garuda
import polars
import pyarrow
import pytest

pytest.importorskip("datafusion")

ROWS = 5_000
WORDS = [None if i % 11 == 0 else f"word {i * 7 % 40}" for i in range(ROWS)]
TYPES = [
    pyarrow.string(), pyarrow.large_string(), pyarrow.string_view(), pyarrow.binary(), pyarrow.large_binary(),
    pyarrow.binary_view(),
]  # fmt: skip


def columns() -> dict[str, pyarrow.Array]:
    number = [None if i % 13 == 0 else decimal.Decimal(i - 2_500) / 100 for i in range(ROWS)]
    texts = {f"t{i}": pyarrow.array(WORDS).cast(kind) for i, kind in enumerate(TYPES)}
    numbers = {f"d{digits}": pyarrow.array(number, pyarrow.decimal128(digits, 2)) for digits in (9, 15, 30)}
    others: dict[str, Any] = {
        "unique": pyarrow.array([f"u{i}" for i in range(ROWS)]),
        "i": pyarrow.array(range(ROWS)),
        "dictionary": pyarrow.array(WORDS).dictionary_encode(),
        "list": pyarrow.array([[i, None] for i in range(ROWS)]),
        "none": pyarrow.nulls(ROWS),
    }
    return {**texts, **numbers, **others}


@pytest.mark.parametrize("chunks", [1, 3])
def test_every_type_comes_back(chunks: int) -> None:
    whole = pyarrow.table(columns())
    step = -(-ROWS // chunks)
    table = pyarrow.concat_tables([whole.slice(first, step) for first in range(0, ROWS, step)])
    stored = garuda.store(table)
    assert stored.schema == garuda.table(table).schema
    assert pyarrow.schema(stored).types == table.schema.types
    found = stored.read().to_arrow()
    assert found.schema.types == table.schema.types
    assert found.to_pylist() == table.to_pylist()
    assert stored.read(["i", "t0"]).column_names == ["i", "t0"]


@pytest.mark.parametrize("path", ["auto", "cpu"])
def test_queries_give_the_rows_of_the_data(path: str) -> None:
    frame = polars.DataFrame({name: column for name, column in columns().items() if name[0] in "tdiu" and name != "dictionary"})
    stored = garuda.store(frame)
    queries = [
        "select t0, count(*) n, sum(d15) s, min(t1) l, max(unique) m from t group by t0 order by t0",
        "select count(distinct t0) n, count(distinct unique) u from t where t0 <> 'word 3' or d9 > 4",
        "select t0, t1, count(*) n from t where t0 like '%1%' and t1 is not null group by t0, t1 order by n desc, t0 limit 7",
        "select upper(a.t0) u, count(*) n from t a join t b on a.t0 = b.t1 and a.i < b.i group by upper(a.t0) order by 1",
        "select t0, unique, row_number() over (partition by t0 order by unique) r from t order by t0, r limit 50",
        "select i from t where t0 in (select t1 from t where i = 4) order by i",
        "select distinct t0 from t union all select unique from t where i < 3 order by 1",
        "select case when t0 is null then 'none' else t0 end c, sum(d9 * d15) s from t group by 1 order by 1",
    ]
    for query in queries:
        plain = garuda.sql(query, t=frame, path=path).to_arrow()
        found = garuda.sql(query, t=stored, path=path).to_arrow()
        assert found.schema == plain.schema, query
        assert found.to_pylist() == plain.to_pylist(), query


def test_other_calls_read_it() -> None:
    stored = garuda.store({"k": ["a", "b"] * 10, "v": list(range(20))})
    assert len(stored) == stored.num_rows == 20
    groups = garuda.group_by(stored, "k", ordered=True).agg(n="count")
    assert groups.to_pydict() == {"k": ["a", "b"], "n": [10, 10]}
    assert garuda.join_count(stored, {"k": ["a"]}, on="k") == 10
    assert garuda.store(stored).read().to_pydict() == stored.read().to_pydict()
    assert garuda.table(stored, columns="v").column_names == ["v"]


def test_plans_say_the_types_that_the_data_had() -> None:
    stored = garuda.store({"k": ["a", "b"] * 10})
    plan = garuda.explain_sql("select k, count(*) n from t group by k", t=stored)
    assert "t" in str(plan)
    assert repr(stored) == "<garuda.StoredTable of 20 rows: k>"
    assert garuda.store({"k": []}).read().num_rows == 0


def test_wrong_arguments_are_said() -> None:
    with pytest.raises(TypeError, match="must be a table"):
        garuda.store(5)
    with pytest.raises(garuda.UsageError, match="threads must be an int from 0 on: -1"):
        garuda.store({"a": [1]}, threads=-1)
    with pytest.raises(garuda.UsageError, match="different names"):
        garuda.store(pyarrow.table([pyarrow.array([1]), pyarrow.array([2])], ["a", "a"]))
    with pytest.raises(garuda.ColumnNotFoundError, match="unknown column: b"):
        garuda.store({"a": [1]}).read("b")


def test_results_outlive_it_and_threads_share_it() -> None:
    stored = garuda.store(pyarrow.table(columns()))
    found: list[int] = []

    def ask() -> None:
        found.append(len(garuda.sql("select t0, count(*) from t group by t0", t=stored)))

    threads = [threading.Thread(target=ask) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [41] * 4
    groups = garuda.sql("select t0, max(t2) m from t group by t0 order by t0", t=stored)
    del stored
    assert groups.to_pydict()["t0"][0] == "word 0"


@pytest.mark.parametrize("is_stored", [False, True])
def test_products_of_decimals_leave_64_bits_in_some_rows(is_stored: bool) -> None:
    rows = 120_000
    cents = [(10**14 - i if i % 40_000 > 39_000 else i % 1_000) * (-1) ** (i % 3) for i in range(rows)]
    a = [None if i % 17 == 0 else cents[i] for i in range(rows)]
    b = [cents[-i] for i in range(rows)]
    kind = pyarrow.decimal128(16, 2)
    values = {name: pyarrow.array([None if v is None else decimal.Decimal(v).scaleb(-2) for v in column], kind) for name, column in (("a", a), ("b", b))}  # fmt: skip
    table: Any = garuda.table(pyarrow.table({"k": [i * 7 % 5 for i in range(rows)], **values}))
    if is_stored:
        table = garuda.store(table)

    def digits(value: decimal.Decimal, scale: int) -> int:
        return int(value.scaleb(scale, decimal.Context(prec=60)))

    sums = "sum(a * b) s, sum(a * b - 1) p, count(a * b) n, sum(b) o"
    expected = []
    for key in range(5):
        taken = [(a[i], b[i]) for i in range(rows) if i * 7 % 5 == key and b[i] != 300]
        products = [x * y for x, y in taken if x is not None]
        total = sum(products)
        expected.append((key, total, total - 10_000 * len(products), len(products), sum(y for _, y in taken)))
    for threads in (1, 2):
        found = garuda.sql(f"select k, {sums} from t where b <> 3 group by k order by k", t=table, threads=threads)
        rows_found = [(row["k"], digits(row["s"], 4), digits(row["p"], 4), row["n"], digits(row["o"], 2)) for row in found.to_arrow().to_pylist()]  # fmt: skip
        assert rows_found == expected
        found = garuda.sql(f"select {sums}, min(a * b) l from t where b <> 3", t=table, threads=threads).to_arrow()
        assert digits(found["s"][0].as_py(), 4) == sum(row[1] for row in expected)
        least = min(x * y for x, y in zip(a, b, strict=True) if x is not None and y != 300)
        assert digits(found["l"][0].as_py(), 4) == least


@pytest.mark.parametrize("values", [["b", "a", "c"], ["b", "a", "b"], ["b", None, "c"]])
def test_groups_by_dictionaries_in_no_order(values: list[str | None]) -> None:
    rows = 60_000
    codes = [i * 7 % 3 for i in range(rows)]
    dictionary = pyarrow.DictionaryArray.from_arrays(pyarrow.array(codes, pyarrow.int32()), pyarrow.array(values))
    table = pyarrow.table({"k": dictionary, "n": range(rows)})
    expected: dict[str | None, list[int]] = {}
    for i, code in enumerate(codes):
        expected.setdefault(values[code], []).append(i)
    query = "select k, count(*) c, sum(n) s from t where n >= 0 group by k"
    for threads in (1, 2):
        found = garuda.sql(query, t=garuda.table(table), threads=threads).to_arrow().to_pylist()
        assert {row["k"]: (row["c"], row["s"]) for row in found} == {k: (len(v), sum(v)) for k, v in expected.items()}
        assert len(found) == len(expected)


def test_groups_begin_anew_where_floats_lie_far_from_their_samples() -> None:
    rows = 300_000
    floats = [1.5] * rows
    floats[30_000] = 1e300
    kind = pyarrow.decimal128(15, 2)
    prices = pyarrow.array([decimal.Decimal(i % 1_000).scaleb(-2) for i in range(rows)], kind)
    table = garuda.table(pyarrow.table({"k": [i % 3 for i in range(rows)], "d": prices, "f": floats}))
    query = "select k, sum(d * d) s, sum(f) t, avg(d * (1 - d)) a from t where d <> 3 group by k order by k"
    found = garuda.sql(query, t=table, threads=2).to_arrow().to_pylist()
    left = [i % 1_000 for i in range(rows)]
    for row in found:
        taken = [i for i in range(row["k"], rows, 3) if left[i] != 300]
        assert int(row["s"].scaleb(4)) == sum(left[i] ** 2 for i in taken)
        assert row["t"] == sum(floats[i] for i in taken)
        mean = decimal.Decimal(sum(left[i] * (100 - left[i]) for i in taken)) / len(taken)
        assert abs(row["a"].scaleb(4) - mean) < 1
    assert len(found) == 3
