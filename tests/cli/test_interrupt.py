"""Ctrl-C ends a run soon, with exit code 130, and leaves no file."""

from __future__ import annotations

import os
import pathlib
import signal
import statistics
import subprocess
import time

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet
import pytest
import tables
from command import has_written

INTERRUPTED = 130
NUM_ROWS = 40_000
SECONDS_TO_STOP = 30
DISTINCT = 4_000_000 if os.environ.get("GARUDA_TEST_FULL") == "1" else 2_000_000


@pytest.fixture
def equal_keys():
    """Joined with itself, 1.6 billion rows: minutes of work."""
    return pa.table({"k": pa.array([7] * NUM_ROWS, pa.int32()), "a": pa.array(range(NUM_ROWS), pa.int32())})


def wait_for_output(garuda, process):
    """Waits until the run has written some of its temporary file."""
    for _ in range(600):
        assert process.poll() is None, process.communicate()
        if has_written(process.pid, garuda.folder):
            return
        time.sleep(0.05)
    raise AssertionError("the run has written nothing")


def wait_until_caught(process):
    """Waits until the process handles SIGINT: one that is still being loaded is ended by the system, without a word."""
    while process.poll() is None:
        status = pathlib.Path(f"/proc/{process.pid}/status").read_text(encoding="utf-8")
        caught = next(line for line in status.splitlines() if line.startswith("SigCgt:"))
        if int(caught.split()[1], 16) & 1 << (signal.SIGINT - 1):
            return
        time.sleep(0.001)


