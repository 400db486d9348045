"""Aggregates beyond count, sum, min, max and mean: moments against fractions to the last bit, the rest against DuckDB."""

from __future__ import annotations

import decimal
import math
import random
from fractions import Fraction

import duckdb
import groups
import numpy
import pyarrow as pa
import pytest
import tables
from command import Garuda

BAD_INPUT = 3
EXACT = decimal.Context(prec=100)


def grouped(garuda: Garuda, rows: pa.Table, aggregates: str, *arguments: str, output: str = "out.arrow") -> pa.Table:
    """Groups `rows` by their column k, groups in the order of first rows."""
    tables.write(garuda.folder / "rows.parquet", rows)
    garuda.group_by("rows.parquet", "--keys", "k", "--agg", aggregates, "--ordered", *arguments, "-o", output)
    return tables.read(garuda.folder / output)


def members(keys: list, *columns: list) -> list[list[tuple]]:
    """Rows of each group without nulls, groups in the order of first rows."""
    found: dict[object, list[tuple]] = {}
    for key, *row in zip(keys, *columns):
        group = found.setdefault(key, [])
        if None not in row:
            group.append(tuple(row))
    return list(found.values())


def spread(xs: list, ys: list) -> Fraction:
    """n Σxy − Σx Σy."""
    x, y = [Fraction(value) for value in xs], [Fraction(value) for value in ys]
    return len(x) * sum(a * b for a, b in zip(x, y)) - sum(x) * sum(y)


def covariance(xs: list, ys: list, spare: int) -> float | None:
    n = len(xs)
    if n <= spare:
        return None
    if not all(map(math.isfinite, [*xs, *ys])):
        return math.nan
    value = spread(xs, ys) / (n * (n - spare))
    try:
        return float(value)
    except OverflowError:
        return math.inf if value > 0 else -math.inf


def bits(values: list[float | None]) -> list[int | None]:
    return [None if value is None else groups.float_cell(value, pa.float64()) for value in values]


def near(offset: float, num_rows: int, seed: int) -> list[float]:
    rng = random.Random(seed)
    return [offset + rng.uniform(-1, 1) for _ in range(num_rows)]


@pytest.mark.parametrize("offset", [0.0, 1e9, -1e15, 1e150, 1e200, 1e-200])
def test_var_where_naive_formulas_cancel(join_on_each: Garuda, offset: float):
    xs = near(offset, 1500, 3)
    if offset in (1e150, 1e200, 1e-200):
        xs = [offset * (1 + x / 2**40) for x in near(0, 1500, 4)]
    keys = [row * row % 37 for row in range(len(xs))]
    result = grouped(join_on_each, pa.table({"k": keys, "x": xs}), "var:x,var_pop:x,std:x,std_pop:x")
    values = [[x for (x,) in group] for group in members(keys, xs)]
    for name, spare in (("var", 1), ("var_pop", 0)):
        expected = [covariance(group, group, spare) for group in values]
        assert groups.raw(result[f"{name}_x"]) == bits(expected)
        roots = [None if value is None else math.sqrt(value) for value in expected]
        assert groups.raw(result[name.replace("var", "std") + "_x"]) == bits(roots)


@pytest.mark.parametrize("tuning", ["", "slice_rows=400", "radix_bits=3"])
def test_moments_of_every_magnitude(join_on_each: Garuda, tuning: str):
    """Floats from the least subnormal to 1e300, special ones, integers, with nulls on both sides."""
    rng = random.Random(11)
    count = 900
    xs = [None if rng.random() < 0.1 else value for value in groups.hostile_floats(count, 5)]
    zs = [None if rng.random() < 0.1 else value for value in groups.special_floats(count, 6)]
    ns = [None if rng.random() < 0.1 else rng.randrange(-(2**63), 2**63) for _ in range(count)]
    keys = [rng.randrange(150) for _ in range(count)]
    rows = pa.table({"k": keys, "x": xs, "z": zs, "n": pa.array(ns, pa.int64())})
    aggregates = "var:x,var:z,var:n,covar:x:n,covar_pop:n:z,covar:x:z,corr:n:n,std:n"
    result = grouped(join_on_each, rows, aggregates, *(["--tuning", tuning] if tuning else []))
    columns = {"x": xs, "z": zs, "n": ns}
    for name in ("var_x", "var_z", "var_n", "covar_x_n", "covar_pop_n_z", "covar_x_z"):
        first, second = (name.removeprefix("covar_").removeprefix("pop_").removeprefix("var_").split("_") * 2)[:2]
        pairs = members(keys, columns[first], columns[second])
        spare = 0 if "pop" in name else 1
        expected = [covariance([x for x, _ in group], [y for _, y in group], spare) for group in pairs]
        assert groups.raw(result[name]) == bits(expected), name
    varies = [len(set(group)) > 1 for group in members(keys, ns)]
    assert result["corr_n_n"].to_pylist() == [1.0 if many else None for many in varies]


