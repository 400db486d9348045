"""The parts of TPC-H that are measured: the paper's joins and group-bys (GARUDA §6.1.1), and joins with all columns."""

from __future__ import annotations

from engines import engine
from engines.engine import Question
from tpch import tables


def join(name: str, left: str, right: str, on: str, columns: str = "") -> Question:
    """`on` in words LEFT=RIGHT."""
    pairs = tuple(tuple(word.split("=")) for word in on.split())
    title = f"{name} {left} ⋈ {right}{'' if columns else ', all columns'}"
    return Question(name, title, engine.Join(left, right, pairs, columns=tuple(columns.split())))


def group_by(name: str, table: str, keys: str, aggregates: str) -> Question:
    title = f"{name} {table} by {', '.join(keys.split())}"
    return Question(name, title, engine.group_by(keys, aggregates, table))


PRICE = "l_extendedprice"
QUERIES = [
    join("JO1", "customer", "orders", "c_custkey=o_custkey", "left.c_acctbal right.o_totalprice"),
    join("JO2", "part", "lineitem", "p_partkey=l_partkey", f"left.p_retailprice right.{PRICE}"),
    join("JO3", "partsupp", "lineitem", "ps_partkey=l_partkey", f"left.ps_supplycost right.{PRICE}"),
    join("JO4", "orders", "lineitem", "o_orderkey=l_orderkey", f"left.o_totalprice right.{PRICE}"),
    join("A1", "customer", "orders", "c_custkey=o_custkey"),
    join("A2", "part", "lineitem", "p_partkey=l_partkey"),
    join("A3", "partsupp", "lineitem", "ps_partkey=l_partkey ps_suppkey=l_suppkey"),
    join("A4", "orders", "lineitem", "o_orderkey=l_orderkey"),
    join("A5", "part", "partsupp", "p_partkey=ps_partkey"),
    group_by("SGO1", tables.LINEORDER, "o_orderdate", f"sum:{PRICE}"),
    group_by("SGO2", tables.LINEORDER, "l_orderkey", f"sum:{PRICE}"),
    group_by("SGO3", "partsupp", "ps_partkey", "sum:ps_supplycost"),
    group_by("MGO1", tables.LINEORDER, "l_orderkey o_orderdate", f"sum:{PRICE}"),
    group_by("MGO2", tables.LINEORDER, "l_orderkey o_orderdate o_shippriority", f"sum:{PRICE}"),
    group_by("Q1", "lineitem", "l_returnflag l_linestatus", f"sum:l_quantity sum:{PRICE} sum:l_discount count"),
]
