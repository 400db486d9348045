"""`garuda group-by` of files that do not fit --memory-limit: the bits of a run without a limit, and nothing left behind."""

from __future__ import annotations

import decimal
import json
import os
import pathlib
import random
import resource
import signal
import subprocess
import time

import duckdb
import numpy
import pyarrow as pa
import pytest
import tables
from command import Garuda

USAGE, BAD_INPUT, NO_ROOM, INTERRUPTED = 2, 3, 5, 130
WIDE = decimal.Context(prec=80)
MERGED = (
    "count,count:f,sum:i,sum:u,sum:f,sum:s,sum:d,min:f,max:word,min:label,mean:i,mean:f,mean:d,first:word,last:label,"
    "any:f,bool_and:b,bool_or:b,arg_min:word:f,arg_max:label:word,arg_min:i:d,product:p,max:t,"
    "sum:w,mean:w,max:w,sum:h,min:h,first:w"
)
MOMENTS = "var:i,var_pop:s,std:n,covar:i:s,corr:i:u,corr:s:n,covar_pop:d:i,var:w,covar:w:h"
KEPT = "median:f,count_distinct:word,quantile:t:0.3,min_n:i:3,max_n:word:2,sum:f,median:w,max_n:h:2"
KEYS = {
    "none": [],
    "few": ["few"],
    "many": ["many"],
    "word": ["word"],
    "label": ["label"],
    "heavy": ["heavy"],
    "void": ["void"],
    "money": ["money"],
    "special": ["special"],
    "several": ["label", "few", "d"],
}


def rows_of_all(num_rows: int = 20_000, seed: int = 1) -> pa.Table:
    rng = random.Random(seed)

    def column(data_type: pa.DataType, make, nulls: float = 0.1) -> pa.Array:
        return pa.array([None if rng.random() < nulls else make() for _ in range(num_rows)], data_type)

    return pa.table(
        {
            "few": column(pa.int32(), lambda: rng.randrange(20)),
            "many": column(pa.int64(), lambda: rng.randrange(10**12), 0.02),
            "word": column(pa.string(), lambda: f"w{rng.randrange(1000)}"),
            "label": column(pa.string(), lambda: f"l{rng.randrange(50)}").dictionary_encode(),
            "heavy": pa.array([7 if i % 10 else i for i in range(num_rows)], pa.int32()),
            "void": pa.array([None] * num_rows, pa.int32()),
            "money": column(pa.decimal128(20, 2), lambda: decimal.Decimal(rng.randrange(500)) * 10**10),
            "special": column(pa.float64(), lambda: rng.choice([0.0, -0.0, float("nan"), float("inf"), 1.5])),
            "i": column(pa.int64(), lambda: rng.randrange(-(2**40), 2**40)),
            "u": column(pa.uint64(), lambda: rng.randrange(2**40)),
            "f": column(pa.float64(), lambda: rng.uniform(-1, 1) * 10.0 ** rng.randrange(-300, 290)),
            "s": column(pa.float32(), lambda: rng.uniform(-1, 1)),
            "n": column(pa.float64(), lambda: rng.uniform(-1e3, 1e3)),
            "d": column(pa.decimal128(30, 4), lambda: decimal.Decimal(rng.randrange(200)) / 16),
            "b": column(pa.bool_(), lambda: rng.random() < 0.9),
            "p": column(pa.int32(), lambda: rng.choice([1, 1, 1, 1, -1])),
            "t": column(pa.timestamp("us"), lambda: rng.randrange(10**15)),
            "w": column(pa.decimal256(76, 3), lambda: decimal.Decimal(rng.randrange(-(10**60), 10**60)).scaleb(-3, WIDE)),
            "h": column(pa.float16(), lambda: numpy.float16(rng.uniform(-1000, 1000))),
        }
    )


@pytest.fixture(scope="module")
def all_rows() -> pa.Table:
    return rows_of_all()


@pytest.fixture
def spill_folder(tmp_path: pathlib.Path) -> pathlib.Path:
    folder = tmp_path / "spilled"
    folder.mkdir()
    return folder


def cells(table: pa.Table, ordered: bool) -> list[str]:
    plain = [c.cast(c.type.value_type) if pa.types.is_dictionary(c.type) else c for c in table.columns]
    rows = [repr(row) for row in zip(*(column.to_pylist() for column in plain))]
    return rows if ordered else sorted(rows)


def counters(done: subprocess.CompletedProcess[str]) -> dict[str, int]:
    return json.loads(done.stderr.splitlines()[-1])["counters"]


