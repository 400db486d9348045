"""What of TPC-H is measured: the joins and group-bys of the paper (GARUDA §6.1.1), and joins with all columns."""

from __future__ import annotations

import dataclasses

from engines import engine
from tpch import tables


@dataclasses.dataclass(frozen=True)
class Query:
    name: str
    title: str
    operation: engine.Operation


def join(name: str, left: str, right: str, on: str, columns: str = "") -> Query:
    """`on` in words LEFT=RIGHT."""
    pairs = tuple(tuple(word.split("=")) for word in on.split())
    title = f"{name} {left} ⋈ {right}{'' if columns else ', all columns'}"
    return Query(name, title, engine.Join(left, right, pairs, columns=tuple(columns.split())))


def sums(name: str, table: str, keys: str, *columns: str, count: bool = False) -> Query:
    aggregates = [engine.Aggregate("sum", (column,)) for column in columns]
    if count:
        aggregates.append(engine.Aggregate("count"))
    title = f"{name} {table} by {', '.join(keys.split())}"
    return Query(name, title, engine.GroupBy(tuple(keys.split()), tuple(aggregates), table))


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
    sums("SGO1", tables.LINEORDER, "o_orderdate", PRICE),
    sums("SGO2", tables.LINEORDER, "l_orderkey", PRICE),
    sums("SGO3", "partsupp", "ps_partkey", "ps_supplycost"),
    sums("MGO1", tables.LINEORDER, "l_orderkey o_orderdate", PRICE),
    sums("MGO2", tables.LINEORDER, "l_orderkey o_orderdate o_shippriority", PRICE),
    sums("Q1", "lineitem", "l_returnflag l_linestatus", "l_quantity", PRICE, "l_discount", count=True),
]
