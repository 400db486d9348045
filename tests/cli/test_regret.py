"""The bench of the planner's regret runs."""

from __future__ import annotations

import json
import pathlib
import subprocess
import sys

from command import COMMAND, SECONDS


def test_the_regret_bench_runs(garuda):
    """Its figures are no matter of a test; that it verifies, compares and reports is."""
    script = pathlib.Path(__file__).resolve().parents[2] / "bench/regret.py"
    report = garuda.folder / "regret.json"
    environment = {**garuda.environment(), "GARUDA_COMMAND": str(COMMAND)}
    command = [sys.executable, script, "--quick", "--repeat", "1", "--output", report]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=SECONDS, check=False)
    assert done.returncode == 0, done.stderr
    runs = json.loads(report.read_text())["runs"]
    assert len(runs) == 3 and all(run["regret"] > 0 and run["forced"] for run in runs)
    assert "median regret" in done.stdout


def test_a_name_that_no_workload_has_is_an_error():
    script = pathlib.Path(__file__).resolve().parents[2] / "bench/regret.py"
    command = [sys.executable, script, "--quick", "--only", "no such work"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=SECONDS, check=False)
    assert done.returncode == 2
    assert "no workload of the quick grid is chosen" in done.stderr and "Traceback" not in done.stderr
