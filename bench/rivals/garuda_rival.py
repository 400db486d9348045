"""garuda itself, through its C ABI: Arrow C streams in, Arrow C streams out, no copy on the way."""

from __future__ import annotations

import ctypes
import pathlib

import engine
import pyarrow as pa

STREAM_BYTES = 5 * ctypes.sizeof(ctypes.c_void_p)  # struct ArrowArrayStream: four functions and the private data


class RunOptions(ctypes.Structure):
    """The last members of every options structure of garuda.h."""

    _fields_ = [
        ("path", ctypes.c_char_p),
        ("device", ctypes.c_char_p),
        ("tuning", ctypes.c_char_p),
        ("memory_limit_bytes", ctypes.c_uint64),
        ("device_memory_limit_bytes", ctypes.c_uint64),
        ("threads", ctypes.c_uint32),
        ("cancellation", ctypes.c_void_p),
    ]


class JoinOptions(ctypes.Structure):
    _fields_ = [
        ("size", ctypes.c_size_t),
        ("left_key", ctypes.c_char_p),
        ("right_key", ctypes.c_char_p),
        ("columns", ctypes.POINTER(ctypes.c_char_p)),
        ("num_columns", ctypes.c_size_t),
        ("ordered", ctypes.c_int),
        ("run", RunOptions),
    ]


class GroupByOptions(ctypes.Structure):
    _fields_ = [
        ("size", ctypes.c_size_t),
        ("keys", ctypes.POINTER(ctypes.c_char_p)),
        ("num_keys", ctypes.c_size_t),
        ("aggregates", ctypes.c_char_p),
        ("ordered", ctypes.c_int),
        ("run", RunOptions),
    ]


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
        self.library.garuda_engine_destroy.argtypes = [ctypes.c_void_p]
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

    def run_options(self, way: str) -> RunOptions:
        return RunOptions(path=way.encode(), threads=self.threads)

    def result(self, function: str, inputs: list[pa.Table], options: ctypes.Structure) -> pa.Table:
        options.size = ctypes.sizeof(options)
        streams = [exported(rows) for rows in inputs]
        out = new_stream()
        self.call(function, self.engine, *streams, ctypes.byref(options), out)
        return pa.RecordBatchReader._import_from_c(ctypes.addressof(out)).read_all()

    def load(self, tables: dict[str, pa.Table]) -> None:
        self.tables = dict(tables)

    def join(self, join: engine.Join, way: str) -> object:
        key = engine.KEY.encode()
        options = JoinOptions(left_key=key, right_key=key, run=self.run_options(way))
        return self.result("garuda_join", [self.tables["left"], self.tables["right"]], options)

    def group_by(self, group_by: engine.GroupBy, way: str) -> object:
        keys = (ctypes.c_char_p * len(group_by.keys))(*(key.encode() for key in group_by.keys))
        aggregates = ",".join(f"{function}:v" for function in group_by.functions)
        options = GroupByOptions(
            keys=keys, num_keys=len(keys), aggregates=aggregates.encode(), run=self.run_options(way)
        )
        return self.result("garuda_group_by", [self.tables["table"]], options)
