"""`./dev bench registers`: its tables of what suites wrote, and what fails it."""

from __future__ import annotations

import json
import pathlib
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "bench"))
import registers  # noqa: E402


def program(driver: str, subgroup: int, **changes: object) -> dict:
    fields = {
        "driver": driver, "version": "Mesa 22.3.6", "family": "join", "pipeline": "join/build.comp",
        "program": "Compute Shader", "may_spill": "", "subgroup": subgroup, "sgprs": 20, "vgprs": 30,
        "lds_bytes": 0, "scratch_bytes": 0, "spilled_sgprs": 0, "spilled_vgprs": 0, "code_bytes": 500,
    }  # fmt: skip
    return fields | changes


def run(programs: list[dict], build: pathlib.Path) -> int:
    (build / "registers").mkdir(parents=True)
    for i, one in enumerate(programs):
        (build / f"registers/suite.{i}").write_text(json.dumps(one) + "\n")
    return registers.main(["--kept", "--build", str(build)])


def test_a_row_a_family_and_width_and_a_row_a_pipeline_with_the_most_of_any(
    tmp_path: pathlib.Path, capsys: pytest.CaptureFixture[str]
) -> None:
    programs = [
        program("radv-navi10", 32, vgprs=40), program("radv-navi10", 64, vgprs=24), program("radv-vega10", 64, vgprs=28),
        program("radv-vega10", 64, sgprs=33), program("radv-vega10", 64, pipeline="join/probe.comp", lds_bytes=1024),
    ]  # fmt: skip
    assert run(programs, tmp_path) == 0
    printed = capsys.readouterr()
    rows = [line for line in printed.out.splitlines() if line.startswith("|") and "--" not in line]
    assert rows[1:4] == [
        "| compute | vega10 | GFX9 | Mesa 22.3.6 | 64 | 3 | 33 | 30 | 1024 | 0 | 500 | 0 |",
        "| compute | navi10 | GFX10 | Mesa 22.3.6 | 32 | 1 | 20 | 40 | 0 | 0 | 500 | 0 |",
        "| compute | navi10 | GFX10 | Mesa 22.3.6 | 64 | 1 | 20 | 24 | 0 | 0 | 500 | 0 |",
    ], "in the order of generations"
    assert rows[5:] == [
        "| join | `join/build.comp` | compute | 40 | 30 | 33 | 0 | 0 | 500 |",
        "| join | `join/probe.comp` | compute | – | 30 | 20 | 1024 | 0 | 500 |",
    ]
    assert printed.err == ""


@pytest.mark.parametrize("what", registers.SPILLS)
def test_a_spill_fails_and_is_named(what: str, tmp_path: pathlib.Path, capsys: pytest.CaptureFixture[str]) -> None:
    spills = program("radv-tahiti", 64, pipeline="join/big.comp", **{what: 4})
    assert run([program("radv-tahiti", 64), spills], tmp_path) == 1
    assert capsys.readouterr().err.splitlines() == [
        "registers: spills or takes scratch memory: join/big.comp on radv-tahiti"
    ]


def test_a_spill_that_is_known_is_listed_with_its_reason(
    tmp_path: pathlib.Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run([program("radv-tahiti", 64, scratch_bytes=4, may_spill="its states are large")], tmp_path) == 0
    assert "of these pipelines do: `join/build.comp` (its states are large)." in capsys.readouterr().out


def test_a_reason_of_several_pipelines_is_given_once(
    tmp_path: pathlib.Path, capsys: pytest.CaptureFixture[str]
) -> None:
    spills = {"scratch_bytes": 4, "may_spill": "states are large"}
    programs = [program("radv-tahiti", 64, pipeline=name, **spills) for name in ("b.comp", "a.comp", "b.comp")]
    assert run(programs, tmp_path) == 0
    assert "of these pipelines do: `a.comp`, `b.comp` (states are large)." in capsys.readouterr().out


@pytest.mark.parametrize(
    ("programs", "reason"),
    [
        ([], "no suite has written"),
        ([{"driver": "radv-tahiti"}], "not what a suite writes"),
        ([program("radv-navi99", 32)], "families without a generation: navi99"),
    ],
)
def test_what_is_no_figure_is_an_error(
    programs: list[dict], reason: str, tmp_path: pathlib.Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(programs, tmp_path) == 1
    assert reason in capsys.readouterr().err
