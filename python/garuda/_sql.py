"""Queries in SQL: their tables by name, and their plans to the engine."""

from __future__ import annotations

import glob
from types import FrameType
from typing import TYPE_CHECKING, Any, Mapping, NamedTuple, Optional, Union

from . import _arguments, _core, _sql_plan
from ._arguments import wrong
from .files import _FORMATS, Scan, read_scans
from .table import Data, StoredTable, Table, table_of

if TYPE_CHECKING:
    from .engine import Engine


def _files(name: str) -> Optional[Scan]:
    """The files of a pattern, in the order of their names; None: the name is none of files."""
    if not name.lower().endswith(tuple(_FORMATS)):
        return None
    paths = sorted(glob.glob(name))
    if not paths:
        raise FileNotFoundError(f"the query reads files that are not there: {name}")
    return Scan(paths)


def _is_table(value: Any) -> bool:
    """Whether a variable can be meant: queries name columns and tables alike, and a number is none."""
    if isinstance(value, type):
        return False
    return isinstance(value, (Table, Mapping)) or any(
        hasattr(value, name) for name in ("__arrow_c_stream__", "__arrow_c_array__", "_garuda_read", "collect")
    )


def _find(query: str, name: str, given: Mapping[str, Data], frame: Optional[FrameType]) -> Data:
    """The table that a query means: one that was given, files, or a variable of the caller. SQL writes names without
    quotes in lower case, so another case is taken where no name is the same."""
    if name in given:
        return given[name]
    files = _files(name)
    if files is not None:
        return files
    places: list[Mapping[str, Any]] = [] if frame is None else [frame.f_locals, frame.f_globals]
    for variables in places:
        if name in variables and _is_table(variables[name]):
            return variables[name]
    for variables in [given, *places]:
        alike = [other for other in variables if other.lower() == name and _is_table(variables[other])]
        if len(alike) == 1:
            return variables[alike[0]]
    known = "not given" if frame is None else "neither given nor a variable"
    raise _sql_plan.unknown_table(query, name, known)


def _given(tables: Optional[Mapping[str, Data]], named: Mapping[str, Any]) -> tuple[dict[str, Data], dict[str, Any]]:
    """Tables and options, which share the keywords of a call."""
    if tables is not None and not isinstance(tables, Mapping):
        raise wrong("tables", "a mapping of names to tables, or None", tables)
    options = {name: value for name, value in named.items() if name in _arguments._KINDS}
    given = {name: value for name, value in named.items() if name not in options}
    return {**given, **(tables or {})}, options


#: Paths whose operators take tables that live on a device.
_PATHS_OF_DEVICE_TABLES = ("auto", "compute")


class _Frame(NamedTuple):
    """A table of pyarrow or Polars, of which the columns that a query reads become garuda's: all bytes of their texts are
    looked at then."""

    name: str
    rows: Any

    def read(self, columns: list[str]) -> _core.Table:
        return table_of(f"table {self.name!r}", self.rows.select(columns))._held

    def schema(self) -> Any:
        import pyarrow

        if isinstance(self.rows, pyarrow.Table):
            return self.rows.schema
        return pyarrow.schema(table_of(f"table {self.name!r}", self.rows.head(0)))

    def has_nulls(self, column: str) -> bool:
        import pyarrow

        if isinstance(self.rows, pyarrow.Table):
            return bool(self.rows[column].null_count > 0)
        return bool(self.rows.get_column(column).null_count() > 0)


_Source = Union[Table, StoredTable, Scan, _Frame]
_FRAMES = {("pyarrow", "Table"): "column_names", ("polars", "DataFrame"): "columns"}


def _is_frame(data: Data) -> bool:
    """Whether it is a table of pyarrow or Polars whose columns have names of their own."""
    kind = type(data)
    names = getattr(data, _FRAMES.get((kind.__module__.partition(".")[0], kind.__name__), ""), ())
    return len(set(names)) == len(names) > 0


