"""`garuda join` on one to several keys of every type, and payload of every type: DuckDB's rows, files to files."""

from __future__ import annotations

import collections
import datetime
import decimal
import itertools
import json
import math
import random

import duckdb
import numpy
import pyarrow as pa
import pytest
import tables

USAGE, BAD_INPUT = 2, 3
KINDS = ["inner", "left", "right", "full", "semi", "anti", "mark"]
LEFT_ONLY = ["semi", "anti", "mark"]
START = datetime.datetime(2024, 2, 29, 12)


def of(data_type: pa.DataType, make):
    return lambda ids: pa.array([None if i is None else make(i) for i in ids], data_type)


def dictionary(make):
    return lambda ids: make(ids).dictionary_encode()


def word(i: int) -> str:
    return f"a word that is longer than its view, {i}" if i % 2 else str(i)


def moment(i: int) -> datetime.datetime:
    return START + datetime.timedelta(seconds=i)


def real(i: int) -> float:
    return math.nan if i == 1 else i / 2


def binary(i: int) -> bytes:
    return bytes([i, 0, 255, i])


def number(i: int) -> decimal.Decimal:
    return decimal.Decimal(i - 3)


UTC = datetime.timezone.utc
# Kinds of values, made of small numbers, each in types that are compared with each other.
FAMILIES = {
    "integer": [
        of(pa.int8(), lambda i: i - 3),
        of(pa.int64(), lambda i: i - 3),
        of(pa.decimal128(9, 2), number),
        of(pa.decimal128(38, 20), number),
        of(pa.decimal256(70, 30), number),
        dictionary(of(pa.int32(), lambda i: i - 3)),
    ],
    "unsigned": [of(pa.uint64(), lambda i: i), of(pa.uint8(), lambda i: i)],
    "huge": [of(pa.decimal256(76, 0), lambda i: decimal.Decimal(f"1{i:070d}"))],
    "boolean": [of(pa.bool_(), lambda i: i % 2 == 0), dictionary(of(pa.bool_(), lambda i: i % 2 == 0))],
    "float": [
        lambda ids: pa.array([None if i is None else numpy.float16(real(i)) for i in ids], pa.float16()),
        of(pa.float32(), real),
        of(pa.float64(), lambda i: -0.0 if i == 0 else real(i)),
    ],
    "date": [
        of(pa.date32(), lambda i: START.date() + datetime.timedelta(days=i)),
        of(pa.date64(), lambda i: START.date() + datetime.timedelta(days=i)),
    ],
    "time": [
        of(pa.time32("s"), lambda i: datetime.time(i, 3)),
        of(pa.time32("ms"), lambda i: datetime.time(i, 3)),
        of(pa.time64("ns"), lambda i: datetime.time(i, 3)),
    ],
    "timestamp": [of(pa.timestamp("s"), moment), of(pa.timestamp("us"), moment)],
    "instant": [
        of(pa.timestamp("ms", "UTC"), lambda i: moment(i).replace(tzinfo=UTC)),
        of(pa.timestamp("us", "Asia/Tokyo"), lambda i: moment(i).replace(tzinfo=UTC)),
        dictionary(of(pa.timestamp("us", "America/New_York"), lambda i: moment(i).replace(tzinfo=UTC))),
    ],
    "duration": [
        of(pa.duration("s"), lambda i: datetime.timedelta(seconds=i)),
        of(pa.duration("us"), lambda i: datetime.timedelta(seconds=i)),
    ],
    "string": [
        of(pa.string(), word),
        of(pa.large_string(), word),
        of(pa.string_view(), word),
        dictionary(of(pa.string(), word)),
    ],
    "binary": [of(pa.binary(), binary), of(pa.large_binary(), binary), of(pa.binary_view(), binary), of(pa.binary(4), binary)],
}


def sides(num_keys: int, families, rows: tuple[int, int], seed: int, distinct: int = 9, null_share: float = 0.15):
    """Two tables with `num_keys` keys of mixed types, and the numbers that their keys are made of."""
    rng = random.Random(seed)
    chosen = [rng.choice(families) for _ in range(num_keys)]
    result = []
    for side, count in zip("ab", rows):
        ids = [[None if rng.random() < null_share else rng.randrange(distinct) for _ in range(count)] for _ in chosen]
        columns = {side: pa.array(range(count), pa.int64())}
        for k, (family, of_key) in enumerate(zip(chosen, ids)):
            columns[f"k{k}"] = rng.choice(FAMILIES[family])(of_key)
            # Booleans have two different values.
            ids[k] = [i if i is None or family != "boolean" else i % 2 for i in of_key]
        result.append((pa.table(columns), ids))
    return result


