"""SQL as plans of Substrait: DataFusion parses and optimises, over tables that have types and no rows."""

from __future__ import annotations

import functools
import re
from typing import Any, Callable, Mapping, NamedTuple, Optional

from .errors import UsageError

#: Finds the table of a name; None where there is none.
Find = Callable[[str], Any]

_PLACE = re.compile(r"at Line: (\d+), Column: (\d+)")
#: Names in DataFusion's errors that say no place.
_NAMED = re.compile(r"No field named (?:\S*\.)?\"?([^\s\".]+)|Invalid function '([^']+)'|unqualified field (\S+)")
_NULL_AWARE = re.compile(r"^\s*LeftAnti Join: .*\bnull_aware$", re.MULTILINE)
_NOT_IN = re.compile(r"\bNOT\b.*\bIN \(<subquery>\)")
#: Words that a query may have for the time at which it is planned, so that its plan is good for one run.
_PLANNING_TIME = re.compile(r"\b(?:now|today|current_\w+|local\w*)\b", re.IGNORECASE)
#: Plans that are kept: a plan depends on the text and on the tables' types, not on their rows.
_KEPT_PLANS = 256


def _datafusion() -> Any:
    try:
        import datafusion
        import datafusion.catalog
        import datafusion.substrait
    except ImportError as error:
        raise ImportError("garuda plans SQL with DataFusion: pip install garuda[sql]") from error
    return datafusion


def _planned_type(kind: Any) -> Any:
    """The type that DataFusion plans a column as; plans of Substrait have none for dictionaries, runs and narrow
    decimals."""
    import pyarrow

    if pyarrow.types.is_dictionary(kind) or pyarrow.types.is_run_end_encoded(kind):
        return _planned_type(kind.value_type)
    if pyarrow.types.is_decimal32(kind) or pyarrow.types.is_decimal64(kind):
        return pyarrow.decimal128(kind.precision, kind.scale)
    return kind


def _planned_schema(schema: Any) -> Any:
    import pyarrow

    fields = [pyarrow.field(f.name, _planned_type(f.type), f.nullable) for f in schema if not pyarrow.types.is_union(f.type)]
    return pyarrow.schema(fields)


def _tables_without_rows(datafusion: Any, schemas: Mapping[str, Any]) -> dict[str, Any]:
    import pyarrow

    context = datafusion.SessionContext()
    tables = {}
    for number, (name, schema) in enumerate(schemas.items()):
        own = f"t{number}"
        context.register_record_batches(own, [[pyarrow.RecordBatch.from_pylist([], schema=_planned_schema(schema))]])
        tables[name] = context.catalog().schema("public").table(own)
    return tables


def _with_provider(datafusion: Any, find: Find) -> Any:
    """A context that asks `find` for its tables."""

    class Provider(datafusion.catalog.SchemaProvider):  # type: ignore[misc, name-defined, unused-ignore]
        def table_names(self) -> set[str]:
            return set()

        def table_exist(self, name: str) -> bool:
            return find(name) is not None

        def table(self, name: str) -> Any:
            return find(name)

        def register_table(self, name: str, table: Any) -> None:
            raise NotImplementedError

        def deregister_table(self, name: str, cascade: bool = True) -> None:
            raise NotImplementedError

    context = datafusion.SessionContext()
    context.catalog("datafusion").register_schema("public", Provider())
    return context


def _queried(datafusion: Any, context: Any, query: str) -> Any:
    """The query as DataFusion reads it, which may only query. Raises UsageError with a caret under the place, where
    DataFusion says it."""
    only_queries = datafusion.SQLOptions().with_allow_ddl(False).with_allow_dml(False).with_allow_statements(False)
    try:
        return context.sql_with_options(query, only_queries)
    except Exception as error:  # DataFusion's classes of errors are those of Python and a few of its own
        raise _refused(query, error) from None


def _refused(query: str, error: Exception) -> UsageError:
    text = str(error).strip()
    return UsageError("DataFusion does not plan this query", (text + _caret(query, _place(query, text)),))


def _caret(query: str, place: Optional[tuple[int, int]]) -> str:
    """Lines behind a sentence: the one of the place, and a caret below it. Nothing where there is no place."""
    if place is None:
        return ""
    line, column = place
    return f"\n{(query.splitlines() or [''])[line]}\n{' ' * column}^"


