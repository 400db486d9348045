"""Tables for the tests, and DuckDB's answer to the same join."""

from __future__ import annotations

import collections
import datetime
import decimal
import pathlib
import random

import duckdb
import pyarrow as pa
import pyarrow.compute
import pyarrow.csv
import pyarrow.feather
import pyarrow.parquet

EPOCH = datetime.datetime(2000, 1, 1)

# A key type, and what makes its values from small integers, negative ones too unless the type is unsigned.
KEYS = {
    "int8": (pa.int8(), lambda i: i % 100),
    "int16": (pa.int16(), lambda i: i - 500),
    "int32": (pa.int32(), lambda i: i * 65_537 - 2**30),
    "int64": (pa.int64(), lambda i: i * 2**32 - 2**45),
    "uint8": (pa.uint8(), lambda i: i % 256),
    "uint16": (pa.uint16(), lambda i: i * 7),
    "uint32": (pa.uint32(), lambda i: 2**32 - 1 - i * 1024),
    "uint64": (pa.uint64(), lambda i: 2**64 - 1 - i * 2**20),
    "date32": (pa.date32(), lambda i: EPOCH.date() + datetime.timedelta(days=i)),
    "timestamp": (pa.timestamp("us"), lambda i: EPOCH - datetime.timedelta(microseconds=i * 77)),
    "timestamp_tz": (pa.timestamp("ns", "UTC"), lambda i: EPOCH + datetime.timedelta(hours=i)),
    "decimal9": (pa.decimal128(9, 2), lambda i: decimal.Decimal(i - 300) / 4),
    "decimal18": (pa.decimal128(18, 4), lambda i: decimal.Decimal(i) * 12_345_678 + decimal.Decimal("0.0625")),
}


def keys(kind: str, num_rows: int, seed: int, null_share: float = 0.1) -> pa.Array:
    """Keys from a small range, so that many match several times, with nulls."""
    data_type, make = KEYS[kind]
    rng = random.Random(seed)
    values = [None if rng.random() < null_share else make(rng.randrange(1000)) for _ in range(num_rows)]
    return pa.array(values, data_type)


def payloads(num_rows: int, seed: int) -> dict[str, pa.Array]:
    """A column of every kind that files hold, with nulls, empty and long strings."""
    rng = random.Random(seed)
    words = ["", "ä", "plain", 'with "quotes", commas\nand lines', "long " * 40]

    def column(data_type: pa.DataType, make) -> pa.Array:
        return pa.array([None if rng.random() < 0.15 else make() for _ in range(num_rows)], data_type)

    return {
        "flag": column(pa.bool_(), lambda: rng.random() < 0.5),
        "tiny": column(pa.int8(), lambda: rng.randrange(-128, 128)),
        "number": column(pa.int64(), lambda: rng.randrange(-(2**63), 2**63)),
        "real": column(pa.float64(), lambda: rng.uniform(-1e9, 1e9)),
        "small": column(pa.float32(), lambda: float(rng.randrange(-1000, 1000)) / 8),
        "money": column(pa.decimal128(15, 2), lambda: decimal.Decimal(rng.randrange(-(10**12), 10**12)) / 100),
        "huge": column(pa.decimal128(38, 6), lambda: decimal.Decimal(rng.randrange(10**37)) / 10**6),
        "day": column(pa.date32(), lambda: EPOCH.date() + datetime.timedelta(days=rng.randrange(-9000, 9000))),
        "moment": column(pa.timestamp("us"), lambda: EPOCH + datetime.timedelta(microseconds=rng.randrange(10**15))),
        "hour": column(pa.time64("us"), lambda: datetime.time(rng.randrange(24), rng.randrange(60), 0, 5)),
        "word": column(pa.string(), lambda: rng.choice(words)),
        "label": column(pa.string(), lambda: rng.choice(words)).dictionary_encode(),
        "bytes": column(pa.binary(), lambda: rng.randbytes(rng.randrange(20))),
        "code": column(pa.binary(5), lambda: rng.randbytes(5)),
    }


def table(kind: str, num_rows: int, seed: int, key_name: str = "k") -> pa.Table:
    """The row number, a key and a payload of every kind."""
    columns = {"row": pa.array(range(num_rows), pa.int64()), key_name: keys(kind, num_rows, seed)}
    return pa.table({**columns, **payloads(num_rows, seed + 1)})


def write(path: pathlib.Path, rows: pa.Table, batch_rows: int = 700) -> None:
    """Writes a table in several row groups or batches."""
    if path.suffix == ".parquet":
        pyarrow.parquet.write_table(rows, path, row_group_size=batch_rows)
    elif path.suffix == ".csv":
        pyarrow.csv.write_csv(rows, path)
    else:
        compression = "lz4" if path.suffix == ".feather" else "uncompressed"
        pyarrow.feather.write_feather(rows, path, compression=compression, chunksize=batch_rows)


def read(path: pathlib.Path) -> pa.Table:
    if path.suffix == ".parquet":
        return pyarrow.parquet.read_table(path)
    if path.suffix == ".csv":
        convert = pyarrow.csv.ConvertOptions(
            null_values=[""], strings_can_be_null=True, quoted_strings_can_be_null=False
        )
        parse = pyarrow.csv.ParseOptions(newlines_in_values=True)
        return pyarrow.csv.read_csv(path, convert_options=convert, parse_options=parse)
    return pyarrow.feather.read_table(path, memory_map=False)


