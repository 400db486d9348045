"""`garuda join` of files that do not fit --memory-limit: the same rows, spilled on the way, and nothing left behind."""

from __future__ import annotations

import json
import os
import pathlib
import resource
import signal
import subprocess
import time

import numpy
import pyarrow as pa
import pytest
import tables
from command import deleted_files, has_written

NO_ROOM = 5
INTERRUPTED = 130
LEFT_ROWS = 9_000
RIGHT_ROWS = 3_000
LIMIT = ["--memory-limit", "2MiB"]


@pytest.fixture
def spill_folder(tmp_path: pathlib.Path) -> pathlib.Path:
    folder = tmp_path / "spilled"
    folder.mkdir()
    return folder


def counters(done: subprocess.CompletedProcess[str]) -> dict[str, int]:
    return json.loads(done.stderr.splitlines()[-1])["counters"]


def sparse_keys(kind: str, num_rows: int, seed: int) -> pa.Table:
    """Every kind of payload; one in ten keys of the shorter side has matches."""
    rows = tables.table(kind, num_rows, seed)
    keys = [None if i % 11 == 0 else i * 7 % 30_011 for i in range(num_rows)]
    return rows.set_column(1, "k", pa.array(keys, pa.int64()))


@pytest.mark.parametrize("extension", ["parquet", "arrow"])
def test_spilled_join_gives_the_same_rows(on_each, spill_folder, extension):
    left, right = sparse_keys("int64", LEFT_ROWS, 1), sparse_keys("int64", RIGHT_ROWS, 2)
    tables.write(on_each.folder / f"l.{extension}", left)
    tables.write(on_each.folder / "r.parquet", right)
    join = [f"l.{extension}", "r.parquet", "--on", "k", "--temp-folder", spill_folder, "--stats=json", *LIMIT]
    done = on_each.join(*join, "-o", f"out.{extension}")
    counted = counters(done)
    assert counted["spilled_rows"] >= LEFT_ROWS + RIGHT_ROWS
    assert counted["spilled_bytes"] > 500_000 and counted["spilled_partitions"] >= 2
    expected = tables.expected_join(left, right, "k", "k")
    assert expected.num_rows > 1_000
    tables.assert_same_rows(tables.read(on_each.folder / f"out.{extension}"), expected)
    assert list(spill_folder.iterdir()) == []


def test_explain_says_what_is_spilled(garuda, spill_folder):
    left, right = sparse_keys("int64", LEFT_ROWS, 1), sparse_keys("int64", RIGHT_ROWS, 2)
    tables.write(garuda.folder / "l.parquet", left)
    tables.write(garuda.folder / "r.parquet", right)
    join = ["explain", "join", "l.parquet", "r.parquet", "--on", "k", "--temp-folder", spill_folder, "--json"]
    plan = json.loads(garuda.run(*join, "--memory-limit", "1MiB").stdout)
    assert "partitions of both tables" in plan["details"]["spilling"]
    assert any("were spilled" in note for note in plan["notes"])
    roomy = json.loads(garuda.run(*join, "--memory-limit", "1GiB").stdout)
    assert "spilling" not in roomy["details"] and roomy["candidates"]
    assert list(spill_folder.iterdir()) == []


@pytest.mark.parametrize("kind", tables.KEYS)
def test_every_key_type(garuda, spill_folder, kind):
    left, right = tables.table(kind, 2_500, 3), tables.table(kind, 1_500, 4)
    tables.write(garuda.folder / "l.parquet", left)
    tables.write(garuda.folder / "r.parquet", right)
    join = ["l.parquet", "r.parquet", "--on", "k", "--temp-folder", spill_folder, "--memory-limit", "32KiB"]
    done = garuda.join(*join, "--count", "--stats=json")
    assert counters(done)["spilled_rows"] > 0
    assert done.stdout == f"{tables.expected_join(left, right, 'k', 'k').num_rows}\n"


def test_keys_of_different_widths(garuda, spill_folder):
    left = pa.table({"k": pa.array([i % 200 for i in range(60_000)], pa.uint8()), "a": range(60_000)})
    right = pa.table({"k": pa.array(range(-100, 300), pa.int64()), "b": range(400)})
    tables.write(garuda.folder / "l.parquet", left)
    tables.write(garuda.folder / "r.parquet", right)
    join = ["l.parquet", "r.parquet", "--on", "k", "--temp-folder", spill_folder, "--memory-limit", "1MiB"]
    done = garuda.join(*join, "-o", "out.parquet", "--stats=json")
    assert counters(done)["spilled_rows"] == 60_400
    tables.assert_same_rows(tables.read(garuda.folder / "out.parquet"), tables.expected_join(left, right, "k", "k"))


