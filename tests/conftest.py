"""Prints how many cases the tests of tests/axes tried, by type, path and interface."""

from __future__ import annotations

import collections
from typing import Any


def pytest_terminal_summary(terminalreporter: Any) -> None:
    tried: list[collections.Counter[str]] = [collections.Counter() for _ in range(3)]
    for report in terminalreporter.stats.get("passed", []):
        for name, value in report.user_properties:
            if name == "axes":
                for counter, place in zip(tried, value):
                    counter[place] += value[-1]
    if not tried[0]:
        return
    terminalreporter.section(f"{tried[0].total():,} cases of {len(tried[0])} column types")
    for counter in tried:
        terminalreporter.write_line(", ".join(f"{place} {count:,}" for place, count in counter.items()))
