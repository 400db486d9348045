"""Proofs, by what DuckDB's binder says, that garuda's part of a statement means what DuckDB means.

The binder is asked for plans over stand-ins of the tables, queries without rows whose columns have the tables' names and
types: plans that read Python's tables or files cannot be written down.
"""

from __future__ import annotations

from typing import Any, Iterable, Iterator, Optional

import pyarrow

from ._duckdb_caller import Caller
from .patches import Unsupported

#: Aggregates as DuckDB calls them, and as garuda does.
AGGREGATES = {"sum": "sum", "avg": "mean", "min": "min", "max": "max", "count": "count", "count_star": "count"}
_ROW_BY_ROW = {"LOGICAL_PROJECTION", "LOGICAL_FILTER", "LOGICAL_ORDER_BY", "LOGICAL_LIMIT", "LOGICAL_TOP_N", "LOGICAL_DISTINCT",
               "LOGICAL_DUMMY_SCAN", "LOGICAL_CTE_REF", "LOGICAL_MATERIALIZED_CTE"}  # fmt: skip
_FILTER = "LOGICAL_FILTER"
_JOIN = "LOGICAL_COMPARISON_JOIN"
_GROUPS = "LOGICAL_AGGREGATE_AND_GROUP_BY"
_BUILT_IN = ["system", "main"]
# Errors of plans that DuckDB has bound, and cannot write down.
_BOUND_BUT_NOT_WRITTEN = ("not implemented", "invalid input")
Plan = dict[str, Any]  # of json_serialize_plan


def require_no_collations(caller: Caller, columns: list[str], source: str) -> None:
    """Raises Unsupported when a column of strings has a collation.

    A column that has one cannot be compared with a string of another: of two collations, one at least is refused.
    """
    for collation in ("nocase", "noaccent") if columns else ():
        compared = ", ".join(f"{column} = ('' collate {collation})" for column in columns)
        plan = caller.plan(f"select {compared} from {source}")
        if plan["error"] and plan["error_type"] not in _BOUND_BUT_NOT_WRITTEN:
            raise Unsupported(f"a column with a collation, or none that is known: {str(plan['error_message']).splitlines()[0]}")


def stand_in(name: str, columns: Iterable[tuple[str, str]]) -> str:
    """A query without rows, called `name`, of columns with names and types."""
    listed = ", ".join(f'null::{type_name} as "{column.replace(chr(34), chr(34) * 2)}"' for column, type_name in columns)
    return f"{name} as (select {listed})"


def plan_of(caller: Caller, query: str) -> Plan:
    """The plan that DuckDB binds. Raises Unsupported when the query is an error."""
    plan = caller.plan(query)
    if plan["error"]:
        raise Unsupported(str(plan["error_message"]).splitlines()[0])
    return plan


def _nodes(plan: Plan) -> Iterator[Plan]:
    for node in plan["plans"] if "plans" in plan else plan["children"]:
        yield node
        yield from _nodes(node)


def _bound(plan: Plan, others: set[str]) -> dict[str, list[Plan]]:
    """The plan's nodes that do not work row by row, by their types, which are among `others`."""
    found: dict[str, list[Plan]] = {name: [] for name in others}
    for node in _nodes(plan):
        if node["type"] in found:
            found[node["type"]].append(node)
        elif node["type"] not in _ROW_BY_ROW:
            raise Unsupported(f"a plan with {node['type'].lower()}")
    return found


def _functions(tree: Any) -> Iterator[list[str]]:
    """The paths of all functions in a part of a plan."""
    if isinstance(tree, dict):
        if "qname" in tree:
            yield tree["qname"]["path"]
        tree = list(tree.values())
    if isinstance(tree, list):
        for part in tree:
            yield from _functions(part)


