"""The garuda command on the CPU path and on every Vulkan driver for tests that is installed."""

from __future__ import annotations

import os
import pathlib
import zlib

import pytest
from command import DRIVERS, ROOT, Garuda, icd_of


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """SwiftShader compiles every pipeline in every process: but for full runs it takes a quarter of each test's cases.

    The suites in C++ run all kernels on it; what the command adds is the same on every driver.
    """
    if os.environ.get("GARUDA_TEST_FULL") == "1":
        return
    seen: set[str] = set()
    left_out = []
    for item in items:
        if "swiftshader" not in item.name:
            continue
        test = item.nodeid.split("[")[0]
        if test in seen and zlib.crc32(item.nodeid.encode()) % 4 != 0:
            left_out.append(item)
        seen.add(test)
    config.hook.pytest_deselected(items=left_out)
    items[:] = [item for item in items if item not in set(left_out)]


@pytest.fixture(autouse=True)
def cache(monkeypatch: pytest.MonkeyPatch) -> None:
    """The tests' own: no calibration of the user's."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(ROOT / "build/test_cache"))


@pytest.fixture
def garuda(tmp_path: pathlib.Path) -> Garuda:
    """The command without a Vulkan driver, and with the path left to it."""
    return Garuda(tmp_path)


@pytest.fixture(params=["cpu", "lavapipe", "swiftshader"])
def on_each(request: pytest.FixtureRequest, tmp_path: pathlib.Path) -> Garuda:
    """The CPU path without a Vulkan driver, then the graphics path on each driver."""
    if request.param == "cpu":
        return Garuda(tmp_path, path="cpu")
    return Garuda(tmp_path, icd_of(request.param), "graphics")


@pytest.fixture(params=["cpu", *(f"{path}-{driver}" for driver in DRIVERS for path in ("graphics", "compute"))])
def join_on_each(request: pytest.FixtureRequest, tmp_path: pathlib.Path) -> Garuda:
    """Every path that joins: the CPU path without a Vulkan driver, the others on each driver."""
    path, _, driver = request.param.partition("-")
    return Garuda(tmp_path, icd_of(driver), path) if driver else Garuda(tmp_path, path=path)


@pytest.fixture(params=["lavapipe", "swiftshader"])
def on_graphics(request: pytest.FixtureRequest, tmp_path: pathlib.Path) -> Garuda:
    """The graphics path on each driver."""
    return Garuda(tmp_path, icd_of(request.param), "graphics")


@pytest.fixture
def on_lavapipe(tmp_path: pathlib.Path) -> Garuda:
    return Garuda(tmp_path, icd_of("lavapipe"), "graphics")
