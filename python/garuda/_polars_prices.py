"""Which of a plan's joins and group-bys are worth handing over, by the times that both engines take on such rows.

Nanoseconds a row on two cores (Polars 2.1 streaming, rows in memory; half of the processors' time, least of three), by
the base-2 logarithm of groups, or of the rows of a join's smaller side. A price of the planner would have to encode all
keys first, which is most of what grouping strings takes, so it is asked for only where a path was named. A node that is
handed over has to win by a quarter beyond the cost of handing it over.
"""

from __future__ import annotations

import math
from typing import Optional, Union

import polars

from ._polars_nodes import Groups, Join
from .engine import Engine

#: Rows of a node whose rows are not known.
MANY = 2**62

_Points = tuple[tuple[int, float], ...]
_Rates = tuple[_Points, _Points]  # of Polars, of garuda

FEW = 250_000  # rows, below which looking at them twice and starting takes longer than Polars does
_CORES = 2  # that these were measured on
_HANDING_NS = 2e6  # a node: making the rest of the plan again
_MARGIN = 1.25
_PRICED = 2.5  # garuda's time over the planner's uncalibrated price, at most
_SAMPLES = (2**10, 2**12)  # rows; the first is enough where many are alike
_PIECES = 32  # that a sample is taken in

#: Counts the groups of samples: in place and by one thread, where Polars would wake its own.
_SAMPLER = Engine(path="cpu", threads=1)

# Group-bys: their keys, and more for each key of strings, whose values garuda makes integers first.
_GROUP: _Rates = (((10, 2.1), (14, 3.4), (17, 9.0)), ((10, 2.2), (14, 2.4), (17, 3.0), (21, 4.0)))
_GROUP_STRING: _Rates = (((10, 1.0), (14, 1.5), (17, 6.0), (20, 30.0)), ((10, 4.5), (17, 9.0)))
# An aggregate adds this: sums, means, counts, extremes; others by name.
_AGGREGATE: _Rates = (((10, 0.4), (14, 0.9), (17, 5.7)), ((14, 0.2), (17, 0.9), (20, 1.2), (21, 2.2)))
_DEVIATION: _Rates = (((10, 0.8), (14, 1.7), (17, 4.8), (20, 10.0)), ((10, 6.4), (14, 7.2), (17, 7.8), (20, 11.3)))
_MEDIAN: _Rates = (((10, 8.0), (14, 11.0), (17, 33.0), (20, 130.0)), ((10, 8.3), (17, 9.5), (20, 12.3)))
_DISTINCT: _Rates = (((4, 23.0), (10, 30.0), (14, 42.0)), ((4, 31.0), (10, 25.0), (14, 18.0), (17, 12.0), (20, 9.0)))
_AGGREGATES = {"var": _DEVIATION, "var_pop": _DEVIATION, "std": _DEVIATION, "std_pop": _DEVIATION, "median": _MEDIAN,
               "count_distinct": _DISTINCT}  # fmt: skip
# Joins, a row of both sides: with two columns, for a further one, and for each key of strings.
_JOIN: _Rates = (((13, 4.4), (16, 6.4), (18, 9.2), (20, 12.8)), ((16, 1.6), (18, 2.0), (20, 3.1)))
_JOIN_COLUMN: _Rates = (((13, 0.5), (16, 0.75), (18, 1.1), (20, 1.45)), ((10, 0.1), (13, 0.2), (16, 0.4), (18, 1.2)))
_JOIN_STRING: _Rates = (((10, 2.0), (13, 3.4), (16, 16.0), (18, 39.0), (20, 51.0)), ((10, 3.3), (16, 4.0), (20, 4.7)))
_JOINED_STRING: _Rates = (((13, 0.4), (20, 9.0)), ((13, 4.0), (20, 5.0)))  # a column of strings of the result


def too_few(bounds: list[int]) -> Optional[str]:
    """Why to leave a node of at most so many rows to Polars, before any is there."""
    if sum(bounds) < FEW:
        return f"at most {sum(bounds):,} rows, too few to be worth handing over"
    return None


def compare(node: Union[Join, Groups], rows: list[polars.DataFrame], engine: Engine) -> tuple[bool, str]:
    """Whether garuda is to run the node on these rows, and why."""
    count = sum(frame.height for frame in rows)
    if count < FEW:
        return False, f"{count:,} rows, too few to be worth handing over"
    parts = _parts(node, rows)
    by_polars, by_garuda = (count * sum(_rate(rates[of], at) for rates, at in parts) for of in (0, 1))
    scale = _CORES / polars.thread_pool_size()
    by_polars, by_garuda = by_polars * scale, by_garuda * scale
    if engine.path not in ("auto", "cpu"):
        by_garuda = _PRICED * node.priced(engine, rows).to_dict()["estimated_ns"]
    by_garuda += _HANDING_NS
    reason = f"Polars takes about {by_polars / 1e6:.1f} ms, garuda {by_garuda / 1e6:.1f}"
    return by_polars > by_garuda * _MARGIN, reason


def _parts(node: Union[Join, Groups], rows: list[polars.DataFrame]) -> list[tuple[_Rates, float]]:
    """The rates that a node's rows add up, and where to read them."""
    strings = sum(dtype in (polars.String, polars.Binary) for dtype in node.key_types(rows))
    if isinstance(node, Join):
        at = math.log2(max(min(frame.height for frame in rows), 1))
        rates = [_JOIN] + [_JOIN_STRING] * strings + [_JOIN_COLUMN] * max(len(node.schema) - 2, 0)
        rates += [_JOINED_STRING] * sum(dtype in (polars.String, polars.Binary) for dtype in node.schema.values())
    else:
        at = math.log2(max(_estimated_groups(rows[0], [name for name, _ in node.keys]), 1))
        rates = [_GROUP] + [_GROUP_STRING] * strings
        rates += [_AGGREGATES.get(wanted.function, _AGGREGATE) for wanted in node.wanted]
    return [(each, at) for each in rates]


def _rate(points: _Points, at: float) -> float:
    """The rate at `at`, interpolated between measured points."""
    for (below, low), (above, high) in zip(points, points[1:]):
        if at < above:
            return low + (high - low) * max(at - below, 0) / (above - below)
    return points[-1][1]


def _estimated_groups(rows: polars.DataFrame, keys: list[str]) -> int:
    """Estimates the number of groups from a sample of pieces of neighbouring rows, as if all groups had one size. Where
    equal keys are neighbours the estimate is low, and so is the cost: either engine has few groups in a cache."""
    picked = rows[keys]
    step = max(rows.height // _PIECES, 1)
    found = taken = 0
    for size in _SAMPLES:
        sample = picked.slice(0, size // _PIECES)
        for first in range(step, rows.height, step):
            sample.vstack(picked.slice(first, size // _PIECES), in_place=True)  # shares the rows
        found, taken = len(_SAMPLER.group_by(sample, keys).agg()), sample.height
        if found < size // 4:
            break
    low, high = found, rows.height
    while high - low > max(low // 16, 1):
        middle = (low + high) // 2
        low, high = (middle, high) if middle * -math.expm1(-taken / middle) < found else (low, middle)
    return low
