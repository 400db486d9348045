"""The table of ratios, and the JSON behind it."""

from __future__ import annotations

import dataclasses

from engines import measure

OURS = "garuda"
# Whose fastest time garuda's is compared with; pyarrow is shown beside them.
RATED = ("DuckDB", "Polars")


@dataclasses.dataclass(frozen=True)
class Target:
    """Bounds of a rival's time over garuda's: the least that is required, and the aim."""

    must: float
    aim: float


def rated(all_series: list[measure.Series]) -> measure.Series | None:
    """The fastest of the rivals that count."""
    candidates = [series for series in all_series if series.engine.name in RATED]
    return min(candidates, key=lambda series: series.median) if candidates else None


def best_forced(all_series: list[measure.Series]) -> measure.Series | None:
    """The fastest of the paths that garuda was made to take."""
    candidates = [series for series in all_series[1:] if series.engine.name == OURS]
    return min(candidates, key=lambda series: series.median) if candidates else None


def ratios(above: measure.Series, below: measure.Series) -> list[float]:
    """The ratio of the two series' runs in each repetition."""
    return [one / other for one, other in zip(above.samples, below.samples)]


def record(name: str, title: str, mode: str, all_series: list[measure.Series], target: Target | None) -> dict:
    ours, rival = all_series[0], rated(all_series)
    engines = [
        {
            "name": series.engine.name,
            "version": series.engine.version,
            "way": series.statistics.get("path", series.way),
            "tried_s": series.tried,
            "median_s": series.median,
            "mad_s": series.mad,
            "samples_s": series.samples,
            "cpu_samples_s": series.cpu_samples,
        }
        for series in all_series
    ]
    fields = {
        "name": name,
        "title": title,
        "mode": mode,
        "rows_out": ours.rows_out,
        "verified": True,
        "engines": engines,
        "statistics": ours.statistics,
        "must": target.must if target else None,
        "aim": target.aim if target else None,
    }
    if rival:
        paired = ratios(rival, ours)
        fields |= {
            "rival": rival.engine.name,
            "ratio": rival.median / ours.median,
            "ratio_least": min(paired),
            "ratio_greatest": max(paired),
        }
    forced = best_forced(all_series)
    if forced:
        paired = ratios(ours, forced)
        fields |= {
            "best_forced": forced.way,
            "regret": ours.median / forced.median,
            "regret_least": min(paired),
            "regret_greatest": max(paired),
        }
    return fields


def time_cell(entry: dict) -> str:
    samples = entry["samples_s"]
    unit, factor, digits = ("ms", 1e3, 1) if entry["median_s"] < 1 else ("s", 1, 2)
    median, mad, least, greatest = (
        f"{value * factor:.{digits}f}" for value in (entry["median_s"], entry["mad_s"], min(samples), max(samples))
    )
    spread = f"{median} ± {mad} {unit} ({least} … {greatest})"
    return spread if [*entry["tried_s"]] == [entry["way"]] else f"{spread}, {entry['way']}"


def ratio_cell(fields: dict, ratio: str) -> str:
    if ratio not in fields:
        return "–"
    return f"**{fields[ratio]:.2f}** ({fields[f'{ratio}_least']:.2f} … {fields[f'{ratio}_greatest']:.2f})"


def target_cell(fields: dict) -> str:
    """Both numbers, and which of them holds."""
    if fields["must"] is None:
        return "–"
    ratio = fields.get("ratio", 0)
    held = "aim" if ratio >= fields["aim"] else "must" if ratio >= fields["must"] else "missed"
    return f"≥ {fields['must']:g} / ≥ {fields['aim']:g}: {held}"


def table(records: list[dict]) -> str:
    """In Markdown, aligned: median ± MAD (least … greatest) of each engine, by its fastest way."""
    engines = records[0]["engines"]
    is_forced = [i > 0 and entry["name"] == OURS for i, entry in enumerate(engines)]
    names = [f"{OURS} {entry['way']}" if forced else entry["name"] for entry, forced in zip(engines, is_forced)]
    regret = ["regret"] * any(is_forced)
    lines = [["work", *names, "rival / garuda", *regret, "must / aim"]]
    for fields in records:
        times = [time_cell(entry) for entry in fields["engines"]]
        ratios_of = [ratio_cell(fields, ratio) for ratio in ("ratio", *regret)]
        lines.append([fields["title"], *times, *ratios_of, target_cell(fields)])
    widths = [max(map(len, column)) for column in zip(*lines)]
    lines.insert(1, ["-" * width for width in widths])
    return "\n".join(f"| {' | '.join(cell.ljust(width) for cell, width in zip(line, widths))} |" for line in lines)
