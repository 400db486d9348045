"""The tables of db-benchmark, after its description: G1 (x) and J1 (x, small, medium, big), of any number of rows.

Values are functions of the seed and the shape alone. Tables are made in batches that need no more memory than they
take, but for the keys of J1's largest table, and by all cores; files that are there are taken as they are. A G1 of very
many rows is a folder of files, which processes write side by side.
"""

from __future__ import annotations

import collections
import concurrent.futures
import dataclasses
import itertools
import multiprocessing
import os
import pathlib
from collections.abc import Callable, Iterable, Iterator

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from engines import files

SEED = 108
GROUPS = 100  # the benchmark's K
BATCH = 1 << 20
# A table of G1 that has more batches is a folder of files of so many: one process encodes too slowly.
PART_BATCHES = 32
ONE_FILE_BATCHES = 128
NULLS = 0.05
# Rows of J1's right tables with N rows on the left: N / 10^6, N / 10^3 and N; at least 10 where N is small.
DIVISORS = {"small": 10**6, "medium": 10**3, "big": 1}
G1, J1 = "G1", "J1"
NAMES = {G1: ["x"], J1: ["x", *DIVISORS]}


@dataclasses.dataclass(frozen=True)
class Shape:
    rows: int
    ordered: bool  # by the id columns
    nulls: bool  # 5 % of each column; in J1 of the keys and values of x

    def folder(self, kind: str) -> str:
        return f"{kind}_{self.rows}_{GROUPS if kind == G1 else 'NA'}_{5 * self.nulls}_{int(self.ordered)}"


def in_order(work: Callable, items: Iterable, cores: int | None = None) -> Iterator:
    """work(item) of each item, in order, by all cores or so many, with few results waiting."""
    cores = cores or len(os.sched_getaffinity(0))
    with concurrent.futures.ThreadPoolExecutor(cores) as pool:
        waiting = collections.deque()
        for item in items:
            waiting.append(pool.submit(work, item))
            if len(waiting) > cores:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()


def column(values: np.ndarray) -> pa.Array:
    """int32, 0 becoming null."""
    return pa.array(values.astype(np.int32), mask=values == 0)


def texts(values: np.ndarray, digits: int = 0) -> pa.Array:
    """`id` and the number, with zeros in front; 0 becomes null."""
    numbers = pc.cast(column(values), pa.string())
    padded = pc.utf8_lpad(numbers, digits, padding="0") if digits else numbers
    return pc.binary_join_element_wise("id", padded, "")


def amounts(random: np.random.Generator, rows: int, nulls: float) -> pa.Array:
    """float64 below 100, of six digits behind the point."""
    return pa.array(np.round(random.random(rows) * 100, 6), mask=random.random(rows) < nulls if nulls else None)


# --- G1 -----------------------------------------------------------------------------------------------------------


def draws(random: np.random.Generator, limit: int, rows: int, nulls: float) -> np.ndarray:
    """1 … limit, each equally often, or 0."""
    values = random.integers(1, limit + 1, rows, dtype=np.int64)
    if nulls:
        values[random.random(rows) < nulls] = 0
    return values


