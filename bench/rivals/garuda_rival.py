"""garuda itself, through its C ABI: Arrow C streams in, Arrow C streams out, no copy on the way."""

from __future__ import annotations

import ctypes
import pathlib

import engine
import pyarrow as pa

STREAM_BYTES = 5 * ctypes.sizeof(ctypes.c_void_p)  # struct ArrowArrayStream: four functions and the private data


class RunOptions(ctypes.Structure):
    _fields_ = [
        ("size", ctypes.c_size_t),
        ("path", ctypes.c_char_p),
        ("device", ctypes.c_char_p),
        ("tuning", ctypes.c_char_p),
        ("memory_limit_bytes", ctypes.c_uint64),
        ("device_memory_limit_bytes", ctypes.c_uint64),
        ("threads", ctypes.c_uint32),
        ("allow_cuda", ctypes.c_int),
        ("cancellation", ctypes.c_void_p),
        ("on_progress", ctypes.c_void_p),
        ("progress_context", ctypes.c_void_p),
    ]


class JoinOptions(ctypes.Structure):
    _fields_ = [
        ("size", ctypes.c_size_t),
        ("left_keys", ctypes.POINTER(ctypes.c_char_p)),
        ("right_keys", ctypes.POINTER(ctypes.c_char_p)),
        ("num_keys", ctypes.c_size_t),
        ("how", ctypes.c_char_p),
        ("nulls_equal", ctypes.c_int),
        ("columns", ctypes.POINTER(ctypes.c_char_p)),
        ("num_columns", ctypes.c_size_t),
        ("ordered", ctypes.c_int),
        ("run", ctypes.POINTER(RunOptions)),
        ("where", ctypes.c_char_p),
        ("allow_cross", ctypes.c_int),
    ]


class GroupByOptions(ctypes.Structure):
    _fields_ = [
        ("size", ctypes.c_size_t),
        ("keys", ctypes.POINTER(ctypes.c_char_p)),
        ("num_keys", ctypes.c_size_t),
        ("aggregates", ctypes.c_char_p),
        ("ordered", ctypes.c_int),
        ("run", ctypes.POINTER(RunOptions)),
    ]


def names(columns: list[str]) -> ctypes.Array:
    return (ctypes.c_char_p * len(columns))(*(column.encode() for column in columns))


def new_stream() -> ctypes.Array:
    return ctypes.create_string_buffer(STREAM_BYTES)


def exported(rows: pa.Table) -> ctypes.Array:
    stream = new_stream()
    rows.to_reader()._export_to_c(ctypes.addressof(stream))
    return stream


class Garuda(engine.Engine):
    name = "garuda"

    def __init__(self, library: pathlib.Path, version: str, path: str, threads: int) -> None:
        self.version = version
        self.ways = (path,)
        self.threads = threads
        self.library = ctypes.CDLL(str(library))
        self.library.garuda_string_free.argtypes = [ctypes.c_void_p]
        for destroy in "engine", "table", "result":
            getattr(self.library, f"garuda_{destroy}_destroy").argtypes = [ctypes.c_void_p]
        self.engine = ctypes.c_void_p()
        self.tables: dict[str, pa.Table] = {}
        self.call("garuda_engine_create", ctypes.byref(self.engine))

    def __del__(self) -> None:
        if getattr(self, "engine", None):
            self.library.garuda_engine_destroy(self.engine)

    def call(self, function: str, *arguments: object) -> None:
        error = ctypes.c_void_p()
        if getattr(self.library, function)(*arguments, ctypes.byref(error)) == 0:
            return
        sentence = ctypes.string_at(error).decode() if error else "out of memory"
        self.library.garuda_string_free(error)
        raise RuntimeError(f"garuda: {sentence}")

    def run_options(self, way: str) -> ctypes.POINTER(RunOptions):
        return ctypes.pointer(RunOptions(size=ctypes.sizeof(RunOptions), path=way.encode(), threads=self.threads))

    def result(self, function: str, inputs: list[pa.Table], options: ctypes.Structure) -> pa.Table:
        options.size = ctypes.sizeof(options)
        tables = [self.read(rows) for rows in inputs]
        result = ctypes.c_void_p()
        try:
            self.call(function, self.engine, *tables, ctypes.byref(options), ctypes.byref(result))
            out = new_stream()
            self.call("garuda_result_stream", result, out)
            return pa.RecordBatchReader._import_from_c(ctypes.addressof(out)).read_all()
        finally:
            self.library.garuda_result_destroy(result)
            for table in tables:
                self.library.garuda_table_destroy(table)

    def read(self, rows: pa.Table) -> ctypes.c_void_p:
        table = ctypes.c_void_p()
        self.call("garuda_table_read", exported(rows), ctypes.byref(table))
        return table

    def load(self, tables: dict[str, pa.Table]) -> None:
        self.tables = dict(tables)

    def join(self, join: engine.Join, way: str) -> object:
        options = JoinOptions(
            left_keys=names([engine.KEY]), right_keys=names([engine.KEY]), num_keys=1, run=self.run_options(way)
        )
        return self.result("garuda_join", [self.tables["left"], self.tables["right"]], options)

    def group_by(self, group_by: engine.GroupBy, way: str) -> object:
        aggregates = ",".join(f"{function}:v" for function in group_by.functions)
        options = GroupByOptions(
            keys=names(group_by.keys),
            num_keys=len(group_by.keys),
            aggregates=aggregates.encode(),
            run=self.run_options(way),
        )
        return self.result("garuda_group_by", [self.tables["table"]], options)
