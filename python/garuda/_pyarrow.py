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


def _rows(result: Any, names: list[str], types: list[pyarrow.DataType]) -> pyarrow.Table:
    schema = pyarrow.schema(list(zip(names, types)))
    table: pyarrow.Table = pyarrow.table(result).rename_columns(names)
    return table if table.schema == schema else table.cast(schema)


def _join(
    engine: Engine, join_type: str, left: Any, left_keys: Any, right: Any, right_keys: Any,
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

    sides = [("left", left, name) for name in left.schema.names] if not join_type.startswith("right ") or (
        join_type == "right outer") else []  # fmt: skip
    sides += [] if join_type in ("left semi", "left anti") else [("right", right, name) for name in right.schema.names]
    if coalesce_keys and join_type in ("inner", "left outer", "full outer"):
        sides = [column for column in sides if column[0] == "left" or column[2] not in right_keys]
    elif coalesce_keys and join_type == "right outer":
        sides = [column for column in sides if column[0] == "right" or column[2] not in left_keys]
    shared = {n for s, _, n in sides if s == "left"} & {n for s, _, n in sides if s == "right"}
    suffixes = {"left": left_suffix or "", "right": right_suffix or ""}
    names = [name + suffixes[side] if name in shared else name for side, _, name in sides]
    types = [table.schema.field(name).type for _, table, name in sides]

    columns: Optional[list[str]] = [f"{side}.{name}" for side, _, name in sides]
    pairs = list(zip(left_keys, right_keys))
    if join_type == "full outer" and coalesce_keys:
        columns = None  # the keys of whichever side has a row
    if join_type.startswith("right ") and join_type != "right outer":
        left, right, columns = right, left, [f"left.{name}" for _, _, name in sides]
        pairs = [(b, a) for a, b in pairs]
    result = engine.join(left, right, pairs, how=_KINDS[join_type], columns=columns, ordered=not use_threads)
    return _rows(result, names, types)


def _aggregate(table: pyarrow.Table, target: Any, function: str, options: Any) -> tuple[Any, pyarrow.DataType]:
    """An aggregate as garuda takes it, and the type that pyarrow gives."""
    function = function.removeprefix("hash_")
    if function == "count_all" and not target:
        return "count", pyarrow.int64()
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
        return (column, function), pyarrow.int64()
    if function in ("variance", "stddev"):
        if not (pyarrow.types.is_integer(values) or pyarrow.types.is_floating(values)):
            raise Unsupported(f"{function} of {values}")
        for ddof, pop in ((0, "_pop"), (1, "")):
            if (options or pyarrow.compute.VarianceOptions()) == pyarrow.compute.VarianceOptions(ddof=ddof):
                return (column, {"variance": "var", "stddev": "std"}[function] + pop), pyarrow.float64()
        raise Unsupported(f"{function} with {options}")
    if function not in _PLAIN:
        raise Unsupported(f"the aggregate {function}")
    if options is not None and options != pyarrow.compute.ScalarAggregateOptions():
        raise Unsupported(f"{function} with {options}")
    return (column, _PLAIN[function]), _plain_type(table, column, function)


def _plain_type(table: pyarrow.Table, column: str, function: str) -> pyarrow.DataType:
    values = table.schema.field(column).type
    is_float, is_integer = pyarrow.types.is_floating(values), pyarrow.types.is_integer(values)
    if function in ("any", "all"):
        if not pyarrow.types.is_boolean(values):
            raise Unsupported(f"{function} of {values}")
        return values
    if function in ("min", "max"):
        compute: Any = pyarrow.compute
        if is_float and compute.any(compute.is_nan(table[column])).as_py():
            raise Unsupported(f"{function} of floats with NaN, which pyarrow leaves out")
        return values
    if not is_integer and not (is_float and function != "product"):
        raise Unsupported(f"{function} of {values}")
    if function == "mean" or is_float:
        return pyarrow.float64()
    return pyarrow.int64() if pyarrow.types.is_signed_integer(values) else pyarrow.uint64()


def _group_by(engine: Engine, table: Any, aggregates: Any, keys: Any, use_threads: bool = True) -> pyarrow.Table:
    if not isinstance(table, pyarrow.Table):
        raise Unsupported("a dataset")
    keys = _list(keys)
    if len(set(table.schema.names)) < len(table.schema.names) or not set(keys) <= set(table.schema.names):
        raise Unsupported("a column that is missing or there twice")
    types = _require_keys(table, keys)
    names = [*keys, *(name for _, _, _, name in aggregates)]
    if len(set(names)) < len(names):
        raise Unsupported("two columns of the result have one name")
    wanted = [_aggregate(table, target, function, options) for target, function, options, _ in aggregates]
    if not names:
        raise Unsupported("neither keys nor aggregates")
    groups = engine.group_by(table, keys, ordered=not use_threads)
    named = {f"aggregate_{i}": spec for i, (spec, _) in enumerate(wanted)}
    return _rows(groups.agg(**named), names, types + [value_type for _, value_type in wanted])


def _through(
    engine: Engine, strict: bool, call: str, original: Callable[..., Any], run: Callable[..., Any]
) -> Callable[..., Any]:
    @functools.wraps(original)
    def replacement(*arguments: Any, **options: Any) -> Any:
        try:
            return run(engine, *arguments, **options)
        except (Unsupported, InvalidInputError, UsageError) as error:
            reason = str(error)
        fall_back(call, reason, strict)
        return original(*arguments, **options)

    return replacement


def patches(engine: Engine, strict: bool) -> list[Patch]:
    """What `install` replaces."""
    acero: Any = pyarrow.acero
    return [
        Patch(acero, name, getattr(acero, name), _through(engine, strict, call, getattr(acero, name), run))
        for name, call, run in (
            ("_perform_join", "pyarrow.Table.join", _join),
            ("_group_by", "pyarrow.Table.group_by", _group_by),
        )
    ]
