"""--compression and --row-group-rows, what files store and results are, and files that change while they are read."""

from __future__ import annotations

import decimal
import itertools
import json
import random
import time

import duckdb
import polars
import pyarrow as pa
import pyarrow.ipc
import pyarrow.parquet
import pytest
import tables
from command import COMMAND, deleted_files, has_written

USAGE = 2
NO_NAMELESS_FILES = COMMAND.parent.parent / "tests/libgaruda_no_nameless_files.so"


@pytest.fixture
def files(garuda):
    tables.write(garuda.folder / "l.parquet", tables.table("int64", 3000, 1))
    tables.write(garuda.folder / "r.parquet", pa.table({"k": tables.keys("int64", 500, 2).drop_null().unique()}))
    return garuda


JOIN = ["join", "l.parquet", "r.parquet", "--on", "k", "--ordered"]


def codec(path) -> str:
    return pyarrow.parquet.ParquetFile(path).metadata.row_group(0).column(0).compression


@pytest.mark.parametrize("name", ["none", "snappy", "zstd", "lz4", "gzip"])
def test_compression_of_parquet(files, name):
    outputs = []
    for threads in (1, 2):
        files.join(*JOIN[1:], "-o", "out.parquet", "--compression", name, "--threads", threads)
        outputs.append((files.folder / "out.parquet").read_bytes())
    assert outputs[0] == outputs[1]
    assert codec(files.folder / "out.parquet") == {"none": "UNCOMPRESSED"}.get(name, name.upper())
    files.join(*JOIN[1:], "-o", "plain.arrow")
    assert tables.read(files.folder / "out.parquet").equals(tables.read(files.folder / "plain.arrow"))


@pytest.mark.parametrize("name", ["none", "lz4", "zstd"])
def test_compression_of_arrow(files, name):
    files.join(*JOIN[1:], "-o", "out.arrow", "--compression", name)
    files.join(*JOIN[1:], "-o", "plain.parquet")
    assert tables.read(files.folder / "out.arrow").equals(tables.read(files.folder / "plain.parquet"))
    # What it compresses it also reads.
    count = ["out.arrow", "r.parquet", "--on", "k", "--count"]
    assert files.join(*count).stdout == files.join(*JOIN[1:], "--count").stdout


def test_row_groups(files):
    files.join(*JOIN[1:], "-o", "out.parquet", "--row-group-rows", 100)
    metadata = pyarrow.parquet.ParquetFile(files.folder / "out.parquet").metadata
    sizes = [metadata.row_group(i).num_rows for i in range(metadata.num_row_groups)]
    assert set(sizes[:-1]) == {100} and 0 < sizes[-1] <= 100
    files.join(*JOIN[1:], "-o", "one.parquet")
    assert tables.read(files.folder / "out.parquet").equals(tables.read(files.folder / "one.parquet"))


def test_integers_are_packed_where_they_are_close(files):
    """And read by others; not with --plain-integers."""
    rng = random.Random(1)
    count = 20_000
    table = pa.table({
        "id": pa.array(range(count), pa.int64()),
        "price": pa.array((decimal.Decimal(rng.randrange(10**8)) / 100 for _ in range(count)), pa.decimal128(15, 2)),
        "when": pa.array((rng.randrange(10**9) for _ in range(count)), pa.timestamp("us")),
        "hash": pa.array((rng.randrange(-(2**63), 2**63) for _ in range(count)), pa.int64()),
        "some": pa.array((None if i % 7 == 0 else i * 3 for i in range(count)), pa.int32()),
        "ratio": pa.array((rng.random() for _ in range(count)), pa.float64()),
    })
    tables.write(files.folder / "t.parquet", table)
    sizes = []
    for plain in ([], ["--plain-integers"]):
        files.join("t.parquet", "t.parquet", "--on", "id", "--how", "semi", "--ordered", "-o", "out.parquet", *plain)
        path = files.folder / "out.parquet"
        chunks = pyarrow.parquet.ParquetFile(path).metadata.row_group(0)
        packed = {
            chunks.column(i).path_in_schema
            for i in range(chunks.num_columns)
            if "DELTA_BINARY_PACKED" in chunks.column(i).encodings
        }
        assert packed == (set() if plain else {"id", "price", "when", "some"})
        assert tables.read(path).equals(tables.read(files.folder / "t.parquet"))
        rows = duckdb.sql(f"from '{path}'").fetchall()
        assert rows == [tuple(row.values()) for row in table.to_pylist()] == polars.read_parquet(path).rows()
        # What it packs it also reads.
        files.join("out.parquet", "t.parquet", "--on", "id", "--how", "semi", "--ordered", "-o", "again.arrow")
        assert tables.read(files.folder / "again.arrow").equals(tables.read(path))
        sizes.append(path.stat().st_size)
    assert sizes[0] < 0.8 * sizes[1]


