"""Compares the values of expressions with DuckDB's.

    python compare_with_duckdb.py PROGRAM      PROGRAM: tests/expr/expression_values.cpp
"""

from __future__ import annotations

import decimal
import math
import re
import struct
import subprocess
import sys

import duckdb

MOST_SHOWN = 5


def shown(value: object, type_name: str) -> str:
    """A value of DuckDB's as the program shows its own."""
    if value is None:
        return "null"
    if isinstance(value, float):
        return "nan" if math.isnan(value) else struct.pack(">d", value).hex()
    if isinstance(value, decimal.Decimal):
        return str(int(value.scaleb(int(re.search(r", (\d+)\)", type_name)[1]), decimal.Context(prec=80))))
    if isinstance(value, (str, bytes)):
        return "x" + (value.encode() if isinstance(value, str) else value).hex()
    return str(int(value))


def in_numbers(sql: str, type_name: str) -> str:
    """Dates and times by their numbers, which Python's types do not all hold."""
    if type_name.startswith("date"):
        return f"datediff('day', date '1970-01-01', {sql})"
    if type_name.startswith("timestamp"):
        return f"epoch_us({sql})"
    if type_name.startswith("time"):
        return f"epoch_us({sql})"
    return sql


def read(output: str) -> tuple[dict[str, list[str]], list[tuple[str, str, list[str]]]]:
    columns: dict[str, list[str]] = {}
    cases: list[tuple[str, str, list[str]]] = []
    for line in output.split("\n"):
        words = line.split("\t")
        if words[0] == "column" and len(words) == 3:
            values = columns[f"{words[1]} {words[2]}"] = []
        elif words[0] == "case" and len(words) == 3:
            values = []
            cases.append((words[1], words[2], values))
        elif line:
            values.append(line)
    return columns, cases


def main() -> int:
    columns, cases = read(subprocess.run([sys.argv[1]], check=True, capture_output=True, text=True).stdout)
    database = duckdb.connect()
    database.execute(f"create table edges (row_number integer, {', '.join(columns)})")
    rows = ", ".join(f"({i}, {', '.join(row)})" for i, row in enumerate(zip(*columns.values(), strict=True)))
    database.execute(f"insert into edges values {rows}")
    failed = 0
    for sql, type_name, values in cases:
        query = f"select {in_numbers(sql, type_name)} from edges order by row_number"
        try:
            wanted = [shown(row[0], type_name) for row in database.execute(query).fetchall()]
        except (duckdb.Error, TypeError, ValueError) as error:
            print(f"{sql}: {error}")
            failed += 1
            continue
        wrong = [i for i, (a, b) in enumerate(zip(values, wanted, strict=True)) if a != b]
        failed += bool(wrong)
        for i in wrong[:MOST_SHOWN]:
            used = {name.split()[0]: literals[i] for name, literals in columns.items()
                    if re.search(rf"\b{name.split()[0]}\b", sql)}
            print(f"{sql}, {used}: {values[i]}, DuckDB has {wanted[i]} ({len(wrong)} rows differ)")
    print(f"{len(cases)} expressions over {len(next(iter(columns.values())))} rows, {failed} unlike DuckDB's")
    return 1 if failed or not cases else 0


if __name__ == "__main__":
    sys.exit(main())
