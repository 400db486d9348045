"""`./dev bench paper` at sizes that take no time: every kind of figure, times from outside, and its page."""

from __future__ import annotations

import json
import os
import pathlib
import subprocess
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
COMMAND = pathlib.Path(os.environ.get("GARUDA_COMMAND", ROOT / "build/bin/garuda"))
BENCH = ROOT / "bench"
WITHOUT_DRIVER = {**os.environ, "VK_ICD_FILENAMES": "/nonexistent", "VK_DRIVER_FILES": "/nonexistent"}
WITHOUT_DRIVER |= {"PYTHONPATH": f"{BENCH}{os.pathsep}{COMMAND.parents[1] / 'python'}", "GARUDA_CUDA_PLUGIN": "/nonexistent"}

sys.path.insert(0, str(BENCH))
from paper import figures, page  # noqa: E402


def paper(folder: pathlib.Path, *arguments: object) -> subprocess.CompletedProcess[str]:
    files = ["--garuda", COMMAND, "--json", folder / "paper.json", "--page", folder / "paper.html"]
    command = [sys.executable, "-m", "paper", "--data", folder / "data", "--repeat", 1, *files, *arguments]
    return subprocess.run(
        list(map(str, command)), env=WITHOUT_DRIVER, capture_output=True, text=True, timeout=300, check=False
    )


def test_figures_on_the_cpu_alone(tmp_path):
    outside = {"works": [{"name": "narrow-R = S", "engines": [{"name": "HCJoin", "median_s": 1e3}]}]}
    (tmp_path / "hcjoin.json").write_text(json.dumps(outside))
    done = paper(
        tmp_path, "--scale", 0.002, "--figure", "8a,9,11,13,14,6.2", "--outside", tmp_path / "hcjoin.json"
    )
    assert done.returncode == 0, done.stderr
    assert "left out: graphics: garuda: the graphics path cannot run" in done.stderr
    stored = {figure["number"]: figure for figure in json.loads((tmp_path / "paper.json").read_text())["figures"]}
    assert [*stored] == ["8a", "9", "11", "13", "14", "6.2"]
    assert [*stored["8a"]["runs"][-1]["times"]] == ["cpu", "DuckDB", "HCJoin"]
    assert len(stored["13"]["runs"]) == 6
    for number in ("9", "11", "14", "6.2"):
        assert stored[number]["runs"] == [] and stored[number]["notes"]
    text = (tmp_path / "paper.html").read_text()
    assert "{{" not in text and "1e+03 s" in text and "<b>" not in text.split("</h1>")[1].split("<script")[0]


def test_what_is_not_known_is_one_sentence(tmp_path):
    assert "unknown figure" in paper(tmp_path, "--figure", "16").stderr
    assert "unknown path" in paper(tmp_path, "--paths", "sideways").stderr
    (tmp_path / "broken.json").write_text("{}")
    broken = paper(tmp_path, "--outside", tmp_path / "broken.json")
    assert broken.returncode == 3 and "Traceback" not in broken.stderr
    assert not (tmp_path / "paper.json").exists()


def run_of(title: str, **seconds: float) -> dict:
    times = {name.replace("_", " "): {"median_s": value, "mad_s": 0.0} for name, value in seconds.items()}
    return {"name": title, "title": title, "times": times}


@pytest.mark.parametrize(
    ("claim", "runs", "style"),
    [
        (figures.Claim("", "cpu", "graphics", 2), [run_of("a", cpu=3, graphics=1)], "good"),
        (figures.Claim("", "cpu", "graphics", 2), [run_of("a", cpu=1, graphics=1)], "differs"),
        (figures.Claim("", "TGB", "graphics", 2), [run_of("a", cpu=3, graphics=1)], ""),
        (figures.Claim("", "b", "a", 0, 4), [run_of("a", graphics=1), run_of("b", graphics=3)], "good"),
        (figures.Claim("", "worst fixed", "chosen", 2), [run_of("a", chosen=1, fixed_l=1, fixed_r=3)], "good"),
        (figures.Claim("", "best fixed", "chosen", 2, of="b"), [run_of("a", chosen=1, fixed_l=3)], ""),
        (figures.Claim("a sentence"), [], ""),
    ],
)
def test_claims_are_judged(claim, runs, style):
    assert page.judge(vars(claim), runs)[0] == style


def test_names_of_runs_are_of_one_measurement():
    """Runs of one name stand for the same tables and operation, wherever they appear."""
    seen: dict[str, object] = {}
    for figure in figures.all_figures(1):
        for run in figure.runs:
            assert seen.setdefault(run.name, run.operation) == run.operation
