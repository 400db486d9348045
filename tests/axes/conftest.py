"""The driver that the paths on a device are tested with."""

from __future__ import annotations

import sys

import pytest
from interfaces import BUILD

sys.path.insert(0, str(BUILD / "python"))
sys.path.insert(0, str(BUILD.parent / "tests/python"))
from package import LAVAPIPE, NO_FILE, environment  # noqa: E402


@pytest.fixture
def icd(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    if request.node.callspec.params.get("path", "cpu") != "cpu" and LAVAPIPE is None:
        pytest.skip("lavapipe is not installed")
    for name, value in environment().items():
        monkeypatch.setenv(name, value)
    return LAVAPIPE or NO_FILE
