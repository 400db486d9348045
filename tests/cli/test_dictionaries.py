"""Dictionary columns: a null among the dictionary's values is a null, and shared dictionaries are read once."""

from __future__ import annotations

import collections
import pathlib
import random
import time

import pyarrow as pa
import pyarrow.ipc
import pytest
import tables

NUM_ROWS = 600
WORDS = ["a", None, "b", "c", None, "d"]


def write(path: pathlib.Path, rows: pa.Table, num_batches: int) -> None:
    with pa.ipc.new_file(path, rows.schema) as writer:
        writer.write_table(rows, max_chunksize=rows.num_rows // num_batches)


def words(seed: int, *null: None) -> pa.Array:
    """Indices of null values, and null indices when asked for."""
    chance = random.Random(seed)
    indices = [chance.choice([*range(len(WORDS)), *null]) for _ in range(NUM_ROWS)]
    return pa.DictionaryArray.from_arrays(pa.array(indices, pa.int32()), pa.array(WORDS))


@pytest.fixture(params=[(), (None,)], ids=["values", "indices"])
def rows(request: pytest.FixtureRequest) -> pa.Table:
    keys = pa.array([row % 7 for row in range(NUM_ROWS)], pa.int64())
    return pa.table({"k": keys, "v": words(1, *request.param)})


@pytest.mark.parametrize("num_batches", [1, 3])
def test_nulls_of_a_dictionary_are_nulls(join_on_each, rows, num_batches):
    write(join_on_each.folder / "t.arrow", rows, num_batches)
    values = collections.defaultdict(list)
    for key, value in zip(rows["k"].to_pylist(), rows["v"].to_pylist(), strict=True):
        values[key].extend([] if value is None else [value])
    join_on_each.group_by("t.arrow", "--keys", "k", "--agg", "count:v,min:v,max:v", "-o", "out.arrow")
    expected = sorted((key, len(found), min(found), max(found)) for key, found in values.items())
    assert sorted(tables.rows_of(tables.read(join_on_each.folder / "out.arrow"))) == expected
    join_on_each.group_by("t.arrow", "--keys", "k", "--agg", "count:v", "-o", "counts.arrow")
    counts = tables.rows_of(tables.read(join_on_each.folder / "counts.arrow"))
    assert sorted(counts) == [row[:2] for row in expected]
    join_on_each.group_by("t.arrow", "--keys", "v", "--agg", "count", "-o", "keys.arrow")
    found = tables.rows_of(tables.read(join_on_each.folder / "keys.arrow"))
    assert len(found) == 5 and dict(found) == collections.Counter(rows["v"].to_pylist())
    join_on_each.group_by("t.arrow", "--agg", "max:v", "-o", "all.arrow")
    assert tables.rows_of(tables.read(join_on_each.folder / "all.arrow")) == [("d",)]


@pytest.mark.parametrize("limit", [[], ["--memory-limit", "64KiB"]])
def test_nulls_of_a_dictionary_are_nulls_of_a_join(garuda, rows, limit):
    write(garuda.folder / "t.arrow", rows, 3)
    other = pa.table({"k": pa.array(range(NUM_ROWS), pa.int64()), "w": words(2)})
    write(garuda.folder / "u.arrow", other, 2)
    garuda.join("t.arrow", "u.arrow", "--on", "k", *limit, "-o", "out.arrow")
    joined = tables.read(garuda.folder / "out.arrow")
    for name in ("v", "w"):
        chunks = joined[name].chunks
        assert sum(chunk.indices.null_count for chunk in chunks) == sum(v is None for v in joined[name].to_pylist())
    tables.assert_same_rows(joined, tables.expected_join(rows, other, "k", "k"))


def test_many_batches_share_a_dictionary(garuda):
    """Two billion values would be looked at if each batch looked at all of its dictionary."""
    num_batches, num_values = 20_000, 100_000
    values = pa.array([f"value {i}" for i in range(num_values)])
    indices = pa.array([i * 7 % num_values for i in range(num_batches)], pa.int32())
    rows = pa.table({"v": pa.DictionaryArray.from_arrays(indices, values)})
    write(garuda.folder / "t.arrow", rows, num_batches)
    started = time.monotonic()
    garuda.group_by("t.arrow", "--keys", "v", "--agg", "count", "-o", "out.arrow")
    assert time.monotonic() - started < 20
    assert tables.read(garuda.folder / "out.arrow").num_rows == num_batches


def nested(kind: str, words: pa.Array) -> pa.Array:
    """A value a word, with the word in it."""
    numbers, ends = pa.array(range(len(words))), pa.array(range(len(words) + 1), pa.int32())
    if kind == "struct":
        return pa.StructArray.from_arrays([words, numbers], ["word", "number"])
    if kind == "list of structs":
        return pa.ListArray.from_arrays(ends, pa.StructArray.from_arrays([words, words], ["a", "b"]))
    if kind == "map":
        return pa.MapArray.from_arrays(ends, numbers, words)
    if kind == "union":
        return pa.UnionArray.from_sparse(pa.array([i % 2 for i in range(len(words))], pa.int8()), [words, numbers])
    return pa.ListArray.from_arrays(ends, words)


@pytest.mark.parametrize("kind", ["list", "struct", "list of structs", "map", "union"])
@pytest.mark.parametrize("more", [[], ["--ordered"]], ids=["", "ordered"])
def test_dictionaries_in_nested_columns_are_spilled(garuda, kind, more):
    """Several files, each with words of its own, are joined under a limit that holds none of them whole."""
    rows, expected = 9_000, []
    (garuda.folder / "l").mkdir()
    for file in range(3):
        words = pa.array([None if i % 11 == 3 else f"{file}: {i % 97}" for i in range(rows)]).dictionary_encode()
        values = nested(kind, words)
        expected += values.to_pylist()
        table = pa.table({"k": range(file * rows, (file + 1) * rows), "v": values})
        write(garuda.folder / f"l/{file}.arrow", table, 2)
    write(garuda.folder / "r.arrow", pa.table({"k": range(0, 6 * rows, 2)}), 1)
    for how in ("inner", "full"):
        limit = ["--memory-limit", "1MiB", "--temp-folder", garuda.folder]
        garuda.join("l", "r.arrow", "--on", "k", "--how", how, *more, *limit, "-o", "out.arrow")
        result = tables.read(garuda.folder / "out.arrow")
        result.validate(full=True)
        assert len(result) == (3 * rows // 2 if how == "inner" else 3 * rows + 3 * rows // 2)
        for key, value in zip(result["k"].to_pylist(), result["v"].to_pylist()):
            assert value == (expected[key] if key < len(expected) else None)
