"""The prompt of garuda-sql: statements line by line, with a history."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Callable, Optional

from . import _statements

if TYPE_CHECKING:
    from ._shell import Shell

_FIRST = "garuda> "
_NEXT = "   ...> "
_LEAVE = ("exit", "quit", "\\q")
Ask = Callable[[str], str]


def _history(name: str) -> Optional[str]:
    """The file of earlier lines; None: none can be kept."""
    folder = os.path.join(os.environ.get("XDG_STATE_HOME") or os.path.expanduser("~/.local/state"), "garuda")
    path = os.path.join(folder, name)
    try:
        os.makedirs(folder, mode=0o700, exist_ok=True)
        os.close(os.open(path, os.O_RDWR | os.O_CREAT, 0o600))
    except OSError:
        return None
    return path


def _with_prompt_toolkit() -> Optional[Ask]:
    try:
        from prompt_toolkit import PromptSession
        from prompt_toolkit.history import FileHistory, InMemoryHistory
    except ImportError:
        return None
    path = _history("sql_history")
    session: PromptSession[str] = PromptSession(history=InMemoryHistory() if path is None else FileHistory(path))
    return session.prompt


def _with_readline() -> Ask:
    try:
        import readline
    except ImportError:
        return input
    path = _history("sql_history.readline")
    if path is None:
        return input
    import atexit

    try:
        readline.read_history_file(path)
    except OSError:
        return input
    readline.set_history_length(10_000)
    atexit.register(readline.write_history_file, path)
    return input


def prompt(shell: Shell) -> int:
    """Runs statements until the input ends; a statement that fails does not end it."""
    from ._shell import DONE, report

    ask = _with_prompt_toolkit() or _with_readline()
    print("Statements end with a semicolon; exit, or Ctrl-D, leaves.")
    text = ""
    while True:
        try:
            line = ask(_NEXT if text else _FIRST)
        except EOFError:
            return DONE
        except KeyboardInterrupt:
            text = ""
            continue
        if not text and line.strip().rstrip(";").lower() in _LEAVE:
            return DONE
        statements, text = _statements.split(text + line + "\n")
        if _statements.is_blank(text):
            text = ""
        for statement in statements:
            try:
                shell.run(statement)
            except BaseException as error:  # the prompt goes on after every one of them
                report(error)
                break