def limited_and_whole(garuda: Garuda, limit: str, *arguments: object, whole: Garuda | None = None) -> dict[str, int]:
    """Runs with the limit and without; the rows must be the same. Returns the counters of the limited run."""
    ordered = "--ordered" in arguments
    (whole or garuda).group_by(*arguments, "-o", "whole.arrow")
    done = garuda.group_by(*arguments, "-o", "limited.arrow", "--memory-limit", limit, "--stats=json")
    expected, actual = (tables.read(garuda.folder / f"{name}.arrow") for name in ("whole", "limited"))
    assert actual.schema == expected.schema
    assert cells(actual, ordered) == cells(expected, ordered)
    return counters(done)


@pytest.mark.parametrize("ordered", [[], ["--ordered"]], ids=["unordered", "ordered"])
@pytest.mark.parametrize("keys", KEYS.values(), ids=KEYS)
def test_states_are_merged_exactly(garuda, spill_folder, all_rows, keys, ordered):
    tables.write(garuda.folder / "r.parquet", all_rows, batch_rows=3_000)
    chosen = ["--keys", ",".join(keys)] if keys else []
    for limit in ("1MiB", "3MiB"):
        arguments = ["group-by", "r.parquet", *chosen, "--agg", MERGED, *ordered, "--temp-folder", spill_folder]
        counted = limited_and_whole(garuda, limit, *arguments[1:])
        assert counted.get("state_blocks", 0) + counted.get("spilled_partitions", 0) > 1
        assert list(spill_folder.iterdir()) == []


@pytest.mark.parametrize("keys", [[], ["few"], ["word"], ["heavy"]], ids=str)
def test_moments(garuda, spill_folder, all_rows, keys):
    tables.write(garuda.folder / "r.parquet", all_rows, batch_rows=3_000)
    chosen = ["--keys", ",".join(keys)] if keys else []
    counted = limited_and_whole(garuda, "2MiB", "r.parquet", *chosen, "--agg", MOMENTS, "--temp-folder", spill_folder)
    assert counted.get("state_blocks", 0) + counted.get("spilled_partitions", 0) > 1


@pytest.mark.parametrize("ordered", [[], ["--ordered"]], ids=["unordered", "ordered"])
@pytest.mark.parametrize("keys", [["many"], ["word"], ["label", "few"]], ids=str)
def test_aggregates_that_keep_all_values(garuda, spill_folder, all_rows, keys, ordered):
    tables.write(garuda.folder / "r.parquet", all_rows, batch_rows=3_000)
    arguments = ["r.parquet", "--keys", ",".join(keys), "--agg", KEPT, *ordered, "--temp-folder", spill_folder]
    counted = limited_and_whole(garuda, "3MiB", *arguments)
    assert counted["spilled_partitions"] > 1 and "state_blocks" not in counted


@pytest.mark.parametrize("keys", [["few"], ["word"]], ids=str)
def test_every_path(join_on_each, spill_folder, all_rows, keys):
    rows = all_rows.slice(0, 4_000)
    tables.write(join_on_each.folder / "r.parquet", rows, batch_rows=1_000)
    whole = Garuda(join_on_each.folder, path="cpu")
    for aggregates, limit in ((f"{MERGED},var:n,corr:i:u", "1MiB"), (KEPT, "3MiB"), ("", "64KiB")):
        chosen = ["--agg", aggregates] if aggregates else []
        arguments = ["r.parquet", "--keys", ",".join(keys), *chosen, "--ordered", "--temp-folder", spill_folder]
        limited_and_whole(join_on_each, limit, *arguments, whole=whole)


def test_few_groups_are_not_written(garuda, spill_folder):
    """Whatever the number of rows: only partial groups are kept. Against DuckDB."""
    rows = pa.table({"k": [i % 100 for i in range(300_000)], "v": range(300_000)})
    tables.write(garuda.folder / "r.parquet", rows, batch_rows=20_000)
    arguments = ["r.parquet", "--keys", "k", "--agg", "count,sum:v,min:v,mean:v", "--ordered", "-o", "out.arrow"]
    done = garuda.group_by(*arguments, "--memory-limit", "1MiB", "--temp-folder", spill_folder, "--stats=json")
    counted = counters(done)
    assert counted["state_blocks"] > 5 and "spilled_bytes" not in counted
    assert "states of 100 groups merged" in json.loads(done.stderr.splitlines()[-1])["plan"]["details"]["spilling"]
    query = "SELECT k, count(*), sum(v)::BIGINT, min(v), avg(v) FROM rows GROUP BY k ORDER BY k"
    expected = tables.rows_of(duckdb.sql(query).to_arrow_table())
    assert tables.rows_of(tables.read(garuda.folder / "out.arrow")) == expected


