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
from ._key_hashes import key_hashes
from .engine import worker_engine
from .errors import ColumnNotFoundError, UsageError
from .partial import Partial, refuse_order
from .table import Table

def _has_no_type(given: pyarrow.DataType) -> bool:
    """Whether no value was there that could tell one."""
    return bool(pyarrow.types.is_null(given.value_type if pyarrow.types.is_dictionary(given) else given))


def _arrow(rows: pandas.DataFrame, meta: Optional[pandas.DataFrame] = None) -> pyarrow.Table:
    """A partition in the types that `meta` tells: a shuffle brings some of Arrow's types as objects, and columns of nulls
    without a type. Objects and codes of categories are taken as they come."""
    table = pyarrow.Table.from_pandas(rows, preserve_index=False)
    if meta is None:
        return table
    schema = pyarrow.Table.from_pandas(meta, preserve_index=False).schema
    types = dict(zip(schema.names, schema.types))
    columns = []
    for name, column in zip(table.column_names, table.columns):
        told = types.get(name, column.type)
        if column.type != told and not _has_no_type(told):
            if _has_no_type(column.type):
                column = pyarrow.chunked_array([pyarrow.nulls(len(column), told)])
            elif not pyarrow.types.is_dictionary(told):
                column = column.cast(told)
        columns.append(column)
    return pyarrow.table(columns, names=table.column_names)


def _pandas(rows: Table) -> pandas.DataFrame:
    """A frame with Arrow's types, which have nulls of every kind."""
    made: pandas.DataFrame = rows.to_pandas(types_mapper=pandas.ArrowDtype)
    return made


def _require_columns(argument: str, rows: Any, names: list[str]) -> None:
    if not isinstance(rows, dask.dataframe.DataFrame):
        raise _arguments.wrong(argument, "a Dask DataFrame", rows)
    for name in names:
        if name not in rows.columns:
            raise ColumnNotFoundError(f"unknown column of {argument}: {name}")
        if rows.dtypes[name] == object:
            raise UsageError(f"a key of {argument} must have a type before its rows are there, which object is not: {name}")


def _hashes(rows: pandas.DataFrame) -> pandas.Series:
    return pandas.Series(key_hashes(_arrow(rows)), rows.index)


def _categories(rows: pandas.DataFrame, coded: list[str]) -> pandas.DataFrame:
    """Arrow's dictionaries as pandas' own, which Dask's shuffle carries."""
    made = {name: _arrow(rows[[name]]).to_pandas(ignore_metadata=True)[name].set_axis(rows.index) for name in coded}
    return rows.assign(**made)


def _shuffled(rows: Any, keys: list[str], npartitions: int) -> Any:
    """Rows whose keys are equal come to one partition. Dask's own hash of a key depends on what else is in its partition:
    pandas has integers and booleans beside a null as floats or objects."""
    if npartitions == 1:
        return rows.repartition(npartitions=1)
    coded = [name for name, dtype in rows.dtypes.items() if isinstance(dtype, pandas.ArrowDtype)
             and pyarrow.types.is_dictionary(dtype.pyarrow_dtype)]  # fmt: skip
    if coded:
        rows = rows.map_partitions(_categories, coded, meta=_categories(rows._meta, coded))
    return rows.shuffle(on=rows[keys].map_partitions(_hashes, meta=(None, "uint64")), npartitions=npartitions)


def _joined(left: pandas.DataFrame, right: pandas.DataFrame, metas: Any, options: Any, **how: Any) -> pandas.DataFrame:
    return _pandas(worker_engine(options).join(_arrow(left, metas[0]), _arrow(right, metas[1]), **how))


def merge(
    left: Any, right: Any, on: On = None, *, left_on: On = None, right_on: On = None, how: str = "inner",
    nulls_equal: bool = False, npartitions: Optional[int] = None, options: Optional[Mapping[str, Any]] = None,
) -> Any:  # fmt: skip
    """`garuda.join` of two Dask DataFrames, which are shuffled by their keys.

    Args:
        npartitions: of the result; None: as many as the larger side has.
        options: those of `garuda.Engine`, for each worker: {"path": "cpu"}, {"device": 0}.

    Columns have Arrow's types (`pandas.ArrowDtype`); rows are in no order. Raises UsageError for other kinds of joins
    and for keys of objects, which have no type.
    """
    pairs, given = _arguments.worker_join(on, left_on, right_on, how, nulls_equal, options)
    if npartitions is not None:
        npartitions = _arguments.whole_number("npartitions", npartitions, 1)
    _require_columns("left", left, [a for a, _ in pairs])
    _require_columns("right", right, [b for _, b in pairs])
    wanted = npartitions or max(left.npartitions, right.npartitions)
    sides = [_shuffled(left, [a for a, _ in pairs], wanted), _shuffled(right, [b for _, b in pairs], wanted)]
    arguments = {"metas": (left._meta, right._meta), "options": given, "on": pairs, "how": how, "nulls_equal": nulls_equal}
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
        """Gives the groups of `garuda.GroupBy.agg` in `npartitions` partitions; without keys in one. Aggregates that merge
        (counts, sums, least and greatest) are grouped where the rows are, and groups are shuffled; else rows are."""
        rows, keys, options = self._rows, self._keys, self._options
        npartitions = _arguments.whole_number("npartitions", npartitions, 1)
        if not keys:
            npartitions = 1  # the one group
        columns = {"meta": rows._meta, "options": options}
        grouped = {**columns, "keys": keys, "named": named}
        made = _grouped(rows._meta, **grouped)
        try:
            both = Partial(keys, **named)
        except UsageError:
            refuse_order(named, "Dask DataFrames")
            return _mapped(_shuffled(rows, keys, npartitions), _grouped, made, grouped)
        groups = _partial(rows._meta, both=both, **columns)
        partial = _mapped(rows, _partial, groups, {"both": both, **columns})
        finished = {"both": both, "groups_meta": groups, **columns}
        return _mapped(_shuffled(partial, keys, npartitions), _finished, made, finished)


def _mapped(rows: Any, function: Any, made: pandas.DataFrame, arguments: dict[str, Any]) -> Any:
    """`arguments` has a `meta` of its own, which map_partitions would take for what the function makes."""
    return rows.map_partitions(functools.partial(function, **arguments), meta=made)


def _grouped(rows: pandas.DataFrame, meta: Any, options: Any, keys: list[str], named: dict[str, Any]) -> pandas.DataFrame:
    return _pandas(worker_engine(options).group_by(_arrow(rows, meta), keys).agg(**named))


def _partial(rows: pandas.DataFrame, both: Partial, meta: Any, options: Any) -> pandas.DataFrame:
    return _pandas(both.group(_arrow(rows, meta), engine=worker_engine(options)))


def _finished(groups: pandas.DataFrame, both: Partial, groups_meta: Any, meta: Any, options: Any) -> pandas.DataFrame:
    return _pandas(both.finish(both.merge([_arrow(groups, groups_meta)], engine=worker_engine(options)), _arrow(meta)))


def group_by(rows: Any, keys: Names, *, options: Optional[Mapping[str, Any]] = None) -> GroupBy:
    """Groups a Dask DataFrame by `keys`; `agg` of what this gives makes another one, whose float sums have the same bits
    for any partitions and workers. `options`: those of `garuda.Engine`, for each worker."""
    names = _arguments.names_of("keys", keys)
    _require_columns("rows", rows, names)
    return GroupBy(rows, names, options)
