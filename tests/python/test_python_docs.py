"""What the documents, docstrings, the notebook and the demo show, is so; the types hold."""

from __future__ import annotations

import ast
import doctest
import importlib
import json
import pathlib
import pkgutil
import re
import subprocess
import sys

import garuda
import pytest
from package import ROOT, environment

OPTIONS = doctest.ELLIPSIS
MODULES = sorted(f"garuda.{module.name}" for module in pkgutil.iter_modules(garuda.__path__) if module.name != "_core")


@pytest.mark.parametrize("name", ["garuda", *MODULES])
def test_docstrings(name: str) -> None:
    failed, _ = doctest.testmod(importlib.import_module(name), optionflags=OPTIONS)
    assert failed == 0


def run_examples(text: str, name: str, names: dict[str, object]) -> None:
    runner = doctest.DocTestRunner(optionflags=OPTIONS)
    test = doctest.DocTestParser().get_doctest(text, names, name, name, 0)
    test.globs = names
    runner.run(test, clear_globs=False)
    assert runner.failures == 0, name


def test_documents(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every block of the page, one after the other in one namespace."""
    monkeypatch.chdir(tmp_path)
    blocks = re.findall(r"^```(python|pycon)\n(.*?)^```$", (ROOT / "docs/python.md").read_text("utf-8"), re.M | re.S)
    assert len(blocks) >= 6
    names: dict[str, object] = {}
    for number, (language, text) in enumerate(blocks):
        if language == "pycon":
            run_examples(text, f"docs/python.md, block {number}", names)
        else:
            exec(compile(text, f"docs/python.md, block {number}", "exec"), names)


def test_the_notebook(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its cells in their order; what they end with is shown as a notebook shows it."""
    notebook = json.loads((ROOT / "examples/first_look.ipynb").read_text("utf-8"))
    names: dict[str, object] = {}
    for number, cell in enumerate(notebook["cells"]):
        if cell["cell_type"] != "code":
            continue
        assert not cell["outputs"], "the notebook is kept without outputs"
        tree = ast.parse("".join(cell["source"]))
        last = tree.body.pop() if isinstance(tree.body[-1], ast.Expr) else None
        exec(compile(tree, f"cell {number}", "exec"), names)
        if last is not None:
            shown = eval(compile(ast.Expression(last.value), f"cell {number}", "eval"), names)
            assert repr(shown) and (not hasattr(shown, "_repr_html_") or shown._repr_html_())


def test_the_demo() -> None:
    done = subprocess.run([sys.executable, "-m", "garuda.demo", "3000"], env=environment(), capture_output=True, text=True,
                          timeout=300, check=False)  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert "the same rows to the last bit" in done.stdout


def test_types() -> None:
    pytest.importorskip("mypy")
    done = subprocess.run([sys.executable, "-m", "mypy", "--cache-dir", str(ROOT / "build/mypy"), "python/garuda"], cwd=ROOT,
                          capture_output=True, text=True, timeout=300, check=False)  # fmt: skip
    assert done.returncode == 0, done.stdout


def test_the_stub_has_what_the_extension_has() -> None:
    """Classes and members by name."""
    from garuda import _core

    tree = ast.parse((ROOT / "python/garuda/_core.pyi").read_text("utf-8"))
    for node in tree.body:
        if isinstance(node, ast.ClassDef):
            stub = {item.name for item in node.body if isinstance(item, ast.FunctionDef)} - {"__init__"}
            assert stub == {name for name in vars(getattr(_core, node.name)) if not name.startswith("__")}, node.name
    stubs = {node.name for node in tree.body if isinstance(node, ast.ClassDef)}
    assert stubs == {name for name in vars(_core) if not name.startswith("__")} - {"version", "small_rows", "merge_states", "values_of_states"}
