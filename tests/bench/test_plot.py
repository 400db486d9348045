"""`./dev bench plot`: a picture of records, and what it refuses."""

from __future__ import annotations

import json
import pathlib
import sys

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "bench"))
import plot  # noqa: E402


def record(path: str, device: str, rows: int, **changes: object) -> dict:
    fields = {
        "op": "join", "path": path, "device": device, "mode": "end-to-end", "rows_left": rows, "rows_right": 2 * rows,
        "median_ns": 5_000_000, "mad_ns": 1000, "min_ns": 4_000_000, "max_ns": 7_000_000, "verified": True,
    }
    return fields | changes


def draw(records: list[dict | str], output: pathlib.Path) -> int:
    lines = output.with_suffix(".jsonl")
    lines.write_text("\n".join(line if isinstance(line, str) else json.dumps(line) for line in records))
    return plot.main([str(lines), "-o", str(output), "--title", "a join"])


def test_a_panel_a_device_and_a_line_a_path(tmp_path: pathlib.Path, capsys: pytest.CaptureFixture[str]) -> None:
    records = [record(path, device, rows) for device in ("GPU one", "GPU two") for rows in (1024, 4096)
               for path in ("graphics", "compute")]
    records.append(record("cpu", "cpu", 1024))
    first, second = tmp_path / "a.svg", tmp_path / "b.svg"
    assert draw(records, first) == 0
    assert "9 points" in capsys.readouterr().out
    text = first.read_text()
    for label in ("GPU one", "GPU two", "graphics", "compute", "cpu", "a join"):
        assert f"<!-- {label} -->" in text, "matplotlib names each text in a comment"
    assert text.count("<!-- graphics -->") == 2
    assert draw(records, second) == 0
    assert second.read_bytes() == first.read_bytes()


@pytest.mark.parametrize(
    ("records", "reason"),
    [
        ([], "no record"),
        (["{"], "line 1: not JSON"),
        (["[1]"], "not a JSON object"),
        ([record("cpu", "cpu", 8, verified=False)], "not verified"),
        ([record("cpu", "cpu", 8), record("cpu", "cpu", 8, mode="resident")], "several kinds"),
        ([{"op": "join", "path": "cpu", "device": "cpu", "mode": "resident", "verified": True}], "is missing"),
    ],
)
def test_refuses_what_cannot_be_compared(
    tmp_path: pathlib.Path, capsys: pytest.CaptureFixture[str], records: list, reason: str
) -> None:
    assert draw(records, tmp_path / "a.svg") == 3
    assert reason in capsys.readouterr().err
    assert not (tmp_path / "a.svg").exists()


def test_refuses_other_formats(tmp_path: pathlib.Path) -> None:
    with pytest.raises(SystemExit) as refused:
        draw([record("cpu", "cpu", 8)], tmp_path / "a.gif")
    assert refused.value.code == 2
