"""The order of rooms: the house keeps it, and a breach of each kind is named."""

import importlib.util
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
CHECK = ROOT / "cmake" / "check_rooms.py"

spec = importlib.util.spec_from_file_location("check_rooms", CHECK)
check_rooms = importlib.util.module_from_spec(spec)
sys.modules["check_rooms"] = check_rooms
spec.loader.exec_module(check_rooms)

ROOMS = check_rooms.read_rooms("low operators/low open.hpp\nhigh operators/high *\n")


def test_the_house_keeps_its_order():
    run = subprocess.run([sys.executable, CHECK], capture_output=True, text=True)
    assert run.returncode == 0, run.stdout + run.stderr


@pytest.mark.parametrize(
    ("path", "included", "breach"),
    [
        ("operators/high/a.cpp", "operators/low/open.hpp", None),
        ("operators/high/a.cpp", "operators/high/part/own.hpp", None),
        ("operators/low/a.cpp", "operators/high/b.hpp", "low is below high"),
        ("operators/high/a.cpp", "operators/low/own.hpp", "not a public header of low"),
        ("operators/nowhere/a.cpp", "operators/low/open.hpp", "belongs to no room"),
    ],
)
def test_breaches(path, included, breach):
    found = check_rooms.breaches(ROOMS, {path: f'#include "{included}"\n'})
    assert found == [] if breach is None else len(found) == 1 and path in found[0] and breach in found[0]


def test_forward_declarations_do_not_climb():
    declared = "namespace garuda::high {\nstruct Above;\n}  // namespace garuda::high\n"
    found = check_rooms.climbing(ROOMS, {"operators/low/a.hpp": declared})
    assert len(found) == 1 and "low is below high, so it cannot declare Above" in found[0]
    assert check_rooms.climbing(ROOMS, {"operators/high/a.hpp": declared}) == []
    defined = "namespace garuda::high {\nstruct Above { int size; };\n}  // namespace garuda::high\n"
    assert check_rooms.climbing(ROOMS, {"operators/high/a.hpp": defined}) == []


def test_public_headers_are_there_and_used():
    files = {"operators/low/open.hpp": "", "operators/high/a.cpp": '#include "operators/low/open.hpp"\n'}
    assert check_rooms.unused(ROOMS, files) == []
    del files["operators/high/a.cpp"]
    assert "no other room includes" in check_rooms.unused(ROOMS, files)[0]
    assert "not there" in check_rooms.unused(ROOMS, {})[0]


def test_a_wrong_list_is_refused():
    with pytest.raises(ValueError, match="same folder"):
        check_rooms.read_rooms("a operators/a\nb operators/a\n")
    with pytest.raises(ValueError, match="a name and a folder"):
        check_rooms.read_rooms("a\n")
