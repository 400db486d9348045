"""The 43 queries of ClickBench (https://benchmark.clickhouse.com), numbered as its results are, in SQL that DuckDB and
DataFusion both read: columns are quoted, for their names have capitals, and EventTime is a timestamp."""

from __future__ import annotations

TABLES = ["hits"]

#: Hits of one site and month that a visitor asked for, which the last seven queries look at.
_JULY = """"CounterID" = 62 and "EventDate" >= '2013-07-01' and "EventDate" <= '2013-07-31' and "IsRefresh" = 0"""
_SUMS = ", ".join(['sum("ResolutionWidth")', *(f'sum("ResolutionWidth" + {i})' for i in range(1, 90))])

TEXTS = {
    "q0": "select count(*) from hits",
    "q1": """select count(*) from hits where "AdvEngineID" <> 0""",
    "q2": """select sum("AdvEngineID"), count(*), avg("ResolutionWidth") from hits""",
    "q3": """select avg("UserID") from hits""",
    "q4": """select count(distinct "UserID") from hits""",
    "q5": """select count(distinct "SearchPhrase") from hits""",
    "q6": """select min("EventDate"), max("EventDate") from hits""",
    "q7": """
        select "AdvEngineID", count(*)
        from hits
        where "AdvEngineID" <> 0
        group by "AdvEngineID"
        order by count(*) desc""",
    "q8": """
        select "RegionID", count(distinct "UserID") as u
        from hits
        group by "RegionID"
        order by u desc
        limit 10""",
    "q9": """
        select "RegionID", sum("AdvEngineID"), count(*) as c, avg("ResolutionWidth"), count(distinct "UserID")
        from hits
        group by "RegionID"
        order by c desc
        limit 10""",
    "q10": """
        select "MobilePhoneModel", count(distinct "UserID") as u
        from hits
        where "MobilePhoneModel" <> ''
        group by "MobilePhoneModel"
        order by u desc
        limit 10""",
    "q11": """
        select "MobilePhone", "MobilePhoneModel", count(distinct "UserID") as u
        from hits
        where "MobilePhoneModel" <> ''
        group by "MobilePhone", "MobilePhoneModel"
        order by u desc
        limit 10""",
    "q12": """
        select "SearchPhrase", count(*) as c
        from hits
        where "SearchPhrase" <> ''
        group by "SearchPhrase"
        order by c desc
        limit 10""",
    "q13": """
        select "SearchPhrase", count(distinct "UserID") as u
        from hits
        where "SearchPhrase" <> ''
        group by "SearchPhrase"
        order by u desc
        limit 10""",
    "q14": """
        select "SearchEngineID", "SearchPhrase", count(*) as c
        from hits
        where "SearchPhrase" <> ''
        group by "SearchEngineID", "SearchPhrase"
        order by c desc
        limit 10""",
    "q15": """select "UserID", count(*) from hits group by "UserID" order by count(*) desc limit 10""",
    "q16": """
        select "UserID", "SearchPhrase", count(*)
        from hits
        group by "UserID", "SearchPhrase"
        order by count(*) desc
        limit 10""",
    "q17": """select "UserID", "SearchPhrase", count(*) from hits group by "UserID", "SearchPhrase" limit 10""",
    "q18": """
        select "UserID", extract(minute from "EventTime") as m, "SearchPhrase", count(*)
        from hits
        group by "UserID", m, "SearchPhrase"
        order by count(*) desc
        limit 10""",
    "q19": """select "UserID" from hits where "UserID" = 435090932899640449""",
    "q20": """select count(*) from hits where "URL" like '%google%'""",
    "q21": """
        select "SearchPhrase", min("URL"), count(*) as c
        from hits
        where "URL" like '%google%' and "SearchPhrase" <> ''
        group by "SearchPhrase"
        order by c desc
        limit 10""",
    "q22": """
        select "SearchPhrase", min("URL"), min("Title"), count(*) as c, count(distinct "UserID")
        from hits
        where "Title" like '%Google%' and "URL" not like '%.google.%' and "SearchPhrase" <> ''
        group by "SearchPhrase"
        order by c desc
        limit 10""",
    "q23": """select * from hits where "URL" like '%google%' order by "EventTime" limit 10""",
    "q24": """select "SearchPhrase" from hits where "SearchPhrase" <> '' order by "EventTime" limit 10""",
    "q25": """select "SearchPhrase" from hits where "SearchPhrase" <> '' order by "SearchPhrase" limit 10""",
    "q26": """
        select "SearchPhrase"
        from hits
        where "SearchPhrase" <> ''
        order by "EventTime", "SearchPhrase"
        limit 10""",
    "q27": """
        select "CounterID", avg(length("URL")) as l, count(*) as c
        from hits
        where "URL" <> ''
        group by "CounterID"
        having count(*) > 100000
        order by l desc
        limit 25""",
    "q28": r"""
        select regexp_replace("Referer", '^https?://(?:www\.)?([^/]+)/.*$', '\1') as k, avg(length("Referer")) as l,
            count(*) as c, min("Referer")
        from hits
        where "Referer" <> ''
        group by k
        having count(*) > 100000
        order by l desc
        limit 25""",
    "q29": f"select {_SUMS} from hits",
    "q30": """
        select "SearchEngineID", "ClientIP", count(*) as c, sum("IsRefresh"), avg("ResolutionWidth")
        from hits
        where "SearchPhrase" <> ''
        group by "SearchEngineID", "ClientIP"
        order by c desc
        limit 10""",
    "q31": """
        select "WatchID", "ClientIP", count(*) as c, sum("IsRefresh"), avg("ResolutionWidth")
        from hits
        where "SearchPhrase" <> ''
        group by "WatchID", "ClientIP"
        order by c desc
        limit 10""",
    "q32": """
        select "WatchID", "ClientIP", count(*) as c, sum("IsRefresh"), avg("ResolutionWidth")
        from hits
        group by "WatchID", "ClientIP"
        order by c desc
        limit 10""",
    "q33": """select "URL", count(*) as c from hits group by "URL" order by c desc limit 10""",
    "q34": """select 1, "URL", count(*) as c from hits group by 1, "URL" order by c desc limit 10""",
    "q35": """
        select "ClientIP", "ClientIP" - 1, "ClientIP" - 2, "ClientIP" - 3, count(*) as c
        from hits
        group by "ClientIP", "ClientIP" - 1, "ClientIP" - 2, "ClientIP" - 3
        order by c desc
        limit 10""",
    "q36": f"""
        select "URL", count(*) as pageviews
        from hits
        where {_JULY} and "DontCountHits" = 0 and "URL" <> ''
        group by "URL"
        order by pageviews desc
        limit 10""",
    "q37": f"""
        select "Title", count(*) as pageviews
        from hits
        where {_JULY} and "DontCountHits" = 0 and "Title" <> ''
        group by "Title"
        order by pageviews desc
        limit 10""",
    "q38": f"""
        select "URL", count(*) as pageviews
        from hits
        where {_JULY} and "IsLink" <> 0 and "IsDownload" = 0
        group by "URL"
        order by pageviews desc
        limit 10 offset 1000""",
    "q39": f"""
        select "TraficSourceID", "SearchEngineID", "AdvEngineID",
            case when ("SearchEngineID" = 0 and "AdvEngineID" = 0) then "Referer" else '' end as src, "URL" as dst,
            count(*) as pageviews
        from hits
        where {_JULY}
        group by "TraficSourceID", "SearchEngineID", "AdvEngineID", src, dst
        order by pageviews desc
        limit 10 offset 1000""",
    "q40": f"""
        select "URLHash", "EventDate", count(*) as pageviews
        from hits
        where {_JULY} and "TraficSourceID" in (-1, 6) and "RefererHash" = 3594120000172545465
        group by "URLHash", "EventDate"
        order by pageviews desc
        limit 10 offset 100""",
    "q41": f"""
        select "WindowClientWidth", "WindowClientHeight", count(*) as pageviews
        from hits
        where {_JULY} and "DontCountHits" = 0 and "URLHash" = 2868770270353813622
        group by "WindowClientWidth", "WindowClientHeight"
        order by pageviews desc
        limit 10 offset 10000""",
    "q42": """
        select date_trunc('minute', "EventTime") as m, count(*) as pageviews
        from hits
        where "CounterID" = 62 and "EventDate" >= '2013-07-14' and "EventDate" <= '2013-07-15' and "IsRefresh" = 0
            and "DontCountHits" = 0
        group by date_trunc('minute', "EventTime")
        order by date_trunc('minute', "EventTime")
        limit 10 offset 1000""",
}
