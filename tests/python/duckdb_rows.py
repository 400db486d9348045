"""A connection of garuda.duckdb with two tables, and its rows compared with those of DuckDB alone."""

from __future__ import annotations

from typing import Any

import duckdb
import garuda
import garuda.duckdb
import pytest

CPU = garuda.Engine(path="cpu")


@pytest.fixture
def tried() -> garuda.duckdb.Connection:
    connection = garuda.duckdb.connect(engine=CPU, prices=False)
    connection.execute("create table t as select range % 5 as k, range as v, 's' || range % 3 as s from range(40)")
    connection.execute("create table u as select range as k, 'n' || range as name from range(4)")
    return connection


def rows(run: Any, query: str) -> Any:
    """Rows in some order, floats by their signs, too; or the type of the error."""
    try:
        result = run(query)
        return sorted(repr(row) for row in result.fetchall())
    except duckdb.Error as error:
        return type(error)


def check(connection: garuda.duckdb.Connection, query: str) -> None:
    assert rows(connection.execute, query) == rows(connection.connection.execute, query), (query, connection.decision)
