"""The output of the command: help, devices, plans, previews, statistics."""

from __future__ import annotations

import json
import os
import pty
import re
import shutil
import subprocess

import pyarrow as pa
import pytest
import tables
from command import COMMAND, ROOT


@pytest.fixture
def files(on_each):
    left = pa.table({"id": pa.array(range(30), pa.int32()), "name": [f"row {i}" for i in range(30)]})
    right = pa.table({"id": pa.array([3, 4, 4, None], pa.int32()), "total": [1.5, None, 2.5, 3.5]})
    tables.write(on_each.folder / "l.parquet", left)
    tables.write(on_each.folder / "r.csv", right)
    return on_each


@pytest.mark.parametrize("command", [[], ["devices"], ["join"], ["explain"], ["explain", "join"], ["group-by"], ["explain", "group-by"], ["bench"]])
def test_help(garuda, command):
    done = garuda.run(*command, "--help")
    assert done.returncode == 0 and done.stderr == ""
    assert "garuda" in done.stdout and "--help" in done.stdout


def options_of(garuda, *command):
    lines = garuda.run(*command, "--help").stdout.splitlines()
    return {word.rstrip(",") for line in lines for word in line.split()[:2] if line.startswith("  -")}


def test_help_offers_what_works(garuda):
    for command in (["join"], ["explain", "join"]):
        offered = options_of(garuda, *command)
        assert "--on" in offered and "--temp-folder" in offered
        assert "--how" in offered and "--nulls-equal" in offered and "--where" in offered
        assert "later" not in garuda.run(*command, "--help").stdout
    for command in (["group-by"], ["explain", "group-by"]):
        offered = options_of(garuda, *command)
        assert "--agg" in offered and "--temp-folder" in offered
    assert "--regression" in options_of(garuda, "report", "compare")


def test_help_names_key_types(garuda):
    assert "any type but nested ones and intervals" in garuda.run("join", "--help").stdout


def test_help_of_topics(garuda):
    assert garuda.run("help").stdout == garuda.run("--help").stdout
    assert garuda.run("help", "join").stdout == garuda.run("join", "--help").stdout
    assert "'sideways'" in garuda.refused(2, "help", "sideways")


def tuning_options(text):
    """(command, option, values) of each row of the table; a row of both commands stands for two."""
    found = []
    for line in text.splitlines()[2:]:
        option, of, _, values, _ = (cell.strip() for cell in line.strip("|").split("|"))
        join, _, group_by = values.partition("; group-by: ")
        each = {"join": join.removeprefix("join: "), "group-by": group_by or join}
        found += [(command, option, each[command]) for command in (each if of == "both" else [of])]
    return found


def test_tuning_is_documented(garuda):
    """docs/tuning.md holds the table that the command prints, which a screen holds."""
    printed = garuda.run("help", "tuning").stdout
    assert tuning_options(printed)
    assert len(printed.splitlines()) <= 18
    document = (ROOT / "docs/tuning.md").read_text(encoding="utf-8")
    assert document.endswith(printed), "put the output of `garuda help tuning` at the end of docs/tuning.md"


def test_documented_tuning_is_what_the_parsers_take(files):
    """The table names every key that a parser knows, and values that it takes."""
    arguments = {"join": ["l.parquet", "r.csv", "--on", "id", "--count"], "group-by": ["l.parquet", "--keys", "id"]}
    options = tuning_options(files.run("help", "tuning").stdout)
    for command in arguments:
        documented = {name for known, name, _ in options if known == command}
        sentence = files.refused(2, command, *arguments[command], "--tuning", "nothing=1")
        known = sentence.removeprefix("garuda: tuning key must be one of ").removesuffix(": nothing")
        assert set(known.split(", ")) == documented
    for command, name, values in options:
        sentence = files.refused(2, command, *arguments[command], "--tuning", f"{name}=nothing")
        assert sentence == f"garuda: tuning value of {name} must be {values}: nothing"