def matches(left_ids, right_ids, nulls_equal: bool) -> list[tuple[int, int]]:
    """DuckDB's pairs of rows, by what the keys are made of."""
    equal = "IS NOT DISTINCT FROM" if nulls_equal else "="
    condition = " AND ".join(f"l.k{k} {equal} r.k{k}" for k in range(len(left_ids)))
    with duckdb.connect() as database:
        for name, ids in (("l", left_ids), ("r", right_ids)):
            keys = {f"k{k}": pa.array(column, pa.int64()) for k, column in enumerate(ids)}
            database.register(name, pa.table({**keys, "row": pa.array(range(len(ids[0])), pa.int64())}))
        return database.sql(f"SELECT l.row, r.row FROM l JOIN r ON {condition} ORDER BY 1, 2").fetchall()


def plain(value):
    """Equal keys of different types become one value."""
    if isinstance(value, float) and math.isnan(value):
        return "nan"
    if isinstance(value, datetime.datetime) and value.tzinfo is not None:
        return value.astimezone(UTC)
    if isinstance(value, (list, dict)):
        return repr(value)
    return value


def values_of(table: pa.Table) -> list[list]:
    return [[plain(value) for value in column.to_pylist()] for column in table.columns]


def expected_rows(left: pa.Table, right: pa.Table, pairs, kind: str) -> list[tuple]:
    """Pairs in the order of (left row, right row), unmatched right rows last."""
    left_rows, right_rows = list(zip(*values_of(left))), list(zip(*values_of(right)))
    found = collections.defaultdict(list)
    for l, r in pairs:
        found[l].append(r)
    if kind in LEFT_ONLY:
        if kind == "mark":
            return [(*row, l in found) for l, row in enumerate(left_rows)]
        return [row for l, row in enumerate(left_rows) if (l in found) == (kind == "semi")]
    keys = [c for c, name in enumerate(left.column_names) if name.startswith("k")]
    others = [c for c, name in enumerate(right.column_names) if not name.startswith("k")]
    right_keys = {left.column_names[c]: right.column_names.index(left.column_names[c]) for c in keys}
    rows = []
    for l, row in enumerate(left_rows):
        rows += [row + tuple(right_rows[r][c] for c in others) for r in found.get(l, [])]
        if l not in found and kind in ("left", "full"):
            rows.append(row + (None,) * len(others))
    matched = {r for _, r in pairs}
    for r, row in enumerate(right_rows):
        if r in matched or kind not in ("right", "full"):
            continue
        alone = [row[right_keys[name]] if name in right_keys else None for name in left.column_names]
        rows.append((*alone, *(row[c] for c in others)))
    return rows


def join_and_compare(garuda, left, right, kind, *options, output="out.arrow", files=("l.arrow", "r.arrow")):
    (left_rows, left_ids), (right_rows, right_ids) = left, right
    nulls_equal = "--nulls-equal" in options
    tables.write(garuda.folder / files[0], left_rows)
    tables.write(garuda.folder / files[1], right_rows)
    on = ",".join(f"k{k}" for k in range(len(left_ids)))
    join = [*files, "--on", on, "--how", kind, *options]
    done = garuda.join(*join, "-o", output)
    expected = expected_rows(left_rows, right_rows, matches(left_ids, right_ids, nulls_equal), kind)
    actual = list(zip(*values_of(tables.read(garuda.folder / output))))
    if "--ordered" in options or (kind in LEFT_ONLY and "--memory-limit" not in options):
        assert actual == expected
    else:
        assert collections.Counter(actual) == collections.Counter(expected)
    counting = [option for option in join if option != "--ordered"]
    assert garuda.join(*counting, "--count").stdout == f"{len(expected)}\n"
    return done


