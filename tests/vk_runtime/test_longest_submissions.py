"""tests/longest_submissions.py: what it prints of files that suites wrote, and what it does without them."""

from __future__ import annotations

import pathlib
import subprocess
import sys

import pytest

SCRIPT = pathlib.Path(__file__).resolve().parents[1] / "longest_submissions.py"


def run(folder: pathlib.Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, SCRIPT, folder, *arguments], capture_output=True, text=True, check=False)


def write(folder: pathlib.Path, entry: str, usual: str, compiling: str = "0 ") -> None:
    (folder / entry).write_text(f"{usual}\n{compiling}\n")


def test_times_over_the_limit_are_named_and_fail_nothing(tmp_path):
    write(tmp_path, "a_test.lavapipe", "399000000 build", "2500000000 join")
    write(tmp_path, "b_test.lavapipe", "401000000 build+count")
    write(tmp_path, "a_test.h200", "101500000 join")
    write(tmp_path, "a_test.profile-intel", "9000000000 join")
    done = run(tmp_path)
    assert done.returncode == 0, done.stderr
    assert "| lavapipe | 2 | 400 | 401.0 (over) | b_test: build+count | 2500.0 | a_test |" in done.stdout
    assert "| h200 | 1 | 100 | 101.5 (over) | a_test: join |" in done.stdout
    assert "over the limit: b_test on lavapipe: 401.0 ms in build+count" in done.stdout
    assert done.stdout.count("over the limit") == 2 and "profile" not in done.stdout
    rows = run(tmp_path, "--suites").stdout
    assert "| lavapipe | 1 | 400 | 399.0 | a_test: build |" in rows


@pytest.mark.parametrize("text", ["", "many 2\n0 \n", "1 build\n"])
def test_a_file_that_no_suite_writes_fails(tmp_path, text):
    (tmp_path / "a_test.lavapipe").write_text(text)
    assert run(tmp_path).returncode != 0


def test_no_suite_is_an_error(tmp_path):
    for folder in (tmp_path, tmp_path / "missing"):
        done = run(folder)
        assert done.returncode == 1 and done.stdout == "" and "no suite has run on a device yet" in done.stderr
