"""Files, read by pyarrow: Parquet, Arrow IPC and CSV."""

from __future__ import annotations

import contextlib
import os
import threading
from typing import Any, Callable, Iterable, Iterator, Mapping, Optional, Sequence, Union

from . import _core
from ._arguments import Names, optional_names, wrong
from .errors import ColumnNotFoundError, InvalidInputError, OutOfMemoryError, UsageError
from .table import Table, table, table_of

File = Union[str, "os.PathLike[str]"]
_FORMATS = {".parquet": "parquet", ".arrow": "ipc", ".feather": "ipc", ".ipc": "ipc", ".csv": "csv"}


def _pyarrow(submodule: str = "") -> Any:
    """The library, with a submodule."""
    import importlib

    try:
        importlib.import_module("pyarrow" + submodule)
        return importlib.import_module("pyarrow")
    except ImportError as error:
        raise ImportError("garuda reads files with pyarrow: pip install pyarrow") from error


def _interruptible(read: Callable[[threading.Event], Any]) -> Any:
    """Calls `read`. pyarrow does not see Ctrl-C, so another thread reads in place of the main thread. When Ctrl-C comes it
    is left to go on until it sees that the event is set, or to its end."""
    stopped = threading.Event()
    if threading.current_thread() is not threading.main_thread():
        return read(stopped)
    import concurrent.futures

    reader = concurrent.futures.ThreadPoolExecutor(1)
    try:
        return reader.submit(read, stopped).result()
    finally:
        stopped.set()
        reader.shutdown(wait=False)


def _path(path: File) -> str:
    """A path as text. Raises UsageError for what is no path."""
    text = os.fspath(path) if isinstance(path, (str, os.PathLike)) else None
    if not isinstance(text, str):
        raise wrong("path", "a str or an os.PathLike", path)
    return text


def _paths(path: Union[File, Iterable[File]]) -> list[str]:
    if isinstance(path, (str, os.PathLike)):
        return [_path(path)]
    if isinstance(path, (bytes, Mapping)) or not hasattr(path, "__iter__"):
        raise wrong("path", "a str, an os.PathLike, or a list of these", path)
    return [_path(one) for one in path]


def _require_columns(wanted: Optional[list[str]], there: list[str]) -> None:
    missing = [name for name in wanted or [] if name not in there]
    if missing:
        raise ColumnNotFoundError(f"unknown column, of {', '.join(there)}: {missing[0]}")


def _format(path: File) -> str:
    suffix = os.path.splitext(os.fspath(path))[1].lower()
    if suffix not in _FORMATS:
        raise UsageError(f"names of files end with one of {', '.join(_FORMATS)}: {os.fspath(path)}")
    return _FORMATS[suffix]


@contextlib.contextmanager
def _reading(path: str) -> Iterator[None]:
    """Turns what pyarrow says of a file that it cannot read into the error that names it."""
    pyarrow = _pyarrow()
    try:
        yield
    except pyarrow.ArrowMemoryError as error:
        raise OutOfMemoryError(f"{path} does not fit into memory", (str(error),)) from error
    except pyarrow.ArrowInvalid as error:
        raise InvalidInputError(f"{path} cannot be read", (str(error),)) from error


class Scan:
    """Files that are read when a call needs their rows, and of them the columns that it needs: see `garuda.scan`."""

    def __init__(self, path: Union[File, Iterable[File]], columns: Optional[Names] = None) -> None:
        self.paths = _paths(path)
        if not self.paths:
            raise UsageError("a scan has at least one file")
        self.format = _format(self.paths[0])
        self.columns = optional_names("columns", columns)
        for other in self.paths[1:]:
            if _format(other) != self.format:
                raise UsageError(f"the files of one scan have one format: {self.paths[0]}, {other}")

    def _dataset(self) -> Any:
        pyarrow = _pyarrow(".dataset")
        with _reading(self.paths[0]):
            return pyarrow.dataset.dataset(self.paths, format=self.format)

    @property
    def column_names(self) -> list[str]:
        return list(self._dataset().schema.names if self.columns is None else self.columns)

    def _garuda_read(self, columns: Optional[list[str]]) -> Any:
        """The rows; `columns` that are not there are left to the caller to miss."""
        pyarrow = _pyarrow()
        dataset = self._dataset()
        _require_columns(self.columns, dataset.schema.names)
        known = dataset.schema.names if self.columns is None else self.columns
        wanted = known if columns is None else [name for name in known if name in columns]

        def read(stopped: threading.Event) -> Any:
            scanner = dataset.scanner(columns=wanted)
            batches = []
            for batch in scanner.to_batches():
                if stopped.is_set():
                    return None
                batches.append(batch)
            return pyarrow.Table.from_batches(batches, scanner.projected_schema)

        with _reading(self.paths[0]):
            return _interruptible(read)

    def _reader_failure(self) -> Optional[str]:
        """Why garuda's reader does not read the files; None: it does."""
        if self.format != "parquet":
            return "garuda's reader is for Parquet"
        return _core.reader_failure() if self._has_one_schema() else "the files have several schemas"

    def _has_one_schema(self) -> bool:
        if len(self.paths) == 1:
            return True
        with _reading(self.paths[0]):
            schemas = [fragment.physical_schema for fragment in self._dataset().get_fragments()]
        return all(schema.equals(schemas[0]) for schema in schemas)

    def read(self) -> Table:
        """Reads all rows into a table."""
        return table(self)

    def __repr__(self) -> str:
        more = f" and {len(self.paths) - 1} more" if len(self.paths) > 1 else ""
        return f"<garuda.Scan of {self.paths[0]}{more}>"


