"""`./dev bench cold-start`: what it prints and keeps, on a software driver."""

from __future__ import annotations

import json
import os
import pathlib
import platform
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
SCRIPT = ROOT / "bench/cold_start.py"
ICDS = [f"/usr/share/vulkan/icd.d/lvp_icd{middle}.json" for middle in (f".{platform.machine()}", "")]


def run(*arguments: str, icds: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "VK_ICD_FILENAMES": icds, "VK_DRIVER_FILES": icds}
    return subprocess.run(
        [sys.executable, str(SCRIPT), *arguments], env=environment, capture_output=True, text=True, check=False
    )


def test_every_part_has_a_line_and_its_samples(tmp_path: pathlib.Path) -> None:
    kept = tmp_path / "samples.json"
    icds = ":".join(icd for icd in ICDS if os.path.exists(icd))
    done = run("--repeat", "2", "--rows", "10", "--output", str(kept), icds=icds)
    assert done.returncode == 0, done.stderr
    for name in ("compute, warm, more than cpu", "compute, first, more than cpu", "driver alone: device", "pipelines"):
        assert name in done.stdout
    samples = json.loads(kept.read_text())
    assert all(len(values) == 2 for of in samples.values() for values in of.values())
    assert min(samples["samples_ms"]["warm"]) > min(samples["driver_ms"]["instance"]) > 0
    assert min(samples["parts_ms"]["device opened"]) > 0


def test_a_machine_without_a_driver_ends_it(tmp_path: pathlib.Path) -> None:
    done = run("--repeat", "1", icds=str(tmp_path / "none.json"))
    assert done.returncode != 0 and "compute" in done.stderr


def test_no_samples_are_refused() -> None:
    assert run("--repeat", "0", icds="").returncode == 2
