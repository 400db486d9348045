"""Parquet files whose groups are few are grouped block by block: the bits, order and schema of one table's group-by."""

from __future__ import annotations

import decimal
import json
import pathlib

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.feather
import pyarrow.parquet
import pytest
from command import Garuda

BAD_INPUT = 3
BLOCK = 1 << 20
ROWS = 2 * BLOCK + 1000
BLOCKS = 3
SMALL_BLOCK = 1 << 19  # the least that the command takes
MERGED = "count,sum:level,sum:real,mean:real,std:day_number,corr:day_number:level,sum:money,min:word,max:day,first:real,last:word"


@pytest.fixture(scope="module")
def rows() -> pa.Table:
    """Keys of few values, one of which the first block lacks; values with nulls; floats whose sums would differ."""
    random = np.random.default_rng(1)

    def column(values: np.ndarray, data_type: pa.DataType) -> pa.Array:
        return pa.array(values, data_type, mask=random.random(ROWS) < 0.1)

    def words(values: list[str], numbers: np.ndarray) -> pa.Array:
        return pa.DictionaryArray.from_arrays(column(numbers, pa.int32()), values).cast(pa.string())

    cities = random.integers(0, 3, ROWS)
    cities[BLOCK:] = 3 - cities[BLOCK:]
    return pa.table(
        {
            "city": words(["Oslo", "", "Graz", "Ulm"], cities),
            "level": column(random.integers(-3, 3, ROWS), pa.int32()),
            "real": column(random.random(ROWS) * 10.0 ** random.integers(-8, 8, ROWS), pa.float64()),
            "money": pc.cast(column(random.integers(-1000, 1000, ROWS), pa.int64()), pa.decimal128(19, 0)).cast(
                pa.decimal128(15, 2), safe=False
            ),
            "word": words(["a", "bb", "ccc", "Ä"], random.integers(0, 4, ROWS)),
            "day": column(random.integers(0, 9, ROWS), pa.int32()).cast(pa.date32()),
            "day_number": column(random.integers(0, 9, ROWS), pa.int32()),
            "id": pa.array(np.arange(ROWS), pa.int64()),
        }
    )


@pytest.fixture(scope="module")
def folder(rows: pa.Table, tmp_path_factory: pytest.TempPathFactory) -> pathlib.Path:
    """rows.parquet in row groups of a block and less, rows.arrow."""
    folder = tmp_path_factory.mktemp("blocks")
    options = {"store_decimal_as_integer": True, "write_page_checksum": True, "row_group_size": BLOCK}
    pa.parquet.write_table(rows, folder / "rows.parquet", **options)
    pa.feather.write_feather(rows, folder / "rows.arrow", compression="uncompressed")
    return folder


@pytest.fixture
def garuda(folder: pathlib.Path) -> Garuda:
    return Garuda(folder, path="cpu")


def grouped(garuda: Garuda, name: str, keys: str, *arguments: str) -> tuple[pa.Table, dict]:
    keyed = ["--keys", keys] if keys else []
    done = garuda.group_by(name, *keyed, *arguments, "-o", "out.arrow", "--stats=json")
    return pa.feather.read_table(garuda.folder / "out.arrow"), json.loads(done.stderr.splitlines()[-1])


def test_in_memory_and_in_blocks(garuda, rows):
    for keys in ("", "city", "level,city", "day"):
        blocks, stats = grouped(garuda, "rows.parquet", keys, "--agg", MERGED, "--ordered")
        whole, _ = grouped(garuda, "rows.arrow", keys, "--agg", MERGED, "--ordered")
        assert stats["counters"]["state_blocks"] == BLOCKS
        assert stats["rows"] == ROWS
        assert blocks.schema == whole.schema
        assert blocks.equals(whole), keys


def test_a_folder_in_blocks(garuda, rows):
    """The files store columns in different ways; one has no rows, one a block with fewer rows than others."""
    parts = garuda.folder / "parts"
    parts.mkdir()
    options = {"row_group_size": SMALL_BLOCK, "store_decimal_as_integer": True}
    pa.parquet.write_table(rows.slice(0, BLOCK), parts / "a.parquet", **options)
    pa.parquet.write_table(rows.slice(0, 0), parts / "b.parquet", **options)
    plain = {"use_dictionary": ["word", "level", "day"], "compression": "zstd"}
    pa.parquet.write_table(rows.slice(BLOCK), parts / "c.parquet", row_group_size=SMALL_BLOCK, **plain)
    for keys in ("", "level,word", "day"):
        blocks, stats = grouped(garuda, "parts", keys, "--agg", MERGED, "--ordered")
        whole, _ = grouped(garuda, "rows.arrow", keys, "--agg", MERGED, "--ordered")
        assert stats["counters"]["state_blocks"] == 5
        assert stats["rows"] == ROWS
        assert blocks.schema == whole.schema
        assert blocks.equals(whole), keys
    plan = garuda.run("explain", "group-by", "parts", "--keys", "level", "--agg", "count").stdout
    assert "5 of 3 files" in plan


