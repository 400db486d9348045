"""Joins and group-bys of Ray datasets: blocks are divided by their keys, garuda works on each part.

`garuda.ray.join(left, right, "id")` and `garuda.ray.group_by(rows, "id").agg(total=("price", "sum"))` take and give
`ray.data.Dataset`. Ray has to be running (`ray.init`), with garuda and pyarrow on all its nodes.
"""

from __future__ import annotations

import functools
from typing import Any, Mapping, Optional

import numpy
import pyarrow
import ray
import ray.data

from . import _arguments
from ._arguments import Aggregate, Names, On
from .engine import Engine
from .errors import ColumnNotFoundError, UsageError
from .partial import Partial, refuse_order

_KINDS = ("inner", "left", "right", "full", "semi", "anti")


@functools.lru_cache(maxsize=8)
def _engine(options: tuple[tuple[str, Any], ...]) -> Engine:
    """One for each worker: engines stay where they are."""
    return Engine(**dict(options))


def _require_dataset(argument: str, rows: Any) -> None:
    if not isinstance(rows, ray.data.Dataset):
        raise _arguments.wrong(argument, "a ray.data.Dataset", rows)


def _require_columns(argument: str, schema: pyarrow.Schema, names: list[str]) -> None:
    for name in names:
        if name not in schema.names:
            raise ColumnNotFoundError(f"unknown column of {argument}: {name}")


@ray.remote
def _divided(rows: pyarrow.Table, keys: list[str], parts: int) -> Any:
    """Rows whose keys are equal come to one part, whatever block they are of."""
    import pandas.util

    hash_rows: Any = pandas.util.hash_pandas_object  # of which type checkers see an object
    hashed = hash_rows(rows.select(keys).to_pandas(types_mapper=pandas.ArrowDtype), index=False)
    part = hashed.to_numpy() % numpy.uint64(parts)
    divided = [rows.filter(pyarrow.array(part == i)) for i in range(parts)]
    return divided if parts > 1 else divided[0]


@ray.remote
def _schema(rows: pyarrow.Table) -> pyarrow.Schema:
    return rows.schema


@ray.remote
def _joined(options: Any, how: dict[str, Any], lefts: int, *blocks: pyarrow.Table) -> pyarrow.Table:
    sides = [pyarrow.concat_tables(side, promote_options="permissive") for side in (blocks[:lefts], blocks[lefts:])]
    return _engine(options).join(*sides, **how).to_arrow()


@ray.remote
def _grouped(options: Any, keys: list[str], named: dict[str, Any], *blocks: pyarrow.Table) -> pyarrow.Table:
    return _engine(options).group_by(pyarrow.concat_tables(blocks), keys).agg(**named).to_arrow()


@ray.remote
def _partial(options: Any, both: Partial, rows: pyarrow.Table) -> pyarrow.Table:
    return both.group(rows, engine=_engine(options)).to_arrow()


@ray.remote
def _finished(options: Any, both: Partial, rows: pyarrow.Schema, *groups: pyarrow.Table) -> pyarrow.Table:
    merged = both.merge(groups, engine=_engine(options))
    return both.finish(merged, rows.empty_table()).to_arrow()


def _parts(blocks: list[Any], keys: list[str], parts: int) -> list[list[Any]]:
    """For each part what every block has of it."""
    divided: list[Any] = [_divided.options(num_returns=parts).remote(block, keys, parts) for block in blocks]
    return [[one[i] if parts > 1 else one for one in divided] for i in range(parts)]


def join(
    left: ray.data.Dataset, right: ray.data.Dataset, on: On = None, *, left_on: On = None, right_on: On = None,
    how: str = "inner", nulls_equal: bool = False, parts: Optional[int] = None,
    options: Optional[Mapping[str, Any]] = None,
) -> ray.data.Dataset:  # fmt: skip
    """`garuda.join` of two datasets, in `parts` parts; None: as many as the larger side has blocks.

    `options`: those of `garuda.Engine`, for each worker. Rows are in no order. Raises UsageError for keys of two types
    and for other kinds of joins.
    """
    _arguments.require_join(how, None, nulls_equal)
    pairs = _arguments.pairs_of(on, left_on, right_on)
    if how not in _KINDS or not pairs:
        raise UsageError(f"how must be one of {', '.join(_KINDS)}, with keys: {how}")
    if parts is not None:
        parts = _arguments.whole_number("parts", parts, 1)
    given = _arguments.worker_options(options)
    _engine(given)  # raises what is wrong with them
    _require_dataset("left", left)
    _require_dataset("right", right)
    blocks = [side.to_arrow_refs() for side in (left, right)]
    schemas: Any = ray.get([_schema.remote(side[0]) for side in blocks])
    _require_columns("left", schemas[0], [a for a, _ in pairs])
    _require_columns("right", schemas[1], [b for _, b in pairs])
    for a, b in pairs:
        if schemas[0].field(a).type != schemas[1].field(b).type:
            raise UsageError(f"keys must be of one type: {a} of {schemas[0].field(a).type}, {b} of {schemas[1].field(b).type}")
    wanted = parts or max(map(len, blocks))
    sides = [_parts(side, [pair[i] for pair in pairs], wanted) for i, side in enumerate(blocks)]
    arguments = {"on": pairs, "how": how, "nulls_equal": nulls_equal}
    joined: list[Any] = [_joined.remote(given, arguments, len(lefts), *lefts, *rights) for lefts, rights in zip(*sides)]
    return ray.data.from_arrow_refs(joined)


class GroupBy:
    """A group-by that is to be given its aggregates: see `group_by`."""

    def __init__(self, rows: ray.data.Dataset, keys: list[str], options: Optional[Mapping[str, Any]]) -> None:
        self._rows = rows
        self._keys = keys
        self._options = _arguments.worker_options(options)
        _engine(self._options)  # raises what is wrong with them

    def agg(self, *, parts: int = 1, **named: Aggregate) -> ray.data.Dataset:
        """As `garuda.GroupBy.agg`, in `parts` blocks. What merges (counts, sums and what is made of them, least and
        greatest) is grouped where the rows are, and groups are moved; else rows are."""
        parts = _arguments.whole_number("parts", parts, 1)
        blocks = self._rows.to_arrow_refs()
        try:
            both = Partial(self._keys, **named)
        except UsageError:
            refuse_order(named, "Ray datasets")
            divided = _parts(blocks, self._keys, parts)
            made: list[Any] = [_grouped.remote(self._options, self._keys, named, *part) for part in divided]
            return ray.data.from_arrow_refs(made)
        schema = _schema.remote(blocks[0])
        groups = [_partial.remote(self._options, both, block) for block in blocks]
        divided = _parts(groups, self._keys, parts) if parts > 1 else [groups]
        made = [_finished.remote(self._options, both, schema, *part) for part in divided]
        return ray.data.from_arrow_refs(made)


def group_by(
    rows: ray.data.Dataset, keys: Names, *, options: Optional[Mapping[str, Any]] = None
) -> GroupBy:
    """Groups a dataset by `keys`; `agg` of what this gives makes another one, whose float sums have the same bits for any
    blocks, parts and workers. `options`: those of `garuda.Engine`, for each worker."""
    _require_dataset("rows", rows)
    return GroupBy(rows, _arguments.names_of("keys", keys), options)
