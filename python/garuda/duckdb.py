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

import re
import time
from typing import Any, NamedTuple, Optional, Union

import duckdb
import pyarrow

from . import _duckdb_sql as trees
from ._allowance import Allowance
from ._arguments import Aggregate, Names, require, require_flags, wrong
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
        """As `garuda.GroupBy.agg`, as a relation."""
        return _relation(self._groups.agg(*aggregates, **named), self._connection)

    def explain(self, *aggregates: Aggregate, **named: Aggregate) -> Plan:
        """What `agg` would do; the relation runs, the group-by does not."""
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
    """What ran a statement's join and group-by, and why.

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
_PREFIX = "garuda_rows_"
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
    joins and groups, DuckDB does the rest: expressions, HAVING, ORDER BY, LIMIT. Names and types are DuckDB's own. All
    else runs as it is. Every method and attribute of a DuckDB connection is there.

    That goes for `execute`; a relation of `sql` runs when it is read, by DuckDB. `decision` says who ran the last
    statement, and why; EXPLAIN has it as a row; `connection` is the one of DuckDB. Sums of floats are exact; order is
    what ORDER BY says. With prices, looking at statements takes a fiftieth of the time that they run, at most: where
    many are small, some are not looked at. Raises UsageError when `strict` and garuda cannot run a SELECT statement that
    joins or groups.
    """

    def __init__(self, connection: duckdb.DuckDBPyConnection, engine: Engine, prices: bool, strict: bool) -> None:
        self.connection = connection
        self._engine = engine
        self._prices = prices and not strict
        self._strict = strict
        self._registered: list[str] = []
        self._numbered = 0
        self._allowance = Allowance(0.03)
        self.decision = Decision("duckdb", "no statement yet")

    def __getattr__(self, name: str) -> Any:
        return getattr(self.connection, name)

    def __enter__(self) -> Connection:
        return self

    def __exit__(self, *_: object) -> None:
        self.connection.close()

    def execute(self, query: Any, parameters: Any = None, **options: Any) -> Any:
        """As DuckDB's, through garuda where that pays."""
        if parameters is None and isinstance(query, str):
            left = self._through(query)
        else:
            self.decision, left = _WITH_PARAMETERS, None
        if left is not None:
            return self.connection.execute(left)
        start = time.perf_counter()
        result = self.connection.execute(query, parameters, **options)
        self._allowance.earn(time.perf_counter() - start)
        return result

    def sql(self, query: Any, **options: Any) -> Any:
        """As DuckDB's, by DuckDB: what a relation reads has to be there for as long as it lives."""
        self.decision = Decision("duckdb", "a relation, which runs when it is read")
        return self.connection.sql(query, **options)

    query = sql

    def _through(self, query: str) -> Optional[str]:
        """What is left for DuckDB when garuda has done its part; None: all."""
        self.decision = _NEITHER
        lowered = query.lower()  # a fiftieth of what the patterns take
        if "join" not in lowered and "group" not in lowered:
            return None
        explained = _EXPLAIN.match(query)
        if _SELECT.match(query, explained.end() if explained else 0) is None:
            return None
        if self._prices and explained is None and self._allowance.is_spent:
            self.decision = _NOT_LOOKED_AT
            return None
        start = time.perf_counter()
        left = self._looked_at(query, explained)
        if self.decision.engine == "duckdb":
            self._allowance.spend(time.perf_counter() - start)
        return left

    def _looked_at(self, query: str, explained: Optional[re.Match[str]]) -> Optional[str]:
        if self._registered:
            self.connection.execute("select 1").fetchall()  # ends a result that is half read, as the statement would
        for name in self._registered:
            self.connection.unregister(name)
        self._registered = []
        try:
            if self._prices:
                self._require_large(query)
            statement = trees.Statement(self.connection, query[explained.end() if explained else 0 :])
            if not statement.keys and not statement.node["group_expressions"]:
                return None
            left = self._run(statement, runs=explained is None)
        except (Unsupported, Error, duckdb.Error) as reason:
            if isinstance(reason, CancelledError):
                raise
            self.decision = Decision("duckdb", str(reason).splitlines()[0])
            if not isinstance(reason, duckdb.Error):  # which DuckDB is to say itself
                fall_back("duckdb SELECT", str(reason), self._strict)
            left = None
        return self._explanation(query) if explained else left

    def _explanation(self, query: str) -> str:
        rows = self.connection.execute(query).fetchall() + [("garuda", str(self.decision))]
        shown = pyarrow.table({"explain_key": [r[0] for r in rows], "explain_value": [r[1] for r in rows]})
        return f"from {self._register(shown)}"

    def _register(self, rows: Any) -> str:
        self._numbered += 1
        name = f"{_PREFIX}{self._numbered}"
        self.connection.register(name, rows)
        self._registered.append(name)
        return name

    def _run(self, statement: trees.Statement, runs: bool) -> str:
        work = _Work(statement)
        reason = "whatever it costs"
        if self._prices:
            reason = self._priced(work)
        if not runs:
            self.decision = Decision("garuda", f"{work.title}, {reason}")
            return ""
        begins = not self._is_in_transaction()
        if begins:
            self.connection.execute("begin transaction")  # one state of the tables for both inputs
        try:
            inputs = [self.connection.sql(query).to_arrow_table() for query in work.inputs]
        except BaseException:
            if begins:
                self.connection.execute("rollback")
            raise
        if begins:
            self.connection.execute("commit")
        made = work.made(self._engine, inputs)
        left = work.rest(self._register(made.to_arrow()))
        if trees.described(self.connection, left) != work.described:
            raise Unsupported("names or types would not be DuckDB's")
        self.decision = Decision("garuda", f"{work.title}, {reason}")
        return left

    def _is_in_transaction(self) -> bool:
        """Whether two statements share one; trying to begin another would end it."""
        return self._count("select txid_current()") == self._count("select txid_current()")

    def _require_large(self, query: str) -> None:
        """Raises Unsupported where DuckDB knows a table to be small, or has many threads, before the statement is
        taken apart."""
        names = {name.lower() for name in self.connection.get_table_names(query)}
        sizes = self.connection.execute("select table_name, estimated_size from duckdb_tables()").fetchall()
        rows = min((size for name, size in sizes if name.lower() in names), default=_GROUP_ROWS)
        if rows < _GROUP_ROWS:
            raise Unsupported(f"{rows:,} rows, with which DuckDB is done before they are handed over")
        if (threads := self._count("select current_setting('threads')")) > _MOST_THREADS:
            raise Unsupported(f"{threads} threads, with which DuckDB is done before its rows are handed over")

    def _priced(self, work: _Work) -> str:
        """Why it pays; raises Unsupported when it does not."""
        if work.statement.keys and (strings := work.num_strings()) > _JOIN_STRINGS:
            raise Unsupported(f"{strings} columns of strings, which take longer to hand over than DuckDB to join")
        self._require_many(work, work.whole_tables)  # known without reading them
        if not work.statement.keys:
            keys = ", ".join(work.key_names)
            for sample in _SAMPLES:  # the first rows: sampling all would read all
                some = f"select {keys} from ({work.inputs[0]}) limit {sample}"
                if self._count(f"select count(*) from (select distinct {keys} from ({some}))") < sample * _DISTINCT:
                    raise Unsupported("few groups, into which DuckDB brings rows as it reads them")
        return f"{self._require_many(work, work.inputs)} rows, with which DuckDB is slower"

    def _require_many(self, work: _Work, queries: list[str]) -> str:
        """How many rows the queries have; raises Unsupported where they are too few."""
        counts = [self._count(f"select count(*) from ({query})") for query in queries]
        shown = " and ".join(f"{count:,}" for count in counts)
        if min(counts) < (_JOIN_ROWS if work.statement.keys else _GROUP_ROWS):
            raise Unsupported(f"{shown} rows, with which DuckDB is done before they are handed over")
        return shown

    def _count(self, query: str) -> int:
        (count,) = self.connection.execute(query).fetchone() or (0,)
        return int(count)