@pytest.mark.parametrize("kind", ["inner", "full"])
def test_peak_memory(garuda, spill_folder, kind):
    """The process takes the limit, its memory without rows, and memory that allocators keep."""
    count = 1_500_000
    keys = numpy.random.default_rng(1).permutation(count)
    left = pa.table({"k": keys, "a": keys * 2, "s": pa.array(numpy.array([f"left {i}" for i in range(1000)])[keys % 1000])})
    right = pa.table({"k": keys[::-2], "b": keys[::2] * 1.5})
    for name, rows in (("l", left), ("r", right), ("tiny", right.slice(0, 10))):
        tables.write(garuda.folder / f"{name}.parquet", rows, batch_rows=100_000)
    joined = ["--on", "k", "--how", kind, "--threads", "2", "--temp-folder", spill_folder, "-o", "out.parquet"]
    base = garuda.peak("join", "tiny.parquet", "tiny.parquet", *joined)
    peak = garuda.peak("join", "l.parquet", "r.parquet", *joined, "--memory-limit", "16MiB")
    assert left.nbytes + right.nbytes > 50_000_000 and peak < base + (16 + 4 << 20)


@pytest.mark.parametrize("ordered", [[], ["--ordered"]], ids=["unordered", "ordered"])
def test_views_are_spilled_with_the_values_of_their_rows(garuda, spill_folder, ordered):
    """Spilled views take their own strings along, not all that lay in the same buffer."""
    words = [None if i % 7 == 0 else f"{i}" if i % 3 else f"more than a view holds itself: {i}" for i in range(60_000)]
    keys = [i * 7_919 % 60_000 for i in range(60_000)]
    tables.write(garuda.folder / "r.arrow", pa.table({"k": keys, "b": range(60_000)}), batch_rows=5_000)
    spilled = []
    for kind in (pa.string(), pa.string_view()):
        chunks = [pa.array(words[i : i + 5_000], kind) for i in range(0, 60_000, 5_000)]
        tables.write(garuda.folder / "l.arrow", pa.table({"k": range(60_000), "w": pa.chunked_array(chunks)}), batch_rows=5_000)
        join = ["l.arrow", "r.arrow", "--on", "k", "--temp-folder", spill_folder, "--stats=json", *ordered]
        done = garuda.join(*join, "-o", "out.arrow", "--memory-limit", "1MiB")
        spilled.append(counters(done)["spilled_bytes"])
        rows = sorted(tables.rows_of(tables.read(garuda.folder / "out.arrow")))
        assert [row[1] for row in rows] == words
    assert spilled[1] < 1.5 * spilled[0]


def test_csv_spills(garuda, spill_folder):
    kept = ["row", "k", "flag", "number", "real", "day", "word"]
    left = sparse_keys("int64", 20_000, 5).select(kept)
    right = sparse_keys("int64", RIGHT_ROWS, 6).select(kept)
    for name, rows in (("l.csv", left), ("r.csv", right)):
        tables.write(garuda.folder / name, rows)
    join = ["l.csv", "r.csv", "--on", "k", "--temp-folder", spill_folder, *LIMIT, "--stats=json"]
    done = garuda.join(*join, "-o", "out.parquet")
    assert counters(done)["spilled_rows"] > 0
    left, right = tables.read(garuda.folder / "l.csv"), tables.read(garuda.folder / "r.csv")
    expected = tables.expected_join(left, right, "k", "k")
    tables.assert_same_rows(tables.read(garuda.folder / "out.parquet"), expected)


def test_csv_whose_types_show_late(garuda, spill_folder):
    """The types, and so the result, are those of a run without a limit."""
    lines = "".join(f"{i},{i % 13}\n" for i in range(500_000))
    (garuda.folder / "l.csv").write_text("k,a\n" + lines + "7,1.5\n")
    (garuda.folder / "r.csv").write_text("k,b\n7,x\n")
    join = ["l.csv", "r.csv", "--on", "k", "--temp-folder", spill_folder]
    garuda.join(*join, "-o", "whole.parquet")
    garuda.join(*join, *LIMIT, "-o", "limited.parquet")
    whole, limited = (tables.read(garuda.folder / f"{name}.parquet") for name in ("whole", "limited"))
    assert str(whole.schema.field("a").type) == "double" and whole.num_rows == 2
    tables.assert_same_rows(limited, whole)


