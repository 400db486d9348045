"""Plans of runs, and their statistics."""

from __future__ import annotations

import html
import json
from typing import Any, Iterator, Mapping


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
        return f"<pre>{html.escape(self._text)}</pre>"


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