EVERY = (
    "count:{0},sum:{0},mean:{0},min:{0},max:{0},var:{0},var_pop:{0},std:{0},covar:{0}:i,corr:i:{0},first:{0},last:{0},"
    "any:{0},count_distinct:{0},median:{0},quantile:{0}:0.3,min_n:{0}:3,max_n:{0}:20,arg_min:i:{0},arg_max:{0}:i"
)


def equal_columns(result: pa.Table, name: str, other: str) -> None:
    """The aggregates of both are the same values, but for their types."""
    for column in result.column_names:
        if name in column.split("_"):
            expected = result[column.replace(name, other)]
            actual = result[column].cast(expected.type)
            assert [repr(value) for value in actual.to_pylist()] == [repr(value) for value in expected.to_pylist()], column


@pytest.mark.parametrize("tuning", ["", "slice_rows=300"])
def test_half_floats_as_floats_of_32_bits(join_on_each: Garuda, tuning: str):
    rng = random.Random(29)
    special = [0x0000, 0x8000, 0x7C00, 0xFC00, 0x7E01, 0xFE00, 0x0001, 0x83FF, 0x7BFF, 0xFBFF]
    words = [rng.randrange(0x7C00) | rng.choice([0, 0x8000]) for _ in range(1100)]
    words = [rng.choice(special) if rng.random() < 0.05 else word for word in words]
    halves = numpy.array(words, numpy.uint16).view(numpy.float16)
    nulls = numpy.array([rng.random() < 0.1 for _ in words])
    rows = pa.table(
        {
            "k": pa.array([rng.randrange(60) for _ in words], pa.int32()),
            "h": pa.array(halves, pa.float16(), mask=nulls),
            "s": pa.array(halves.astype(numpy.float32), pa.float32(), mask=nulls),
            "i": pa.array([rng.randrange(50) for _ in words], pa.int32()),
        }
    )
    aggregates = ",".join(EVERY.format(name) for name in ("h", "s"))
    result = grouped(join_on_each, rows, aggregates, *(["--tuning", tuning] if tuning else []))
    assert result.schema.field("max_h").type == pa.float16() and result.schema.field("sum_h").type == pa.float64()
    equal_columns(result, "h", "s")


def wide_decimals(num_rows: int, digits: int, scale: int, seed: int) -> list[decimal.Decimal | None]:
    rng = random.Random(seed)
    most = 10**digits
    return [
        None if rng.random() < 0.1 else decimal.Decimal(rng.randrange(-most, most)).scaleb(-scale, EXACT)
        for _ in range(num_rows)
    ]


@pytest.mark.parametrize("tuning", ["", "slice_rows=300"])
def test_decimals_of_256_bits_as_those_of_128(join_on_each: Garuda, tuning: str):
    values = wide_decimals(900, 30, 4, 31)
    keys = [row * row % 41 for row in range(len(values))]
    rows = pa.table({"k": keys, "i": range(len(values)), "d": pa.array(values, pa.decimal128(34, 4))})
    rows = rows.append_column("w", rows["d"].cast(pa.decimal256(60, 4)))
    aggregates = ",".join(EVERY.format(name) for name in ("w", "d"))
    result = grouped(join_on_each, rows, aggregates, *(["--tuning", tuning] if tuning else []))
    assert result.schema.field("sum_w").type == pa.decimal256(76, 4)
    equal_columns(result, "w", "d")


def test_decimals_of_256_bits_beyond_those_of_128(join_on_each: Garuda):
    values = wide_decimals(700, 70, 6, 37)
    keys = [row * row % 29 for row in range(len(values))]
    rows = pa.table({"k": keys, "w": pa.array(values, pa.decimal256(76, 6))})
    result = grouped(join_on_each, rows, "sum:w,mean:w,min:w,max:w,median:w,count_distinct:w,min_n:w:2,var:w,std_pop:w")
    found = [[value for (value,) in group] for group in members(keys, values)]
    with decimal.localcontext(EXACT):
        assert result["sum_w"].to_pylist() == [sum(group) for group in found]
        sums = [float(int(sum(group).scaleb(6))) for group in found]
    assert result["mean_w"].to_pylist() == [total / len(group) / 1e6 for total, group in zip(sums, found)]
    assert result["min_w"].to_pylist() == [min(group) for group in found]
    assert result["max_w"].to_pylist() == [max(group) for group in found]
    assert result["min_n_w_2"].to_pylist() == [sorted(group)[:2] for group in found]
    assert result["count_distinct_w"].to_pylist() == [len(set(group)) for group in found]
    assert groups.raw(result["var_w"]) == bits([covariance(group, group, 1) for group in found])


