"""pyarrow's joins and group-bys through garuda; these private functions of pyarrow.acero are all that both call."""

from __future__ import annotations

import functools
from typing import Any, Callable, Optional

import pyarrow
import pyarrow.acero
import pyarrow.compute
import pyarrow.types

from .engine import Engine
from .errors import InvalidInputError, UsageError
from .patches import Patch, Unsupported, fall_back

_KINDS = {"inner": "inner", "left outer": "left", "right outer": "right", "full outer": "full", "left semi": "semi",
          "left anti": "anti", "right semi": "semi", "right anti": "anti"}  # fmt: skip
_PLAIN = {"sum": "sum", "mean": "mean", "product": "product", "min": "min", "max": "max", "any": "bool_or",
          "all": "bool_and"}  # fmt: skip


def _list(names: Any) -> list[str]:
    return [names] if isinstance(names, str) else list(names)


def _require_keys(table: pyarrow.Table, keys: list[str]) -> list[pyarrow.DataType]:
    types = [table.schema.field(key).type for key in keys]
    for key, key_type in zip(keys, types):
        if pyarrow.types.is_floating(key_type):
            raise Unsupported(f"pyarrow tells zeros and NaNs of float keys apart, as garuda does not: {key}")
        if pyarrow.types.is_dictionary(key_type):
            raise Unsupported(f"dictionaries as keys: {key}")
    return types


def _rows(result: Any, schema: pyarrow.Schema) -> pyarrow.Table:
    table: pyarrow.Table = pyarrow.table(result).rename_columns(schema.names)
    return table if table.schema == schema else table.cast(schema)


def _asked(original: Callable[..., pyarrow.Table], *arguments: Any, **options: Any) -> pyarrow.Schema:
    """The columns that pyarrow gives, asked of tables without rows: it refuses types that garuda takes (lists beside the
    keys of a join, views, extremes of half floats) and gives some results another type. Raises Unsupported where it has to
    say itself what is wrong."""
    empty = [a.slice(0, 0) if isinstance(a, pyarrow.Table) else a for a in arguments]
    try:
        return original(*empty, **options).schema.remove_metadata()
    except Exception as error:
        raise Unsupported(f"pyarrow refuses it: {error}") from None


def _join(
    engine: Engine, original: Callable[..., pyarrow.Table], join_type: str, left: Any, left_keys: Any, right: Any, right_keys: Any,
    left_suffix: Optional[str] = None, right_suffix: Optional[str] = None, use_threads: bool = True,
    coalesce_keys: bool = False, output_type: Any = pyarrow.Table, filter_expression: Any = None,
) -> pyarrow.Table:  # fmt: skip
    if not (isinstance(left, pyarrow.Table) and isinstance(right, pyarrow.Table) and output_type is pyarrow.Table):
        raise Unsupported("a dataset")
    if filter_expression is not None:
        raise Unsupported("a filter expression")
    left_keys, right_keys = _list(left_keys), _list(right_keys)
    for table in (left, right):
        if len(set(table.schema.names)) < len(table.schema.names):
            raise Unsupported("a table has two columns of one name")
    if join_type not in _KINDS or len(left_keys) != len(right_keys) or not left_keys:
        raise Unsupported("pyarrow has to say what is wrong with it")
    if not set(left_keys) <= set(left.schema.names) or not set(right_keys) <= set(right.schema.names):
        raise Unsupported("pyarrow has to say what is wrong with it")
    if _require_keys(left, left_keys) != _require_keys(right, right_keys):
        raise Unsupported("keys of different types")
    schema = _asked(original, join_type, left, left_keys, right, right_keys, left_suffix, right_suffix, False, coalesce_keys)

    sides = [] if join_type in ("right semi", "right anti") else [("left", name) for name in left.schema.names]
    sides += [] if join_type in ("left semi", "left anti") else [("right", name) for name in right.schema.names]
    if coalesce_keys and join_type in ("inner", "left outer", "full outer"):
        sides = [column for column in sides if column[0] == "left" or column[1] not in right_keys]
    elif coalesce_keys and join_type == "right outer":
        sides = [column for column in sides if column[0] == "right" or column[1] not in left_keys]

    columns: Optional[list[str]] = [f"{side}.{name}" for side, name in sides]
    pairs = list(zip(left_keys, right_keys))
    if join_type == "full outer" and coalesce_keys:
        columns = None  # the keys of whichever side has a row
    if join_type.startswith("right ") and join_type != "right outer":
        left, right, columns = right, left, [f"left.{name}" for _, name in sides]
        pairs = [(b, a) for a, b in pairs]
    result = engine.join(left, right, pairs, how=_KINDS[join_type], columns=columns, ordered=not use_threads)
    return _rows(result, schema)