def _table(name: str, data: Data, path: str) -> _Source:
    """The rows, on the host where the path takes no others; files and frames are read once it is known which of their
    columns are."""
    if isinstance(data, (Scan, StoredTable)):
        return data
    if _is_frame(data):
        return _Frame(name, data)
    rows = table_of(f"table {name!r}", data)
    stays = rows.device is None or path in _PATHS_OF_DEVICE_TABLES
    return rows if stays else rows.download()


def _schema(table: _Source) -> Any:
    import pyarrow

    if isinstance(table, _Frame):
        return table.schema()
    if isinstance(table, (Table, StoredTable)):
        return pyarrow.schema(table)
    whole = table._dataset().schema
    return pyarrow.schema([whole.field(name) for name in table.column_names])


def _schema_without_nulls(table: _Source) -> Any:
    """The schema of a table in memory, its columns nullable where they have nulls."""
    import pyarrow

    if isinstance(table, Scan) or (isinstance(table, Table) and table.device is not None):
        return _schema(table)
    if isinstance(table, (_Frame, StoredTable)):
        return pyarrow.schema([field.with_nullable(table.has_nulls(field.name)) for field in _schema(table)])
    columns = table.to_arrow()
    return pyarrow.schema([field.with_nullable(columns[i].null_count > 0) for i, field in enumerate(columns.schema)])


def _without_rows(schema: Any) -> _core.Table:
    """A table of the columns that plans know."""
    return table_of("schema", _sql_plan._planned_schema(schema).empty_table())._held


class Planned(NamedTuple):
    """A query that DataFusion has planned; files and frames among its tables are not read yet.

    Attributes:
        plan: over the tables, of these schemas.
        tables: by the names that the query has for them, with their schemas.
        settings: how it runs.
    """

    plan: _sql_plan.PlannedQuery
    tables: dict[str, tuple[_Source, Any]]
    settings: _core.Settings

    def read(self, engine: Engine, strict: bool = False) -> _core.PlanQuery:
        """The query, ready to run: reads the columns that the plan names from files and frames, and of Parquet files the row
        groups that may have rows that it needs."""
        rows = {name: table._held for name, (table, _) in self.tables.items() if isinstance(table, (Table, StoredTable))}
        others = {name: (table, schema) for name, (table, schema) in self.tables.items() if name not in rows}
        if others:
            known = {**rows, **{name: _without_rows(schema) for name, (_, schema) in others.items()}}
            files: dict[str, tuple[Scan, list[str], _core.RowTest]] = {}
            for name, columns, test in _core.tables_of_plan(self.plan.message, list(known.items())):
                table = others[name][0] if name in others else None
                if isinstance(table, Scan):
                    files[name] = (table, columns, test)
                elif isinstance(table, _Frame):
                    rows[name] = table.read(columns)
            rows.update(zip(files, read_scans(list(files.values()), self.settings)))
        return _core.PlanQuery(engine._open(), self.plan.message, list(rows.items()), self.settings, strict)


def planned(
    engine: Engine, query: str, tables: Optional[Mapping[str, Data]], named: Mapping[str, Any],
    frame: Optional[FrameType],
) -> Planned:  # fmt: skip
    """The query, planned over its tables, which are also variables of `frame` where there is one."""
    if not isinstance(query, str):
        raise wrong("query", "a str", query)
    given, options = _given(tables, named)
    settings = engine._settings(options)
    path = str(options.get("path") or engine.path)
    read = {name: _table(name, _find(query, name, given, frame), path) for name in _sql_plan.table_names(query)}
    schemas = {name: _schema(table) for name, table in read.items()}
    plan = _sql_plan.substrait_plan(
        query, schemas, lambda: {name: _schema_without_nulls(table) for name, table in read.items()}
    )
    return Planned(plan, {name: (table, schemas[name]) for name, table in read.items()}, settings)
