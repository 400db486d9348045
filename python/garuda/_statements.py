"""Text in SQL cut into statements, which end with a semicolon outside quotes and comments."""

from __future__ import annotations

import re

#: Quoted text and comments that have an end, or not yet; the semicolon that ends a statement.
_PART = re.compile(
    r"(?P<closed>'[^']*'|\"[^\"]*\"|--[^\n]*\n|/\*.*?\*/)|(?P<open>['\"]|--|/\*)|(?P<end>;)", re.DOTALL
)


def split(text: str) -> tuple[list[str], str]:
    """The statements that have ended, and what follows the last of them."""
    statements = []
    begin = 0
    for part in _PART.finditer(text):
        if part["open"]:
            break
        if part["end"]:
            statements.append(text[begin : part.start()])
            begin = part.end()
    return [one for one in map(str.strip, statements) if not is_blank(one)], text[begin:]


def is_blank(text: str) -> bool:
    """Whether there is nothing but blanks and comments."""
    rest = re.sub(r"--[^\n]*(\n|$)|/\*.*?\*/", "", text, flags=re.DOTALL)
    return not rest.strip()
