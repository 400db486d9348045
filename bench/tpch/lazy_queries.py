"""TPC-H's 22 queries as lazy plans of Polars, with the parameters that the specification validates with."""

from __future__ import annotations

import datetime
import pathlib
from typing import Callable

import polars
from polars import LazyFrame, col

TABLES = ("customer", "lineitem", "nation", "orders", "part", "partsupp", "region", "supplier")
Query = Callable[..., LazyFrame]
QUERIES: dict[str, Query] = {}

revenue = col("l_extendedprice") * (1 - col("l_discount"))


def query(function: Query) -> Query:
    QUERIES[function.__name__] = function
    return function


def tables(folder: pathlib.Path, in_memory: bool) -> dict[str, LazyFrame]:
    """Prices as float64: Polars has no quotients of decimals that the queries could use."""
    frames = {name: polars.scan_parquet(folder / f"{name}.parquet") for name in TABLES}
    frames = {name: frame.with_columns(polars.selectors.decimal().cast(polars.Float64)) for name, frame in frames.items()}
    return {name: frame.collect().lazy() if in_memory else frame for name, frame in frames.items()}


def day(text: str) -> datetime.date:
    return datetime.date.fromisoformat(text)


def nations(t: dict[str, LazyFrame], region: str) -> LazyFrame:
    regions = t["region"].filter(col("r_name") == region)
    return t["nation"].join(regions, left_on="n_regionkey", right_on="r_regionkey")


@query
def q1(t: dict[str, LazyFrame]) -> LazyFrame:
    lines = t["lineitem"].filter(col("l_shipdate") <= day("1998-09-02"))
    return (
        lines.group_by("l_returnflag", "l_linestatus")
        .agg(
            sum_qty=col("l_quantity").sum(), sum_base_price=col("l_extendedprice").sum(), sum_disc_price=revenue.sum(),
            sum_charge=(revenue * (1 + col("l_tax"))).sum(), avg_qty=col("l_quantity").mean(),
            avg_price=col("l_extendedprice").mean(), avg_disc=col("l_discount").mean(), count_order=polars.len(),
        )
        .sort("l_returnflag", "l_linestatus")
    )  # fmt: skip


@query
def q2(t: dict[str, LazyFrame]) -> LazyFrame:
    suppliers = t["supplier"].join(nations(t, "EUROPE"), left_on="s_nationkey", right_on="n_nationkey")
    parts = t["part"].filter((col("p_size") == 15) & col("p_type").str.ends_with("BRASS"))
    offers = parts.join(t["partsupp"], left_on="p_partkey", right_on="ps_partkey")
    offers = offers.join(suppliers, left_on="ps_suppkey", right_on="s_suppkey")
    least = offers.group_by("p_partkey").agg(col("ps_supplycost").min())
    return (
        offers.join(least, on=["p_partkey", "ps_supplycost"])
        .select("s_acctbal", "s_name", "n_name", "p_partkey", "p_mfgr", "s_address", "s_phone", "s_comment")
        .sort("s_acctbal", "n_name", "s_name", "p_partkey", descending=[True, False, False, False])
        .head(100)
    )


@query
def q3(t: dict[str, LazyFrame]) -> LazyFrame:
    customers = t["customer"].filter(col("c_mktsegment") == "BUILDING")
    orders = t["orders"].filter(col("o_orderdate") < day("1995-03-15"))
    lines = t["lineitem"].filter(col("l_shipdate") > day("1995-03-15"))
    rows = customers.join(orders, left_on="c_custkey", right_on="o_custkey")
    return (
        rows.join(lines, left_on="o_orderkey", right_on="l_orderkey")
        .group_by("o_orderkey", "o_orderdate", "o_shippriority")
        .agg(revenue=revenue.sum())
        .sort("revenue", "o_orderdate", descending=[True, False])
        .head(10)
    )


@query
def q4(t: dict[str, LazyFrame]) -> LazyFrame:
    orders = t["orders"].filter(col("o_orderdate").is_between(day("1993-07-01"), day("1993-09-30")))
    late = t["lineitem"].filter(col("l_commitdate") < col("l_receiptdate"))
    rows = orders.join(late, left_on="o_orderkey", right_on="l_orderkey", how="semi")
    return rows.group_by("o_orderpriority").agg(order_count=polars.len()).sort("o_orderpriority")


@query
def q5(t: dict[str, LazyFrame]) -> LazyFrame:
    orders = t["orders"].filter(col("o_orderdate").is_between(day("1994-01-01"), day("1994-12-31")))
    rows = nations(t, "ASIA").join(t["customer"], left_on="n_nationkey", right_on="c_nationkey")
    rows = rows.join(orders, left_on="c_custkey", right_on="o_custkey")
    rows = rows.join(t["lineitem"], left_on="o_orderkey", right_on="l_orderkey")
    rows = rows.join(t["supplier"], left_on=["l_suppkey", "n_nationkey"], right_on=["s_suppkey", "s_nationkey"])
    return rows.group_by("n_name").agg(revenue=revenue.sum()).sort("revenue", descending=True)


