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
        # Tables in memory are stored once, as DuckDB's are.
        self.tables = {
            n: garuda.scan(parts_of(t)) if isinstance(t, pathlib.Path) else self.engine.store(t) for n, t in tables.items()
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


#: DuckDB's tables in memory as they are by themselves, and compressed as those of its files are.
PLAIN_TABLE, COMPRESSED_TABLE = "table→arrow", "compressed table→arrow"


class DuckDbSql(duckdb_rival.DuckDb):
    """DuckDB over tables of its own, or over views of files, to Arrow."""

    def __init__(self, threads: int, from_files: bool) -> None:
        super().__init__(threads, ("parquet→arrow",) if from_files else (PLAIN_TABLE, COMPRESSED_TABLE))
        self.database.execute("attach ':memory:' as compressed (compress)")

    def load(self, tables: Tables) -> None:
        for name in self.loaded:
            kind = "view" if self.ways[0].startswith("parquet") else "table"
            self.database.execute(f"drop {kind} {duckdb_rival.quoted(name)}")
            self.database.execute(f"drop table if exists compressed.{duckdb_rival.quoted(name)}")
        self.loaded = list(tables)
        for name, table in tables.items():
            if isinstance(table, pathlib.Path):
                paths = [str(part) for part in parts_of(table)]
                self.database.execute(f"create view {duckdb_rival.quoted(name)} as from read_parquet({paths})")
            else:
                self.database.register("rows of a table", table)
                self.database.execute(f'create table {duckdb_rival.quoted(name)} as from "rows of a table"')
                self.database.execute(f'create table compressed.{duckdb_rival.quoted(name)} as from "rows of a table"')
                self.database.unregister("rows of a table")
        self.database.execute("checkpoint compressed")

    def prepare(self, operation: object, way: str) -> None:
        self.database.execute(f"use {'compressed' if way == COMPRESSED_TABLE else 'memory'}")

    def run(self, operation: object, way: str) -> object:
        return self.database.sql(str(operation)).to_arrow_table()


class PolarsSql(engine.Runner):
    """Polars' own SQL, as far as it reads the texts; of tables in memory also with texts that come again as categories."""

    name = "Polars"

    def __init__(self, threads: int, from_files: bool) -> None:
        self.polars = polars_rival.start(threads)
        self.version = self.polars.__version__
        self.ways = ("in-memory", "streaming", *(() if from_files else ("in-memory of categories", "streaming of categories")))
        self.contexts = {False: self.polars.SQLContext(), True: self.polars.SQLContext()}

    def load(self, tables: Tables) -> None:
        plain, categories = {}, {}
        for name, table in tables.items():
            if isinstance(table, pathlib.Path):
                plain[name] = self.polars.scan_parquet(parts_of(table))
                continue
            frame = self.polars.from_arrow(table)
            plain[name], categories[name] = frame.lazy(), self.with_categories(frame).lazy()
        self.contexts = {False: self.polars.SQLContext(plain), True: self.polars.SQLContext(categories)}

    def with_categories(self, frame: object) -> object:
        """The frame with categories in place of texts of which each value comes four times, as garuda.store has it."""
        strings = [name for name, kind in frame.schema.items() if kind == self.polars.String]
        few = [name for name in strings if frame[name].n_unique() <= frame.height // 4]
        return frame.with_columns(self.polars.col(few).cast(self.polars.Categorical)) if few else frame

    def run(self, operation: object, way: str) -> object:
        streaming, _, form = way.partition(" of ")
        return self.contexts[form == "categories"].execute(str(operation), eager=False).collect(engine=streaming)

    def to_arrow(self, result: object) -> pa.Table:
        texts = self.polars.col(self.polars.Categorical).cast(self.polars.String)
        return result.with_columns(texts).to_arrow()
