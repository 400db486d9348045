"""`garuda calibrate`: what it measures, where it keeps it, and what it does with files that are not its own."""

from __future__ import annotations

import json
import pathlib

import pyarrow as pa
import pytest
import tables


@pytest.fixture(autouse=True)
def cache(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> pathlib.Path:
    """A cache folder of the test's own."""
    folder = tmp_path_factory.mktemp("cache")
    monkeypatch.setenv("XDG_CACHE_HOME", str(folder))
    return folder


def run_json(garuda, *arguments: str) -> list[dict]:
    done = garuda.run(*arguments, "--json")
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_the_host(garuda, cache):
    assert [(known["device"], known["measured"]) for known in run_json(garuda, "calibrate", "--show")] == [(None, False)]
    done = garuda.run("calibrate")
    assert done.returncode == 0 and "measuring" in done.stderr and "partition" in done.stdout
    (file,) = (cache / "garuda/calibration").iterdir()
    (known,) = run_json(garuda, "calibrate", "--show")
    assert known["measured"] and known["file"] == str(file)
    assert known["rates"]["copy"]["value"] > 1e8 and len(known["rates"]["build"]["points"]) > 2
    assert json.loads(file.read_text())["rates"]["copy"] == known["rates"]["copy"]["value"]


def test_a_device(on_lavapipe, cache):
    done = on_lavapipe.run("calibrate", "--device", "0", "--quiet")
    assert done.returncode == 0 and done.stderr == "", done.stderr
    device = run_json(on_lavapipe, "devices")[0]
    assert device["calibration"]["measured"]
    assert device["calibration"]["rates"]["random_points"]["value"] > 1e4
    assert "measured, " in on_lavapipe.run("devices").stdout

    file = pathlib.Path(device["calibration"]["file"])
    file.write_text(file.read_text().replace('"garuda_version": "', '"garuda_version": "99.'))
    foreign = run_json(on_lavapipe, "devices")[0]["calibration"]
    assert not foreign["measured"] and "another version" in foreign["note"]
    file.write_text(file.read_text()[:100])
    assert "cut short" in run_json(on_lavapipe, "devices")[0]["calibration"]["note"]


def test_a_cache_folder_that_cannot_be_written(garuda, cache):
    (cache / "garuda").write_text("a file")
    sentence = garuda.refused(5, "calibrate", "--quiet")
    assert "calibration cannot be written" in sentence
    assert list(cache.iterdir()) == [cache / "garuda"]


def test_refused(garuda):
    assert "Vulkan" in garuda.refused(4, "calibrate", "--device", "0")
    assert "--threads" in garuda.refused(2, "calibrate", "--threads", "0")


@pytest.fixture
def files(garuda):
    rows = pa.table({"id": pa.array(range(1000), pa.int32()), "a": range(1000)})
    tables.write(garuda.folder / "l.parquet", rows)
    tables.write(garuda.folder / "r.parquet", rows)
    return garuda


def test_plans_say_what_they_were_priced_with(files):
    explain = ("explain", "join", "l.parquet", "r.parquet", "--on", "id")
    before = files.run(*explain)
    assert "of the host assumed, not calibrated" in before.stdout
    assert files.run("calibrate", "--device", "host", "--quiet").returncode == 0
    after = files.run(*explain)
    assert "of the host measured" in after.stdout and "measured rates" in after.stdout
    plan = json.loads(files.run(*explain, "--json").stdout)
    assert plan["estimated_ns"] == plan["candidates"][0]["estimated_ns"] > 0
    assert {"encode", "probe", "gather"} <= {phase["name"] for phase in plan["candidates"][0]["phases"]}


def test_a_foreign_calibration_is_a_note_of_the_plan(files, cache):
    assert files.run("calibrate", "--device", "host", "--quiet").returncode == 0
    (file,) = (cache / "garuda/calibration").iterdir()
    file.write_text("{}")
    done = files.run("group-by", "l.parquet", "--keys", "id", "--agg", "count")
    assert done.returncode == 0 and f"calibration ignored, it is not a calibration: {file}" in done.stderr


def test_stats_show_the_estimate_beside_the_actual(files):
    join = ("join", "l.parquet", "r.parquet", "--on", "id", "--count")
    stats = json.loads(files.run(*join, "--stats=json").stderr.splitlines()[-1])
    assert stats["estimated"]["total_ns"] == pytest.approx(sum(phase["ns"] for phase in stats["estimated"]["phases"]))
    assert stats["estimated"]["total_ns"] == stats["plan"]["estimated_ns"] > 0
    assert "estimated" in files.run(*join, "--stats").stderr