@query
def q6(t: dict[str, LazyFrame]) -> LazyFrame:
    lines = t["lineitem"].filter(
        col("l_shipdate").is_between(day("1994-01-01"), day("1994-12-31"))
        & col("l_discount").is_between(0.05, 0.07)
        & (col("l_quantity") < 24)
    )
    return lines.select(revenue=(col("l_extendedprice") * col("l_discount")).sum())


@query
def q7(t: dict[str, LazyFrame]) -> LazyFrame:
    two = t["nation"].filter(col("n_name").is_in(["FRANCE", "GERMANY"])).select("n_nationkey", "n_name")
    lines = t["lineitem"].filter(col("l_shipdate").is_between(day("1995-01-01"), day("1996-12-31")))
    suppliers = t["supplier"].join(two.rename({"n_name": "supp_nation"}), left_on="s_nationkey", right_on="n_nationkey")
    customers = t["customer"].join(two.rename({"n_name": "cust_nation"}), left_on="c_nationkey", right_on="n_nationkey")
    rows = customers.join(t["orders"], left_on="c_custkey", right_on="o_custkey")
    rows = rows.join(lines, left_on="o_orderkey", right_on="l_orderkey")
    rows = rows.join(suppliers, left_on="l_suppkey", right_on="s_suppkey")
    rows = rows.filter(col("supp_nation") != col("cust_nation")).with_columns(l_year=col("l_shipdate").dt.year())
    keys = ["supp_nation", "cust_nation", "l_year"]
    return rows.group_by(keys).agg(revenue=revenue.sum()).sort(keys)


@query
def q8(t: dict[str, LazyFrame]) -> LazyFrame:
    parts = t["part"].filter(col("p_type") == "ECONOMY ANODIZED STEEL")
    orders = t["orders"].filter(col("o_orderdate").is_between(day("1995-01-01"), day("1996-12-31")))
    names = t["nation"].select("n_nationkey", nation="n_name")
    rows = parts.join(t["lineitem"], left_on="p_partkey", right_on="l_partkey")
    rows = rows.join(t["supplier"], left_on="l_suppkey", right_on="s_suppkey")
    rows = rows.join(orders, left_on="l_orderkey", right_on="o_orderkey")
    rows = rows.join(t["customer"], left_on="o_custkey", right_on="c_custkey")
    rows = rows.join(nations(t, "AMERICA"), left_on="c_nationkey", right_on="n_nationkey")
    rows = rows.join(names, left_on="s_nationkey", right_on="n_nationkey")
    rows = rows.select(o_year=col("o_orderdate").dt.year(), volume=revenue, nation="nation")
    brazil = polars.when(col("nation") == "BRAZIL").then("volume").otherwise(0.0)
    return rows.group_by("o_year").agg(mkt_share=brazil.sum() / col("volume").sum()).sort("o_year")


@query
def q9(t: dict[str, LazyFrame]) -> LazyFrame:
    parts = t["part"].filter(col("p_name").str.contains("green", literal=True))
    rows = parts.join(t["partsupp"], left_on="p_partkey", right_on="ps_partkey")
    rows = rows.join(t["supplier"], left_on="ps_suppkey", right_on="s_suppkey")
    rows = rows.join(t["lineitem"], left_on=["p_partkey", "ps_suppkey"], right_on=["l_partkey", "l_suppkey"])
    rows = rows.join(t["orders"], left_on="l_orderkey", right_on="o_orderkey")
    rows = rows.join(t["nation"], left_on="s_nationkey", right_on="n_nationkey")
    amount = revenue - col("ps_supplycost") * col("l_quantity")
    rows = rows.select(nation="n_name", o_year=col("o_orderdate").dt.year(), amount=amount)
    return rows.group_by("nation", "o_year").agg(sum_profit=col("amount").sum()).sort("nation", "o_year", descending=[False, True])


@query
def q10(t: dict[str, LazyFrame]) -> LazyFrame:
    orders = t["orders"].filter(col("o_orderdate").is_between(day("1993-10-01"), day("1993-12-31")))
    lines = t["lineitem"].filter(col("l_returnflag") == "R")
    rows = t["customer"].join(orders, left_on="c_custkey", right_on="o_custkey")
    rows = rows.join(lines, left_on="o_orderkey", right_on="l_orderkey")
    rows = rows.join(t["nation"], left_on="c_nationkey", right_on="n_nationkey")
    keys = ["c_custkey", "c_name", "c_acctbal", "c_phone", "n_name", "c_address", "c_comment"]
    return rows.group_by(keys).agg(revenue=revenue.sum()).sort("revenue", "c_custkey", descending=[True, False]).head(20)