def result_names(left: pa.Table, right: pa.Table, right_key: str) -> list[str]:
    """Left columns, then right columns without the key; a clash gets the suffix `_right`."""
    names = list(left.column_names)
    added = [name for name in right.column_names if name != right_key]
    return names + [f"{name}_right" if name in names else name for name in added]


def expected_join(left: pa.Table, right: pa.Table, left_key: str, right_key: str) -> pa.Table:
    """DuckDB's inner join of row numbers, and the rows that they stand for."""
    left_keys = pa.table({"k": left[left_key], "l": pa.array(range(left.num_rows), pa.int64())})
    right_keys = pa.table({"k": right[right_key], "r": pa.array(range(right.num_rows), pa.int64())})
    with duckdb.connect() as database:
        database.register("left_keys", left_keys)
        database.register("right_keys", right_keys)
        pairs = database.sql("SELECT l, r FROM left_keys JOIN right_keys USING (k) ORDER BY l, r").to_arrow_table()
    left_rows = left.take(pairs["l"])
    right_rows = right.drop_columns([right_key]).take(pairs["r"])
    return pa.table(left_rows.columns + right_rows.columns, names=result_names(left, right, right_key))


def row_numbers(
    left: pa.Table, right: pa.Table, kind: str, nulls_equal: bool, what: str, where: str | None = None
) -> pa.Table:
    """DuckDB's answer on row numbers `l` and `r` of tables that both call their key `k`; `what` is selected. `where`:
    a condition on left_keys and right_keys, which then have all columns."""
    equal = "IS NOT DISTINCT FROM" if nulls_equal else "="
    matches = f"left_keys.k {equal} right_keys.k" + (f" AND ({where})" if where else "")
    exists = f"EXISTS (FROM right_keys WHERE {matches})"
    condition = f"ON {matches}"
    source = {
        "semi": f"FROM left_keys WHERE {exists}",
        "anti": f"FROM left_keys WHERE NOT {exists}",
        "mark": f"FROM (SELECT l, {exists} AS marked FROM left_keys)",
    }.get(kind, f"FROM left_keys {kind} JOIN right_keys {condition}")
    with duckdb.connect() as database:
        for name, rows, number in (("left_keys", left, "l"), ("right_keys", right, "r")):
            numbers = pa.array(range(rows.num_rows), pa.int64())
            compared = rows if where else rows.select(["k"])
            database.register(name, compared.append_column(number, numbers))
        database.sql("SET TimeZone = 'UTC'")
        return database.sql(f"SELECT {what} {source}").to_arrow_table()


def expected_count(left: pa.Table, right: pa.Table, kind: str, nulls_equal: bool = False) -> int:
    return row_numbers(left, right, kind, nulls_equal, "count(*)")[0][0].as_py()


def expected_kind(
    left: pa.Table, right: pa.Table, kind: str, nulls_equal: bool = False, where: str | None = None
) -> pa.Table:
    """DuckDB's join of that kind on `k`, in the order of left rows, then right rows, those without a left row last."""
    if kind in ("semi", "anti", "mark"):
        what = "l, marked" if kind == "mark" else "l"
        found = row_numbers(left, right, kind, nulls_equal, what, where).sort_by("l")
        rows = left.take(found["l"])
        return rows.append_column("mark", found["marked"]) if kind == "mark" else rows
    pairs = row_numbers(left, right, kind, nulls_equal, "l, r", where)
    pairs = pairs.take(pyarrow.compute.sort_indices(pairs, [("l", "ascending"), ("r", "ascending")]))
    left_rows, right_rows = left.take(pairs["l"]), right.take(pairs["r"])
    if kind != "inner" and right["k"].type.bit_width > left["k"].type.bit_width:
        left_rows = left_rows.set_column(left.column_names.index("k"), "k", left_rows["k"].cast(right["k"].type))
    if kind != "inner":
        key = pyarrow.compute.coalesce(left_rows["k"], right_rows["k"].cast(left_rows["k"].type))
        left_rows = left_rows.set_column(left.column_names.index("k"), "k", key)
    right_rows = right_rows.drop_columns(["k"])
    return pa.table(left_rows.columns + right_rows.columns, names=result_names(left, right, "k"))


def rows_of(result: pa.Table) -> list[tuple]:
    """Whole rows; floats by their spelling, so that NaN equals itself."""
    columns = []
    for column in result.columns:
        values = column.to_pylist()
        columns.append([repr(value) for value in values] if pa.types.is_floating(column.type) else values)
    return list(zip(*columns))


def assert_same_rows(actual: pa.Table, expected: pa.Table, ordered: bool = False) -> None:
    """Names and types, then whole rows: as a multiset, or in order."""
    assert actual.column_names == expected.column_names
    assert [str(field.type) for field in actual.schema] == [str(field.type) for field in expected.schema]
    actual_rows, expected_rows = rows_of(actual), rows_of(expected)
    if ordered:
        assert actual_rows == expected_rows
    else:
        assert collections.Counter(actual_rows) == collections.Counter(expected_rows)


def assert_as_duckdb(found: pa.Table, query: str, given: dict[str, pa.Table]) -> None:
    """Compares the rows of a query with DuckDB's, in their order where the query has one."""
    with duckdb.connect() as database:
        for name, table in given.items():
            database.register(name, table)
        expected = database.sql(query).to_arrow_table()
    assert found.column_names == expected.column_names
    rows, wanted = ([tuple(row.values()) for row in table.to_pylist()] for table in (found, expected))
    if "order by" not in query:
        rows, wanted = sorted(rows, key=str), sorted(wanted, key=str)
    assert rows == wanted
