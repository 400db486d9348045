"""Pages of report/page/page.html, which holds the styles and the script that draws charts, filled in by scripts."""

from __future__ import annotations

import html
import json
import pathlib
import re

TEMPLATE = pathlib.Path(__file__).resolve().parents[2] / "report/page/page.html"
# The colour of a path, or of an engine, on every page.
COLORS = {"cpu": 0, "graphics": 1, "compute": 2, "cuda": 4, "DuckDB": 6}


def shown(text: object) -> str:
    return re.sub(r"2\^(\d+)", r"2<sup>\1</sup>", html.escape(str(text)))


def field(text: str, style: str = "number", below: str = "") -> str:
    small = f"<small>{shown(below)}</small>" if below else ""
    return f'<td class="{style}">{shown(text)}{small}</td>'


def lines(x: str, x_log: int, y: str, series: list[dict]) -> dict:
    """A chart of lines, the y axis logarithmic; series have a name, a color and points of x, y and a title."""
    return {"kind": "lines", "x": {"label": x, "log": x_log}, "y": {"label": y, "log": 10}, "series": series}


class Page:
    """Built from top to bottom; all text is escaped here."""

    def __init__(self, title: str) -> None:
        self.body = f"<h1>{shown(title)}</h1>\n"
        self.charts: list[dict] = []

    def heading(self, text: str) -> None:
        self.body += f"<h2>{shown(text)}</h2>\n"

    def paragraph(self, text: str, style: str = "") -> None:
        self.body += f'<p class="{style}">{shown(text)}</p>\n' if style else f"<p>{shown(text)}</p>\n"

    def table(self, header: list[str], rows: list[list[str]]) -> None:
        """Rows begin with a name as text, fields follow as field() makes them."""
        head = "".join(f'<th scope="col">{shown(name)}</th>' for name in header)
        body = "".join(f'<tr><th scope="row">{shown(row[0])}</th>{"".join(row[1:])}</tr>\n' for row in rows)
        self.body += f'<div class="scroll"><table><thead><tr>{head}</tr></thead><tbody>\n{body}</tbody></table></div>\n'

    def chart(self, caption: str, chart: dict) -> None:
        self.body += f'<figure data-chart="{len(self.charts)}"><figcaption>{shown(caption)}</figcaption></figure>\n'
        self.charts.append(chart)

    def finish(self, title: str) -> str:
        filled = {"title": shown(title), "body": self.body, "charts": json.dumps(self.charts).replace("<", "\\u003c")}
        text = TEMPLATE.read_text(encoding="utf-8")
        return re.sub(r"\{\{(title|body|charts)\}\}", lambda match: filled[match[1]], text)
