"""Documents, docstrings, the notebook and the demo show what happens; the types hold."""

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
#: Files that lie beside the modules: the extension, and a library that it loads.
COMPILED = ("_core", "libgaruda_reader")
MODULES = sorted(f"garuda.{found.name}" for found in pkgutil.iter_modules(garuda.__path__) if found.name not in COMPILED)


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


def blocks_of(text: str) -> list[tuple[str, str]]:
    """The blocks of a page that Python runs: python or pycon, and what they hold."""
    return re.findall(r"^```(python|pycon)\n(.*?)^```$", text, re.M | re.S)


def run_blocks(page: str, text: str, least: int, names: dict[str, object]) -> None:
    """Every block of a page, one after the other in one namespace."""
    blocks = blocks_of(text)
    assert len(blocks) >= least
    for number, (language, block) in enumerate(blocks):
        if language == "pycon":
            run_examples(block, f"{page}, block {number}", names)
        else:
            exec(compile(block, f"{page}, block {number}", "exec"), names)


@pytest.mark.parametrize(("page", "least"), [("python.md", 11), ("where.md", 1)])
def test_documents(page: str, least: int, tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    run_blocks(page, (ROOT / "docs" / page).read_text("utf-8"), least, {})


def test_the_readme() -> None:
    run_blocks("README.md", (ROOT / "README.md").read_text("utf-8"), 2, {})


def test_the_site(tmp_path: pathlib.Path) -> None:
    """Is built without a warning; its other pages' blocks run; of python.md it has each section once."""
    pytest.importorskip("mkdocs")
    sys.path.insert(0, str(ROOT / "docs"))
    import build_site

    pages = build_site.pages()
    guides = {"index.md", *build_site.GUIDES}
    run_blocks("plans.md", pages["plans.md"], 6, {})
    for name in build_site.sections((ROOT / "docs/python.md").read_text("utf-8")):
        heading = re.compile(rf"^##? {re.escape(name)}$", re.M)
        assert not name or sum(len(heading.findall(text)) for page, text in pages.items() if page in guides) == 1, name
    build_site.main(ROOT / "build/site_pages")
    built = subprocess.run([sys.executable, "-m", "mkdocs", "build", "--quiet", "--site-dir", str(tmp_path)], cwd=ROOT,
                           env=environment(NO_MKDOCS_2_WARNING="1"), capture_output=True, text=True, timeout=300, check=False)  # fmt: skip
    assert built.returncode == 0, built.stderr
    assert "group_by" in (tmp_path / "api/garuda.html").read_text("utf-8")


def cells_of_notebook() -> list[str]:
    notebook = json.loads((ROOT / "examples/first_look.ipynb").read_text("utf-8"))
    cells = [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]
    assert not any(cell["outputs"] for cell in cells), "the notebook is kept without outputs"
    return ["".join(cell["source"]) for cell in cells]


def test_the_notebook(monkeypatch: pytest.MonkeyPatch) -> None:
    """Runs the notebook's cells in their order, and shows their last values as a notebook does."""
    names: dict[str, object] = {}
    for number, cell in enumerate(cells_of_notebook()):
        tree = ast.parse(cell)
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


def source_of(page: str) -> str:
    """The code of all blocks of a page, as one module."""
    parser = doctest.DocTestParser()
    parts = [block if language == "python" else "".join(example.source for example in parser.get_examples(block))
             for language, block in blocks_of((ROOT / "docs" / page).read_text("utf-8"))]  # fmt: skip
    return "\n".join(parts)


def test_types(tmp_path: pathlib.Path) -> None:
    """Checks the types of the package, and of what its documents and its notebook do with it."""
    pytest.importorskip("mypy")
    examples = {"page": source_of("python.md"), "where": source_of("where.md"), "notebook": "\n".join(cells_of_notebook())}
    for name, source in examples.items():
        (tmp_path / f"{name}.py").write_text(source, "utf-8")
    mypy = [sys.executable, "-m", "mypy", "--cache-dir", str(ROOT / "build/mypy")]
    loose = ["--allow-untyped-defs", "--allow-untyped-calls", *(str(tmp_path / f"{name}.py") for name in examples)]
    for checked in (["python/garuda"], loose):
        done = subprocess.run([*mypy, *checked], cwd=ROOT, env={**environment(), "MYPYPATH": "python"}, capture_output=True,
                              text=True, timeout=300, check=False)  # fmt: skip
        assert done.returncode == 0, done.stdout


def test_the_stub_has_what_the_extension_has() -> None:
    """Classes, their members, and functions by name."""
    from garuda import _core

    tree = ast.parse((ROOT / "python/garuda/_core.pyi").read_text("utf-8"))
    for node in tree.body:
        if isinstance(node, ast.ClassDef):
            stub = {item.name for item in node.body if isinstance(item, ast.FunctionDef)} - {"__init__"}
            assert stub == {name for name in vars(getattr(_core, node.name)) if not name.startswith("__")}, node.name
    stubs = {node.name for node in tree.body if isinstance(node, (ast.ClassDef, ast.FunctionDef))}
    assert stubs == {name for name in vars(_core) if not name.startswith("__")} - {"version", "small_rows"}
