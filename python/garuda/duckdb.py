"""Joins and group-bys of DuckDB's relations, which give relations back.

>>> import duckdb, garuda
>>> connection = duckdb.connect()
>>> left = connection.sql("select range as a, range % 3 as b from range(6)")
>>> right = connection.sql("select 1 as b, 'one' as name")
>>> garuda.duckdb.join(left, right, on="b", ordered=True).fetchall()
[(1, 1, 'one'), (4, 1, 'one')]
>>> garuda.duckdb.group_by(left, "b", ordered=True).agg(total=("a", "sum")).fetchall()
[(0, 3), (1, 5), (2, 7)]

A connection of `connect` runs SQL, whose joins and group-bys go through garuda where that pays:

>>> tables = garuda.duckdb.connect(prices=False)
>>> _ = tables.execute("create table t as select range as a, range % 3 as b from range(6)")
>>> tables.execute("select b, sum(a) as total from t where a > 0 group by b order by b").fetchall()
[(0, 3), (1, 5), (2, 7)]
>>> print(tables.decision)
garuda: group-by b, whatever it costs
"""

from __future__ import annotations

import functools
import re
import secrets
import sys
import time
from typing import Any, NamedTuple, Optional, Union

import duckdb
import pyarrow

from . import _duckdb_sql as trees
from ._allowance import Allowance
from ._arguments import Aggregate, Names, require, require_flags, wrong
from ._duckdb_caller import RESERVED, Caller
from ._duckdb_work import Work
from .engine import Engine, GroupBy, default_engine
from .errors import CancelledError, Error
from .patches import Unsupported, fall_back
from .plans import Plan
from .table import Data, Table, table_of

Relation = duckdb.DuckDBPyRelation
AnyConnection = Union[duckdb.DuckDBPyConnection, "Connection", None]


def _require(connection: Any, engine: Any) -> None:
    require("engine", engine, Engine, "a garuda.Engine")
    if not isinstance(connection, (duckdb.DuckDBPyConnection, Connection, type(None))):
        raise wrong("connection", "a connection of DuckDB or None", connection)


def _relation(rows: Table, connection: AnyConnection) -> Relation:
    return rows.to_duckdb(connection.connection if isinstance(connection, Connection) else connection)


def join(
    left: Data,
    right: Data,
    on: Any = None,
    *,
    connection: AnyConnection = None,
    engine: Engine = default_engine,
    **options: Any,
) -> Relation:
    """`garuda.join` of relations, or whatever `garuda.table` takes, as a relation of `connection` (None: DuckDB's
    default one). The relations run now; `options` are those of `garuda.join`."""
    _require(connection, engine)
    return _relation(engine.join(left, right, on, **options), connection)


class RelationGroupBy:
    """A group-by that is to be given its aggregates: see `group_by`."""

    def __init__(self, groups: GroupBy, connection: AnyConnection) -> None:
        self._groups = groups
        self._connection = connection

    def agg(self, *aggregates: Aggregate, **named: Any) -> Relation:
        """The groups of `garuda.GroupBy.agg` as a relation."""
        return _relation(self._groups.agg(*aggregates, **named), self._connection)

    def explain(self, *aggregates: Aggregate, **named: Aggregate) -> Plan:
        """The plan that `agg` would run; the relation runs, the group-by does not."""
        return self._groups.explain(*aggregates, **named)


def group_by(
    data: Data,
    keys: Names = (),
    *,
    connection: AnyConnection = None,
    engine: Engine = default_engine,
    **options: Any,
) -> RelationGroupBy:
    """`garuda.group_by` of a relation, or whatever `garuda.table` takes. The relation runs once, now."""
    _require(connection, engine)
    return RelationGroupBy(engine.group_by(table_of("data", data), keys, **options), connection)


class Decision(NamedTuple):
    """Who ran a statement's join and group-by, and why.

    Attributes:
        engine: "garuda" or "duckdb".
        reason: in words.
    """

    engine: str
    reason: str

    def __str__(self) -> str:
        return f"{self.engine}: {self.reason}"


