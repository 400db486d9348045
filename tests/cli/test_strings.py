"""--strings: columns of strings and binary as the input has them, or as views."""

from __future__ import annotations

import pyarrow as pa
import pytest
import tables

ROWS = 3_000


def word(i: int, kind: str) -> str:
    return kind * (i % 40) + str(i)


def table_of(kind: str, rows: range) -> pa.Table:
    words = [None if i % 11 == 0 else word(i, kind) for i in rows]
    return pa.table(
        {
            "k": pa.array(rows, pa.int32()),
            "name": pa.array([word(i % 97, "n") for i in rows], pa.string()),
            f"{kind}_text": pa.array(words, pa.string()),
            f"{kind}_large": pa.array(words, pa.large_string()),
            f"{kind}_bytes": pa.array([None if w is None else w.encode() for w in words], pa.binary()),
            f"{kind}_code": pa.array(words, pa.string()).dictionary_encode(),
        }
    )


def plain(table: pa.Table) -> pa.Table:
    """Views as what lies behind offsets of 64 bits, dictionaries as their values; rows in order."""
    columns = {}
    for name in table.column_names:
        column = table[name]
        if pa.types.is_dictionary(column.type):
            column = column.cast(column.type.value_type)
        if pa.types.is_string_view(column.type) or pa.types.is_string(column.type):
            column = column.cast(pa.large_string())
        if pa.types.is_binary_view(column.type) or pa.types.is_binary(column.type):
            column = column.cast(pa.large_binary())
        columns[name] = column
    return pa.table(columns).sort_by([("k", "ascending")])


@pytest.fixture
def inputs(garuda):
    tables.write(garuda.folder / "l.arrow", table_of("l", range(ROWS)))
    tables.write(garuda.folder / "r.arrow", table_of("r", range(ROWS // 3, ROWS + 500)))
    return garuda


@pytest.mark.parametrize("how", ["inner", "left", "full", "anti"])
@pytest.mark.parametrize("limit", [[], ["--memory-limit", "64MiB"]])
def test_joins(inputs, how, limit):
    for form in "utf8", "view":
        inputs.join("l.arrow", "r.arrow", "--on", "k", "--how", how, "--strings", form, "-o", f"{form}.arrow", *limit)
    given, views = (tables.read(inputs.folder / f"{form}.arrow") for form in ("utf8", "view"))
    views.validate(full=True)
    assert given.schema.field("l_text").type == pa.string()
    assert views.schema.field("l_text").type == pa.string_view()
    assert views.schema.field("l_large").type == pa.string_view()
    assert views.schema.field("l_bytes").type == pa.binary_view()
    assert pa.types.is_dictionary(views.schema.field("l_code").type)
    assert plain(views).equals(plain(given))


def test_keys_of_strings(inputs):
    for form in "utf8", "view":
        options = ["--on", "l_large=r_code", "--how", "full", "--columns", "left.k,right.k,left.l_large,right.r_code"]
        inputs.join("l.arrow", "r.arrow", *options, "--strings", form, "-o", f"{form}.arrow")
        inputs.join("l.arrow", "r.arrow", "--on", "l_large=r_code", "--how", "left", "--strings", form, "-o", f"{form}_all.arrow")
    given, views = (tables.read(inputs.folder / f"{form}_all.arrow") for form in ("utf8", "view"))
    assert views.schema.field("l_large").type == pa.string_view()
    assert plain(views).equals(plain(given))


def test_groups(inputs):
    for form in "utf8", "view":
        options = ["--keys", "name", "--agg", "min:l_text=least,first:l_bytes=first,count=k", "--ordered"]
        inputs.group_by("l.arrow", *options, "--strings", form, "-o", f"{form}.arrow")
    given, views = (tables.read(inputs.folder / f"{form}.arrow") for form in ("utf8", "view"))
    assert [views.schema.field(i).type for i in range(3)] == [pa.string_view(), pa.string_view(), pa.binary_view()]
    for name in given.column_names:
        assert views[name].to_pylist() == given[name].to_pylist()


@pytest.mark.parametrize("output", ["out.parquet", "out.csv"])
def test_other_files_hold_the_same(inputs, output):
    columns = ["--columns", "left.k,left.l_text,right.r_large"]
    inputs.join("l.arrow", "r.arrow", "--on", "k", "--strings", "view", *columns, "-o", output)
    inputs.join("l.arrow", "r.arrow", "--on", "k", *columns, "-o", f"utf8_{output}")
    views, given = tables.read(inputs.folder / output), tables.read(inputs.folder / f"utf8_{output}")
    assert plain(views).equals(plain(given))


@pytest.mark.parametrize("command", ["join", "group-by", "explain"])
def test_wrong_words(inputs, command):
    join = ["l.arrow", "r.arrow", "--on", "k"]
    arguments = {"join": ["join", *join], "group-by": ["group-by", "l.arrow", "--keys", "k"], "explain": ["explain", "join", *join]}
    sentence = inputs.refused(2, *arguments[command], "--strings", "utf16")
    assert "--strings: strings are given as utf8 or view: 'utf16'" in sentence
