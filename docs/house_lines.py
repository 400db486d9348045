"""Counts the source lines of each room before the house was rebuilt and now, and writes docs/results/house.json.

A room is a folder below operators/, or any other top folder; tests/ and docs/ are none. Comments and blank lines count.
"""

from __future__ import annotations

import collections
import json
import pathlib
import subprocess

ROOT = pathlib.Path(__file__).resolve().parent.parent
BEFORE = "21a5099"
SOURCES = tuple(".cpp .hpp .h .cu .cuh .comp .vert .frag .glsl .py .cmake .sh .c".split())


def git(*arguments: str) -> str:
    return subprocess.run(["git", *arguments], cwd=ROOT, capture_output=True, text=True, check=True).stdout


def lines_of_rooms(commit: str) -> collections.Counter[str]:
    """The lines of each room, by its name."""
    lines: collections.Counter[str] = collections.Counter()
    # An empty tree, against which every line of a commit is an added one.
    for row in git("diff", "--numstat", git("hash-object", "-t", "tree", "/dev/null").strip(), commit).splitlines():
        added, _, path = row.split("\t")
        parts = path.split("/")
        if path.endswith(SOURCES) and parts[0] not in ("tests", "docs"):
            lines["/".join(parts[: 2 if parts[0] == "operators" else 1]) if len(parts) > 1 else "top"] += int(added)
    return lines


def main() -> None:
    was, now = lines_of_rooms(BEFORE), lines_of_rooms("HEAD")
    figures = []
    for room in [*sorted(was | now), "all"]:
        a, b = (sum(was.values()), sum(now.values())) if room == "all" else (was[room], now[room])
        for measured, value in (("before", a), ("now", b), ("change", b - a)):
            figures.append({"work": room, "measured": measured, "value": value})
    record = {
        "title": "Source lines of each room before it was rebuilt and now",
        "commit": git("rev-parse", "--short=7", "HEAD").strip(),
        "command": "python3 docs/house_lines.py",
        "unit": "count",
        "columns": "measured",
        "note": "Tests and pages are not counted.",
    }
    above = "".join(f"  {json.dumps(name)}: {json.dumps(value)},\n" for name, value in record.items())
    rows = ",\n".join(f"    {json.dumps(figure)}" for figure in figures)
    text = f'{{\n{above}  "figures": [\n{rows}\n  ]\n}}\n'
    (ROOT / "docs/results/house.json").write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