def read_scans(
    reads: Sequence[tuple[Scan, list[str], _core.RowTest]], settings: _core.Settings
) -> list[_core.Table]:
    """Columns of scans, and their rows that may pass a test, for the query that they are of: Parquet files by garuda's
    reader, side by side and as they store their values, where it fits this pyarrow and the files have one schema; others,
    and all of their rows, by pyarrow."""
    failures = [scan._reader_failure() for scan, _, _ in reads]
    stored = [(scan.paths, columns, rows) for (scan, columns, rows), why in zip(reads, failures) if why is None]
    read = iter(_core.read_files(stored, settings.threads, settings.is_limited) if stored else [])
    return [next(read) if why is None else _read_plain(scan, columns, why) for (scan, columns, _), why in zip(reads, failures)]


def _read_plain(scan: Scan, columns: list[str], failure: str) -> _core.Table:
    import logging

    logging.getLogger("garuda").info("%s is read by pyarrow: %s", scan.paths[0], failure)
    return table_of(scan.paths[0], scan._garuda_read(columns))._held


def scan(path: Union[File, Iterable[File]], *, columns: Optional[Names] = None) -> Scan:
    """Files of one format, by extension (.parquet, .arrow, .feather, .csv), as a table that calls read when they run:
    of its columns those that the call names, unless the call has a condition or wants all."""
    return Scan(path, columns)


def read(path: Union[File, Iterable[File]], *, columns: Optional[Names] = None) -> Table:
    """Reads files of one format, by extension: .parquet, .arrow, .feather (Arrow IPC) or .csv, by pyarrow.

    Raises FileNotFoundError and other OSErrors as the system gives them, InvalidInputError for damaged files, UsageError
    for other extensions, ImportError without pyarrow.
    """
    return Scan(path, columns).read()


def read_parquet(path: File, *, columns: Optional[Names] = None, **options: Any) -> Table:
    """Reads a Parquet file; `options` are those of `pyarrow.parquet.read_table`."""
    pyarrow = _pyarrow(".parquet")
    wanted, path = optional_names("columns", columns), _path(path)
    with _reading(path):
        if wanted is not None and os.path.isfile(path):
            there = pyarrow.parquet.read_schema(path).names
            _require_columns([name.partition(".")[0] for name in wanted], there)  # parts of structs
        return table(_interruptible(lambda _: pyarrow.parquet.read_table(path, columns=wanted, **options)))


def read_ipc(path: File, *, columns: Optional[Names] = None) -> Table:
    """Reads an Arrow IPC file; columns that are not compressed stay in the file's pages and are not copied."""
    pyarrow = _pyarrow(".ipc")
    wanted, path = optional_names("columns", columns), _path(path)
    with _reading(path):
        rows = _interruptible(lambda _: pyarrow.ipc.open_file(pyarrow.memory_map(path)).read_all())
    _require_columns(wanted, rows.column_names)
    return table(rows if wanted is None else rows.select(wanted))


def read_csv(path: File, **options: Any) -> Table:
    """Reads a CSV file; `options` are those of `pyarrow.csv.read_csv`. Types are pyarrow's inference, which is not that
    of the garuda command."""
    pyarrow = _pyarrow(".csv")
    path = _path(path)
    with _reading(path):
        return table(_interruptible(lambda _: pyarrow.csv.read_csv(path, **options)))
