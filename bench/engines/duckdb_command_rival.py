"""DuckDB's command (PyPI: duckdb-cli), a process a run, as garuda's is: what both do for somebody at a shell."""

from __future__ import annotations

import importlib.metadata
import importlib.util
import os
import pathlib
import subprocess

from engines import duckdb_rival


def command() -> pathlib.Path:
    package = importlib.util.find_spec("duckdb_cli")
    if package is None or package.origin is None:
        raise RuntimeError("the package duckdb-cli is not installed (python/requirements-dev.txt)")
    return pathlib.Path(package.origin).with_name("duckdb")


class DuckDbCommandFiles(duckdb_rival.DuckDbFiles):
    """From Parquet or CSV files into one."""

    name = "DuckDB's command"

    def __init__(self, threads: int, file_format: str, folder: pathlib.Path) -> None:
        super().__init__(threads, file_format, folder)
        self.version = importlib.metadata.version("duckdb-cli")
        self.settings = f"SET threads = {threads}; SET preserve_insertion_order = false; "
        self.output = folder / f"duckdb-command.{file_format}"

    def answer(self, query: str, way: str) -> object:
        # Without the user's own settings.
        call = [command(), "-init", os.devnull, "-bail", "-c", self.settings + self.copy_text(query, way)]
        done = subprocess.run(call, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            raise RuntimeError(f"DuckDB's command: {done.stderr.strip()}")
        return self.output