@pytest.mark.parametrize(
    ("arguments", "allowed"),
    [
        (["-o", "o.parquet", "--compression", "brotli"], "none, snappy, zstd, lz4, gzip"),
        (["-o", "o.arrow", "--compression", "snappy"], "none or lz4 or zstd"),
        (["-o", "o.csv", "--compression", "zstd"], "none"),
        (["--compression", "zstd"], "--output"),
        (["-o", "o.arrow", "--row-group-rows", "5"], ".parquet"),
        (["-o", "o.csv", "--plain-integers"], ".parquet"),
        (["--plain-integers"], "--output"),
        (["-o", "o.parquet", "--row-group-rows", "0"], "1"),
        (["-o", "o.parquet", "--row-group-rows", "-3"], "1"),
        (["-o", "o.parquet", "--row-group-rows", "many"], "row-group-rows"),
    ],
)
def test_wrong_values(files, arguments, allowed):
    assert allowed in files.refused(USAGE, *JOIN, *arguments)


def test_synced(files):
    """A result that is made, and one that replaces it, is on the disk as it is without."""
    for _ in range(2):
        files.join(*JOIN[1:], "-o", "out.parquet", "--sync")
    files.join(*JOIN[1:], "-o", "other.parquet")
    assert (files.folder / "out.parquet").read_bytes() == (files.folder / "other.parquet").read_bytes()
    assert "--output" in files.refused(USAGE, *JOIN, "--sync")


@pytest.mark.parametrize("preload", [None, NO_NAMELESS_FILES])
def test_results_appear_whole(files, preload):
    """Made and replaced, on file systems with files that have no name, and without such."""
    if preload is not None and not preload.exists():
        pytest.skip(f"not built: {preload}")
    environment = {**files.environment(), **({"LD_PRELOAD": str(preload)} if preload else {})}
    before = {path.name for path in files.folder.iterdir()}
    for _ in range(2):
        assert files.run(*JOIN, "-o", "out.parquet", env=environment).returncode == 0
        assert {path.name for path in files.folder.iterdir()} == {*before, "out.parquet"}
    assert files.run(*JOIN, "--columns", "left.none", "-o", "none.parquet", env=environment).returncode == 3
    assert {path.name for path in files.folder.iterdir()} == {*before, "out.parquet"}


@pytest.mark.parametrize("content", [None, "before"])
def test_killed_while_writing(garuda, content):
    """Nothing is left of the result, and a file of its name stays as it was."""
    tables.write(garuda.folder / "equal.parquet", pa.table({"k": [7] * 40_000, "a": range(40_000)}))
    if content is not None:
        (garuda.folder / "out.arrow").write_text(content)
    before = sorted(garuda.folder.iterdir())
    with garuda.start("join", "equal.parquet", "equal.parquet", "--on", "k", "-o", "out.arrow") as process:
        while not has_written(process.pid, garuda.folder):
            assert process.poll() is None, process.communicate()
            time.sleep(0.02)
        if not deleted_files(process.pid, garuda.folder):
            process.kill()
            pytest.skip("the file system has no files without a name")
        process.kill()
    assert sorted(garuda.folder.iterdir()) == before
    assert content is None or (garuda.folder / "out.arrow").read_text() == content


