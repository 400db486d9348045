"""Which of a plan's joins and group-bys are worth handing over: the planner's price beside what Polars would take.

Measured on two cores (Polars 2.1 streaming, rows in memory, one to three columns a side, least of five): nanoseconds that
Polars takes a row of the larger side, by rows of the smaller one or by groups. The rates are those of the cheapest cases
(one column, few matches, integer keys), garuda's side is the dearest, and it has to win by a quarter, so that what is
handed over by mistake costs less than it gains elsewhere. Both engines are taken to use all cores.
"""

from __future__ import annotations

import math
from typing import Optional, Union

import polars

from ._polars_nodes import Groups, Join
from .engine import Engine

#: Of a node whose rows are not known.
MANY = 2**62

_FEW = 250_000  # rows, below which looking at them twice and starting takes longer than Polars does
_LOOKUP_NS = ((13, 10.0), (16, 16.0), (17, 25.0), (20, 70.0))  # of joins, by log2 of the smaller side's rows
_GROUP_NS = ((10, 8.0), (14, 12.0), (17, 28.0), (20, 70.0))  # of group-bys, by log2 of groups
_FURTHER_NS = 10.0  # a further aggregate, of many groups
_STRING_LOOKUPS = 2.5  # times as long, where strings are looked up in a table beyond the cache
_CORES = 2  # that these were measured on
_PRICED = 2.5  # what garuda took over its price, uncalibrated, at most; of strings _PRICED_STRINGS
_PRICED_STRINGS = 4.0
_HANDED_NS = 10.0  # a row: making it an Arrow table, and pricing
_STRING_NS = 40.0  # more for each key of strings, whose values pricing samples
_MARGIN = 1.25
_WORTH_PRICING = 3.0  # times the handing over; below that pricing itself shows
_SAMPLE = 2**14


def too_few(bounds: list[int]) -> Optional[str]:
    """Why to leave a node of at most so many rows to Polars, before any is there."""
    if sum(bounds) < _FEW:
        return f"at most {sum(bounds):,} rows, too few to be worth handing over"
    return None


def compare(node: Union[Join, Groups], rows: list[polars.DataFrame], engine: Engine) -> tuple[bool, str]:
    """Whether garuda is to run the node on these rows, and why."""
    heights = [frame.height for frame in rows]
    if sum(heights) < _FEW:
        return False, f"{sum(heights):,} rows, too few to be worth handing over"
    strings = sum(dtype in (polars.String, polars.Binary) for dtype in node.key_types(rows))
    if isinstance(node, Join):
        table = min(heights)
        polars_ns = max(heights) * _rate(_LOOKUP_NS, table)
        if strings and table > 2**16:
            polars_ns *= _STRING_LOOKUPS
    elif any(wanted.spec[1:] == ("count_distinct",) for wanted in node.wanted):
        return False, "counts of distinct values, at which Polars is faster"
    else:
        groups = _estimated_groups(rows[0], [name for name, _ in node.keys])
        polars_ns = heights[0] * _rate(_GROUP_NS, groups)
        if groups > 2**16:
            polars_ns += heights[0] * _FURTHER_NS * (len(node.wanted) - 1)
    polars_ns *= _CORES / polars.thread_pool_size()
    handed_ns = sum(heights) * (_HANDED_NS + strings * _STRING_NS)
    if polars_ns < handed_ns * _WORTH_PRICING:
        return False, f"Polars takes about {polars_ns / 1e6:.1f} ms, handing its rows over {handed_ns / 1e6:.1f}"
    price = node.priced(engine, rows).to_dict()["estimated_ns"]
    garuda_ns = price * (_PRICED_STRINGS if strings else _PRICED) + handed_ns
    reason = f"Polars takes about {polars_ns / 1e6:.1f} ms, garuda at most {garuda_ns / 1e6:.1f}"
    return polars_ns > garuda_ns * _MARGIN, reason


def _rate(points: tuple[tuple[int, float], ...], count: int) -> float:
    """Between measured points, on a scale of logarithms."""
    at = math.log2(max(count, 1))
    for (below, low), (above, high) in zip(points, points[1:]):
        if at < above:
            return low + (high - low) * max(at - below, 0) / (above - below)
    return points[-1][1]


def _estimated_groups(rows: polars.DataFrame, keys: list[str]) -> int:
    """Of the groups of a sample: the number of groups of one size in which so many would be found."""
    step = max(rows.height // _SAMPLE, 1)
    sample = rows.select(keys).gather_every(step)
    found = sample.n_unique()
    low, high = found, rows.height
    while high - low > max(low // 16, 1):
        middle = (low + high) // 2
        low, high = (middle, high) if middle * -math.expm1(-sample.height / middle) < found else (low, middle)
    return low
