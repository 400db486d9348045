"""garuda, DuckDB and Polars as runners of queries in SQL, over tables in memory or Parquet files."""

from __future__ import annotations

import pathlib
import sys
import time

import garuda
import garuda._sql
import pyarrow as pa
from engines import duckdb_rival, engine, polars_rival

Tables = dict[str, pa.Table] | dict[str, pathlib.Path]


def parts_of(path: pathlib.Path) -> list[pathlib.Path]:
    """The files of a table."""
    return sorted(path.iterdir()) if path.is_dir() else [path]


class GarudaSql(engine.Runner):
    """garuda.sql in two steps: DataFusion plans, which is not timed with the run, and the engine runs."""

    name = "garuda"

    def __init__(self, version: str, path: str, threads: int) -> None:
        self.version, self.ways = version, (path,)
        self.engine = garuda.Engine(threads=threads)
        self.tables: dict[str, object] = {}
        self.planned: garuda._sql.Planned | None = None
        self.planning_s: list[float] = []

    def load(self, tables: Tables) -> None:
        # Tables are made once, as the rivals' are: a call looks at the bytes of every other table again.
        self.tables = {
            n: garuda.scan(parts_of(t)) if isinstance(t, pathlib.Path) else garuda.table(t) for n, t in tables.items()
        }

    def prepare(self, operation: object, way: str) -> None:
        start = time.perf_counter()
        self.planned = garuda._sql.planned(self.engine, str(operation), self.tables, {"path": way}, sys._getframe())
        self.planning_s.append(time.perf_counter() - start)

    def run(self, operation: object, way: str) -> object:
        return garuda.Table(self.planned.read(self.engine).run(None))

    def to_arrow(self, result: garuda.Table) -> pa.Table:
        return result.to_arrow()

    def statistics(self, result: garuda.Table) -> dict:
        return dict(result.stats)


class DuckDbSql(duckdb_rival.DuckDb):
    """DuckDB over tables of its own, or over views of files, to Arrow."""

    def __init__(self, threads: int, from_files: bool) -> None:
        super().__init__(threads, ("parquet→arrow",) if from_files else ("table→arrow",))

    def load(self, tables: Tables) -> None:
        for name in self.loaded:
            kind = "view" if self.ways[0].startswith("parquet") else "table"
            self.database.execute(f"drop {kind} {duckdb_rival.quoted(name)}")
        self.loaded = list(tables)
        for name, table in tables.items():
            if isinstance(table, pathlib.Path):
                paths = [str(part) for part in parts_of(table)]
                self.database.execute(f"create view {duckdb_rival.quoted(name)} as from read_parquet({paths})")
            else:
                self.database.register("rows of a table", table)
                self.database.execute(f'create table {duckdb_rival.quoted(name)} as from "rows of a table"')
                self.database.unregister("rows of a table")

    def run(self, operation: object, way: str) -> object:
        return self.database.sql(str(operation)).to_arrow_table()


class PolarsSql(engine.Runner):
    """Polars' own SQL, as far as it reads the texts."""

    name = "Polars"
    ways = ("in-memory", "streaming")

    def __init__(self, threads: int) -> None:
        self.polars = polars_rival.start(threads)
        self.version = self.polars.__version__
        self.context = self.polars.SQLContext()

    def load(self, tables: Tables) -> None:
        read = {n: self.polars.scan_parquet(parts_of(t)) if isinstance(t, pathlib.Path) else self.polars.from_arrow(t).lazy()
                for n, t in tables.items()}  # fmt: skip
        self.context = self.polars.SQLContext(read)

    def run(self, operation: object, way: str) -> object:
        return self.context.execute(str(operation), eager=False).collect(engine=way)

    def to_arrow(self, result: object) -> pa.Table:
        return result.to_arrow()
