"""garuda-sql: queries in SQL in the shell. Nothing heavy is imported before a query needs it."""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import signal
import sys
from typing import TYPE_CHECKING, Any, Iterator, NoReturn, Optional, Sequence

from . import _statements, _values
from ._core import version
from .errors import (
    CancelledError,
    DeviceFailureError,
    Error,
    InternalError,
    InvalidInputError,
    LimitExceededError,
    NoDeviceError,
    OutOfMemoryError,
    OutputError,
    UsageError,
)

if TYPE_CHECKING:
    from .engine import Engine
    from .files import Scan
    from .plans import Plan, Stats
    from .table import Table

DONE, INTERNAL, USAGE, BAD_INPUT, NO_DEVICE, NO_ROOM, DEVICE_FAILURE, INTERRUPTED = 0, 1, 2, 3, 4, 5, 6, 130
#: Exit codes are those of the garuda command. A class stands before those that it derives from.
_CODES: tuple[tuple[type[BaseException], int], ...] = (
    (InternalError, INTERNAL), (UsageError, USAGE), (InvalidInputError, BAD_INPUT), (NoDeviceError, NO_DEVICE),
    (OutOfMemoryError, NO_ROOM), (LimitExceededError, NO_ROOM), (OutputError, NO_ROOM),
    (DeviceFailureError, DEVICE_FAILURE), (CancelledError, INTERRUPTED),
    (KeyboardInterrupt, INTERRUPTED), (FileNotFoundError, BAD_INPUT), (MemoryError, NO_ROOM), (OSError, BAD_INPUT),
    (ImportError, USAGE),
)  # fmt: skip
_MOST_ROWS = 40
_MOST_CHARACTERS = 32
_OUTPUTS = (".parquet", ".arrow", ".feather", ".csv")
#: Options whose value follows an equals sign or is left out, so that they never take the query for it.
_WITH_VALUE = {"--stats=json": "--stats-as-json", "--explain=html": "--explain-as-html"}


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        self.exit(USAGE, f"garuda-sql: {message} (see --help)\n")


def _parser() -> _Parser:
    parser = _Parser(
        prog="garuda-sql",
        allow_abbrev=False,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        description="Runs queries in SQL over files, on any GPU that has a Vulkan driver and on the CPU.\n"
        "Without a query it reads standard input, and where that is a terminal it prompts for queries.",
        epilog="Files are tables by their names: from 'orders/*.parquet'. A statement ends with a semicolon.\n"
        "Examples:\n"
        "  garuda-sql \"select count(*) from 'lineitem.parquet'\"\n"
        "  garuda-sql --tables tpch -o top.parquet < top.sql\n"
        "Exit codes are those of the garuda command: 0 done, 2 wrong usage, 3 bad input, 4 no such device or path,\n"
        "5 out of memory, over a limit or output not writable, 6 device failure, 130 interrupted.",
    )
    add = parser.add_argument
    add("query", nargs="?", help="statements, separated by semicolons")
    add("-o", "--output", metavar="FILE", help=f"write the rows of one query: {', '.join(_OUTPUTS)}")
    add("--table", action="append", default=[], metavar="NAME=FILE", help="a table by a name of its own; a pattern is one, too")
    add("--tables", metavar="FOLDER", help="each file, and each folder of files, in it is a table, called by its name without an extension")
    add("--path", default="auto", help="what computes: auto, graphics, compute, cuda or cpu")
    add("--device", metavar="DEVICE", help="an index or part of a name of `garuda devices`")
    add("--threads", type=int, metavar="N", help="threads of the CPU (default: all)")
    add("--memory-limit", metavar="SIZE", help="memory of the host beside the tables: 256MiB, 1GB, 2e9")
    add("--strict", action="store_true", help="an operator that does not run on --path is an error")
    add("--stats", action="store_const", const="text", help="statistics to standard error; --stats=json: as one line of JSON")
    add("--stats-as-json", action="store_const", const="json", dest="stats", help=argparse.SUPPRESS)
    add("--explain", action="store_const", const="text", help="the operators, which do not run, in place of rows; with --stats they run, "
        "and say what they gave; --explain=html: as a page")
    add("--explain-as-html", action="store_const", const="html", dest="explain", help=argparse.SUPPRESS)
    add("--quiet", action="store_true", help="no progress")
    add("--version", action="version", version=f"garuda-sql {version}")
    return parser


# --- tables ---------------------------------------------------------------------------------------------------------


def _files_of(path: str) -> list[str]:
    """The files of a folder and below, or those of a pattern, by name."""
    import glob

    from .files import _FORMATS

    if not os.path.isdir(path):
        return sorted(glob.glob(path)) or [path]
    found = []
    for folder, folders, names in os.walk(path):
        folders[:] = [name for name in folders if not name.startswith((".", "_"))]
        found += [os.path.join(folder, name) for name in names if not name.startswith((".", "_"))]
    return sorted(name for name in found if name.lower().endswith(tuple(_FORMATS)))


