"""Joins and group-bys of a Polars plan as garuda does them, with Polars' semantics; what differs stays with Polars."""

from __future__ import annotations

from typing import Any, NamedTuple, Optional

import polars

from ._polars_plan import SCALARS, Aggregate, Plan
from .engine import Engine, GroupBy
from .patches import Unsupported
from .plans import Plan as Priced
from .table import Table, table

_INTEGERS = (polars.Int8, polars.Int16, polars.Int32, polars.Int64, polars.UInt8, polars.UInt16, polars.UInt32,
             polars.UInt64)  # fmt: skip
_FLOATS = (polars.Float32, polars.Float64)
_ORDERED = (*_INTEGERS, *_FLOATS, polars.String, polars.Date, polars.Datetime, polars.Duration, polars.Time,
            polars.Decimal)  # fmt: skip


def _require_types(schema: dict[str, Any], keys: list[str]) -> None:
    for name, dtype in schema.items():
        if not isinstance(dtype, SCALARS):
            raise Unsupported(f"a column of type {dtype}: {name}")
    for key in keys:
        if isinstance(schema[key], _FLOATS):
            raise Unsupported(f"float keys, whose zeros garuda writes as one: {key}")


class Join(NamedTuple):
    """A join that garuda does as Polars does it.

    Attributes:
        columns: for each column of the result its side and name; of a full join that coalesces keys in garuda's order.
        schema: the result's.
    """

    left: int
    right: int
    how: str
    left_on: list[str]
    right_on: list[str]
    nulls_equal: bool
    ordered: bool
    columns: list[tuple[str, str]]
    coalesced: bool
    schema: dict[str, Any]

    @property
    def inputs(self) -> list[int]:
        return [self.left, self.right]

    def key_types(self, rows: list[polars.DataFrame]) -> list[Any]:
        return [rows[0].dtypes[int(place)] for place in self.left_on]

    def priced(self, engine: Engine, rows: list[polars.DataFrame]) -> Priced:
        left, right = self._tables(rows)
        return engine.explain_join(left, right, **self._arguments())

    def run(self, engine: Engine, rows: list[polars.DataFrame]) -> polars.DataFrame:
        left, right = self._tables(rows)
        return _frame(engine.join(left, right, **self._arguments()), self.schema)

    def _tables(self, rows: list[polars.DataFrame]) -> list[Table]:
        """Columns by place, so that no two sides share a name."""
        named = (frame.rename({name: f"{side}{i}" for i, name in enumerate(frame.columns)})
                 for side, frame in zip("lr", rows))  # fmt: skip
        return [table(frame) for frame in named]

    def _arguments(self) -> dict[str, Any]:
        columns = None if self.coalesced else [f"{side}.{side[0]}{name}" for side, name in self.columns]
        return {"left_on": [f"l{name}" for name in self.left_on], "right_on": [f"r{name}" for name in self.right_on],
                "how": self.how, "columns": columns, "nulls_equal": self.nulls_equal, "ordered": self.ordered,
                "strings": "view"}  # fmt: skip


def join_of(plan: Plan, node: int, viewed: Any) -> Join:
    """Raises Unsupported, with the reason."""
    how, nulls_equal, sliced, _, coalesce, maintain_order = viewed.options
    if how not in ("Inner", "Left", "Right", "Full", "Semi", "Anti") or viewed.predicate is not None:
        raise Unsupported("a join without equal keys" if how == "Cross" else "a join by a condition")
    if sliced is not None:
        raise Unsupported("a part of the rows is wanted, after which Polars stops")
    if maintain_order not in ("none", "left", "left_right"):
        raise Unsupported(f"rows in the order of maintain_order={maintain_order!r}")
    if how == "Right" and maintain_order != "none":
        raise Unsupported("a right join in the order of the left rows")
    left, right = plan.schema(viewed.input_left), plan.schema(viewed.input_right)
    keys = [[plan.column(e) for e in side] for side in (viewed.left_on, viewed.right_on)]
    left_on, right_on = ([str(key) for key in side if key is not None] for side in keys)
    if len(left_on) < len(keys[0]) or len(right_on) < len(keys[1]):
        raise Unsupported("computed keys")
    if len(set(left_on)) < len(left_on) or len(set(right_on)) < len(right_on):
        raise Unsupported("a key twice")
    _require_types(left, left_on)
    _require_types(right, right_on)
    for a, b in zip(left_on, right_on):
        if left[a] != right[b]:
            raise Unsupported(f"keys of two types, {left[a]} and {right[b]}")

    places = {"left": {name: str(i) for i, name in enumerate(left)}, "right": {name: str(i) for i, name in enumerate(right)}}
    lefts = [("left", name) for name in left if not (how == "Right" and coalesce and name in left_on)]
    rights = [("right", name) for name in right if not (how in ("Inner", "Left", "Full") and coalesce and name in right_on)]
    sides = lefts if how in ("Semi", "Anti") else lefts + rights
    schema = plan.schema(node)
    if [dict(left=left, right=right)[side][name] for side, name in sides] != list(schema.values()):
        raise Unsupported("columns other than those that a join has")
    return Join(viewed.input_left, viewed.input_right, how.lower(), [places["left"][k] for k in left_on],
                [places["right"][k] for k in right_on], nulls_equal, maintain_order != "none",
                [(side, places[side][name]) for side, name in sides], how == "Full" and coalesce, schema)  # fmt: skip


