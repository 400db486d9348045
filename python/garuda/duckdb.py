"""Joins and group-bys of DuckDB's relations, which give relations back.

>>> import duckdb, garuda
>>> connection = duckdb.connect()
>>> left = connection.sql("select range as a, range % 3 as b from range(6)")
>>> right = connection.sql("select 1 as b, 'one' as name")
>>> garuda.duckdb.join(left, right, on="b", ordered=True).fetchall()
[(1, 1, 'one'), (4, 1, 'one')]
>>> garuda.duckdb.group_by(left, "b", ordered=True).agg(total=("a", "sum")).fetchall()
[(0, 3), (1, 5), (2, 7)]
"""

from __future__ import annotations

from typing import Any, Optional, Sequence, Union

import duckdb

from .engine import Aggregate, Engine, GroupBy, default_engine
from .plans import Plan
from .table import Data, Table, table

Relation = duckdb.DuckDBPyRelation


def _relation(rows: Table, connection: Optional[duckdb.DuckDBPyConnection]) -> Relation:
    return rows.to_duckdb(connection)


def join(
    left: Data,
    right: Data,
    on: Any = None,
    *,
    connection: Optional[duckdb.DuckDBPyConnection] = None,
    engine: Engine = default_engine,
    **options: Any,
) -> Relation:
    """`garuda.join` of relations, or whatever `garuda.table` takes, as a relation of `connection` (None: DuckDB's
    default one). The relations run now; `options` are those of `garuda.join`."""
    return _relation(engine.join(left, right, on, **options), connection)


class RelationGroupBy:
    """A group-by that is to be given its aggregates: see `group_by`."""

    def __init__(self, groups: GroupBy, connection: Optional[duckdb.DuckDBPyConnection]) -> None:
        self._groups = groups
        self._connection = connection

    def agg(self, *aggregates: Aggregate, **named: Any) -> Relation:
        """As `garuda.GroupBy.agg`, as a relation."""
        return _relation(self._groups.agg(*aggregates, **named), self._connection)

    def explain(self, *aggregates: Aggregate, **named: Aggregate) -> Plan:
        """What `agg` would do; the relation runs, the group-by does not."""
        return self._groups.explain(*aggregates, **named)


def group_by(
    data: Data,
    keys: Union[str, Sequence[str]] = (),
    *,
    connection: Optional[duckdb.DuckDBPyConnection] = None,
    engine: Engine = default_engine,
    **options: Any,
) -> RelationGroupBy:
    """`garuda.group_by` of a relation, or whatever `garuda.table` takes. The relation runs once, now."""
    return RelationGroupBy(engine.group_by(table(data), keys, **options), connection)
