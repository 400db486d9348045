"""Runs one join or group-by by the command, the library and Python."""

from __future__ import annotations

import ctypes
import dataclasses
import functools
import json
import os
import pathlib
import subprocess
from typing import Any

import pyarrow
import pyarrow.ipc
import pyarrow.parquet

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD = pathlib.Path(os.environ.get("GARUDA_BUILD", ROOT / "build"))
COMMAND = pathlib.Path(os.environ.get("GARUDA_COMMAND", BUILD / "bin/garuda"))


@dataclasses.dataclass(frozen=True)
class Call:
    """A join of two tables, or a group-by of the left one, with options that all interfaces have."""

    left: pyarrow.Table
    right: pyarrow.Table | None = None
    keys: tuple[tuple[str, str], ...] = ()  # of both tables; of group-bys twice the same
    how: str = "inner"
    columns: tuple[str, ...] = ()
    where: str | None = None
    nulls_equal: bool = False
    aggregates: tuple[tuple[str, str, str], ...] = ()  # name, function, its columns and parameter
    ordered: bool = False
    strings: str = "utf8"
    threads: int = 0
    limited: bool = False  # to the memory that memory_limit() says
    path: str = "cpu"
    layout: str = "one"

    def aggregate_texts(self) -> str:
        """Aggregates as the command and the library take them."""
        return ",".join(f"{function}:{of}={name}" for name, function, of in self.aggregates)


def memory_limit(call: Call, interface: str) -> int:
    """Returns a limit, in bytes, that the command's tables exceed, so that it splits them into files. The library splits
    nothing: its groups must fit, and the rest of the limit decides how many rows are made at once."""
    rows: int = call.left.num_rows + (call.right.num_rows if call.right is not None else 0)
    return rows * 512 if interface != "command" and call.right is None else rows * 24 + (96 << 10)


# --- The command --------------------------------------------------------------------------------------------------


def write(table: pyarrow.Table, folder: pathlib.Path, layout: str, form: str) -> pathlib.Path:
    """A file with the table's batches, or with a file each where the layout says so. Returns what the command takes."""
    batches = table.to_batches() or [pyarrow.RecordBatch.from_pylist([], table.schema)]
    parts = [[batch] for batch in batches] if layout == "files" else [batches]
    folder.mkdir()
    for number, part in enumerate(parts):
        file = folder / f"{number:02}.{form}"
        if form == "parquet":
            with pyarrow.parquet.ParquetWriter(file, table.schema) as writer:
                for batch in part:
                    writer.write_batch(batch)
        else:
            make = pyarrow.ipc.new_stream if form == "arrows" else pyarrow.ipc.new_file
            options = pyarrow.ipc.IpcWriteOptions(unify_dictionaries=form == "arrow")
            with make(file, table.schema, options=options) as writer:
                if form == "arrow":
                    writer.write_table(pyarrow.Table.from_batches(part, table.schema))
                else:
                    for batch in part:
                        writer.write_batch(batch)
    return folder if len(parts) > 1 else file


def run_command(call: Call, folder: pathlib.Path, form: str, icd: str, *more: str) -> pyarrow.Table:
    output = folder / "result.arrow"
    arguments: list[Any] = ["join" if call.right is not None else "group-by", write(call.left, folder / "l", call.layout, form)]
    if call.right is not None:
        arguments += [write(call.right, folder / "r", call.layout, form), "--how", call.how]
        arguments += ["--on", ",".join(f"{left}={right}" for left, right in call.keys)] if call.keys else []
        arguments += ["--columns", ",".join(call.columns)]
        arguments += ["--where", call.where] if call.where else []
        arguments += ["--nulls-equal"] if call.nulls_equal else []
    else:
        arguments += ["--keys", ",".join(left for left, _ in call.keys)] if call.keys else []
        arguments += ["--agg", call.aggregate_texts()] if call.aggregates else []
    arguments += ["--ordered"] if call.ordered else []
    arguments += ["--threads", str(call.threads)] if call.threads else []
    arguments += ["--memory-limit", str(memory_limit(call, "command")), "--stats=json"] if call.limited else []
    arguments += ["--strings", call.strings, "--path", call.path, "--output", output, "--quiet", *more]
    environment = {**os.environ, "VK_ICD_FILENAMES": icd, "VK_DRIVER_FILES": icd, "GARUDA_CUDA_PLUGIN": "/nonexistent"}
    environment.pop("LD_PRELOAD", None)
    ran = subprocess.run([COMMAND, *map(str, arguments)], env=environment, capture_output=True, text=True, timeout=600)
    assert ran.returncode == 0, f"exit {ran.returncode}: {ran.stderr[-2000:]}"
    if call.limited:
        counters = json.loads(ran.stderr.splitlines()[-1])["counters"]
        assert counters.get("spilled_rows", 0) > 0 or counters.get("state_blocks", 0) > 1, "it fits its limit"
    with pyarrow.ipc.open_file(output) as reader:
        return reader.read_all()


# --- The library, by its C interface --------------------------------------------------------------------------------


class RunOptions(ctypes.Structure):
    _fields_ = [
        ("size", ctypes.c_size_t), ("path", ctypes.c_char_p), ("device", ctypes.c_char_p), ("tuning", ctypes.c_char_p),
        ("memory_limit_bytes", ctypes.c_uint64), ("device_memory_limit_bytes", ctypes.c_uint64),
        ("threads", ctypes.c_uint32), ("allow_cuda", ctypes.c_int), ("cancellation", ctypes.c_void_p),
        ("on_progress", ctypes.c_void_p), ("progress_context", ctypes.c_void_p),
    ]  # fmt: skip


