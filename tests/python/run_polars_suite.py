"""Polars' own tests of joins and group-bys with garuda.polars.Engine set, by hand: nothing is fetched.

  .venv/bin/python tests/python/run_polars_suite.py CHECKOUT [--verbose] [--files GLOB…] [-- PYTEST-ARGUMENTS]

CHECKOUT is one of Polars' repository, at the version that is installed or the nearest one before. The tests run twice:
by Polars' streaming engine, and with every query sent to garuda's, those of eager methods (`DataFrame.join`), which
have no engine of their own, too. Prices are left out, so garuda runs every node that it can. Printed: how many pass alone, how many of
these with the engine, in how many of them garuda ran a node; why the others do not pass; why nodes stayed with Polars.
Exit status 1 when a test passes alone and not with the engine.
"""

from __future__ import annotations

import argparse
import collections
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
from typing import Any

FILES = ("**/test_*join*.py", "**/test_*group*.py")
WHO = os.environ.get("GARUDA_SUITE")  # in a process of pytest, of which this file is a plugin: "polars" or "garuda"
MODULE = pathlib.Path(__file__).stem

if WHO:
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

    ENGINE: Any = Everything() if WHO == "garuda" else polars.StreamingEngine()
    if WHO == "garuda":
        polars.lazyframe.frame._eager_engine = lambda: ENGINE

    @pytest.hookimpl(hookwrapper=True)
    def pytest_runtest_call(item: pytest.Item) -> Any:
        polars.Config.set_engine_affinity(ENGINE)
        ENGINE.kept = []
        yield
        item.user_properties.append(("decisions", [list(decision[:3]) for decision in ENGINE.kept]))


def pytest_runtest_logreport(report: Any) -> None:
    """A line a test that ran: its name, outcome, reason and decisions."""
    if "PYTEST_XDIST_WORKER" in os.environ or not (report.when == "call" or report.outcome != "passed"):
        return
    reason = "" if report.longrepr is None else getattr(getattr(report.longrepr, "reprcrash", None), "message", str(report.longrepr))
    with open(os.environ["GARUDA_SUITE_RESULTS"], "a", encoding="utf-8") as results:
        line = [report.nodeid, report.outcome, reason, dict(report.user_properties).get("decisions", [])]
        results.write(json.dumps(line) + "\n")


def run(who: str, checkout: pathlib.Path, files: list[str], arguments: list[str]) -> dict[str, list[Any]]:
    """Outcome, reason and decisions of each test."""
    here = pathlib.Path(__file__).resolve()
    package = os.environ.get("GARUDA_PACKAGE", str(here.parents[2] / "build/python"))
    with tempfile.TemporaryDirectory() as folder:
        results = pathlib.Path(folder) / "results"
        results.touch()
        paths = [package, str(here.parent), str(checkout / "py-polars")]
        variables = {"GARUDA_SUITE": who, "GARUDA_SUITE_RESULTS": str(results), "PYTHONPATH": os.pathsep.join(paths)}
        command = [sys.executable, "-m", "pytest", "-p", MODULE, "-p", "no:cacheprovider", "-q", "--no-header", "--tb=short",
                   "-W", "ignore::pytest.PytestDeprecationWarning"]  # of newer versions of pytest than the suite was written for
        done = subprocess.run([*command, *arguments, *files], cwd=checkout / "py-polars", env={**os.environ, **variables},
                              capture_output=True, text=True, check=False)  # fmt: skip
        lines = [json.loads(line) for line in results.read_text(encoding="utf-8").splitlines()]
    if done.returncode not in (0, 1) or not lines:
        raise SystemExit(f"pytest ended with {done.returncode}:\n{done.stdout[-4000:]}{done.stderr[-4000:]}")
    print(f"{who}: {done.stdout.splitlines()[-1]}", flush=True)
    return {name: rest for name, *rest in lines}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("checkout", type=pathlib.Path)
    parser.add_argument("--files", nargs="+", default=FILES, help="in py-polars/tests/unit (%(default)s)")
    parser.add_argument("--verbose", action="store_true", help="every test that fails with the engine, with its reason")
    parser.add_argument("pytest", nargs="*", help="further arguments of pytest, after --")
    arguments = parser.parse_args()
    tests = arguments.checkout.resolve() / "py-polars/tests/unit"
    files = sorted({str(path) for pattern in arguments.files for path in tests.glob(pattern)})
    if not files:
        parser.error(f"no tests of Polars there: {tests}")
    alone, engine = (run(who, arguments.checkout.resolve(), files, arguments.pytest) for who in ("polars", "garuda"))
    passed = [name for name, (outcome, *_) in alone.items() if outcome == "passed"]
    lost = [name for name in passed if engine.get(name, ["lost"])[0] != "passed"]
    used = [name for name in passed if any(by == "garuda" for _, by, _ in engine.get(name, ["", "", []])[2])]
    print(f"{len(alone)} tests; {len(passed)} pass by Polars alone, {len(passed) - len(lost)} of them with the engine; "
          f"in {len(used)} garuda ran a node, of which {len(set(used) - set(lost))} pass")  # fmt: skip
    for name in lost:
        reason = engine.get(name, ["lost", "it did not run", []])[1]
        print(f"fails with the engine: {name}\n  " + (reason if arguments.verbose else reason.splitlines()[0][:200]))
    left = [(node.split(" ")[0], why) for name in passed for node, by, why in engine.get(name, ["", "", []])[2] if by == "polars"]
    reasons = collections.Counter(f"{node}: " + re.sub("(: |of ).*", r"\1…", why) for node, why in left)
    print("nodes that stayed with Polars, and why:")
    for reason, count in reasons.most_common():
        print(f"  {count:5} {reason}")
    return 1 if lost else 0


if __name__ == "__main__":
    sys.exit(main())
