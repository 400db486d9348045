"""Tables and streams of batches: Arrow columns in the memory of the host or of a device."""

from __future__ import annotations

import html
import itertools
from typing import TYPE_CHECKING, Any, Generic, Iterator, Mapping, Optional, TypeVar, Union

from . import _core, _values
from ._arguments import Names, optional_names, whole_number, wrong
from ._progress import ProgressOption, reporting
from .errors import InvalidInputError
from .plans import Plan, Stats

if TYPE_CHECKING:
    import duckdb
    import pandas
    import polars
    import pyarrow

_SHOWN_ROWS = 10
_SHOWN_COLUMNS = 12
_Held = TypeVar("_Held", _core.Table, _core.Stream)


class _Columns(Generic[_Held]):
    """Properties of columns that tables and streams have."""

    __slots__ = ("_held",)

    _held: _Held

    @property
    def column_names(self) -> list[str]:
        return [name for name, _, _ in self._held.fields()]

    @property
    def schema(self) -> dict[str, str]:
        """Types of the columns by name, as Arrow spells them; of equal names the last."""
        return {name: type_name for name, type_name, _ in self._held.fields()}


class Table(_Columns[_core.Table]):
    """Rows of named, typed columns in Arrow layout.

    Made by `garuda.table`, by joins and group-bys, and by `Engine.upload`. Any library with the Arrow PyCapsule
    interface takes it as it is: `pyarrow.table(t)`, `polars.DataFrame(t)`; nothing is copied on the way.

    >>> import garuda
    >>> t = garuda.table({"city": ["Pune", "Goa", None], "visits": [3, 5, 8]})
    >>> t
    city        visits
    large_utf8   int64
    Pune             3
    Goa              5
    null             8
    3 rows
    >>> len(t), t.column_names, t.schema["visits"]
    (3, ['city', 'visits'], 'int64')
    """

    __slots__ = ()

    def __init__(self, held: _core.Table) -> None:
        if not isinstance(held, _core.Table):
            raise TypeError("garuda.table(data) makes a table")
        self._held = held

    # --- what it is -------------------------------------------------------------------------------------------------

    @property
    def num_rows(self) -> int:
        return self._held.num_rows

    @property
    def num_columns(self) -> int:
        return len(self._held.fields())

    @property
    def shape(self) -> tuple[int, int]:
        return self.num_rows, self.num_columns

    @property
    def device(self) -> Optional[int]:
        """Index of the device that holds the rows (`garuda.devices()`); None: the host."""
        return self._held.device

    @property
    def device_bytes(self) -> int:
        """Device memory that the columns take."""
        return self._held.device_bytes

    @property
    def plan(self) -> Optional[Plan]:
        """How a join or group-by made this table; None of others."""
        text, document = self._held.plan_text(), self._held.plan_json()
        return None if text is None or document is None else Plan(text, document)

    @property
    def stats(self) -> Optional[Stats]:
        """Statistics of the join or group-by that made this table; None: another table."""
        document = self._held.stats_json()
        return None if document is None else Stats(document)

    def __len__(self) -> int:
        return self.num_rows

    # --- parts ------------------------------------------------------------------------------------------------------

    def slice(self, begin: int, count: Optional[int] = None) -> Table:
        """Rows from `begin` on, `count` at most; they stay shared with this table.

        >>> import garuda
        >>> garuda.table({"a": [1, 2, 3]}).slice(1).to_pydict()
        {'a': [2, 3]}
        """
        begin = min(whole_number("begin", begin, 0), self.num_rows)
        rest = self.num_rows - begin
        return Table(self._held.slice(begin, rest if count is None else min(whole_number("count", count, 0), rest)))

    def head(self, count: int = 5) -> Table:
        """The first rows."""
        return self.slice(0, count)

    def batches(self) -> Iterator[Table]:
        """The batches that the rows lie in, each a table that shares them."""
        return map(Table, self._held.batches())

    def download(self, *, progress: ProgressOption = None) -> Table:
        """This table's rows in the memory of the host."""
        with reporting(progress) as report:
            return Table(self._held.download(report))

    # --- to other libraries -----------------------------------------------------------------------------------------

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        return self._held.stream()

    def __arrow_c_schema__(self) -> object:
        return self._held.schema()

    def to_arrow(self) -> pyarrow.Table:
        """This table as a `pyarrow.Table`, which shares the columns."""
        import pyarrow

        return pyarrow.table(self)

    def to_polars(self) -> polars.DataFrame:
        """This table as a `polars.DataFrame`, which shares the columns where its layout is Arrow's."""
        import polars

        return polars.DataFrame(self)

    def to_pandas(self, **options: Any) -> pandas.DataFrame:
        """This table as a `pandas.DataFrame`; `options` are those of `pyarrow.Table.to_pandas`."""
        return self.to_arrow().to_pandas(**options)

    def to_duckdb(self, connection: Optional[duckdb.DuckDBPyConnection] = None) -> duckdb.DuckDBPyRelation:
        """This table as a relation of `connection`, or of DuckDB's default one."""
        import duckdb

        if connection is None:
            return duckdb.from_arrow(self.to_arrow())
        if not hasattr(connection, "from_arrow"):
            raise wrong("connection", "a connection of DuckDB or None", connection)
        return connection.from_arrow(self.to_arrow())

    def to_pydict(self) -> dict[str, list[Any]]:
        """Columns as lists of Python's objects; needs no other library but for nested columns, which need pyarrow.

        Moments finer than microseconds, and those beyond Python's years, stay numbers.
        """
        here = self.download()
        columns: dict[str, list[Any]] = {}
        for i, (name, type_name, _) in enumerate(here._held.fields()):
            values = here._held.cells(i)
            if next((value for value in values if value is not None), None) is ...:  # nested, which shows none of its values
                values = here.to_arrow().column(i).to_pylist()
            convert = _values.converter(type_name)
            columns[name] = values if convert is None else [None if v is None else convert(v) for v in values]
        return columns

    # --- shown ------------------------------------------------------------------------------------------------------

    def _shown(self) -> tuple[list[tuple[str, str]], list[list[str]], str]:
        """Names and types, rows of text, and what is left out; of a table on a device no rows."""
        fields = [(name, type_name) for name, type_name, _ in self._held.fields()]
        count = f"{self.num_rows:,} row{'' if self.num_rows == 1 else 's'}"
        if self.device is not None:
            return fields[:_SHOWN_COLUMNS], [], f"{count} on device {self.device}, {self.device_bytes:,} bytes"
        head = self.slice(0, _SHOWN_ROWS)._held
        columns: list[list[str]] = []
        for i, (_, type_name) in enumerate(fields[:_SHOWN_COLUMNS]):
            convert = _values.converter(type_name)
            cells = head.cells(i)
            columns.append([_values.text(v if v is None or convert is None else convert(v)) for v in cells])
        rows = [list(row) for row in zip(*columns)]
        more = f", {len(fields)} columns" if len(fields) > _SHOWN_COLUMNS else ""
        return fields[:_SHOWN_COLUMNS], rows, ("… " if self.num_rows > _SHOWN_ROWS else "") + count + more

    def __repr__(self) -> str:
        fields, rows, rest = self._shown()
        lines = [""] * (len(rows) + 2)
        for i, (name, type_name) in enumerate(fields):
            cells = [_values.text(name), type_name, *(row[i] for row in rows)]
            width = max(map(len, cells))
            for at, cell in enumerate(cells):
                padded = cell.rjust(width) if _values.is_number(type_name) else cell.ljust(width)
                lines[at] += ("  " if i else "") + padded
        return "\n".join([*(line.rstrip() for line in lines), rest])

    def _repr_html_(self) -> str:
        fields, rows, rest = self._shown()
        names = "".join(
            f"<th>{html.escape(name)}<br><small>{html.escape(type_name)}</small></th>" for name, type_name in fields
        )
        aligned = [' style="text-align: right"' if _values.is_number(type_name) else "" for _, type_name in fields]
        body = "".join(
            "<tr>" + "".join(f"<td{style}>{html.escape(cell)}</td>" for style, cell in zip(aligned, row)) + "</tr>"
            for row in rows
        )
        return f"<table><thead><tr>{names}</tr></thead><tbody>{body}</tbody></table><p>{rest}</p>"


