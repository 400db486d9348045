"""Tests of Polars or Narwhals with garuda.polars.Engine set, by hand: nothing is fetched.

  .venv/bin/python tests/python/run_polars_suite.py CHECKOUT [--verbose] [--files GLOB…] [-- PYTEST-ARGUMENTS]

CHECKOUT is one of Polars' repository, at the version that is installed or the nearest one before: its tests of joins and
group-bys; or one of Narwhals' (github.com/narwhals-dev/narwhals): all of its tests, with frames of Polars. The tests run
twice: by Polars' streaming engine, and with every query sent to garuda's, those of eager methods (`DataFrame.join`), which
have no engine of their own, too. Prices are left out, so garuda runs every node that it can. Printed: how many pass alone,
how many of these with the engine, in how many of them garuda ran a node; why the others do not pass; why nodes stayed with
Polars. Exit status 1 when a test passes alone and not with the engine, unless it is known to differ.
"""

from __future__ import annotations

import sys
from typing import Any, NamedTuple

import suite

if suite.WHO:
    import garuda.polars
    import polars
    import polars.lazyframe.frame
    import pytest

    class Everything(garuda.polars.Engine):
        """Takes the plans of eager methods, too, and keeps the decisions of all queries of a test."""

        def __init__(self) -> None:
            super().__init__(garuda.Engine(path="cpu"), prices=False)
            self.kept: list[garuda.polars.Decision] = []

        def collect(self, lf: Any, *, optimizations: Any, **options: Any) -> Any:
            self.decisions = []
            try:
                if not optimizations._pyoptflags.eager or options.get("background"):
                    return super().collect(lf, optimizations=optimizations, **options)
                rows = self._collected(lf, optimizations._pyoptflags)
                return polars.InMemoryEngine().collect(lf, optimizations=optimizations) if rows is None else rows
            finally:
                self.kept += self.decisions

    ENGINE: Any = Everything() if suite.WHO == "garuda" else polars.StreamingEngine()
    if suite.WHO == "garuda":
        polars.lazyframe.frame._eager_engine = lambda: ENGINE

    @pytest.hookimpl(hookwrapper=True)
    def pytest_runtest_call(item: pytest.Item) -> Any:
        polars.Config.set_engine_affinity(ENGINE)
        ENGINE.kept = []
        yield
        suite.record(item, (decision[:3] for decision in ENGINE.kept))


class Suite(NamedTuple):
    """Where the tests of a project are, in its checkout.

    Attributes:
        known: patterns of tests that pass by Polars alone and not with garuda's engine, and why.
    """

    folder: str
    tests: str
    files: tuple[str, ...]
    imports: tuple[str, ...]
    arguments: tuple[str, ...] = ()
    known: dict[str, str] = {}


SUITES = [
    Suite("py-polars", "tests/unit", ("**/test_*join*.py", "**/test_*group*.py"), ("",),
          known={"::test_join_preserve_order_left$": "asks for an order that maintain_order='none' leaves open"}),
    Suite(".", "tests", ("**/*_test.py",), ("", "src"), ("--constructors=polars[eager],polars[lazy]", "-W",
          "ignore::pytest.PytestConfigWarning")),  # of a plugin that need not be there
]  # fmt: skip


def main() -> int:
    parser = suite.parser(__doc__ or "")
    arguments = parser.parse_args()
    checkout = arguments.checkout.resolve()
    for project in SUITES:
        folder = checkout / project.folder
        files = {str(path) for pattern in arguments.files or project.files for path in (folder / project.tests).glob(pattern)}
        if files:
            break
    else:
        parser.error(f"no tests of Polars or Narwhals there: {checkout}")
    paths = [folder / path for path in project.imports]
    given = [*project.arguments, *arguments.pytest, *sorted(files)]
    alone, engine = (suite.run(who, __file__, folder, paths, given) for who in ("alone", "garuda"))
    return suite.compare(alone, engine, project.known, arguments.verbose)


if __name__ == "__main__":
    sys.exit(main())