@query
def q11(t: dict[str, LazyFrame]) -> LazyFrame:
    german = t["nation"].filter(col("n_name") == "GERMANY")
    rows = t["partsupp"].join(t["supplier"], left_on="ps_suppkey", right_on="s_suppkey")
    rows = rows.join(german, left_on="s_nationkey", right_on="n_nationkey")
    value = (col("ps_supplycost") * col("ps_availqty")).sum()
    least = rows.select(least=value * 0.0001)
    groups = rows.group_by("ps_partkey").agg(value=value).join(least, how="cross")
    return groups.filter(col("value") > col("least")).select("ps_partkey", "value").sort("value", "ps_partkey", descending=True)


@query
def q12(t: dict[str, LazyFrame]) -> LazyFrame:
    lines = t["lineitem"].filter(
        col("l_shipmode").is_in(["MAIL", "SHIP"])
        & (col("l_commitdate") < col("l_receiptdate"))
        & (col("l_shipdate") < col("l_commitdate"))
        & col("l_receiptdate").is_between(day("1994-01-01"), day("1994-12-31"))
    )
    high = col("o_orderpriority").is_in(["1-URGENT", "2-HIGH"])
    rows = t["orders"].join(lines, left_on="o_orderkey", right_on="l_orderkey")
    counts = {"high_line_count": high.cast(polars.Int64).sum(), "low_line_count": (~high).cast(polars.Int64).sum()}
    return rows.group_by("l_shipmode").agg(**counts).sort("l_shipmode")


@query
def q13(t: dict[str, LazyFrame]) -> LazyFrame:
    orders = t["orders"].filter(~col("o_comment").str.contains("special.*requests"))
    rows = t["customer"].join(orders, left_on="c_custkey", right_on="o_custkey", how="left")
    counts = rows.group_by("c_custkey").agg(c_count=col("o_orderkey").count())
    return counts.group_by("c_count").agg(custdist=polars.len()).sort("custdist", "c_count", descending=True)


@query
def q14(t: dict[str, LazyFrame]) -> LazyFrame:
    lines = t["lineitem"].filter(col("l_shipdate").is_between(day("1995-09-01"), day("1995-09-30")))
    rows = lines.join(t["part"], left_on="l_partkey", right_on="p_partkey")
    promo = polars.when(col("p_type").str.starts_with("PROMO")).then(revenue).otherwise(0.0)
    return rows.select(promo_revenue=100.0 * promo.sum() / revenue.sum())


@query
def q15(t: dict[str, LazyFrame]) -> LazyFrame:
    lines = t["lineitem"].filter(col("l_shipdate").is_between(day("1996-01-01"), day("1996-03-31")))
    totals = lines.group_by("l_suppkey").agg(total_revenue=revenue.sum().round(2))
    best = totals.select(best=col("total_revenue").max())
    rows = t["supplier"].join(totals, left_on="s_suppkey", right_on="l_suppkey").join(best, how="cross")
    rows = rows.filter(col("total_revenue") == col("best"))
    return rows.select("s_suppkey", "s_name", "s_address", "s_phone", "total_revenue").sort("s_suppkey")


@query
def q16(t: dict[str, LazyFrame]) -> LazyFrame:
    parts = t["part"].filter(
        (col("p_brand") != "Brand#45")
        & ~col("p_type").str.starts_with("MEDIUM POLISHED")
        & col("p_size").is_in([49, 14, 23, 45, 19, 3, 36, 9])
    )
    complaints = t["supplier"].filter(col("s_comment").str.contains("Customer.*Complaints"))
    rows = parts.join(t["partsupp"], left_on="p_partkey", right_on="ps_partkey")
    rows = rows.join(complaints, left_on="ps_suppkey", right_on="s_suppkey", how="anti")
    keys = ["p_brand", "p_type", "p_size"]
    counts = rows.group_by(keys).agg(supplier_cnt=col("ps_suppkey").n_unique())
    return counts.sort(["supplier_cnt", *keys], descending=[True, False, False, False])


@query
def q17(t: dict[str, LazyFrame]) -> LazyFrame:
    parts = t["part"].filter((col("p_brand") == "Brand#23") & (col("p_container") == "MED BOX"))
    rows = parts.join(t["lineitem"], left_on="p_partkey", right_on="l_partkey")
    small = rows.group_by("p_partkey").agg(limit=0.2 * col("l_quantity").mean())
    rows = rows.join(small, on="p_partkey").filter(col("l_quantity") < col("limit"))
    return rows.select(avg_yearly=col("l_extendedprice").sum() / 7.0)


