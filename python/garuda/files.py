"""Files, read by pyarrow: Parquet, Arrow IPC and CSV."""

from __future__ import annotations

import os
from typing import Any, Iterable, Optional, Union

from .errors import InvalidInputError, OutOfMemoryError, UsageError
from .table import Table, table

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


def _format(path: File) -> str:
    suffix = os.path.splitext(os.fspath(path))[1].lower()
    if suffix not in _FORMATS:
        raise UsageError(f"names of files end with one of {', '.join(_FORMATS)}: {os.fspath(path)}")
    return _FORMATS[suffix]


class Scan:
    """Files that are read when a call needs their rows, and of them the columns that it needs: see `garuda.scan`."""

    def __init__(self, path: Union[File, Iterable[File]], columns: Optional[list[str]] = None) -> None:
        self.paths = [os.fspath(path)] if isinstance(path, (str, os.PathLike)) else [os.fspath(p) for p in path]
        if not self.paths:
            raise UsageError("a scan has at least one file")
        self.format = _format(self.paths[0])
        self.columns = columns
        for other in self.paths[1:]:
            if _format(other) != self.format:
                raise UsageError(f"the files of one scan have one format: {self.paths[0]}, {other}")

    def _dataset(self) -> Any:
        pyarrow = _pyarrow(".dataset")

        try:
            return pyarrow.dataset.dataset(self.paths, format=self.format)
        except pyarrow.ArrowInvalid as error:
            raise InvalidInputError(f"{self.paths[0]} cannot be read", (str(error),)) from error

    @property
    def column_names(self) -> list[str]:
        return list(self.columns or self._dataset().schema.names)

    def _garuda_read(self, columns: Optional[list[str]]) -> Any:
        """The rows; `columns` that are not there are left to the caller to miss."""
        pyarrow = _pyarrow()
        dataset = self._dataset()
        known = self.columns or dataset.schema.names
        wanted = known if columns is None else [name for name in known if name in columns]
        try:
            return dataset.to_table(columns=wanted)
        except pyarrow.ArrowMemoryError as error:
            raise OutOfMemoryError(f"{self.paths[0]} does not fit into memory", (str(error),)) from error
        except pyarrow.ArrowInvalid as error:
            raise InvalidInputError(f"{self.paths[0]} cannot be read", (str(error),)) from error

    def read(self) -> Table:
        """All of it as a table."""
        return table(self)

    def __repr__(self) -> str:
        more = f" and {len(self.paths) - 1} more" if len(self.paths) > 1 else ""
        return f"<garuda.Scan of {self.paths[0]}{more}>"


def scan(path: Union[File, Iterable[File]], *, columns: Optional[list[str]] = None) -> Scan:
    """Files of one format, by extension (.parquet, .arrow, .feather, .csv), as a table that calls read when they run:
    of its columns those that the call names, unless the call has a condition or wants all."""
    return Scan(path, columns)


def read(path: Union[File, Iterable[File]], *, columns: Optional[list[str]] = None) -> Table:
    """Reads files of one format, by extension: .parquet, .arrow, .feather (Arrow IPC) or .csv, by pyarrow.

    Raises FileNotFoundError and other OSErrors as the system gives them, InvalidInputError for damaged files, UsageError
    for other extensions, ImportError without pyarrow.
    """
    return Scan(path, columns).read()


def read_parquet(path: File, *, columns: Optional[list[str]] = None, **options: Any) -> Table:
    """Reads a Parquet file; `options` are those of `pyarrow.parquet.read_table`."""
    pyarrow = _pyarrow(".parquet")

    try:
        return table(pyarrow.parquet.read_table(path, columns=columns, **options))
    except pyarrow.ArrowInvalid as error:
        raise InvalidInputError(f"{os.fspath(path)} cannot be read", (str(error),)) from error


def read_ipc(path: File, *, columns: Optional[list[str]] = None) -> Table:
    """Reads an Arrow IPC file; columns that are not compressed stay in the file's pages and are not copied."""
    pyarrow = _pyarrow(".ipc")

    try:
        rows = pyarrow.ipc.open_file(pyarrow.memory_map(os.fspath(path))).read_all()
    except pyarrow.ArrowInvalid as error:
        raise InvalidInputError(f"{os.fspath(path)} cannot be read", (str(error),)) from error
    return table(rows if columns is None else rows.select(columns))


def read_csv(path: File, **options: Any) -> Table:
    """Reads a CSV file; `options` are those of `pyarrow.csv.read_csv`. Types are pyarrow's inference, which is not that
    of the garuda command."""
    pyarrow = _pyarrow(".csv")

    try:
        return table(pyarrow.csv.read_csv(os.fspath(path), **options))
    except pyarrow.ArrowInvalid as error:
        raise InvalidInputError(f"{os.fspath(path)} cannot be read", (str(error),)) from error
