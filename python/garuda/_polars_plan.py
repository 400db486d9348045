"""Polars' optimised plan, read through its NodeTraverser, and parts of it made into lazy frames again."""

from __future__ import annotations

import datetime
import decimal
import operator
from typing import Any, Callable, Optional

import polars
from polars import Expr

from .patches import Unsupported

SCALARS = (polars.Int8, polars.Int16, polars.Int32, polars.Int64, polars.UInt8, polars.UInt16, polars.UInt32,
           polars.UInt64, polars.Float32, polars.Float64, polars.Boolean, polars.String, polars.Binary, polars.Date,
           polars.Time, polars.Datetime, polars.Duration, polars.Decimal)  # fmt: skip

_OPERATORS: dict[str, Callable[[Any, Any], Any]] = {
    "Eq": operator.eq, "NotEq": operator.ne, "Lt": operator.lt, "LtEq": operator.le, "Gt": operator.gt,
    "GtEq": operator.ge, "Plus": operator.add, "Minus": operator.sub, "Multiply": operator.mul,
    "TrueDivide": operator.truediv, "FloorDivide": operator.floordiv, "Modulus": operator.mod, "And": operator.and_,
    "Or": operator.or_, "Xor": operator.xor, "LogicalAnd": operator.and_, "LogicalOr": operator.or_,
    "EqValidity": Expr.eq_missing, "NotEqValidity": Expr.ne_missing}  # fmt: skip
# Functions of each row alone, by what the traverser calls them: arguments and options to an expression.
_FUNCTIONS: dict[str, Callable[..., Expr]] = {
    "abs": lambda a: a.abs(),
    "negate": lambda a: -a,
    "floor": lambda a: a.floor(),
    "ceil": lambda a: a.ceil(),
    "round": lambda a, decimals, mode: a.round(decimals, mode=mode),
    "fill_null": lambda a, b: a.fill_null(b),
    "coalesce": lambda *a: polars.coalesce(*a),
    "dynamic_pred": lambda *_: polars.lit(True),  # leaves out rows early that a sort's slice above leaves out
    "BooleanFunction.Not": lambda a: ~a,
    "BooleanFunction.IsNull": lambda a: a.is_null(),
    "BooleanFunction.IsNotNull": lambda a: a.is_not_null(),
    "BooleanFunction.IsNan": lambda a: a.is_nan(),
    "BooleanFunction.IsNotNan": lambda a: a.is_not_nan(),
    "BooleanFunction.IsFinite": lambda a: a.is_finite(),
    "BooleanFunction.IsInfinite": lambda a: a.is_infinite(),
    "BooleanFunction.IsBetween": lambda a, low, high, closed: a.is_between(low, high, closed=closed),
    "StringFunction.StartsWith": lambda a, b: a.str.starts_with(b),
    "StringFunction.EndsWith": lambda a, b: a.str.ends_with(b),
    "StringFunction.Contains": lambda a, b, literal, strict: a.str.contains(b, literal=literal, strict=strict),
    "StringFunction.Uppercase": lambda a: a.str.to_uppercase(),
    "StringFunction.Lowercase": lambda a: a.str.to_lowercase(),
    "StringFunction.LenChars": lambda a: a.str.len_chars(),
    "StringFunction.LenBytes": lambda a: a.str.len_bytes(),
    "StringFunction.Slice": lambda a, offset, length: a.str.slice(offset, length),
    "TemporalFunction.Year": lambda a: a.dt.year(),
    "TemporalFunction.Quarter": lambda a: a.dt.quarter(),
    "TemporalFunction.Month": lambda a: a.dt.month(),
    "TemporalFunction.Day": lambda a: a.dt.day(),
    "TemporalFunction.WeekDay": lambda a: a.dt.weekday(),
    "TemporalFunction.OrdinalDay": lambda a: a.dt.ordinal_day(),
    "TemporalFunction.Hour": lambda a: a.dt.hour(),
    "TemporalFunction.Minute": lambda a: a.dt.minute(),
    "TemporalFunction.Second": lambda a: a.dt.second(),
}
_FUSED: dict[str, Callable[[Expr, Expr, Expr], Expr]] = {
    "fma": lambda a, b, c: a * b + c,
    "fsm": lambda a, b, c: a - b * c,
    "fms": lambda a, b, c: a * b - c,
}
_SCAN_DEFAULTS = ("n_rows", "row_index", "include_file_paths", "deletion_files", "column_mapping", "default_values",
                  "hive_options", "table_statistics")  # fmt: skip


