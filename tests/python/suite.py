"""Tests that other projects have, run twice by pytest: by their library alone, then with garuda in it.

A script that runs such a suite is a plugin of pytest as well: in the processes that `run` starts, WHO says who answers,
and the script sets garuda up and gives `record` a test's decisions. This module is a plugin beside it that writes results.
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
from typing import Any, Iterable, Mapping

WHO = os.environ.get("GARUDA_SUITE")  # "alone" or "garuda" in a process of pytest
Results = dict[str, list[Any]]  # of each test its outcome, reason and decisions


def record(item: Any, decisions: Iterable[Iterable[str]]) -> None:
    """Keeps what ran the joins and group-bys of a test: name of the node or call, by whom, why."""
    item.user_properties.append(("decisions", [list(decision) for decision in decisions]))


def pytest_runtest_logreport(report: Any) -> None:
    """A line a test that ran: its name, outcome, reason and decisions."""
    if "PYTEST_XDIST_WORKER" in os.environ or not (report.when == "call" or report.outcome != "passed"):
        return
    reason = "" if report.longrepr is None else getattr(getattr(report.longrepr, "reprcrash", None), "message", str(report.longrepr))
    with open(os.environ["GARUDA_SUITE_RESULTS"], "a", encoding="utf-8") as results:
        line = [report.nodeid, report.outcome, reason, dict(report.user_properties).get("decisions", [])]
        results.write(json.dumps(line) + "\n")


def run(who: str, script: str, folder: pathlib.Path, paths: list[pathlib.Path], arguments: list[str]) -> Results:
    """Runs pytest in `folder`, with `script` as its plugin and `paths` to import from."""
    here = pathlib.Path(__file__).resolve()
    package = os.environ.get("GARUDA_PACKAGE", str(here.parents[2] / "build/python"))
    with tempfile.TemporaryDirectory() as temporary:
        results = pathlib.Path(temporary) / "results"
        results.touch()
        variables = {"GARUDA_SUITE": who, "GARUDA_SUITE_RESULTS": str(results),
                     "PYTHONPATH": os.pathsep.join([package, str(here.parent), *map(str, paths)])}  # fmt: skip
        command = [sys.executable, "-m", "pytest", "-p", "suite", "-p", pathlib.Path(script).stem, "-p", "no:cacheprovider",
                   "-q", "--no-header", "--tb=short", "-W", "ignore::pytest.PytestDeprecationWarning",
                   "-W", "ignore::pytest.PytestRemovedIn10Warning"]  # suites were written for older versions  # fmt: skip
        done = subprocess.run([*command, *arguments], cwd=folder, env={**os.environ, **variables}, capture_output=True,
                              text=True, check=False)  # fmt: skip
        lines = [json.loads(line) for line in results.read_text(encoding="utf-8").splitlines()]
    if done.returncode not in (0, 1) or not lines:
        raise SystemExit(f"pytest ended with {done.returncode}:\n{done.stdout[-4000:]}{done.stderr[-4000:]}")
    print(f"{who}: {done.stdout.splitlines()[-1]}", flush=True)
    return {name: rest for name, *rest in lines}


def parser(description: str) -> argparse.ArgumentParser:
    made = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    made.add_argument("checkout", type=pathlib.Path)
    made.add_argument("--files", nargs="+", help="patterns of files among the tests")
    made.add_argument("--verbose", action="store_true", help="every test that fails with garuda, with its reason")
    made.add_argument("pytest", nargs="*", help="further arguments of pytest, after --")
    return made


def compare(alone: Results, engine: Results, known: Mapping[str, str], verbose: bool) -> int:
    """Prints what passes alone and with garuda, and why nodes or calls were left. `known`: patterns of tests that pass alone
    and not with garuda, with the reason. Returns the exit status: 1 when others are such."""
    passed = [name for name, (outcome, *_) in alone.items() if outcome == "passed"]
    lost = [name for name in passed if engine.get(name, ["lost"])[0] != "passed"]
    used = [name for name in passed if any(by == "garuda" for _, by, _ in engine.get(name, ["", "", []])[2])]
    print(f"{len(alone)} tests; {len(passed)} pass alone, {len(passed) - len(lost)} of them with garuda; in {len(used)} "
          f"garuda ran a join or group-by, of which {len(set(used) - set(lost))} pass")  # fmt: skip
    expected = {name: why for name in lost for pattern, why in known.items() if re.search(pattern, name)}
    for name in lost:
        reason = engine.get(name, ["lost", "it did not run", []])[1]
        print(f"{'known to differ' if name in expected else 'fails with garuda'}: {name}\n  "
              + (expected.get(name) or (reason if verbose else reason.splitlines()[0][:200])))  # fmt: skip
    left = [(node.split(" ")[0], why) for name in passed for node, by, why in engine.get(name, ["", "", []])[2] if by != "garuda"]
    reasons = collections.Counter(f"{node}: " + re.sub("(: |of ).*", r"\1…", why) for node, why in left)
    print("what was left, and why:")
    for reason, count in reasons.most_common():
        print(f"  {count:5} {reason}")
    return 1 if set(lost) - set(expected) else 0
