"""SQL statements of DuckDB, as its own parser gives them: which of their joins and group-bys garuda does, and what is left
for DuckDB when these are done."""

from __future__ import annotations

import copy
import json
from typing import Any, Callable, Iterable, Iterator, NamedTuple, Optional

from . import _duckdb_proof as proof
from ._duckdb_caller import RESERVED, Caller
from ._duckdb_proof import AGGREGATES
from .patches import Unsupported

Tree = Any  # of json_serialize_sql: dictionaries and lists
_KINDS = {"INNER": "inner", "LEFT": "left"}
INTEGERS = {"TINYINT", "SMALLINT", "INTEGER", "BIGINT", "UTINYINT", "USMALLINT", "UINTEGER", "UBIGINT"}
_KEYS = INTEGERS | {"VARCHAR", "DATE", "BOOLEAN", "TIMESTAMP"}
_SUMMED = INTEGERS | {"DOUBLE", "FLOAT"}
_COMPARED = INTEGERS | {"DOUBLE", "FLOAT", "VARCHAR", "DATE", "TIMESTAMP"}
HANDED = _KEYS | {"DOUBLE", "FLOAT"}  #: types that come back as they went
_LEFT_OUT = {"SUBQUERY": "a subquery", "WINDOW": "a window function", "PARAMETER": "a parameter", "LAMBDA": "a lambda",
             "LAMBDA_REF": "a lambda", "POSITIONAL_REFERENCE": "a column by its number"}  # fmt: skip


class Side(NamedTuple):
    """A table of FROM."""

    tree: Tree
    name: str  #: its alias
    columns: dict[str, str]  #: by lower case: as they are written
    types: dict[str, str]


def parsed(caller: Caller, query: str) -> Tree:
    """The SELECT statement. Raises Unsupported."""
    tree = json.loads(caller.value("select json_serialize_sql(?)", [query]))
    if tree.get("error"):
        raise Unsupported("no SELECT statement")
    if len(tree["statements"]) != 1:
        raise Unsupported("several statements")
    node = tree["statements"][0]["node"]
    if node["type"] != "SELECT_NODE" or tree["statements"][0].get("named_param_map"):
        raise Unsupported("a set operation, or parameters")
    if node["cte_map"]["map"] or node["sample"] or node["qualify"]:
        raise Unsupported("WITH, SAMPLE or QUALIFY")
    for part in _walk(node):
        if part.get("class") in _LEFT_OUT:
            raise Unsupported(_LEFT_OUT[part["class"]])
    return tree


def statement_of(node: Tree) -> Tree:
    return {"error": False, "statements": [{"node": node, "named_param_map": []}]}


def text_of(caller: Caller, tree: Tree) -> str:
    return str(caller.value("select json_deserialize_sql(?::json)", [json.dumps(tree)]))


def handed_name(side: int, place: int) -> str:
    """The name of a table's column in rows that are handed over."""
    return f"{RESERVED}{'lr'[side]}{place}"


def _walk(tree: Tree) -> Iterator[dict[str, Any]]:
    if isinstance(tree, dict):
        yield tree
        tree = list(tree.values())
    if isinstance(tree, list):
        for part in tree:
            yield from _walk(part)


def replaced(tree: Tree, replace: Callable[[dict[str, Any]], Optional[Tree]]) -> Tree:
    """A copy, in which each part that `replace` gives something for is that."""
    if isinstance(tree, list):
        return [replaced(part, replace) for part in tree]
    if not isinstance(tree, dict):
        return tree
    instead = replace(tree)
    return {key: replaced(part, replace) for key, part in tree.items()} if instead is None else instead


def column_ref(names: list[str], alias: str = "") -> Tree:
    return {"class": "COLUMN_REF", "type": "COLUMN_REF", "alias": alias, "query_location": 0, "query_location_length": 0,
            "column_names": names}  # fmt: skip


def renamed(base_table: Tree, name: str) -> Tree:
    return {**base_table, "alias": "", "table_name": name, "schema_name": "", "catalog_name": "",
            "qualified_name": {"path": [name]}}  # fmt: skip


def _is_column(tree: Tree) -> bool:
    return isinstance(tree, dict) and tree.get("class") == "COLUMN_REF"


def _built_in(tree: dict[str, Any]) -> Optional[Tree]:
    """An aggregate by its full name, which no macro of the user has."""
    if tree.get("class") != "FUNCTION" or tree["function_name"].lower() not in AGGREGATES or tree["schema"]:
        return None
    path = {"catalog": "system", "schema": "main", "qualified_name": {"path": ["system", "main", tree["function_name"]]}}
    return {**tree, **path}


def conjuncts(tree: Optional[Tree]) -> list[Tree]:
    if tree is None:
        return []
    if tree["type"] == "CONJUNCTION_AND" and not tree["alias"]:
        return [part for child in tree["children"] for part in conjuncts(child)]
    return [tree]