@query
def q18(t: dict[str, LazyFrame]) -> LazyFrame:
    large = t["lineitem"].group_by("l_orderkey").agg(quantity=col("l_quantity").sum()).filter(col("quantity") > 300)
    rows = t["orders"].join(large, left_on="o_orderkey", right_on="l_orderkey", how="semi")
    rows = rows.join(t["lineitem"], left_on="o_orderkey", right_on="l_orderkey")
    rows = rows.join(t["customer"], left_on="o_custkey", right_on="c_custkey")
    keys = ["c_name", "o_custkey", "o_orderkey", "o_orderdate", "o_totalprice"]
    groups = rows.group_by(keys).agg(sum_quantity=col("l_quantity").sum())
    return groups.sort("o_totalprice", "o_orderdate", "o_orderkey", descending=[True, False, False]).head(100)


@query
def q19(t: dict[str, LazyFrame]) -> LazyFrame:
    lines = t["lineitem"].filter(
        col("l_shipmode").is_in(["AIR", "AIR REG"]) & (col("l_shipinstruct") == "DELIVER IN PERSON")
    )
    rows = lines.join(t["part"], left_on="l_partkey", right_on="p_partkey")

    def kind(brand: str, containers: list[str], least: int, size: int) -> polars.Expr:
        return (
            (col("p_brand") == brand) & col("p_container").is_in(containers) & col("p_size").is_between(1, size)
            & col("l_quantity").is_between(least, least + 10)
        )  # fmt: skip

    rows = rows.filter(
        kind("Brand#12", ["SM CASE", "SM BOX", "SM PACK", "SM PKG"], 1, 5)
        | kind("Brand#23", ["MED BAG", "MED BOX", "MED PKG", "MED PACK"], 10, 10)
        | kind("Brand#34", ["LG CASE", "LG BOX", "LG PACK", "LG PKG"], 20, 15)
    )
    return rows.select(revenue=revenue.sum())


@query
def q20(t: dict[str, LazyFrame]) -> LazyFrame:
    lines = t["lineitem"].filter(col("l_shipdate").is_between(day("1994-01-01"), day("1994-12-31")))
    sold = lines.group_by("l_partkey", "l_suppkey").agg(sold=0.5 * col("l_quantity").sum())
    parts = t["part"].filter(col("p_name").str.starts_with("forest"))
    rows = t["partsupp"].join(parts, left_on="ps_partkey", right_on="p_partkey", how="semi")
    rows = rows.join(sold, left_on=["ps_partkey", "ps_suppkey"], right_on=["l_partkey", "l_suppkey"])
    rows = rows.filter(col("ps_availqty") > col("sold"))
    canada = t["nation"].filter(col("n_name") == "CANADA")
    suppliers = t["supplier"].join(canada, left_on="s_nationkey", right_on="n_nationkey")
    suppliers = suppliers.join(rows, left_on="s_suppkey", right_on="ps_suppkey", how="semi")
    return suppliers.select("s_name", "s_address").sort("s_name")


@query
def q21(t: dict[str, LazyFrame]) -> LazyFrame:
    saudi = t["nation"].filter(col("n_name") == "SAUDI ARABIA")
    late = t["lineitem"].filter(col("l_receiptdate") > col("l_commitdate"))
    shared = t["lineitem"].group_by("l_orderkey").agg(suppliers=col("l_suppkey").n_unique()).filter(col("suppliers") > 1)
    blamed = late.group_by("l_orderkey").agg(late=col("l_suppkey").n_unique()).filter(col("late") == 1)
    rows = late.join(shared, on="l_orderkey", how="semi").join(blamed, on="l_orderkey", how="semi")
    rows = rows.join(t["supplier"], left_on="l_suppkey", right_on="s_suppkey")
    rows = rows.join(saudi, left_on="s_nationkey", right_on="n_nationkey")
    rows = rows.join(t["orders"].filter(col("o_orderstatus") == "F"), left_on="l_orderkey", right_on="o_orderkey")
    return rows.group_by("s_name").agg(numwait=polars.len()).sort("numwait", "s_name", descending=[True, False]).head(100)


@query
def q22(t: dict[str, LazyFrame]) -> LazyFrame:
    customers = t["customer"].with_columns(cntrycode=col("c_phone").str.slice(0, 2))
    customers = customers.filter(col("cntrycode").is_in(["13", "31", "23", "29", "30", "18", "17"]))
    mean = customers.filter(col("c_acctbal") > 0.0).select(mean=col("c_acctbal").mean())
    rows = customers.join(t["orders"], left_on="c_custkey", right_on="o_custkey", how="anti")
    rows = rows.join(mean, how="cross").filter(col("c_acctbal") > col("mean"))
    return rows.group_by("cntrycode").agg(numcust=polars.len(), totacctbal=col("c_acctbal").sum()).sort("cntrycode")
