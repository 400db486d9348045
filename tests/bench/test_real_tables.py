"""`./dev bench db-benchmark` and `./dev bench tpch` at sizes that take no time: every answer is DuckDB's, from memory
and from files, on every path; the generators make what they say."""

from __future__ import annotations

import json
import os
import pathlib
import subprocess
import sys

import pyarrow as pa
import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
COMMAND = pathlib.Path(os.environ.get("GARUDA_COMMAND", ROOT / "build/bin/garuda"))
PYTHONPATH = f"{ROOT / 'bench'}{os.pathsep}{COMMAND.parents[1] / 'python'}"

sys.path[:0] = [str(ROOT / "bench"), str(ROOT / "tests/cli")]
from command import NO_DRIVER, icd_of  # noqa: E402
from db_benchmark import tables  # noqa: E402
from engines import files  # noqa: E402

RUNS = {"cpu": ("cpu", None), "compute": ("compute", "lavapipe"), "graphics": ("graphics", "lavapipe")}


def bench(name: str, run: str, folder: pathlib.Path, *arguments: object) -> dict:
    """The JSON that the script stored."""
    path, driver = RUNS[run]
    icd = icd_of(driver) if driver else NO_DRIVER
    environment = {**os.environ, "PYTHONPATH": PYTHONPATH, "VK_ICD_FILENAMES": icd, "VK_DRIVER_FILES": icd}
    environment |= {"XDG_CACHE_HOME": str(ROOT / "build/test_cache"), "GARUDA_CUDA_PLUGIN": NO_DRIVER}
    call = [sys.executable, "-m", name, "--garuda", COMMAND, "--data", folder, "--repeat", 1]
    call += ["--path", path, "--threads", 2, "--json", folder / "stored.json", *arguments]
    done = subprocess.run(
        list(map(str, call)), env=environment, capture_output=True, text=True, timeout=300, check=False
    )
    assert done.returncode == 0, done.stderr
    return json.loads((folder / "stored.json").read_text())


@pytest.mark.parametrize("run", RUNS)
def test_all_questions_have_the_answers_of_duckdb(run, tmp_path):
    stored = bench("db_benchmark", run, tmp_path, "--rows", "1e4", "--rivals", "duckdb")
    works = {work["name"]: work for work in stored["works"]}
    assert list(works) == [f"g{i}" for i in range(1, 11)] + [f"j{i}" for i in range(1, 6)]
    assert all(work["verified"] and work["engines"][0]["way"] == RUNS[run][0] for work in works.values())
    assert {name: works[name]["rows_out"] for name in ("g1", "g3", "g8", "j3")} == {
        "g1": 100, "g3": 100, "g8": 200, "j3": 10_000,
    }
    assert [set(work["engines"][1]["tried_s"]) for work in works.values()] == [{"table→arrow", "arrow→arrow"}] * 15


def test_answers_over_sorted_tables_with_nulls_and_with_polars(tmp_path):
    # Ten rows a group, so that none is without values: Polars' sum of none is 0.
    stored = bench("db_benchmark", "cpu", tmp_path, "--rows", "1e5", "--sorted", "--nulls")
    assert [entry["name"] for entry in stored["works"][0]["engines"]] == ["garuda", "DuckDB", "Polars"]
    assert stored["nulls"] and stored["sorted"] and stored["rows"] == 100_000


@pytest.mark.parametrize("mode", [[], ["--files", "parquet"]], ids=["memory", "files"])
def test_regret_is_told_of_forced_paths(mode, tmp_path):
    stored = bench("db_benchmark", "compute", tmp_path, "--rows", "1e4", "--questions", "g1", "--forced", "cpu", *mode)
    work = stored["works"][0]
    assert [entry["way"] for entry in work["engines"] if entry["name"] == "garuda"] == ["compute", "cpu"]
    ours, forced = (entry["median_s"] for entry in work["engines"] if entry["name"] == "garuda")
    assert work["best_forced"] == "cpu" and work["regret"] == pytest.approx(ours / forced)
    assert work["rival"] in ("DuckDB", "Polars"), "no path of our own"


@pytest.mark.parametrize("file_format", ["parquet", "arrow", "csv"])
def test_answers_from_files(file_format, tmp_path):
    arguments = ["--rows", "1e4", "--files", file_format, "--questions", "g3,g7,g8,j3,j4"]
    stored = bench("db_benchmark", "cpu", tmp_path, *arguments)
    assert [work["mode"] for work in stored["works"]] == [f"From {file_format} to {file_format}"] * 5
    left = sorted(path.suffix for path in tmp_path.rglob("*") if path.is_file() and path.name != "stored.json")
    assert left == [f".{file_format}"] * 5, "results are gone, the five tables are kept"


