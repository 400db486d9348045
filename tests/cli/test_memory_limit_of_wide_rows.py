"""`--memory-limit` and what rows alone do not show: values of megabytes, and thousands of columns. A run stays within its
limit and gives the same rows, or ends with exit code 5 and says what it would have needed."""

from __future__ import annotations

import pathlib
import time

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest
import tables
from command import Garuda

NO_ROOM = 5
MIB = 1 << 20
WIDE_COLUMNS = 5_000
WIDE_ROWS = 1_000
LONG_VALUES = 24
GROUP_ROWS = 2_000_000


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> pathlib.Path:
    folder = tmp_path_factory.mktemp("wide")
    random = np.random.default_rng(1)
    wide = {"k": np.arange(WIDE_ROWS)} | {f"c{i}": random.integers(0, 100, WIDE_ROWS) for i in range(WIDE_COLUMNS)}
    tables.write(folder / "wide.parquet", pa.table(wide), batch_rows=250)
    tables.write(folder / "keys.parquet", pa.table({"k": np.arange(10**6)}))
    for mib in (1, 10):
        text = pa.array([chr(97 + i) * (mib * MIB - i) for i in range(LONG_VALUES)], pa.large_string())
        rows = pa.table({"k": np.arange(LONG_VALUES), "text": text, "list": pa.array([[f"{i}"] for i in range(LONG_VALUES)])})
        for name, coded in (("coded", True), ("plain", False)):
            options = {"row_group_size": 4, "use_dictionary": coded, "compression": "zstd"}
            pa.parquet.write_table(rows, folder / f"{name}{mib}.parquet", **options)
        tables.write(folder / f"plain{mib}.arrow", rows, batch_rows=2)
    # Batches of 40 MiB; `rows` has the longest values.
    tables.write(folder / "text.arrow", rows.drop_columns("list"), batch_rows=4)
    items = pa.LargeListArray.from_arrays(np.arange(LONG_VALUES + 1), text)
    fields = pa.StructArray.from_arrays([text, pa.array(range(LONG_VALUES))], ["a", "b"])
    tables.write(folder / "nested.arrow", pa.table({"k": np.arange(LONG_VALUES), "items": items, "fields": fields}), batch_rows=2)
    tables.write(folder / "text.csv", rows.drop_columns("list"))
    return folder


def run_within(garuda: Garuda, limit: int, *arguments: str) -> int:
    """The exit code of a run whose anonymous memory stays under 1.25 times its limit of so many MiB."""
    most = 0
    with garuda.start(*arguments, "--memory-limit", f"{limit}MiB", "--temp-folder", garuda.folder) as process:
        while process.poll() is None:
            try:
                status = pathlib.Path(f"/proc/{process.pid}/status").read_text()
            except OSError:
                break
            most = max([most, *(int(line.split()[1]) << 10 for line in status.splitlines() if line.startswith("RssAnon"))])
            time.sleep(0.003)
        said = process.communicate()[1]
        assert process.returncode in (0, NO_ROOM), said
        if process.returncode == NO_ROOM:
            assert "--memory-limit is too small" in said or "do not fit the memory limit" in said
    assert most < 1.25 * limit * MIB
    return process.returncode


@pytest.mark.parametrize(
    "asked",
    [
        ["join", "wide.parquet", "keys.parquet", "--on", "k"],
        ["join", "wide.parquet", "keys.parquet", "--on", "k", "--how", "full"],
        ["group-by", "wide.parquet", "--keys", "k", "--agg", ",".join(f"sum:c{i}" for i in range(WIDE_COLUMNS))],
    ],
    ids=["inner", "full", "sums"],
)
def test_thousands_of_columns(folder, asked):
    garuda = Garuda(folder, path="cpu")
    assert run_within(garuda, 64, *asked, "-o", "out.parquet") == NO_ROOM
    assert not (folder / "out.parquet").exists()


@pytest.mark.parametrize("keys", [[], ["--keys", "k"]], ids=["no keys", "one key"])
def test_all_values_of_a_large_group(folder, keys):
    """16 MB of values that are aggregated together."""
    garuda = Garuda(folder, path="cpu")
    rows = pa.table({"k": np.full(GROUP_ROWS, 7), "x": np.random.default_rng(2).normal(size=GROUP_ROWS)})
    tables.write(folder / "group.parquet", rows, batch_rows=100_000)
    asked = ["group-by", "group.parquet", *keys, "--agg", "median:x,quantile:x:0.9,count_distinct:x,max_n:x:3"]
    garuda.run(*asked, "-o", "whole.arrow")
    assert run_within(garuda, 64, *asked, "-o", "limited.arrow") == 0
    assert tables.read(folder / "limited.arrow").equals(tables.read(folder / "whole.arrow"))


LONG = [
    ["join", "{}", "keys.parquet", "--on", "k", "--ordered"],
    ["join", "{}", "{}", "--on", "k", "--how", "left", "--ordered"],
    ["group-by", "{}", "--agg", "max:text,first:text"],
    ["group-by", "{}", "--keys", "k", "--agg", "min:text,last:text,count_distinct:text", "--ordered"],
]


@pytest.mark.parametrize("extension", ["parquet", "arrow", "csv"])
@pytest.mark.parametrize("asked", LONG, ids=["inner", "left", "whole", "groups"])
@pytest.mark.parametrize("name", ["plain1.parquet", "coded1.parquet", "plain1.arrow", "plain10.parquet", "coded10.parquet"])
def test_values_of_megabytes(folder, tmp_path, name, asked, extension):
    if extension == "csv" and asked[0] == "join":
        pytest.skip("lists have no text")
    garuda = Garuda(folder, path="cpu")
    words = [word.format(name) for word in asked]
    limited, whole = tmp_path / f"limited.{extension}", tmp_path / f"whole.{extension}"
    if run_within(garuda, 64, *words, "-o", str(limited)) == NO_ROOM:
        assert not limited.exists()
        return
    assert garuda.run(*words, "-o", str(whole)).returncode == 0
    if extension == "csv":
        assert limited.read_bytes() == whole.read_bytes()
    else:
        assert tables.read(limited).equals(tables.read(whole))


@pytest.mark.parametrize(
    "asked",
    [
        ["join", "text.arrow", "keys.parquet", "--on", "k"],
        ["join", "text.arrow", "text.arrow", "--on", "k", "--how", "full", "--columns", "left.text,right.k"],
        ["join", "nested.arrow", "keys.parquet", "--on", "k"],
        ["group-by", "text.arrow", "--keys", "k", "--agg", "max:text"],
        ["group-by", "text.arrow", "--agg", "max:text"],
        ["join", "text.csv", "keys.parquet", "--on", "k"],
        ["group-by", "text.csv", "--agg", "max:text"],
    ],
    ids=["join", "columns", "nested", "groups", "some-columns", "csv-join", "csv-groups"],
)
def test_batches_of_long_values(folder, tmp_path, asked):
    run_within(Garuda(folder, path="cpu"), 64, *asked, "-o", str(tmp_path / "out.arrow"))
