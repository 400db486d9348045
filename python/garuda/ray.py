"""Joins and group-bys of Ray datasets: blocks are divided by their keys, garuda works on each part.

`garuda.ray.join(left, right, "id")` and `garuda.ray.group_by(rows, "id").agg(total=("price", "sum"))` take and give
`ray.data.Dataset`. Ray has to be running (`ray.init`), with garuda and pyarrow on all its nodes.
"""

from __future__ import annotations

from typing import Any, Mapping, Optional

import numpy
import pyarrow
import ray
import ray.data

from . import _arguments
from ._arguments import Aggregate, Names, On
from ._key_hashes import key_hashes
from .engine import worker_engine
from .errors import ColumnNotFoundError, UsageError
from .partial import Partial, refuse_order


def _require_dataset(argument: str, rows: Any) -> None:
    if not isinstance(rows, ray.data.Dataset):
        raise _arguments.wrong(argument, "a ray.data.Dataset", rows)


def _plain(given: pyarrow.DataType) -> pyarrow.DataType:
    """The type that holds the same values as `given` in the form to which others of its kind can be brought, too."""
    if pyarrow.types.is_dictionary(given):
        return _plain(given.value_type)
    if pyarrow.types.is_timestamp(given) and given.tz is not None:
        return pyarrow.timestamp(given.unit, "UTC")
    if pyarrow.types.is_string(given):
        return pyarrow.large_string()
    return pyarrow.large_binary() if pyarrow.types.is_binary(given) else given


def _common_field(argument: str, forms: list[pyarrow.Field]) -> pyarrow.Field:
    plain = [form.with_type(_plain(form.type)) for form in forms]
    for fields in (forms, plain):
        try:
            return pyarrow.unify_schemas([pyarrow.schema([field]) for field in fields], promote_options="permissive").field(0)
        except pyarrow.ArrowTypeError:
            pass
    types = ", ".join(dict.fromkeys(str(form.type) for form in forms))
    raise UsageError(f"blocks of {argument} have no common type for column {forms[0].name}: {types}")


def _common(argument: str, schemas: list[pyarrow.Schema]) -> pyarrow.Schema:
    """The columns of all blocks, in types that hold all their values. Raises UsageError where there are none."""
    fields: dict[str, list[pyarrow.Field]] = {}
    for field in (field for schema in schemas for field in schema):
        fields.setdefault(field.name, []).append(field.with_nullable(True))
    return pyarrow.schema([_common_field(argument, forms) for forms in fields.values()])


def _in_common(rows: pyarrow.Table, schema: pyarrow.Schema) -> pyarrow.Table:
    """The rows of a block in the types of all."""
    columns = []
    for field in schema:
        if field.name not in rows.column_names:
            columns.append(pyarrow.nulls(rows.num_rows, field.type))
            continue
        column = rows.column(field.name)
        if pyarrow.types.is_dictionary(column.type) and not pyarrow.types.is_dictionary(field.type):
            column = pyarrow.chunked_array([chunk.dictionary_decode() for chunk in column.chunks], column.type.value_type)
        columns.append(column if column.type == field.type else column.cast(field.type))
    return pyarrow.table(columns, schema=schema)


@ray.remote
def _schema(rows: pyarrow.Table) -> pyarrow.Schema:
    return rows.schema


@ray.remote
def _divided(rows: pyarrow.Table, schema: Optional[pyarrow.Schema], keys: list[str], parts: int) -> Any:
    """Rows whose keys are equal come to one part, whatever block they are of. None: they are in common types already."""
    if schema is not None:
        rows = _in_common(rows, schema)
    if parts == 1:
        return rows
    part = key_hashes(rows.select(keys)) % numpy.uint64(parts)
    return [rows.filter(pyarrow.array(part == i)) for i in range(parts)]


@ray.remote
def _joined(options: Any, how: dict[str, Any], lefts: int, *blocks: pyarrow.Table) -> pyarrow.Table:
    sides = [pyarrow.concat_tables(side) for side in (blocks[:lefts], blocks[lefts:])]
    return worker_engine(options).join(*sides, **how).to_arrow()


@ray.remote
def _grouped(options: Any, keys: list[str], named: dict[str, Any], *blocks: pyarrow.Table) -> pyarrow.Table:
    return worker_engine(options).group_by(pyarrow.concat_tables(blocks), keys).agg(**named).to_arrow()


@ray.remote
def _partial(options: Any, both: Partial, schema: pyarrow.Schema, rows: pyarrow.Table) -> pyarrow.Table:
    return both.group(_in_common(rows, schema), engine=worker_engine(options)).to_arrow()


