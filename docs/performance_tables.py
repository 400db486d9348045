"""Writes the tables of docs/results/*.json into the pages that show them; docs/results/README.md has the schema.

A line `<!-- table: NAME -->` in a page stands above the table of docs/results/NAME.json, `<!-- index -->` above the
list of all records. What follows such a line, up to the end of the next table, is the script's own.

    python3 docs/performance_tables.py            writes the tables of all pages anew
    python3 docs/performance_tables.py NAME...    prints the tables of these records, whole
"""

from __future__ import annotations

import json
import os
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
RESULTS = ROOT / "docs" / "results"
MARKED = re.compile(r"^<!-- (?:table: (?P<name>\S+)|index) -->\n(?:(?![|#<]).+\n\n)?(?:\|.*\n)*", re.MULTILINE)

NO_UNIT = ("ratio", "count")
# Fields that describe a run. They stand above the figures, and in a figure where they differ; null says "not known".
RUN = {"machine": str, "driver": str, "date": str, "commit": str, "recorded_at": str, "command": str, "samples": int,
       "unit": str, "note": str}  # fmt: skip
ABOVE = RUN | {"title": str, "mode": str, "range": str, "verified": bool, "rivals": dict, "columns": str,
               "shown": list, "figures": list}  # fmt: skip
FIGURE = RUN | {"work": str, "measured": str, "value": (int, float), "mad": (int, float), "low": (int, float),
                "high": (int, float), "by": str}  # fmt: skip


def faults(record: dict) -> list[str]:
    """Breaches of the schema, a sentence each."""

    def wrong(fields: dict, known: dict, where: str) -> list[str]:
        unknown = [f"{where}: unknown field {field}" for field in fields if field not in known]
        return unknown + [
            f"{where}: {field} has the wrong type"
            for field, value in fields.items()
            if field in known and not isinstance(value, known[field]) and not (value is None and field in RUN)
        ]

    found = wrong(record, ABOVE, "record")
    found += [f"record: {field} is missing" for field in ("title", "unit", "columns", "figures") if field not in record]
    if record.get("columns") not in ("work", "measured"):
        found.append("record: columns is neither work nor measured")
    figures = record.get("figures", [])
    places = [(figure.get("work"), figure.get("measured")) for figure in figures]
    found += [f"{work}, {measured}: is there twice" for work, measured in set(places)
              if places.count((work, measured)) > 1]  # fmt: skip
    works = {work for work, _ in places}
    found += [f"record: shown names no work: {work}" for work in record.get("shown", []) if work not in works]
    for figure in figures:
        where = f"{figure.get('work')}, {figure.get('measured')}"
        found += wrong(figure, FIGURE, where)
        if not {"work", "measured"} <= figure.keys() or not {"value", "low", "high"} & figure.keys():
            found.append(f"{where}: a figure has a work, what was measured, and a value or a range")
    return found


def number(value: float, unit: str, digits: int = 0) -> str:
    """With the digits behind the point that it is kept with, at least `digits`; a ratio with two."""
    kept = len(str(value).partition(".")[2])
    return f"{value:.2f}" if unit == "ratio" else f"{value:,.{max(kept, digits)}f}"


def cell(figure: dict | None, unit: str, *, with_unit: bool) -> str:
    if figure is None:
        return "–"
    digits = max(len(str(figure.get(field, "")).partition(".")[2]) for field in ("value", "mad"))
    value, mad, low, high = (
        number(figure[field], unit, digits if field in ("value", "mad") else 0) if field in figure else ""
        for field in ("value", "mad", "low", "high")
    )
    shown = value
    if mad:
        shown += f" ± {mad}"
    elif low and high:
        shown = f"{value} ({low} … {high})" if value else f"{low} … {high}"
    elif high:
        shown += f" (≤ {high})"
    if with_unit and unit not in NO_UNIT:
        shown += f" {unit}"
    return shown + (f", {figure['by']}" if "by" in figure else "")


def first_seen(figures: list[dict], field: str) -> list[str]:
    return list(dict.fromkeys(figure[field] for figure in figures))


