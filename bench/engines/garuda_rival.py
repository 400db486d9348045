"""garuda itself: through its C ABI, Arrow C streams in and out without a copy on the way, or its command on files."""

from __future__ import annotations

import ctypes
import json
import os
import pathlib
import re
import shlex
import subprocess

import pyarrow as pa
from engines import derive, engine, files

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
        ("strings", ctypes.c_char_p),
    ]


class GroupByOptions(ctypes.Structure):
    _fields_ = [
        ("size", ctypes.c_size_t),
        ("keys", ctypes.POINTER(ctypes.c_char_p)),
        ("num_keys", ctypes.c_size_t),
        ("aggregates", ctypes.c_char_p),
        ("ordered", ctypes.c_int),
        ("run", ctypes.POINTER(RunOptions)),
        ("strings", ctypes.c_char_p),
    ]


def escaped(name: str) -> str:
    """As lists of names take it."""
    return "".join(f"\\{letter}" if letter in "\\:,=." else letter for letter in name)


def aggregates_text(group_by: engine.GroupBy) -> str:
    texts = []
    for aggregate in group_by.aggregates:
        parameters = [str(aggregate.number)] if aggregate.number else []
        words = [aggregate.function, *map(escaped, aggregate.columns), *parameters]
        texts.append(f"{':'.join(words)}={escaped(aggregate.name)}")
    return ",".join(texts)


def names(columns: list[str] | tuple[str, ...]) -> ctypes.Array:
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
        self.said = b"{}"
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
        result, said = ctypes.c_void_p(), ctypes.c_void_p()
        try:
            self.call(function, self.engine, *tables, ctypes.byref(options), ctypes.byref(result))
            out = new_stream()
            self.call("garuda_result_stream", result, out)
            rows = pa.RecordBatchReader._import_from_c(ctypes.addressof(out)).read_all()
            self.call("garuda_result_statistics", result, ctypes.byref(said))
            self.said = ctypes.string_at(said)
            return rows
        finally:
            self.library.garuda_string_free(said)
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
            left_keys=names(join.left_keys),
            right_keys=names(join.right_keys),
            num_keys=len(join.on),
            how=join.how.encode(),
            columns=names(join.columns) if join.columns else None,
            num_columns=len(join.columns),
            run=self.run_options(way),
        )
        return self.result("garuda_join", [self.tables[join.left], self.tables[join.right]], options)

    def group_by(self, group_by: engine.GroupBy, way: str) -> object:
        options = GroupByOptions(
            keys=names(group_by.keys),
            num_keys=len(group_by.keys),
            aggregates=aggregates_text(group_by).encode(),
            run=self.run_options(way),
        )
        return derive.derived(self.result("garuda_group_by", [self.tables[group_by.table]], options), group_by)

    def statistics(self) -> dict:
        return json.loads(self.said)


class Batch:
    """`garuda batch`: commands in one process, which stays."""

    def __init__(self, command: pathlib.Path) -> None:
        self.process = subprocess.Popen(
            [command, "batch", "--keep-going"], stdin=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )

    def __del__(self) -> None:
        if process := getattr(self, "process", None):
            process.stdin.close()
            process.wait()
            process.stderr.close()

    def run(self, words: list[str]) -> str:
        """The statistics of a command with --stats=json."""
        lines = []
        try:
            self.process.stdin.write(shlex.join(words) + "\n")
            self.process.stdin.flush()
        except BrokenPipeError as error:
            raise RuntimeError("garuda batch has ended") from error
        for line in self.process.stderr:
            if line.startswith("{"):
                return line
            lines.append(line.strip())
            if re.fullmatch(r"garuda: line \d+ of standard input ended with status \d+", lines[-1]):
                break
        raise RuntimeError(" ".join(lines[-3:]) or "garuda batch has ended")

    def cpu_seconds(self) -> float:
        fields = pathlib.Path(f"/proc/{self.process.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")  # user and system


class GarudaFiles(engine.Engine):
    """The command, a process a run. What is derived from groups takes them from an Arrow file."""

    name = "garuda"

    def __init__(
        self, command: pathlib.Path, version: str, path: str, threads: int, file_format: str, folder: pathlib.Path,
        memory_limit: str | None = None, batch: bool = False,
    ) -> None:
        self.version = version
        self.ways = (path,)
        self.batch = Batch(command) if batch else None
        self.command = [command, "--threads", str(threads)]
        if memory_limit:
            self.command += ["--memory-limit", memory_limit, "--temp-folder", folder]
        self.output = folder / f"garuda.{file_format}"
        self.groups = folder / "garuda-groups.arrow"
        self.files: dict[str, pathlib.Path] = {}
        self.said: dict = {}

    def load(self, tables: dict[str, pathlib.Path]) -> None:
        self.forget()
        self.files = dict(tables)

    def execute(self, arguments: list[object], way: str, output: pathlib.Path) -> None:
        command, *options = self.command
        words = [str(word) for word in (*arguments, "--path", way, *options, "--quiet", "--stats=json", "-o", output)]
        self.said = json.loads(self.batch.run(words) if self.batch else self.run_process([str(command), *words]))

    @staticmethod
    def run_process(call: list[str]) -> str:
        """The last line that it prints."""
        done = subprocess.run(call, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
        lines = done.stderr.strip().splitlines()
        if done.returncode != 0:
            raise RuntimeError(" ".join(lines[-3:]))
        return lines[-1]

    def cpu_seconds(self) -> float:
        return self.batch.cpu_seconds() if self.batch else 0.0

    def join(self, join: engine.Join, way: str) -> object:
        on = ",".join(f"{escaped(left)}={escaped(right)}" for left, right in join.on)
        columns = ["--columns", ",".join(join.columns)] if join.columns else []
        arguments = [self.files[join.left], self.files[join.right], "--on", on, "--how", join.how, *columns]
        self.execute(["join", *arguments], way, self.output)
        return self.output

    def group_by(self, group_by: engine.GroupBy, way: str) -> object:
        keys = ",".join(map(escaped, group_by.keys))
        arguments = ["group-by", self.files[group_by.table], "--keys", keys, "--agg", aggregates_text(group_by)]
        self.execute(arguments, way, self.groups if group_by.derived else self.output)
        if group_by.derived:
            files.write(self.output, derive.derived(files.read(self.groups), group_by))
        return self.output

    def to_arrow(self, result: pathlib.Path) -> pa.Table:
        return files.read(result)

    def statistics(self) -> dict:
        return self.said

    def forget(self) -> None:
        self.output.unlink(missing_ok=True)
        self.groups.unlink(missing_ok=True)
