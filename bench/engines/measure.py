"""Verifies, then times engines in turn."""

from __future__ import annotations

import dataclasses
import gc
import statistics
import sys
import time

from engines import compare, engine


class WrongResult(Exception):
    """An engine's result differs from garuda's."""


@dataclasses.dataclass
class Series:
    """What one engine did: seconds of its ways when they were tried, of the fastest one's samples, and what it said about
    the last of these."""

    engine: engine.Engine
    tried: dict[str, float] = dataclasses.field(default_factory=dict)
    samples: list[float] = dataclasses.field(default_factory=list)
    rows_out: int = 0
    statistics: dict = dataclasses.field(default_factory=dict)

    @property
    def way(self) -> str:
        return min(self.tried, key=self.tried.__getitem__)

    @property
    def median(self) -> float:
        return statistics.median(self.samples)

    @property
    def mad(self) -> float:
        """Median absolute deviation from the median."""
        return statistics.median(abs(sample - self.median) for sample in self.samples)


def timed(runner: engine.Engine, operation: engine.Operation, way: str) -> tuple[float, object]:
    runner.forget()
    gc.collect()
    start = time.perf_counter()
    result = runner.run(operation, way)
    return time.perf_counter() - start, result


def verify(runners: list[engine.Engine], operation: engine.Operation, threads: int) -> list[Series]:
    """Runs every way of every engine and compares it with the first engine's result; where there are several ways, once
    more to rank them, for the first run is cold. Raises WrongResult."""
    expected = None
    all_series = []
    for runner in runners:
        series = Series(runner)
        for way in runner.ways:
            first, result = timed(runner, operation, way)
            actual = compare.digest(runner.to_arrow(result), operation, threads, expected)
            del result
            expected = expected or actual
            wrong = compare.difference(expected, actual, operation, threads, runner.zero_sums)
            if wrong:
                raise WrongResult(f"{runner.name} ({way}) gives {wrong}")
            series.rows_out = actual.rows
            del actual
            again = timed(runner, operation, way)[0] if len(runner.ways) > 1 else first
            series.tried[way] = min(first, again)
        runner.forget()
        all_series.append(series)
    return all_series


def sample(all_series: list[Series], operation: engine.Operation, repeat: int) -> None:
    """All engines in turn within each repetition, so that a change in the machine's load meets all of them."""
    for i in range(repeat):
        for series in all_series:
            seconds, result = timed(series.engine, operation, series.way)
            del result
            series.engine.forget()
            series.samples.append(seconds)
            series.statistics = series.engine.statistics()
        print(f"  sample {i + 1} of {repeat}", file=sys.stderr, flush=True)
