"""pyarrow's own tests of tables, joins and group-bys with garuda.install("pyarrow"), by hand: nothing is fetched.

  .venv/bin/python tests/python/run_pyarrow_suite.py CHECKOUT [--verbose] [--files GLOB…] [-- PYTEST-ARGUMENTS]

CHECKOUT is one of Arrow's repository, at the version of pyarrow that is installed, or the folder of an installed pyarrow
that has its tests. They are copied, so that the installed pyarrow is what they import, and run twice: by pyarrow alone, and
with its joins and group-bys sent to garuda. Printed: how many pass alone, how many of these with garuda, in how many of them
garuda ran a call; why the others do not pass; why calls stayed with pyarrow. Exit status 1 when a test passes alone and not
with garuda, unless it is known to differ.
"""

from __future__ import annotations

import functools
import pathlib
import shutil
import sys
import tempfile
from typing import Any, Callable

import suite

FILES = ("test_acero.py", "test_compute.py", "test_dataset.py", "test_exec_plan.py", "test_substrait.py", "test_table.py",
         "test_udf.py")  # fmt: skip
# Patterns of tests that pass by pyarrow alone and not with garuda, and why.
KNOWN: dict[str, str] = {}

if suite.WHO:
    import garuda
    import pyarrow.acero
    import pytest

    DECISIONS: list[tuple[str, str, str]] = []

    def recorded(name: str, call: Callable[..., Any]) -> Callable[..., Any]:
        """The call, whose fallbacks say who ran it."""

        @functools.wraps(call)
        def replacement(*arguments: Any, **options: Any) -> Any:
            garuda.patches._fallbacks.clear()
            try:
                return call(*arguments, **options)
            finally:
                left = garuda.fallbacks()
                DECISIONS.append((name, "pyarrow", left[-1].reason) if left else (name, "garuda", ""))

        return replacement

    if suite.WHO == "garuda":
        garuda.install("pyarrow", engine=garuda.Engine(path="cpu"))
        for attribute in ("_perform_join", "_group_by"):
            setattr(pyarrow.acero, attribute, recorded(attribute.strip("_"), getattr(pyarrow.acero, attribute)))

    @pytest.hookimpl(hookwrapper=True)
    def pytest_runtest_call(item: pytest.Item) -> Any:
        DECISIONS.clear()
        yield
        suite.record(item, DECISIONS)


def main() -> int:
    parser = suite.parser(__doc__ or "")
    arguments = parser.parse_args()
    checkout = arguments.checkout.resolve()
    package = checkout / "python/pyarrow" if (checkout / "python/pyarrow").is_dir() else checkout
    tests = package / "tests"
    if not tests.is_dir():
        parser.error(f"no tests of pyarrow there: {tests}")
    with tempfile.TemporaryDirectory() as folder:
        copied = pathlib.Path(folder) / "pyarrow_suite/tests"
        shutil.copytree(tests, copied, ignore=shutil.ignore_patterns("__pycache__"))
        shutil.copy(package / "conftest.py", copied.parent)
        (copied.parent / "__init__.py").touch()
        files = sorted({str(path) for pattern in arguments.files or FILES for path in copied.glob(pattern)})
        given = [*arguments.pytest, *files]
        alone, engine = (suite.run(who, __file__, pathlib.Path(folder), [], given) for who in ("alone", "garuda"))
    return suite.compare(alone, engine, KNOWN, arguments.verbose)


if __name__ == "__main__":
    sys.exit(main())
