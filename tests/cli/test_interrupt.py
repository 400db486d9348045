"""Ctrl-C ends a run soon, with exit code 130, and leaves no file."""

from __future__ import annotations

import signal
import subprocess
import time

import pyarrow as pa
import pyarrow.parquet
import pytest
import tables

INTERRUPTED = 130
NUM_ROWS = 40_000
SECONDS_TO_STOP = 30


@pytest.fixture
def equal_keys():
    """Joined with itself, 1.6 billion rows: minutes of work."""
    return pa.table({"k": pa.array([7] * NUM_ROWS, pa.int32()), "a": pa.array(range(NUM_ROWS), pa.int32())})


def wait_for_output(garuda, process):
    """Waits until the run has written some of its temporary file."""
    for _ in range(600):
        assert process.poll() is None, process.communicate()
        if any(path.stat().st_size > 0 for path in garuda.folder.glob(".out*")):
            return
        time.sleep(0.05)
    raise AssertionError("the run has written nothing")


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


@pytest.mark.parametrize("output", [["--count"], ["-o", "out.csv"]])
def test_interrupted_while_reading_csv(garuda, output):
    """Tens of MB, at several moments of the reading; the process ends, too, not only its sentence."""
    lines = "".join(f"{i},{i * 7919 % 65521},some words of text\n" for i in range(100_000))
    (garuda.folder / "large.csv").write_text("k,v,w\n" + lines * 30)
    for seconds in (0.05, 0.1, 0.15, 0.2, 0.3, 0.4):
        with garuda.start("join", "large.csv", "large.csv", "--on", "k", *output) as process:
            time.sleep(seconds)
            process.send_signal(signal.SIGINT)
            _, messages = process.communicate(timeout=SECONDS_TO_STOP)
        assert process.returncode == INTERRUPTED, messages
        assert messages.count("interrupted") == 1, messages
        assert [path.name for path in garuda.folder.iterdir()] == ["large.csv"]


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