@pytest.mark.parametrize("type_", [pa.string(), pa.large_string(), pa.string_view(), pa.binary()])
@pytest.mark.parametrize("output", ["out.parquet", "out.arrow", "out.csv"])
def test_strings_that_a_file_stores_as_codes_are_strings(garuda, type_, output):
    """Dictionaries that differ by row group, in one of which pages fall back to plain values."""
    words = [["a", "", None, "bb"], ["c", "a", None, "c"], ["d" * 30, "e", "f", "a"]]
    values = list(itertools.chain.from_iterable(group * 50 for group in words))
    if pa.types.is_binary(type_):
        values = [None if value is None else value.encode() for value in values]
    count = len(values)
    wide = [f"{i:09d}" for i in range(count)]
    table = pa.table({"id": pa.array(range(count), pa.int64()), "s": pa.array(values, type_), "wide": wide})
    pyarrow.parquet.write_table(table, garuda.folder / "l.parquet", row_group_size=200, dictionary_pagesize_limit=1000, data_page_size=100)
    tables.write(garuda.folder / "r.parquet", table.select(["id"]))
    garuda.join("l.parquet", "r.parquet", "--on", "id", "--ordered", "-o", output)
    joined = tables.read(garuda.folder / output)
    if output != "out.csv":
        assert joined.equals(table)
    assert joined["wide"].cast(pa.string()).to_pylist() == wide or output == "out.csv"
    grouped = garuda.group_by("l.parquet", "--keys", "s", "--agg", "count", "--ordered", "-o", "g.arrow")
    assert grouped.returncode == 0
    groups = tables.read(garuda.folder / "g.arrow")
    assert groups.schema.field("s").type == type_
    assert dict(zip(groups["s"].to_pylist(), groups["count"].to_pylist())) == {v: values.count(v) for v in set(values)}
    shown = garuda.group_by("l.parquet", "--keys", "s", "--ordered").stdout
    assert "dictionary" not in shown


def as_decimals(numbers) -> list[decimal.Decimal | None]:
    return [None if number is None else decimal.Decimal(number) for number in numbers]


def test_stored_decimals_are_decimals(garuda):
    numbers = [None if i % 7 == 0 else i * 100 - 5000 for i in range(300)]
    columns = {"id": pa.array(range(300), pa.int64())}
    for digits in (5, 9, 10, 18, 19, 38):
        columns[f"d{digits}"] = pa.array(as_decimals(numbers), pa.decimal128(digits, 0))
    columns["dense"] = pa.array(as_decimals(range(300)), pa.decimal128(18, 0))
    table = pa.table(columns)
    for stored in (True, False):
        pyarrow.parquet.write_table(table, garuda.folder / "l.parquet", row_group_size=70, store_decimal_as_integer=stored)
        tables.write(garuda.folder / "r.parquet", table.select(["id"]))
        for output in ("out.parquet", "out.arrow"):
            garuda.join("l.parquet", "r.parquet", "--on", "id", "--ordered", "-o", output)
            assert tables.read(garuda.folder / output).equals(table)