def test_a_large_table_is_a_folder_of_files_made_side_by_side(tmp_path, monkeypatch):
    shape = tables.Shape(10_000, ordered=False, nulls=False)
    monkeypatch.setattr(tables, "BATCH", 1000)
    whole = table(tables.g1(shape))
    monkeypatch.setattr(tables, "PART_BATCHES", 4)
    assert pa.concat_tables(table(tables.g1(shape, part)) for part in range(3)) == whole
    made = [tables.write_part(tmp_path, "parquet", shape, part) for part in range(3)]
    assert len(made) == len(list(tmp_path.iterdir())) == 3 and files.read(tmp_path) == whole


def test_answers_from_a_folder_under_a_limit(tmp_path):
    shape = tables.Shape(10_000, ordered=False, nulls=False)
    folder = tmp_path / shape.folder(tables.G1) / "x.parquet"
    folder.mkdir(parents=True)
    tables.write_part(folder, "parquet", shape, 0)
    arguments = ["--rows", "1e4", "--files", "parquet", "--memory-limit", "64MiB", "--questions", "g1,g3,g7"]
    assert len(bench("db_benchmark", "cpu", tmp_path, *arguments)["works"]) == 3


@pytest.mark.parametrize(
    "arguments", [[], ["--files", "parquet"], ["--files", "parquet", "--batch"]], ids=["memory", "files", "batch"]
)
def test_tpch(arguments, tmp_path):
    stored = bench("tpch", "cpu", tmp_path, "--scale", "0.001", *arguments)
    works = {work["name"]: work for work in stored["works"]}
    assert all(work["mode"].endswith("one process") == ("--batch" in arguments) for work in works.values())
    assert len(works) == 15 and works["A4"]["rows_out"] == works["JO4"]["rows_out"] == 6_005
    assert works["JO3"]["rows_out"] == 4 * 6_005 and works["Q1"]["rows_out"] == 4


def test_what_is_not_allowed_is_one_sentence():
    for name, *arguments in [
        ("db_benchmark", "--rows", "1.5"), ("db_benchmark", "--questions", "g11"), ("tpch", "--queries", "JO5"),
        ("tpch", "--files", "csv"), ("tpch", "--forced", "auto"), ("tpch", "--scale=1", "--batch"),
    ]:
        call = [sys.executable, "-m", name, *arguments]
        done = subprocess.run(
            call, env={**os.environ, "PYTHONPATH": PYTHONPATH}, capture_output=True, text=True, check=False
        )
        assert done.returncode == 2 and arguments[1] in done.stderr.splitlines()[-1]


def table(batches) -> pa.Table:
    return pa.Table.from_batches(batches)


@pytest.mark.parametrize("ordered", [False, True])
def test_g1_of_several_batches(ordered, monkeypatch):
    monkeypatch.setattr(tables, "BATCH", 3000)
    plain = table(tables.g1(tables.Shape(10_000, ordered, nulls=False)))
    again = table(tables.g1(tables.Shape(10_000, ordered, nulls=False)))
    assert plain == again and plain.num_rows == 10_000 and len(plain["id1"].chunks) > 3
    assert all(column.null_count == 0 for column in plain.columns)
    first = plain.slice(0, 1).to_pylist()[0]
    assert len(first["id1"]) == len(first["id2"]) == 5 and len(first["id3"]) == 12
    assert set(plain["id6"].to_pylist()) == set(range(1, 101)) and set(plain["v2"].to_pylist()) == set(range(1, 16))
    ids = [f"id{i}" for i in range(1, 7)]
    in_order = plain.select(ids).sort_by([(name, "ascending") for name in ids])
    assert (in_order == plain.select(ids).combine_chunks()) == ordered
    with_nulls = table(tables.g1(tables.Shape(10_000, ordered, nulls=True)))
    assert all(400 < column.null_count < 600 for column in with_nulls.columns)


def test_j1_keys_match_nine_times_of_ten():
    shape = tables.Shape(20_000, ordered=False, nulls=False)
    x, big, medium = (table(tables.j1(shape, name)) for name in ("x", "big", "medium"))
    assert x.column_names == [f"id{i}" for i in range(1, 7)] + ["v1"]
    assert medium.column_names == ["id1", "id2", "id4", "id5", "v2"] and medium.num_rows == 20
    left, right = set(x["id3"].to_pylist()), set(big["id3"].to_pylist())
    assert len(left) == len(right) == 20_000 and len(left & right) == 18_000
    assert x["id6"].to_pylist() == [f"id{key}" for key in x["id3"].to_pylist()]
    ordered = table(tables.j1(tables.Shape(20_000, ordered=True, nulls=True), "x"))
    assert ordered["id3"].null_count == ordered["id6"].null_count == 1000