@pytest.mark.parametrize("family", FAMILIES)
def test_every_pair_of_types(garuda, family):
    rng = random.Random(1)
    for a, b in itertools.product(FAMILIES[family], repeat=2):
        ids = [[None if rng.random() < 0.2 else rng.randrange(9) for _ in range(count)] for count in (60, 50)]
        made = [i if i is None or family != "boolean" else i % 2 for i in ids[0]], [
            i if i is None or family != "boolean" else i % 2 for i in ids[1]
        ]
        left = pa.table({"a": range(60), "k0": a(ids[0])}), [made[0]]
        right = pa.table({"k0": b(ids[1]), "b": range(50)}), [made[1]]
        join_and_compare(garuda, left, right, rng.choice(KINDS), *rng.choice([[], ["--nulls-equal"], ["--ordered"]]))


@pytest.mark.parametrize("kind", KINDS)
def test_several_keys_on_every_path(join_on_each, kind):
    seed = KINDS.index(kind)
    left, right = sides(2 + seed % 3, list(FAMILIES), (150, 120), seed, distinct=3)
    options = [[], ["--nulls-equal"], ["--ordered"]][seed % 3]
    join_and_compare(join_on_each, left, right, kind, *options)


@pytest.mark.parametrize("kind", KINDS)
def test_keys_beyond_64_bits_are_numbered(garuda, kind):
    rng = random.Random(7)
    result = []
    for side, count in (("a", 400), ("b", 300)):
        ids = [[rng.randrange(6) for _ in range(count)] for _ in range(3)]
        keys = {f"k{k}": pa.array([i * 2**55 for i in column], pa.int64()) for k, column in enumerate(ids)}
        result.append((pa.table({side: range(count), **keys}), ids))
    join_and_compare(garuda, *result, kind)
    plan = json.loads(garuda.run("explain", "join", "l.arrow", "r.arrow", "--on", "k0,k1,k2", "--json").stdout)
    assert plan["details"]["keys"] == "3 columns, numbered: their codes take more than 64 bits"


@pytest.mark.parametrize("options", [[], ["--nulls-equal"]], ids=["plain", "nulls-equal"])
@pytest.mark.parametrize("kind", KINDS)
def test_spilled(garuda, kind, options):
    for seed, families in enumerate((["string"], ["integer", "string", "instant"], ["binary", "float"])):
        left, right = sides(1 + seed, families, (3_000, 2_500), 40 + seed, distinct=22 - 7 * seed)
        limited = [*options, "--memory-limit", "96KiB", "--stats=json"]
        done = join_and_compare(garuda, left, right, kind, *limited)
        assert json.loads(done.stderr.splitlines()[-1])["counters"]["spilled_rows"] > 4_000


def test_duckdb_agrees_on_strings_decimals_and_times(garuda):
    """With its own comparison of the columns."""
    left, right = (tables.table(key, 500, seed) for key, seed in (("decimal9", 1), ("decimal18", 2)))
    for name, rows in (("l.parquet", left), ("r.parquet", right)):
        tables.write(garuda.folder / name, rows)
    pairs = [("word", "label"), ("flag", "flag"), ("day", "day"), ("code", "bytes"), ("k", "money")]
    for count in (1, 2):
        for chosen in itertools.combinations(pairs, count):
            on = ",".join(f"{a}={b}" for a, b in chosen)
            done = garuda.join("l.parquet", "r.parquet", "--on", on, "--count")
            condition = " AND ".join(f"l.{a} = r.{b}" for a, b in chosen)
            with duckdb.connect() as database:
                database.register("l", left)
                database.register("r", right)
                expected = database.sql(f"SELECT count(*) FROM l JOIN r ON {condition}").fetchall()[0][0]
            assert done.stdout == f"{expected}\n", on


def test_tables_without_rows(garuda):
    for rows in ((0, 40), (40, 0), (0, 0)):
        left, right = sides(2, ["string", "integer", "instant"], rows, 5)
        for kind in KINDS:
            join_and_compare(garuda, left, right, kind)


