"""The figures of two papers as data: what is run for each, and what the paper says of it.

GARUDA: Doraiswamy et al., PVLDB 16(10), 2023, figures 8 to 15 and §6.2. Wu et al.: SIGMOD 2025. Both papers print their
charts without numbers, so what is held against them is what their text says.
"""

from __future__ import annotations

import argparse
import dataclasses
import functools
from collections.abc import Callable

from engines import engine
from paper import tables
from rivals import workloads
from tpch import queries

# The rows of the paper's tables at scale 1: TPC-H 1000 stands beside 512 M rows.
NARROW_ROWS = 1 << 19
GROUPED_ROWS = 1 << 20


@dataclasses.dataclass(frozen=True)
class Claim:
    """`text` is the paper's. It agrees where the time of `over` is `least` to `most` times that of `under`: engines, in
    the median of all runs or in the run `of`; or two runs of the graphics path. Without them the text stands alone."""

    text: str
    over: str = ""
    under: str = ""
    least: float = 0
    most: float = 1e9
    of: str = ""


@dataclasses.dataclass(frozen=True)
class Run:
    """One group of bars; runs of the same name are one measurement. `x` stands on the axis of a line."""

    name: str
    title: str
    operation: engine.Operation
    tables: Callable[[argparse.Namespace], tables.Tables]
    x: float | None = None


@dataclasses.dataclass(frozen=True)
class Figure:
    """`kind`: bars (times over garuda's on the graphics path), lines (by `axis`), phases (garuda's own), histogram, of
    `rows` values.
    `needs`: a kind of device, "" for any. `tunings`: `path` by each of them, in place of all paths."""

    number: str
    title: str
    claims: tuple[Claim, ...]
    runs: tuple[Run, ...] = ()
    kind: str = "bars"
    axis: str = ""
    needs: str = ""
    tunings: tuple[tuple[str, str], ...] = ()
    path: str = "graphics"
    rows: int = 0


def histogram_values(scale: float) -> int:
    """Rows for a scale, as many as the paper's from scale 4 on."""
    return min(max(int(8e6 * scale), 1 << 10), 32_000_000)


def tpch(*names: str) -> tuple[Run, ...]:
    by_name = {query.name: query for query in queries.QUERIES}
    operations = {name: by_name[name].operation for name in names}
    return tuple(
        Run(name, by_name[name].title, operation, functools.partial(tables.of_tpch, operation))
        for name, operation in operations.items()
    )


def made(
    name: str, title: str, operation: engine.Operation, rows: dict[str, int], *options: str, x: float | None = None
) -> Run:
    workload = workloads.Workload(name, title, operation, rows, options)
    return Run(name, title, operation, functools.partial(tables.made, workload), x)


def narrow(scale: float, name: str, title: str, *options: str, share: float = 1, x: float | None = None) -> Run:
    rows = max(int(NARROW_ROWS * scale * share), 16)
    return made(name, title, engine.Join(), {"--rows-left": rows, "--rows-right": rows}, *options, x=x)


def grouped(scale: float, power: int) -> Run:
    operation = engine.GroupBy(("k0",), (engine.Aggregate("sum", ("v",)),))
    rows = {"--rows": int(GROUPED_ROWS * scale), "--groups": 1 << power}
    return made(f"groups-{power}", f"2^{power} groups", operation, rows, "--value-type=i32", x=1 << power)


def multi(functions: tuple[str, ...]) -> tuple[Run, ...]:
    """SGO2, MGO1 and MGO2 by COUNT and by SUM."""
    runs = []
    for run in tpch("SGO2", "MGO1", "MGO2"):
        for function in functions:
            columns = (queries.PRICE,) if function == "sum" else ()
            operation = dataclasses.replace(run.operation, aggregates=(engine.Aggregate(function, columns),))
            read = functools.partial(tables.of_tpch, run.operation)
            runs.append(Run(f"{run.name}-{function}", f"{run.name}, {function}", operation, read))
    return tuple(runs)