class Wanted(NamedTuple):
    """An aggregate as garuda takes it, and what to do to what it gives."""

    name: str
    spec: Any
    column: Optional[str]
    dtype: Any
    zero_for_null: bool
    needs: str  #: of the column: nothing, "no NaN" or "no null"

    @property
    def function(self) -> str:
        return str(self.spec if isinstance(self.spec, str) else self.spec[1])


class Groups(NamedTuple):
    """A group-by that garuda does as Polars does it."""

    input: int
    keys: list[tuple[str, str]]  #: name in the input, name in the result
    computed: list[polars.Expr]
    wanted: list[Wanted]
    results: list[polars.Expr]
    ordered: bool
    sliced: Optional[tuple[int, int]]
    schema: dict[str, Any]

    @property
    def inputs(self) -> list[int]:
        return [self.input]

    def key_types(self, rows: list[polars.DataFrame]) -> list[Any]:
        return [rows[0].schema[name] for name, _ in self.keys]

    def priced(self, engine: Engine, rows: list[polars.DataFrame]) -> Priced:
        groups, specs = self._groups(engine, rows[0])
        return groups.explain(**specs)

    def run(self, engine: Engine, rows: list[polars.DataFrame]) -> polars.DataFrame:
        groups, specs = self._groups(engine, rows[0])
        made = polars.DataFrame(groups.agg(**specs))
        columns = [polars.col("k" + name).alias(alias) for name, alias in self.keys]
        values = []
        for wanted in self.wanted:
            value = polars.col(wanted.name)
            if wanted.zero_for_null:
                value = value.fill_null(0)
            if wanted.dtype != made.schema[wanted.name]:
                value = value.cast(wanted.dtype)
            values.append(value.alias(wanted.name))
        made = made.with_columns(values).select(columns + self.results)
        return _frame(made if self.sliced is None else made.slice(*self.sliced), self.schema)

    def _groups(self, engine: Engine, rows: polars.DataFrame) -> tuple[GroupBy, dict[str, Any]]:
        for wanted in self.wanted:
            column = wanted.column
            if column is None or column not in rows.columns:
                continue
            if wanted.needs == "no NaN" and rows[column].is_nan().any():
                raise Unsupported(f"NaN in {column}, which {wanted.function} of Polars {'orders otherwise' if wanted.function == 'median' else 'leaves out'}")
            if wanted.needs == "no null" and rows[column].null_count():
                raise Unsupported(f"null in {column}, which first and last of Polars may give")
        read = [name for name in dict.fromkeys(w.column for w in self.wanted) if name in rows.columns]
        keys = [polars.col(name).alias("k" + name) for name, _ in self.keys]
        data = rows.select(keys + [polars.col(name).alias("v" + str(name)) for name in read] + self.computed)
        names = ["k" + name for name, _ in self.keys]
        groups = engine.group_by(data, names, ordered=self.ordered, strings="view")
        return groups, {wanted.name: wanted.spec for wanted in self.wanted}