def test_names_with_separators(garuda):
    """A backslash makes commas, equals signs and backslashes part of a name."""
    left = pa.table({"a,b": pa.array([1, 2], pa.int32()), "x=y": [10, 20], "back\\slash": ["c", "d"]})
    right = pa.table({"c=d": pa.array([2, 1, 2], pa.int32()), "p,q": [1, 2, 3]})
    tables.write(garuda.folder / "l.parquet", left)
    tables.write(garuda.folder / "r.parquet", right)
    columns = r"left.a\,b,left.x\=y,left.back\\slash,right.p\,q"
    join = ["l.parquet", "r.parquet", "--on", r"a\,b=c\=d", "--columns", columns, "--ordered", "-o", "joined.parquet"]
    garuda.join(*join)
    joined = tables.read(garuda.folder / "joined.parquet").to_pydict()
    assert joined == {"a,b": [1, 2, 2], "x=y": [10, 20, 20], "back\\slash": ["c", "d", "d"], "p,q": [2, 1, 3]}
    group_by = [r"--keys=a\,b,back\\slash", r"--agg=sum:p\,q,max:x\=y=most\,of\=it", "--ordered", "-o", "groups.parquet"]
    garuda.group_by("joined.parquet", *group_by)
    grouped = tables.read(garuda.folder / "groups.parquet").to_pydict()
    assert grouped == {"a,b": [1, 2], "back\\slash": ["c", "d"], "sum_p,q": [2, 4], "most,of=it": [10, 20]}


def test_version(garuda):
    done = garuda.run("--version")
    assert (done.returncode, done.stderr) == (0, "")
    name, version = done.stdout.split()
    assert name == "garuda" and version.count(".") == 2


def test_the_library_for_files_finds_all_that_it_calls(garuda):
    tables.write(garuda.folder / "t.csv", pa.table({"id": [1, 2, 1]}))
    done = garuda.run("group-by", "t.csv", "--keys", "id", env={**garuda.environment(), "LD_BIND_NOW": "1"})
    assert done.returncode == 0, done.stderr


def test_without_the_library_for_files(garuda):
    tables.write(garuda.folder / "t.csv", pa.table({"id": [1, 2, 1]}))
    (garuda.folder / "alone").mkdir()
    alone = shutil.copy(COMMAND, garuda.folder / "alone/garuda")
    assert subprocess.run([alone, "--version"], capture_output=True, check=True).stdout
    for command in ["group-by", "t.csv", "--keys", "id", "-o", "none.csv"], ["explain", "group-by", "t.csv", "--keys", "id"]:
        done = subprocess.run([alone, *command], cwd=garuda.folder, capture_output=True, text=True, check=False)
        assert done.returncode == 5 and done.stderr.startswith("garuda: ") and done.stderr.count("\n") == 1
        assert "libgaruda_files.so" in done.stderr
    assert not (garuda.folder / "none.csv").exists()