JOINS = ("JO1", "JO2", "JO3", "JO4")
GROUPS = ("SGO1", "SGO2", "SGO3")
SKEWS = (0.0, 0.1, 0.2, 0.3, 0.4, 0.5)
SELECTIVITIES = (1, 2, 4, 8, 16)
POWERS = range(8, 25, 4)
PAYLOADS = (("carried", "payload=carry"), ("gathered", "payload=gather"))
BUILD_SIDES = (("fixed: left", "build=left"), ("fixed: right", "build=right"))


def garuda(scale: float) -> list[Figure]:
    sizes = tuple(
        narrow(scale, f"narrow-{part}", f"{part}", share=share)
        for part, share in (("R = S, quarter", 0.25), ("R = S, half", 0.5), ("R = S", 1.0))
    )
    fast_joins = (
        Claim("at least 2 × faster than HCJoin", "HCJoin", "graphics", 2),
        Claim("around 3 × faster than the CPU", "cpu", "graphics", 2.5),
        Claim("(not in the paper: DuckDB)", "DuckDB", "graphics", 1),
    )
    largest = max(power for power in POWERS if 1 << power <= max(GROUPED_ROWS * scale, 1 << 8))
    return [
        Figure("8a", "Joins of narrow tables", fast_joins, sizes),
        Figure("8b", "Joins of TPC-H", fast_joins, tpch(*JOINS)),
        Figure(
            "9", "Where the time of a join goes",
            (Claim("three parts: partitioning on the CPU, the GPU, transfers that the GPU does not hide"),
             Claim("transfers beside the GPU's work make a join 2 to 2.5 × faster than a blocking one")),
            (*sizes[-1:], *tpch(*JOINS)), kind="phases",
        ),
        Figure(
            "10a", "Selectivity",
            (Claim("time grows linearly with the result: at most 16 × from 100 % to 1600 %", "1600 %", "100 %", 0, 16),
             Claim("HCJoin grows faster, and cannot compute 1600 %")),
            tuple(narrow(scale, f"selectivity-{m}", f"{m}00 %", f"--multiplicity={m}", x=100 * m) for m in SELECTIVITIES),
            kind="lines", axis="result over input, %",
        ),
        Figure(
            "10b", "Skew: a self-join of Zipf keys",
            (Claim("faster than HCJoin in all skewed regimes", "HCJoin", "graphics", 1),),
            tuple(self_join(scale, z) for z in SKEWS), kind="lines", axis="Zipf exponent",
        ),
        Figure(
            "11", "SnakeJoin: the build side of each partition chosen, or fixed",
            (Claim("the wrong fixed side is up to 4 × slower", "worst fixed", "chosen", 1),
             Claim("choosing costs only marginally more than the right fixed side", "chosen", "best fixed", 0, 1.15),
             Claim("of JO5, whose tables take turns in being skewed, both fixed sides are slower", "best fixed", "chosen", 1, of="JO5")),
            (*tpch(*JOINS), both_skewed(scale)),
            tunings=(("chosen", ""), *BUILD_SIDES),
        ),
        Figure(
            "12a", "Group-bys of TPC-H by one column",
            (Claim("perceptibly better than TGB", "TGB", "graphics", 1),
             Claim("both are significantly better than the CPU", "cpu", "graphics", 1.5)),
            tpch(*GROUPS),
        ),
        Figure(
            "12b", "Group-bys by number of groups", (Claim("better than TGB at all cardinalities", "TGB", "graphics", 1),),
            tuple(grouped(scale, power) for power in POWERS if power <= largest), kind="lines", axis="groups",
        ),
        Figure(
            "13", "Group-bys by several columns",
            (Claim("COUNT and SUM differ marginally, by what the values take to be transferred"),
             Claim("others could not group by several columns; here is the CPU", "cpu", "graphics", 1)),
            multi(("count", "sum")),
        ),
        Figure(
            "14", "Group-bys on an integrated GPU",
            (Claim("close to TGB tuned anew for this GPU, without any tuning", "TGB", "graphics", 0.8),),
            tpch(*GROUPS), needs="integrated",
        ),
        Figure("15", "Joins on a data-centre GPU", (Claim("2 to 3 × faster than HCJoin", "HCJoin", "graphics", 2),),
               (*sizes[-1:], *tpch(*JOINS)), needs="discrete"),
        Figure(
            "6.2", f"A histogram of {histogram_values(scale):,} values in 2^24 bins: blending against atomics",
            (Claim("Vulkan's cache hit rate is at least twice CUDA's best; here stands time", "cuda", "graphics", 1),),
            kind="histogram", rows=histogram_values(scale),
        ),
    ]


