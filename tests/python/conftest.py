"""The Python package on the CPU and on lavapipe."""

from __future__ import annotations

import pytest
from package import LAVAPIPE, PATHS, environment


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