@pytest.mark.parametrize(
    ("on", "words"),
    [
        ("", ["--on"]),
        ("a,", ["--on wants LEFT=RIGHT", "a,"]),
        ("=b", ["--on wants"]),
        ("a=b=c", ["--on wants"]),
        (",".join(["a"] * 17), ["1 to 16 pairs", "17"]),
        ("a,a=b", ["a key of a join once", "left.a"]),
        ("a=b,b=b", ["a key of a join once", "right.b"]),
    ],
)
def test_lists_of_keys_that_make_no_sense(garuda, on, words):
    tables.write(garuda.folder / "t.arrow", pa.table({"a": [1], "b": [2]}))
    sentence = garuda.refused(USAGE, "join", "t.arrow", "t.arrow", "--on", on, "-o", "out.arrow")
    assert all(word in sentence for word in words), sentence
    assert not (garuda.folder / "out.arrow").exists()


@pytest.mark.parametrize(
    ("left", "right"),
    [
        (pa.array([1]), pa.array(["1"])),
        (pa.array([1]), pa.array([1.0])),
        (pa.array([1]), pa.array([1], pa.uint64())),
        (pa.array([True]), pa.array([1])),
        (pa.array(["a"]), pa.array([b"a"])),
        (pa.array([1], pa.timestamp("s")), pa.array([1], pa.timestamp("s", "UTC"))),
        (pa.array([1], pa.timestamp("s")), pa.array([1], pa.duration("s"))),
        (pa.array([1], pa.date32()), pa.array([1], pa.timestamp("s"))),
    ],
)
def test_types_without_a_common_one(garuda, left, right):
    tables.write(garuda.folder / "l.arrow", pa.table({"lk": left}))
    tables.write(garuda.folder / "r.arrow", pa.table({"rk": right}))
    for options in ([], ["--memory-limit", "1GB"]):
        sentence = garuda.refused(
            BAD_INPUT, "join", "l.arrow", "r.arrow", "--on", "lk=rk", "-o", "out.arrow", *options
        )
        assert "'lk'" in sentence and "'rk'" in sentence and "their types differ" in sentence
        assert not (garuda.folder / "out.arrow").exists()


def payload(count: int, seed: int) -> pa.Table:
    """Columns of types that are never looked at, sliced, with nulls."""
    rng = random.Random(seed)

    def column(data_type, make):
        return pa.array([None if rng.random() < 0.2 else make(i) for i in range(count + 3)], data_type).slice(3)

    def numbers(i):
        return [None if rng.random() < 0.1 else i + j for j in range(rng.randrange(4))]

    types = pa.array([rng.randrange(2) for _ in range(count)], pa.int8())
    offsets, places = [0, 0], []
    for which in types.to_pylist():
        places.append(offsets[which])
        offsets[which] += 1
    children = [pa.array(range(offsets[0]), pa.int32()), pa.array([f"text {i}" for i in range(offsets[1])])]
    sparse = [pa.array(range(count), pa.int64()), pa.array([str(i) if i % 3 else None for i in range(count)])]
    ends = sorted({*rng.sample(range(1, count), min(count - 1, 20)), count}) if count > 1 else [count] * count
    struct = pa.struct([("x", pa.int32()), ("y", pa.list_(pa.string()))])
    shared = pa.array([[1, 2], None, [3]], pa.list_(pa.int32()))
    return pa.table(
        {
            "list": column(pa.list_(pa.int32()), numbers),
            "large_list": column(pa.large_list(pa.string()), lambda i: [str(i)] * (i % 3)),
            "list_view": column(pa.list_view(pa.int64()), numbers),
            "large_list_view": column(pa.large_list_view(pa.int64()), numbers),
            "pair": column(pa.list_(pa.float32(), 2), lambda i: [i, i / 2]),
            "struct": column(struct, lambda i: {"x": i, "y": ["a", None, str(i)][: i % 4]}),
            "map": column(pa.map_(pa.string(), pa.list_(pa.bool_())), lambda i: [("k", [True, None]), (str(i), [])]),
            "view": column(pa.string_view(), word),
            "bytes": column(pa.binary_view(), lambda i: binary(i % 250)),
            "null": pa.nulls(count),
            "runs": pa.RunEndEncodedArray.from_arrays(
                pa.array(ends, pa.int32()), pa.array([None if i % 5 == 0 else f"run {i}" for i in range(len(ends))])
            ),
            "dense": pa.UnionArray.from_dense(types, pa.array(places, pa.int32()), children),
            "sparse": pa.UnionArray.from_sparse(types, sparse),
            "huge": column(pa.decimal256(60, 5), lambda i: decimal.Decimal(f"{i}{0:040d}")),
            "span": column(pa.month_day_nano_interval(), lambda i: (i, 2, 3)),
            "lists": pa.DictionaryArray.from_arrays(pa.array([i % 3 for i in range(count)], pa.int8()), shared),
            "deep": column(
                pa.list_(pa.struct([("m", pa.map_(pa.int8(), pa.string_view())), ("d", pa.dictionary(pa.int8(), pa.string()))])),
                lambda i: [{"m": [(1, word(i))], "d": word(i % 4)}, None][: i % 3],
            ),
            "uuid": pa.ExtensionArray.from_storage(pa.uuid(), column(pa.binary(16), lambda i: bytes([i % 200] * 16))),
        }
    )