def _aggregate(table: pyarrow.Table, target: Any, function: str, options: Any) -> Any:
    """An aggregate as garuda takes it."""
    function = function.removeprefix("hash_")
    if function == "count_all" and not target:
        return "count"
    if len(target) != 1:
        raise Unsupported(f"{function} of {len(target)} columns")
    (column,) = target
    if column not in table.schema.names:
        raise Unsupported("pyarrow has to say what is wrong with it")
    values = table.schema.field(column).type
    if function in ("count", "count_distinct"):
        if options is not None and options != pyarrow.compute.CountOptions(mode="only_valid"):
            raise Unsupported(f"{function} with {options}")
        if function == "count_distinct" and pyarrow.types.is_floating(values):
            raise Unsupported("count_distinct of floats, whose zeros and NaNs pyarrow tells apart")
        if function == "count_distinct" and options is None:
            raise Unsupported("count_distinct that counts null")
        return column, function
    if function in ("variance", "stddev"):
        if not (pyarrow.types.is_integer(values) or pyarrow.types.is_floating(values)):
            raise Unsupported(f"{function} of {values}")
        for ddof, pop in ((0, "_pop"), (1, "")):
            if (options or pyarrow.compute.VarianceOptions()) == pyarrow.compute.VarianceOptions(ddof=ddof):
                return column, {"variance": "var", "stddev": "std"}[function] + pop
        raise Unsupported(f"{function} with {options}")
    if function not in _PLAIN:
        raise Unsupported(f"the aggregate {function}")
    if options is not None and options != pyarrow.compute.ScalarAggregateOptions():
        raise Unsupported(f"{function} with {options}")
    _require_plain(table, column, function)
    return column, _PLAIN[function]


def _require_plain(table: pyarrow.Table, column: str, function: str) -> None:
    values = table.schema.field(column).type
    is_float = pyarrow.types.is_floating(values)
    if function in ("min", "max"):
        compute: Any = pyarrow.compute
        if is_float and compute.any(compute.is_nan(table[column])).as_py():
            raise Unsupported(f"{function} of floats with NaN, which pyarrow leaves out")
    elif function not in ("any", "all"):
        if not pyarrow.types.is_integer(values) and not (is_float and function != "product"):
            raise Unsupported(f"{function} of {values}")


def _group_by(
    engine: Engine, original: Callable[..., pyarrow.Table], table: Any, aggregates: Any, keys: Any, use_threads: bool = True
) -> pyarrow.Table:
    if not isinstance(table, pyarrow.Table):
        raise Unsupported("a dataset")
    keys = _list(keys)
    if len(set(table.schema.names)) < len(table.schema.names) or not set(keys) <= set(table.schema.names):
        raise Unsupported("a column that is missing or there twice")
    _require_keys(table, keys)
    wanted = [_aggregate(table, target, function, options) for target, function, options, _ in aggregates]
    schema = _asked(original, table, aggregates, keys, False)
    if len(set(schema.names)) < len(schema.names):
        raise Unsupported("two columns of the result have one name")
    if not schema.names:
        raise Unsupported("neither keys nor aggregates")
    groups = engine.group_by(table, keys, ordered=not use_threads)
    return _rows(groups.agg(**{f"aggregate_{i}": spec for i, spec in enumerate(wanted)}), schema)


def _through(
    engine: Engine, strict: bool, call: str, original: Callable[..., Any], run: Callable[..., Any]
) -> Callable[..., Any]:
    @functools.wraps(original)
    def replacement(*arguments: Any, **options: Any) -> Any:
        try:
            return run(engine, original, *arguments, **options)
        except (Unsupported, InvalidInputError, UsageError) as error:
            reason = str(error)
        fall_back(call, reason, strict)
        return original(*arguments, **options)

    return replacement


def patches(engine: Engine, strict: bool) -> list[Patch]:
    """The functions that `install` replaces."""
    acero: Any = pyarrow.acero
    return [
        Patch(acero, name, getattr(acero, name), _through(engine, strict, call, getattr(acero, name), run))
        for name, call, run in (
            ("_perform_join", "pyarrow.Table.join", _join),
            ("_group_by", "pyarrow.Table.group_by", _group_by),
        )
    ]