def all_of(parts: list[Tree]) -> Optional[Tree]:
    if len(parts) < 2:
        return parts[0] if parts else None
    return {"class": "CONJUNCTION", "type": "CONJUNCTION_AND", "alias": "", "query_location": 0, "query_location_length": 0,
            "children": parts}  # fmt: skip


class Statement:
    """A SELECT of one table, or of two that are joined.

    Attributes:
        sides: the tables.
        keys: pairs of columns that a join is by.
        kind: of the join, as garuda calls it.
    """

    def __init__(self, caller: Caller, query: str) -> None:
        self.caller = caller
        self.query = query
        self.tree = parsed(caller, query)
        self.node = self.tree["statements"][0]["node"]
        source = self.node["from_table"]
        self.sides: list[Side] = []
        self.keys: list[tuple[str, str]] = []
        self.kind = ""
        if source["type"] == "BASE_TABLE":
            self.sides = [self._side(source)]
        elif source["type"] == "JOIN":
            self._read_join(source)
        else:
            raise Unsupported(f"FROM of kind {source['type'].lower()}")
        self._require_plain_names()

    def _side(self, tree: Tree) -> Side:
        if tree["type"] != "BASE_TABLE" or tree["sample"] or tree["at_clause"] or tree["column_name_alias"]:
            raise Unsupported("FROM of more than two tables as they are")
        query = text_of(self.caller, statement_of(self._selected([], tree, None)))
        columns = self.caller.described(query)
        name = tree["alias"] or tree["table_name"]
        return Side(tree, name.lower(), {c.lower(): c for c, _ in columns}, {c.lower(): t for c, t in columns})

    def _selected(self, columns: list[str], source: Tree, where: Optional[Tree]) -> Tree:
        """SELECT columns, none: all, FROM source WHERE."""
        star = {"class": "STAR", "type": "STAR", "alias": "", "query_location": 0, "query_location_length": 0,
                "relation_name": "", "exclude_list": [], "replace_list": [], "columns": False, "expr": None,
                "unpacked": False, "qualified_exclude_list": [], "rename_list": []}  # fmt: skip
        listed = [column_ref([source["alias"] or source["table_name"], name]) for name in columns] or [star]
        return {**copy.deepcopy(self.node), "modifiers": [], "select_list": listed, "from_table": source,
                "where_clause": where, "group_expressions": [], "group_sets": [], "having": None}  # fmt: skip

    def _read_join(self, source: Tree) -> None:
        if source["ref_type"] != "REGULAR" or source["join_type"] not in _KINDS or source["using_columns"]:
            raise Unsupported("a join other than inner or left with ON")
        self.kind = _KINDS[source["join_type"]]
        self.sides = [self._side(source["left"]), self._side(source["right"])]
        if self.sides[0].name == self.sides[1].name:
            raise Unsupported("two tables of one name")
        for part in conjuncts(source["condition"]):
            if part["type"] != "COMPARE_EQUAL" or not (_is_column(part["left"]) and _is_column(part["right"])):
                raise Unsupported("a join by more than equal columns")
            pair = sorted((self.resolve(part["left"]["column_names"]), self.resolve(part["right"]["column_names"])))
            if [side for side, _ in pair] != [0, 1]:
                raise Unsupported("a join by columns of one table")
            types = [self.sides[side].types[name] for side, name in pair]
            if types[0] != types[1] or types[0] not in _KEYS:
                raise Unsupported(f"keys of types {types[0]} and {types[1]}")
            self.keys.append((pair[0][1], pair[1][1]))
        if not self.keys or len(set(self.keys)) < len(self.keys):
            raise Unsupported("a join without keys, or with one twice")

    def _require_plain_names(self) -> None:
        """No alias hides a column, so that a name is the same thing wherever it stands."""
        for item in self.node["select_list"]:
            name = item["alias"].lower()
            if name.startswith(RESERVED):
                raise Unsupported(f"an alias that begins with {RESERVED}")
            if name and any(name in side.columns for side in self.sides):
                if not _is_column(item) or item["column_names"][-1].lower() != name:
                    raise Unsupported(f"an alias that is a column, too: {name}")

    def resolve(self, names: list[str]) -> tuple[int, str]:
        """The table and the column, in lower case. Raises Unsupported for what is neither, or both."""
        *table, name = (part.lower() for part in names)
        if len(table) > 1:
            raise Unsupported(f"a column by more than its table: {'.'.join(names)}")
        found = [(i, name) for i, side in enumerate(self.sides)
                 if name in side.columns and (not table or table[0] == side.name)]  # fmt: skip
        if len(found) != 1:
            raise Unsupported(f"a name that is not one column: {'.'.join(names)}")
        return found[0]

    def sides_of(self, tree: Tree) -> set[int]:
        return {self.resolve(part["column_names"])[0] for part in _walk(tree) if _is_column(part)}

    def names_of_select(self) -> set[str]:
        return {item["alias"].lower() for item in self.node["select_list"] if item["alias"]}

    def columns_read(self, parts: list[Tree]) -> dict[tuple[int, str], None]:
        """Columns of the tables, by first use; names of SELECT's own columns are left to DuckDB."""
        read: dict[tuple[int, str], None] = {}
        for part in _walk(parts):
            if part.get("class") == "STAR":
                raise Unsupported("a star, whose columns are not named")
            if _is_column(part):
                names = part["column_names"]
                if len(names) == 1 and names[0].lower() in self.names_of_select() and not any(
                    names[0].lower() in side.columns for side in self.sides
                ):  # fmt: skip
                    continue
                read[self.resolve(names)] = None
        return read

    def input_query(self, side: int, columns: list[str], where: list[Tree]) -> str:
        named = [self.sides[side].columns[name] for name in columns]
        node = self._selected(named, self.sides[side].tree, all_of(where))
        for i, item in enumerate(node["select_list"]):
            item["alias"] = handed_name(side, i)
        return text_of(self.caller, statement_of(node))

    def group_keys(self) -> list[tuple[int, str]]:
        expressions = self.node["group_expressions"]
        if self.node["group_sets"] != [list(range(len(expressions)))] or self.node["aggregate_handling"] != "STANDARD_HANDLING":
            raise Unsupported("grouping sets, or GROUP BY ALL")
        if not all(map(_is_column, expressions)):
            raise Unsupported("computed groups")
        return [self.resolve(e["column_names"]) for e in expressions]

    def aggregate(self, tree: Tree) -> Optional[tuple[str, Optional[tuple[int, str]]]]:
        """The function as garuda calls it and its column, of an aggregate; None of anything else."""
        if tree.get("class") != "FUNCTION" or tree["is_operator"]:
            return None
        name = tree["function_name"].lower()
        arguments = [a.get("expression", a) for a in tree["arguments"]] if "arguments" in tree else tree["children"]
        if name not in AGGREGATES:
            return None
        if name == "count_star" or (name == "count" and not arguments):
            function: tuple[str, Optional[tuple[int, str]]] = ("count", None)
        elif len(arguments) == 1 and _is_column(arguments[0]):
            function = (AGGREGATES[name], self.resolve(arguments[0]["column_names"]))
        else:
            raise Unsupported(f"{name} of what is not a column")
        if tree["filter"] or tree["distinct"] or tree["order_bys"]["orders"] or tree["export_state"]:
            raise Unsupported(f"{name} with FILTER, DISTINCT or ORDER BY")
        if function[1] is not None:
            side, column = function[1]
            allowed = {"sum": _SUMMED, "mean": _SUMMED, "min": _COMPARED, "max": _COMPARED}.get(function[0])
            if allowed is not None and self.sides[side].types[column] not in allowed:
                raise Unsupported(f"{name} of {self.sides[side].types[column]}")
        return function

    def require_proof(
        self,
        columns: list[list[str]],
        is_filtered: bool,
        groups: Optional[list[tuple[int, str]]],
        aggregates: Iterable[tuple[str, Optional[tuple[int, str]]]],
    ) -> None:
        """Raises Unsupported unless DuckDB binds the statement as garuda understands it.

        Args:
            columns: of each table, the ones that are handed over.
            is_filtered: whether tables are filtered before they are.
            groups: keys of the groups that garuda makes; None where it only joins.
            aggregates: what it makes of the groups.
        """
        for side, names in enumerate(columns):
            strings = [name for name in names if self.sides[side].types[name] == "VARCHAR"]
            probed = [handed_name(side, i) for i in range(len(strings))]
            proof.require_no_collations(self.caller, probed, f"({self.input_query(side, strings, [])})" if strings else "")
        typed = [[name for name, of in side.types.items() if of in HANDED] for side in self.sides]
        plan = proof.plan_of(self.caller, self._over_stand_ins(self.node, typed))
        if is_filtered:
            proof.require_filters(self.caller, plan)

        def place(column: tuple[int, str]) -> int:
            return typed[column[0]].index(column[1]) + column[0] * len(typed[0])

        if self.keys:
            keys = {(typed[0].index(left), typed[1].index(right)) for left, right in self.keys}
            proof.require_join(plan, keys)
        if groups is not None:
            found = {(function, None if column is None else place(column)) for function, column in aggregates}
            proof.require_groups(plan, {place(column) for column in groups}, found)
            proof.require_equal(plan, proof.plan_of(self.caller, self._over_stand_ins(replaced(self.node, _built_in), typed)))

    def _over_stand_ins(self, node: Tree, typed: list[list[str]]) -> str:
        """The node over tables without rows, whose columns are the ones that can be handed over."""
        stand_ins, renamed_tables = [], []
        for i, (side, names) in enumerate(zip(self.sides, typed)):
            stand_ins.append(proof.stand_in(handed_name(i, 0), [(side.columns[name], side.types[name]) for name in names]))
            renamed_tables.append({**renamed(side.tree, handed_name(i, 0)), "alias": side.tree["alias"] or side.tree["table_name"]})
        source = renamed_tables[0]
        if self.keys:
            source = {**node["from_table"], "left": renamed_tables[0], "right": renamed_tables[1]}
        return f"with {', '.join(stand_ins)} {text_of(self.caller, statement_of({**node, 'from_table': source}))}"
