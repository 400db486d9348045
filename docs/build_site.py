"""Writes the pages of the site, as mkdocs.yml names them, into a folder: `./dev docs` builds it.

The guides are the sections of docs/python.md, so nothing is said twice; the API is that of the docstrings; the gallery
shows plans of this machine's CPU path as they are printed now.
"""

from __future__ import annotations

import pathlib
import posixpath
import re
import sys

DOCS = pathlib.Path(__file__).resolve().parent
ROOT = DOCS.parent
GUIDES = {"guides/polars.md": ["Polars"], "guides/duckdb.md": ["DuckDB"], "guides/pyarrow.md": ["pyarrow"],
          "guides/clusters.md": ["Dask and Ray"]}  # fmt: skip
COPIED = ("tuning.md", "glossary.md", "where.md", *sorted(f"using/{page.name}" for page in (DOCS / "using").glob("*.md")))
API = {
    "api/garuda.md": ("garuda", ["garuda", "garuda.engine", "garuda.files"]),
    "api/tables.md": ("Tables and plans", ["garuda.table", "garuda.plans", "garuda.Progress", "garuda.partial"]),
    "api/errors.md": ("Errors", ["garuda.errors"]),
    "api/tools.md": ("Polars, DuckDB, Dask, Ray", ["garuda.polars", "garuda.duckdb", "garuda.dask", "garuda.ray", "garuda.patches"]),
}
# What is shown of a module that has more: of the package what it says of itself.
OPTIONS = {"garuda": ["members: false", "show_root_heading: false"],
           "garuda.patches": ["members: [Fallback, fallbacks, install, installed, uninstall]"]}  # fmt: skip
# Shown in the gallery: a title, what there is to see, and the call.
PLANS = [
    ("A join of two large tables", "Both sides are partitioned, so that a partition's table stays in a cache.",
     "garuda.explain_join(large, keyed, on='k', path='cpu', threads=2)"),
    ("A small table looked up", "Without partitions: the smaller side fits the cache as it is.",
     "garuda.explain_join(large, {'g': range(100), 'name': [str(i) for i in range(100)]}, on='g', path='cpu', threads=2)"),
    ("A join by a condition", "No equal keys: the sorted values of one side are searched.",
     "garuda.explain_join({'a': range(1000)}, {'b': range(1000)}, where='left.a < right.b', path='cpu', threads=2)"),
    ("Few groups", "Each thread has an accumulator a group.",
     "garuda.group_by(large, 'g', path='cpu', threads=2).explain(total=('v', 'sum'))"),
    ("As many groups as rows", "Keys and values are partitioned first.",
     "garuda.group_by(large, 'k', path='cpu', threads=2).explain(total=('v', 'sum'))"),
]  # fmt: skip
TABLES = """import garuda, numpy
draw = numpy.random.default_rng(1)
large = garuda.table({"k": draw.permutation(1 << 20), "g": draw.integers(0, 100, 1 << 20), "v": draw.random(1 << 20)})
keyed = garuda.table({"k": numpy.arange(1 << 20), "w": numpy.arange(1 << 20)})"""


def sections(text: str) -> dict[str, str]:
    """A page's text by heading; the text above the first heading by ''."""
    parts = re.split(r"^## (.+)$", text, flags=re.M)
    return {"": parts[0], **dict(zip(parts[1::2], parts[2::2]))}


def gallery() -> str:
    names: dict[str, object] = {}
    exec(TABLES, names)
    shown = [f"# Gallery of plans\n\nWhat `explain` prints, for tables of a million rows.\n\n```python\n{TABLES}\n```\n"]
    for title, said, call in PLANS:
        shown.append(f"## {title}\n\n{said}\n\n```python\nprint({call})\n```\n\n```text\n{eval(call, names)}\n```\n")
    return "\n".join(shown)


def pages() -> dict[str, str]:
    """Text by name; every page of the site."""
    parts = sections((DOCS / "python.md").read_text("utf-8"))
    guided = [name for names in GUIDES.values() for name in names]
    made = {"index.md": parts[""] + "".join(f"## {name}{text}" for name, text in parts.items() if name and name not in guided)}
    for page, names in GUIDES.items():
        made[page] = "".join(f"# {name}{parts[name]}" for name in names)
    for page, (title, modules) in API.items():
        made[page] = f"# {title}\n\n" + "".join(map(shown_module, modules))
    made |= {name: (DOCS / name).read_text("utf-8") for name in COPIED}
    made["plans.md"] = gallery()
    return {name: linked(name, text, set(made)) for name, text in made.items()}


def shown_module(name: str) -> str:
    options = "".join(f"      {option}\n" for option in OPTIONS.get(name, []))
    return f"::: {name}\n" + (f"    options:\n{options}" if options else "") + "\n"


def linked(page: str, text: str, there: set[str]) -> str:
    """Links to pages that the site does not have become their text. The site's first page is python.md."""
    folder = posixpath.dirname(page)
    source = folder if page in COPIED else ""  # guides stand in docs/python.md

    def link(found: re.Match[str]) -> str:
        shown, target, anchor = found.groups()
        name = posixpath.normpath(posixpath.join(source, target))
        name = "index.md" if name == "python.md" else name
        return f"[{shown}]({posixpath.relpath(name, folder or '.')}{anchor or ''})" if name in there else shown

    return re.sub(r"\[([^\]\n]+)\]\(([^)#\s:]+)(#[^)]*)?\)", link, text)


def main(folder: pathlib.Path) -> None:
    for name, text in pages().items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, "utf-8")
    (folder / "site.css").write_text((DOCS / "site.css").read_text("utf-8"), "utf-8")


if __name__ == "__main__":
    main(pathlib.Path(sys.argv[1]))
