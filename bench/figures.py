"""Draws what `garuda bench join|group-by --json` printed: time against rows, a line a path, a chart a device.

Called by `./dev bench figures`. Reads JSON lines from files, or from standard input, and writes a page with a part for
each operation and mode among them, since times of different ones must not be compared. Points are medians; the least
and the greatest sample stand in the table below each chart.
"""

from __future__ import annotations

import argparse
import collections
import json
import pathlib
import sys
from collections.abc import Iterable

from engines import page

OUTPUT = pathlib.Path(__file__).resolve().parent.parent / "build/figures.html"
Pictures = dict[tuple[str, str], dict[str, dict[str, list]]]


def read_pictures(lines: Iterable[str]) -> Pictures:
    """Times by operation and mode, device, path: (rows of the larger side, median, least, greatest in ms). The CPU
    path stands beside the device named before it, or after. Raises ValueError for what is no verified record."""
    records = [json.loads(line) for line in lines if line.strip()]
    pictures: dict = {}
    device = next((record["device"] for record in records if record["path"] != "cpu"), "cpu")
    for record in records:
        if record["op"] not in ("join", "group-by"):
            continue
        if not record["verified"]:
            raise ValueError(f"a record that was not verified: {record['path']} on {record['device']}")
        device = device if record["path"] == "cpu" else record["device"]
        rows = record["rows"] if "rows" in record else max(record["rows_left"], record["rows_right"])
        times = (record[key] / 1e6 for key in ("median_ns", "min_ns", "max_ns"))
        panels = pictures.setdefault((record["op"], record["mode"]), {})
        panels.setdefault(device, collections.defaultdict(list))[record["path"]].append((rows, *times))
    if not pictures:
        raise ValueError("no record of a join or a group-by")
    return pictures


def draw(pictures: Pictures, title: str) -> str:
    drawn = page.Page(title)
    for (op, mode), panels in pictures.items():
        drawn.heading(f"{op}, {mode}")
        rows_of = "rows of the table" if op == "group-by" else "rows of the larger side"
        for device, paths in panels.items():
            series, table = [], []
            for path, points in paths.items():
                points.sort()
                marks = [[rows, median, f"{median:.4g} ms"] for rows, median, _, _ in points]
                series.append({"name": path, "color": page.COLORS.get(path, 7), "points": marks})
                table += [
                    [f"{path}, {rows:,} rows", page.field(f"{median:.4g} ms ({least:.4g} … {greatest:.4g})")]
                    for rows, median, least, greatest in points
                ]
            drawn.chart(device, page.lines(rows_of, 2, f"{mode}, ms (median)", series))
            drawn.table(["", "median (least … greatest)"], table)
    return drawn.finish(title)


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="./dev bench figures", description=__doc__.splitlines()[0])
    parser.add_argument("records", nargs="*", type=pathlib.Path, help="files of JSON lines (default: standard input)")
    parser.add_argument("-o", "--output", type=pathlib.Path, default=OUTPUT, help="page (%(default)s)")
    parser.add_argument("--title", default="garuda bench", help="of the page; say what was joined and when")
    options = parser.parse_args(arguments)
    try:
        texts = [path.read_text() for path in options.records] or [sys.stdin.read()]
        pictures = read_pictures("\n".join(texts).splitlines())
    except (KeyError, TypeError, json.JSONDecodeError) as error:
        print(f"figures: not records of garuda bench join or group-by: {error!r}", file=sys.stderr)
        return 3
    except (ValueError, OSError) as error:
        print(f"figures: {error}", file=sys.stderr)
        return 3
    options.output.parent.mkdir(parents=True, exist_ok=True)
    options.output.write_text(draw(pictures, options.title), encoding="utf-8")
    for (op, mode), panels in pictures.items():
        print(f"{op}, {mode}: {sum(len(points) for paths in panels.values() for points in paths.values())} points")
    print(options.output)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