@pytest.mark.parametrize(("left_rows", "right_rows"), [(60_000, 60_000), (3, 60_000), (60_000, 3)])
def test_one_key_larger_than_the_limit(garuda, spill_folder, left_rows, right_rows):
    """Splitting by keys cannot help, so blocks of both sides are joined."""
    for name, num_rows in (("l", left_rows), ("r", right_rows)):
        rows = pa.table({"k": pa.array([7] * num_rows, pa.int32()), name: pa.array(range(num_rows), pa.int64())})
        tables.write(garuda.folder / f"{name}.parquet", rows, batch_rows=10_000)
    join = ["l.parquet", "r.parquet", "--on", "k", "--temp-folder", spill_folder, "--memory-limit", "1MiB"]
    done = garuda.join(*join, "--count", "--stats=json")
    assert done.stdout == f"{left_rows * right_rows}\n"
    assert counters(done)["block_partitions"] == 1
    if min(left_rows, right_rows) == 3:
        garuda.join(*join, "-o", "out.parquet")
        result = tables.read(garuda.folder / "out.parquet")
        pairs = set(zip(result["l"].to_pylist(), result["r"].to_pylist()))
        assert result.num_rows == len(pairs) == left_rows * right_rows


EVERY_KIND = ["inner", "left", "right", "full", "semi", "anti", "mark"]


def same_in_order(garuda, spill_folder, limit, kind, *columns):
    """The rows of a run without a limit, in their order; returns the counters of the limited run."""
    ordered = ["l.parquet", "r.parquet", "--on", "k", "--how", kind, "--ordered", *columns]
    garuda.join(*ordered, "-o", "whole.arrow")
    limited = ["--memory-limit", limit, "--temp-folder", spill_folder, "--stats=json"]
    done = garuda.join(*ordered, *limited, "-o", "limited.arrow")
    whole, limited = (tables.read(garuda.folder / f"{name}.arrow") for name in ("whole", "limited"))
    assert limited.schema == whole.schema
    assert tables.rows_of(limited) == tables.rows_of(whole)
    assert list(spill_folder.iterdir()) == []
    return counters(done)


@pytest.mark.parametrize("kind", EVERY_KIND)
def test_ordered_rows(on_each, spill_folder, kind):
    for name, rows, seed in (("l", 2_500, 3), ("r", 1_500, 4)):
        tables.write(on_each.folder / f"{name}.parquet", tables.table("int64", rows, seed))
    counted = same_in_order(on_each, spill_folder, "500KiB", kind)
    assert counted["spilled_rows"] >= 4_000 and counted["sorted_runs"] > 1


@pytest.mark.parametrize("kind", EVERY_KIND)
def test_ordered_rows_of_chosen_columns(garuda, spill_folder, kind):
    """Memory is so little that runs are merged in several passes."""
    for name, rows, seed in (("l", 1_200, 3), ("r", 800, 4)):
        tables.write(garuda.folder / f"{name}.parquet", tables.table("int64", rows, seed))
    right = [] if kind in ("semi", "anti", "mark") else ["right.word", "right.k"]
    counted = same_in_order(
        garuda, spill_folder, "48KiB", kind, "--columns", ",".join(["left.label", *right, "left.row"])
    )
    assert counted["spilled_rows"] >= 2_000 and counted["sorted_runs"] > 4


@pytest.mark.parametrize("kind", EVERY_KIND)
@pytest.mark.parametrize(("left_rows", "right_rows"), [(30_000, 3), (3, 30_000), (400, 300)])
def test_ordered_rows_of_blocks(garuda, spill_folder, kind, left_rows, right_rows):
    """One key, or null, fills a partition, whose blocks are so many runs; the tables are wide."""

    def rows(name, count, least):
        keys = [None if i % 3 == 0 else 7 if i % 5 else least + i % 2 for i in range(count)]
        wide = pa.array([f"{i}" * (40 if count < 1_000 else 1) for i in range(count)])
        return pa.table({"k": pa.array(keys, pa.int32()), name: pa.array(range(count), pa.int64()), f"w{name}": wide})

    for name, count, least in (("l", left_rows, 100), ("r", right_rows, 101)):
        tables.write(garuda.folder / f"{name}.parquet", rows(name, count, least), batch_rows=1_000)
    assert same_in_order(garuda, spill_folder, "80KiB", kind)["spilled_rows"] > 0


