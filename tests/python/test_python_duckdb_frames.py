"""garuda.duckdb.connect is a connection of DuckDB: it finds the caller's tables, shows none of its own, and gives itself."""

from __future__ import annotations

import duckdb
import garuda
import garuda.duckdb
import pandas
import pytest
from duckdb_rows import check, tried  # noqa: F401

a_global_frame = pandas.DataFrame({"a": [1, 2, 1], "b": [1.0, 2.0, 3.0]})


def test_frames_of_the_caller_are_found(tried: garuda.duckdb.Connection) -> None:
    df = query = pandas.DataFrame({"a": [1, 2, 1], "b": [1.0, 2.0, 3.0]})
    parameters = explained = df
    assert len(df) == len(query) == len(parameters) == len(explained) == 3
    for name in ("df", "query", "parameters", "explained", "a_global_frame"):
        grouped = f"select a, sum(b) from {name} group by a order by a"
        assert tried.execute(grouped).fetchall() == [(1, 4.0), (2, 2.0)]
        assert tried.decision.engine == "garuda"
        assert tried.execute(f"select count(*) from {name}").fetchall() == [(3,)]
        assert tried.execute(f"select count(*) from {name} where a = ?", [1]).fetchall() == [(2,)]
        assert tried.sql(f"select count(*) from {name}").fetchall() == tried.query(f"select count(*) from {name}").fetchall() == [(3,)]
        assert tried.cursor().execute(grouped).fetchall() == [(1, 4.0), (2, 2.0)]
    joined = tried.execute("select x.b, y.b from df x join query y on x.a = y.a where x.b > 1 order by x.b, y.b").fetchall()
    assert joined == [(2.0, 2.0), (3.0, 1.0), (3.0, 3.0)] and tried.decision.engine == "garuda"
    tried.executemany("insert into u select a + ?, 'more' from df", [[100], [200]])
    assert tried.execute("select count(*) from u").fetchall() == [(10,)]


def test_variables_that_the_caller_does_not_have_are_not_found(tried: garuda.duckdb.Connection) -> None:
    def inner(name: str) -> None:
        with pytest.raises(duckdb.CatalogException):
            tried.execute(f"select count(*) from {name}")
        with pytest.raises(duckdb.CatalogException):
            tried.sql(f"select count(*) from {name}")

    outer_frame = a_global_frame
    assert outer_frame is not None
    for name in ("query", "parameters", "caller", "self", "statement", "outer_frame", "garuda_rows"):
        inner(name)


def test_tables_come_before_frames(tried: garuda.duckdb.Connection) -> None:
    t = pandas.DataFrame({"k": [1]})
    assert len(t) == 1
    assert tried.execute("select count(*) from t group by k order by k").fetchall() == [(8,)] * 5


def test_connections_and_cursors_are_garudas(tried: garuda.duckdb.Connection) -> None:
    grouped = "select k, count(*) from t group by k order by k"
    result = tried.execute(grouped)
    assert result is tried and result.fetchall() == [(k, 8) for k in range(5)]
    cursor = tried.cursor()
    assert isinstance(cursor, garuda.duckdb.Connection) and cursor is not tried
    assert cursor.execute(grouped).fetchone() == (0, 8) and cursor.decision.engine == "garuda"
    assert isinstance(tried.duplicate(), garuda.duckdb.Connection)
    chained = tried.begin().execute("insert into t values (9, 9, 'x')").rollback().register("frame", a_global_frame)
    assert chained is tried and chained.unregister("frame") is tried
    assert tried.execute(grouped).fetchall()[-1] == (4, 8)


def test_nothing_of_garudas_is_listed(tried: garuda.duckdb.Connection) -> None:
    tried.execute("select k, count(*) from t group by k").fetchall()
    tried.execute("explain select k, count(*) from t group by k").fetchall()
    tried.execute("select t.k from t join u on t.k = u.k").fetchone()
    assert tried.execute("show tables").fetchall() == [("t",), ("u",)]
    assert tried.execute("select count(*) from duckdb_views() where not internal").fetchall() == [(0,)]


def test_results_outlive_the_statement(tried: garuda.duckdb.Connection) -> None:
    tried.execute("create table large as select range as k, range as v from range(300000)")
    result = tried.execute("select k, sum(v) from large group by k")
    assert tried.decision.engine == "garuda"
    garuda.duckdb.connect().execute("select 1")
    assert sum(k == v for k, v in result.fetchall()) == 300000


def test_a_transaction_lives_where_it_does_in_duckdb(tried: garuda.duckdb.Connection) -> None:
    # The join's keys let DuckDB leave out the row groups with the words that are no numbers.
    tried.execute("create table words as select if(range < 250000, '1', 'word') as w, range as k from range(300000)")
    tried.begin()
    assert len(tried.execute("select w, name from words join u on words.k = u.k where cast(w as bigint) > 0").fetchall()) == 4
    for query in ("select s, median(k) from t group by s", "select t.k, name from t join u on t.k = u.k", "select k, count(*) from t group by k"):
        check(tried, query)
    assert tried.execute("select 1").fetchall() == [(1,)]
    with pytest.raises(duckdb.ConversionException):
        tried.execute("select cast(s as bigint) from t group by s").fetchall()
    tried.rollback()
    with pytest.raises(duckdb.ConversionException):
        tried.execute("select cast(s as bigint) from t group by s").fetchall()


def test_without_replacements_duckdb_runs_all(tried: garuda.duckdb.Connection) -> None:
    tried.execute("set python_enable_replacements = false")
    assert len(tried.execute("select k, count(*) from t group by k").fetchall()) == 5
    assert "python_enable_replacements is off" in tried.decision.reason
