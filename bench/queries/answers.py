"""Whether an answer to a query in SQL is right: one of those that SQL allows over the tables that DuckDB holds.

ORDER BY leaves the order of rows with equal keys open, and LIMIT which of them are given. So rows are compared within
runs of equal keys: the answer's rows at the positions of a run must be among DuckDB's rows of that run.
"""

from __future__ import annotations

import dataclasses
import decimal
import math
import re
from typing import Any

import duckdb
import pyarrow as pa

_TOKEN = re.compile(r"'(?:[^']|'')*'|\"[^\"]*\"|[()]|\w+|,")
_PLAIN_NAME = re.compile(r"[A-Za-z_]\w*")
_KEYWORDS = ("from", "order", "limit", "offset")


@dataclasses.dataclass(frozen=True)
class Statement:
    """A query without what orders and cuts its rows: the text up to the first FROM, the text from there on, the keys of
    ORDER BY, LIMIT (None: all rows) and OFFSET."""

    columns: str
    source: str
    keys: list[str]
    limit: int | None
    offset: int


def parse(query: str) -> Statement:
    """Takes a query apart that has one SELECT outside parentheses."""
    places: dict[str, int] = {}
    depth, commas = 0, []
    for token in _TOKEN.finditer(query):
        text = token.group().lower()
        depth += (text == "(") - (text == ")")
        if depth == 0 and text in _KEYWORDS:
            places.setdefault(text, token.start())
        if depth == 0 and text == "," and "order" in places:
            commas.append(token.start())
    end = min(places.get(word, len(query)) for word in ("limit", "offset"))
    begin = places.get("order", end)
    cuts = [begin + len("order by"), *(comma for comma in commas if comma < end), end]
    keys = [query[a:b].strip(" ,\n") for a, b in zip(cuts, cuts[1:])] if "order" in places else []
    numbers = {word: int(query[places[word] :].split()[1]) for word in ("limit", "offset") if word in places}
    columns, source = query[: places["from"]], query[places["from"] : begin]
    return Statement(columns, source, keys, numbers.get("limit"), numbers.get("offset", 0))


def are_close(found: Any, expected: Any, kind: pa.DataType) -> bool:
    """Floats to 1e-9; decimals to one unit of garuda's last place where DuckDB has a float, in averages and quotients,
    or another scale; all else exactly. DuckDB's NaN may be null: it is a correlation where a column does not vary."""
    if found is None and isinstance(expected, float):
        return math.isnan(expected)
    if found is None or expected is None:
        return found is expected
    if pa.types.is_decimal(kind) and isinstance(expected, float):
        return abs(float(found) - expected) <= 10.0**-kind.scale + 1e-9 * abs(expected)
    if isinstance(found, float) or isinstance(expected, float):
        both_nan = math.isnan(found) and math.isnan(expected)
        return both_nan or math.isclose(found, expected, rel_tol=1e-9, abs_tol=1e-12)
    if isinstance(found, decimal.Decimal) or isinstance(expected, decimal.Decimal):
        return decimal.Decimal(found) == decimal.Decimal(expected)
    return bool(found == expected)


def is_rounded(kind: pa.DataType) -> bool:
    return pa.types.is_floating(kind) or pa.types.is_decimal(kind)


def match(left: pa.Table, candidates: pa.Table, types: list[pa.DataType]) -> str | None:
    """Finds another of the candidates for each row that has no equal one; says for which there is none. The first
    column is the run."""
    rounded = [i for i, kind in enumerate(types, 1) if is_rounded(kind)]
    exact = [i for i in range(left.num_columns) if i not in rounded]
    by_exact: dict[tuple[Any, ...], list[tuple[Any, ...]]] = {}
    for row in zip(*(column.to_pylist() for column in candidates.columns)):
        by_exact.setdefault(tuple(row[i] for i in exact), []).append(row)
    for row in zip(*(column.to_pylist() for column in left.columns)):
        alike = by_exact.get(tuple(row[i] for i in exact), [])
        found = next((o for o in alike if all(are_close(row[i], o[i], types[i - 1]) for i in rounded)), None)
        if found is None:
            return f"the row {row[1:]}, in place of {alike[0][1:] if alike else 'other rows'}"
        alike.remove(found)
    return None


def difference(database: duckdb.DuckDBPyConnection, query: str, found: pa.Table) -> str | None:
    """Says how `found` is no answer to the query over the tables of the database; None: it is one."""
    statement = parse(query)
    keys = [re.sub(r"\s+(asc|desc)$", "", key, flags=re.IGNORECASE) for key in statement.keys]
    directions = [key[len(bare) :] for key, bare in zip(statement.keys, keys)]
    more = "".join(f', {key} as "key {i}"' for i, key in enumerate(keys))
    database.execute(f"create or replace temp table answer as {statement.columns}{more} {statement.source}")
    names = [row[0] for row in database.execute("describe answer").fetchall()][: -len(keys) or None]
    order = ", ".join(f'"key {i}"{direction}' for i, direction in enumerate(directions)) or "1"
    if len(names) != found.num_columns:
        return f"{found.num_columns} columns, not {len(names)}"
    for name, own in zip(names, found.column_names):
        if _PLAIN_NAME.fullmatch(name) and name != own:
            return f"a column {own}, not {name}"
    columns = [f"c{i}" for i in range(len(names))]
    listed = ", ".join(columns)
    key_columns = "".join(f', "key {i}"' for i in range(len(keys)))
    database.execute(
        f"create or replace temp table expected as select rank() over (order by {order}) as run, {listed} from"
        f" (select * from answer) as t({listed}{key_columns})"
    )
    [(rows,)] = database.execute("select count(*) from expected").fetchall()
    wanted = max(rows - statement.offset, 0)
    wanted = wanted if statement.limit is None else min(wanted, statement.limit)
    if found.num_rows != wanted:
        return f"{found.num_rows} rows, not {wanted}"
    return rows_difference(database, found.rename_columns(columns), statement.offset)


def rows_difference(database: duckdb.DuckDBPyConnection, found: pa.Table, offset: int) -> str | None:
    """Compares the answer's rows with those of `expected`, whose runs follow each other."""
    listed = ", ".join(found.column_names)
    place = pa.array(range(offset + 1, offset + 1 + found.num_rows), pa.int64())
    database.register("found_rows", found.append_column("place", place))
    # A run is numbered by the position of its first row.
    database.execute(
        f"create or replace temp table found as select run, {listed} from found_rows"
        " asof join (select distinct run from expected) as runs on place >= run"
    )
    left = database.sql("from found except all from expected").to_arrow_table()
    if left.num_rows == 0:
        return None
    candidates = database.sql("from expected except all from found").to_arrow_table()
    return match(left, candidates, found.schema.types)


def bits(table: pa.Table, in_order: bool) -> pa.Table:
    """The rows in a form that is equal only where every bit is: floats as integers, strings in one layout, in their
    order or sorted."""
    names = [f"c{i}" for i in range(table.num_columns)]
    integers = {pa.float32(): pa.int32(), pa.float64(): pa.int64()}
    columns = []
    for column in table.columns:
        values = column.combine_chunks()
        if values.type in integers:
            values = values.view(integers[values.type])
        elif pa.types.is_string_view(values.type) or pa.types.is_large_string(values.type):
            values = values.cast(pa.string())
        columns.append(values)
    whole = pa.table(columns, names)
    return whole if in_order else whole.sort_by([(name, "ascending") for name in names])
