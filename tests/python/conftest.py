"""The Python package as `ninja garuda_python` leaves it in build/python, on the CPU and on lavapipe."""

from __future__ import annotations

import os
import pathlib
import platform
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
PACKAGE = pathlib.Path(os.environ.get("GARUDA_PACKAGE", ROOT / "build/python"))
sys.path.insert(0, str(PACKAGE))

NO_FILE = "/nonexistent/file"
ICD_FOLDER = pathlib.Path("/usr/share/vulkan/icd.d")
LAVAPIPE = next(
    (str(icd) for icd in (ICD_FOLDER / f"lvp_icd.{platform.machine()}.json", ICD_FOLDER / "lvp_icd.json") if icd.exists()),
    None,
)
PATHS = ("cpu", "graphics", "compute")


def environment(**more: str) -> dict[str, str]:
    """Of a process with lavapipe alone, and the tests' own calibrations."""
    icd = LAVAPIPE or NO_FILE
    return {
        **os.environ, "PYTHONPATH": str(PACKAGE), "VK_ICD_FILENAMES": icd, "VK_DRIVER_FILES": icd,
        "GARUDA_CUDA_PLUGIN": NO_FILE, "XDG_CACHE_HOME": str(ROOT / "build/test_cache"), **more,
    }  # fmt: skip


@pytest.fixture(autouse=True)
def _environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in environment().items():
        monkeypatch.setenv(name, value)


@pytest.fixture(params=PATHS)
def run_on(request: pytest.FixtureRequest) -> dict[str, object]:
    """Options of a call: each path, on the CPU or lavapipe."""
    if request.param != "cpu" and LAVAPIPE is None:
        pytest.skip("lavapipe is not installed")
    return {"path": request.param, **({} if request.param == "cpu" else {"device": 0})}