def test_groups_that_become_too_many_on_the_way(garuda, spill_folder):
    """Few in the first blocks: what was merged so far goes to partitions, too."""
    keys = [i % 10 if i < 60_000 else i for i in range(160_000)]
    rows = pa.table({"k": keys, "v": pa.array([i / 7 for i in range(160_000)])})
    tables.write(garuda.folder / "r.parquet", rows, batch_rows=10_000)
    arguments = ["r.parquet", "--keys", "k", "--agg", "count,sum:v,last:v,var:v", "--ordered"]
    counted = limited_and_whole(garuda, "2MiB", *arguments, "--temp-folder", spill_folder)
    assert counted["state_blocks"] > 1 and counted["spilled_partitions"] > 1


@pytest.mark.parametrize("extension", ["csv", "arrow", "feather"])
def test_every_format(garuda, spill_folder, all_rows, extension):
    rows = all_rows.select(["few", "word", "i", "s", "b"])
    tables.write(garuda.folder / f"r.{extension}", rows, batch_rows=3_000)
    for keys in ("few", "word,i"):
        arguments = [f"r.{extension}", "--keys", keys, "--agg", "count,sum:s,first:i,bool_or:b", "--ordered"]
        counted = limited_and_whole(garuda, "1MiB", *arguments, "--temp-folder", spill_folder)
        assert counted.get("state_blocks", 0) + counted.get("spilled_partitions", 0) > 1


@pytest.mark.parametrize("output", ["parquet", "csv"])
def test_results_larger_than_memory(garuda, spill_folder, output):
    rows = pa.table({"k": pa.array([i * 7_919 % 200_003 for i in range(200_000)]), "v": range(200_000)})
    tables.write(garuda.folder / "r.parquet", rows, batch_rows=20_000)
    arguments = ["r.parquet", "--keys", "k", "--agg", "sum:v=v", "--ordered", "--memory-limit", "2MiB"]
    garuda.group_by(*arguments, "--temp-folder", spill_folder, "-o", f"out.{output}")
    assert tables.rows_of(tables.read(garuda.folder / f"out.{output}")) == tables.rows_of(rows)


@pytest.mark.parametrize("limit", ["64KiB", "96KiB", "192KiB", "700KiB", "6MiB", "64MiB"])
def test_limits_from_tiny_to_enough(garuda, spill_folder, all_rows, limit):
    tables.write(garuda.folder / "r.parquet", all_rows.slice(0, 8_000).select(["word", "i", "n"]))
    arguments = ["r.parquet", "--keys", "word", "--agg", "count,sum:i,mean:n,max:n", "--ordered"]
    limited_and_whole(garuda, limit, *arguments, "--temp-folder", spill_folder)


def test_no_rows(garuda):
    rows = pa.table({"k": pa.array([], pa.int32()), "v": pa.array([], pa.float64())})
    tables.write(garuda.folder / "r.parquet", rows)
    for arguments in (["--keys", "k", "--agg", "sum:v"], ["--agg", "count,sum:v,var:v"], ["--keys", "k"]):
        limited_and_whole(garuda, "64KiB", "r.parquet", *arguments)


def test_overflow_names_the_group(garuda, spill_folder):
    """Parts may leave the type's range and come back; a total beyond it is an error."""
    most = 2**63 - 1
    values = [most] * 30_000 + [-most] * 30_000
    rows = pa.table({"k": pa.array([3] * 60_000), "v": pa.array(values, pa.int64())})
    tables.write(garuda.folder / "r.parquet", rows, batch_rows=5_000)
    arguments = ["group-by", "r.parquet", "--keys", "k", "--agg", "sum:v", "--memory-limit", "512KiB"]
    done = garuda.group_by(*arguments[1:], "-o", "out.arrow", "--stats=json")
    assert counters(done)["state_blocks"] > 2
    assert tables.rows_of(tables.read(garuda.folder / "out.arrow")) == [(3, 0)]
    (garuda.folder / "out.arrow").unlink()
    tables.write(garuda.folder / "r.parquet", rows.slice(0, 30_001), batch_rows=5_000)
    sentence = garuda.refused(BAD_INPUT, *arguments, "-o", "out.arrow")
    assert sentence.endswith("'sum_v' is beyond int64 in the group k = 3")
    decimals = pa.array([decimal.Decimal(10) ** 37 * 9] * 40_000 + [-(decimal.Decimal(10) ** 37) * 9] * 39_999)
    tables.write(garuda.folder / "r.parquet", pa.table({"v": decimals.cast(pa.decimal128(38, 0))}), batch_rows=5_000)
    garuda.group_by("r.parquet", "--agg", "sum:v", "--memory-limit", "512KiB", "-o", "out.arrow")
    assert tables.rows_of(tables.read(garuda.folder / "out.arrow")) == [(9 * decimal.Decimal(10) ** 37,)]


