"""Sets of public queries in SQL: their texts, and what makes their tables."""

from __future__ import annotations

import dataclasses
import pathlib
from collections.abc import Callable

import clickbench.tables
import clickbench.texts
import db_benchmark.tables
import db_benchmark.texts
import ssb.tables
import ssb.texts
import tpch.tables
import tpch.texts


@dataclasses.dataclass(frozen=True)
class QuerySet:
    """`texts` by name. `make(folder, scale)` gives a Parquet file, or a folder of them, for each table; the file is made
    if it is not there yet. At scale 1 TPC-H and SSB are as their descriptions say; the others have 10^6 rows."""

    title: str
    texts: dict[str, str]
    make: Callable[[pathlib.Path, str], dict[str, pathlib.Path]]


def db_benchmark_tables(kind: str) -> Callable[[pathlib.Path, str], dict[str, pathlib.Path]]:
    def make(folder: pathlib.Path, scale: str) -> dict[str, pathlib.Path]:
        shape = db_benchmark.tables.Shape(max(int(1e6 * float(scale)), 1), ordered=False, nulls=False)
        return db_benchmark.tables.make(folder, kind, shape, "parquet")

    return make


SETS = {
    "tpch": QuerySet("TPC-H", tpch.texts.TEXTS, lambda f, s: tpch.tables.make(f, s, set(tpch.texts.TABLES))),
    "ssb": QuerySet("SSB", ssb.texts.TEXTS, lambda f, s: ssb.tables.make(f, s, set(ssb.texts.TABLES))),
    "clickbench": QuerySet("ClickBench", clickbench.texts.TEXTS, clickbench.tables.make),
    "db-group-bys": QuerySet(
        "db-benchmark's group-bys", db_benchmark.texts.GROUP_BYS, db_benchmark_tables(db_benchmark.tables.G1)
    ),
    "db-joins": QuerySet("db-benchmark's joins", db_benchmark.texts.JOINS, db_benchmark_tables(db_benchmark.tables.J1)),
}
