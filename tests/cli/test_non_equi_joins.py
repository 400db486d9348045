"""`garuda join` without `--on`: by a condition alone, and cross joins; DuckDB's rows, files to files."""

from __future__ import annotations

import dataclasses
import json

import duckdb
import pyarrow as pa
import pytest
import tables
from command import Garuda, icd_of
from test_join_conditions import KINDS, rows

USAGE = 2
SHOWN = "left.row,left.word,right.row,right.word"
LEFT_SHOWN = "left.row,left.word"
CONDITIONS = [
    "left.number < right.number",
    "left.row >= right.row and left.row < right.plain",
    "left.tiny = right.tiny and left.word <> right.word",
    "left.money > right.money or left.word = right.word",
    "left.row > 40 and left.word < right.word and right.tiny > 0",
]


@pytest.fixture(params=["cpu", "compute"])
def non_equi(tmp_path, request) -> Garuda:
    garuda = Garuda(tmp_path, path=request.param)
    return garuda if request.param == "cpu" else dataclasses.replace(garuda, icd=icd_of("lavapipe"))


def expected(left: pa.Table, right: pa.Table, kind: str, condition: str) -> list[tuple]:
    """What DuckDB says of the shown columns, in any order."""
    sql = condition.replace("left.", "l.").replace("right.", "r.")
    match = f"from r where {sql}"
    own = "l.row, l.word"
    query = {
        "semi": f"select {own} from l where exists (select 1 {match})",
        "anti": f"select {own} from l where not exists (select 1 {match})",
        "mark": f"select {own}, exists (select 1 {match}) from l",
    }.get(kind, f"select {own}, r.row, r.word from l {kind} join r on {sql}")
    with duckdb.connect() as connection:
        connection.register("l", left)
        connection.register("r", right)
        return sorted(connection.execute(query).fetchall(), key=repr)


def join_and_compare(garuda: Garuda, left: pa.Table, right: pa.Table, kind: str, condition: str | None, *options):
    tables.write(garuda.folder / "l.parquet", left)
    tables.write(garuda.folder / "r.arrow", right)
    matching = ["--where", condition] if condition else ["--allow-cross"]
    join = ["l.parquet", "r.arrow", "--how", kind, *matching, *options]
    shown = LEFT_SHOWN if kind in ("semi", "anti", "mark") else SHOWN
    done = garuda.join(*join, "--columns", shown, "-o", "out.parquet")
    found = sorted(tables.rows_of(tables.read(garuda.folder / "out.parquet")), key=repr)
    wanted = expected(left, right, kind, condition or "true")
    assert found == wanted
    assert garuda.join(*join, "--count").stdout == f"{len(wanted)}\n"
    return done


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind(non_equi, kind):
    for condition in CONDITIONS:
        join_and_compare(non_equi, rows(130, 1), rows(90, 2), kind, condition)


@pytest.mark.parametrize("kind", KINDS)
def test_cross_joins(non_equi, kind):
    join_and_compare(non_equi, rows(40, 3), rows(30, 4), kind, None)
    join_and_compare(non_equi, rows(40, 3), rows(0, 4), kind, None)


@pytest.mark.parametrize("kind", KINDS)
def test_spilled(tmp_path, kind):
    """Every block of one file meets every block of the other."""
    kept = ["row", "number", "word", "tiny"]
    left, right = rows(1_500, 5).select(kept), rows(900, 6).select(kept)
    where = "left.row = right.row and left.tiny > 0"
    garuda = Garuda(tmp_path, path="cpu")
    done = join_and_compare(garuda, left, right, kind, where, "--memory-limit", "64KiB", "--stats=json")
    counters = json.loads(done.stderr.splitlines()[-1])["counters"]
    assert counters["spilled_rows"] >= 2_400 and counters["spilled_partitions"] == 1


def test_refused_with_advice(tmp_path):
    garuda = Garuda(tmp_path)
    tables.write(tmp_path / "t.parquet", rows(5, 7))
    sentence = garuda.refused(USAGE, "join", "t.parquet", "t.parquet", "--count")
    assert all(advice in sentence for advice in ("--on", "--where", "--allow-cross"))
    join = ["join", "t.parquet", "t.parquet", "--where", "left.row <> right.row", "--count"]
    assert "sorted_ranges" in garuda.refused(USAGE, *join, "--tuning", "method=sorted_ranges")
    assert "without keys" in garuda.refused(USAGE, *join, "--tuning", "method=global")


@pytest.mark.parametrize("kind", KINDS)
def test_spilled_in_order(tmp_path, kind):
    """Blocks of both sides, each with its rows in order, as a run without a limit has them."""
    garuda = Garuda(tmp_path, path="cpu")
    for name, count in (("l", 1_500), ("r", 900)):
        tables.write(tmp_path / f"{name}.parquet", rows(count, count).select(["row", "number", "word", "tiny"]))
    where = "left.row = right.row and left.tiny > 0"
    join = ["l.parquet", "r.parquet", "--where", where, "--how", kind, "--ordered"]
    garuda.join(*join, "-o", "whole.arrow")
    garuda.join(*join, "-o", "limited.arrow", "--memory-limit", "64KiB")
    whole, limited = (tables.read(tmp_path / f"{name}.arrow") for name in ("whole", "limited"))
    assert tables.rows_of(limited) == tables.rows_of(whole)


def test_graphics_names_the_paths_that_do_it(tmp_path):
    garuda = Garuda(tmp_path, icd=icd_of("lavapipe"), path="graphics")
    tables.write(tmp_path / "t.parquet", rows(5, 7))
    sentence = garuda.refused(USAGE, "join", "t.parquet", "t.parquet", "--where", "left.row < right.row", "--count")
    assert "paths cpu, compute, not by graphics" in sentence


def test_explain_lists_the_strategies(non_equi):
    tables.write(non_equi.folder / "t.parquet", rows(300, 9))
    band = ["join", "t.parquet", "t.parquet", "--where", "left.row >= right.row and left.row < right.number"]
    plan = json.loads(non_equi.run("explain", *band, "--json").stdout)
    choices = [candidate["choices"] for candidate in plan["candidates"]]
    assert any("method=nested_loops" in choice for choice in choices)
    assert any("method=sorted_ranges" in choice for choice in choices) or non_equi.path == "compute"
    assert plan["path"] == non_equi.path and plan["details"]["where"]