def test_duckdb(garuda, rows):
    names = "count(*), sum(level), sum(money), min(word), max(day), count(real)"
    aggregates = "count,sum:level,sum:money,min:word,max:day,count:real"
    ours, _ = grouped(garuda, "rows.parquet", "city,level", "--agg", aggregates)
    with duckdb.connect() as database:
        theirs = database.sql(f"SELECT city, level, {names} FROM rows GROUP BY ALL").fetchall()
    mine = [tuple(row.values()) for row in ours.to_pylist()]
    assert set(mine) == set(theirs)
    assert len(mine) == len(theirs)


def test_sums_that_are_not_states(join_on_each):
    """The least and the largest values of every type whose sums merge as they are."""
    rows, half = 2 * SMALL_BLOCK, SMALL_BLOCK // 2
    columns = {"key": pa.array(["least", "largest"] * SMALL_BLOCK)}
    for bits in (8, 16, 32):
        columns[f"i{bits}"] = pa.array([-(2 ** (bits - 1)), 2 ** (bits - 1) - 1] * SMALL_BLOCK, f"int{bits}")
        columns[f"u{bits}"] = pa.array([0, 2**bits - 1] * SMALL_BLOCK, f"uint{bits}")
    columns["nulls"] = pa.array([None, 1] * half + [None] * SMALL_BLOCK, pa.int32())
    for digits in (9, 18):
        most = decimal.Decimal(10**digits - 1).scaleb(-2)
        columns[f"d{digits}"] = pa.array([-most, most] * SMALL_BLOCK, pa.decimal128(digits, 2))
    table = pa.table(columns)
    pa.parquet.write_table(
        table, join_on_each.folder / "ends.parquet", row_group_size=SMALL_BLOCK, store_decimal_as_integer=True
    )
    names = [name for name in columns if name != "key"]
    aggregates = ",".join(f"sum:{name}={name}" for name in names)
    sums, stats = grouped(join_on_each, "ends.parquet", "key", "--agg", aggregates, "--ordered")
    assert stats["counters"]["state_blocks"] == 2
    assert stats["rows"] == rows
    expected = [
        {name: None if columns[name][i].as_py() is None else columns[name][i].as_py() * SMALL_BLOCK for name in names}
        for i in (0, 1)
    ]
    expected[1]["nulls"] = half
    assert sums.to_pylist() == [{"key": key} | row for key, row in zip(("least", "largest"), expected)]
    assert [str(sums.schema.field(name).type) for name in ("i8", "u32", "d9")] == [
        "int64",
        "uint64",
        "decimal128(38, 2)",
    ]


@pytest.mark.parametrize(("keys", "aggregate"), [("id", "count"), ("city", "median:real"), ("city,id", "count")])
def test_what_is_read_whole(garuda, keys, aggregate):
    _, stats = grouped(garuda, "rows.parquet", keys, "--agg", aggregate)
    assert "state_blocks" not in stats["counters"]


def test_explained(garuda):
    done = garuda.run("explain", "group-by", "rows.parquet", "--keys", "city", "--agg", "count", "--json")
    assert json.loads(done.stdout)["details"]["blocks"].startswith(f"{BLOCKS} of a file of {ROWS} rows")


def test_damage_in_the_last_block(garuda, folder):
    """Blocks before it were grouped by then; nothing is written."""
    content = bytearray((folder / "rows.parquet").read_bytes())
    chunk = pa.parquet.read_metadata(folder / "rows.parquet").row_group(BLOCKS - 1).column(1)
    content[chunk.data_page_offset + chunk.total_compressed_size // 2] ^= 0xFF
    (folder / "bad.parquet").write_bytes(content)
    arguments = ["bad.parquet", "--keys", "city", "--agg", "sum:level", "-o", "none.arrow"]
    assert "bad.parquet" in garuda.refused(BAD_INPUT, "group-by", *arguments)
    assert not (folder / "none.arrow").exists()


def test_sum_that_overflows(garuda, folder):
    """Each block's fits; the sentence names the group."""
    large = pa.table({"key": ["a"] * ROWS, "value": pa.array([2**43] * ROWS, pa.int64())})
    pa.parquet.write_table(large, folder / "large.parquet", row_group_size=BLOCK)
    sentence = garuda.refused(BAD_INPUT, "group-by", "large.parquet", "--keys", "key", "--agg", "sum:value")
    assert "sum_value" in sentence and "'a'" in sentence, sentence
