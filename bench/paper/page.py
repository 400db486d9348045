"""The page of the figures, which the script of engines.page draws."""

from __future__ import annotations

import statistics

from engines.page import COLORS, Page, field
from engines.page import lines as lines_chart

OURS = "graphics"


def time_text(seconds: float) -> str:
    return f"{seconds * 1e3:.3g} ms" if seconds < 1 else f"{seconds:.3g} s"


def color(engine: str, all_engines: list[str]) -> int:
    return COLORS.get(engine, 3 + 2 * all_engines.index(engine))


def engines_of(figure: dict) -> list[str]:
    names: dict[str, None] = {}
    for run in figure["runs"]:
        names |= dict.fromkeys(run["times"])
    return [*names]


def base_of(run: dict) -> float | None:
    """The time to which bars are relative: the graphics path's, or the first engine's."""
    return run["times"].get(OURS, next(iter(run["times"].values()), {})).get("median_s")


def with_extremes(times: dict) -> dict[str, float]:
    seconds = {name: one["median_s"] for name, one in times.items()}
    fixed = [value for name, value in seconds.items() if name.startswith("fixed")]
    return seconds | ({"best fixed": min(fixed), "worst fixed": max(fixed)} if fixed else {})


def judge(claim: dict, runs: list[dict]) -> tuple[str, str]:
    """Whether what was measured agrees, and what that was."""
    if not claim["over"]:
        return "", "not a number of this page"
    by_title = {run["title"]: with_extremes(run["times"]) for run in runs}
    if claim["over"] in by_title and claim["under"] in by_title:
        pairs = [(by_title[claim["over"]].get(OURS), by_title[claim["under"]].get(OURS))]
    else:
        chosen = [with_extremes(run["times"]) for run in runs if claim["of"] in ("", run["name"])]
        pairs = [(seconds.get(claim["over"]), seconds.get(claim["under"])) for seconds in chosen]
    ratios = sorted(over / under for over, under in pairs if over and under)
    if not ratios:
        return "", f"no times of {claim['over']} and {claim['under']} here"
    median = statistics.median(ratios)
    measured = f"{claim['over']} / {claim['under']}: {median:.2f} ({ratios[0]:.2f} … {ratios[-1]:.2f})"
    agrees = claim["least"] <= median <= claim["most"]
    return ("good", f"✓ {measured}") if agrees else ("differs", f"✗ does not agree: {measured}")


def bars(figure: dict, names: list[str]) -> dict:
    rows = []
    for run in figure["runs"]:
        base = base_of(run)
        parts = [[name, run["times"][name]["median_s"] / base, color(name, names)] for name in names if name in run["times"]]
        if parts:
            rows.append({"name": run["title"], "parts": parts})
    return {"kind": "bars", "unit": "×", "stacked": False, "rows": rows, "line": {"value": 1, "name": "1"}}


def phases(figure: dict) -> dict:
    """CPU, GPU and transfer of garuda's own run, as the paper divides them."""
    names = {"partition": 0, "encode": 0, "gather": 0, "upload": 2, "download": 2}
    parts_of = ["CPU", "GPU", "transfer"]
    rows = []
    for run in figure["runs"]:
        sums = [0.0, 0.0, 0.0]
        for phase in run["phases"]:
            sums[names.get(phase["name"], 1)] += phase["ns"] / 1e6
        rows.append({"name": run["title"], "parts": [[part, sums[i], i] for i, part in enumerate(parts_of)]})
    return {"kind": "bars", "unit": "ms", "stacked": True, "rows": rows}


def lines(figure: dict, names: list[str]) -> dict:
    points = {
        name: [[run["x"], run["times"][name]["median_s"] * 1e3, run["title"]] for run in figure["runs"] if name in run["times"]]
        for name in names
    }
    series = [{"name": name, "color": color(name, names), "points": points[name]} for name in names]
    return lines_chart(figure["axis"], 2 if figure["axis"] == "groups" else 0, "ms", series)


def chart_of(figure: dict, names: list[str]) -> dict:
    if figure["kind"] == "phases":
        return phases(figure)
    return lines(figure, names) if figure["kind"] == "lines" else bars(figure, names)


def times_rows(figure: dict, names: list[str]) -> list[list[str]]:
    rows = []
    for run in figure["runs"]:
        base = base_of(run)
        cells = []
        for name in names:
            time = run["times"].get(name)
            cells.append(
                field(f"{time_text(time['median_s'])} ± {time_text(time['mad_s'])}", below=f"{time['median_s'] / base:.2f} ×")
                if time else field("–")
            )
        rows.append([run["title"], *cells])
    return rows


def add_section(drawn: Page, figure: dict) -> None:
    names = engines_of(figure)
    number = figure["number"]
    name = f"Figure {number}" if number[0].isdigit() and number != "6.2" else {"6.2": "§6.2"}.get(number, number)
    drawn.heading(f"{name}: {figure['title']}")
    claims = []
    for claim in figure["claims"]:
        style, measured = judge(claim, figure["runs"])
        claims.append([claim["text"], field(measured, style)])
    drawn.table(["the paper says", "here"], claims)
    for note in figure["notes"]:
        drawn.paragraph(note)
    if not figure["runs"]:
        return
    drawn.chart(caption_of(figure), chart_of(figure, names))
    drawn.table(["", *names], times_rows(figure, names))


def caption_of(figure: dict) -> str:
    if figure["kind"] == "phases":
        return "Time by part, ms"
    if figure["kind"] == "lines":
        return "Time, ms"
    names = engines_of(figure)
    return f"Time over that of {'the graphics path' if OURS in names else names[0]}"


def page(stored: dict) -> str:
    """`stored`: what __main__ writes as JSON."""
    facts = stored["machine"]
    drawn = Page("The papers’ figures, redrawn")
    drawn.paragraph(
        f"{facts['processor']}, {facts['threads']} threads; {', '.join(stored['devices']) or 'no GPU'};"
        f" scale {stored['scale']:g}, {facts['date']}; garuda {stored['version']}", "lead",
    )  # fmt: skip
    drawn.paragraph(
        "Each result was compared with the others before it was timed. Times are end to end in memory; × are times of "
        "the graphics path’s, which is the paper’s GARUDA. The papers ran on an RTX 3080 and an A100; what does not agree "
        "here says what this machine’s devices are good at."
    )
    for figure in stored["figures"]:
        add_section(drawn, figure)
    return drawn.finish("garuda: the papers’ figures")
