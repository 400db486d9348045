"""The formats of files that engines read and write: Parquet (Snappy), Arrow IPC (not compressed), CSV."""

from __future__ import annotations

import itertools
import pathlib
from collections.abc import Callable, Iterable, Iterator

import pyarrow as pa
import pyarrow.csv
import pyarrow.ipc
import pyarrow.parquet

FORMATS = ("parquet", "arrow", "csv")


def read(path: pathlib.Path, columns: set[str] | None = None) -> pa.Table:
    """A file, or the files of a folder, in memory, not mapped; of Arrow and Parquet files only `columns`, in the file's
    order."""
    if path.is_dir():
        return pa.concat_tables(read(part, columns) for part in sorted(path.iterdir()))
    if path.suffix == ".csv":
        return pa.csv.read_csv(path)
    if path.suffix == ".parquet":
        kept = [name for name in pa.parquet.read_schema(path).names if columns is None or name in columns]
        return pa.parquet.ParquetFile(path).read(kept)
    with pa.OSFile(str(path)) as file:
        table = pa.ipc.open_file(file).read_all()
    return table if columns is None else table.select([name for name in table.column_names if name in columns])


def writer(path: pathlib.Path, schema: pa.Schema) -> pa.ipc.RecordBatchWriter | pa.parquet.ParquetWriter:
    """Takes `write_batch`; a context."""
    make: dict[str, Callable] = {
        ".csv": pa.csv.CSVWriter, ".parquet": pa.parquet.ParquetWriter, ".arrow": pa.ipc.new_file,
    }
    return make[path.suffix](str(path), schema)


def write_batches(path: pathlib.Path, schema: pa.Schema, batches: Iterable[pa.RecordBatch]) -> None:
    with writer(path, schema) as file:
        for batch in batches:
            file.write_batch(batch)


def write_all(path: pathlib.Path, batches: Iterator[pa.RecordBatch]) -> None:
    """Writes at least one batch; the first one has the schema."""
    first = next(batches)
    write_batches(path, first.schema, itertools.chain([first], batches))


def write(path: pathlib.Path, table: pa.Table) -> None:
    with writer(path, table.schema) as file:
        file.write_table(table)


class FromFiles:
    """An engine that reads files and writes the file `output`; the first of its bases."""

    output: pathlib.Path
    files: dict[str, pathlib.Path]

    def load(self, tables: dict[str, pathlib.Path]) -> None:
        self.forget()
        self.files = dict(tables)

    def to_arrow(self, result: pathlib.Path) -> pa.Table:
        return read(result)

    def forget(self) -> None:
        self.output.unlink(missing_ok=True)