def g1_batch(shape: Shape, first: tuple[np.ndarray, np.ndarray], random: np.random.Generator) -> pa.RecordBatch:
    """Rows whose id1 and id2 are given; sorted by id1 to id6 where wanted: 0, which is null, first."""
    id1, id2 = first
    rows, nulls, few, many = len(id1), NULLS * shape.nulls, GROUPS, max(shape.rows // GROUPS, 1)
    id3, id6 = draws(random, many, rows, nulls), draws(random, many, rows, nulls)
    id4, id5 = draws(random, few, rows, nulls), draws(random, few, rows, nulls)
    if shape.ordered:
        word = (((id1 * (few + 1) + id2) * (many + 1) + id3) * (few + 1) + id4) * (few + 1) + id5
        order = np.lexsort((id6, word))
        id1, id2, id3, id4, id5, id6 = (ids[order] for ids in (id1, id2, id3, id4, id5, id6))
    columns = {
        "id1": texts(id1, 3), "id2": texts(id2, 3), "id3": texts(id3, 10),
        "id4": column(id4), "id5": column(id5), "id6": column(id6),
        "v1": column(draws(random, 5, rows, nulls)), "v2": column(draws(random, 15, rows, nulls)),
        "v3": amounts(random, rows, nulls),
    }
    return pa.record_batch(columns)


def first_ids(shape: Shape) -> Iterator[tuple[int, Callable]]:
    """Number of a batch, and what gives its id1 and id2. Sorted: how many rows each pair of them has is drawn first,
    for all rows, so that batches are ranges of the sorted table."""
    nulls = NULLS * shape.nulls
    if not shape.ordered:
        for start in range(0, shape.rows, BATCH):
            rows = min(BATCH, shape.rows - start)
            yield start // BATCH, lambda random, rows=rows: tuple(draws(random, GROUPS, rows, nulls) for _ in range(2))
        return
    chances = np.full(GROUPS + 1, (1 - nulls) / GROUPS)
    chances[0] = nulls
    counts = np.random.default_rng([SEED, 1]).multinomial(shape.rows, np.outer(chances, chances).ravel())
    batches = np.cumsum(counts) // BATCH
    for number in np.unique(batches):
        cells = np.flatnonzero(batches == number)
        yield number, lambda _, cells=cells: np.divmod(np.repeat(cells, counts[cells]), GROUPS + 1)


def g1(shape: Shape, part: int | None = None) -> Iterator[pa.RecordBatch]:
    """Makes all batches, or on one core those of a part."""

    def batch(task: tuple[int, Callable]) -> pa.RecordBatch:
        random = np.random.default_rng([SEED, 2, int(task[0])])
        return g1_batch(shape, task[1](random), random)

    if part is None:
        return in_order(batch, first_ids(shape))
    return in_order(batch, itertools.islice(first_ids(shape), part * PART_BATCHES, (part + 1) * PART_BATCHES), 1)


# --- J1 -----------------------------------------------------------------------------------------------------------


def sizes(shape: Shape) -> dict[str, int]:
    return {name: max(shape.rows // divisor, min(10, shape.rows)) for name, divisor in DIVISORS.items()}


def keys(rows: int, number: int) -> tuple[np.ndarray, np.ndarray]:
    """The keys of the left and of the right side, int32 from 1, in random order: of n keys a side 0.9 n in common."""
    drawn = np.random.default_rng([SEED, 3, number]).permutation(np.arange(1, rows + rows // 10 + 1, dtype=np.int32))
    left = drawn[:rows].copy()
    right = np.concatenate([drawn[: rows - rows // 10], drawn[rows:]])
    np.random.default_rng([SEED, 4, number]).shuffle(right)
    return left, right


def spread(unique: np.ndarray, rows: int, random: np.random.Generator) -> np.ndarray:
    """`rows` of the keys: each once where they are as many, else drawn."""
    return unique if len(unique) == rows else unique[random.integers(0, len(unique), rows)]


def without_some(ids: np.ndarray, unique: np.ndarray, random: np.random.Generator) -> np.ndarray:
    """5 % of the different keys become null, wherever they stand."""
    gone = np.zeros(int(unique.max()) + 1, dtype=bool)
    gone[random.choice(unique, int(len(unique) * NULLS), replace=False)] = True
    return np.where(gone[ids], 0, ids)


def j1_ids(shape: Shape, name: str) -> dict[str, np.ndarray]:
    """The columns id1 to id3 of a table, as far as it has them."""
    rows = shape.rows if name == "x" else sizes(shape)[name]
    side = 0 if name == "x" else 1
    kept = 3 if name == "x" else list(DIVISORS).index(name) + 1
    random = np.random.default_rng([SEED, 5, *name.encode()])
    uniques = [keys(size, number)[side] for number, size in enumerate(list(sizes(shape).values())[:kept])]
    ids = [spread(unique, rows, random) for unique in uniques]
    if shape.ordered:
        by = np.lexsort(ids[::-1]) if name == "x" else np.argsort(ids[-1])
        ids = [values[by] for values in ids]
    if shape.nulls and name == "x":
        ids = [without_some(values, unique, random) for values, unique in zip(ids, uniques)]
    return {f"id{i + 1}": values for i, values in enumerate(ids)}


def j1(shape: Shape, name: str) -> Iterator[pa.RecordBatch]:
    ids = j1_ids(shape, name)
    rows = len(ids["id1"])

    def batch(start: int) -> pa.RecordBatch:
        random = np.random.default_rng([SEED, 6, *name.encode(), start])
        parts = [values[start : start + BATCH] for values in ids.values()]
        columns = {f"id{i + 1}": column(part) for i, part in enumerate(parts)}
        columns |= {f"id{i + 4}": texts(part) for i, part in enumerate(parts)}
        nulls = NULLS * shape.nulls if name == "x" else 0
        columns["v1" if name == "x" else "v2"] = amounts(random, len(parts[0]), nulls)
        return pa.record_batch(columns)

    return in_order(batch, range(0, rows, BATCH))


# --- files --------------------------------------------------------------------------------------------------------


def write_part(folder: pathlib.Path, file_format: str, shape: Shape, part: int) -> None:
    files.write_all(folder / f"{part:04}.{file_format}", g1(shape, part))


def write_parts(folder: pathlib.Path, file_format: str, shape: Shape, parts: int) -> None:
    folder.mkdir(exist_ok=True)
    cores = len(os.sched_getaffinity(0))
    with concurrent.futures.ProcessPoolExecutor(cores, multiprocessing.get_context("spawn")) as pool:
        done = [pool.submit(write_part, folder, file_format, shape, part) for part in range(parts)]
        for part in done:
            part.result()


def make(data: pathlib.Path, kind: str, shape: Shape, file_format: str) -> dict[str, pathlib.Path]:
    """The tables of G1 or J1 as files, or folders of them; those made that are not there yet."""
    folder = data / shape.folder(kind)
    folder.mkdir(parents=True, exist_ok=True)
    paths = {name: folder / f"{name}.{file_format}" for name in NAMES[kind]}
    for name, path in paths.items():
        if path.exists():
            continue
        unfinished = path.with_name(f"unfinished-{path.name}")
        batches = sum(1 for _ in first_ids(shape)) if kind == G1 else 1
        if batches > ONE_FILE_BATCHES:
            write_parts(unfinished, file_format, shape, -(-batches // PART_BATCHES))
        else:
            files.write_all(unfinished, g1(shape) if kind == G1 else j1(shape, name))
        unfinished.rename(path)
    return paths