def require_filters(caller: Caller, plan: Plan) -> None:
    """Raises Unsupported unless every filter gives the same however often and over whichever rows it runs: garuda has it
    run over a table's rows in place of joined ones."""
    paths = [path for node in _nodes(plan) if node["type"] == _FILTER for path in _functions(node["expressions"])]
    if any(len(path) > 1 and path[:-1] != _BUILT_IN for path in paths):
        raise Unsupported("a filter by a function that is not DuckDB's own")
    names = sorted({path[-1] for path in paths if len(path) > 1 and path[-1].isidentifier()})  # operators are consistent
    volatile = "select count(*) from duckdb_functions() where stability = 'VOLATILE' and list_contains(?::varchar[], function_name)"
    if names and caller.value(volatile, [names]):
        raise Unsupported("a filter that changes from call to call")


def _without_names(tree: Any) -> Any:
    if isinstance(tree, dict):
        return {key: _without_names(part) for key, part in tree.items() if key not in ("alias", "query_location_length", "query_location")}
    return [_without_names(part) for part in tree] if isinstance(tree, list) else tree


def require_equal(plan: Plan, other: Plan) -> None:
    """Raises Unsupported unless both plans do the same."""
    if _without_names(plan) != _without_names(other):
        raise Unsupported("a function that is called as an aggregate of DuckDB")


def require_row_by_row(plan: Plan) -> None:
    """Raises Unsupported when a query does more than to compute, filter, sort and limit rows."""
    if any(node["type"] == _GROUPS for node in _nodes(plan)):
        raise Unsupported("an aggregate that is not known, or not of a column")
    _bound(plan, set())


def _column(expression: dict[str, Any], cast: bool = False) -> Optional[int]:
    """The place of a column that is read as it is, or is cast by DuckDB where `cast` allows it."""
    if cast and expression["type"] == "OPERATOR_CAST":
        expression = expression["children"][0]
    return int(expression["index"]) if expression["type"] == "BOUND_REF" else None


def require_join(plan: Plan, keys: set[tuple[int, int]]) -> None:
    """Raises Unsupported unless the plan's only join is by these places of equal columns, bare of collations."""
    joins = _bound(plan, {_JOIN, _GROUPS})[_JOIN]
    found = [(_column(c["left"]), _column(c["right"])) for join in joins for c in join["conditions"]
             if c["comparison"] == "COMPARE_EQUAL"]  # fmt: skip
    if len(joins) != 1 or len(joins[0]["conditions"]) != len(found) or set(found) != keys:
        raise Unsupported("a join that DuckDB does not bind as one of equal columns")


def require_groups(plan: Plan, groups: set[int], aggregates: set[tuple[str, Optional[int]]]) -> None:
    """Raises Unsupported unless the plan's only group-by is by these places, with these aggregates of places."""
    nodes = _bound(plan, {_JOIN, _GROUPS})[_GROUPS]
    found: set[tuple[str, Optional[int]]] = set()
    for aggregate in nodes[0]["expressions"] if len(nodes) == 1 else ():
        path = aggregate["qname"]["path"]
        places = [_column(child, cast=path[-1] in ("sum", "avg")) for child in aggregate["children"]]
        is_plain = aggregate["aggregate_type"] == "NON_DISTINCT" and not aggregate["filter"] and not aggregate["order_bys"]
        if path[:-1] != _BUILT_IN or path[-1] not in AGGREGATES or not is_plain or places.count(None) or len(places) > 1:
            raise Unsupported(f"an aggregate that DuckDB does not bind as garuda's: {path[-1]}")
        found.add((AGGREGATES[path[-1]], places[0] if places else None))
    if len(nodes) != 1 or {_column(group) for group in nodes[0]["groups"]} != groups or found != aggregates:
        raise Unsupported("a group-by that DuckDB does not bind as one of columns and known aggregates")


def require_no_negative_zeros(columns: Iterable[pyarrow.ChunkedArray]) -> None:
    """Raises Unsupported when a column of floats has a −0.0: DuckDB keeps the sign that it saw first or last."""
    import numpy

    for column in columns:
        for chunk in column.chunks if pyarrow.types.is_floating(column.type) else ():
            values = chunk.to_numpy(zero_copy_only=False)
            if numpy.any(numpy.signbit(values) & (values == 0)):
                raise Unsupported("negative zeros, whose sign DuckDB keeps by the order of rows")
