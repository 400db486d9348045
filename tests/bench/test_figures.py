"""`./dev bench figures`: a page of records, and what it refuses."""

from __future__ import annotations

import json
import pathlib
import re
import sys

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "bench"))
import figures  # noqa: E402


def record(path: str, device: str, rows: int, **changes: object) -> dict:
    fields = {
        "op": "join", "path": path, "device": device, "mode": "end-to-end", "rows_left": rows, "rows_right": 2 * rows,
        "median_ns": 5_000_000, "mad_ns": 1000, "min_ns": 4_000_000, "max_ns": 7_000_000, "verified": True,
    }
    return fields | changes


def draw(records: list[dict | str], folder: pathlib.Path) -> int:
    folder.mkdir(exist_ok=True)
    lines = folder / "records.jsonl"
    lines.write_text("\n".join(line if isinstance(line, str) else json.dumps(line) for line in records))
    return figures.main([str(lines), "-o", str(folder / "figures.html"), "--title", "a <join>"])


def test_a_part_a_mode_a_chart_a_device_and_a_line_a_path(
    tmp_path: pathlib.Path, capsys: pytest.CaptureFixture[str]
) -> None:
    records = [record(path, device, rows) for device in ("GPU one", "GPU two") for rows in (4096, 1024)
               for path in ("graphics", "compute")]
    records += [record("cpu", "cpu", 1024), record("compute", "GPU one", 1024, mode="resident")]
    assert draw(records, tmp_path / "a") == 0
    printed = capsys.readouterr().out
    assert "join, end-to-end: 9 points" in printed and "join, resident: 1 points" in printed
    text = (tmp_path / "a/figures.html").read_text()
    charts = json.loads(re.search(r'id="charts">(.*?)</script>', text)[1])
    assert [[one["name"] for one in chart["series"]] for chart in charts] == [
        ["graphics", "compute"], ["graphics", "compute", "cpu"], ["compute"],
    ]  # fmt: skip
    assert charts[0]["series"][0]["points"] == [[2048, 5.0, "5 ms"], [8192, 5.0, "5 ms"]]
    assert text.count("<figcaption>GPU one</figcaption>") == 2 and "<h1>a &lt;join&gt;</h1>" in text
    assert "5 ms (4 … 7)" in text and "{{" not in text
    assert draw(records, tmp_path / "b") == 0
    assert (tmp_path / "b/figures.html").read_text() == text


@pytest.mark.parametrize(
    ("records", "reason"),
    [
        ([], "no record"),
        (["{"], "not records"),
        (["[1]"], "not records"),
        ([record("cpu", "cpu", 8, verified=False)], "not verified"),
        ([{"op": "join", "path": "cpu", "device": "cpu", "mode": "resident", "verified": True}], "rows_left"),
    ],
)
def test_refuses_what_is_no_record(
    tmp_path: pathlib.Path, capsys: pytest.CaptureFixture[str], records: list, reason: str
) -> None:
    assert draw(records, tmp_path) == 3
    assert reason in capsys.readouterr().err
    assert not list(tmp_path.glob("*.html"))