def self_join(scale: float, exponent: float) -> Run:
    rows = max(int(NARROW_ROWS * scale), 16)
    sizes = {"--rows-left": rows, "--rows-right": rows}
    workload = workloads.Workload("skew", "skew", engine.Join(), sizes, (f"--distribution=zipf:{exponent}",))
    read = functools.partial(tables.with_itself, workload)
    return Run(f"skew-{exponent}", f"Zipf {exponent}", engine.Join(), read, exponent)


def both_skewed(scale: float) -> Run:
    read = functools.partial(tables.both_skewed, int(NARROW_ROWS * scale))
    return Run("JO5", "JO5 R ⋈ S, skewed in turns", engine.Join(), read)


def wu(scale: float) -> list[Figure]:
    """Joins of 2^27 rows a side in the paper; here as many as GARUDA's narrow ones."""
    to_cudf = "the partitioned join is up to 4 × faster than cuDF"
    wide = ("--payload-left=2", "--payload-right=2")
    widths = (
        narrow(scale, "wu-narrow", "narrow"), narrow(scale, "wu-wide", "2 payloads a side", *wide),
        narrow(scale, "wu-wider", "4 payloads a side", "--payload-left=4", "--payload-right=4"),
    )
    few_match = narrow(scale, "wu-match-3", "3 % match", *wide, "--match-ratio=0.03")
    return [
        Figure("wu-7", "Joins by size and width (Wu et al., figures 7 to 9)", (Claim(to_cudf, "cuDF", "compute", 1),), widths),
        Figure(
            "wu-9", "Wide joins: payload carried (GFTR), or gathered (GFUR; Wu et al., figures 7 and 9)",
            (Claim("with 2 payload columns a side carrying is around 2.3 × faster", "gathered", "carried", 1.8, 2.8, "wu-wide"),
             Claim("with more columns it stays 2 × faster", "gathered", "carried", 1.6, 2.4, "wu-wider"),
             Claim("where few rows match, gathering is faster", "carried", "gathered", 1, of="wu-match-3")),
            (*widths[1:], few_match), tunings=PAYLOADS, path="compute",
        ),
        Figure(
            "wu-11", "Joins by match ratio (Wu et al., figures 10 and 11)",
            (Claim("carrying payload pays from a match ratio of 25 % on"), Claim(to_cudf, "cuDF", "compute", 1)),
            tuple(narrow(scale, f"wu-match-{r}", f"{r} %", *wide, f"--match-ratio={r / 100}", x=r) for r in (3, 25, 50, 100)),
            kind="lines", axis="match ratio, %",
        ),
        Figure(
            "wu-12", "Joins by skew (Wu et al., figure 12)",
            (Claim("partitioned by radix passes, time is the same at all Zipf exponents", "Zipf 1.5", "Zipf 0.0", 0, 1.25),),
            tuple(narrow(scale, f"wu-zipf-{z}", f"Zipf {z}", *wide, f"--distribution=zipf:{z}", x=z) for z in (0.0, 0.5, 1.0, 1.5)),
            kind="lines", axis="Zipf exponent",
        ),
        Figure(
            "wu-15", "Group-bys by cardinality (Wu et al., figures 15 to 18)",
            (Claim("aggregating in shared memory is significantly faster than cuDF up to 2^14 groups", "cuDF", "compute", 1),),
            tuple(grouped(scale, power) for power in range(4, 21, 4) if 1 << power <= max(GROUPED_ROWS * scale, 16)),
            kind="lines", axis="groups",
        ),
    ]


def all_figures(scale: float) -> list[Figure]:
    return garuda(scale) + wu(scale)