class Stream(_Columns[_core.Stream]):
    """The batches of a join or group-by while they are made: iterate it, or hand it to a library that reads Arrow
    streams. Either goes through the rows once. What is not read is not kept, so a result may be larger than memory.

    >>> import garuda
    >>> stream = garuda.group_by({"k": [1, 1, 2]}, "k", path="cpu").stream(n="count")
    >>> sum(len(batch) for batch in stream)
    2
    """

    __slots__ = ()

    def __init__(self, held: _core.Stream) -> None:
        if not isinstance(held, _core.Stream):
            raise TypeError("garuda.join_stream and GroupBy.stream make streams")
        self._held = held

    @property
    def plan(self) -> Plan:
        return Plan(self._held.plan_text(), self._held.plan_json())

    @property
    def stats(self) -> Stats:
        """Statistics so far; complete after the last batch."""
        return Stats(self._held.stats_json())

    def __iter__(self) -> Iterator[Table]:
        while (batch := self._held.next()) is not None:
            yield Table(batch)

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        return self._held.stream()

    def __arrow_c_schema__(self) -> object:
        return self._held.schema()

    def __repr__(self) -> str:
        return f"<garuda.Stream of {', '.join(self.column_names)}>"


def _is_small(data: Any) -> bool:
    """Whether the rows are there (others may be computed while they are read, which takes as long as it takes), and few."""
    rows = getattr(data, "num_rows", getattr(data, "height", None))
    return isinstance(rows, int) and rows <= _core.small_rows