def _place(query: str, text: str) -> Optional[tuple[int, int]]:
    """Line and column, from 0 on, of what an error of DataFusion is about; None: it says no place, and no name that the
    query has once."""
    said = _PLACE.search(text)
    if said is not None:
        return min(int(said.group(1)), len(query.splitlines()) or 1) - 1, int(said.group(2)) - 1
    named = _NAMED.search(text)
    if named is None:
        return None
    return _only_place(query, next(group for group in named.groups() if group))


def _only_place(query: str, name: str) -> Optional[tuple[int, int]]:
    """Line and column, from 0 on, of a name that a query has once; None: it has it more often, or not."""
    found = list(re.finditer(rf"(?<!\w){re.escape(name)}(?!\w)", query, re.IGNORECASE))
    if len(found) != 1:
        return None
    before = query[: found[0].start()]
    return before.count("\n"), len(before) - before.rfind("\n") - 1


def unknown_table(query: str, name: str, known: str) -> UsageError:
    """The error of a table of the query that is not `known`."""
    return UsageError(f"the query reads a table that is {known}: {name}{_caret(query, _only_place(query, name))}")


@functools.lru_cache(maxsize=_KEPT_PLANS)
def table_names(query: str) -> tuple[str, ...]:
    """Names of the tables that a query reads, as it names them, quoted or in lower case. A query that cannot be read has
    none: planning it raises the error."""
    datafusion = _datafusion()
    import pyarrow

    any_table = _tables_without_rows(datafusion, {"any": pyarrow.schema([("none", pyarrow.bool_())])})["any"]
    asked: dict[str, None] = {}

    def find(name: str) -> Any:
        asked[name] = None
        return any_table

    try:
        _queried(datafusion, _with_provider(datafusion, find), query)
    except UsageError:
        pass  # mostly of columns, which no table has
    return tuple(asked)


class PlannedQuery(NamedTuple):
    """An optimised plan.

    Attributes:
        message: of Substrait.
        shown: what DataFusion prints of it.
    """

    message: bytes
    shown: str


def substrait_plan(query: str, schemas: Mapping[str, Any], without_nulls: Callable[[], Mapping[str, Any]]) -> PlannedQuery:
    """The optimised plan of a query over tables of these schemas, as a message of Substrait.

    A plan of NOT IN may have a join that is aware of nulls, which DataFusion's producer of Substrait leaves out. Then it is
    planned again over `without_nulls`, the schemas whose columns are nullable only where they have nulls, and, where that
    leaves such a join, without joins in place of subqueries.

    Raises UsageError for a query that DataFusion refuses, or whose plan has neither form.
    """
    plan = _planned(query, schemas, as_joins=True)
    if plan is None:
        plan = _planned(query, without_nulls(), as_joins=True)
    if plan is None:
        plan = _planned(query, schemas, as_joins=False)
    if plan is not None:
        return plan
    raise UsageError("DataFusion plans this NOT IN as a join that Substrait cannot say: write NOT EXISTS in its place")


def _planned(query: str, schemas: Mapping[str, Any], *, as_joins: bool) -> Optional[PlannedQuery]:
    """The plan, which is kept for a later query of the same text over tables of the same types; None: it has a join that
    is aware of nulls."""
    plan = _new_plan if _PLANNING_TIME.search(query) else _kept_plan
    return plan(query, tuple(schemas.items()), as_joins)


def _new_plan(query: str, schemas: tuple[tuple[str, Any], ...], as_joins: bool) -> Optional[PlannedQuery]:
    datafusion = _datafusion()
    tables = _tables_without_rows(datafusion, dict(schemas))
    context = _with_provider(datafusion, tables.get)
    if not as_joins:
        context.remove_optimizer_rule("decorrelate_predicate_subquery")
    rows = _queried(datafusion, context, query)
    try:
        plan = rows.optimized_logical_plan()
        shown = plan.display_indent()
        written = rows.logical_plan().display_indent() if "LeftMark Join" in shown else ""
        if _NULL_AWARE.search(shown) or _NOT_IN.search(written):
            return None
        return PlannedQuery(bytes(datafusion.substrait.Producer.to_substrait_plan(plan, context).encode()), shown)
    except Exception as error:
        if "join constraint: `using`" in str(error):
            raise UsageError("DataFusion's plans of Substrait have no USING in outer joins: write ON in its place") from None
        raise _refused(query, error) from None


_kept_plan = functools.lru_cache(maxsize=_KEPT_PLANS)(_new_plan)
