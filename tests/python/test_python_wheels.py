"""The interpreters that ./dev wheel builds with, the wheels that serve each, and its failures; nothing is built here."""

from __future__ import annotations

import pathlib
import re
import sys

import pytest
from package import ROOT

# Last: the package lies there without its extension, and spawned processes look for it on this path, too.
sys.path.append(str(ROOT / "python"))

import build_wheels  # noqa: E402
import unpacked_pythons  # noqa: E402
from build_wheels import Try, Wheel  # noqa: E402

NAME = "garuda-0.1.0-cp312-abi3-manylinux_2_34_x86_64.whl"


def test_one_wheel_serves_the_stable_abi_and_older_versions_have_one_each() -> None:
    found = build_wheels.wheels_for([(3, 15), (3, 9), (3, 13), (3, 11), (3, 14)])
    assert found == [
        Wheel("cp39-cp39", (3, 9), ((3, 9),)),
        Wheel("cp311-cp311", (3, 11), ((3, 11),)),
        Wheel("cp312-abi3", (3, 13), ((3, 13), (3, 14), (3, 15))),
    ]
    assert build_wheels.wheels_for([(3, 12)]) == [Wheel("cp312-abi3", (3, 12), ((3, 12),))]
    assert build_wheels.wheels_for([]) == []


def test_versions_that_are_not_there_are_named() -> None:
    assert build_wheels.missing_of([(3, 9), (3, 11), (3, 13), (3, 14), (3, 15)]) == [(3, 10), (3, 12)]


def test_versions_before_the_oldest_are_refused() -> None:
    with pytest.raises(ValueError, match=r"older than 3\.9: 3\.8"):
        build_wheels.wheels_for([(3, 8)])


def test_versions_are_those_of_pyproject() -> None:
    text = (ROOT / "pyproject.toml").read_text()
    assert f'requires-python = ">={build_wheels.text_of(build_wheels.OLDEST)}"' in text
    assert f'wheel.py-api = "{build_wheels.tag_of(build_wheels.STABLE).split("-")[0]}"' in text


def test_an_interpreter_that_is_not_there_is_an_error(tmp_path: pathlib.Path) -> None:
    no_python = tmp_path / "python3.99"
    no_python.write_text("#!/bin/sh\nexit 1\n")
    no_python.chmod(0o755)
    for name in (str(no_python), str(tmp_path / "nothing")):
        with pytest.raises(SystemExit, match=f"no Python that makes environments: {re.escape(name)}"):
            build_wheels.named_pythons([name])
    assert build_wheels.named_pythons([sys.executable]) == {sys.version_info[:2]: sys.executable}


def test_large_wheels_and_failed_runs_are_problems() -> None:
    assert Try((3, 13), NAME, 24.9, "yes", "yes", "yes").problems(25) == []
    assert Try((3, 13), NAME, 60.0, "yes", "yes", "-").problems(None) == []
    large, unread, failed = Try((3, 13), NAME, 25.1, "yes", "no: a reason", "no: another").problems(25)[::-1]
    assert large == f"{NAME} in Python 3.13: more than 25 MB: 25.1"
    assert failed == f"{NAME} in Python 3.13, lavapipe: no: a reason"
    assert unread == f"{NAME} in Python 3.13, parquet: no: another"


def test_the_table_has_a_line_a_version() -> None:
    tries = [Try((3, 13), NAME, 3.31, "yes", "yes", "yes"), Try((3, 14), NAME, 3.31, "yes", "no", "-")]
    assert [line.split() for line in build_wheels.table(tries).splitlines()] == [
        ["Python", "wheel", "MB", "cpu", "lavapipe", "parquet"],
        ["3.13", NAME, "3.3", "yes", "yes", "yes"],
        ["3.14", NAME, "3.3", "yes", "no", "-"],
    ]


def test_wheels_carry_the_reader_where_its_pyarrow_is() -> None:
    old, new = build_wheels.wheels_for([(3, 10), (3, 13)])
    assert build_wheels.libraries_of(old, "reader.so", "") == []
    assert build_wheels.libraries_of(old, "reader.so", "cuda.so") == ["cuda.so"]
    assert build_wheels.libraries_of(new, "reader.so", "cuda.so") == ["reader.so", "cuda.so"]
    text = (ROOT / "pyproject.toml").read_text()
    assert f"pyarrow>=26; python_version >= '{build_wheels.text_of(build_wheels.READING)}'" in text


def test_the_c_library_says_its_version(tmp_path: pathlib.Path) -> None:
    library = tmp_path / "lib/libc.so.6"
    library.parent.mkdir()
    library.write_bytes(b"\0GNU C Library (Debian GLIBC 2.41-12) stable release version 2.41.\n\0")
    assert unpacked_pythons.libc_version(tmp_path) == (2, 41)
    library.write_bytes(b"\0")
    with pytest.raises(RuntimeError, match="does not say its version"):
        unpacked_pythons.libc_version(tmp_path)


def test_pip_is_found_below_the_folder(tmp_path: pathlib.Path) -> None:
    """Once, also where one file of the library is a link to another."""
    library = tmp_path / "usr/lib/python3.14"
    (library / "ensurepip").mkdir(parents=True)
    wheels = unpacked_pythons.WHEELS
    for name in ("ensurepip/__init__.py", "_sysconfigdata_a.py", "_sysconfig_vars_a.json"):
        (library / name).write_text(f"WHEEL_PKG_DIR={wheels}/\n")
    (library / "_sysconfigdata_b.py").symlink_to("_sysconfigdata_a.py")
    unpacked_pythons.find_wheels_in(tmp_path, library)
    texts = {file.read_text() for file in library.rglob("*") if file.is_file()}
    assert texts == {f"WHEEL_PKG_DIR={tmp_path}{wheels}/\n"}
