"""Plans of runs, and their statistics."""

from __future__ import annotations

import html
import json
from typing import Any, Iterator, Mapping


_STYLE = """\
.garuda-plan { border-collapse: collapse; font: 13px system-ui, sans-serif }
.garuda-plan th, .garuda-plan td { padding: 2px 10px 2px 0; text-align: left; vertical-align: top }
.garuda-plan .number { text-align: right; font-variant-numeric: tabular-nums; white-space: nowrap }
.garuda-plan .operator { white-space: nowrap }
.garuda-plan .bar { background: #c8d8f0; height: 10px; min-width: 1px }
.garuda-plan .time { width: 120px }
.garuda-plan small { color: #777 }
"""


def _operators(tree: Mapping[str, Any], depth: int = 0) -> Iterator[tuple[int, Mapping[str, Any]]]:
    """The operators of a tree and how deep they lie, an operator before those that feed it."""
    yield depth, tree
    for below in tree["inputs"]:
        yield from _operators(below, depth + 1)


def _row_html(depth: int, operator: Mapping[str, Any], longest_ns: float) -> str:
    """An operator: its work, where it runs, its rows and its time, or what is expected of both."""
    ran = "rows" in operator
    rows = operator["rows"] if ran else operator.get("estimated_rows", 0)
    ns = operator.get("ns", 0) if ran else operator.get("estimated_ns", 0)
    about = "" if ran or not rows else "about "
    work = html.escape(operator.get("strategy", ""))
    remarks = [operator.get("reason", ""), *map(": ".join, operator.get("details", {}).items()), *operator.get("notes", [])]
    work += "".join(f"<br><small>{html.escape(remark)}</small>" for remark in remarks if remark)
    where = html.escape(" on ".join(dict.fromkeys(filter(None, (operator.get("path", ""), operator.get("device", ""))))))
    bar = f'<div class="bar" style="width: {100 * ns / longest_ns:.1f}%"></div>' if ns else ""
    return (
        f'<tr><td class="operator" style="padding-left: {20 * depth}px">{html.escape(operator["operator"])}</td>'
        f"<td>{work}</td><td>{where}</td>"
        f'<td class="number">{f"{about}{rows:,.0f}" if rows or ran else ""}</td>'
        f'<td class="number">{f"{ns / 1e6:,.3f} ms" if ns else ""}</td><td class="time">{bar}</td></tr>'
    )


class Plan:
    """A plan: which path runs on which device, why, and what each candidate would cost. `print(plan)` shows it.

    >>> import garuda
    >>> plan = garuda.explain_join({"a": [1]}, {"a": [2]}, on="a", path="cpu")
    >>> plan.path
    'cpu'
    >>> sorted(plan.to_dict())[:3]
    ['candidates', 'chunk_rows', 'details']
    """

    def __init__(self, text: str, document: str) -> None:
        self._text = text
        self._document = document

    def to_dict(self) -> dict[str, Any]:
        """Everything the plan holds, as `garuda explain --json` prints it."""
        values: dict[str, Any] = json.loads(self._document)
        return values

    @property
    def path(self) -> str:
        return str(self.to_dict()["path"])

    @property
    def device(self) -> str:
        return str(self.to_dict()["device"])

    @property
    def reason(self) -> str:
        return str(self.to_dict()["reason"])

    def __str__(self) -> str:
        return self._text

    def __repr__(self) -> str:
        return f"<garuda.Plan: {self.path} on {self.device}>"

    def _repr_html_(self) -> str:
        operators = list(_operators(self.to_dict()["tree"]))
        longest = max(max(one.get("ns", 0), one.get("estimated_ns", 0)) for _, one in operators) or 1
        head = "".join(f"<th>{name}</th>" for name in ("operator", "work", "where", "rows", "time", ""))
        rows = "\n".join(_row_html(depth, one, longest) for depth, one in operators)
        return (
            f'<style>{_STYLE}</style><table class="garuda-plan"><thead><tr>{head}</tr></thead>\n<tbody>{rows}</tbody></table>\n'
            f"<details><summary>{html.escape(self.path)} on {html.escape(self.device)}</summary>"
            f"<pre>{html.escape(self._text)}</pre></details>"
        )

    def to_html(self) -> str:
        """A page with the operators, their rows and times: those of a run (`Table.plan`), else as they are expected."""
        return (
            '<!doctype html>\n<html lang="en"><head><meta charset="utf-8"><title>garuda: plan</title></head>\n'
            f"<body>{self._repr_html_()}</body></html>\n"
        )


class Stats(Mapping[str, Any]):
    """Statistics of a run: path, device, rows, nanoseconds and bytes of phases, counters; a mapping.

    >>> import garuda
    >>> stats = garuda.join({"a": [1, 2]}, {"a": [2]}, on="a", path="cpu").stats
    >>> stats["rows_left"], stats["rows_out"], stats["path"]
    (2, 1, 'cpu')
    """

    def __init__(self, document: str) -> None:
        self._values: dict[str, Any] = json.loads(document)

    def __getitem__(self, key: str) -> Any:
        return self._values[key]

    def __iter__(self) -> Iterator[str]:
        return iter(self._values)

    def __len__(self) -> int:
        return len(self._values)

    def __repr__(self) -> str:
        phases = "".join(f"\n  {p['name']:<12} {p['ns'] / 1e6:10.3f} ms" for p in self._values.get("phases", []))
        total = self._values.get("total_ns", 0) / 1e6
        return f"<garuda.Stats: {self._values.get('path')} on {self._values.get('device')}, {total:.3f} ms{phases}>"
