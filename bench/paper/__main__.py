"""The evaluations of two papers anew: GARUDA's figures 8 to 15 and §6.2, and those of Wu et al., on this machine.

Called by `./dev bench paper`. Scale 1 is TPC-H 1 and narrow tables of half a million rows, a thousandth of the paper's.
Every figure is run on garuda's paths and DuckDB, in memory, verified, in turns; times of others, such as HCJoin, TGB or
cuDF, come from JSON files as this command and `./dev bench tpch` write them. Writes a page and the JSON behind it.
Exit status 1 when results differ.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import pathlib
import subprocess
import sys

from engines import duckdb_rival, engine, garuda_rival, measure, session
from paper import figures, page

PATHS = ("graphics", "compute", "cuda", "cpu")


def parse_arguments() -> argparse.Namespace:
    known = [figure.number for figure in figures.all_figures(1)]
    parser = argparse.ArgumentParser(prog="./dev bench paper", description=__doc__)
    parser.add_argument("--figure", default="all", help=f"by comma: {', '.join(known)} (%(default)s)")
    parser.add_argument("--scale", type=float, default=1, help="of TPC-H, and of half a million rows (%(default)s)")
    parser.add_argument("--paths", default=",".join(PATHS), help="of garuda, by comma (%(default)s)")
    parser.add_argument("--device", help="an index or part of a name of `garuda devices`")
    parser.add_argument("--outside", type=pathlib.Path, nargs="*", default=[], help="JSON files of other engines' times")
    parser.add_argument("--page", type=pathlib.Path, default=session.ROOT / "build/paper.html", help="(%(default)s)")
    session.add_arguments(parser, ["duckdb"], 5, "build/paper.json")
    session.add_file_arguments(parser)
    arguments = parser.parse_args()
    arguments.figure = known if arguments.figure == "all" else session.chosen_names(parser, arguments.figure, known, "figure")
    arguments.paths = session.chosen_names(parser, arguments.paths, list(PATHS), "path")
    if not arguments.scale > 0 or arguments.threads < 1 or arguments.repeat < 1:
        parser.error("--scale must be above 0, --threads and --repeat at least 1")
    return arguments


def devices(arguments: argparse.Namespace) -> list[dict]:
    printed = subprocess.run([arguments.garuda, "devices", "--json"], check=True, capture_output=True, text=True).stdout
    return [device for device in json.loads(printed) if device["usable"]]


def outside_times(paths: list[pathlib.Path]) -> dict[str, dict[str, dict]]:
    """Times by the name of a run, then of an engine."""
    times: dict[str, dict[str, dict]] = {}
    for path in paths:
        stored = json.loads(path.read_text(encoding="utf-8"))
        for work in stored["works"]:
            for entry in work["engines"]:
                times.setdefault(work["name"], {})[entry["name"]] = {
                    "median_s": float(entry["median_s"]), "mad_s": float(entry.get("mad_s", 0)),
                }
    return times


class Bench:
    def __init__(self, arguments: argparse.Namespace) -> None:
        self.arguments = arguments
        self.devices = devices(arguments)
        self.outside = outside_times(arguments.outside)
        self.left_out: dict[str, str] = {}
        self.measured: dict[tuple, dict] = {}  # figures share runs

    def engines(self, figure: figures.Figure) -> list[engine.Engine]:
        """garuda's first; a path that this machine does not have is left out with its reason."""
        wanted = [(figure.path, name, tuning) for name, tuning in figure.tunings]
        wanted = wanted or [(path, path, "") for path in self.arguments.paths]
        made = []
        for path, name, tuning in wanted:
            if path not in self.left_out:
                options = {"device": self.arguments.device if path != "cpu" else None, "tuning": tuning or None}
                runner = garuda_rival.Garuda(session.version(self.arguments), path, self.arguments.threads, **options)
                runner.name = name
                try:
                    self.try_out(runner)
                    made.append(runner)
                except RuntimeError as error:
                    self.left_out[path] = str(error)
        return [*made, duckdb_rival.DuckDb(self.arguments.threads, ("arrow→arrow",))]

    @staticmethod
    def try_out(runner: engine.Engine) -> None:
        column = figures.tables.pa.array([1, 2], "int32")
        two_rows = figures.tables.pa.table({"key": column})
        runner.load({"left": two_rows, "right": two_rows})
        runner.run(engine.Join(), runner.ways[0])
        runner.unload()

    def run(self, figure: figures.Figure, run: figures.Run, engines: list[engine.Engine]) -> dict:
        key = (run.name, *(runner.name for runner in engines))
        if key not in self.measured:
            session.load(engines, lambda: run.tables(self.arguments))
            all_series = measure.verify(engines, run.operation, self.arguments.threads)
            measure.sample(all_series, run.operation, self.arguments.repeat)
            times = {one.engine.name: {"median_s": one.median, "mad_s": one.mad} for one in all_series}
            said = all_series[0].statistics
            self.measured[key] = {"times": times, "phases": said.get("phases", []), "rows_out": all_series[0].rows_out}
        one = self.measured[key]
        times = one["times"] | ({} if figure.tunings else self.outside.get(run.name, {}))
        return one | {"name": run.name, "title": run.title, "x": run.x, "times": times}

    def histogram(self, rows: int) -> tuple[list[dict], list[str]]:
        """The fastest setting of each path."""
        device = ["--device", self.arguments.device] if self.arguments.device else []
        times: dict[str, dict] = {}
        notes = []
        for path in ("graphics", "compute", "cuda"):
            command = [self.arguments.garuda, "bench", "histogram", "--rows", str(rows), "--path", path, "--json", *device]
            command += ["--repeat", str(self.arguments.repeat)]
            done = subprocess.run(command, capture_output=True, text=True, check=False)
            if done.returncode != 0:
                notes.append(f"{path}: {done.stderr.strip().splitlines()[-1]}")
                continue
            best = min((json.loads(line) for line in done.stdout.splitlines()), key=lambda line: line["median_ns"])
            times[path] = {"median_s": best["median_ns"] / 1e9, "mad_s": best["mad_ns"] / 1e9}
        run = {"name": "histogram", "title": "2^24 bins", "x": None, "times": times, "phases": [], "rows_out": 1 << 24}
        return ([run] if times else []), notes

    def figure(self, figure: figures.Figure) -> dict:
        stored = {name: getattr(figure, name) for name in ("number", "title", "kind", "axis")}
        stored |= {"claims": [dataclasses.asdict(claim) for claim in figure.claims], "runs": [], "notes": []}
        if figure.needs and not any(device["kind"] == figure.needs for device in self.devices):
            stored["notes"].append(f"Left out: this machine has no {figure.needs} GPU.")
        elif figure.kind == "histogram":
            stored["runs"], stored["notes"] = self.histogram(figure.rows)
        else:
            engines = self.engines(figure)
            has_path = any(runner.ways == (figure.path,) for runner in engines)
            if (figure.tunings or figure.kind == "phases") and not has_path:
                stored["notes"].append(f"Left out: it is of the {figure.path} path, which cannot run here.")
            else:
                stored["runs"] = [self.run(figure, run, engines) for run in figure.runs]
        return stored


