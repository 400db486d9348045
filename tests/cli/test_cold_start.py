"""The time of a command that uses a device before and after its work is shown in the statistics, and is short."""

from __future__ import annotations

import dataclasses
import json

import pyarrow as pa
import pyarrow.parquet
import pytest
from command import Garuda, icd_of


@pytest.fixture
def compute(tmp_path, monkeypatch) -> Garuda:
    """The compute path on lavapipe, with caches of its own; the table x.parquet beside it."""
    (tmp_path / "cache").mkdir()
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    pa.parquet.write_table(pa.table({"k": [1, 2, 1], "v": [10, 20, 30]}), tmp_path / "x.parquet")
    return Garuda(tmp_path, icd_of("lavapipe"), "compute")


def grouped(garuda: Garuda, *arguments: object, **options: object) -> dict:
    call = ["group-by", "x.parquet", "--keys", "k", "--agg", "sum:v", "-o", "out.parquet", "--quiet", "--stats=json"]
    done = garuda.run(*call, *arguments, **options)
    assert done.returncode == 0, done.stderr
    rows = pa.parquet.read_table(garuda.folder / "out.parquet").sort_by("k").to_pydict()
    assert rows == {"k": [1, 2], "sum_v": [40, 20]}
    return json.loads(done.stderr.splitlines()[-1])


@pytest.mark.parametrize("tuning", [[], ["--tuning", "placement=device"]], ids=["slices", "whole"])
def test_statistics_say_what_opening_takes(compute, tuning):
    stats = grouped(compute, *tuning)
    spent = {phase["name"]: phase["ns"] for phase in stats["phases"]}
    assert spent["open device"] > 0 and spent["pipelines"] > 0
    assert stats["engine_ns"] > 0 and 0 <= stats["engine_wait_ns"] <= stats["elapsed_ns"]
    assert stats["device_open_ns"] > 0, "opened ahead, for the path was asked for"
    assert 0 < stats["library_ns"] < stats["elapsed_ns"]
    done = compute.group_by("x.parquet", "--keys", "k", "--stats", *tuning)
    assert "waited for" in done.stderr and "device opened in" in done.stderr


def test_no_device_is_opened_ahead_where_the_path_is_open(compute):
    stats = grouped(dataclasses.replace(compute, path=None))
    assert stats["path"] == "cpu" and stats["device_open_ns"] == 0


def test_pipeline_cache_is_written_once(compute):
    grouped(compute)
    [cache] = (compute.folder / "cache/garuda").glob("pipelines-*.bin")
    written = cache.stat().st_mtime_ns
    grouped(compute)
    assert cache.stat().st_mtime_ns == written, "nothing was compiled that the file lacked"
    cache.write_bytes(b"damaged")
    grouped(compute)
    assert cache.stat().st_size > len(b"damaged")


def test_devices_that_are_left_leave_no_message_of_the_validation_layer(compute):
    layer = {"VK_INSTANCE_LAYERS": "VK_LAYER_KHRONOS_validation"}
    done = compute.run(
        "join", "x.parquet", "x.parquet", "--on", "k", "-o", "joined.parquet", env={**compute.environment(), **layer}
    )
    assert done.returncode == 0, done.stderr
    assert pa.parquet.read_table(compute.folder / "joined.parquet").num_rows == 5
    assert "VUID" not in done.stdout + done.stderr and "Validation" not in done.stdout + done.stderr


def test_a_run_that_fails_ends_while_its_device_is_opened(compute):
    (compute.folder / "bad.parquet").write_bytes(b"PAR1")
    for _ in range(5):
        assert "bad.parquet" in compute.refused(3, "group-by", "bad.parquet", "--keys", "k", "-o", "none.parquet")


def test_a_machine_without_drivers_says_so_after_reading(tmp_path):
    pa.parquet.write_table(pa.table({"k": [1]}), tmp_path / "x.parquet")
    garuda = Garuda(tmp_path, path="compute")
    assert "compute" in garuda.refused(4, "group-by", "x.parquet", "--keys", "k", "-o", "none.parquet")
