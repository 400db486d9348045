"""Progress of a run: handed to a callback, or drawn by tqdm or rich where they are, else as a line."""

from __future__ import annotations

import contextlib
import sys
import time
from typing import Any, Callable, Iterator, NamedTuple, Optional, Union

from ._arguments import wrong


class Progress(NamedTuple):
    """How far a run is.

    Attributes:
        phase: what is done now: partition, join, …
        done: units of it that are finished.
        total: of how many; 0: not known.
        rows_out: rows of the result so far.
    """

    phase: str
    done: int
    total: int
    rows_out: int


ProgressOption = Union[bool, Callable[[Progress], Any], None]
# The extension calls this; False stops the run.
Report = Callable[[str, int, int, int], bool]


def _tqdm() -> Optional[tuple[Callable[[Progress], Any], Callable[[], Any]]]:
    try:
        from tqdm.auto import tqdm
    except ImportError:
        return None
    bar = tqdm(unit="unit", leave=False)

    def show(progress: Progress) -> None:
        bar.set_description_str(progress.phase, refresh=False)
        bar.total = progress.total or None
        bar.n = progress.done
        bar.set_postfix_str(f"{progress.rows_out:,} rows", refresh=False)
        bar.refresh()

    return show, bar.close


def _rich() -> Optional[tuple[Callable[[Progress], Any], Callable[[], Any]]]:
    try:
        from rich.progress import Progress as Bars  # pyright: ignore[reportMissingImports]
    except ImportError:
        return None
    bars = Bars(transient=True)
    bars.start()
    task = bars.add_task("", total=None)

    def show(progress: Progress) -> None:
        bars.update(task, description=progress.phase, completed=progress.done, total=progress.total or None)

    return show, bars.stop


def line() -> tuple[Callable[[Progress], Any], Callable[[], Any]]:
    """Functions that draw progress as a line of a terminal, and remove it."""
    shown = [0.0]

    def show(progress: Progress) -> None:
        if not sys.stderr.isatty() or time.monotonic() - shown[0] < 0.1:
            return
        shown[0] = time.monotonic()
        share = f"{100 * progress.done // progress.total} %" if progress.total else str(progress.done)
        print(f"\r\033[Kgaruda: {progress.phase} {share}, {progress.rows_out:,} rows", end="", file=sys.stderr)

    def close() -> None:
        if shown[0]:
            print("\r\033[K", end="", file=sys.stderr, flush=True)

    return show, close


@contextlib.contextmanager
def reporting(progress: ProgressOption) -> Iterator[Optional[Report]]:
    """The callback that the extension gets while a run lasts; None: nothing."""
    if progress is None or progress is False:
        yield None
        return
    if progress is not True and not callable(progress):
        raise wrong("progress", "a bool, a function of a garuda.Progress, or None", progress)
    show: Callable[[Progress], Any]
    show, close = (_tqdm() or _rich() or line()) if progress is True else (progress, lambda: None)

    def report(phase: str, done: int, total: int, rows: int) -> bool:
        answer = show(Progress(phase, done, total, rows))
        return answer is None or bool(answer)  # numpy.False_ is False, too

    try:
        yield report
    finally:
        close()
