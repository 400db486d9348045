"""Checks the pages: paragraphs, commit hashes, lengths, tables, records, links and what docs/tour.md mentions; and that
comments have a subject.

    python3 docs/check.py      exit status 1 and a line a breach

Paragraphs, hashes and lengths are those of README.md, CONTRIBUTING.md and docs/; docs/results and docs/reports, whose
text is about measurements, and docs/lessons.md may name commits. Links are those of every page in the tree. Comments are
those of every source, docstrings included: none begins with "Of", "Those of" or "The same of".
"""

from __future__ import annotations

import json
import pathlib
import re
import subprocess
import sys
from collections.abc import Iterator

import performance_tables

ROOT = pathlib.Path(__file__).resolve().parent.parent
MOST_WORDS = 120  # of a paragraph
MOST_LINES = {"README.md": 120, "CONTRIBUTING.md": 60, "docs/performance.md": 150, "docs/tour.md": 90}
MOST_LINES_OF_USING = 150  # of a page of docs/using/
MOST_WORDS_OF_DESIGN = 4000
NAMES_COMMITS = ("docs/results/", "docs/reports/", "docs/lessons.md")

# A number of seven digits is a commit only where a word says so.
COMMIT = re.compile(r"\b(?=[0-9a-f]*[a-f])(?=[0-9a-f]*[0-9])[0-9a-f]{7,40}\b|\b(?:commit|at|since) [0-9]{7}\b")
FENCE = re.compile(r"^(`{3,}|~{3,}).*?^\1[^\n]*$", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"\[(?:[^\[\]]|\[[^\[\]]*\])*\]\((?P<target>[^()\s]+)\)")
ITEM = re.compile(r"^\s*(?:[-*]|\d+\.) ")
HEADING = re.compile(r"^#{1,6} +(.+?) *$", re.MULTILINE)
# `folder/file.cpp`: `function`, `Type::function` and `function`
FILE = r"`(?P<file>[\w./-]+\.(?:hpp|cpp|cuh|cu|h|comp|vert|frag|glsl|py))`"
MENTION = re.compile(FILE + r"(?::|,)? (?P<names>`[\w:~<>]+`(?:(?:, and|,| and|;)? `[\w:~<>]+`)*)")
SOURCES = ("", "operators/")  # where a mentioned file may lie
SUFFIXES = (".cpp", ".hpp", ".h", ".cu", ".cuh", ".comp", ".vert", ".frag", ".glsl", ".py", ".cmake", ".sh", ".c")
# The marker of a comment or a docstring and the text behind it
SLASHED = re.compile(r"(?P<before>.*?)(?P<mark>//[/!]?<?|/\*+)\s*(?P<text>.*)")
HASHED = re.compile(r"(?P<before>.*?)(?P<mark>(?<![^\s])#|\"\"\")\s*(?P<text>.*)")
SUBJECTLESS = re.compile(r"(?:Of|Those of|The same of)\b")


def without_code(text: str) -> str:
    """The page with code blocks blanked, so that lines keep their numbers."""
    return FENCE.sub(lambda found: "\n" * found[0].count("\n"), text)


def paragraphs(text: str) -> Iterator[tuple[int, str]]:
    """Line and text of each paragraph and item of a list; headings, tables, comments and code are none."""
    lines: list[str] = []
    start = 0
    for number, line in enumerate([*without_code(text).splitlines(), ""], 1):
        ends = not line.strip() or line.startswith(("#", "|", "<!--"))
        if (ends or ITEM.match(line)) and lines:
            yield start, " ".join(lines)
            lines = []
        if not ends:
            start = start if lines else number
            lines.append(line)


def anchors(text: str) -> set[str]:
    """Names of the headings, as GitHub makes them."""
    found: set[str] = set()
    for heading in HEADING.findall(without_code(text)):
        plain = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading)
        name = re.sub(r"[^\w\- ]", "", plain.lower()).replace(" ", "-")
        same = sum(1 for other in found if re.fullmatch(re.escape(name) + r"(-\d+)?", other))
        found.add(f"{name}-{same}" if same else name)
    return found