class _Aggregates:
    """Takes the aggregates out of expressions and gives their columns instead."""

    def __init__(self, schema: dict[str, Any], keys: list[str]) -> None:
        self.schema = schema
        self._empty = polars.DataFrame(schema=schema).lazy().group_by(keys)
        self.computed: list[polars.Expr] = []
        self.wanted: list[Wanted] = []

    def __call__(self, aggregate: Aggregate) -> polars.Expr:
        dtype = next(reversed(self._empty.agg(aggregate.expression().alias("\0")).collect_schema().values()))
        name = f"a{len(self.wanted)}"
        if aggregate.argument is None or (aggregate.name == "count" and aggregate.options):
            self.wanted.append(Wanted(name, "count", None, dtype, False, ""))
            return polars.col(name)
        source = self._source(aggregate.argument, aggregate.column)
        values = polars.DataFrame(schema=self.schema).lazy().select(aggregate.argument.alias("\0")).collect_schema()["\0"]
        spec, needs = _spec(aggregate, values, source)
        if needs and aggregate.column is None:
            raise Unsupported(f"{aggregate.name} of an expression")
        self.wanted.append(Wanted(name, spec, aggregate.column, dtype, aggregate.name == "sum", needs))
        if aggregate.name != "n_unique":
            return polars.col(name)
        rows, some = f"{name}r", f"{name}n"
        self.wanted.append(Wanted(rows, "count", None, dtype, False, ""))
        self.wanted.append(Wanted(some, (source, "count"), aggregate.column, dtype, False, ""))
        return polars.col(name) + (polars.col(some) < polars.col(rows)).cast(dtype)

    def _source(self, argument: polars.Expr, column: Optional[str]) -> str:
        if column is not None:
            return "v" + column
        name = f"x{len(self.computed)}"
        self.computed.append(argument.alias(name))
        return name


def _spec(aggregate: Aggregate, values: Any, source: str) -> tuple[Any, str]:
    """The aggregate as garuda takes it, and what its column must be without. Raises Unsupported."""
    function, is_float = aggregate.name, isinstance(values, _FLOATS)
    if not isinstance(values, SCALARS):
        raise Unsupported(f"{function} of {values}")
    is_number = is_float or isinstance(values, _INTEGERS)
    if function == "count" or (function in ("sum", "mean") and is_number) or (
        function in ("var", "std") and is_number and aggregate.options in (0, 1)):  # fmt: skip
        return (source, function + ("_pop" if function in ("var", "std") and aggregate.options == 0 else "")), ""
    if function in ("min", "max") and isinstance(values, _ORDERED) and not aggregate.options:
        return (source, function), "no NaN" if is_float else ""
    if function == "median" and is_number:
        return (source, function), "no NaN" if is_float else ""
    if function in ("first", "last"):
        return (source, function), "no null"
    if function == "n_unique" and not is_float:
        return (source, "count_distinct"), ""
    raise Unsupported(f"{function} of {values}")


def groups_of(plan: Plan, node: int, viewed: Any) -> Groups:
    """Raises Unsupported, with the reason."""
    options = viewed.options
    if options.dynamic is not None or options.rolling is not None or viewed.apply:
        raise Unsupported("groups by windows, or functions of groups")
    for e in viewed.aggs:
        _require_scalar(plan, e)
    schema = plan.schema(viewed.input)  # after the expressions, some of which have Polars add columns that it cannot show
    keys = [(plan.column(e), e.output_name) for e in viewed.keys]
    named = [(str(name), str(alias)) for name, alias in keys if name is not None]
    if len(named) < len(keys) or len({name for name, _ in named}) < len(keys):
        raise Unsupported("computed keys")
    names = [name for name, _ in named]
    aggregates = _Aggregates(schema, names)
    results = [plan.expression(e, aggregates) for e in viewed.aggs]
    read = {*names, *(w.column for w in aggregates.wanted if w.column is not None)}
    _require_types({name: dtype for name, dtype in schema.items() if name in read}, names)
    return Groups(viewed.input, named, aggregates.computed, aggregates.wanted, results,
                  viewed.maintain_order, options.slice, plan.schema(node))  # fmt: skip


def _require_scalar(plan: Plan, given: Any) -> None:
    """Refuses columns outside of aggregates: Polars would gather their values into a list."""

    def within(aggregate: Aggregate) -> polars.Expr:
        return polars.lit(0)

    if plan.expression(given, within).meta.root_names():
        raise Unsupported("values of groups that are not aggregated")


def _frame(made: Any, schema: dict[str, Any]) -> polars.DataFrame:
    frame = made if isinstance(made, polars.DataFrame) else polars.DataFrame(made)
    frame.columns = list(schema)
    return frame if dict(frame.schema) == schema else frame.cast(polars.Schema(schema))