@pytest.mark.parametrize("output", ["out.parquet", "out.csv"])
@pytest.mark.parametrize("signal_number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_interrupted_while_writing(on_each, equal_keys, signal_number, output):
    tables.write(on_each.folder / "equal.parquet", equal_keys)
    with on_each.start("join", "equal.parquet", "equal.parquet", "--on", "k", "-o", output) as process:
        wait_for_output(on_each, process)
        process.send_signal(signal_number)
        _, messages = process.communicate(timeout=SECONDS_TO_STOP)
    assert process.returncode == INTERRUPTED, messages
    assert messages.splitlines()[-1].startswith("garuda: ")
    assert [path.name for path in on_each.folder.iterdir()] == ["equal.parquet"]


def test_a_second_signal_ends_at_once(garuda, equal_keys):
    tables.write(garuda.folder / "equal.parquet", equal_keys)
    with garuda.start("join", "equal.parquet", "equal.parquet", "--on", "k", "-o", "out.arrow") as process:
        wait_for_output(garuda, process)
        process.send_signal(signal.SIGINT)
        process.send_signal(signal.SIGTERM)
        process.communicate(timeout=SECONDS_TO_STOP)
    assert process.returncode == INTERRUPTED
    assert [path.name for path in garuda.folder.iterdir()] == ["equal.parquet"]


@pytest.fixture(scope="module")
def distinct_strings(tmp_path_factory):
    """A folder with a table of distinct strings in every format, each a second or two to read, group and write."""
    folder = tmp_path_factory.mktemp("distinct")
    numbers = pa.array(range(DISTINCT), pa.int64())
    strings = pc.binary_join_element_wise("value", numbers.cast(pa.string()), "-")
    rows = pa.table({"k": pc.bit_wise_xor(numbers, 0x2A_5A5A), "s": strings})
    for name in ("large.csv", "large.arrow", "large.parquet"):
        tables.write(folder / name, rows)
    return folder


@pytest.mark.parametrize(
    "command",
    [
        ["group-by", "large.csv", "--keys", "k", "--agg", "min:s", "-o", "out.arrow"],
        ["group-by", "large.arrow", "--keys", "s", "--agg", "min:s", "-o", "out.parquet"],
        ["group-by", "large.parquet", "--keys", "k", "--agg", "min:s", "-o", "out.csv"],
        ["join", "large.csv", "large.csv", "--on", "k", "--count"],
        ["join", "large.arrow", "large.parquet", "--on", "k", "-o", "out.parquet"],
        ["join", "large.parquet", "large.parquet", "--on", "k", "-o", "out.arrow", "--memory-limit", "256MiB"],
    ],
    ids=" ".join,
)
def test_interrupted_in_every_phase(garuda, distinct_strings, command):
    """Reading, encoding, working, spilling, writing: moments all over the run. The process ends, too."""
    inputs = sorted({path.name for path in distinct_strings.iterdir()} & {*command})
    for name in inputs:
        (garuda.folder / name).symlink_to(distinct_strings / name)
    start = time.monotonic()
    assert garuda.run(*command).returncode == 0
    whole = time.monotonic() - start
    output = garuda.folder / next((name for name in command if name.startswith("out.")), "none")
    output.unlink(missing_ok=True)
    waited = []
    for sixteenths in (1, 4, 8, 11):
        with garuda.start(*command) as process:
            time.sleep(whole * sixteenths / 16)
            wait_until_caught(process)
            start = time.monotonic()
            process.send_signal(signal.SIGINT)
            _, messages = process.communicate(timeout=SECONDS_TO_STOP)
        if process.returncode == 0:  # it was faster this time
            output.unlink(missing_ok=True)
            continue
        waited.append(time.monotonic() - start)
        assert process.returncode == INTERRUPTED, messages
        assert messages.count("garuda: interrupted\n") == 1, messages
        assert sorted(path.name for path in garuda.folder.iterdir()) == inputs
    # 200 ms, and what a machine with other work takes to free the process's memory.
    assert statistics.median(waited) < 0.3, waited
    assert max(waited) < 1, waited


def test_interrupted_within_a_fifth_of_a_second(garuda):
    """One row group and one batch of long strings: phases that ask for nothing while they last."""
    text = pa.array([f"{i} " * 200 for i in range(300_000)])
    rows = pa.table({"k": pa.array(range(300_000), pa.int64()), "text": text})
    pyarrow.parquet.write_table(rows, garuda.folder / "large.parquet", row_group_size=300_000, compression="gzip")
    waited = []
    for seconds in (0.2, 0.5, 0.8):
        join = ["large.parquet", "large.parquet", "--on", "k", "-o", "out.parquet"]
        with garuda.start("join", *join) as process:
            time.sleep(seconds)
            start = time.monotonic()
            process.send_signal(signal.SIGINT)
            _, messages = process.communicate(timeout=SECONDS_TO_STOP)
            waited.append(time.monotonic() - start)
        assert process.returncode == INTERRUPTED, messages
        assert messages.count("interrupted") == 1, messages
        assert [path.name for path in garuda.folder.iterdir()] == ["large.parquet"]
    # 200 ms and what a machine with other work takes to free the process's memory.
    assert min(waited) < 0.3, waited


def test_interrupted_without_output(on_each, equal_keys):
    tables.write(on_each.folder / "equal.parquet", equal_keys)
    with on_each.start("join", "equal.parquet", "equal.parquet", "--on", "k") as process:
        time.sleep(1.5)
        process.send_signal(signal.SIGINT)
        shown, messages = process.communicate(timeout=SECONDS_TO_STOP)
    assert (process.returncode, shown) == (INTERRUPTED, ""), messages


def test_hanging_up_under_nohup(garuda, equal_keys):
    """Who has SIGHUP ignored goes on without a terminal."""
    tables.write(garuda.folder / "equal.parquet", equal_keys.slice(0, 4_000))
    command = ["nohup", *garuda.arguments("join", "equal.parquet", "equal.parquet", "--on", "k", "-o", "out.csv")]
    pipes = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    with subprocess.Popen(command, cwd=garuda.folder, env=garuda.environment(), text=True, **pipes) as process:
        wait_for_output(garuda, process)
        process.send_signal(signal.SIGHUP)
        _, messages = process.communicate(timeout=SECONDS_TO_STOP)
    assert process.returncode == 0, messages
    assert (garuda.folder / "out.csv").exists()
