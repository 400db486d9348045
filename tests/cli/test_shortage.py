"""A host without threads, address space or memory: the result, or one sentence and exit code 5, never a signal."""

from __future__ import annotations

import os
import pathlib
import resource

import pyarrow as pa
import pytest
import tables
from command import COMMAND, Garuda

DONE, NO_ROOM = 0, 5
ROWS = 60_000
FEW_THREADS = COMMAND.parent.parent / "tests/libgaruda_few_threads.so"
FAILING_ALLOCATIONS = COMMAND.parent.parent / "tests/libgaruda_failing_allocations.so"
# Beyond these all threads that four of each library take are there.
MOST_THREADS = 24
# Below, the libraries' own initialisers end the process.
LEAST_MIB, MOST_MIB, STEP_MIB = 66, 430, 4

COMMANDS = {
    "parquet": ["join", "l.parquet", "r.parquet", "--on", "k", "-o", "out.parquet"],
    "csv": ["join", "l.csv", "r.csv", "--on", "k", "-o", "out.csv"],
    "ipc": ["join", "l.feather", "r.feather", "--on", "k", "-o", "out.feather"],
    "count": ["join", "l.parquet", "r.parquet", "--on", "k", "--count"],
    "groups": ["group-by", "l.csv", "--keys", "s", "--agg", "count,sum:v", "-o", "out.parquet"],
}


@pytest.fixture(params=COMMANDS)
def arguments(request: pytest.FixtureRequest, tmp_path: pathlib.Path) -> list[str]:
    left = {"k": [i % 5_000 for i in range(ROWS)], "v": range(ROWS), "s": [f"s{i % 700}" for i in range(ROWS)]}
    right = {"k": range(5_000), "w": range(5_000)}
    for name, columns in ("l", left), ("r", right):
        table = pa.table({column: pa.array(values) for column, values in columns.items()})
        for suffix in "parquet", "csv", "feather":
            tables.write(tmp_path / f"{name}.{suffix}", table, batch_rows=20_000)
    return [*COMMANDS[request.param], "--threads", "4"]


def status_of(limit: int, garuda: Garuda, arguments: list[str], **options: object) -> int:
    """Runs and checks that it ends with a result or a sentence, and leaves nothing but a result behind."""
    before = sorted(garuda.folder.iterdir())
    done = garuda.run(*arguments, **options)
    assert done.returncode in (DONE, NO_ROOM), (limit, done.stderr)
    assert done.stderr.splitlines()[-1].startswith("garuda: "), done.stderr
    assert "internal error" not in done.stderr
    for output in garuda.folder.glob("out.*"):
        assert done.returncode == DONE
        output.unlink()
    assert sorted(garuda.folder.iterdir()) == before
    return done.returncode


def test_threads_that_cannot_be_started(tmp_path: pathlib.Path, arguments: list[str]) -> None:
    if not FEW_THREADS.exists():
        pytest.skip(f"not built: {FEW_THREADS}")
    garuda = Garuda(tmp_path, path="cpu")
    met = []
    for most in range(MOST_THREADS + 1):
        limits = {"LD_PRELOAD": str(FEW_THREADS), "GARUDA_TEST_MOST_THREADS": str(most)}
        met.append(status_of(most, garuda, arguments, env={**garuda.environment(), **limits}))
    assert met[0] == NO_ROOM
    assert met[-1] == DONE


SMALL_COMMANDS = {
    "ipc": ["join", "l.feather", "r.feather", "--on", "k", "-o", "out.feather"],
    "parquet": ["join", "l.parquet", "r.parquet", "--on", "k", "--how", "full", "-o", "out.parquet"],
    "limit": ["join", "l.parquet", "r.csv", "--on", "k", "--memory-limit", "64KiB", "-o", "out.parquet"],
    "groups": ["group-by", "l.parquet", "--keys", "s", "--agg", "count,median:v", "-o", "out.csv"],
}


@pytest.mark.parametrize("name", SMALL_COMMANDS)
def test_an_allocation_that_fails(tmp_path: pathlib.Path, name: str) -> None:
    """Before `main` there are some, in the initialisers of libraries; the last ones come when the file is there."""
    if not FAILING_ALLOCATIONS.exists():
        pytest.skip(f"not built: {FAILING_ALLOCATIONS}")
    left = {"k": [i % 500 for i in range(2_000)], "v": range(2_000), "s": [f"s{i % 70}" for i in range(2_000)]}
    for table, columns in ("l", left), ("r", {"k": range(500), "w": range(500)}):
        rows = pa.table({column: pa.array(values) for column, values in columns.items()})
        for suffix in "parquet", "csv", "feather":
            tables.write(tmp_path / f"{table}.{suffix}", rows, batch_rows=100)
    garuda = Garuda(tmp_path, path="cpu")
    number = tmp_path / "allocations"
    number.touch()
    preload = {"LD_PRELOAD": str(FAILING_ALLOCATIONS), "GARUDA_TEST_ALLOCATIONS": str(number)}
    arguments = [*SMALL_COMMANDS[name], "--threads", "2"]
    assert status_of(0, garuda, arguments, env={**garuda.environment(), **preload}) == DONE
    count = int(number.read_text())
    tried = count if os.environ.get("GARUDA_TEST_FULL") == "1" else 60
    for failing in sorted({*range(1, count + 1, max(1, count // tried)), *range(count - 60, count + 1, 2)}):
        limits = {**preload, "GARUDA_TEST_FAILING_ALLOCATION": str(failing)}
        status_of(failing, garuda, arguments, env={**garuda.environment(), **limits})


# Where libraries meet the limit differs by machine and by run.
@pytest.mark.skipif(os.environ.get("GARUDA_TEST_FULL") != "1", reason="runs in ./dev test --full")
def test_little_address_space(tmp_path: pathlib.Path, arguments: list[str]) -> None:
    garuda = Garuda(tmp_path, path="cpu")
    for mib in range(LEAST_MIB, MOST_MIB, STEP_MIB):
        limit = mib << 20
        status_of(mib, garuda, arguments, preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (limit, limit)))
