"""Lazy plans of Polars, alone by its streaming engine and with garuda.polars.Engine."""

from __future__ import annotations

import argparse
import functools
from collections.abc import Callable, Iterator
from typing import Any

import garuda.polars
import polars
from db_benchmark import questions
from db_benchmark import tables as db_tables
from engines import files
from engines.polars_rival import Polars
from polars.testing import assert_frame_equal
from tpch import lazy_queries
from tpch import tables as tpch_tables


class Plans(Polars):
    """Gives the plan in place of its rows."""

    def answer(self, query: object, way: str) -> object:
        return query


def difference(expected: Any, rows: Any, ordered: bool) -> str | None:
    try:
        assert_frame_equal(expected, rows, check_row_order=ordered, rel_tol=1e-9)
    except AssertionError as error:
        return str(error)
    return None


def pair_of(make: Callable[..., Any], name: str, plan: polars.LazyFrame, always: bool, ordered: bool) -> Any:
    engine = garuda.polars.Engine(prices=not always)

    def decided() -> str:
        taken = sum(decision.engine == "garuda" for decision in engine.decisions)
        reasons = "; ".join(decision.reason for decision in engine.decisions) if len(engine.decisions) == 1 else ""
        return f"{taken} of {len(engine.decisions)} nodes" + (f": {reasons}" if reasons else "")

    return make(name, functools.partial(plan.collect, engine="streaming"), functools.partial(plan.collect, engine=engine),
                functools.partial(difference, ordered=ordered), decided)  # fmt: skip


def tpch(arguments: argparse.Namespace, make: Callable[..., Any]) -> Iterator[Any]:
    tpch_tables.make(arguments.data, arguments.scale, set(lazy_queries.TABLES))
    frames = lazy_queries.tables(arguments.data / f"tpch-{arguments.scale}", in_memory=not arguments.files)
    for name, query in lazy_queries.QUERIES.items():
        yield pair_of(make, name, query(frames), arguments.always, ordered=True)


def db_benchmark(arguments: argparse.Namespace, make: Callable[..., Any]) -> Iterator[Any]:
    shape, engine, loaded = db_tables.Shape(arguments.rows, False, False), Plans(polars.thread_pool_size()), ""
    for question in questions.QUESTIONS:
        if question.tables != loaded:
            paths = db_tables.make(arguments.data, question.tables, shape, "arrow")
            engine.load({name: files.read(path) for name, path in paths.items()})
            loaded = question.tables
        plan: Any = engine.run(question.operation, "plan")
        yield pair_of(make, question.name, plan, arguments.always, ordered=False)