LARGE_GROUP = [
    "median:f,quantile:s:0.3,quantile:h:1,quantile:i:0,quantile:u:0.999,median:d,quantile:t:0.3,median:special,sum:f",
    "count_distinct:word,count_distinct:label,count_distinct:special,count_distinct:f,count_distinct:w,count_distinct:b",
    "min_n:word:3,max_n:f:5,min_n:label:200,max_n:special:2,min_n:h:1,max_n:w:4,min_n:b:3,first:word,product:p,var:n",
    "median:none",
    "count_distinct:none,min_n:none:2,count",
]


@pytest.mark.parametrize("aggregates", LARGE_GROUP, ids=["quantiles", "distinct", "extremes", "null", "nulls"])
@pytest.mark.parametrize("keys", [[], ["label"], ["label", "heavy"]], ids=["none", "one", "two"])
def test_groups_larger_than_the_limit(garuda, spill_folder, all_rows, keys, aggregates):
    """One group of all rows, two, and a large one among thousands."""
    rows = all_rows.slice(0, 8_000)
    label = pa.array(["a" if i % 5 else "b" for i in range(rows.num_rows)]).dictionary_encode()
    rows = rows.drop(["label"]).append_column("label", label if keys else rows["label"])
    rows = rows.append_column("none", pa.nulls(rows.num_rows, pa.float64()))
    wanted = {part.split(":")[1] for part in aggregates.split(",") if ":" in part}
    tables.write(garuda.folder / "r.parquet", rows.select(sorted({*keys, *wanted})), batch_rows=1_000)
    chosen = ["--keys", ",".join(keys)] if keys else []
    for limit, ordered in (("384KiB", []), ("512KiB", ["--ordered"])):
        arguments = ["r.parquet", *chosen, "--agg", aggregates, *ordered, "--temp-folder", spill_folder]
        counted = limited_and_whole(garuda, limit, *arguments)
        assert counted["large_groups"] >= 1
        assert list(spill_folder.iterdir()) == []


@pytest.mark.parametrize("keys", [[], ["--keys", "k"]], ids=["no keys", "one key"])
def test_a_group_whose_values_do_not_fit(garuda, spill_folder, keys):
    """A list as long as its group, and a type that is not sorted outside of memory."""
    wide = pa.array([decimal.Decimal(i) for i in range(60_000)], pa.decimal256(50, 0))
    rows = pa.table({"k": pa.array([3] * 60_000), "v": pa.array([float(i) for i in range(60_000)]), "w": wide})
    tables.write(garuda.folder / "r.parquet", rows, batch_rows=5_000)
    limited = ["--memory-limit", "512KiB", "--temp-folder", spill_folder, "-o", "out.arrow"]
    for aggregate in ("min_n:v:60000=kept", "median:w=kept"):
        sentence = garuda.refused(NO_ROOM, "group-by", "r.parquet", *keys, "--agg", f"count,{aggregate}", *limited)
        assert "'kept' keeps all values of a group, and the rows of one do not fit the memory limit" in sentence
        assert sentence.endswith(": 262144")
        assert list(spill_folder.iterdir()) == []


def test_explain_says_what_is_done(garuda, spill_folder, all_rows):
    tables.write(garuda.folder / "r.parquet", all_rows)
    explain = ["explain", "group-by", "r.parquet", "--json", "--temp-folder", spill_folder]

    def spilling(keys: str, aggregates: str = "count,sum:i", limit: str = "512KiB") -> str | None:
        done = garuda.run(*explain, "--keys", keys, "--agg", aggregates, "--memory-limit", limit)
        return json.loads(done.stdout)["details"].get("spilling")

    assert "rows to partitions by key" in spilling("many")
    assert spilling("few").startswith("21 groups in the first rows: rows grouped in blocks")
    assert spilling("few", "median:i").startswith("an aggregate keeps all values of a group: rows to partitions")
    assert spilling("few", limit="1GiB") is None
    assert list(spill_folder.iterdir()) == []


@pytest.fixture
def large(garuda):
    """3 MB in memory, each row a group."""
    rows = pa.table({"k": pa.array(range(200_000), pa.int64()), "v": pa.array(range(200_000), pa.int64())})
    tables.write(garuda.folder / "r.parquet", rows, batch_rows=50_000)
    return garuda