def shape_breaches(name: str, text: str) -> Iterator[str]:
    for line, paragraph in paragraphs(text):
        words = len(paragraph.split())
        if words > MOST_WORDS:
            yield f"{name}:{line}: a paragraph of {words} words; {MOST_WORDS} at most"
    if not name.startswith(NAMES_COMMITS):
        for found in COMMIT.finditer(text):
            yield f"{name}:{text.count(chr(10), 0, found.start()) + 1}: names a commit: {found[0]}"
    most = MOST_LINES.get(name, MOST_LINES_OF_USING if name.startswith("docs/using/") else None)
    if most is not None and len(text.splitlines()) > most:
        yield f"{name}: {len(text.splitlines())} lines; {most} at most"
    words = len(performance_tables.MARKED.sub("", text).split())
    if name == "docs/design.md" and words > MOST_WORDS_OF_DESIGN:
        yield f"{name}: {words} words; {MOST_WORDS_OF_DESIGN} at most"


def link_breaches(name: str, text: str, root: pathlib.Path) -> Iterator[str]:
    for found in LINK.finditer(without_code(text)):
        target, _, anchor = found["target"].partition("#")
        if ":" in target:
            continue
        page = root / name
        path = (page.parent / target).resolve() if target else page
        if not path.exists():
            yield f"{name}: a link to what is not there: {found['target']}"
        elif anchor and path.suffix == ".md" and anchor not in anchors(path.read_text("utf-8")):
            yield f"{name}: a link to a heading that is not there: {found['target']}"


def mention_breaches(name: str, text: str, root: pathlib.Path) -> Iterator[str]:
    """Files that are not there, and functions that neither the file nor its header or source has."""
    for found in re.finditer(FILE, text):
        if not any((root / folder / found["file"]).is_file() for folder in SOURCES):
            yield f"{name}: a file that is not there: {found['file']}"
    for found in MENTION.finditer(text):
        for path in (root / folder / found["file"] for folder in SOURCES):
            if not path.is_file():
                continue
            both = [path.with_suffix(suffix) for suffix in (path.suffix, ".hpp", ".cpp", ".cuh", ".cu", ".h")]
            code = "\n".join(one.read_text("utf-8") for one in both if one.is_file())
            for function in re.findall(r"`([^`]+)`", found["names"]):
                last = function.split("::")[-1].split("<")[0]
                if not re.search(rf"\b{re.escape(last)}\b", code):
                    yield f"{name}: {found['file']} has no {function}"


def comment_breaches(name: str, text: str) -> Iterator[str]:
    """First lines of comments, those that trail code included, which have no subject."""
    comment = HASHED if name.endswith((".py", ".cmake", ".sh")) else SLASHED
    above = False  # whether the line above is nothing but a comment
    for number, line in enumerate(text.splitlines(), 1):
        found = comment.match(line)
        alone = found is not None and not found["before"].strip()
        if found and not (above and alone) and SUBJECTLESS.match(found["text"]):
            yield f"{name}:{number}: a comment without a subject: {found['text']}"
        above = alone and found["text"] != "" and found["mark"] != '"""'


def table_breaches(root: pathlib.Path) -> Iterator[str]:
    for file in sorted((root / "docs/results").glob("*.json")):
        for fault in performance_tables.faults(json.loads(file.read_text("utf-8"))):
            yield f"docs/results/{file.name}: {fault}"
    for page in performance_tables.pages():
        text = page.read_text("utf-8")
        if performance_tables.rewritten(page, text) != text:
            yield f"{page.relative_to(root)}: tables differ from their records; run docs/performance_tables.py"


def files(root: pathlib.Path, suffixes: tuple[str, ...]) -> dict[str, str]:
    """Text of every file in the tree with one of the suffixes, by its path from the root."""
    listed = subprocess.run(["git", "ls-files", "--cached", "--others", "--exclude-standard",
                             *(f"*{suffix}" for suffix in suffixes)], cwd=root,
                            capture_output=True, text=True, check=False)  # fmt: skip
    return {name: (root / name).read_text("utf-8") for name in sorted(listed.stdout.split()) if (root / name).is_file()}


def pages(root: pathlib.Path) -> dict[str, str]:
    return files(root, (".md",)) or {str(page.relative_to(root)): page.read_text("utf-8")
                                     for page in performance_tables.pages()}  # fmt: skip


def breaches(root: pathlib.Path) -> list[str]:
    found = list(table_breaches(root))
    for name, text in pages(root).items():
        found += link_breaches(name, text, root)
        shaped = name in MOST_LINES or (name.startswith("docs/") and not name.startswith(NAMES_COMMITS[:2]))
        if shaped:
            found += shape_breaches(name, text)
        if name == "docs/tour.md":
            found += mention_breaches(name, text, root)
    for name, text in files(root, SUFFIXES).items():
        found += comment_breaches(name, text)
    return found


if __name__ == "__main__":
    told = breaches(ROOT)
    print(*told, sep="\n", end="\n" if told else "")
    sys.exit(1 if told else 0)