def grid(record: dict, figures: list[dict]) -> list[str]:
    """Lines of the table: a row each for what `columns` is not."""
    across, down = ("work", "measured") if record["columns"] == "work" else ("measured", "work")
    by_place = {(figure["work"], figure["measured"]): figure for figure in figures}
    units = {
        measured: {figure.get("unit", record["unit"]) for figure in figures if figure["measured"] == measured}
        for measured in first_seen(figures, "measured")
    }

    def label(field: str, name: str) -> str:
        unit = next(iter(units[name])) if field == "measured" and len(units[name]) == 1 else "ratio"
        return name if unit in NO_UNIT else f"{name}, {unit}"

    columns = first_seen(figures, across)
    lines = ["| " + " | ".join(["", *(label(across, name) for name in columns)]).strip() + " |"]
    lines.append("|---" * (1 + len(columns)) + "|")
    for name in first_seen(figures, down):
        cells = []
        for column in columns:
            place = (column, name) if across == "work" else (name, column)
            figure = by_place.get(place)
            unit = figure.get("unit", record["unit"]) if figure else "ratio"
            cells.append(cell(figure, unit, with_unit=len(units[place[1]]) > 1))
        lines.append(f"| {label(down, name)} | {' | '.join(cells)} |")
    return lines


def caption(record: dict, figures: list[dict], link: str) -> str:
    """The line above a table: title, machine, date, what the numbers are, rivals, the command, the record."""
    machine = record.get("machine", "")
    samples = f"medians of {record['samples']}" if record.get("samples", 1) > 1 else ""
    if any("mad" in figure for figure in figures):
        samples = f"{samples or 'medians'} ± their median absolute deviation"
    ranged = any("high" in figure and "mad" not in figure for figure in figures)
    said = [
        machine[:1].upper() + machine[1:], record.get("date", ""), record.get("mode", ""), samples,
        f"in brackets {record['range']}" if ranged and "range" in record else "",
        ", ".join(f"{name} {version}" if version[0].isdigit() else f"{name}: {version}"
                  for name, version in record.get("rivals", {}).items()),
    ]  # fmt: skip
    command = f" `{record['command']}`." if "command" in record else ""
    about = f" {'; '.join(filter(None, said))}." if any(said) else ""
    return f"**{record['title']}.**{about}{command} [Record]({link})."


def table(name: str, page: pathlib.Path, *, whole: bool = False) -> str:
    record = json.loads((RESULTS / f"{name}.json").read_text("utf-8"))
    figures = [figure for figure in record["figures"] if whole or figure["work"] in record.get("shown", figure["work"])]
    link = os.path.relpath(RESULTS / f"{name}.json", page.parent)
    return "\n".join([caption(record, figures, link), "", *grid(record, figures), ""])


def index() -> str:
    files = sorted(RESULTS.glob("*.json"))
    lines = [f"{len(files)} records:", "", "| record | what | machine | date | commit |", "|---|---|---|---|---|"]
    for file in files:
        record = json.loads(file.read_text("utf-8"))
        fields = (record.get(field, "") for field in ("title", "machine", "date", "commit"))
        lines.append(f"| [{file.stem}]({file.name}) | {' | '.join(fields)} |")
    return "\n".join([*lines, ""])


def rewritten(page: pathlib.Path, text: str) -> str:
    """The page with each of its tables as its record has it."""

    def place(found: re.Match[str]) -> str:
        marker = found[0].split("\n", 1)[0]
        return f"{marker}\n{table(found['name'], page)}" if found["name"] else f"{marker}\n{index()}"

    return MARKED.sub(place, text)


def pages() -> list[pathlib.Path]:
    return [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]


def main(names: list[str]) -> int:
    for name in names:
        print(table(name, ROOT / "docs" / "page.md", whole=True))
    if not names:
        for page in pages():
            text = page.read_text("utf-8")
            if (new := rewritten(page, text)) != text:
                page.write_text(new, "utf-8")
                print(f"written: {page.relative_to(ROOT)}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