@pytest.mark.parametrize("kind", EVERY_KIND)
def test_ordered_rows_of_a_condition(garuda, spill_folder, kind):
    for name, rows, seed in (("l", 2_000, 3), ("r", 1_500, 4)):
        tables.write(garuda.folder / f"{name}.parquet", tables.table("int16", rows, seed))
    counted = same_in_order(garuda, spill_folder, "400KiB", kind, "--where", "left.row < right.row and right.tiny > 0")
    assert counted["spilled_rows"] > 3_000


def test_ordered_rows_on_a_full_disk(large, spill_folder):
    limit = {"preexec_fn": lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, 100_000))}
    sentence = large.refused(NO_ROOM, *LARGE, "--ordered", "--temp-folder", spill_folder, **limit)
    assert sentence.endswith(f"cannot spill to {spill_folder}: file too large")
    assert list(spill_folder.iterdir()) == []


def test_small_tables_stay_in_memory(garuda):
    left, right = tables.table("int32", 500, 7), tables.table("int32", 500, 8)
    tables.write(garuda.folder / "l.parquet", left)
    tables.write(garuda.folder / "r.parquet", right)
    missing = garuda.folder / "missing"
    join = ["l.parquet", "r.parquet", "--on", "k", "-o", "out.parquet", "--memory-limit", "64MiB", "--ordered"]
    done = garuda.join(*join, "--temp-folder", missing, "--stats=json")
    assert "spilled_rows" not in counters(done)
    expected = tables.expected_join(left, right, "k", "k")
    tables.assert_same_rows(tables.read(garuda.folder / "out.parquet"), expected, ordered=True)


@pytest.fixture
def large(garuda):
    """Two tables of 3 MB in memory."""
    for name in ("l", "r"):
        rows = pa.table({"k": pa.array(range(200_000), pa.int64()), name: pa.array(range(200_000), pa.int64())})
        tables.write(garuda.folder / f"{name}.parquet", rows, batch_rows=50_000)
    return garuda


LARGE = ["join", "l.parquet", "r.parquet", "--on", "k", "-o", "out.parquet", *LIMIT, "--quiet"]


def test_full_disk(large, spill_folder):
    """A file system without room, or, where none can be mounted, a bound on the sizes of files."""
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=256k", "tmpfs", spill_folder], capture_output=True)
    if mounted.returncode == 0:
        try:
            sentence = large.refused(NO_ROOM, *LARGE, "--temp-folder", spill_folder)
            assert sentence.endswith(f"cannot spill to {spill_folder}: no space left on device")
            assert list(spill_folder.iterdir()) == [] and os.statvfs(spill_folder).f_bavail > 50
        finally:
            subprocess.run(["umount", spill_folder], check=True)
    limit = {"preexec_fn": lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, 100_000))}
    sentence = large.refused(NO_ROOM, *LARGE, "--temp-folder", spill_folder, **limit)
    assert sentence.endswith(f"cannot spill to {spill_folder}: file too large")
    assert list(spill_folder.iterdir()) == []


def test_unusable_temporary_folders(large, spill_folder, monkeypatch):
    assert "none: no such file or directory" in large.refused(NO_ROOM, *LARGE, "--temp-folder", "none")
    assert "l.parquet: not a directory" in large.refused(NO_ROOM, *LARGE, "--temp-folder", "l.parquet")
    spill_folder.chmod(0o500)
    if os.geteuid() != 0:
        assert "permission denied" in large.refused(NO_ROOM, *LARGE, "--temp-folder", spill_folder)
    monkeypatch.setenv("TMPDIR", "nowhere")
    assert "cannot spill to nowhere: no such file" in large.refused(NO_ROOM, *LARGE)


@pytest.fixture
def endless(garuda, spill_folder):
    """A join that has spilled and then takes minutes, started; with the folder of its files."""
    rows = pa.table({"k": pa.array([i % 3 for i in range(200_000)], pa.int32()), "a": range(200_000)})
    tables.write(garuda.folder / "equal.parquet", rows, batch_rows=50_000)
    join = ["equal.parquet", "equal.parquet", "--on", "k", "-o", "out.parquet", "--memory-limit", "512KiB"]
    with garuda.start("join", *join, "--temp-folder", spill_folder) as process:
        for _ in range(600):
            assert process.poll() is None, process.communicate()
            spilled = deleted_files(process.pid, spill_folder)
            if spilled and has_written(process.pid, garuda.folder):
                break
            time.sleep(0.02)
        yield process
        process.kill()


