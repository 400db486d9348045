"""docs/check.py: pages and comments are in shape, and a breach of each kind is named."""

import json
import pathlib
import subprocess
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "docs"))
import check  # noqa: E402
import performance_tables  # noqa: E402


def test_pages_and_comments_are_in_shape():
    run = subprocess.run([sys.executable, ROOT / "docs/check.py"], capture_output=True, text=True)
    assert run.returncode == 0, run.stdout + run.stderr


@pytest.mark.parametrize(
    ("name", "text", "breach"),
    [
        ("docs/a.md", "word " * 120, None),
        ("docs/a.md", "word " * 121, "a paragraph of 121 words"),
        ("docs/a.md", "word " * 100 + "\n" + "word " * 21, "a paragraph of 121 words"),
        ("docs/a.md", "- " + "word " * 100 + "\n- " + "word " * 100, None),
        ("docs/a.md", "| " + "word " * 200 + "|\n\n```\n" + "word " * 200 + "\n```\n\n# " + "word " * 200, None),
        ("docs/a.md", "measured at 0a5548b.", "names a commit: 0a5548b"),
        ("docs/a.md", "measured at 5648551.", "names a commit: at 5648551"),
        ("docs/a.md", "1048576 rows of defaced walls", None),
        ("docs/lessons.md", "measured at 0a5548b.", None),
        ("docs/tour.md", "line\n" * 91, "91 lines; 90 at most"),
        ("docs/using/joins.md", "line\n\n" * 76, "152 lines; 150 at most"),
        ("docs/design.md", "- word\n" * 2001, "4002 words; 4000 at most"),
        ("docs/design.md", "<!-- table: house -->\n" + "| word | 1 |\n" * 2000, None),
    ],
)
def test_shape(name, text, breach):
    found = list(check.shape_breaches(name, text))
    assert found == [] if breach is None else len(found) == 1 and name in found[0] and breach in found[0]


@pytest.mark.parametrize(
    ("text", "breach"),
    [
        ("[a](b.md) and [c](b.md#two-words) and [own](#here) and [web](https://x.org/y)\n\n# Here", None),
        ("[a](c.md)", "not there: c.md"),
        ("[a](b.md#three)", "a heading that is not there: b.md#three"),
        ("```\n[a](c.md)\n```", None),
    ],
)
def test_links(tmp_path, text, breach):
    (tmp_path / "b.md").write_text("# Two `words`\n")
    (tmp_path / "a.md").write_text(text)
    found = list(check.link_breaches("a.md", text, tmp_path))
    assert found == [] if breach is None else len(found) == 1 and breach in found[0]


@pytest.mark.parametrize(
    ("text", "breach"),
    [
        ("1. `join/join.cpp`: `hash_join` and `Join::begin`, then more.", None),
        ("1. `join/joint.cpp`: nothing", "a file that is not there: join/joint.cpp"),
        ("1. `join/join.cpp`: `hash_join`, `hashed`", "join/join.cpp has no hashed"),
    ],
)
def test_mentions(tmp_path, text, breach):
    folder = tmp_path / "operators/join"
    folder.mkdir(parents=True)
    (folder / "join.cpp").write_text("void hash_join() {}")
    (folder / "join.hpp").write_text("struct Join { void begin(); };")
    found = list(check.mention_breaches("docs/tour.md", text, tmp_path))
    assert found == [] if breach is None else len(found) == 1 and breach in found[0]


@pytest.mark.parametrize(
    ("name", "text", "line"),
    [
        ("a.hpp", "/// Rows of both sides.\n/// Of a join.\nint rows;", None),
        ("a.hpp", "/// Often asked for.\nint rows;\n// Offsets of rows.", None),
        ("a.hpp", "\n/// Of both sides.\nint rows;", 2),
        ("a.cpp", "// Those of a side.", 1),
        ("a.comp", "int rows;\n    // The same of keys.", 2),
        ("a.h", "int a;  /* Of a file. */", 1),
        ("a.cu", "int a;  ///< Of a file.\nint b;", 1),
        ("a.hpp", "int a;  // rows\n// Of columns:\nint b;", 2),
        ("a.py", 'def rows():\n    ' + '""' + '"Of both sides."' + '""', 2),
        ("a.py", "a = 1  " + "# The same of keys", 1),
        ("a.py", "# Rows,\n# of both sides", None),
        ("a.sh", "if true; then\n  " + "# Those of a side\nfi", 2),
    ],
)  # fmt: skip
def test_comments(name, text, line):
    found = list(check.comment_breaches(name, text))
    assert found == [] if line is None else len(found) == 1 and found[0].startswith(f"{name}:{line}: a comment without")


RECORD = {
    "title": "Two joins", "machine": "two cores", "samples": 5, "unit": "ms", "columns": "work", "range": "quartiles",
    "figures": [
        {"work": "small", "measured": "garuda", "value": 1.5, "mad": 0.25},
        {"work": "small", "measured": "rival / garuda", "value": 2, "low": 1.5, "high": 3, "unit": "ratio"},
        {"work": "large", "measured": "garuda", "value": 1200, "by": "cpu"},
    ],
}  # fmt: skip


def test_a_table_is_written_below_its_marker_and_again(tmp_path, monkeypatch):
    monkeypatch.setattr(performance_tables, "RESULTS", tmp_path)
    (tmp_path / "joins.json").write_text(json.dumps(RECORD))
    page = tmp_path / "page.md"
    text = performance_tables.rewritten(page, "# Page\n\n<!-- table: joins -->\n\nProse.\n")
    assert text.splitlines() == [
        "# Page", "", "<!-- table: joins -->",
        "**Two joins.** Two cores; medians of 5 ± their median absolute deviation; in brackets quartiles."
        " [Record](joins.json).", "",
        "| | small | large |", "|---|---|---|", "| garuda, ms | 1.50 ± 0.25 | 1,200, cpu |",
        "| rival / garuda | 2.00 (1.50 … 3.00) | – |", "", "Prose.",
    ]  # fmt: skip
    assert performance_tables.rewritten(page, text) == text
    assert performance_tables.rewritten(page, text.replace("1,200", "1,300")) == text


@pytest.mark.parametrize(
    ("change", "fault"),
    [
        ({}, None),
        ({"speed": 1}, "unknown field speed"),
        ({"samples": "five"}, "samples has the wrong type"),
        ({"date": None}, None),
        ({"columns": "both"}, "neither work nor measured"),
        ({"figures": [{"work": "small", "measured": "garuda"}]}, "a value or a range"),
        ({"figures": RECORD["figures"] + RECORD["figures"][:1]}, "small, garuda: is there twice"),
        ({"shown": ["small", "tiny"]}, "shown names no work: tiny"),
    ],
)
def test_records(change, fault):
    found = performance_tables.faults(RECORD | change)
    assert found == [] if fault is None else len(found) == 1 and fault in found[0]
