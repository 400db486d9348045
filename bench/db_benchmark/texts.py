"""The 15 questions of db-benchmark in SQL that DuckDB and DataFusion both read, over the tables that tables.py makes."""

from __future__ import annotations

GROUP_BYS = {
    "g1": "select id1, sum(v1) as v1 from x group by id1",
    "g2": "select id1, id2, sum(v1) as v1 from x group by id1, id2",
    "g3": "select id3, sum(v1) as v1, avg(v3) as v3 from x group by id3",
    "g4": "select id4, avg(v1) as v1, avg(v2) as v2, avg(v3) as v3 from x group by id4",
    "g5": "select id6, sum(v1) as v1, sum(v2) as v2, sum(v3) as v3 from x group by id6",
    "g6": "select id4, id5, median(v3) as median_v3, stddev(v3) as sd_v3 from x group by id4, id5",
    "g7": "select id3, max(v1) - min(v2) as range_v1_v2 from x group by id3",
    "g8": """
        select id6, largest2_v3
        from (
            select id6, v3 as largest2_v3, row_number() over (partition by id6 order by v3 desc) as order_v3
            from x
            where v3 is not null) as sub_query
        where order_v3 <= 2""",
    "g9": "select id2, id4, pow(corr(v1, v2), 2) as r2 from x group by id2, id4",
    "g10": """
        select id1, id2, id3, id4, id5, id6, sum(v3) as v3, count(*) as count
        from x
        group by id1, id2, id3, id4, id5, id6""",
}

JOINS = {
    "j1": "select x.*, small.id4 as small_id4, v2 from x join small using (id1)",
    "j2": """
        select x.*, medium.id1 as medium_id1, medium.id4 as medium_id4, medium.id5 as medium_id5, v2
        from x join medium using (id2)""",
    "j3": """
        select x.*, medium.id1 as medium_id1, medium.id4 as medium_id4, medium.id5 as medium_id5, v2
        from x left join medium on x.id2 = medium.id2""",
    "j4": """
        select x.*, medium.id1 as medium_id1, medium.id2 as medium_id2, medium.id4 as medium_id4, v2
        from x join medium using (id5)""",
    "j5": """
        select x.*, big.id1 as big_id1, big.id2 as big_id2, big.id4 as big_id4, big.id5 as big_id5, big.id6 as big_id6,
            v2
        from x join big using (id3)""",
}
