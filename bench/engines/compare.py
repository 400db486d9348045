"""Whether engines agree: whole results as sets of rows; what is rounded within what rounding explains."""

from __future__ import annotations

import dataclasses

import duckdb
import pyarrow as pa
from engines import engine

# Greatest difference, as a share of the value, or of 1 where that is more. Values are below 100, so each of the n
# additions of a sum rounds by at most 2^-53 of it, and usually far less: 1e-9 for groups of up to 10^7 rows.
# Correlations are made of differences of sums.
MOST_DIFFERENCE = 1e-9
# Functions whose floats engines round in their own ways; minima, maxima and columns of joins are exact.
ROUNDED = ("sum", "mean", "median", "std", "corr")


@dataclasses.dataclass(frozen=True)
class Digest:
    """Number of rows and the sum of a 64-bit hash of every whole row; rounded columns, by position, stand beside it."""

    rows: int
    hashes: int
    types: tuple[pa.DataType, ...]
    rounded: tuple[int, ...]
    result: pa.Table | None  # where there are rounded columns


def rounded_columns(result: pa.Table, operation: engine.Operation) -> tuple[int, ...]:
    if isinstance(operation, engine.Join):
        return ()
    aggregates = operation.aggregates[:1] if operation.derived else operation.aggregates
    columns = enumerate((aggregate.function for aggregate in aggregates), len(operation.keys))
    return tuple(i for i, function in columns if function in ROUNDED and pa.types.is_floating(result.schema.types[i]))


def exact(name: str, kind: pa.DataType, wanted: pa.DataType) -> str:
    """A column of type `kind` as what `wanted` compares as, integers as int64: DuckDB's sums of integers have 128 bits,
    which are decimals in Arrow and floats in Parquet."""
    if pa.types.is_integer(wanted):
        return f"CASE WHEN {name} = trunc({name}) THEN {name}::BIGINT END" if kind != wanted else f"{name}::BIGINT"
    return f"{name}::DECIMAL(38, {wanted.scale})" if pa.types.is_decimal(wanted) else name


def digest(result: pa.Table, operation: engine.Operation, threads: int, expected: Digest | None = None) -> Digest:
    """Columns by position; `expected`, where there is one, says which are rounded and of which types the others are."""
    rounded = expected.rounded if expected else rounded_columns(result, operation)
    types = expected.types if expected else tuple(result.schema.types)
    renamed = result.rename_columns([f"c{i}" for i in range(result.num_columns)])
    columns = enumerate(zip(renamed.schema, types))
    hashed = ", ".join(exact(field.name, field.type, wanted) for i, (field, wanted) in columns if i not in rounded)
    with duckdb.connect(config={"threads": threads}) as database:
        database.register("result", renamed)
        [(rows, hashes)] = database.sql(f"SELECT count(*), sum(hash({hashed})::HUGEINT) FROM result").fetchall()
    return Digest(rows, hashes or 0, types, rounded, renamed if rounded else None)


def difference(
    ours: Digest, theirs: Digest, operation: engine.Operation, threads: int, zero_sums: bool = False
) -> str | None:
    """Says what differs, or None. NaN counts as null: it is a correlation where a column does not vary; `zero_sums`:
    theirs of no values are 0."""
    if ours.rows != theirs.rows:
        return f"{theirs.rows} rows, not {ours.rows}"
    if ours.hashes != theirs.hashes:
        return "other rows"
    if not ours.rounded:
        return None
    same_keys = " AND ".join(f"ours.c{i} IS NOT DISTINCT FROM theirs.c{i}" for i in range(len(operation.keys)))
    pairs = [tuple(f"nullif({side}.c{i}::DOUBLE, 'nan')" for side in ("ours", "theirs")) for i in ours.rounded]
    if zero_sums:
        is_sum = [operation.aggregates[i - len(operation.keys)].function == "sum" for i in ours.rounded]
        pairs = [(f"coalesce({a}, 0)", b) if is_one else (a, b) for (a, b), is_one in zip(pairs, is_sum)]
    differences = (f"abs({a} - {b}) / greatest(1, abs({a}))" for a, b in pairs)
    nulls = " OR ".join(f"({a} IS NULL) <> ({b} IS NULL)" for a, b in pairs)
    with duckdb.connect(config={"threads": threads}) as database:
        database.register("ours", ours.result)
        database.register("theirs", theirs.result)
        [(paired, of_nulls, greatest)] = database.sql(
            f"SELECT count(*), count(*) FILTER ({nulls}), coalesce(max(greatest({', '.join(differences)})), 0)"
            f" FROM ours JOIN theirs ON {same_keys}"
        ).fetchall()
    if paired != ours.rows:
        return f"{paired} groups in common, not {ours.rows}"
    if of_nulls:
        return f"{of_nulls} groups that are null, or are not"
    return None if greatest <= MOST_DIFFERENCE else f"values that differ by {greatest}"
