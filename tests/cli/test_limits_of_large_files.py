"""`--memory-limit` and Parquet files of many rows: what fits is done as without one; what is read by all threads within
it is grouped in blocks of row groups, in large blocks or in partitions, in the bits of a run without a limit."""

from __future__ import annotations

import json
import pathlib

import numpy as np
import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet
import pytest
from command import Garuda

GROUP_ROWS = 1 << 19  # of a block that the command groups by itself
ROWS = 3 * GROUP_ROWS
AGGREGATES = "count,sum:number,mean:real,std:number,min:word,last:real"
MIB = 1 << 20


@pytest.fixture(scope="module")
def rows() -> pa.Table:
    random = np.random.default_rng(2)
    word = pa.DictionaryArray.from_arrays(
        pa.array(random.integers(0, 1000, ROWS), pa.int32()), [f"word{i}" for i in range(1000)]
    )
    return pa.table(
        {
            "few": pa.array(random.integers(0, 40, ROWS), pa.int32(), mask=random.random(ROWS) < 0.1),
            "many": pa.array(random.integers(0, ROWS // 8, ROWS), pa.int64()),
            "word": word.cast(pa.string()),
            "number": pa.array(random.integers(-(2**31), 2**31, ROWS), pa.int32()),
            "real": pa.array(random.random(ROWS) * 10.0 ** random.integers(-8, 8, ROWS)),
        }
    )


@pytest.fixture(scope="module")
def folder(rows: pa.Table, tmp_path_factory: pytest.TempPathFactory) -> pathlib.Path:
    """rows.parquet in few row groups; small.parquet in many; rows.arrow."""
    folder = tmp_path_factory.mktemp("large")
    pa.parquet.write_table(rows, folder / "rows.parquet", row_group_size=GROUP_ROWS)
    pa.parquet.write_table(rows, folder / "small.parquet", row_group_size=10_000)
    pa.feather.write_feather(rows, folder / "rows.arrow", compression="uncompressed")
    return folder


@pytest.fixture
def garuda(folder: pathlib.Path) -> Garuda:
    return Garuda(folder, path="cpu")


def grouped(garuda: Garuda, name: str, *arguments: str) -> tuple[pa.Table, dict]:
    done = garuda.group_by(name, *arguments, "--ordered", "-o", "out.arrow", "--stats=json")
    return pa.feather.read_table(garuda.folder / "out.arrow"), json.loads(done.stderr.splitlines()[-1])


@pytest.mark.parametrize(
    ("name", "limit", "keys", "how"),
    [
        ("rows.parquet", "4GiB", "few", "row groups"),
        ("rows.parquet", "4GiB", "many", "whole"),
        ("rows.parquet", "4GiB", "word", "row groups"),
        ("small.parquet", "4GiB", "many,word", "whole"),
        ("small.parquet", "160MiB", "word", "blocks"),
        ("small.parquet", "96MiB", "many", "partitions"),
        ("small.parquet", "48MiB", "few", "blocks"),
    ],
)
def test_the_bits_without_a_limit(garuda, tmp_path, name, limit, keys, how):
    asked = ["--keys", keys, "--agg", AGGREGATES]
    limited, stats = grouped(garuda, name, *asked, "--memory-limit", limit, "--temp-folder", str(tmp_path))
    whole, _ = grouped(garuda, "rows.arrow", *asked)
    assert limited.schema == whole.schema
    assert limited.equals(whole)
    assert stats["rows"] == ROWS
    counters, details = stats["counters"], stats["plan"]["details"]
    assert ("blocks" in details) == (how == "row groups")
    assert ("spilled_bytes" in counters) == (how == "partitions")
    assert (counters.get("state_blocks", 0) > 1) == (how in ("row groups", "blocks"))
    plan = json.loads(garuda.run("explain", "group-by", name, *asked, "--memory-limit", limit, "--json").stdout)
    assert ("blocks" in plan["details"]) == (how == "row groups")
    assert ("spilling" in plan["details"]) == (how in ("blocks", "partitions"))


def test_row_groups_that_weigh_more_than_the_first(garuda, tmp_path):
    """Later row groups weigh more than the first one: the file is read once more, as a stream."""
    texts = pa.array(["short"] * GROUP_ROWS + [f"{i % 7}" * 600 for i in range(GROUP_ROWS)])
    keys = pa.array(np.arange(2 * GROUP_ROWS) % 5, pa.int32())
    rows = pa.table({"k": keys, "text": texts})
    options = {"row_group_size": GROUP_ROWS, "use_dictionary": False}
    pa.parquet.write_table(rows, garuda.folder / "texts.parquet", **options)
    asked = ["--keys", "k", "--agg", "count,max:text,min:text"]
    whole, stats = grouped(garuda, "texts.parquet", *asked)
    assert "blocks" in stats["plan"]["details"]
    limit = ["--memory-limit", "512MiB", "--temp-folder", str(tmp_path)]
    limited, stats = grouped(garuda, "texts.parquet", *asked, *limit)
    assert "blocks" not in stats["plan"]["details"] and stats["counters"]["state_blocks"] > 2
    assert limited.equals(whole)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(("limit", "spills"), [("4GiB", False), ("64MiB", True)])
def test_joins(garuda, rows, tmp_path, limit, spills):
    """Strings that the file has as codes, and decimals in 64 bits, come out in their own types."""
    cents = pa.array(np.arange(1000), pa.int64()).cast(pa.decimal128(21, 2)).cast(pa.decimal128(15, 2))
    names = pa.table({"name": [f"word{i}" for i in range(1000)], "cents": cents, "text": [f"t{i % 9}" for i in range(1000)]})
    pa.parquet.write_table(names, garuda.folder / "names.parquet", store_decimal_as_integer=True)
    join = ["names.parquet", "small.parquet", "--on", "name=word", "--ordered", "--stats=json"]
    garuda.join(*join, "-o", "whole.parquet")
    limited = ["--memory-limit", limit, "--temp-folder", str(tmp_path)]
    done = garuda.join(*join, "-o", "limited.parquet", *limited)
    counters = json.loads(done.stderr.splitlines()[-1])["counters"]
    assert ("spilled_bytes" in counters) == spills
    whole = pa.parquet.read_table(garuda.folder / "whole.parquet")
    assert whole.num_rows == ROWS
    assert pa.parquet.read_table(garuda.folder / "limited.parquet").equals(whole)


@pytest.mark.parametrize(
    ("name", "limit", "keys"),
    [("rows.parquet", 1024, "few"), ("small.parquet", 160, "word"), ("small.parquet", 96, "many"), ("rows.parquet", 1024, "many")],
)
def test_peak_memory(garuda, tmp_path, name, limit, keys):
    """The peak beyond that of a run of nothing is within the limit."""
    pa.parquet.write_table(pa.table({"k": [1]}), garuda.folder / "tiny.parquet")
    base = garuda.peak("group-by", "tiny.parquet", "--keys", "k", "-o", "out.parquet")
    asked = ["group-by", name, "--keys", keys, "--agg", AGGREGATES, "-o", "out.parquet", "--temp-folder", str(tmp_path)]
    assert garuda.peak(*asked, "--memory-limit", f"{limit}MiB") < base + limit * MIB
