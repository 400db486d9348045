"""A connection of DuckDB as a frame of Python calls it, and what DuckDB says of statements without running them."""

from __future__ import annotations

import functools
import json
from types import FrameType
from typing import Any

import duckdb
import pyarrow

RESERVED = "garuda_"  #: Names begin with it that a statement must not have.
_CALL = compile(f"{RESERVED}call()", "<garuda.duckdb>", "eval")


class Caller:
    """Runs statements that read the tables which the user's frame names.

    DuckDB looks for tables of Python among the names of the innermost frame, its locals and then its globals. Statements
    run in a frame that has the user's names, and those that `give` adds, but none of garuda's own variables.
    """

    def __init__(self, connection: duckdb.DuckDBPyConnection, frame: FrameType) -> None:
        self.connection = connection
        self._globals = frame.f_globals
        self._locals = dict(frame.f_locals)

    def give(self, name: str, rows: pyarrow.Table) -> None:
        """Lets statements read the rows by the name."""
        self._locals[name] = rows

    def run(self, method: Any, *arguments: Any, **options: Any) -> Any:
        """Calls a method of the connection, which has to be DuckDB's own."""
        names = {**self._locals, f"{RESERVED}call": functools.partial(method, *arguments, **options)}
        return eval(_CALL, self._globals, names)

    def execute(self, query: Any, *arguments: Any, **options: Any) -> Any:
        return self.run(self.connection.execute, query, *arguments, **options)

    def rows(self, query: str) -> pyarrow.Table:
        return self.run(self.connection.sql, query).to_arrow_table()

    def value(self, query: str, *arguments: Any) -> Any:
        """The first column of the first row; None where there is no row."""
        return (self.execute(query, *arguments).fetchone() or (None,))[0]

    def count(self, query: str) -> int:
        return int(self.value(query) or 0)

    def described(self, query: str) -> list[tuple[str, str]]:
        """Names and types of a query's columns. An error ends a transaction, as that of the query would."""
        return [(row[0], row[1]) for row in self.execute(f"describe {query}").fetchall()]

    def plan(self, query: str) -> dict[str, Any]:
        """The plan that DuckDB binds, before it is optimized. Errors are a part of it, and leave a transaction alone."""
        return dict(json.loads(self.value("select json_serialize_plan(?)", [query])))

    @functools.cached_property
    def shares_transaction(self) -> bool:
        """Whether the user has begun one, so that statements share it; trying to begin another would end it."""
        return self.count("select txid_current()") == self.count("select txid_current()")