@ray.remote
def _finished(options: Any, both: Partial, schema: pyarrow.Schema, *groups: pyarrow.Table) -> pyarrow.Table:
    merged = both.merge(groups, engine=worker_engine(options))
    return both.finish(merged, schema.empty_table()).to_arrow()


def _blocks(argument: str, rows: ray.data.Dataset, names: list[str]) -> tuple[list[Any], pyarrow.Schema]:
    """The blocks of a dataset, and the columns of all of them, `names` among these."""
    blocks = rows.to_arrow_refs()
    schemas: Any = ray.get([_schema.remote(block) for block in blocks])
    common = _common(argument, schemas)
    for name in names:
        if name not in common.names:
            raise ColumnNotFoundError(f"unknown column of {argument}: {name}")
    return blocks, common


def _parts(blocks: list[Any], schema: Optional[pyarrow.Schema], keys: list[str], parts: int) -> list[list[Any]]:
    """Rows of every block for each part."""
    divided: list[Any] = [_divided.options(num_returns=parts).remote(block, schema, keys, parts) for block in blocks]
    return [[one[i] if parts > 1 else one for one in divided] for i in range(parts)]


def join(
    left: ray.data.Dataset, right: ray.data.Dataset, on: On = None, *, left_on: On = None, right_on: On = None,
    how: str = "inner", nulls_equal: bool = False, parts: Optional[int] = None,
    options: Optional[Mapping[str, Any]] = None,
) -> ray.data.Dataset:  # fmt: skip
    """`garuda.join` of two datasets, in `parts` parts; None: as many as the larger side has blocks.

    `options`: those of `garuda.Engine`, for each worker. Rows are in no order. Raises UsageError for other kinds of
    joins and for blocks whose columns have no common type.
    """
    pairs, given = _arguments.worker_join(on, left_on, right_on, how, nulls_equal, options)
    if parts is not None:
        parts = _arguments.whole_number("parts", parts, 1)
    engine = worker_engine(given)  # raises what is wrong with them
    _require_dataset("left", left)
    _require_dataset("right", right)
    lefts, left_schema = _blocks("left", left, [a for a, _ in pairs])
    rights, right_schema = _blocks("right", right, [b for _, b in pairs])
    arguments: dict[str, Any] = {"on": pairs, "how": how, "nulls_equal": nulls_equal}
    engine.join(left_schema.empty_table(), right_schema.empty_table(), **arguments)  # raises what is wrong with the keys
    wanted = parts or max(len(lefts), len(rights))
    sides = [_parts(lefts, left_schema, [a for a, _ in pairs], wanted), _parts(rights, right_schema, [b for _, b in pairs], wanted)]
    joined: list[Any] = [_joined.remote(given, arguments, len(part), *part, *other) for part, other in zip(*sides)]
    return ray.data.from_arrow_refs(joined)


class GroupBy:
    """A group-by that is to be given its aggregates: see `group_by`."""

    def __init__(self, rows: ray.data.Dataset, keys: list[str], options: Optional[Mapping[str, Any]]) -> None:
        self._rows = rows
        self._keys = keys
        self._options = _arguments.worker_options(options)
        worker_engine(self._options)  # raises what is wrong with them

    def agg(self, *, parts: int = 1, **named: Aggregate) -> ray.data.Dataset:
        """Gives the groups of `garuda.GroupBy.agg` in `parts` blocks; without keys in one. Aggregates that merge (counts,
        sums, least and greatest) are grouped where the rows are, and groups are moved; else rows are."""
        parts = _arguments.whole_number("parts", parts, 1)
        if not self._keys:
            parts = 1  # the one group
        blocks, schema = _blocks("rows", self._rows, self._keys)
        try:
            both = Partial(self._keys, **named)
        except UsageError:
            refuse_order(named, "Ray datasets")
            divided = _parts(blocks, schema, self._keys, parts)
            made: list[Any] = [_grouped.remote(self._options, self._keys, named, *part) for part in divided]
            return ray.data.from_arrow_refs(made)
        groups = [_partial.remote(self._options, both, schema, block) for block in blocks]
        divided = _parts(groups, None, self._keys, parts) if parts > 1 else [groups]
        made = [_finished.remote(self._options, both, schema, *part) for part in divided]
        return ray.data.from_arrow_refs(made)


def group_by(
    rows: ray.data.Dataset, keys: Names, *, options: Optional[Mapping[str, Any]] = None
) -> GroupBy:
    """Groups a dataset by `keys`; `agg` of what this gives makes another one, whose float sums have the same bits for any
    blocks, parts and workers. `options`: those of `garuda.Engine`, for each worker."""
    _require_dataset("rows", rows)
    return GroupBy(rows, _arguments.names_of("keys", keys), options)
