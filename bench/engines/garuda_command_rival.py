"""garuda's command, from files to a file."""

from __future__ import annotations

import json
import os
import pathlib
import re
import shlex
import subprocess

import pyarrow as pa
from engines import derive, engine, files


def escaped(name: str) -> str:
    """A name as lists of names take it."""
    return "".join(f"\\{letter}" if letter in "\\:,=." else letter for letter in name)


def parts_of(aggregate: engine.Aggregate) -> list[str | int]:
    """Columns beyond the first, and the number of values."""
    return [*aggregate.columns[1:], *([aggregate.number] if aggregate.number else [])]


def aggregates_text(group_by: engine.GroupBy) -> str:
    texts = []
    for aggregate in group_by.aggregates:
        words = [*map(escaped, aggregate.columns[:1]), *(escaped(str(part)) for part in parts_of(aggregate))]
        texts.append(f"{':'.join([aggregate.function, *words])}={escaped(aggregate.name)}")
    return ",".join(texts)


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


class GarudaFiles(files.FromFiles, engine.Engine):
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
        self.said: dict = {}

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

    def statistics(self, result: object) -> dict:
        return self.said

    def forget(self) -> None:
        super().forget()
        self.groups.unlink(missing_ok=True)
