"""The paths side by side on one GPU: graphics, compute, CUDA and the CPU over one grid of joins and group-bys.

Each cell is one process of `garuda bench`: end to end all paths take turns on the same data; resident, where the device
keeps inputs and result, compute and CUDA run one after the other. Every result is compared with the reference before it
is timed. Times are medians with their median absolute deviations; ratios are to CUDA (resident) or the CPU (end to end).
A path that fails or is not there leaves its cells empty, with the reason below the table.

    ./dev bench gpu [--quick] [--mode resident|end-to-end|both] [--device D] [--output FILE.json]
"""

from __future__ import annotations

import argparse
import json
import os
import pathlib
import statistics
import subprocess
import sys

COMMAND = pathlib.Path(os.environ.get("GARUDA_COMMAND", pathlib.Path(__file__).parents[1] / "build/bin/garuda"))
PATHS = {"resident": ["compute", "cuda"], "end-to-end": ["graphics", "compute", "cuda", "cpu"]}
BASE = {"resident": "cuda", "end-to-end": "cpu"}
SECONDS = 900


def joins(quick: bool) -> list[list[str]]:
    """Sizes, then one axis after the other at a middle size."""

    def cell(left: str, right: str, *more: str) -> list[str]:
        return ["join", "--rows-left", left, "--rows-right", right, *more]

    sizes = ["2^20", "2^22", "2^24"] if quick else ["2^20", "2^22", "2^24", "2^26", "2^27", "2^28"]
    middle = "2^22" if quick else "2^24"
    axes = [
        *(["--payload-left", p, "--payload-right", p] for p in ("2", "4")),
        ["--key-type", "i64"],
        ["--payload-type", "i64"],
        ["--distribution", "uniform"],
        *(["--distribution", f"zipf:{z}"] for z in ("0.5", "1.0", "1.5")),
        *(["--match-ratio", r] for r in ("0.03", "0.5")),
        *(["--multiplicity", m] for m in ("2", "4")),
    ]
    return [cell(n, n) for n in sizes] + [cell("2^20", middle)] + [cell(middle, middle, *axis) for axis in axes]


def group_bys(quick: bool) -> list[list[str]]:
    rows = "2^22" if quick else "2^27"
    groups = ["2^4", "2^10", "2^16", "2^20"] + ([] if quick else ["2^24", "2^26"])
    usual = ["--agg", "sum", "--value-type", "i32"]
    cells = [["group-by", "--rows", rows, "--groups", g, *usual] for g in groups]
    return cells + [["group-by", "--rows", rows, "--groups", "2^16", "--distribution", "zipf:1.0", *usual]]


def run(mode: str, paths: list[str], cell: list[str], device: str | None) -> tuple[dict[str, dict], str]:
    """The records of the paths that ran, and what the command said when it failed."""
    command = [str(COMMAND), "bench", *cell, "--mode", mode, "--path", ",".join(paths), "--json"]
    if device:
        command += ["--device", device]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=SECONDS, check=False)
    except subprocess.TimeoutExpired:
        return {}, f"{','.join(paths)}: more than {SECONDS} s"
    records = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
    failure = "" if done.returncode == 0 else f"{','.join(paths)}: exit {done.returncode}: {done.stderr.strip()[-200:]}"
    return {r["path"]: r for r in records if r["op"] in ("join", "group-by")}, failure


def measure(mode: str, cell: list[str], device: str | None) -> tuple[dict[str, dict], list[str]]:
    """Paths together, so that they take turns; one by one where that is not offered or one of them fails."""
    paths = PATHS[mode]
    if mode == "end-to-end":
        records, failure = run(mode, paths, cell, device)
        if not failure:
            return records, []
    records, failures = {}, []
    for path in paths:
        own, failure = run(mode, [path], cell, device if path != "cpu" else None)
        records |= own
        if failure:
            failures.append(failure)
    return records, failures


def ms(record: dict | None) -> str:
    return "–" if record is None else f"{record['median_ns'] / 1e6:.3f} ± {record['mad_ns'] / 1e6:.3f}"


def ratio(records: dict[str, dict], path: str, base: str) -> float | None:
    if path not in records or base not in records:
        return None
    return records[path]["median_ns"] / records[base]["median_ns"]


def report(mode: str, cells: list[list[str]], device: str | None) -> list[dict]:
    paths, base = PATHS[mode], BASE[mode]
    others = [p for p in paths if p != base]
    titles = ["workload", *(f"{p}, ms" for p in paths), *(f"{p} / {base}" for p in others)]
    print(f"\n{mode}\n\n| " + " | ".join(titles) + " |\n|" + "---|" * len(titles))
    kept: list[dict] = []
    ratios: dict[str, list[float]] = {p: [] for p in others}
    failures: list[str] = []
    for cell in cells:
        name = " ".join(a.removeprefix("--") for a in cell)
        records, failed = measure(mode, cell, device)
        failures += [f"{name}: {failure}" for failure in failed]
        row = [name, *(ms(records.get(p)) for p in paths)]
        for path in others:
            value = ratio(records, path, base)
            row.append("–" if value is None else f"{value:.2f}")
            if value is not None:
                ratios[path].append(value)
        print("| " + " | ".join(row) + " |", flush=True)
        kept.append({"mode": mode, "workload": cell, "records": list(records.values()), "failures": failed})
    for path, values in ratios.items():
        if values:
            spread = f"{min(values):.2f} … {max(values):.2f}"
            print(f"\n{path} / {base}: median {statistics.median(values):.2f} ({spread}, {len(values)} workloads)")
    for failure in failures:
        print(f"\nnot measured: {failure}")
    return kept


def main() -> int:
    parser = argparse.ArgumentParser(prog="./dev bench gpu", description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="small tables only")
    parser.add_argument("--mode", choices=["resident", "end-to-end", "both"], default="both")
    parser.add_argument("--device", help="index or part of a name")
    parser.add_argument("--output", type=pathlib.Path, help="all records as JSON")
    arguments = parser.parse_args()
    cells = joins(arguments.quick) + group_bys(arguments.quick)
    modes = ["resident", "end-to-end"] if arguments.mode == "both" else [arguments.mode]
    kept = [entry for mode in modes for entry in report(mode, cells, arguments.device)]
    if arguments.output:
        arguments.output.write_text(json.dumps(kept, indent=1) + "\n")
    return 0 if any(entry["records"] for entry in kept) else 1


if __name__ == "__main__":
    sys.exit(main())
