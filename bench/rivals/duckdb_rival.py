"""DuckDB: into a table of its own, or into Arrow; insertion order off."""

from __future__ import annotations

import duckdb
import engine
import pyarrow as pa

RESULT = "result"


class DuckDb(engine.Engine):
    name = "DuckDB"
    version = duckdb.__version__
    ways = ("create table", "arrow")

    def __init__(self, threads: int) -> None:
        self.database = duckdb.connect(config={"threads": threads, "preserve_insertion_order": "false"})
        self.loaded: list[str] = []

    def load(self, tables: dict[str, pa.Table]) -> None:
        self.forget()
        for name in self.loaded:
            self.database.execute(f'DROP TABLE "{name}"')
        self.loaded = list(tables)
        for name, rows in tables.items():
            self.database.register("arrow_rows", rows)
            self.database.execute(f'CREATE TABLE "{name}" AS SELECT * FROM arrow_rows')
            self.database.unregister("arrow_rows")

    def join(self, join: engine.Join, way: str) -> object:
        return self.answer(f'SELECT * FROM "left" JOIN "right" USING ({engine.KEY})', way)

    def group_by(self, group_by: engine.GroupBy, way: str) -> object:
        keys = ", ".join(group_by.keys)
        aggregates = ", ".join(f"{function}(v)" for function in group_by.functions)
        return self.answer(f'SELECT {keys}, {aggregates} FROM "table" GROUP BY {keys}', way)

    def answer(self, query: str, way: str) -> object:
        if way == "arrow":
            return self.database.sql(query).to_arrow_table()
        self.database.execute(f"CREATE TABLE {RESULT} AS {query}")
        return RESULT

    def to_arrow(self, result: object) -> pa.Table:
        return result if isinstance(result, pa.Table) else self.database.sql(f"FROM {RESULT}").to_arrow_table()

    def forget(self) -> None:
        self.database.execute(f"DROP TABLE IF EXISTS {RESULT}")
