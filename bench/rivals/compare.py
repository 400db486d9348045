"""Whether engines agree: whole results as sets of rows; sums of floats within what rounding explains."""

from __future__ import annotations

import dataclasses

import duckdb
import engine
import pyarrow as pa

# Generated floats are below 1, so that each addition of n of them rounds by at most n · 2^-53: 1e-9 for groups of up to
# 3 000 rows, and far less is usual.
MOST_DIFFERENCE = 1e-9


@dataclasses.dataclass(frozen=True)
class Digest:
    """Number of rows and the sum of a 64-bit hash of every whole row; sums of floats stand beside it."""

    rows: int
    hashes: int
    floats: pa.Table | None


def digest(result: pa.Table, threads: int) -> Digest:
    """Integers are compared as int64, which holds each of them; columns by position."""
    is_float = [pa.types.is_floating(field.type) for field in result.schema]
    renamed = result.rename_columns([f"c{i}" for i in range(result.num_columns)])
    exact = ", ".join(f"c{i}::BIGINT" for i, is_one in enumerate(is_float) if not is_one)
    with duckdb.connect(config={"threads": threads}) as database:
        database.register("result", renamed)
        [(rows, hashes)] = database.sql(f"SELECT count(*), sum(hash({exact})::HUGEINT) FROM result").fetchall()
    return Digest(rows, hashes or 0, renamed if any(is_float) else None)


def difference(ours: Digest, theirs: Digest, operation: engine.Join | engine.GroupBy, threads: int) -> str | None:
    """What differs, or None."""
    if ours.rows != theirs.rows:
        return f"{theirs.rows} rows, not {ours.rows}"
    if (ours.floats is None) != (theirs.floats is None):
        return "other types of columns"
    if ours.hashes != theirs.hashes:
        return "other rows"
    if ours.floats is None:
        return None
    keys = ", ".join(f"c{i}" for i in range(len(operation.keys)))
    values = range(len(operation.keys), len(operation.keys) + len(operation.functions))
    most = ", ".join(f"abs(ours.c{i} - theirs.c{i})" for i in values)
    with duckdb.connect(config={"threads": threads}) as database:
        database.register("ours", ours.floats)
        database.register("theirs", theirs.floats)
        query = f"SELECT count(*), coalesce(max(greatest({most})), 0) FROM ours JOIN theirs USING ({keys})"
        [(paired, greatest)] = database.sql(query).fetchall()
    if paired != ours.rows:
        return f"{paired} groups in common, not {ours.rows}"
    return None if greatest <= MOST_DIFFERENCE else f"sums that differ by {greatest}"
