"""Arrow IPC streams as inputs, whatever their name; results are files."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.ipc
import pytest
import tables

USAGE, BAD_INPUT = 2, 3
LIMITS = [[], ["--memory-limit", "64MiB"]]


def write_stream(path, rows: pa.Table, batch_rows: int, compression: str | None = None, end: bool = True) -> None:
    options = pa.ipc.IpcWriteOptions(compression=compression, emit_dictionary_deltas=True)
    with pa.OSFile(str(path), "wb") as file:
        writer = pa.ipc.new_stream(file, rows.schema, options=options)
        for batch in rows.to_batches(max_chunksize=batch_rows):
            writer.write_batch(batch)
        if end:
            writer.close()


@pytest.mark.parametrize("limit", LIMITS, ids=["whole", "limit"])
@pytest.mark.parametrize("compression", [None, "lz4", "zstd"])
@pytest.mark.parametrize("batch_rows", [50, 700, 5_000])
def test_joins_of_streams(garuda, batch_rows, compression, limit):
    left, right = tables.table("int32", 2_500, 1), tables.table("int32", 1_500, 2)
    write_stream(garuda.folder / "l.arrows", left, batch_rows, compression)
    write_stream(garuda.folder / "r.arrow", right, batch_rows, compression, end=False)
    garuda.join("l.arrows", "r.arrow", "--on", "k", "-o", "out.arrow", "--ordered", *limit)
    expected = tables.expected_join(left, right, "k", "k")
    tables.assert_same_rows(tables.read(garuda.folder / "out.arrow"), expected, ordered=True)


@pytest.mark.parametrize("limit", LIMITS, ids=["whole", "limit"])
def test_group_bys_of_streams(garuda, limit):
    rows = pa.table({"w": pa.array(["a", None, "b", "a"] * 500).dictionary_encode(), "n": range(2_000)})
    # Batches bring dictionaries of their own: the later ones replace those before.
    halves = [rows.slice(0, 1_000), pa.table({"w": pa.array(["b", "z"] * 50).dictionary_encode(), "n": range(100)})]
    with pa.OSFile(str(garuda.folder / "t.arrows"), "wb") as file, pa.ipc.new_stream(file, rows.schema) as writer:
        for half in halves:
            for batch in half.to_batches():
                writer.write_batch(batch)
    garuda.group_by("t.arrows", "--keys", "w", "--agg", "count,sum:n", "--ordered", "-o", "out.parquet", *limit)
    sums: dict = {}
    for half in halves:
        for word, number in zip(half["w"].to_pylist(), half["n"].to_pylist()):
            count, total = sums.get(word, (0, 0))
            sums[word] = (count + 1, total + number)
    found = tables.read(garuda.folder / "out.parquet").to_pydict()
    assert dict(zip(found["w"], zip(found["count"], found["sum_n"]))) == sums


def test_streams_without_rows_and_damaged_ones(garuda):
    rows = tables.table("int32", 900, 3)
    write_stream(garuda.folder / "none.arrows", rows.slice(0, 0), 100)
    garuda.group_by("none.arrows", "--keys", "k", "-o", "out.arrow")
    assert tables.read(garuda.folder / "out.arrow").num_rows == 0
    write_stream(garuda.folder / "whole.arrows", rows, 100)
    whole = (garuda.folder / "whole.arrows").read_bytes()
    for kept in (4, 40, len(whole) // 2, len(whole) - 100):
        (garuda.folder / "cut.arrows").write_bytes(whole[:kept])
        done = garuda.run("group-by", "cut.arrows", "--keys", "k", "--path", "cpu")
        assert done.returncode == BAD_INPUT, (kept, done.stderr)
        assert done.stderr.splitlines()[-1].startswith("garuda: cannot read cut.arrows: ")
    (garuda.folder / "foreign.arrows").write_text("k,v\n1,2\n")
    assert garuda.run("group-by", "foreign.arrows", "--keys", "k", "--path", "cpu").returncode == BAD_INPUT


@pytest.mark.parametrize("mode", ["dense", "sparse"])
def test_unions_without_rows(garuda, mode):
    """Readers give unions without rows no buffers: in batches without rows, and in lists without values."""
    count = 3_000
    kinds = pa.array([i % 2 for i in range(count)], pa.int8())
    numbers, texts = pa.array(range(count), pa.int32()), pa.array([str(i) for i in range(count)])
    if mode == "dense":
        places = pa.array([i // 2 for i in range(count)], pa.int32())
        unions = pa.UnionArray.from_dense(kinds, places, [numbers, texts])
    else:
        unions = pa.UnionArray.from_sparse(kinds, [numbers, texts])
    lists = pa.ListArray.from_arrays(pa.array([0] * (count + 1), pa.int32()), unions.slice(0, 0))
    rows = pa.table({"k": pa.array([i * 7 % count for i in range(count)]), "u": unions, "l": lists})
    batch = rows.to_batches()[0]
    for name in ("l.arrows", "r.arrows"):
        with pa.ipc.new_stream(str(garuda.folder / name), rows.schema) as writer:
            for some in (batch.slice(0, 0), batch, batch.slice(0, 0)):
                writer.write_batch(some)
    garuda.join("l.arrows", "r.arrows", "--on", "k", "--ordered", "-o", "out.arrow", "--memory-limit", "96KiB")
    joined = tables.read(garuda.folder / "out.arrow")
    for i, column in enumerate(rows.column_names[1:], start=1):
        assert joined.column(i).to_pylist() == rows[column].to_pylist()


def test_streams_are_not_written(garuda):
    tables.write(garuda.folder / "t.parquet", tables.table("int32", 10, 4))
    done = garuda.run("group-by", "t.parquet", "--keys", "k", "-o", "out.arrows")
    assert done.returncode == USAGE
    assert "streams are read, not written" in done.stderr