def _scan(path: str) -> Scan:
    from .files import scan

    files = _files_of(path)
    if not files:
        raise InvalidInputError(f"cannot read {path}: it is a folder without a file of a table")
    return scan(files)


def _tables(named: Sequence[str], folder: Optional[str]) -> dict[str, Scan]:
    """The tables that the options give."""
    from .files import _FORMATS

    tables: dict[str, Scan] = {}
    if folder is not None:
        for name in sorted(os.listdir(folder)):
            path = os.path.join(folder, name)
            stem, suffix = os.path.splitext(name)
            if name.startswith((".", "_")) or not (suffix.lower() in _FORMATS or os.path.isdir(path)) or not _files_of(path):
                continue
            if stem in tables:
                raise InvalidInputError(f"cannot read {folder}: two of its tables are called '{stem}'")
            tables[stem] = _scan(path)
    given: set[str] = set()
    for text in named:
        name, equals, path = text.partition("=")
        if not name or not path:
            raise UsageError(f"--table wants NAME=FILE: '{text}'")
        if name in given:
            raise UsageError(f"--table names this table twice: {name}")
        given.add(name)
        tables[name] = _scan(path)
    return tables


# --- what is printed ------------------------------------------------------------------------------------------------


def _width(text: str) -> int:
    """Columns of a terminal that a text takes."""
    if text.isascii():
        return len(text)
    import unicodedata

    return sum(0 if unicodedata.combining(c) else 2 if unicodedata.east_asian_width(c) in "WF" else 1 for c in text)


def rows_text(table: Table, most_rows: int, most_width: int) -> str:
    """Names, types and the first rows in aligned columns, as many as fit, then the number of rows in all."""
    fields = table._held.fields()
    head = table.head(most_rows)
    lines = [""] * (head.num_rows + 2)
    shown = used = 0
    for i, (name, kind, _) in enumerate(fields):
        convert = _values.converter(kind)
        values = [v if v is None or v is ... or convert is None else convert(v) for v in head._held.cells(i)]
        cells = [_values.text(text, _MOST_CHARACTERS) for text in (name, kind, *values)]
        width = max(map(_width, cells))
        used += width + (2 if i else 0)
        if i and used > most_width:
            break
        shown = i + 1
        for at, cell in enumerate(cells):
            blanks = " " * (width - _width(cell))
            lines[at] += ("  " if i else "") + (blanks + cell if _values.is_number(kind) else cell + blanks)
    text = "".join(line.rstrip() + "\n" for line in lines)
    if shown < len(fields):
        text += f"and {len(fields) - shown} columns more\n"
    more = "… " if table.num_rows > head.num_rows else ""
    return text + f"{more}{table.num_rows} row{'' if table.num_rows == 1 else 's'}\n"


def _stats_text(stats: Stats) -> str:
    lines = [f"path   {stats['path']} on {stats['device']}"]
    lines.append(f"rows   {stats['rows']} in, {stats['rows_out']} out")
    lines.append(f"time   {stats['total_ns'] / 1e6:.3f} ms")
    lines += [f"{phase['name']:<16}{phase['ns'] / 1e6:>14.3f} ms" for phase in stats["phases"]]
    lines += [f"{name:<16}{value:>14}" for name, value in stats["counters"].items()]
    return "".join(line + "\n" for line in lines)


def _terminal_width() -> int:
    if not sys.stdout.isatty():
        return sys.maxsize
    import shutil

    return shutil.get_terminal_size().columns


# --- output files ---------------------------------------------------------------------------------------------------


@contextlib.contextmanager
def _output(path: str) -> Iterator[str]:
    """A file beside `path`, which gets that name when all went well and goes when something did not."""
    folder, name = os.path.split(path)
    part = os.path.join(folder, f".garuda.{os.getpid()}.{name}.part")
    try:
        os.close(os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666))
    except OSError as error:
        raise OutputError(f"cannot write {path}", (error.strerror or str(error),)) from None
    try:
        yield part
        os.replace(part, path)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(part)
        raise


def _write(table: Table, file: str, path: str) -> None:
    import pyarrow
    import pyarrow.csv
    import pyarrow.feather
    import pyarrow.parquet

    rows = table.to_arrow()
    suffix = os.path.splitext(path)[1].lower()
    try:
        if suffix == ".parquet":
            pyarrow.parquet.write_table(rows, file)
        elif suffix == ".csv":
            pyarrow.csv.write_csv(rows, file)
        else:
            pyarrow.feather.write_feather(rows, file, compression="uncompressed")
    except pyarrow.ArrowException as error:
        raise InvalidInputError(f"{path} cannot hold the rows", (str(error),)) from None
    except OSError as error:
        raise OutputError(f"cannot write {path}", (error.strerror or str(error),)) from None