def main() -> int:
    arguments = parse_arguments()
    try:
        bench = Bench(arguments)
    except (OSError, ValueError, KeyError, TypeError) as error:
        print(f"error: cannot read what --outside names: {error!r}", file=sys.stderr)
        return 3
    stored = {
        "machine": session.environment(arguments), "scale": arguments.scale, "version": session.version(arguments),
        "devices": [device["name"] for device in bench.devices], "figures": [],
    }
    for figure in figures.all_figures(arguments.scale):
        if figure.number not in arguments.figure:
            continue
        print(f"{figure.number} {figure.title} …", file=sys.stderr, flush=True)
        try:
            stored["figures"].append(bench.figure(figure))
        except (measure.WrongResult, RuntimeError) as error:
            print(f"error: {figure.number}: {error}", file=sys.stderr)
            return 1
        stored["left_out"] = bench.left_out
        for path, text in ((arguments.output, json.dumps(stored, indent=1) + "\n"), (arguments.page, page.page(stored))):
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
    for path, reason in bench.left_out.items():
        print(f"left out: {path}: {reason}", file=sys.stderr)
    for figure in stored["figures"]:
        for claim in figure["claims"]:
            print(f"{figure['number']}: {claim['text']}: {page.judge(claim, figure['runs'])[1]}")
    print(arguments.page)
    return 0


if __name__ == "__main__":
    sys.exit(main())
