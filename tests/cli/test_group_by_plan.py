"""The plan and the statistics of a group-by: `garuda explain group-by` before it, `--stats` after it."""

from __future__ import annotations

import json
import pathlib

import groups
import pyarrow as pa
import pytest
import tables
from command import Garuda

NUM_ROWS = 500
KEYS = ["--keys", "flag,i8"]
AGGREGATES = "count,sum:i64,sum:f64,min:d38,max:word"


@pytest.fixture
def rows(tmp_path: pathlib.Path) -> pa.Table:
    """The command over rows.arrow."""
    rows = groups.every_type(NUM_ROWS, 1)
    tables.write(tmp_path / "rows.arrow", rows)
    return rows


def stats_of(garuda: Garuda, *arguments: object) -> dict:
    done = garuda.group_by("rows.arrow", *arguments, "--stats=json")
    return json.loads(done.stderr.splitlines()[-1])


def plan_of(garuda: Garuda, *arguments: object) -> dict:
    done = garuda.run("explain", "group-by", "rows.arrow", *arguments, "--json")
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def num_groups(rows: pa.Table) -> int:
    return len(groups.group(rows, ["flag", "i8"], [])["i8"])


def test_stats_of_every_path(on_each, rows):
    stats = stats_of(on_each, *KEYS, "--agg", AGGREGATES)
    expected = ["path", "device", "driver", "rows", "rows_out", "total_ns", "phases", "counters"]
    assert list(stats)[: len(expected)] == expected
    assert stats["path"] == on_each.path == stats["plan"]["path"]
    assert (stats["rows"], stats["rows_out"]) == (NUM_ROWS, num_groups(rows))
    assert all(list(phase) == ["name", "ns", "bytes"] for phase in stats["phases"])
    assert all(phase["ns"] > 0 for phase in stats["phases"])
    # Phases of one lane follow one another.
    one_lane = stats_of(on_each, *KEYS, "--agg", AGGREGATES, "--threads", "1", "--tuning", "lanes=1")
    assert 0 < sum(phase["ns"] for phase in one_lane["phases"]) <= one_lane["total_ns"]


def phases(stats: dict) -> dict[str, dict]:
    return {phase["name"]: phase for phase in stats["phases"]}


def test_passes_and_images(on_graphics, rows):
    """Counts that follow from the method: see the design's exact sums and extremes by blending."""
    tuning = ["--tuning", "address=direct"]
    found = num_groups(rows)

    def counters(aggregates: str) -> dict[str, int]:
        return stats_of(on_graphics, *KEYS, "--agg", aggregates, *tuning)["counters"]

    # An image of the rows; additive passes that count the rows and the values, one that adds the one window of integers.
    integers = counters("count,sum:i64")
    assert (integers["hash_images"], integers["passes"], integers["points"]) == (1, 4, 4 * NUM_ROWS)
    assert integers["direct_slices"] == integers["slices"] == 1
    assert integers["attachments"] == 2  # a window is eight limbs: two attachments of four channels
    assert integers["groups_of_a_slice"] == found <= integers["image_pixels"]
    assert integers["accumulator_pixels"] % found == 0 < integers["accumulator_pixels"]

    # Least and greatest in one channel each, decimals in six pieces of 24 bits.
    decimals = counters("min:d38,max:d38")
    assert (decimals["passes"], decimals["points"]) == (1 + 1 + 6, (1 + 1 + 6) * NUM_ROWS)
    # A pass finds the windows of floats, then each row is drawn into its own and the next.
    floats = counters("sum:f64")
    assert (floats["passes"], floats["points"]) == (1 + 1 + 1 + 1, (1 + 1 + 1 + 2) * NUM_ROWS)
    assert floats["accumulator_pixels"] > found


def test_hash_images_until_no_row_is_left(on_graphics, rows):
    """Hashed keys clash: more images, each of the rows that lost."""
    tuning = ["--tuning", "address=hash"]
    counters = stats_of(on_graphics, *KEYS, *tuning)["counters"]
    assert counters["hash_images"] > 1 and counters["passes"] == counters["hash_images"]
    assert NUM_ROWS < counters["points"] < NUM_ROWS * counters["hash_images"]