_NEITHER = Decision("duckdb", "neither a join nor a group-by")
_NOT_LOOKED_AT = Decision("duckdb", "not looked at, which has taken its share of the time")
_WITH_PARAMETERS = Decision("duckdb", "a statement with parameters")
# A name that no table has, under which statements read rows that garuda made.
_ROWS = f"{RESERVED}{secrets.token_hex(8)}"
# Methods of a DuckDB connection that return it.
_RETURN_IT = {"append", "begin", "checkpoint", "commit", "create_function", "register", "remove_function", "rollback", "unregister"}
_EXPLAIN = re.compile(r"\s*explain\s+(?=(select|from|with)\b)", re.IGNORECASE)
_SELECT = re.compile(r"\s*(select|from|with)\b.*\b(join|group\s+by)\b", re.IGNORECASE | re.DOTALL)
# Rows of the smaller table of a join, or of the one that is grouped, from which on handing over pays. Two cores, DuckDB
# 2.0's own tables of bigint and double, least of 4, DuckDB's time over garuda's: joins of 0.3, 1 and 3 M rows a side with
# a sum 0.4, 1.0, 2.2; group-bys of 0.3, 1 and 3 M rows in two thirds as many groups 1.0, 1.8 to 4.4, 2.0 to 3.5; of
# whatever many rows with 1 000 of them 0.1 to 0.3.
_JOIN_ROWS = 2_000_000
_GROUP_ROWS = 1_000_000
# Columns of strings that a join may hand over: of two tables of 10 M rows, handed over and back with numbers, none 1.8,
# one 1.1, six 0.9 (medians of 6 to 25 pairs; one that is counted only, 1.5).
_JOIN_STRINGS = 1
# Threads of DuckDB, up to which handing over pays: its joins and group-bys become quicker with more, but not handing its
# rows over as Arrow, which with 16 costs what garuda wins.
_MOST_THREADS = 8
_SAMPLES = (5_000, 200_000)  # rows, of which so many have to be groups:
_DISTINCT = 0.6