def test_the_library_for_files_is_looked_for_beside_the_program(garuda):
    tables.write(garuda.folder / "t.csv", pa.table({"id": [1, 2, 1]}))
    (garuda.folder / "garuda").mkdir()
    (garuda.folder / "garuda/libgaruda_files.so").write_bytes(b"of somebody else")
    path = {"PATH": f"{COMMAND.parent}:{os.environ['PATH']}"}
    done = subprocess.run(
        ["garuda", "group-by", "t.csv", "--keys", "id", "--path", "cpu"],
        cwd=garuda.folder,
        env={**garuda.environment(), **path},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr


def test_devices(on_lavapipe):
    devices = json.loads(on_lavapipe.run("devices", "--json").stdout)
    assert [device["index"] for device in devices] == list(range(len(devices)))
    assert any("llvmpipe" in device["name"] and device["usable"] and device["kind"] == "cpu" for device in devices)
    text = on_lavapipe.run("devices").stdout
    for device in devices:
        assert device["name"] in text and device["driver"] in text and device["reason"] in text


def test_devices_without_a_driver(garuda):
    assert json.loads(garuda.run("devices", "--json").stdout) == []
    done = garuda.run("devices")
    assert done.returncode == 0 and "No Vulkan device" in done.stdout


def test_preview(files):
    done = files.join("l.parquet", "r.csv", "--on", "id", "--ordered")
    assert done.stdout.splitlines() == [
        "   id  name     total",
        "int32  utf8   float64",
        "    3  row 3      1.5",
        "    4  row 4     null",
        "    4  row 4      2.5",
        "3 rows",
    ]


def test_preview_tells_null_from_words(garuda):
    words = ["null", None, "", " x", '"a" b', 'a "b"', "Null"]
    rows = pa.table({"w": words, "d": pa.array(words).dictionary_encode(), "i": range(len(words))})
    tables.write(garuda.folder / "words.arrow", rows)
    done = garuda.group_by("words.arrow", "--keys", "w,d,i", "--ordered")
    shown = ['"null"', "null", '""', '" x"', '"""a"" b"', 'a "b"', "Null"]
    lines = done.stdout.splitlines()[2:-1]
    assert [re.split(" {2,}", line) for line in lines] == [[word, word, str(row)] for row, word in enumerate(shown)]


def test_preview_of_many_rows(files):
    done = files.join("l.parquet", "l.parquet", "--on", "id", "--ordered")
    lines = done.stdout.splitlines()
    assert len(lines) == 13 and lines[2].split() == ["0", "row", "0", "row", "0"] and lines[-1] == "… 30 rows"


def test_quiet(files):
    done = files.join("l.parquet", "r.csv", "--on", "id", "--quiet", "-o", "out.csv")
    assert (done.stdout, done.stderr) == ("", "")


def test_diagnostics_name_path_and_device(files):
    done = files.join("l.parquet", "r.csv", "--on", "id", "--count")
    assert done.stdout == "3\n"
    first = done.stderr.splitlines()[0]
    assert first.startswith(f"garuda: {files.path} path on ") and "asked for" not in first
    explained = files.join("l.parquet", "r.csv", "--on", "id", "--count", "--stats").stderr.splitlines()[0]
    assert explained == f"{first}: path {files.path} was asked for"


@pytest.mark.parametrize("output", [["--count"], ["-o", "out.parquet"], []])
def test_stats_json(files, output):
    done = files.join("l.parquet", "r.csv", "--on", "id", "--stats=json", *output)
    stats = json.loads(done.stderr.splitlines()[-1])
    expected = ["path", "device", "driver", "rows_left", "rows_right", "rows_out", "total_ns", "phases", "counters"]
    assert list(stats)[: len(expected)] == expected
    assert stats["path"] == files.path == stats["plan"]["path"]
    assert (stats["rows_left"], stats["rows_right"], stats["rows_out"]) == (30, 4, 3)
    assert stats["total_ns"] > 0 and stats["phases"]
    assert all(list(phase) == ["name", "ns", "bytes"] for phase in stats["phases"])


def test_stats_table(files):
    # --stats takes no value of its own from the arguments that follow it.
    done = files.join("--stats", "l.parquet", "r.csv", "--on", "id", "--quiet", "--count")
    assert done.stdout == "3\n"
    assert "30 left, 4 right, 3 out" in done.stderr and "phase" in done.stderr
    assert "ms, without reading and writing files" in done.stderr


def test_explain(files):
    done = files.run("explain", "join", "l.parquet", "r.csv", "--on", "id")
    assert done.returncode == 0 and done.stdout.split()[:2] == ["path", files.path]
    plan = json.loads(files.run("explain", "join", "l.parquet", "r.csv", "--on", "id", "--json").stdout)
    assert plan["path"] == files.path and plan["candidates"]
    assert sorted(path.name for path in files.folder.iterdir()) == ["l.parquet", "r.csv"]


def test_explain_prints_a_tree(files):
    explain = ("explain", "join", "l.parquet", "r.csv", "--on", "id")
    plan = json.loads(files.run(*explain, "--json").stdout)
    tree = plan["tree"]
    assert (tree["operator"], tree["path"], tree["device"]) == ("join", plan["path"], plan["device"])
    assert tree["estimated_ns"] == plan["estimated_ns"] and tree["estimated_rows"] > 0
    chosen = [c for c in plan["candidates"] if c["path"] == plan["path"] and c["choices"] == tree["strategy"]]
    assert chosen and chosen[0]["estimated_ns"] == tree["estimated_ns"]
    assert [(leaf["operator"], leaf["device"], leaf["inputs"]) for leaf in tree["inputs"]] == [("table", "host", [])] * 2
    assert [leaf["estimated_rows"] for leaf in tree["inputs"]] == [30, 4]
    text = files.run(*explain).stdout
    assert f"join on {plan['device']}: {tree['strategy']}" in text and "table on host; about 30 rows" in text
    groups = json.loads(files.run("explain", "group-by", "l.parquet", "--keys", "id", "--json").stdout)["tree"]
    assert groups["operator"] == "group-by" and len(groups["inputs"]) == 1


def test_explain_of_a_count_is_the_plan_that_counts(files):
    count = ("join", "l.parquet", "r.csv", "--on", "id", "--count")
    ran = json.loads(files.run(*count, "--stats=json").stderr.splitlines()[-1])["plan"]
    explained = json.loads(files.run("explain", *count, "--json").stdout)
    rows = json.loads(files.run("explain", *count[:-1], "--json").stdout)
    assert explained["estimated_ns"] == ran["estimated_ns"] < rows["estimated_ns"]
    assert explained["candidates"] == ran["candidates"]


def test_explain_prints_a_line_a_candidate_the_cheapest_first(files):
    explain = ("explain", "join", "l.parquet", "r.csv", "--on", "id")
    text = files.run(*explain).stdout
    candidates = json.loads(files.run(*explain, "--json").stdout)["candidates"]
    lines = text.split("candidates\n")[1].splitlines()
    listed = [line for line in lines if line.startswith("  ")]
    assert len(listed) == len(candidates)
    costs = [candidate["estimated_ns"] or float("inf") for candidate in candidates]
    assert costs == sorted(costs)
    assert all(candidate["choices"] in line for candidate, line in zip(candidates, listed, strict=True))
    by_phase = files.run(*explain, "--phases").stdout
    assert by_phase.startswith(text.split("candidates")[0])
    assert all(phase["name"] in by_phase for candidate in candidates for phase in candidate["phases"])
    assert files.run(*explain, "--phases", "--json").returncode == 2


def test_options_that_change_no_row(files):
    for option in (
        ["--threads", "1"],
        ["--threads", "2"],
        ["--memory-limit", "64MiB"],
        ["--memory-limit", "1e9"],
        ["--device-memory-limit", "0.5GB"],
        ["--tuning", "radix_bits=2,slice_rows=7,chunk_rows=2"],
        ["--device", "auto"],
        ["--how", "inner"],
    ):
        assert files.join("l.parquet", "r.csv", "--on", "id", "--count", *option).stdout == "3\n", option


def test_progress_on_a_terminal(garuda):
    """A bar is drawn on a terminal and removed again."""
    rows = pa.table({"k": pa.array([7] * 6_000, pa.int32()), "a": range(6_000)})
    tables.write(garuda.folder / "equal.parquet", rows)
    master, slave = pty.openpty()
    process = subprocess.Popen(
        garuda.arguments("join", "equal.parquet", "equal.parquet", "--on", "k", "-o", "out.parquet"),
        cwd=garuda.folder,
        env=garuda.environment(),
        stderr=slave,
    )
    os.close(slave)
    seen = b""
    try:
        while chunk := os.read(master, 4096):
            seen += chunk
    except OSError:  # the terminal's other end is closed
        pass
    os.close(master)
    assert process.wait() == 0
    assert b"\r\x1b[2K" in seen and b"rows" in seen
    assert b"36000000 rows" in seen.split(b"\x1b[2K")[-1]
