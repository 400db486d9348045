"""Verifies, then times engines in turn."""

from __future__ import annotations

import dataclasses
import gc
import resource
import statistics
import sys
import time
from collections.abc import Callable

from engines import compare, engine


class WrongResult(Exception):
    """An engine's result differs from garuda's."""


@dataclasses.dataclass
class Series:
    """One engine's run: seconds of its ways when they were tried; of the fastest one's samples seconds, and seconds
    of processors, which other work on the machine changes less; and what it said about the last of them."""

    engine: engine.Runner
    tried: dict[str, float] = dataclasses.field(default_factory=dict)
    samples: list[float] = dataclasses.field(default_factory=list)
    cpu_samples: list[float] = dataclasses.field(default_factory=list)
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


def cpu_seconds() -> float:
    """Seconds that processors worked for this process and for those that it has waited for."""
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(one.ru_utime + one.ru_stime for one in used)


LEAST_QUIET_SECONDS = 0.02
MOST_QUIET_SECONDS = 0.6
QUIET_SHARE = 0.01  # of a processor
MOST_SETTLING_SECONDS = 5.0


def settle(last_seconds: float, used_seconds: Callable[[], float]) -> None:
    """Waits until the engines, whose processor seconds `used_seconds` gives, have been quiet for as long as the last run
    took, or MOST_QUIET_SECONDS: an allocator's threads give the memory of a result back when its engine has long ended,
    at the cost of whoever runs then. Polars' are at it for 1.2 s, DuckDB's for some ms half a second later (results of
    9 * 10^6 rows)."""
    quiet_seconds = min(max(last_seconds, LEAST_QUIET_SECONDS), MOST_QUIET_SECONDS)
    begin = time.perf_counter()
    while time.perf_counter() - begin < MOST_SETTLING_SECONDS:
        cpu_before, quiet_since = used_seconds(), time.perf_counter()
        time.sleep(quiet_seconds)
        if used_seconds() - cpu_before <= QUIET_SHARE * (time.perf_counter() - quiet_since):
            return


@dataclasses.dataclass(frozen=True)
class Timed:
    seconds: float
    cpu_seconds: float
    result: object


def timed(runner: engine.Runner, operation: object, way: str) -> Timed:
    runner.forget()
    runner.prepare(operation, way)
    gc.collect()
    cpu_before, start = cpu_seconds() + runner.cpu_seconds(), time.perf_counter()
    result = runner.run(operation, way)
    return Timed(time.perf_counter() - start, cpu_seconds() + runner.cpu_seconds() - cpu_before, result)


def verify(runners: list[engine.Engine], operation: engine.Operation, threads: int) -> list[Series]:
    """Runs every way of every engine and compares it with the first engine's result; where there are several ways, once
    more to rank them, for the first run is cold. Raises WrongResult."""
    expected = None
    all_series = []
    for runner in runners:
        series = Series(runner)
        for way in runner.ways:
            run = timed(runner, operation, way)
            actual = compare.digest(runner.to_arrow(run.result), operation, threads, expected)
            first = run.seconds
            del run
            expected = expected or actual
            wrong = compare.difference(expected, actual, operation, threads, runner.zero_sums)
            if wrong:
                raise WrongResult(f"{runner.name} ({way}) gives {wrong}")
            series.rows_out = actual.rows
            del actual
            again = timed(runner, operation, way).seconds if len(runner.ways) > 1 else first
            series.tried[way] = min(first, again)
        runner.forget()
        all_series.append(series)
    return all_series


def sample(all_series: list[Series], operation: object, repeat: int) -> None:
    """Runs all engines in turn within each repetition, so that a change in the machine's load meets all, each once the
    one before has settled."""
    last_seconds = 0.0

    def used_seconds() -> float:
        return cpu_seconds() + sum(series.engine.cpu_seconds() for series in all_series)

    for i in range(repeat):
        for series in all_series:
            settle(last_seconds, used_seconds)
            run = timed(series.engine, operation, series.way)
            series.samples.append(run.seconds)
            series.cpu_samples.append(run.cpu_seconds)
            last_seconds = run.seconds
            series.statistics = series.engine.statistics(run.result)
            del run
            series.engine.forget()
        print(f"  sample {i + 1} of {repeat}", file=sys.stderr, flush=True)
