"""`./dev bench rivals` at sizes that take no time, the tables it is fed with, and whether it tells results apart."""

from __future__ import annotations

import json
import os
import pathlib
import subprocess
import sys

import pyarrow as pa
import pyarrow.compute
import pyarrow.feather
import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
COMMAND = pathlib.Path(os.environ.get("GARUDA_COMMAND", ROOT / "build/bin/garuda"))
BENCH = ROOT / "bench"
WITHOUT_DRIVER = {**os.environ, "VK_ICD_FILENAMES": "/nonexistent", "VK_DRIVER_FILES": "/nonexistent"}
WITHOUT_DRIVER["PYTHONPATH"] = f"{BENCH}{os.pathsep}{COMMAND.parents[1] / 'python'}"

sys.path.insert(0, str(BENCH))
from engines import compare, engine, measure  # noqa: E402

SUM = (engine.Aggregate("sum", ("v",)),)


def run(*arguments: object) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        list(map(str, arguments)), env=WITHOUT_DRIVER, capture_output=True, text=True, timeout=300, check=False
    )


def rivals(*arguments: object) -> subprocess.CompletedProcess[str]:
    return run(sys.executable, "-m", "rivals", "--garuda", COMMAND, "--quick", *arguments)


def test_every_work_is_verified_and_timed(tmp_path):
    done = rivals("--repeat", 2, "--output", tmp_path / "rivals.json")
    assert done.returncode == 0, done.stderr
    stored = json.loads((tmp_path / "rivals.json").read_text())
    works = {work["name"]: work for work in stored["works"]}
    assert len(works) == 12 and stored["quick"]
    rows_out = {"join-dense": 16 << 10, "join-small-build": 64 << 10, "join-misses": 1966, "group-16": 16}
    assert {name: works[name]["rows_out"] for name in rows_out} == rows_out
    for work in works.values():
        assert work["verified"] and work["ratio_least"] <= work["ratio_greatest"]
        assert [entry["name"] for entry in work["engines"]] == ["garuda", "DuckDB", "Polars", "pyarrow"]
        assert all(len(entry["samples_s"]) == 2 and min(entry["samples_s"]) > 0 for entry in work["engines"])
        rated = [entry["median_s"] for entry in work["engines"][1:3]]
        assert work["ratio"] == min(rated) / work["engines"][0]["median_s"]
        assert work["title"] in done.stdout


def test_what_cannot_be_run_is_one_sentence(tmp_path):
    output = ["--output", tmp_path / "rivals.json"]
    done = rivals("group-16", "--path", "graphics", *output)
    assert done.returncode == 1 and "error: group-16: garuda: " in done.stderr and "Traceback" not in done.stderr
    assert "unknown work" in rivals("group-17", *output).stderr
    assert "unknown rival" in rivals("--rivals", "sqlite", *output).stderr
    assert not (tmp_path / "rivals.json").exists()


def difference(ours: dict, theirs: dict, operation: engine.Operation, zero_sums: bool = False) -> str | None:
    expected = compare.digest(pa.table(ours), operation, threads=1)
    actual = compare.digest(pa.table(theirs), operation, 1, expected)
    return compare.difference(expected, actual, operation, 1, zero_sums)


def test_differences_are_found():
    join = engine.Join()
    ours = {"k": [1, 2, 2], "v": [10, 20, 30]}
    assert difference(ours, {"a": [2, 1, 2], "b": [30, 10, 20]}, join) is None
    assert difference(ours, {"a": [2, 1, 2], "b": [30.0, 10.0, 20.0]}, join) is None
    assert difference(ours, {"a": [2, 1, 2], "b": [30.4, 10.0, 20.0]}, join) == "other rows"
    assert difference(ours, {"k": [1, 2], "v": [10, 20]}, join) == "2 rows, not 3"
    assert difference(ours, {"k": [1, 2, 2], "v": [20, 10, 30]}, join) == "other rows"
    assert difference(ours, {"k": [1, 2, 2], "v": [10, 20, 20]}, join) == "other rows"
    assert difference({"k": [1, None], "v": [0.5, 1.0]}, {"k": [1, None], "v": [0.5, 1.1]}, join) == "other rows"


def test_differences_of_rounded_values_are_found():
    group_by = engine.GroupBy(("k",), SUM)
    floats = {"k": [1, None], "v": [0.1 + 0.2, 1.0]}
    assert difference(floats, {"k": [None, 1], "v": [1.0, 0.3]}, group_by) is None
    assert "differ by" in difference(floats, {"k": [1, None], "v": [0.3, 1.001]}, group_by)
    assert "other rows" in difference(floats, {"k": [1, 2], "v": [0.3, 1.0]}, group_by)
    assert "are null" in difference(floats, {"k": [1, None], "v": [None, 1.0]}, group_by)
    nothing = {"k": [1, 2], "v": [None, 1.0]}
    assert difference(nothing, {"k": [1, 2], "v": [float("nan"), 1.0]}, group_by) is None
    assert "are null" in difference(nothing, {"k": [1, 2], "v": [0.0, 1.0]}, group_by)
    assert difference(nothing, {"k": [1, 2], "v": [0.0, 1.0]}, group_by, zero_sums=True) is None


class Constant(engine.Engine):
    """Gives one table whatever is asked; its second way another."""

    name, version, ways = "constant", "1", ("right", "wrong")

    def load(self, tables):
        pass

    def join(self, join, way):
        return pa.table({"key": [1, 2 if way == "right" else 3]})

    def group_by(self, group_by, way):
        raise AssertionError("only joins are asked for")


def test_a_wrong_way_of_an_engine_is_an_error():
    with pytest.raises(measure.WrongResult, match=r"constant \(wrong\) gives other rows"):
        measure.verify([Constant()], engine.Join(), threads=1)


def test_exported_tables(tmp_path):
    arguments = ["--rows-left", 1000, "--rows-right", 3000, "--key-type", "i64", "--payload-type", "i32"]
    arguments += ["--payload-right", 2, "--match-ratio", 0.25]
    done = run(COMMAND, "bench", "join", *arguments, "--export", tmp_path / "join")
    assert done.stdout.split() == [str(tmp_path / "join" / f"{side}.arrow") for side in ("left", "right")], done.stderr
    left, right = (pyarrow.feather.read_table(path) for path in done.stdout.split())
    assert left.schema == pa.schema([pa.field("key", pa.int64(), False), pa.field("l0", pa.int32(), False)])
    assert right.column_names == ["key", "r0", "r1"] and right.num_rows == 3000
    assert sorted(left["key"].to_pylist()) == list(range(1000))
    assert pyarrow.compute.sum(pyarrow.compute.is_in(right["key"], left["key"].combine_chunks())).as_py() == 750
    done = run(COMMAND, "bench", "group-by", "--rows", 500, "--groups", 7, "--keys", 2, "--export", tmp_path)
    grouped = pyarrow.feather.read_table(done.stdout.strip())
    assert grouped.column_names == ["k0", "k1", "v"] and set(grouped["k0"].to_pylist()) == set(range(7))
    (tmp_path / "file").write_text("")
    done = run(COMMAND, "bench", "group-by", "--rows", 5, "--groups", 7, "--export", tmp_path / "file")
    assert done.returncode == 5 and done.stderr.count("\n") == 1 and str(tmp_path / "file") in done.stderr