# Rows of a chunk, below which copying rows into fewer chunks takes less than looking at each.
_CHUNK_ROWS = 4096


def _parts(data: Any) -> Optional[list[Any]]:
    """A DataFrame of Polars chunk by chunk, which are shared: a stream of all of them is of one chunk that it makes
    first, on one thread. None of other data, of one chunk, and where columns are cut differently or finely."""
    if type(data).__module__.partition(".")[0] != "polars" or not hasattr(data, "n_chunks") or data.n_chunks() <= 1:
        return None
    counts = data.n_chunks("all")
    if data.height < _CHUNK_ROWS * max(counts) or len(set(counts)) > 1:
        return None
    lengths = [column.chunk_lengths() for column in data]
    if any(cut != lengths[0] for cut in lengths):
        return None
    firsts = itertools.accumulate(lengths[0], initial=0)
    return [data.slice(first, length) for first, length in zip(firsts, lengths[0]) if length > 0]


class StoredTable(_Columns[_core.Table]):
    """A table for queries, in a form that is smaller than what it stands for: see `garuda.store`."""

    __slots__ = ("_engine", "_held")

    def __init__(self, held: _core.Table, engine: Any) -> None:
        self._held = held
        self._engine = engine

    @property
    def num_rows(self) -> int:
        return self._held.num_rows

    def __len__(self) -> int:
        return self.num_rows

    def __arrow_c_schema__(self) -> object:
        return self._held.schema()

    def read(self, columns: Optional[Names] = None) -> Table:
        """The rows as they were before they were stored; `columns`: those that are wanted. Raises ColumnNotFoundError."""
        wanted = optional_names("columns", columns)
        return Table(_core.read_stored(self._engine._open(), self._held, self.column_names if wanted is None else wanted))

    def _garuda_read(self, columns: Optional[list[str]]) -> Table:
        return self.read(columns if columns is None else [name for name in self.column_names if name in columns])

    def has_nulls(self, column: str) -> bool:
        """Whether a column has nulls."""
        return self._held.has_nulls(self.column_names.index(column))

    def __repr__(self) -> str:
        return f"<garuda.StoredTable of {len(self):,} rows: {', '.join(self.column_names)}>"