class JoinOptions(ctypes.Structure):
    _fields_ = [
        ("size", ctypes.c_size_t), ("left_keys", ctypes.POINTER(ctypes.c_char_p)),
        ("right_keys", ctypes.POINTER(ctypes.c_char_p)), ("num_keys", ctypes.c_size_t), ("how", ctypes.c_char_p),
        ("nulls_equal", ctypes.c_int), ("columns", ctypes.POINTER(ctypes.c_char_p)), ("num_columns", ctypes.c_size_t),
        ("ordered", ctypes.c_int), ("run", ctypes.POINTER(RunOptions)), ("where", ctypes.c_char_p),
        ("allow_cross", ctypes.c_int), ("strings", ctypes.c_char_p),
    ]  # fmt: skip


class GroupByOptions(ctypes.Structure):
    _fields_ = [
        ("size", ctypes.c_size_t), ("keys", ctypes.POINTER(ctypes.c_char_p)), ("num_keys", ctypes.c_size_t),
        ("aggregates", ctypes.c_char_p), ("ordered", ctypes.c_int), ("run", ctypes.POINTER(RunOptions)),
        ("strings", ctypes.c_char_p),
    ]  # fmt: skip


class ArrowStream(ctypes.Structure):
    """The ArrowArrayStream of Arrow's C stream interface."""

    _fields_ = [(name, ctypes.c_void_p) for name in ("schema", "next", "last_error", "release", "data")]


@functools.cache
def library() -> tuple[ctypes.CDLL, ctypes.c_void_p]:
    """The shared library and an engine of it."""
    loaded = ctypes.CDLL(str(BUILD / "lib/libgaruda.so"))
    engine = ctypes.c_void_p()
    require(loaded.garuda_engine_create, ctypes.byref(engine))
    return loaded, engine


def require(function: Any, *arguments: Any) -> None:
    error = ctypes.c_char_p()
    code = function(*arguments, ctypes.byref(error))
    assert code == 0, f"code {code}: {(error.value or b'').decode()}"


def names(values: tuple[str, ...]) -> Any:
    return (ctypes.c_char_p * len(values))(*(value.encode() for value in values))


def run_library(call: Call) -> pyarrow.Table:
    loaded, engine = library()
    run = RunOptions(size=ctypes.sizeof(RunOptions), path=call.path.encode(), threads=call.threads)
    run.memory_limit_bytes = memory_limit(call, "library") if call.limited else 0
    tables, result = [], ctypes.c_void_p()
    try:
        for data in (call.left, call.right):
            if data is None:
                continue
            stream, handle = ArrowStream(), ctypes.c_void_p()
            data.to_reader()._export_to_c(ctypes.addressof(stream))
            require(loaded.garuda_table_read, ctypes.byref(stream), ctypes.byref(handle))
            tables.append(handle)
        lefts, rights = names(tuple(k for k, _ in call.keys)), names(tuple(k for _, k in call.keys))
        if call.right is not None:
            join = JoinOptions(
                size=ctypes.sizeof(JoinOptions), left_keys=lefts, right_keys=rights, num_keys=len(call.keys),
                how=call.how.encode(), nulls_equal=call.nulls_equal, columns=names(call.columns),
                num_columns=len(call.columns), ordered=call.ordered, run=ctypes.pointer(run),
                where=call.where.encode() if call.where else None, strings=call.strings.encode(),
            )  # fmt: skip
            require(loaded.garuda_join, engine, *tables, ctypes.byref(join), ctypes.byref(result))
        else:
            group_by = GroupByOptions(
                size=ctypes.sizeof(GroupByOptions), keys=lefts, num_keys=len(call.keys),
                aggregates=call.aggregate_texts().encode() or None, ordered=call.ordered, run=ctypes.pointer(run),
                strings=call.strings.encode(),
            )  # fmt: skip
            require(loaded.garuda_group_by, engine, *tables, ctypes.byref(group_by), ctypes.byref(result))
        stream = ArrowStream()
        require(loaded.garuda_result_stream, result, ctypes.byref(stream))
        return pyarrow.RecordBatchReader._import_from_c(ctypes.addressof(stream)).read_all()
    finally:
        loaded.garuda_result_destroy(result)
        for table in tables:
            loaded.garuda_table_destroy(table)


# --- Python ---------------------------------------------------------------------------------------------------------


def run_python(call: Call) -> pyarrow.Table:
    import garuda  # of the build that conftest puts on the path

    options = {"path": call.path, "strings": call.strings, "threads": call.threads or None}
    options["memory_limit"] = memory_limit(call, "python") if call.limited else None
    if call.right is not None:
        return pyarrow.table(
            garuda.join(
                call.left, call.right, on=list(call.keys) or None, how=call.how, columns=list(call.columns),
                where=call.where, nulls_equal=call.nulls_equal, ordered=call.ordered, **options,
            )
        )  # fmt: skip
    groups = garuda.group_by(call.left, [left for left, _ in call.keys], ordered=call.ordered, **options)
    named = {name: (of.split(":")[0], function, *map(parameter, of.split(":")[1:])) for name, function, of in call.aggregates}
    return pyarrow.table(groups.agg(**named))


def parameter(text: str) -> str | int | float:
    """The second column of an aggregate, or its number."""
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            pass
    return text


def run(call: Call, interface: str, folder: pathlib.Path, form: str, icd: str) -> pyarrow.Table:
    """The result, validated in full. The command reads files of `form`, .arrow, .arrows or .parquet, in a new folder."""
    if interface == "command":
        folder.mkdir()
        result = run_command(call, folder, form, icd)
    else:
        result = (run_library if interface == "library" else run_python)(call)
    result.validate(full=True)
    return result
