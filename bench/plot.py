"""Plots what `garuda bench join|group-by --json` printed: time against rows, a line a path, a panel a device.

Called by `./dev bench plot`. Reads JSON lines from files, or from standard input, and writes one SVG (or PNG, by the
output's extension). Points are medians, bars reach from the least to the greatest sample. Records of one operation and one
mode go into one picture: others are an error, since they must not be compared.
"""

from __future__ import annotations

import argparse
import collections
import dataclasses
import json
import pathlib
import sys
from collections.abc import Iterable

import matplotlib

matplotlib.use("svg")
# The same records give the same file.
matplotlib.rcParams["svg.hashsalt"] = "garuda"
import matplotlib.pyplot as plt  # noqa: E402

# A colour and a mark for each path, told apart without colour too.
PATHS = {
    "graphics": ("#0072b2", "o"),
    "compute": ("#d55e00", "s"),
    "cuda": ("#009e73", "^"),
    "cpu": ("#555555", "D"),
}


class BadRecord(Exception):
    """A line that is not a record of the benchmark, or records that do not belong in one picture."""


@dataclasses.dataclass(frozen=True)
class Point:
    """One measurement: input rows of the larger side, and milliseconds."""

    panel: str
    path: str
    rows: int
    median_ms: float
    below_ms: float
    above_ms: float


def read_point(record: dict, panel_of_cpu: str | None) -> Point:
    """The point of a record. The CPU path stands beside the device it was measured with, `panel_of_cpu`."""
    try:
        if not record["verified"]:
            raise BadRecord(f"a record that was not verified: {record['path']} on {record['device']}")
        rows = record["rows"] if "rows" in record else max(record["rows_left"], record["rows_right"])
        median = record["median_ns"]
        panel = record["device"] if record["path"] != "cpu" else panel_of_cpu or record["device"]
        below, above = median - record["min_ns"], record["max_ns"] - median
        return Point(panel, record["path"], rows, median / 1e6, below / 1e6, above / 1e6)
    except (KeyError, TypeError) as error:
        raise BadRecord(f"not a record of garuda bench join or group-by: {error} is missing") from error


def read_records(lines: Iterable[str]) -> list[dict]:
    records = []
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        try:
            record = json.loads(line)
        except json.JSONDecodeError as error:
            raise BadRecord(f"line {number}: not JSON: {error}") from error
        if not isinstance(record, dict):
            raise BadRecord(f"line {number}: not a JSON object")
        if record.get("op") in ("join", "group-by"):
            records.append(record)
    if not records:
        raise BadRecord("no record of a join or a group-by")
    kinds = {(record["op"], record.get("mode")) for record in records}
    if len(kinds) > 1:
        raise BadRecord(f"records of several kinds do not go into one picture: {sorted(map(str, kinds))}")
    return records


def points_of(records: list[dict]) -> list[Point]:
    """Points in the order of the records; those of path cpu belong to the device named before them, or after."""
    devices = [record["device"] for record in records if record["path"] != "cpu"]
    points, last = [], devices[0] if devices else None
    for record in records:
        if record["path"] != "cpu":
            last = record["device"]
        points.append(read_point(record, last))
    return points


def draw(points: list[Point], op: str, mode: str, title: str, output: pathlib.Path) -> None:
    panels = list(dict.fromkeys(point.panel for point in points))
    figure, axes = plt.subplots(1, len(panels), figsize=(1 + 4.2 * len(panels), 4.2), squeeze=False)
    for axis, panel in zip(axes[0], panels):
        lines = collections.defaultdict(list)
        for point in points:
            if point.panel == panel:
                lines[point.path].append(point)
        for path, members in lines.items():
            members.sort(key=lambda point: point.rows)
            colour, mark = PATHS.get(path, ("#000000", "x"))
            axis.errorbar(
                [point.rows for point in members],
                [point.median_ms for point in members],
                yerr=[[point.below_ms for point in members], [point.above_ms for point in members]],
                label=path, color=colour, marker=mark, markersize=5, linewidth=1.4, capsize=2,
            )
        axis.set_xscale("log", base=2)
        axis.set_yscale("log")
        axis.set_title(panel, fontsize=10)
        axis.set_xlabel("rows of the table" if op == "group-by" else "rows of the larger side")
        axis.set_ylabel(f"{mode}, ms (median)")
        axis.grid(True, which="major", linewidth=0.4, alpha=0.6)
        axis.legend(fontsize=9)
    figure.suptitle(title, fontsize=11)
    figure.tight_layout()
    figure.savefig(output, metadata={"Date": None} if output.suffix == ".svg" else None)
    plt.close(figure)


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="./dev bench plot", description=__doc__.splitlines()[0])
    parser.add_argument("records", nargs="*", type=pathlib.Path, help="files of JSON lines (default: standard input)")
    parser.add_argument("-o", "--output", type=pathlib.Path, required=True, help="FILE.svg or FILE.png")
    parser.add_argument("--title", default="", help="above the picture; say what was joined and when")
    options = parser.parse_args(arguments)
    if options.output.suffix not in (".svg", ".png"):
        parser.error(f"output must end in .svg or .png: {options.output}")
    try:
        lines = []
        for path in options.records:
            lines += path.read_text().splitlines()
        records = read_records(lines if options.records else sys.stdin)
        points = points_of(records)
        draw(points, records[0]["op"], records[0]["mode"], options.title, options.output)
    except (BadRecord, OSError, UnicodeDecodeError) as error:
        print(f"plot: {error}", file=sys.stderr)
        return 3
    print(f"{options.output}: {len(points)} points")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
