"""Where the Python package is, `build/python` as `ninja garuda_python` leaves it, and the environment of its tests."""

from __future__ import annotations

import os
import pathlib
import platform
import sys

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
    """Variables of a process with lavapipe alone, and the tests' own calibrations."""
    icd = LAVAPIPE or NO_FILE
    return {
        **os.environ, "PYTHONPATH": str(PACKAGE), "VK_ICD_FILENAMES": icd, "VK_DRIVER_FILES": icd,
        "GARUDA_CUDA_PLUGIN": NO_FILE, "XDG_CACHE_HOME": str(ROOT / "build/test_cache"), **more,
    }  # fmt: skip
