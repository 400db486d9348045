"""`garuda batch`: commands, one a line, in one process."""

from __future__ import annotations

import json
import signal
import subprocess
import time

import pyarrow as pa
import pytest
import tables
from command import SECONDS

JOIN = "join l.arrow r.arrow --on id"


@pytest.fixture
def inputs(on_each):
    """Two tables of which 5 rows match."""
    tables.write(on_each.folder / "l.arrow", pa.table({"id": list(range(10)), "name": [f"row {i}" for i in range(10)]}))
    tables.write(on_each.folder / "r.arrow", pa.table({"id": [0, 2, 4, 6, 8, 20]}))
    return on_each


def batch(garuda, text, *arguments, status=0):
    done = garuda.run("batch", *arguments, stdin=None, input=text)
    assert done.returncode == status, done.stderr
    return done


def with_path(garuda, line):
    return f"{line} --path {garuda.path}" if garuda.path else line


def test_commands_of_a_file_run_in_turn(inputs):
    join, count = with_path(inputs, f"{JOIN} -o 'joined rows.arrow'"), with_path(inputs, f"{JOIN} --count")
    group = with_path(inputs, "group-by 'joined rows.arrow' --keys name --agg 'sum:id=\"a b\"' --ordered -o g.arrow")
    (inputs.folder / "commands.txt").write_text(f"# what follows\n\n  {join} # joined first\n{count}\r\n{group}")
    done = inputs.run("batch", "commands.txt")
    assert (done.returncode, done.stdout) == (0, "5\n"), done.stderr
    groups = tables.read(inputs.folder / "g.arrow")
    assert groups.to_pydict() == {"name": [f"row {i}" for i in range(0, 10, 2)], '"a b"': list(range(0, 10, 2))}


def test_a_line_runs_when_it_comes(inputs):
    """Whoever writes a line can wait for what it prints before writing the next."""
    process = inputs.start("batch", stdin=subprocess.PIPE)
    for _ in range(3):
        process.stdin.write(with_path(inputs, f"{JOIN} --count --quiet --stats=json") + "\n")
        process.stdin.flush()
        assert process.stdout.readline() == "5\n"
        assert json.loads(process.stderr.readline())["rows_out"] == 5
    out, errors = process.communicate(timeout=SECONDS)
    assert (process.returncode, out, errors) == (0, "", "")


def test_the_engine_is_made_once(inputs):
    line = with_path(inputs, f"{JOIN} --count --quiet --stats=json")
    errors = batch(inputs, f"{line}\n{line}\n").stderr.splitlines()
    first, second = (json.loads(stats)["engine_ns"] for stats in errors)
    assert first > 0 and second == 0


def test_an_engine_without_devices_is_not_taken_for_one_with(on_lavapipe):
    garuda = on_lavapipe
    tables.write(garuda.folder / "l.arrow", pa.table({"id": [1, 2, 3]}))
    lines = [f"join l.arrow l.arrow --on id --count --path {path}" for path in ("cpu", "compute", "cpu")]
    done = batch(garuda, "\n".join(lines))
    assert done.stdout == "3\n3\n3\n"
    assert [line.split()[1] for line in done.stderr.splitlines() if " path on " in line] == ["cpu", "compute", "cpu"]


def test_a_limit_holds_for_its_command_alone(inputs):
    join = with_path(inputs, f"{JOIN} --count --quiet")
    assert batch(inputs, f"{join} --memory-limit 64MiB\n{join}\n{join} --memory-limit 256MiB\n").stdout == "5\n" * 3


@pytest.mark.parametrize(
    ("line", "status", "says"),
    [
        ("join l.arrow nothing.arrow --on id", 3, "nothing.arrow"),
        ("join l.arrow", 2, "RIGHT is required"),
        ("jion", 2, "jion"),
        ("batch other.txt", 2, "a batch runs no batch"),
        ("join 'l.arrow", 2, "a quote stays open: '"),
        ("join l.arrow \\", 2, "a backslash ends the line"),
    ],
)
def test_a_failure_ends_the_batch(garuda, line, status, says):
    tables.write(garuda.folder / "l.arrow", pa.table({"id": [1, 2, 3]}))
    count = "join l.arrow l.arrow --on id --count --quiet"
    done = batch(garuda, f"{count}\n{line}\n{count}\n", status=status)
    sentence, where = done.stderr.splitlines()
    assert done.stdout == "3\n" and says in sentence
    assert where == f"garuda: line 2 of standard input ended with status {status}"
    going_on = batch(garuda, f"{count}\n{line}\nnothing\n{count}\n", "-", "--keep-going", status=status)
    assert going_on.stdout == "3\n3\n"
    assert going_on.stderr.splitlines()[-1] == "garuda: line 3 of standard input ended with status 2"


def test_no_such_file(garuda):
    assert garuda.refused(3, "batch", "nothing.txt") == "garuda: cannot read nothing.txt"
    assert "cannot read" in garuda.refused(3, "batch", ".")


def test_nothing_to_do(garuda):
    assert batch(garuda, "").stderr == ""
    assert batch(garuda, "\n# nothing\n   \n").stderr == ""


def test_interrupted_between_commands(garuda):
    tables.write(garuda.folder / "l.arrow", pa.table({"id": [1, 2, 3]}))
    process = garuda.start("batch", stdin=subprocess.PIPE)
    process.stdin.write("join l.arrow l.arrow --on id --count --quiet\n")
    process.stdin.flush()
    assert process.stdout.readline() == "3\n"
    begin = time.monotonic()
    process.send_signal(signal.SIGINT)
    assert process.wait(timeout=SECONDS) == 130
    assert time.monotonic() - begin < 5
    process.communicate()