def test_sums_beyond_decimals_of_256_bits(garuda: Garuda):
    most = decimal.Decimal(9).scaleb(75, EXACT)
    for value in (most, -most):
        rows = pa.table({"k": [3, 3], "w": pa.array([value, value], pa.decimal256(76, 0))})
        tables.write(garuda.folder / "r.parquet", rows)
        sentence = garuda.refused(BAD_INPUT, "group-by", "r.parquet", "--keys", "k", "--agg", "sum:w", "-o", "out.arrow")
        assert sentence.endswith("'sum_w' is beyond decimal256(76, 0) in the group k = 3")
    back = pa.table({"k": [3] * 3, "w": pa.array([most, most, -most], pa.decimal256(76, 0))})
    assert grouped(garuda, back, "sum:w")["sum_w"].to_pylist() == [most]


def test_dictionaries_of_fixed_size_binary_as_their_values(join_on_each: Garuda):
    words = [None if i % 9 == 0 else bytes([i * 7 % 23, i % 5]) for i in range(500)]
    rows = pa.table({"k": [i % 13 for i in range(500)], "f": pa.array(words, pa.binary(2)), "i": range(500)})
    rows = rows.append_column("z", rows["f"].dictionary_encode())
    ordered = "min:{0},max:{0},count_distinct:{0},min_n:{0}:3,arg_max:i:{0},arg_min:{0}:i"
    result = grouped(join_on_each, rows, ",".join(ordered.format(name) for name in ("z", "f")))
    for column in result.column_names[len(result.column_names) // 2 + 1 :]:
        assert result[column.replace("f", "z")].to_pylist() == result[column].to_pylist(), column


def test_columns_that_ride_along(join_on_each: Garuda):
    """Nested types have the aggregates that need no order of their values."""
    lists = [None if i % 7 == 0 else [i, None] for i in range(300)]
    keys = [i % 11 for i in range(300)]
    rows = pa.table({"k": keys, "n": pa.array(lists, pa.list_(pa.int32())), "i": [i * 37 % 300 for i in range(300)]})
    result = grouped(join_on_each, rows, "count:n,first:n,last:n,any:n,arg_min:n:i,arg_max:n:i", "--tuning", "slice_rows=100")
    found = [[pair for pair in group] for group in members(keys, lists, rows["i"].to_pylist())]
    assert result["count_n"].to_pylist() == [len(group) for group in found]
    assert result["first_n"].to_pylist() == result["any_n"].to_pylist() == [group[0][0] for group in found]
    assert result["last_n"].to_pylist() == [group[-1][0] for group in found]
    for name, pick in (("arg_min_n_i", min), ("arg_max_n_i", max)):
        assert result[name].to_pylist() == [pick(group, key=lambda pair: pair[1])[0] for group in found]


def sample(num_rows: int) -> pa.Table:
    rng = random.Random(17)

    def nullable(make, data_type: pa.DataType) -> pa.Array:
        return pa.array([None if rng.random() < 0.1 else make() for _ in range(num_rows)], data_type)

    return pa.table(
        {
            "k": pa.array([rng.randrange(90) for _ in range(num_rows)], pa.int32()),
            "row": pa.array(range(num_rows), pa.int64()),
            "i": nullable(lambda: rng.randrange(-50, 50), pa.int32()),
            "u": nullable(lambda: rng.randrange(2**40), pa.uint64()),
            "x": nullable(lambda: rng.uniform(-100, 100), pa.float64()),
            "small": nullable(lambda: rng.randrange(1, 4), pa.int16()),
            "flag": nullable(lambda: rng.random() < 0.7, pa.bool_()),
            "day": nullable(lambda: rng.randrange(20000), pa.int32()).cast(pa.date32()),
            "word": nullable(lambda: rng.choice(["", "a", "Ä", "zebra", "long " * 30]) + str(rng.randrange(9)), pa.string()),
            "rank": pa.array(rng.sample(range(10**6), num_rows), pa.int64()),
        }
    )


AGAINST_DUCKDB = {
    "count_distinct:i": "count(DISTINCT i)",
    "count_distinct:word": "count(DISTINCT word)",
    "count_distinct:flag": "count(DISTINCT flag)",
    "first:x": "first(x ORDER BY row) FILTER (x IS NOT NULL)",
    "last:word": "last(word ORDER BY row) FILTER (word IS NOT NULL)",
    "any:day": "first(day ORDER BY row) FILTER (day IS NOT NULL)",
    "bool_and:flag": "bool_and(flag)",
    "bool_or:flag": "bool_or(flag)",
    "arg_min:word:rank": "arg_min(word, rank)",
    "arg_max:x:rank": "arg_max(x, rank)",
    "arg_max:day:word": "first(day ORDER BY word DESC, row) FILTER (day IS NOT NULL AND word IS NOT NULL)",
    "median:i": "median(i)",
    "median:day": "quantile_disc(day, 0.5)",
    "min_n:i:3": "min(i, 3)",
    "max_n:word:2": "max(word, 2)",
    "min_n:day:4": "min(day, 4)",
    "product:small": "CAST(product(small) AS BIGINT)",
}


@pytest.mark.parametrize("tuning", ["", "slice_rows=300", "radix_bits=2"])
def test_equal_duckdb(join_on_each: Garuda, tuning: str):
    rows = sample(1200)
    result = grouped(join_on_each, rows, ",".join(AGAINST_DUCKDB), *(["--tuning", tuning] if tuning else []))
    wanted = ", ".join(f'{expression} AS "{name}"' for name, expression in AGAINST_DUCKDB.items())
    query = f"SELECT k, {wanted} FROM rows GROUP BY k ORDER BY min(row)"
    expected = duckdb.sql(query).arrow()
    expected = expected if isinstance(expected, pa.Table) else expected.read_all()
    for name in AGAINST_DUCKDB:
        actual = result[name.replace(":", "_")].to_pylist()
        assert actual == expected[name].to_pylist(), name


@pytest.mark.parametrize("share", [0.0, 0.1, 0.5, 0.9, 1.0])
def test_quantiles_are_those_of_numpy(join_on_each: Garuda, share: float):
    rows = sample(1200)
    result = grouped(join_on_each, rows, f"quantile:u:{share}=u,quantile:x:{share}=x")
    for name in ("u", "x"):
        values = [[value for (value,) in group] for group in members(rows["k"].to_pylist(), rows[name].to_pylist())]
        expected = [float(numpy.quantile(group, share)) if group else None for group in values]
        assert groups.raw(result[name]) == bits(expected), name


def test_approximately_duckdb(join_on_each: Garuda):
    """DuckDB's own are rounded as they go."""
    rows = sample(1200)
    names = {"var": "var_samp", "var_pop": "var_pop", "std": "stddev_samp", "std_pop": "stddev_pop"}
    pairs = {"covar": "covar_samp", "covar_pop": "covar_pop", "corr": "corr"}
    wanted = {f"{name}:x": f"{function}(x)" for name, function in names.items()}
    wanted |= {f"{name}:x:i": f"{function}(x, i)" for name, function in pairs.items()}
    result = grouped(join_on_each, rows, ",".join(wanted))
    expressions = ", ".join(wanted.values())
    expected = duckdb.sql(f"SELECT {expressions} FROM rows GROUP BY k ORDER BY min(row)").fetchall()
    for column, name in enumerate(wanted):
        actual = result[name.replace(":", "_")].to_pylist()
        assert actual == [pytest.approx(row[column], rel=1e-9) for row in expected], name


@pytest.mark.parametrize("output", ["out.arrow", "out.parquet"])
def test_lists_in_files(garuda: Garuda, output: str):
    rows = pa.table({"k": [1, 2, 1, 2, 3, 1], "x": [5, 1, None, 7, None, 4], "flag": [True, False, True, True, None, False]})
    result = grouped(garuda, rows, "min_n:x:2,max_n:x:1=top,min_n:flag:9", "--path", "cpu", output=output)
    assert result["min_n_x_2"].to_pylist() == [[4, 5], [1, 7], None]
    assert result["top"].to_pylist() == [[5], [7], None]
    assert result["min_n_flag_9"].to_pylist() == [[False, True, True], [False, True], None]


def test_lists_on_the_screen_and_in_csv(garuda: Garuda):
    rows = pa.table({"k": [1, 1], "x": [5, 1]})
    tables.write(garuda.folder / "rows.parquet", rows)
    shown = garuda.group_by("rows.parquet", "--keys", "k", "--agg", "min_n:x:2", "--path", "cpu").stdout
    assert "list<item: int64>" in shown and "1" in shown and "5" in shown
    sentence = garuda.refused(BAD_INPUT, "group-by", "rows.parquet", "--agg", "min_n:x:2", "--path", "cpu", "-o", "out.csv")
    assert "list" in sentence


def test_colons_in_names(garuda: Garuda):
    rows = pa.table({"k": [1, 1, 2], "a:b": [1, 2, 3], "c": [9, 8, 7]})
    result = grouped(garuda, rows, "arg_min:a\\:b:c,sum:a:b", "--path", "cpu")
    assert result["arg_min_a:b_c"].to_pylist() == [2, 3]
    assert result["sum_a:b"].to_pylist() == [3, 3]


def test_explain_says_what_the_host_does(garuda: Garuda):
    tables.write(garuda.folder / "rows.parquet", sample(100))
    text = garuda.run("explain", "group-by", "rows.parquet", "--keys", "k", "--agg", "median:x,var:x", "--path", "cpu").stdout
    assert "median_x: on the host" in text
    assert "var_x: of exact sums" in text
