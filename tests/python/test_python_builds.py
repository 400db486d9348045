"""Build sides of joins: `garuda.build` and joins with what it makes, which give the rows of the same joins without."""

from __future__ import annotations

import threading
from typing import Any

import garuda
import numpy
import polars
import pytest

KINDS = ["inner", "left", "right", "full", "semi", "anti", "mark"]
PEOPLE = {"id": [1, 2, None, 4], "city": ["Goa", "Pune", "Goa", None], "name": ["Ada", "Bo", "Cy", "Di"]}


def rows(table: garuda.Table) -> list[tuple[Any, ...]]:
    return sorted(zip(*table.to_pydict().values()), key=repr)


@pytest.mark.parametrize("how", KINDS)
@pytest.mark.parametrize("path", ["auto", "cpu"])
@pytest.mark.parametrize("nulls_equal", [False, True])
def test_rows_are_those_of_the_join_without(how: str, path: str, nulls_equal: bool) -> None:
    build = garuda.build(PEOPLE, ["city", "id"], nulls_equal=nulls_equal)
    left = {"id": [4, 1, None, 9, None], "city": [None, "Goa", "Goa", "Pune", None], "n": [1, 2, 3, 4, 5]}
    expected = garuda.join(left, PEOPLE, on=["city", "id"], how=how, nulls_equal=nulls_equal, path=path)
    joined = garuda.join(left, build, how=how, path=path)
    assert joined.column_names == expected.column_names
    assert rows(joined) == rows(expected)
    assert garuda.join_count(left, build, how=how, path=path) == len(expected)
    ordered = garuda.join(left, build, how=how, path=path, ordered=True)
    assert (
        ordered.to_pydict()
        == garuda.join(
            left, PEOPLE, on=["city", "id"], how=how, nulls_equal=nulls_equal, path=path, ordered=True
        ).to_pydict()
    )


def test_keys_may_have_other_names_types_and_places() -> None:
    rng = numpy.random.default_rng(7)
    right = polars.DataFrame({"k": rng.permutation(5_000), "v": numpy.arange(5_000)})
    build = garuda.build(right, "k")
    for dtype in (polars.Int8, polars.UInt16, polars.Int32, polars.UInt32, polars.Decimal(12, 2)):
        left = polars.DataFrame({"a": rng.integers(0, 120, 3_000)}).with_columns(polars.col("a").cast(dtype))
        expected = garuda.join(left, right, left_on="a", right_on="k")
        for joined in (garuda.join(left, build, on=("a", "k")), garuda.join(left, build, left_on="a")):
            assert rows(joined) == rows(expected)
    words = garuda.build({"w": ["a", "a longer word than thirty-two bytes", None, "a"]}, "w")
    for left in (["a", "b"], ["a longer word than thirty-two bytes"], [None]):
        frame = polars.DataFrame({"w": left}, schema={"w": polars.String})
        for data in (frame, frame.with_columns(polars.col("w").cast(polars.Categorical))):
            assert garuda.join_count(data, words) == {"a": 2, "a longer word than thirty-two bytes": 1}.get(left[0], 0)


def test_streams_and_options_take_it() -> None:
    build = garuda.build({"k": [1, 2, 2], "v": [10, 20, 30]}, "k", threads=1, tuning={"radix_bits": 1})
    batches = garuda.join_stream({"k": [2, 3]}, build, path="cpu")
    assert sum(len(batch) for batch in batches) == 2
    joined = garuda.join(
        {"k": [2, 3], "w": [25, 0]}, build, where="left.w < right.v", columns=["right.v"], strings="view"
    )
    assert joined.to_pydict() == {"v": [30]}
    assert "build side  made before the join" in str(garuda.explain_join({"k": [2]}, build, path="cpu"))


def test_it_says_what_it_is() -> None:
    build = garuda.build(PEOPLE, ("id", "city"), nulls_equal=True)
    assert (build.keys, build.nulls_equal, len(build)) == (["id", "city"], True, 4)
    assert build.table.to_pydict() == PEOPLE
    assert build.host_bytes > 0
    assert repr(build) == "<garuda.JoinBuild of 4 rows by id, city>"


def test_it_outlives_what_it_was_made_of() -> None:
    build = garuda.Engine(path="cpu").build(polars.DataFrame({"k": list(range(100_000))}), "k")
    assert garuda.join_count({"k": [5, 7, 100_000]}, build, path="cpu") == 2
    stream = garuda.join_stream({"k": [5, 7]}, build, path="cpu")
    del build
    assert sum(len(batch) for batch in stream) == 2


def test_threads_share_it() -> None:
    build = garuda.build({"k": numpy.arange(50_000)}, "k")
    counted: list[int] = []

    def count(dtype: str) -> None:
        counted.append(garuda.join_count({"k": numpy.arange(0, 100_000, 2).astype(dtype)}, build, path="cpu"))

    threads = [threading.Thread(target=count, args=(dtype,)) for dtype in ("int64", "int32", "uint32") * 4]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert counted == [25_000] * 12


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (lambda b: garuda.build(PEOPLE, "nmae"), garuda.ColumnNotFoundError, "nmae"),
        (lambda b: garuda.build(PEOPLE, []), garuda.UsageError, "1 to 16 key columns"),
        (lambda b: garuda.build(PEOPLE, ["id", "id"]), garuda.UsageError, "once: id"),
        (lambda b: garuda.build(PEOPLE, 3), garuda.UsageError, "keys must be a column"),
        (lambda b: garuda.build(PEOPLE, "id", nulls_equal=1), garuda.UsageError, "nulls_equal must be a bool"),
        (lambda b: garuda.build(PEOPLE, "id", memory_limit=5), garuda.LimitExceededError, "over the limit: 5"),
        (lambda b: garuda.build(PEOPLE, "id", colour=1), TypeError, "unknown option 'colour'"),
        (lambda b: garuda.join(b, PEOPLE, on="id"), garuda.UsageError, "a build side is the right side"),
        (lambda b: garuda.join(PEOPLE, b, on="name"), garuda.UsageError, "its build side was made for: id"),
        (lambda b: garuda.join(PEOPLE, b, nulls_equal=True), garuda.UsageError, "nulls_equal=false"),
        (lambda b: garuda.join({"id": ["x"]}, b), garuda.InvalidInputError, "cannot be compared"),
        (lambda b: garuda.join(PEOPLE, b, tuning="build=left"), garuda.UsageError, "build=left"),
        (lambda b: garuda.join({"x": [1]}, b), garuda.ColumnNotFoundError, "id"),
    ],
)
def test_what_contradicts_it_is_an_error(call: Any, error: type[Exception], words: str) -> None:
    with pytest.raises(error, match=words):
        call(garuda.build(PEOPLE, "id"))
