"""Runs that are started without a standard stream: no file takes its place."""

from __future__ import annotations

import os

import pyarrow as pa
import pytest
import tables

NO_ROOM = 5
JOIN = ["join", "l.parquet", "r.parquet", "--on", "id"]


@pytest.fixture
def files(garuda):
    left = pa.table({"id": pa.array(range(30), pa.int32()), "name": [f"row {i}" for i in range(30)]})
    tables.write(garuda.folder / "l.parquet", left)
    tables.write(garuda.folder / "r.parquet", pa.table({"id": pa.array([3, 4, 4], pa.int32())}))
    return garuda


def without(*descriptors: int) -> dict:
    return {"preexec_fn": lambda: [os.close(descriptor) for descriptor in descriptors]}


@pytest.mark.parametrize("closed", [(0,), (1,), (2,), (0, 1), (0, 1, 2)])
@pytest.mark.parametrize("output", ["out.csv", "out.parquet", "out.arrow"])
def test_output_files_without_standard_streams(files, closed, output):
    assert files.run(*JOIN, "--ordered", "-o", f"usual_{output}").returncode == 0
    assert files.run(*JOIN, "--ordered", "--stats", "-o", output, **without(*closed)).returncode == 0
    assert (files.folder / output).read_bytes() == (files.folder / f"usual_{output}").read_bytes()


@pytest.mark.parametrize(
    "arguments", [JOIN, [*JOIN, "--count"], ["explain", *JOIN], ["devices"], ["--help"], ["--version"]]
)
def test_results_without_standard_output(files, arguments):
    done = files.run(*arguments, **without(1))
    assert done.returncode == NO_ROOM
    assert done.stderr.splitlines()[-1] == "garuda: cannot write to standard output: it is closed"


def test_a_closed_standard_output_is_known_before_the_work(files):
    done = files.run("join", "none.parquet", "none.parquet", "--on", "id", **without(1))
    assert (done.returncode, done.stderr) == (NO_ROOM, "garuda: cannot write to standard output: it is closed\n")


def test_results_without_standard_error(files):
    done = files.run(*JOIN, "--count", **without(2))
    assert (done.returncode, done.stdout) == (0, "3\n")