class JoinBuild:
    """The right table of joins, ready to be probed as often as wanted: see `garuda.build`."""

    __slots__ = ("_held", "_keys", "_nulls_equal")

    def __init__(self, held: _core.JoinBuild, keys: list[str], nulls_equal: bool) -> None:
        self._held = held
        self._keys = keys
        self._nulls_equal = nulls_equal

    @property
    def keys(self) -> list[str]:
        """Its key columns."""
        return list(self._keys)

    @property
    def nulls_equal(self) -> bool:
        """Whether null keys match null keys in its joins."""
        return self._nulls_equal

    @property
    def table(self) -> Table:
        """The table that it was made of."""
        return Table(self._held.table)

    @property
    def host_bytes(self) -> int:
        """Memory of the host that its keys and their tables take, beside the table."""
        return self._held.host_bytes

    def __len__(self) -> int:
        return self._held.table.num_rows

    def __repr__(self) -> str:
        return f"<garuda.JoinBuild of {len(self):,} rows by {', '.join(self._keys)}>"


# Data that calls take as a table.
Data = Union[Table, StoredTable, Stream, Mapping[str, Any], Any]
# The right side of a join.
Right = Union[Data, JoinBuild]


def table(data: Data, *, columns: Optional[Names] = None) -> Table:
    """A table of `data`: anything with the Arrow PyCapsule interface (pyarrow, polars, pandas, DuckDB's relations,
    nanoarrow, …), whose columns are shared, or a mapping of names to columns: lists, NumPy arrays (shared, too), and
    whatever speaks that interface itself (series of pandas and Polars, arrays of pyarrow).

    Calls take such data as they are; a table made once saves looking at the data again. `columns`: those wanted of a
    `garuda.scan`; other data come whole.

    Raises TypeError for what has no such interface, InvalidInputError for malformed data.
    """
    return table_of("data", data, optional_names("columns", columns))


def table_of(argument: str, data: Data, columns: Optional[list[str]] = None) -> Table:
    """table() for the argument of a call, which errors name."""
    if isinstance(data, Table):
        return data
    read = getattr(data, "_garuda_read", None)
    if read is not None:
        return table_of(argument, read(columns))
    stream = getattr(data, "__arrow_c_stream__", None)
    if stream is not None and not isinstance(data, type):
        try:
            parts = _parts(data)
            if parts is not None:
                return Table(_core.Table.of_streams([part.__arrow_c_stream__() for part in parts], _is_small(data)))
            return Table(_core.Table.of_stream(stream(), _is_small(data)))
        except InvalidInputError as error:
            raise _as_column(argument, data, error) from None
    array = getattr(data, "__arrow_c_array__", None)
    if array is not None and not isinstance(data, type):
        schema, values = array()
        try:
            return Table(_core.Table.of_array(schema, values, _is_small(data)))
        except InvalidInputError as error:
            raise _as_column(argument, data, error) from None
    if type(data).__module__.partition(".")[0] == "pandas" and type(data).__name__ == "DataFrame":  # before 2.2
        import pyarrow

        return table_of(argument, pyarrow.Table.from_pandas(data))
    if isinstance(data, Mapping):
        from . import _columns

        if any(map(_columns.speaks_arrow, data.values())):
            return _of_arrow_columns(data)
        return Table(_core.Table.of_buffers(*_columns.columns_of(data)))
    if hasattr(data, "collect") and type(data).__name__ == "LazyFrame":
        raise TypeError(f"{argument} is a LazyFrame, which has no rows yet: collect() it first")
    kind = f"the class {data.__qualname__}" if isinstance(data, type) else f"{type(data).__module__}.{type(data).__qualname__}"
    raise TypeError(
        f"{argument} must be a table, something with the Arrow PyCapsule interface (__arrow_c_stream__), or a mapping of "
        f"names to columns: {kind}"
    )


def _as_column(argument: str, data: Any, error: InvalidInputError) -> InvalidInputError:
    """The error of data that cannot be read as a table and do not name columns either."""
    if any(hasattr(data, name) for name in ("columns", "column_names", "schema")):
        return error
    kind = f"{type(data).__module__}.{type(data).__qualname__}"
    return InvalidInputError(f"{argument} may be a column, of which {{'name': column}} is a table: {kind}", (str(error),))


def _of_arrow_columns(data: Mapping[str, Any]) -> Table:
    import pyarrow

    from . import _columns

    columns, others = _columns.arrow_columns(data)
    plain = table_of("data", others).to_arrow()
    return table_of("data", pyarrow.table({name: columns[name] if name in columns else plain[name] for name in data}))
