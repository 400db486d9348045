"""Draws what `garuda bench join|group-by --json` printed: time against rows, a line a path, a panel a device.

Called by `./dev bench figures`. Reads JSON lines from files, or from standard input, and writes an SVG for each
operation and mode among them, since times of different ones must not be compared. Points are medians, bars reach from
the least to the greatest sample.
"""

from __future__ import annotations

import argparse
import collections
import json
import pathlib
import sys
from collections.abc import Iterable

import matplotlib

matplotlib.use("svg")
# The same records give the same file.
matplotlib.rcParams["svg.hashsalt"] = "garuda"
import matplotlib.pyplot as plt  # noqa: E402

FOLDER = pathlib.Path(__file__).resolve().parent.parent / "build/figures"
# A colour and a mark for each path, told apart without colour too.
PATHS = {"graphics": ("#0072b2", "o"), "compute": ("#d55e00", "s"), "cuda": ("#009e73", "^"), "cpu": ("#555555", "D")}


def read_pictures(lines: Iterable[str]) -> dict[tuple[str, str], dict[str, dict[str, list]]]:
    """By operation and mode, then device, then path: (rows of the larger side, median, least, greatest in ms). The CPU
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


def draw(panels: dict[str, dict[str, list]], op: str, mode: str, title: str, output: pathlib.Path) -> None:
    figure, axes = plt.subplots(1, len(panels), figsize=(1 + 4.2 * len(panels), 4.2), squeeze=False)
    for axis, (device, paths) in zip(axes[0], panels.items()):
        for path, points in paths.items():
            rows, medians, least, greatest = zip(*sorted(points))
            spread = [[m - l for m, l in zip(medians, least)], [g - m for g, m in zip(greatest, medians)]]
            colour, mark = PATHS[path]
            axis.errorbar(
                rows, medians, yerr=spread, label=path, color=colour, marker=mark, markersize=5, linewidth=1.4, capsize=2
            )
        axis.set_xscale("log", base=2)
        axis.set_yscale("log")
        axis.set_title(device, fontsize=10)
        axis.set_xlabel("rows of the table" if op == "group-by" else "rows of the larger side")
        axis.set_ylabel(f"{mode}, ms (median)")
        axis.grid(True, which="major", linewidth=0.4, alpha=0.6)
        axis.legend(fontsize=9)
    figure.suptitle(title, fontsize=11)
    figure.tight_layout()
    output.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(output, metadata={"Date": None})
    plt.close(figure)


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="./dev bench figures", description=__doc__.splitlines()[0])
    parser.add_argument("records", nargs="*", type=pathlib.Path, help="files of JSON lines (default: standard input)")
    parser.add_argument("-o", "--output", type=pathlib.Path, default=FOLDER, help="folder (%(default)s)")
    parser.add_argument("--title", default="", help="above the pictures; say what was joined and when")
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
    for (op, mode), panels in pictures.items():
        output = options.output / f"{op}-{mode}.svg"
        draw(panels, op, mode, options.title, output)
        print(f"{output}: {sum(len(points) for paths in panels.values() for points in paths.values())} points")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