def test_bytes_to_the_device_and_back(on_graphics, rows):
    def copied(aggregates):
        return phases(stats_of(on_graphics, *KEYS, "--agg", aggregates, "--tuning", "upload=stage"))

    counted = copied("count")
    summed = copied("count,sum:i64")
    assert counted["upload"]["bytes"] == 4 * NUM_ROWS  # a packed key
    assert summed["upload"]["bytes"] >= counted["upload"]["bytes"] + 8 * NUM_ROWS
    found = num_groups(rows)
    assert counted["download"]["bytes"] >= 8 * found  # heads and counts
    assert summed["download"]["bytes"] >= counted["download"]["bytes"] + 16 * found  # sums of 128 bits


def test_stats_table(on_each, rows):
    done = on_each.group_by("--stats", "rows.arrow", *KEYS, "--agg", AGGREGATES, "--quiet")
    assert f"{NUM_ROWS} in, {num_groups(rows)} out" in done.stderr
    assert "phase" in done.stderr and "bytes" in done.stderr
    named = {"cpu": ["group"], "graphics": ["accumulator_pixels", "attachments", "hash_images", "passes"]}
    assert all(name in done.stderr for name in named[on_each.path])


def test_estimates_stand_beside_what_was_measured(on_each, rows):
    """One name a phase: what the estimate takes as one is measured as one, its steps below it."""
    stats = stats_of(on_each, *KEYS, "--agg", AGGREGATES)
    estimated = {phase["name"]: phase for phase in stats["estimated"]["phases"]}
    worked = {"cpu": ["encode", "group"], "graphics": ["encode", "group", "aggregate"]}[on_each.path]
    assert all(estimated[name]["measured_ns"] > 0 for name in worked)
    table = on_each.group_by("--stats", "rows.arrow", *KEYS, "--agg", AGGREGATES, "--quiet").stderr.splitlines()
    first = table.index(next(line for line in table if line.startswith("phase ")))
    names = [line[:16].rstrip() for line in table[first + 1 :]]
    assert [name for name in names if not name.startswith(" ")][: 1 + len(estimated)] == ["read files", *estimated]
    measured = {phase["name"] for phase in stats["phases"]}
    assert not measured - estimated.keys() - {name.strip() for name in names}


def test_explain(on_each, rows):
    plan = plan_of(on_each, *KEYS, "--agg", AGGREGATES)
    assert plan["path"] == on_each.path
    details = plan["details"]
    assert details["diversity"] == f"non-empty bins of 65536 in {NUM_ROWS} rows: flag 3, i8 211"
    assert details["hashing"] == "the whole packed key; most diverse: i8"
    assert details["key form"].startswith("all attributes packed into one word")
    assert details["compared"] == "max_word: on the host, by the order of the values"
    assert all(candidate["phases"] for candidate in plan["candidates"])
    if on_each.path == "graphics":
        assert "attachment" in details["hash images"] and "pixels" in details["hash images"]
        assert "draws a row into" in details["aggregates"] and "pixels" in details["aggregates"]
    text = on_each.run("explain", "group-by", "rows.arrow", *KEYS, "--agg", AGGREGATES).stdout
    assert text.split()[:2] == ["path", on_each.path]
    assert all(detail in text for detail in details.values())
    assert sorted(path.name for path in on_each.folder.iterdir()) == ["rows.arrow"]


@pytest.mark.parametrize(("form", "image"), [("words", "row id and 2 key words"), ("rowid", "row ids alone")])
def test_explain_names_the_form_of_keys(on_each, rows, form, image):
    plan = plan_of(on_each, *KEYS, "--tuning", f"keys={form}")
    assert f"keys={form}" in plan["tuning"]
    assert plan["details"]["key form"] == "words of 64 bits a row: 1; one word would take 10 bits"
    assert plan["details"]["hashing"] == "all words; most diverse: i8"
    if on_each.path == "graphics":
        assert plan["details"]["hash images"].endswith(f"1 attachment of {image}")