def test_stored_decimals_are_summed_as_they_are(garuda):
    """At the ends of their digits; what keeps its column's type keeps it."""
    columns = {"k": pa.array([i % 3 for i in range(300)], pa.int32())}
    for digits in (9, 18):
        most = 10**digits - 1
        numbers = [None if i % 7 == 0 else (most if i % 2 else -most) // (1 + i % 5) for i in range(300)]
        columns[f"d{digits}"] = pa.array(as_decimals(numbers), pa.decimal128(digits, 0))
    aggregates = ",".join(f"sum:{d},mean:{d},var:{d},corr:{d}:k,count:{d}" for d in ("d9", "d18"))
    results = {}
    for also in ("", ",min:d9,max_n:d18:2"):
        for stored in (True, False):
            path = garuda.folder / "l.parquet"
            pyarrow.parquet.write_table(pa.table(columns), path, row_group_size=70, store_decimal_as_integer=stored)
            done = garuda.group_by("l.parquet", "--keys", "k", "--agg", aggregates + also, "--ordered", "-o", "g.parquet")
            assert done.returncode == 0, done.stderr
            results[also, stored] = tables.read(garuda.folder / "g.parquet")
        assert results[also, True].schema == results[also, False].schema
        assert results[also, True].equals(results[also, False])
    first = [value for i, value in enumerate(columns["d18"].to_pylist()) if i % 3 == 0 and value is not None]
    assert results["", True]["sum_d18"][0].as_py() == sum(first)


def test_statistics_name_files_and_bytes(files):
    done = files.join(*JOIN[1:], "-o", "out.parquet", "--stats=json")
    stats = json.loads(done.stderr.splitlines()[-1])
    assert stats["write_bytes"] == (files.folder / "out.parquet").stat().st_size
    assert 0 < stats["read_bytes"] <= sum((files.folder / n).stat().st_size for n in ("l.parquet", "r.parquet"))
    table = files.join(*JOIN[1:], "-o", "out.parquet", "--stats").stderr
    assert "read files" in table and "write files" in table


@pytest.mark.parametrize("rows", [0, 1])
@pytest.mark.parametrize("name", ["x.parquet", "x.arrow", "x.csv"])
def test_few_rows(garuda, rows, name):
    table = tables.table("int64", 1, 1)[:rows].select(["row", "k", "word", "money"])
    tables.write(garuda.folder / "l.parquet", table)
    tables.write(garuda.folder / name, table)
    garuda.join("l.parquet", "l.parquet", "--on", "row", "-o", "out.parquet")
    assert tables.read(garuda.folder / "out.parquet").num_rows == rows
    assert garuda.join(name, "l.parquet", "--on", "row", "--count").stdout == f"{rows}\n"


def test_row_groups_without_rows_and_columns_of_nulls(garuda):
    table = pa.table({"id": pa.array([1, 2, 3], pa.int64()), "n": pa.nulls(3, pa.string()), "d": pa.nulls(3, pa.decimal128(9, 2))})
    with pyarrow.parquet.ParquetWriter(garuda.folder / "l.parquet", table.schema, store_decimal_as_integer=True) as writer:
        for part in (table[:0], table[:1], table[1:1], table[1:], table[:0]):
            writer.write_table(part)
    garuda.join("l.parquet", "l.parquet", "--on", "id", "--columns", "left.id,left.n,right.d", "--ordered", "-o", "o.parquet")
    assert tables.read(garuda.folder / "o.parquet").equals(table)


@pytest.mark.parametrize("name", ["x.parquet", "x.arrow", "x.feather"])
def test_damaged_files_are_errors(garuda, name):
    """Cut off, and with bytes turned, at many places: an answer or a sentence, never a crash."""
    table = tables.table("int64", 300, 3).select(["row", "k", "word", "label", "money", "bytes"])
    path = garuda.folder / name
    tables.write(path, table, 100)
    whole = path.read_bytes()
    for at in range(0, len(whole), max(1, len(whole) // 12)):
        path.write_bytes(whole[:at])
        done = garuda.run("group-by", name, "--keys", "word,label", "--agg", "sum:money,count", "-o", "out.parquet")
        assert done.returncode == 3, (at, done.stderr)
        turned = bytearray(whole)
        turned[at] ^= 0xFF
        path.write_bytes(turned)
        done = garuda.run("group-by", name, "--keys", "word,label", "--agg", "sum:money,count", "-o", "out.parquet")
        assert done.returncode in (0, 3, 5), (at, done.returncode, done.stderr)
    assert not list(garuda.folder.glob(".*.part"))
