"""Several files as one table: folders, patterns, lists, hive partitions; what disagrees is one sentence."""

from __future__ import annotations

import decimal

import pyarrow as pa
import pyarrow.parquet
import pytest
import tables

USAGE, BAD_INPUT = 2, 3
LIMITS = [[], ["--memory-limit", "64MiB"]]


def rows(first: int, count: int) -> pa.Table:
    return pa.table({"id": pa.array(range(first, first + count), pa.int64()), "word": [f"w{i % 3}" for i in range(count)]})


def write_at(garuda, name: str, table: pa.Table) -> None:
    path = garuda.folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    tables.write(path, table)


def grouped(garuda, table: str, *arguments: str) -> pa.Table:
    garuda.group_by(table, "--ordered", "-o", "out.arrow", *arguments)
    return tables.read(garuda.folder / "out.arrow")


@pytest.fixture
def parts(garuda):
    """Nine rows in three files of two formats, and files that are no part of the table."""
    write_at(garuda, "d/b.parquet", rows(3, 3))
    write_at(garuda, "d/a.arrow", rows(0, 3))
    write_at(garuda, "d/below/c.parquet", rows(6, 3))
    write_at(garuda, "d/_hidden/x.parquet", rows(100, 1))
    write_at(garuda, "d/.x.parquet", rows(100, 1))
    (garuda.folder / "d/notes.txt").write_text("no table")
    return garuda


@pytest.mark.parametrize("limit", LIMITS)
def test_folders_patterns_and_lists(parts, limit):
    keys = ["--keys", "id", *limit]
    assert grouped(parts, "d", *keys)["id"].to_pylist() == list(range(9))
    assert grouped(parts, "d/", *keys)["id"].to_pylist() == list(range(9))
    assert grouped(parts, "d/*.parquet", *keys)["id"].to_pylist() == [3, 4, 5]
    assert grouped(parts, "d/[ab].*", *keys)["id"].to_pylist() == list(range(6))
    assert grouped(parts, "d/b.parquet,d/a.arrow", *keys)["id"].to_pylist() == [3, 4, 5, 0, 1, 2]


@pytest.mark.parametrize("limit", LIMITS)
def test_joins_of_folders(parts, limit):
    done = parts.join("d", "d/b.parquet", "--on", "id", "-o", "out.parquet", "--ordered", *limit)
    joined = tables.read(parts.folder / "out.parquet")
    assert done.returncode == 0
    assert joined.to_pydict() == {"id": [3, 4, 5], "word": ["w0", "w1", "w2"], "word_right": ["w0", "w1", "w2"]}


@pytest.mark.parametrize("name", ["a,b.parquet", "a*.parquet", "[x].parquet", "back\\slash.parquet", "y=1.parquet"])
def test_a_file_is_found_by_its_name(garuda, name):
    write_at(garuda, name, rows(0, 2))
    assert grouped(garuda, name, "--keys", "id").to_pydict() == {"id": [0, 1]}


def test_a_backslash_keeps_a_comma(garuda):
    write_at(garuda, "a,b/x.parquet", rows(0, 2))
    write_at(garuda, "c.parquet", rows(2, 2))
    assert grouped(garuda, "a\\,b,c.parquet", "--keys", "id")["id"].to_pylist() == [0, 1, 2, 3]


@pytest.mark.parametrize("limit", LIMITS)
def test_hive_partitions(garuda, limit):
    for i, (year, city) in enumerate([("2023", "K%C3%B6ln"), ("2024", "__HIVE_DEFAULT_PARTITION__"), ("2024", "a%2Fb")]):
        write_at(garuda, f"h/year={year}/city={city}/x.parquet", rows(i * 2, 2))
    every = grouped(garuda, "h", "--keys", "id,word,year,city", *limit)
    assert every.schema.types == [pa.int64(), pa.string(), pa.int64(), pa.string()]
    assert every["year"].to_pylist() == [2023, 2023, 2024, 2024, 2024, 2024]
    assert every["city"].to_pylist() == ["Köln", "Köln", "a/b", "a/b", None, None] or every["city"].to_pylist() == [
        "Köln", "Köln", None, None, "a/b", "a/b",
    ]
    years = grouped(garuda, "h/*/*/*.parquet", "--keys", "year", "--agg", "count", *limit)
    assert years.to_pydict() == {"year": [2023, 2024], "count": [2, 4]}
    # A single file's folders say nothing, as it is named by itself.
    single = next((garuda.folder / "h/year=2023").rglob("*.parquet")).relative_to(garuda.folder)
    assert "year" in garuda.refused(BAD_INPUT, "group-by", single, "--keys", "year")


def test_keys_that_are_no_integers_are_strings(garuda):
    for value in ("1", "01x"):
        write_at(garuda, f"h/k={value}/x.parquet", rows(0, 1))
    assert grouped(garuda, "h", "--keys", "k")["k"].to_pylist() == ["01x", "1"]


