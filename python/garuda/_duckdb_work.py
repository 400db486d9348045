"""Divides a statement of DuckDB into garuda's part and DuckDB's."""

from __future__ import annotations

from typing import Any, Optional

import pyarrow

from . import _duckdb_proof as proof
from . import _duckdb_sql as trees
from ._duckdb_caller import RESERVED
from .engine import Engine
from .patches import Unsupported
from .table import Data, Table, table_of


class Work:
    """Garuda's part of a statement.

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
        self.described = statement.caller.described(statement.query)
        self._outside = trees.replaced(outside, self._named if self.groups is None else self._grouped)
        self.is_filtered = any(before)
        statement.require_proof(self.columns, self.is_filtered, self.groups, self.aggregates.values())
        keys = ", ".join(name for _, name in self.groups or [])
        parts = [f"{statement.kind} join" if statement.keys else "", f"group-by {keys}" if self.groups else ""]
        self.title = " and ".join(part for part in parts if part)
        self.key_names = [self._name(column) for column in self.groups or []]
        self._require_rest()

    def num_strings(self) -> int:
        """Columns of strings that go from DuckDB to garuda."""
        return sum(self.statement.sides[side].types[name] == "VARCHAR"
                   for side, names in enumerate(self.columns) for name in names)  # fmt: skip

    def _any(self, side: int) -> list[str]:
        return [next(iter(self.statement.sides[side].columns))]

    @staticmethod
    def _split_where(statement: trees.Statement) -> tuple[list[list[trees.Tree]], list[trees.Tree]]:
        """Filters of each table before the join, and the filter that has to wait for it."""
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
            name = name or f"{RESERVED}a{len(self.aggregates)}"
            self.aggregates[name] = aggregate
            return trees.column_ref([name], tree["alias"])
        named = self._named(tree)
        if named is not None and named is not tree:
            if self.statement.resolve(tree["column_names"]) not in (self.groups or []):
                raise Unsupported(f"a column that is neither a key nor aggregated: {tree['column_names'][-1]}")
        return named

    def _require_rest(self) -> None:
        """Raises Unsupported when the rest is an error, or when groups are made in it that garuda has made."""
        types = {self._name((side, name)): self.statement.sides[side].types[name]
                 for side, names in enumerate(self.columns) for name in names}  # fmt: skip
        if self.groups is None:
            made = list(types.items())
        else:
            of = {name: "BIGINT" if function == "count" else "DOUBLE" if function == "mean" or column is None
                  else types[self._name(column)] for name, (function, column) in self.aggregates.items()}  # fmt: skip
            made = [*((name, types[name]) for name in dict.fromkeys(self.key_names)), *of.items()]
        rest = self.rest("garuda_made").split(" ", 1)[1]
        query = f"with {proof.stand_in('garuda_made', made)}, {rest}"
        plan = proof.plan_of(self.statement.caller, query)
        if self.groups is not None:
            proof.require_row_by_row(plan)

    def made(self, engine: Engine, inputs: list[pyarrow.Table]) -> Table:
        rows: Data = inputs[0]
        floats = {self._name(column) for column in self.groups or []}
        floats |= {self._name(column) for function, column in self.aggregates.values() if column and function in ("min", "max")}
        proof.require_no_negative_zeros(table[name] for table in inputs for name in table.column_names if name in floats)
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
        """The statement that DuckDB runs on the rows in `source`."""
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
        text = trees.text_of(self.statement.caller, trees.statement_of(node))
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
