"""garuda run beyond its memory limit: a full disk and Ctrl-C end it with one sentence and leave no file."""

from __future__ import annotations

import contextlib
import os
import pathlib
import resource
import signal
import subprocess
from collections.abc import Iterator

import pyarrow as pa
import pytest
import tables
from command import Garuda, deleted_files

pytest.importorskip("datafusion")
import plans  # noqa: E402

NO_ROOM, INTERRUPTED = 5, 130
ROWS = 200_000
SECONDS_TO_STOP = 30
QUERIES = {
    "group-by": "select k, text, count(*) as n, min(v) as v from t group by k, text",
    "join": "select a.k, a.text, b.v from t a join t b on a.k = b.v",
    "sort": "select * from t order by text, v",
}


@pytest.fixture(params=QUERIES)
def spilling(garuda: Garuda, request: pytest.FixtureRequest) -> tuple[Garuda, list[str], pathlib.Path]:
    """The command in a folder with a table, the arguments of a query that spills, and a folder for that."""
    keys = [i * 7919 % ROWS for i in range(ROWS)]
    table = pa.table({"k": keys, "v": pa.array(range(ROWS), pa.int64()), "text": [f"text number {i}" for i in keys]})
    tables.write(garuda.folder / "t.parquet", table)
    (garuda.folder / "plan").write_bytes(plans.substrait(QUERIES[request.param], {"t": table.schema}))
    folder = garuda.folder / "spill"
    folder.mkdir()
    arguments = ["run", "plan", "--table", "t=t.parquet", "--memory-limit", "1MiB", "--temp-folder", str(folder),
                 "--path", "cpu", "--quiet", "-o", "out.parquet"]  # fmt: skip
    return garuda, arguments, folder


@contextlib.contextmanager
def small_disk(folder: pathlib.Path) -> Iterator[bool]:
    """Whether a file system of 512 KiB could be mounted there."""
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=512k", "tmpfs", folder], capture_output=True)
    try:
        yield mounted.returncode == 0
    finally:
        if mounted.returncode == 0:
            subprocess.run(["umount", folder], check=True)


def test_a_full_disk(spilling: tuple[Garuda, list[str], pathlib.Path]) -> None:
    """A file system without room, where one can be mounted, and a bound on the sizes of files."""
    garuda, arguments, folder = spilling
    with small_disk(folder) as is_mounted:
        if is_mounted:
            sentence = garuda.refused(NO_ROOM, *arguments)
            assert sentence == f"garuda: cannot spill to {folder}: no space left on device"
            assert list(folder.iterdir()) == [] and os.statvfs(folder).f_bavail > 100
    limit = {"preexec_fn": lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, 20_000))}
    assert garuda.refused(NO_ROOM, *arguments, **limit) == f"garuda: cannot spill to {folder}: file too large"
    assert list(folder.iterdir()) == []
    done = garuda.run(*arguments)
    assert done.returncode == 0, done.stderr
    assert list(folder.iterdir()) == []


def test_interrupted_while_spilling(spilling: tuple[Garuda, list[str], pathlib.Path]) -> None:
    garuda, arguments, folder = spilling
    before = sorted(garuda.folder.iterdir())
    with garuda.start(*arguments) as process:
        while process.poll() is None and not deleted_files(process.pid, folder):
            pass
        process.send_signal(signal.SIGINT)
        _, messages = process.communicate(timeout=SECONDS_TO_STOP)
    assert process.returncode == INTERRUPTED, messages
    assert len(messages.splitlines()) == 1 and messages.startswith("garuda: "), messages
    assert sorted(garuda.folder.iterdir()) == before and list(folder.iterdir()) == []