def test_what_disagrees_is_named(garuda):
    write_at(garuda, "d/a.parquet", rows(0, 1))
    refuse = lambda: garuda.refused(BAD_INPUT, "group-by", "d", "--keys", "id", "-o", "out.parquet")  # noqa: E731
    write_at(garuda, "d/b.parquet", pa.table({"id": [1.5], "word": ["x"]}))
    sentence = refuse()
    assert "a.parquet" in sentence and "b.parquet" in sentence and "int64" in sentence and "double" in sentence
    write_at(garuda, "d/b.parquet", pa.table({"word": ["x"]}))
    assert "b.parquet" in refuse()
    for key in ("k=1", "j=1"):
        write_at(garuda, f"e/{key}/x.parquet", rows(0, 1))
    sentence = garuda.refused(BAD_INPUT, "group-by", "e", "--keys", "id")
    assert "k=1" in sentence and "j=1" in sentence
    write_at(garuda, "f/id=1/x.parquet", rows(0, 1))
    assert "'id'" in garuda.refused(BAD_INPUT, "group-by", "f", "--keys", "id")
    write_at(garuda, "g/k=%FF/x.parquet", rows(0, 1))
    assert "UTF-8" in garuda.refused(BAD_INPUT, "group-by", "g", "--keys", "id")


@pytest.mark.parametrize("limit", [[], ["--memory-limit", "1MiB"]])
@pytest.mark.parametrize("suffix", ["parquet", "arrow", "csv"])
def test_columns_that_nobody_reads_are_the_same(garuda, suffix, limit):
    write_at(garuda, f"d/a.{suffix}", pa.table({"id": [1, 2], "a": [1, 2]}))
    write_at(garuda, f"d/b.{suffix}", pa.table({"id": [3], "b": ["x"]}))
    for arguments in (["--agg", "count"], ["--keys", "id"]):
        sentence = garuda.refused(BAD_INPUT, "group-by", "d", *arguments, *limit)
        assert f"a.{suffix} has 'a'" in sentence and f"b.{suffix} does not" in sentence
    write_at(garuda, f"d/b.{suffix}", pa.table({"id": [3], "a": ["x"]}))
    if suffix == "csv":  # types of columns that are not read are not known
        garuda.group_by("d", "--keys", "id", *limit)
    else:
        sentence = garuda.refused(BAD_INPUT, "group-by", "d", "--keys", "id", *limit)
        assert "'a' is int64" in sentence and "string" in sentence


def test_nothing_found(garuda):
    (garuda.folder / "empty").mkdir()
    assert "empty" in garuda.refused(BAD_INPUT, "group-by", "empty", "--keys", "id")
    assert "no*.parquet" in garuda.refused(BAD_INPUT, "group-by", "no*.parquet", "--keys", "id")
    assert ".parquet" in garuda.refused(USAGE, "group-by", "x.txt", "--keys", "id")


@pytest.mark.parametrize("limit", LIMITS)
def test_columns_in_another_order_and_nulls_in_some_files_only(garuda, limit):
    first = pa.table({"id": pa.array([1, 2], pa.int64()), "word": ["a", "b"]})
    write_at(garuda, "d/a.parquet", first.cast(pa.schema([first.schema.field(0).with_nullable(False), first.schema.field(1)])))
    write_at(garuda, "d/b.parquet", pa.table({"word": ["c"], "id": pa.array([None], pa.int64())}))
    assert grouped(garuda, "d", "--keys", "id,word", *limit).to_pydict() == {"id": [1, 2, None], "word": ["a", "b", "c"]}


def test_files_that_store_a_column_differently(garuda):
    """One with a dictionary, one without; a decimal as an integer, and as bytes."""
    money = pa.array([decimal.Decimal("1.25"), decimal.Decimal(2)] * 50, pa.decimal128(15, 2))
    table = pa.table({"id": pa.array(range(100), pa.int64()), "word": ["a", "b"] * 50, "money": money})
    (garuda.folder / "d").mkdir()
    pyarrow.parquet.write_table(table, garuda.folder / "d/a.parquet", store_decimal_as_integer=True)
    pyarrow.parquet.write_table(table, garuda.folder / "d/b.parquet", use_dictionary=False)
    garuda.join("d", "d/a.parquet", "--on", "id", "--columns", "left.id,left.word,left.money", "-o", "out.arrow", "--ordered")
    joined = tables.read(garuda.folder / "out.arrow")
    assert joined.schema.types == [pa.int64(), pa.string(), pa.decimal128(15, 2)]
    both = pa.concat_tables([table, table]).sort_by([("id", "ascending")])
    assert sorted(joined.to_pylist(), key=str) == sorted(both.to_pylist(), key=str)
