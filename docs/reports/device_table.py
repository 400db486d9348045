"""README's table of devices, from the reports beside this file: python3 docs/reports/device_table.py prints it."""

import json
import pathlib

FOLDER = pathlib.Path(__file__).resolve().parent
CELLS = {
    "join-20": "join 2^20 ⋈ 2^20",
    "join-24": "join 2^24 ⋈ 2^24",
    "group-20": "2^20 rows in 2^10 groups",
    "group-24": "2^24 rows in 2^10 groups",
}
PATHS = ("graphics", "compute", "cpu")


def milliseconds(report: dict, cell: str, path: str) -> str:
    for result in report["results"]:
        if (result["cell"], result["path"], result["mode"]) == (cell, path, "end-to-end"):
            median = result["median_ns"] / 1e6
            return f"{median:.3g}" if median < 999.5 else f"{median:,.0f}"
    return "–"


def row(file: pathlib.Path) -> str:
    report = json.loads(file.read_text(encoding="utf-8"))
    name = report["devices"][0]["name"] if report["devices"] else "no device"
    times = (" / ".join(milliseconds(report, cell, path) for path in PATHS) for cell in CELLS)
    return f"| [{name}](docs/reports/{file.name}), {report['host']['threads']} threads | {' | '.join(times)} |"


def table() -> list[str]:
    head = f"| {' / '.join(PATHS)}, ms | {' | '.join(CELLS.values())} |"
    return [head, "|---" * (1 + len(CELLS)) + "|", *map(row, sorted(FOLDER.glob("*.json")))]


if __name__ == "__main__":
    print("\n".join(table()))