# --- queries --------------------------------------------------------------------------------------------------------


class Shell:
    """Runs statements with the options of the command line."""

    def __init__(self, options: argparse.Namespace) -> None:
        self._options = options
        self._engine: Optional[Engine] = None
        self._tables: Optional[dict[str, Scan]] = None

    def run(self, query: str) -> None:
        """Runs one statement, and shows or writes its rows."""
        options = self._options
        if options.output is None:
            return self._run(query, None)
        with _output(options.output) as part:
            self._run(query, part)

    def _run(self, query: str, part: Optional[str]) -> None:
        options = self._options
        planned = self._planned(query)
        if options.explain is not None and options.stats is None:
            from .plans import Plan

            return self._say_plan(Plan(*planned.explain()))
        table = self._rows(planned)
        plan, stats = table.plan, table.stats
        if options.explain is not None and plan is not None:
            self._say_plan(plan)
        elif part is None:
            sys.stdout.write(rows_text(table, _MOST_ROWS, _terminal_width()))
        else:
            _write(table, part, options.output)
        if options.stats is not None and stats is not None:
            sys.stdout.flush()
            sys.stderr.write(_stats_text(stats) if options.stats == "text" else json.dumps(dict(stats)) + "\n")

    def _planned(self, query: str) -> Any:
        from . import _sql
        from .engine import Engine

        options = self._options
        if self._tables is None:
            self._tables = _tables(options.table, options.tables)
        if self._engine is None:
            self._engine = Engine(
                options.device, path=options.path, threads=options.threads, memory_limit=options.memory_limit
            )
        return _sql.planned(self._engine, query, self._tables, {}, None).read(self._engine, options.strict)

    def _rows(self, planned: Any) -> Table:
        from ._progress import line, reporting
        from .table import Table

        if self._options.quiet or not sys.stderr.isatty():
            return Table(planned.run(None))
        show, close = line()
        try:
            with reporting(show) as report:
                return Table(planned.run(report))
        finally:
            close()

    def _say_plan(self, plan: Plan) -> None:
        if self._options.explain == "html":
            sys.stdout.write(plan.to_html())
        else:
            sys.stdout.write(str(plan).rstrip("\n") + "\n")


def report(error: BaseException) -> int:
    """Says what is wrong in a sentence, and gives the exit code."""
    code = next((code for kind, code in _CODES if isinstance(error, kind)), INTERNAL)
    if isinstance(error, KeyboardInterrupt):
        said = "interrupted"
    elif isinstance(error, OSError) and not isinstance(error, Error) and error.strerror:
        said = f"cannot read {error.filename}: {error.strerror.lower()}"
    elif code == INTERNAL:
        said = f"internal error, please report it: {type(error).__name__}: {error}"
    else:
        said = str(error)
    sys.stdout.flush()
    print(f"garuda-sql: {said}", file=sys.stderr)
    return code


def _run_all(shell: Shell, statements: Sequence[str]) -> int:
    """Runs statements up to the first that fails."""
    for statement in statements:
        try:
            shell.run(statement)
        except BrokenPipeError:
            raise
        except BaseException as error:  # each has its exit code
            return report(error)
    return DONE


def _statements_of(text: str) -> list[str]:
    statements, rest = _statements.split(text)
    return statements if _statements.is_blank(rest) else [*statements, rest.strip()]


def _interrupted(number: int, frame: object) -> NoReturn:
    raise KeyboardInterrupt


def _check(options: argparse.Namespace, statements: Sequence[str]) -> None:
    if options.output is None:
        return
    if os.path.splitext(options.output)[1].lower() not in _OUTPUTS:
        raise UsageError(f"names of output files end with one of {', '.join(_OUTPUTS)}: {options.output}")
    if len(statements) != 1 or options.explain is not None:
        raise UsageError("--output takes the rows of one query")


def main(arguments: Optional[Sequence[str]] = None) -> int:
    """Runs the command; returns its exit code."""
    given = sys.argv[1:] if arguments is None else arguments
    options = _parser().parse_args([_WITH_VALUE.get(word, word) for word in given])
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, _interrupted)
    shell = Shell(options)
    try:
        if options.query is None and sys.stdin.isatty():
            if options.output is not None:
                raise UsageError("--output wants a query, as an argument or from standard input")
            from ._prompt import prompt

            return prompt(shell)
        statements = _statements_of(sys.stdin.read() if options.query is None else options.query)
        if not statements:
            raise UsageError("there is no query (see --help)")
        _check(options, statements)
        code = _run_all(shell, statements)
        sys.stdout.flush()
        return code
    except BrokenPipeError:  # a reader that left, as `head` does, is no news to anyone
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return NO_ROOM
    except (Error, OSError, KeyboardInterrupt) as error:
        return report(error)


if __name__ == "__main__":
    sys.exit(main())