@pytest.mark.parametrize("signal_number", [signal.SIGINT, signal.SIGTERM])
def test_interrupted_while_spilled(endless, garuda, spill_folder, signal_number):
    assert list(spill_folder.iterdir()) == []  # also while it runs
    endless.send_signal(signal_number)
    _, messages = endless.communicate(timeout=30)
    assert endless.returncode == INTERRUPTED, messages
    assert sorted(path.name for path in garuda.folder.iterdir()) == ["equal.parquet", "spilled"]
    assert list(spill_folder.iterdir()) == []


def test_the_temporary_folder_may_vanish(endless, spill_folder):
    spill_folder.rmdir()
    time.sleep(0.5)
    assert endless.poll() is None


def test_damaged_spill_files(endless, spill_folder):
    """Somebody cuts what was spilled short: an error, not fewer rows."""
    for link in deleted_files(endless.pid, spill_folder):
        os.truncate(link, link.stat().st_size // 10)
    _, messages = endless.communicate(timeout=60)
    assert endless.returncode == NO_ROOM, messages
    assert f"spilled rows cannot be read back: cannot spill to {spill_folder}" in messages


@pytest.mark.parametrize("options", [["--memory-limit", "1MiB"], ["--count", "--memory-limit", "256KiB"]])
def test_a_spilled_join_without_a_match_names_its_path(on_each, spill_folder, options):
    left = sparse_keys("int64", LEFT_ROWS, 1).set_column(1, "k", pa.array([None] * LEFT_ROWS, pa.int64()))
    tables.write(on_each.folder / "l.parquet", left)
    tables.write(on_each.folder / "r.parquet", sparse_keys("int64", RIGHT_ROWS, 2))
    join = ["l.parquet", "r.parquet", "--on", "k", "--temp-folder", spill_folder, "--stats=json"]
    stats = json.loads(on_each.join(*join, *options).stderr.splitlines()[-1])
    assert stats["path"] == on_each.path and stats["device"] == stats["plan"]["device"]
    assert stats["rows_out"] == 0 and stats["counters"]["spilled_rows"] > 0


@pytest.mark.parametrize("limit", [[], ["--memory-limit", "64MiB"]])
@pytest.mark.parametrize("keys", [[], [None] * 50])
def test_carried_payload_of_a_side_without_keys(garuda, keys, limit):
    tables.write(garuda.folder / "e.arrow", pa.table({"k": pa.array(keys, pa.int64()), "v": pa.array(keys, pa.int32())}))
    tables.write(garuda.folder / "t.arrow", pa.table({"k": pa.array(range(1_000), pa.int64()), "w": range(1_000)}))
    tuning = ["--path", "cpu", "--tuning", "payload=carry,radix_bits=6", *limit]
    for sides in (["e.arrow", "t.arrow"], ["t.arrow", "e.arrow"], ["e.arrow", "e.arrow"]):
        garuda.join(*sides, "--on", "k", *tuning, "-o", "out.parquet")
        assert tables.read(garuda.folder / "out.parquet").num_rows == 0


def test_dictionaries_of_partitions_without_rows(garuda, spill_folder):
    """All partitions have one dictionary, also where one side has no rows."""
    rows = 20_000
    indices = pa.array([i % 1_500 for i in range(rows)], pa.int16())
    words = pa.DictionaryArray.from_arrays(indices, [f"w{i}" for i in range(1_500)])
    left = pa.table({"k": pa.array([7] * rows, pa.int64()), "d": words, "pad": ["x" * 40] * rows})
    right = pa.table({"k": pa.array(range(8, rows + 8), pa.int64()), "v": ["y" * 40] * rows})
    tables.write(garuda.folder / "l.arrow", left, 5_000)
    tables.write(garuda.folder / "r.arrow", right, 5_000)
    limit = ["--memory-limit", "1MiB", "--temp-folder", spill_folder]
    there, back = ["l.arrow", "r.arrow"], ["r.arrow", "l.arrow"]
    for sides, how in ((there, "full"), (back, "full"), (back, "left")):
        garuda.join(*sides, "--on", "k", "--how", how, *limit, "-o", "out.arrow")
        found = tables.read(garuda.folder / "out.arrow")["d"].to_pylist()
        expected = words.to_pylist() if how == "full" else []
        assert sorted(word for word in found if word is not None) == sorted(expected), (sides, how)
        assert len(found) == rows + len(expected)