class Connection:
    """A DuckDB connection, whose SELECT statements run through garuda where that pays.

    That is the inner or left join, by equal columns, of two tables that FROM names, and the GROUP BY of columns over
    such a join or one table, with count, sum, avg, min and max of columns. DuckDB reads and filters the tables, garuda
    joins and groups, DuckDB does the rest: expressions, HAVING, ORDER BY, LIMIT. Names and types are DuckDB's own. A
    statement is handed over only where DuckDB's catalog and binder prove that its functions, types and collations mean
    the same in garuda; all else runs as it is. Every method and attribute of a DuckDB connection is there.

    That goes for `execute`; a relation of `sql` runs when it is read, by DuckDB. Both find DataFrames among the variables
    of the function that calls them. `decision` says who ran the last statement, and why; EXPLAIN has it as a row;
    `connection` is the one of DuckDB. Sums of floats are exact; order is what ORDER BY says. With prices, looking at
    statements takes a fiftieth of the time that they run, at most: where many are small, some are not looked at. Raises
    UsageError when `strict` and garuda cannot run a SELECT statement that joins or groups.
    """

    def __init__(
        self,
        connection: duckdb.DuckDBPyConnection,
        engine: Engine,
        prices: bool,
        strict: bool,
        allowance: Optional[Allowance] = None,
    ) -> None:
        self.connection = connection
        self._engine = engine
        self._prices = prices and not strict
        self._strict = strict
        self._allowance = allowance or Allowance(0.03)
        self.decision = Decision("duckdb", "no statement yet")

    def __getattr__(self, name: str) -> Any:
        method = getattr(self.connection, name)
        if name not in _RETURN_IT:
            return method

        @functools.wraps(method)
        def run(*arguments: Any, **options: Any) -> Connection:
            method(*arguments, **options)
            return self

        return run

    def __enter__(self) -> Connection:
        return self

    def __exit__(self, *_: object) -> None:
        self.connection.close()

    def cursor(self) -> Connection:
        """Opens another connection to the database, as DuckDB's does; its statements go through garuda, too."""
        return Connection(self.connection.cursor(), self._engine, self._prices, self._strict, self._allowance)

    duplicate = cursor

    def execute(self, query: Any, parameters: Any = None, **options: Any) -> Connection:
        """Runs a statement as DuckDB's does, through garuda where that pays."""
        caller = Caller(self.connection, sys._getframe(1))
        if parameters is None and isinstance(query, str):
            if self._through(caller, query):
                return self
        else:
            self.decision = _WITH_PARAMETERS
        start = time.perf_counter()
        caller.execute(query, parameters, **options)
        self._allowance.earn(time.perf_counter() - start)
        return self

    def executemany(self, query: Any, parameters: Any = None) -> Connection:
        """Has DuckDB run the statement."""
        self.decision = _WITH_PARAMETERS
        Caller(self.connection, sys._getframe(1)).run(self.connection.executemany, query, parameters)
        return self

    def sql(self, query: Any, **options: Any) -> Any:
        """Has DuckDB make the relation: what a relation reads has to be there for as long as it lives."""
        self.decision = Decision("duckdb", "a relation, which runs when it is read")
        return Caller(self.connection, sys._getframe(1)).run(self.connection.sql, query, **options)

    query = sql

    def _through(self, caller: Caller, query: str) -> bool:
        """Whether the connection has the statement's result, by garuda or as an explanation."""
        self.decision = _NEITHER
        lowered = query.lower()  # a fiftieth of what the patterns take
        if "join" not in lowered and "group" not in lowered:
            return False
        explained = _EXPLAIN.match(query)
        if _SELECT.match(query, explained.end() if explained else 0) is None:
            return False
        if self._prices and explained is None and self._allowance.is_spent:
            self.decision = _NOT_LOOKED_AT
            return False
        start = time.perf_counter()
        done = self._looked_at(caller, query, explained)
        if self.decision.engine == "duckdb":
            self._allowance.spend(time.perf_counter() - start)
        return done

    def _looked_at(self, caller: Caller, query: str, explained: Optional[re.Match[str]]) -> bool:
        left: Optional[str] = None
        try:
            if self._prices:
                self._require_large(caller, query)
            statement = trees.Statement(caller, query[explained.end() if explained else 0 :])
            if not statement.keys and not statement.node["group_expressions"]:
                return False
            left = self._run(caller, statement, runs=explained is None)
        except (Unsupported, Error, duckdb.Error) as reason:
            if isinstance(reason, CancelledError):
                raise
            self.decision = Decision("duckdb", str(reason).splitlines()[0])
            if not isinstance(reason, duckdb.Error):  # which DuckDB is to say itself
                fall_back("duckdb SELECT", str(reason), self._strict)
        if explained:
            self._explain(caller, query)
            return True
        return left is not None and self._finish(caller, left)

    def _explain(self, caller: Caller, query: str) -> None:
        rows = caller.execute(query).fetchall() + [("garuda", str(self.decision))]
        caller.give(_ROWS, pyarrow.table({"explain_key": [r[0] for r in rows], "explain_value": [r[1] for r in rows]}))
        caller.execute(f"from {_ROWS}")

    def _finish(self, caller: Caller, left: str) -> bool:
        """Whether DuckDB's part of a statement gave its result. An error is one of the statement's own expressions, which
        DuckDB is to say itself; in a transaction, which the error ended, it cannot."""
        try:
            caller.execute(left)
        except duckdb.Error as error:
            if caller.shares_transaction:
                raise
            self.decision = Decision("duckdb", str(error).splitlines()[0])
            return False
        return True

    def _run(self, caller: Caller, statement: trees.Statement, runs: bool) -> Optional[str]:
        """The statement that is left for DuckDB when garuda has done its part."""
        if not caller.value("select current_setting('python_enable_replacements')"):
            raise Unsupported("python_enable_replacements is off, by which DuckDB finds the rows")
        work = Work(statement)
        reason = "whatever it costs"
        if self._prices:
            reason = self._priced(caller, work)
        decision = Decision("garuda", f"{work.title}, {reason}")
        if not runs:
            self.decision = decision
            return None
        inputs = self._inputs(caller, work)
        caller.give(_ROWS, work.made(self._engine, inputs).to_arrow())
        left = work.rest(_ROWS)
        if caller.described(left) != work.described:
            raise Unsupported("names or types would not be DuckDB's")
        self.decision = decision
        return left

    def _inputs(self, caller: Caller, work: Work) -> list[pyarrow.Table]:
        """The tables' rows, in one state of the database."""
        if caller.shares_transaction:
            if work.is_filtered:
                raise Unsupported("a filter in a transaction, which an error would end that DuckDB might not meet")
            return [caller.rows(query) for query in work.inputs]
        self.connection.execute("begin transaction")
        try:
            inputs = [caller.rows(query) for query in work.inputs]
        except BaseException:
            self.connection.execute("rollback")
            raise
        self.connection.execute("commit")
        return inputs

    def _require_large(self, caller: Caller, query: str) -> None:
        """Raises Unsupported where DuckDB knows a table to be small, or has many threads, before the statement is
        taken apart."""
        names = {name.lower() for name in self.connection.get_table_names(query)}
        sizes = self.connection.execute("select table_name, estimated_size from duckdb_tables()").fetchall()
        rows = min((size for name, size in sizes if name.lower() in names), default=_GROUP_ROWS)
        if rows < _GROUP_ROWS:
            raise Unsupported(f"{rows:,} rows, with which DuckDB is done before they are handed over")
        if (threads := caller.count("select current_setting('threads')")) > _MOST_THREADS:
            raise Unsupported(f"{threads} threads, with which DuckDB is done before its rows are handed over")

    def _priced(self, caller: Caller, work: Work) -> str:
        """Why it pays; raises Unsupported when it does not."""
        if work.statement.keys and (strings := work.num_strings()) > _JOIN_STRINGS:
            raise Unsupported(f"{strings} columns of strings, which take longer to hand over than DuckDB to join")
        self._require_many(caller, work, work.whole_tables)  # known without reading them
        if not work.statement.keys:
            keys = ", ".join(work.key_names)
            for sample in _SAMPLES:  # the first rows: sampling all would read all
                some = f"select {keys} from ({work.inputs[0]}) limit {sample}"
                if caller.count(f"select count(*) from (select distinct {keys} from ({some}))") < sample * _DISTINCT:
                    raise Unsupported("few groups, into which DuckDB brings rows as it reads them")
        return f"{self._require_many(caller, work, work.inputs)} rows, with which DuckDB is slower"

    def _require_many(self, caller: Caller, work: Work, queries: list[str]) -> str:
        """How many rows the queries have; raises Unsupported where they are too few."""
        counts = [caller.count(f"select count(*) from ({query})") for query in queries]
        shown = " and ".join(f"{count:,}" for count in counts)
        if min(counts) < (_JOIN_ROWS if work.statement.keys else _GROUP_ROWS):
            raise Unsupported(f"{shown} rows, with which DuckDB is done before they are handed over")
        return shown


def connect(
    database: Any = ":memory:", *, engine: Engine = default_engine, prices: bool = True, strict: bool = False, **options: Any
) -> Connection:
    """`duckdb.connect`, as a `Connection` whose joins and group-bys go through garuda.

    Args:
        database: a path, or a connection of DuckDB that is used as it is.
        prices: False: all that garuda can run, whatever it costs.
        strict: likewise, and UsageError for statements that join or group and that it cannot run.
        options: those of `duckdb.connect`.
    """
    require("engine", engine, Engine, "a garuda.Engine")
    require_flags(prices=prices, strict=strict)
    if isinstance(database, Connection):
        database = database.connection
    given = isinstance(database, duckdb.DuckDBPyConnection)
    return Connection(database if given else duckdb.connect(database, **options), engine, prices, strict)
