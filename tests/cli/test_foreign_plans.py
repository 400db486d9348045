"""garuda run: plans that substrait-python makes, whose functions have URNs, options and mappings, as DuckDB answers
the same in SQL; and what plans of other producers have of their own."""

from __future__ import annotations

import decimal

import pyarrow as pa
import pytest
import tables
from command import Garuda

sub = pytest.importorskip("substrait.dataframe")
from substrait.plan_pb2 import Plan  # noqa: E402

BAD_INPUT, USAGE = 3, 2
N = pa.table(
    {
        "id": pa.array([1, 2, 3, 4, 5, 6], pa.int64()),
        "part": pa.array(["a", "b", None, "a", "b", "c"]),
        "price": pa.array([1.5, None, -0.0, 2.25, 4.0, 7.0]),
        "cost": pa.array([decimal.Decimal("1.25"), decimal.Decimal("-3.10"), None] * 2, pa.decimal128(10, 2)),
        "good": pa.array([True, False, None, True, None, False]),
    }
)
P = pa.table({"name": pa.array(["a", "b", "d", None]), "weight": pa.array([10, None, 30, 40], pa.int64())})


def n() -> sub.DataFrame:
    columns = {"id": sub.i64, "part": sub.string, "price": sub.fp64, "cost": sub.decimal(2, 10), "good": sub.boolean}
    return sub.read_named_table("n", columns)


def p() -> sub.DataFrame:
    return sub.read_named_table("p", {"name": sub.string, "weight": sub.i64})


col, f = sub.col, sub.f
PLANS = {
    "select * from n": n,
    "select id, part from n where id > 2": lambda: n().filter(col("id") > 2).select("id", "part"),
    "select id, id + 1 as x, id * 2 - 3 as y from n": lambda: n().select(
        "id", (col("id") + 1).alias("x"), (col("id") * 2 - 3).alias("y")
    ),
    "select id, price / 2 as h, -id as m from n": lambda: n().select(
        "id", (col("price") / 2.0).alias("h"), (-col("id")).alias("m")
    ),
    "select *, price >= 2 as dear from n": lambda: n().with_columns(dear=col("price") >= 2.0),
    "select id from n where part = 'a' or not good": lambda: n().filter((col("part") == "a") | ~col("good")).select("id"),
    "select id from n where part is null or price between 1 and 3": lambda: n()
    .filter(col("part").is_null() | col("price").between(1.0, 3.0))
    .select("id"),
    "select id from n where part in ('a', 'c')": lambda: n().filter(col("part").is_in(["a", "c"])).select("id"),
    "select id from n where part is distinct from 'a'": lambda: n()
    .filter(col("part").is_distinct_from("a"))
    .select("id"),
    "select cast(id as double) as d from n": lambda: n().select(col("id").cast(sub.fp64).alias("d")),
    "select id from n order by id desc limit 2 offset 1": lambda: n()
    .sort("id", descending=True)
    .limit(2, offset=1)
    .select("id"),
    "select count(id) as c, sum(price) as s, min(id) as l, max(price) as g from n": lambda: n().aggregate(
        (),
        f.count(col("id")).alias("c"),
        f.sum(col("price")).alias("s"),
        f.min(col("id")).alias("l"),
        f.max(col("price")).alias("g"),
    ),
    "select part, sum(id) as s, avg(price) as a from n group by part": lambda: n()
    .group_by("part")
    .agg(f.sum(col("id")).alias("s"), f.avg(col("price")).alias("a")),
    "select id, name, weight from n join p on part = name": lambda: n()
    .join(p(), on=col("part") == col("name"), how="inner")
    .select("id", "name", "weight"),
    "select id, weight from n left join p on part = name": lambda: n()
    .join(p(), on=col("part") == col("name"), how="left")
    .select("id", "weight"),
    "select id, name from n cross join p": lambda: n().cross_join(p()).select("id", "name"),
    "select part from n union all select name from p": lambda: n().select("part").union(p().select("name")),
    "select part from n union select name from p": lambda: n().select("part").union(p().select("name"), distinct=True),
    "select upper(part) as u, starts_with(part, 'a') as s from n": lambda: n().select(
        f.upper(col("part")).alias("u"), f.starts_with(col("part"), "a").alias("s")
    ),
    "select coalesce(part, 'none') as c, abs(price) as a from n": lambda: n().select(
        f.coalesce(col("part"), "none").alias("c"), f.abs(col("price")).alias("a")
    ),
}