def payload_sides(counts: tuple[int, int], distinct: int):
    result = []
    for side, count, seed in (("a", counts[0], 1), ("b", counts[1], 2)):
        rng = random.Random(seed)
        ids = [None if rng.random() < 0.1 else rng.randrange(distinct) for _ in range(count)]
        rows = payload(count, seed).rename_columns([f"{side}_{name}" for name in payload(3, 1).column_names])
        rows = rows.append_column("k0", pa.array(ids, pa.int32()))
        result.append((rows.append_column(side, pa.array(range(count), pa.int64())), [ids]))
    return result


def assert_types_kept(garuda, sides_of_join, kind, limited=False):
    result = tables.read(garuda.folder / "out.arrow")
    for rows, _ in sides_of_join[: 1 if kind in LEFT_ONLY else 2]:
        for field in rows.schema:
            if field.name != "k0":
                assert result.schema.field(field.name).type == field.type, field.name
    result.validate(full=True)


@pytest.mark.parametrize("options", [[], ["--ordered"], ["--tuning", "chunk_rows=37"]], ids=["plain", "ordered", "cut"])
@pytest.mark.parametrize("kind", KINDS)
def test_payload_of_every_type(garuda, kind, options):
    left, right = payload_sides((300, 250), 120)
    join_and_compare(garuda, left, right, kind, *options)
    assert_types_kept(garuda, (left, right), kind)


@pytest.mark.parametrize("kind", ["inner", "full", "anti"])
def test_payload_on_every_path(join_on_each, kind):
    left, right = payload_sides((90, 70), 40)
    join_and_compare(join_on_each, left, right, kind)
    assert_types_kept(join_on_each, (left, right), kind)


@pytest.mark.parametrize("kind", KINDS)
def test_payload_that_is_spilled(garuda, kind):
    # Dictionaries of lists, and those within other columns, are not spilled.
    kept = payload_sides((900, 800), 700)
    left, right = ((rows.drop_columns([f"{side}_lists", f"{side}_deep"]), ids) for side, (rows, ids) in zip("ab", kept))
    done = join_and_compare(garuda, left, right, kind, "--memory-limit", "128KiB", "--stats=json")
    assert json.loads(done.stderr.splitlines()[-1])["counters"]["spilled_rows"] > 1_000
    assert_types_kept(garuda, (left, right), kind)


def test_extension_types_that_nobody_registered(garuda):
    class Temperature(pa.ExtensionType):
        def __init__(self):
            super().__init__(pa.float32(), "test.temperature")

        def __arrow_ext_serialize__(self):
            return b"celsius"

        @classmethod
        def __arrow_ext_deserialize__(cls, storage_type, serialized):
            return cls()

    values = pa.ExtensionArray.from_storage(Temperature(), pa.array([1.5, None, 3.5], pa.float32()))
    tables.write(garuda.folder / "l.arrow", pa.table({"k": [1, 2, 3], "t": values}))
    garuda.join("l.arrow", "l.arrow", "--on", "k", "--columns", "left.t,right.t", "--ordered", "-o", "out.arrow")
    result = tables.read(garuda.folder / "out.arrow")
    for field in result.schema:
        assert field.metadata[b"ARROW:extension:name"] == b"test.temperature"
        assert field.metadata[b"ARROW:extension:metadata"] == b"celsius"
    assert result["t"].to_pylist() == [1.5, None, 3.5]
