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