def run(garuda: Garuda, plan: Plan, *more: str) -> pa.Table:
    (garuda.folder / "plan.substrait").write_bytes(plan.SerializeToString())
    done = garuda.run("run", "plan.substrait", "--tables", ".", "-o", "out.arrow", "--path=cpu", *more)
    assert done.returncode == 0, done.stderr
    return tables.read(garuda.folder / "out.arrow")


@pytest.fixture
def files(garuda: Garuda) -> Garuda:
    tables.write(garuda.folder / "n.parquet", N)
    tables.write(garuda.folder / "p.parquet", P)
    return garuda


@pytest.mark.parametrize("query", PLANS)
def test_plans_of_substrait_python(files, query):
    tables.assert_as_duckdb(run(files, PLANS[query]().to_plan()), query, {"n": N, "p": P})


def refused(files: Garuda, plan: Plan, status: int = USAGE) -> str:
    (files.folder / "plan.substrait").write_bytes(plan.SerializeToString())
    return files.refused(status, "run", "plan.substrait", "--tables", ".", "-o", "out.arrow")


def added() -> tuple[Plan, object]:
    """A plan, and its call of `add`."""
    plan = n().select((col("id") + 1).alias("x")).to_plan()
    expressions = plan.relations[0].root.input.project.expressions
    return plan, expressions[0].scalar_function


def test_options_that_are_not_done_are_errors(files):
    plan, call = added()
    del call.options[:]
    call.options.add(name="overflow", preference=["SATURATE", "ERROR"])
    assert run(files, plan).column("x").to_pylist() == [2, 3, 4, 5, 6, 7]
    call.options[0].preference[:] = ["SILENT"]
    said = "the plan wants of function 'add' an option that queries do not have: overflow SILENT"
    assert refused(files, plan).endswith(said)


def test_collections_that_are_unknown_are_errors(files):
    plan, _ = added()
    plan.extension_urns[0].urn = "extension:com.acme:arithmetic"
    sentence = refused(files, plan)
    assert sentence.endswith("of a collection that queries do not have: extension:com.acme:arithmetic")


def test_versions(files):
    plan, _ = added()
    assert plan.version.minor_number >= 54
    for major, minor, is_read in ((0, 20, True), (0, 19, False), (0, 999, True), (1, 0, False)):
        plan.version.major_number, plan.version.minor_number = major, minor
        if is_read:
            assert run(files, plan).num_rows == 6
        else:
            assert f"not this one's, by '{plan.version.producer}': {major}.{minor}" in refused(files, plan)
    plan.ClearField("version")
    assert refused(files, plan).endswith("the plan says no version of Substrait")


def test_projections_of_duckdb_have_no_mapping(files):
    """Their fields are their expressions alone, in the middle of a plan, too."""
    plan = n().select((col("id") + 1).alias("x"), "part").filter(col("x") > 5).to_plan()
    project = plan.relations[0].root.input.filter.input.project
    assert list(project.common.emit.output_mapping) == [5, 6]
    project.ClearField("common")
    plan.version.producer = "DuckDB"
    assert run(files, plan).to_pydict() == {"x": [6, 7], "part": ["b", "c"]}
    plan.version.producer = "another"  # whose condition then reads other fields, and whose root has too few names
    assert refused(files, plan, BAD_INPUT)


def test_plans_without_masks_read_some_columns(files):
    """A plan names all columns of a table; a table that lacks one of them is an error, one with more is none."""
    plan = n().select("id").to_plan()
    tables.write(files.folder / "n.parquet", N.append_column("more", pa.array(range(6))))
    assert run(files, plan).to_pydict() == {"id": [1, 2, 3, 4, 5, 6]}
    tables.write(files.folder / "n.parquet", N.drop_columns(["part"]))
    assert "part" in refused(files, plan, BAD_INPUT)
