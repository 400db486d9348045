"""garuda-sql as a process: rows, files, tables, errors and exit codes, and its prompt on a terminal."""

from __future__ import annotations

import json
import os
import pathlib
import pty
import select
import subprocess
import sys
import time
from typing import Any

import garuda
import pyarrow
import pyarrow.csv
import pyarrow.feather
import pyarrow.parquet
import pytest
from garuda import _statements
from garuda._shell import main, rows_text

pytest.importorskip("datafusion")

DONE, USAGE, BAD_INPUT, NO_DEVICE, NO_ROOM = 0, 2, 3, 4, 5
ORDERS = pyarrow.table(
    {
        "id": pyarrow.array(range(100), pyarrow.int64()),
        "city": pyarrow.array([["Goa", "Pune", None][i % 3] for i in range(100)]),
        "price": pyarrow.array([i / 4 for i in range(100)]),
    }
)


@pytest.fixture
def folder(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> pathlib.Path:
    """Tables orders and cities as files; the current folder."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "tables" / "orders").mkdir(parents=True)
    pyarrow.parquet.write_table(ORDERS.slice(0, 40), tmp_path / "tables" / "orders" / "1.parquet")
    pyarrow.parquet.write_table(ORDERS.slice(40), tmp_path / "tables" / "orders" / "2.parquet")
    (tmp_path / "tables" / "cities.csv").write_text("city,people\nGoa,7\nPune,8\n")
    (tmp_path / "tables" / "read.me").write_text("no table")
    return tmp_path


def run(*arguments: str, stdin: str = "", **environment: str) -> subprocess.CompletedProcess[str]:
    """Runs garuda-sql as a process."""
    return subprocess.run(
        [sys.executable, "-m", "garuda._shell", *arguments], input=stdin, text=True, capture_output=True, timeout=120,
        env={**os.environ, **environment}, check=False,
    )  # fmt: skip


def called(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    """Runs garuda-sql in this process: its exit code, and what it said."""
    try:
        code: Any = main([*arguments, "--quiet"])
    except SystemExit as left:
        code = left.code
    out, err = capsys.readouterr()
    return code, out, err


def test_a_query_shows_its_rows(folder: pathlib.Path) -> None:
    done = run("select city, sum(price) as total from 'tables/orders/*.parquet' where city is not null group by city order by city", "--path=cpu")
    assert (done.returncode, done.stderr) == (DONE, "")
    assert [line.split() for line in done.stdout.splitlines()] == [
        ["city", "total"], ["utf8", "float64"], ["Goa", "420.75"], ["Pune", "404.25"], ["2", "rows"]]  # fmt: skip


def test_queries_from_standard_input(folder: pathlib.Path) -> None:
    done = run("--tables", "tables", "--path=cpu", stdin="-- two;\nselect count(*) as n from orders; select ';' as s, people from cities where city = 'Goa'")
    assert done.returncode == DONE, done.stderr
    assert [line.split() for line in done.stdout.splitlines()] == [
        ["n"], ["int64"], ["100"], ["1", "row"], ["s", "people"], ["utf8", "int64"], [";", "7"], ["1", "row"]]  # fmt: skip


@pytest.mark.parametrize(
    ("name", "read"),
    [("out.parquet", pyarrow.parquet.read_table), ("out.arrow", pyarrow.feather.read_table), ("out.csv", pyarrow.csv.read_csv)],
)
def test_output_files(folder: pathlib.Path, capsys: pytest.CaptureFixture[str], name: str, read: Any) -> None:
    query = "select id, price from orders where id < 50 order by id desc"
    assert called(capsys, query, "--tables=tables", "-o", name, "--path=cpu") == (DONE, "", "")
    assert read(folder / name).to_pydict() == {"id": list(range(49, -1, -1)), "price": [i / 4 for i in range(49, -1, -1)]}
    assert sorted(path.name for path in folder.iterdir()) == [name, "tables"]


def test_tables_by_name(folder: pathlib.Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, out, err = called(capsys, "select count(*) as n from o join \"C\" on o.city = \"C\".city", "--table=o=tables/orders/1.parquet", "--table=C=tables/cities.csv")
    assert (code, err) == (DONE, "")
    assert out.split() == ["n", "int64", "27", "1", "row"]


def test_long_and_wide_results_are_cut() -> None:
    rows = garuda.table({"id": list(range(100)), "text": ["a long text of more than thirty-two characters"] * 100, "new\nline": ["宽"] * 100})
    text = rows_text(rows, 40, 60)
    lines = text.splitlines()
    assert len(lines) == 2 + 40 + 1
    assert lines[-1] == "… 100 rows"
    assert all(len(line) <= 60 for line in lines)
    narrow = rows_text(rows, 2, 10).splitlines()
    assert narrow[:2] == ["   id", "int64"]
    assert narrow[-2:] == ["and 2 columns more", "… 100 rows"]


@pytest.mark.parametrize(
    ("arguments", "code", "says"),
    [
        (["select nothing from orders"], USAGE, "No field named"),
        (["select * from nowhere"], USAGE, "the query reads a table that is not given: nowhere"),
        (["select * from 'none.parquet'"], BAD_INPUT, "the query reads files that are not there: none.parquet"),
        (["select id, 1 / (id - 7) as x from orders"], BAD_INPUT, "zero"),
        (["select id + 9223372036854775807 as x from orders"], BAD_INPUT, "beyond its type"),
        (["select cast(city as integer) as x from orders"], BAD_INPUT, "cast"),
        (["select regexp_replace(city, '(', 'x') as x from orders"], BAD_INPUT, "pattern"),
        (["select no_such_function(id) as x from orders"], USAGE, "no_such_function"),
        (["select sin(price) as x from orders"], USAGE, "sin"),
        (["drop table orders"], USAGE, "DataFusion does not plan this query"),
        (["select 1; select 2"], USAGE, "--output takes the rows of one query"),
        ([" "], USAGE, "there is no query"),
        (["select id from orders", "--path=abacus"], USAGE, "path"),
        (["select id from orders", "--threads=no"], USAGE, "--threads"),
        (["select id from orders", "--explain=picture"], USAGE, "--explain"),
        (["select id from orders", "--table=o"], USAGE, "--table wants NAME=FILE: 'o'"),
        (["select id from orders", "--tables=none"], BAD_INPUT, "cannot read none: no such file or directory"),
    ],
)  # fmt: skip
def test_errors(folder: pathlib.Path, capsys: pytest.CaptureFixture[str], arguments: list[str], code: int, says: str) -> None:
    """One sentence, the exit code of its kind, and no file."""
    found, out, err = called(capsys, "--tables=tables", "--path=cpu", *arguments, "-o", "out.parquet")
    assert (found, out) == (code, ""), err
    assert err.startswith("garuda-sql: ") and says in err
    assert sorted(path.name for path in folder.iterdir()) == ["tables"]


def test_errors_of_output(folder: pathlib.Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, _, err = called(capsys, "select 1 as x", "-o", "none/out.parquet")
    assert code == NO_ROOM and "none/out.parquet" in err
    code, _, err = called(capsys, "select 1 as x", "-o", "out.txt")
    assert code == USAGE and "out.txt" in err


def test_a_caret_is_under_the_place(folder: pathlib.Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, _, err = called(capsys, "select id,\n  citi from orders", "--tables=tables")
    lines = err.splitlines()
    assert code == USAGE
    assert lines[-2:] == ["  citi from orders", "  ^"]
    code, _, err = called(capsys, "select * from\n orders join nowhere using (id)", "--tables=tables")
    assert code == USAGE
    assert err.splitlines()[-2:] == [" orders join nowhere using (id)", "             ^"]
    code, _, err = called(capsys, "select id frm orders x", "--tables=tables")
    assert code == USAGE
    assert err.splitlines()[-2] == "select id frm orders x" and err.splitlines()[-1].strip() == "^"


def test_plans_and_statistics(folder: pathlib.Path, capsys: pytest.CaptureFixture[str]) -> None:
    query = "select city, count(*) as n from orders group by city"
    code, out, _ = called(capsys, query, "--tables=tables", "--explain")
    assert code == DONE and "group-by on" in out
    code, out, _ = called(capsys, query, "--tables=tables", "--explain=html")
    assert code == DONE and out.startswith("<!doctype html>") and "group-by" in out
    code, out, err = called(capsys, query, "--tables=tables", "--stats=json", "--path=cpu")
    assert code == DONE and json.loads(err)["rows_out"] == 3 and "3 rows" in out
    code, out, err = called(capsys, query, "--tables=tables", "--stats", "--explain", "--path=cpu")
    assert code == DONE and "group-by on" in out and "; 3 rows in " in out and "100 in, 3 out" in err


def test_strict(folder: pathlib.Path, capsys: pytest.CaptureFixture[str]) -> None:
    query = "select id from orders where price > 3 order by id"
    assert called(capsys, query, "--tables=tables", "--strict", "--path=cpu")[0] == DONE
    code, _, err = called(capsys, query, "--tables=tables", "--strict", "--path=compute")
    assert code == NO_DEVICE


def test_version_imports_nothing_heavy() -> None:
    """Neither a library of tables nor DataFusion is imported where no query runs."""
    heavy = ("pyarrow", "datafusion", "numpy", "pandas", "polars", "duckdb", "prompt_toolkit", "readline", "tqdm")
    script = (
        "import sys\nfrom garuda._shell import main\n"
        "try:\n    main(['--version'])\nexcept SystemExit as left:\n    assert left.code == 0\n"
        f"print([name for name in {heavy} if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", script], text=True, capture_output=True, timeout=60, check=True)
    assert done.stdout.splitlines() == [f"garuda-sql {garuda.__version__}", "[]"]


@pytest.mark.parametrize(
    ("text", "statements", "rest"),
    [
        ("", [], ""),
        ("select 1", [], "select 1"),
        ("select 1;", ["select 1"], ""),
        ("select ';' ; select \";\"; x", ["select ';'", 'select ";"'], " x"),
        ("select 1 -- ;\n;", ["select 1 -- ;"], ""),
        ("select /* ; */ 1; -- end;", ["select /* ; */ 1"], " -- end;"),
        ("select 'it''s;'; ;;", ["select 'it''s;'"], ""),
        ("select 'open; ", [], "select 'open; "),
        ("select 1; /* open; ", ["select 1"], " /* open; "),
    ],
)
def test_statements(text: str, statements: list[str], rest: str) -> None:
    assert _statements.split(text) == (statements, rest)
    assert _statements.is_blank(" -- only\n /* comments; */ ")


class Terminal:
    """garuda-sql on a terminal of its own."""

    def __init__(self, folder: pathlib.Path, *, with_prompt_toolkit: bool) -> None:
        self.seen = ""
        hidden = "" if with_prompt_toolkit else "import sys; sys.modules['prompt_toolkit'] = None; "
        script = f"{hidden}import sys; from garuda._shell import main; sys.exit(main(['--tables=tables', '--path=cpu']))"
        environment = {**os.environ, "XDG_STATE_HOME": str(folder / "state"), "TERM": "xterm", "PROMPT_TOOLKIT_NO_CPR": "1",
                       "COLUMNS": "100", "LINES": "40"}  # fmt: skip
        self.pid, self.fd = pty.fork()
        if self.pid == 0:
            os.execve(sys.executable, [sys.executable, "-c", script], environment)

    def expect(self, text: str, again: str = "") -> None:
        """Reads until `text` has come since the last call; types `again` whenever nothing has come for a second."""
        end = time.monotonic() + 120
        while text not in self.seen:
            assert time.monotonic() < end, f"{text!r} did not come: {self.seen!r}"
            if select.select([self.fd], [], [], 1)[0]:
                try:
                    self.seen += os.read(self.fd, 65536).decode(errors="replace")
                except OSError:  # the process has ended
                    assert text in self.seen, f"{text!r} did not come: {self.seen!r}"
            else:
                self.say(again)
        self.seen = self.seen.partition(text)[2]

    def say(self, text: str) -> None:
        os.write(self.fd, text.encode())

    def code(self) -> int:
        while True:  # what is still to be read could keep the process from ending
            try:
                if not os.read(self.fd, 65536):
                    break
            except OSError:
                break
        code = os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])
        os.close(self.fd)
        return code


@pytest.mark.parametrize("with_prompt_toolkit", [False, True])
def test_prompt(folder: pathlib.Path, with_prompt_toolkit: bool) -> None:
    if with_prompt_toolkit:
        pytest.importorskip("prompt_toolkit")
    terminal = Terminal(folder, with_prompt_toolkit=with_prompt_toolkit)
    terminal.expect("garuda>")
    terminal.say("select count(*) as n\r")
    terminal.expect("...>")
    terminal.say("from orders;\r")
    terminal.expect("1 row")
    terminal.expect("garuda>")
    terminal.say("select wrong from orders;\r")
    terminal.expect("No field named wrong")
    terminal.expect("garuda>")
    terminal.say("select 'half\r")
    terminal.expect("...>")
    terminal.say("\x03")  # Ctrl-C drops what was typed
    terminal.expect("garuda>", again="\x03")  # the first may come before the prompt listens
    terminal.say("select 41 + 1 as answer;\r")
    terminal.expect("42")
    terminal.expect("garuda>")
    terminal.say("exit\r")
    assert terminal.code() == DONE
    histories = list((folder / "state" / "garuda").iterdir())
    assert any("answer" in history.read_text() for history in histories)
    again = Terminal(folder, with_prompt_toolkit=with_prompt_toolkit)
    again.expect("garuda>")
    again.say("\x1b[A\x1b[A\r")  # the last but one line of the history
    again.expect("42")
    again.expect("garuda>")
    again.say("\x04")
    assert again.code() == DONE
