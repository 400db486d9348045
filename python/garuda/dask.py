"""Joins and group-bys of Dask DataFrames: Dask moves rows between its workers, garuda works on each partition.

>>> import dask.dataframe, garuda.dask, pandas
>>> sales = dask.dataframe.from_pandas(pandas.DataFrame({"shop": [1, 2, 1], "sum": [1e300, 2.0, -1e300]}), npartitions=2)
>>> garuda.dask.group_by(sales, "shop").agg(total=("sum", "sum")).compute().sort_values("shop").to_dict("list")
{'shop': [1, 2], 'total': [0.0, 2.0]}
"""

from __future__ import annotations

import functools
from typing import Any, Mapping, Optional

import dask.dataframe
import pandas
import pyarrow

from . import _arguments
from ._arguments import Aggregate, Names, On
from .engine import Engine
from .errors import ColumnNotFoundError, UsageError
from .partial import Partial, refuse_order
from .table import Table

_KINDS = ("inner", "left", "right", "full", "semi", "anti")


def _arrow(rows: pandas.DataFrame) -> pyarrow.Table:
    return pyarrow.Table.from_pandas(rows, preserve_index=False)


def _pandas(rows: Table) -> pandas.DataFrame:
    """In Arrow's types, which have nulls of every kind."""
    made: pandas.DataFrame = rows.to_pandas(types_mapper=pandas.ArrowDtype)
    return made


@functools.lru_cache(maxsize=8)
def _engine(options: tuple[tuple[str, Any], ...]) -> Engine:
    """One for each worker: engines stay where they are."""
    return Engine(**dict(options))


def _require_columns(argument: str, rows: Any, names: list[str]) -> None:
    if not isinstance(rows, dask.dataframe.DataFrame):
        raise _arguments.wrong(argument, "a Dask DataFrame", rows)
    for name in names:
        if name not in rows.columns:
            raise ColumnNotFoundError(f"unknown column of {argument}: {name}")


def _joined(left: pandas.DataFrame, right: pandas.DataFrame, options: Any, **how: Any) -> pandas.DataFrame:
    return _pandas(_engine(options).join(_arrow(left), _arrow(right), **how))


def merge(
    left: Any, right: Any, on: On = None, *, left_on: On = None, right_on: On = None, how: str = "inner",
    nulls_equal: bool = False, npartitions: Optional[int] = None, options: Optional[Mapping[str, Any]] = None,
) -> Any:  # fmt: skip
    """`garuda.join` of two Dask DataFrames, which are shuffled by their keys.

    Args:
        npartitions: of the result; None: as many as the larger side has.
        options: those of `garuda.Engine`, for each worker: {"path": "cpu"}, {"device": 0}.

    Columns have Arrow's types (`pandas.ArrowDtype`); rows are in no order. Raises UsageError for keys of two types,
    whose equal values Dask would send to different partitions, and for other kinds of joins.
    """
    _arguments.require_join(how, None, nulls_equal)
    pairs = _arguments.pairs_of(on, left_on, right_on)
    if how not in _KINDS or not pairs:
        raise UsageError(f"how must be one of {', '.join(_KINDS)}, with keys: {how}")
    if npartitions is not None:
        npartitions = _arguments.whole_number("npartitions", npartitions, 1)
    given = _arguments.worker_options(options)
    _require_columns("left", left, [a for a, _ in pairs])
    _require_columns("right", right, [b for _, b in pairs])
    for a, b in pairs:
        if left.dtypes[a] != right.dtypes[b]:
            raise UsageError(f"keys must be of one type: {a} of {left.dtypes[a]}, {b} of {right.dtypes[b]}")
    wanted = npartitions or max(left.npartitions, right.npartitions)
    sides = [side.shuffle(on=[pair[i] for pair in pairs], npartitions=wanted) for i, side in enumerate((left, right))]
    arguments = {"options": given, "on": pairs, "how": how, "nulls_equal": nulls_equal}
    frames: Any = dask.dataframe
    return frames.map_partitions(
        _joined, *sides, meta=_joined(left._meta, right._meta, **arguments), align_dataframes=False, **arguments
    )


class GroupBy:
    """A group-by that is to be given its aggregates: see `group_by`."""

    def __init__(self, rows: Any, keys: list[str], options: Optional[Mapping[str, Any]]) -> None:
        self._rows = rows
        self._keys = keys
        self._options = _arguments.worker_options(options)

    def agg(self, *, npartitions: int = 1, **named: Aggregate) -> Any:
        """As `garuda.GroupBy.agg`, in `npartitions` partitions. What merges (counts, sums and what is made of them,
        least and greatest) is grouped where the rows are, and groups are shuffled; else rows are."""
        rows, keys, options = self._rows, self._keys, self._options
        npartitions = _arguments.whole_number("npartitions", npartitions, 1)
        meta = _grouped(rows._meta, options=options, keys=keys, named=named)
        try:
            both = Partial(keys, **named)
        except UsageError:
            refuse_order(named, "Dask DataFrames")
            shuffled = rows.shuffle(on=keys, npartitions=npartitions)
            return shuffled.map_partitions(_grouped, meta=meta, options=options, keys=keys, named=named)
        partial = rows.map_partitions(_partial, both=both, options=options, meta=_partial(rows._meta, both, options))
        if npartitions == 1:
            partial = partial.repartition(npartitions=1)
        else:
            partial = partial.shuffle(on=keys, npartitions=npartitions)
        return partial.map_partitions(_finished, both=both, rows=rows._meta, options=options, meta=meta)


def _grouped(rows: pandas.DataFrame, options: Any, keys: list[str], named: dict[str, Any]) -> pandas.DataFrame:
    return _pandas(_engine(options).group_by(_arrow(rows), keys).agg(**named))


def _partial(rows: pandas.DataFrame, both: Partial, options: Any) -> pandas.DataFrame:
    return _pandas(both.group(_arrow(rows), engine=_engine(options)))


def _finished(groups: pandas.DataFrame, both: Partial, rows: pandas.DataFrame, options: Any) -> pandas.DataFrame:
    return _pandas(both.finish(both.merge([_arrow(groups)], engine=_engine(options)), _arrow(rows)))


def group_by(rows: Any, keys: Names, *, options: Optional[Mapping[str, Any]] = None) -> GroupBy:
    """Groups a Dask DataFrame by `keys`; `agg` of what this gives makes another one, whose float sums have the same bits
    for any partitions and workers. `options`: those of `garuda.Engine`, for each worker."""
    names = _arguments.names_of("keys", keys)
    _require_columns("rows", rows, names)
    return GroupBy(rows, names, options)