_VALUES = (type(None), bool, int, float, str, bytes, decimal.Decimal, datetime.date, datetime.time, datetime.timedelta)


class Aggregate:
    """An aggregate of a group-by as the traverser shows it."""

    def __init__(self, name: str, argument: Optional[Expr], column: Optional[str], options: Any) -> None:
        self.name = name
        self.argument = argument
        self.column = column  #: where the argument is a column as it is
        self.options = options

    def expression(self) -> Expr:
        """The aggregate as Polars has it. Raises Unsupported."""
        if self.argument is None:
            return polars.len()
        if self.name in ("std", "var"):
            return getattr(self.argument, self.name)(ddof=self.options)  # type: ignore[no-any-return]
        if self.options or self.name not in ("sum", "mean", "min", "max", "count", "first", "last", "n_unique", "median"):
            raise Unsupported(f"the aggregate {self.name}" + (f" with {self.options}" if self.options else ""))
        return getattr(self.argument, self.name)()  # type: ignore[no-any-return]


class Plan:
    """A plan whose nodes are named by number.

    Attributes:
        ready: rows of nodes that have run.
        cached: the same of what several nodes read, by Polars' number for it.
    """

    def __init__(self, traverser: Any) -> None:
        self._traverser = traverser
        self.ready: dict[int, polars.DataFrame] = {}
        self.cached: dict[int, polars.DataFrame] = {}
        self._shared: dict[int, polars.LazyFrame] = {}
        self._is_whole = False

    # --- nodes ------------------------------------------------------------------------------------------------------

    def view(self, node: int) -> Any:
        """The node as Polars shows it. Raises Unsupported where it shows nothing."""
        self._traverser.set_node(node)
        try:
            return self._traverser.view_current_node()
        except NotImplementedError as error:
            raise Unsupported(f"Polars does not show what is in the plan: {str(error)[:60]}") from None

    def inputs(self, node: int) -> list[int]:
        self._traverser.set_node(node)
        return list(self._traverser.get_inputs())

    def schema(self, node: int) -> dict[str, Any]:
        self._traverser.set_node(node)
        return dict(self._traverser.get_schema())

    def replace(self, node: int, rows: polars.DataFrame) -> None:
        """Makes `rows` what Polars reads in place of the node and of all below it."""
        self._traverser.set_node(node)
        self._traverser.set_udf(lambda *_: rows)

    # --- expressions ------------------------------------------------------------------------------------------------

    def column(self, expression: Any) -> Optional[str]:
        """The name where the expression is a column as it is."""
        viewed = self._viewed(expression.node)
        return str(viewed.name) if type(viewed).__name__ == "Column" else None

    def expression(self, given: Any, aggregated: Optional[Callable[[Aggregate], Expr]] = None) -> Expr:
        """An expression with its name, which Polars makes the same plan of again. `aggregated`: what an aggregate is
        replaced by. Raises Unsupported."""
        return self._expression(given.node, aggregated or Aggregate.expression).alias(given.output_name)

    def _viewed(self, node: int) -> Any:
        try:
            return self._traverser.view_expression(node)
        except NotImplementedError as error:
            raise Unsupported(f"an expression that Polars does not show: {str(error)[:60]}") from None

    def _expression(self, node: int, aggregated: Callable[[Aggregate], Expr]) -> Expr:
        viewed = self._viewed(node)
        kind = type(viewed).__name__

        def of(inner: int) -> Expr:
            return self._expression(inner, aggregated)

        if kind == "Column":
            return polars.col(viewed.name)
        if kind == "Literal":
            return _literal(viewed.value, viewed.dtype)
        if kind == "Alias":
            return of(viewed.expr).alias(viewed.name)
        if kind == "BinaryExpr":
            name = str(viewed.op).rpartition(".")[2]
            if name not in _OPERATORS:
                raise Unsupported(f"the operator {name}")
            expression: Expr = _OPERATORS[name](of(viewed.left), of(viewed.right))
            return expression
        if kind == "Cast":
            return of(viewed.expr).cast(viewed.dtype, strict=viewed.options == 0, wrap_numerical=viewed.options == 2)
        if kind == "Ternary":
            return polars.when(of(viewed.predicate)).then(of(viewed.truthy)).otherwise(of(viewed.falsy))
        if kind == "Function":
            return self._function(viewed, of)
        if kind == "Len":
            return aggregated(Aggregate("len", None, None, None))
        if kind == "Agg" and len(viewed.arguments) == 1:
            inner = self._viewed(viewed.arguments[0])
            column = inner.name if type(inner).__name__ == "Column" else None

            def nested(aggregate: Aggregate) -> Expr:
                raise Unsupported(f"an aggregate within an aggregate: {aggregate.name}")

            argument = self._expression(viewed.arguments[0], nested)
            return aggregated(Aggregate(viewed.name, argument, column, viewed.options))
        raise Unsupported(f"an expression of kind {kind}")

    def _function(self, viewed: Any, of: Callable[[int], Expr]) -> Expr:
        name, options = str(viewed.function_data[0]), viewed.function_data[1:]
        if name == "BooleanFunction.IsIn":
            values = self._viewed(viewed.input[1])
            if type(values).__name__ != "Literal" or not isinstance(values.dtype, polars.List):
                raise Unsupported("is_in of what is not a list of values")
            listed = polars.Series(values.value, dtype=values.dtype.inner)
            return of(viewed.input[0]).is_in(listed.implode(), nulls_equal=options[0])
        if name == "fused" and options[0] in _FUSED:
            return _FUSED[options[0]](*map(of, viewed.input))
        if name not in _FUNCTIONS:
            raise Unsupported(f"the function {name}")
        return _FUNCTIONS[name](*map(of, viewed.input), *options)

    # --- rows -------------------------------------------------------------------------------------------------------

    def rows(self, node: int) -> polars.DataFrame:
        """The rows of a node, run by Polars where they are not there yet, and kept. Raises Unsupported."""
        if node not in self.ready:
            viewed = self.view(node)
            if type(viewed).__name__ == "Cache":
                return self._shared_rows(viewed)
            if type(viewed).__name__ == "DataFrameScan" and viewed.selection is None:
                return polars.DataFrame._from_pydf(viewed.df)[list(self.schema(node))]  # collected it were a copy
            try:
                rows = self._checked_frame(node).collect(engine="streaming")
            except polars.exceptions.PolarsError as error:  # which Polars then has to say itself
                raise Unsupported(f"what is below it fails: {str(error).splitlines()[0]}") from None
            if type(viewed).__name__ == "DataFrameScan":
                return rows
            self.ready[node] = rows
        return self.ready[node]

    def _shared_rows(self, cache: Any) -> polars.DataFrame:
        if cache.id_ not in self.cached:
            self.cached[cache.id_] = self.rows(cache.input)
            self.ready.pop(cache.input, None)
        return self.cached[cache.id_]

    def whole(self, node: int) -> polars.LazyFrame:
        """The rest as one plan, in which Polars finds again what several of its nodes share. Raises
        Unsupported."""
        self._is_whole = True
        try:
            return self._checked_frame(node)
        finally:
            self._is_whole = False
            self._shared.clear()

    def _checked_frame(self, node: int) -> polars.LazyFrame:
        frame = self._frame(node)
        try:
            made = dict(frame.collect_schema())
        except polars.exceptions.PolarsError as error:
            raise Unsupported(f"a plan that Polars does not take back: {str(error).splitlines()[0]}") from None
        if made != self.schema(node):
            raise Unsupported(f"a plan of which Polars makes other columns: {', '.join(made)}")
        return frame

    def _frame(self, node: int) -> polars.LazyFrame:
        if node in self.ready:
            return self.ready[node].lazy()
        viewed = self.view(node)
        make = getattr(self, "_" + type(viewed).__name__.lower(), None)
        if make is None:
            raise Unsupported(f"a node of kind {type(viewed).__name__} below it")
        frame: polars.LazyFrame = make(node, viewed)
        return frame

    def _cache(self, node: int, viewed: Any) -> polars.LazyFrame:
        if viewed.id_ in self.cached or not self._is_whole:
            return self._shared_rows(viewed).lazy()
        if viewed.id_ not in self._shared:
            self._shared[viewed.id_] = self._frame(viewed.input)
        return self._shared[viewed.id_]

    def _dataframescan(self, node: int, viewed: Any) -> polars.LazyFrame:
        frame = polars.DataFrame._from_pydf(viewed.df).lazy()
        if viewed.selection is not None:
            frame = frame.filter(self.expression(viewed.selection))
        return frame.select(list(self.schema(node)))

    def _scan(self, node: int, viewed: Any) -> polars.LazyFrame:
        kind, options = viewed.scan_type[0], viewed.file_options
        if kind != "parquet":
            raise Unsupported(f"a scan of {kind} files below it")
        for name in _SCAN_DEFAULTS:
            if getattr(options, name, None) is not None:
                raise Unsupported(f"a scan with {name} below it")
        if viewed.hive_parts is not None:
            raise Unsupported("a scan of hive partitions below it")
        frame = polars.scan_parquet(viewed.paths, glob=False)
        if viewed.predicate is not None:
            frame = frame.filter(self.expression(viewed.predicate))
        return frame.select(list(self.schema(node)))

    def _simpleprojection(self, node: int, viewed: Any) -> polars.LazyFrame:
        return self._frame(viewed.input).select(list(self.schema(node)))

    def _filter(self, node: int, viewed: Any) -> polars.LazyFrame:
        return self._frame(viewed.input).filter(self.expression(viewed.predicate))

    def _select(self, node: int, viewed: Any) -> polars.LazyFrame:
        return self._frame(viewed.input).select([self.expression(e) for e in viewed.expr])

    def _hstack(self, node: int, viewed: Any) -> polars.LazyFrame:
        return self._frame(viewed.input).with_columns([self.expression(e) for e in viewed.exprs])

    def _sort(self, node: int, viewed: Any) -> polars.LazyFrame:
        maintain_order, nulls_last, descending = viewed.sort_options
        by = [self.expression(e) for e in viewed.by_column]
        frame = self._frame(viewed.input).sort(
            by, descending=descending, nulls_last=nulls_last, maintain_order=maintain_order
        )
        return frame if viewed.slice is None else frame.slice(*viewed.slice[:2])

    def _slice(self, node: int, viewed: Any) -> polars.LazyFrame:
        return self._frame(viewed.input).slice(viewed.offset, viewed.len)

    def _distinct(self, node: int, viewed: Any) -> polars.LazyFrame:
        keep, subset, maintain_order, sliced = viewed.options
        frame = self._frame(viewed.input).unique(subset, keep=keep, maintain_order=maintain_order)
        return frame if sliced is None else frame.slice(*sliced)

    def _union(self, node: int, viewed: Any) -> polars.LazyFrame:
        frame = polars.concat([self._frame(i) for i in viewed.inputs])
        return frame if viewed.slice is None else frame.slice(*viewed.slice)

    def _groupby(self, node: int, viewed: Any) -> polars.LazyFrame:
        if viewed.options.dynamic is not None or viewed.options.rolling is not None or viewed.apply:
            raise Unsupported("a group-by of windows or functions below it")
        keys = [self.expression(e) for e in viewed.keys]
        groups = self._frame(viewed.input).group_by(keys, maintain_order=viewed.maintain_order)
        frame = groups.agg([self.expression(e) for e in viewed.aggs])
        return frame if viewed.options.slice is None else frame.slice(*viewed.options.slice)

    def _join(self, node: int, viewed: Any) -> polars.LazyFrame:
        how, nulls_equal, sliced, suffix, coalesce, maintain_order = viewed.options
        is_filtered = how == ("Inner", "fused_predicate")
        if is_filtered:
            how = "Inner"
        if not isinstance(how, str) or (viewed.predicate is not None) != is_filtered:
            raise Unsupported("a join by a condition below it")
        keys: dict[str, Any] = {}
        if how != "Cross":
            keys = {"left_on": [self._expression(e.node, Aggregate.expression) for e in viewed.left_on],
                    "right_on": [self._expression(e.node, Aggregate.expression) for e in viewed.right_on],
                    "nulls_equal": nulls_equal}  # fmt: skip
            if how not in ("Semi", "Anti"):
                keys["coalesce"] = coalesce
        kind: Any = how.lower()
        frame = self._frame(viewed.input_left).join(
            self._frame(viewed.input_right), how=kind, suffix=suffix, maintain_order=maintain_order, **keys
        )
        if is_filtered:
            frame = frame.filter(self.expression(viewed.predicate))
        return frame if sliced is None else frame.slice(*sliced)


def _literal(value: Any, dtype: Any) -> Expr:
    if not isinstance(value, _VALUES):
        raise Unsupported("a series among the expressions")
    if isinstance(dtype, (polars.List, polars.Struct, polars.Array, polars.Object)):
        raise Unsupported(f"a value of type {dtype}")
    return polars.lit(value) if dtype == polars.Null else polars.lit(value, dtype=dtype)