class _Work:
    """What garuda does of a statement.

    Attributes:
        inputs: what DuckDB runs first: columns garuda_l0, garuda_l1, … and garuda_r0, … of the tables.
        described: names and types of the statement's columns.
    """

    def __init__(self, statement: trees.Statement) -> None:
        self.statement = statement
        node = statement.node
        before, after = self._split_where(statement)
        # A group-by follows when nothing is left to be filtered before it.
        self.groups = statement.group_keys() if node["group_expressions"] and not after else None
        if not statement.keys and self.groups is None:
            raise Unsupported("a group-by of computed columns")
        self._after = after
        outside = [node["select_list"], node["having"], node["modifiers"]]
        self.aggregates: dict[str, tuple[str, Optional[tuple[int, str]]]] = {}
        read = statement.columns_read([*outside, node["group_expressions"], after])
        for left, right in statement.keys:
            read |= {(0, left): None, (1, right): None}
        self.columns = [[name for at, name in read if at == side] for side in range(len(statement.sides))]
        for side, name in read:
            if statement.sides[side].types[name] not in trees.HANDED:
                raise Unsupported(f"a column of type {statement.sides[side].types[name]}: {name}")
        self.inputs = [statement.input_query(side, names or self._any(side), before[side])
                       for side, names in enumerate(self.columns)]  # fmt: skip
        self.whole_tables = [statement.input_query(side, self._any(side), []) for side in range(len(self.columns))]
        self.described = trees.described(statement.connection, statement.query)
        self._outside = trees.replaced(outside, self._named if self.groups is None else self._grouped)
        keys = ", ".join(name for _, name in self.groups or [])
        parts = [f"{statement.kind} join" if statement.keys else "", f"group-by {keys}" if self.groups else ""]
        self.title = " and ".join(part for part in parts if part)
        self.key_names = [self._name(column) for column in self.groups or []]

    def num_strings(self) -> int:
        """Columns of strings that go from DuckDB to garuda."""
        return sum(self.statement.sides[side].types[name] == "VARCHAR"
                   for side, names in enumerate(self.columns) for name in names)  # fmt: skip

    def _any(self, side: int) -> list[str]:
        return [next(iter(self.statement.sides[side].columns))]

    @staticmethod
    def _split_where(statement: trees.Statement) -> tuple[list[list[trees.Tree]], list[trees.Tree]]:
        """What each table can be filtered by first, and what has to wait for the join."""
        before: list[list[trees.Tree]] = [[], []]
        after: list[trees.Tree] = []
        for part in trees.conjuncts(statement.node["where_clause"]):
            sides = statement.sides_of(part)
            if len(sides) == 1 and (sides == {0} or statement.kind == "inner"):
                before[sides.pop()].append(part)
            else:
                after.append(part)
        return before, after

    def _name(self, column: tuple[int, str]) -> str:
        side, name = column
        return trees.handed_name(side, self.columns[side].index(name))

    def _named(self, tree: dict[str, Any]) -> Optional[trees.Tree]:
        """A column of a table as the joined rows have it."""
        if tree.get("class") != "COLUMN_REF":
            return None
        try:
            return trees.column_ref([self._name(self.statement.resolve(tree["column_names"]))], tree["alias"])
        except Unsupported:
            return tree  # a name that SELECT gives

    def _grouped(self, tree: dict[str, Any]) -> Optional[trees.Tree]:
        """A key or an aggregate as the groups have it."""
        aggregate = self.statement.aggregate(tree)
        if aggregate is not None:
            name = next((n for n, known in self.aggregates.items() if known == aggregate), "")
            name = name or f"{trees.RESERVED}a{len(self.aggregates)}"
            self.aggregates[name] = aggregate
            return trees.column_ref([name], tree["alias"])
        named = self._named(tree)
        if named is not None and named is not tree:
            if self.statement.resolve(tree["column_names"]) not in (self.groups or []):
                raise Unsupported(f"a column that is neither a key nor aggregated: {tree['column_names'][-1]}")
        return named

    def made(self, engine: Engine, inputs: list[pyarrow.Table]) -> Table:
        rows: Data = inputs[0]
        if self.statement.keys:
            pairs = [(self._name((0, left)), self._name((1, right))) for left, right in self.statement.keys]
            columns = [f"{'left' if side == 0 else 'right'}.{self._name((side, name))}"
                       for side, names in enumerate(self.columns) for name in names]  # fmt: skip
            rows = engine.join(rows, inputs[1], on=pairs, how=self.statement.kind, columns=columns)
        if self.groups is None:
            return table_of("rows", rows)
        specs: dict[str, Any] = {name: function if column is None else (self._name(column), function)
                                 for name, (function, column) in self.aggregates.items()}  # fmt: skip
        return engine.group_by(rows, self.key_names).agg(**specs)

    def rest(self, source: str) -> str:
        """What DuckDB does with the rows, which are in `source`."""
        select_list, having, modifiers = self._outside
        for item, (name, _) in zip(select_list, self.described):
            item["alias"] = name
        node = {**self.statement.node, "select_list": select_list, "modifiers": modifiers,
                "from_table": trees.renamed(self.statement.sides[0].tree, "garuda_rows")}  # fmt: skip
        if self.groups is None:
            after = trees.replaced(self._after, self._named)
            group = trees.replaced(self.statement.node["group_expressions"], self._named)
            node |= {"where_clause": trees.all_of(after), "group_expressions": group, "having": having}
        else:
            node |= {"where_clause": having, "group_expressions": [], "group_sets": [], "having": None}
        text = trees.text_of(self.statement.connection, trees.statement_of(node))
        casts = [self._cast(name) for name in self.key_names] if self.groups is not None else ["*"]
        casts += [self._cast(name) for name in self.aggregates]
        return f"with garuda_rows as (select {', '.join(dict.fromkeys(casts))} from {source}) {text}"

    def _cast(self, name: str) -> str:
        """An aggregate in the type that DuckDB's has."""
        function, column = self.aggregates.get(name, ("", None))
        if function == "sum" and column is not None:
            side, of = column
            wanted = "hugeint" if self.statement.sides[side].types[of] in trees.INTEGERS else "double"
            return f"cast({name} as {wanted}) as {name}"
        return name


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