LARGE = ["group-by", "r.parquet", "--keys", "k", "--agg", "sum:v", "-o", "out.parquet", "--memory-limit", "2MiB", "--quiet"]


@pytest.mark.parametrize("ordered", [[], ["--ordered"]], ids=["unordered", "ordered"])
def test_full_disk(large, spill_folder, ordered):
    """A file system without room, or, where none can be mounted, a bound on the sizes of files."""
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=256k", "tmpfs", spill_folder], capture_output=True)
    if mounted.returncode == 0:
        try:
            sentence = large.refused(NO_ROOM, *LARGE, *ordered, "--temp-folder", spill_folder)
            assert sentence.endswith(f"cannot spill to {spill_folder}: no space left on device")
            assert list(spill_folder.iterdir()) == [] and os.statvfs(spill_folder).f_bavail > 50
        finally:
            subprocess.run(["umount", spill_folder], check=True)
    limit = {"preexec_fn": lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, 100_000))}
    sentence = large.refused(NO_ROOM, *LARGE, *ordered, "--temp-folder", spill_folder, **limit)
    assert sentence.endswith(f"cannot spill to {spill_folder}: file too large")
    assert list(spill_folder.iterdir()) == []


def test_unusable_temporary_folders(large, spill_folder, monkeypatch):
    assert "none: no such file or directory" in large.refused(NO_ROOM, *LARGE, "--temp-folder", "none")
    assert "r.parquet: not a directory" in large.refused(NO_ROOM, *LARGE, "--temp-folder", "r.parquet")
    assert "must not be empty" in large.refused(USAGE, *LARGE, "--temp-folder", "")
    spill_folder.chmod(0o500)
    if os.geteuid() != 0:
        assert "permission denied" in large.refused(NO_ROOM, *LARGE, "--temp-folder", spill_folder)
    monkeypatch.setenv("TMPDIR", "nowhere")
    assert "cannot spill to nowhere: no such file" in large.refused(NO_ROOM, *LARGE)


def test_truncated_input(large, spill_folder):
    """Found before or while rows are spilled: an error, and no output."""
    path = large.folder / "r.parquet"
    path.write_bytes(path.read_bytes()[:-5_000])
    assert "r.parquet" in large.refused(BAD_INPUT, *LARGE, "--temp-folder", spill_folder)
    assert list(spill_folder.iterdir()) == []


@pytest.mark.parametrize("signal_number", [signal.SIGINT, signal.SIGTERM])
def test_interrupted(garuda, spill_folder, signal_number):
    rows = pa.table({"k": pa.array([i * 7_919 % 2_000_003 for i in range(2_000_000)]), "v": range(2_000_000)})
    tables.write(garuda.folder / "r.arrow", rows, batch_rows=100_000)
    arguments = ["r.arrow", "--keys", "k", "--agg", "sum:v", "-o", "out.arrow", "--memory-limit", "4MiB", "--ordered"]
    for seconds in (0.3, 0.9, 1.8):
        with garuda.start("group-by", *arguments, "--temp-folder", spill_folder) as process:
            time.sleep(seconds)
            assert process.poll() is None
            assert list(spill_folder.iterdir()) == []
            process.send_signal(signal_number)
            _, messages = process.communicate(timeout=30)
        assert process.returncode == INTERRUPTED, messages
        assert sorted(path.name for path in garuda.folder.iterdir()) == ["r.arrow", "spilled"]


@pytest.mark.parametrize("extension", ["arrow", "parquet"])
@pytest.mark.parametrize("keys", ["few", "k"])
def test_peak_memory(garuda, spill_folder, keys, extension):
    """The process takes the limit, its memory without rows, and memory that allocators keep."""
    num_rows = 2_000_000
    rows = pa.table({"k": range(num_rows), "v": numpy.arange(num_rows) * 0.1, "few": numpy.arange(num_rows) % 50})
    tables.write(garuda.folder / f"r.{extension}", rows, batch_rows=50_000)
    tables.write(garuda.folder / "tiny.arrow", rows.slice(0, 10))
    grouped = ["--keys", keys, "--agg", "sum:v,count", "--threads", "2", "--temp-folder", spill_folder]
    base = garuda.peak("group-by", "tiny.arrow", *grouped, "-o", "out.parquet")
    peak = garuda.peak("group-by", f"r.{extension}", *grouped, "-o", "out.parquet", "--memory-limit", "16MiB")
    assert rows.nbytes > 46_000_000 and peak < base + (16 + 4 << 20)
