"""The table of ratios, and the JSON behind it."""

from __future__ import annotations

import measure
import workloads

# Whose fastest time garuda's is compared with; pyarrow is shown beside them.
RATED = ("DuckDB", "Polars")


def rated(all_series: list[measure.Series]) -> measure.Series | None:
    """The fastest of the rivals that count."""
    candidates = [series for series in all_series if series.engine.name in RATED]
    return min(candidates, key=lambda series: series.median) if candidates else None


def ratios(rival: measure.Series, ours: measure.Series) -> list[float]:
    """Of runs that followed one another."""
    return [theirs / own for theirs, own in zip(rival.samples, ours.samples)]


def record(workload: workloads.Workload, divisor: int, all_series: list[measure.Series]) -> dict:
    ours, rival = all_series[0], rated(all_series)
    engines = [
        {
            "name": series.engine.name,
            "version": series.engine.version,
            "way": series.way,
            "tried_s": series.tried,
            "median_s": series.median,
            "mad_s": series.mad,
            "samples_s": series.samples,
        }
        for series in all_series
    ]
    fields = {
        "name": workload.name,
        "title": workload.title,
        "mode": "end-to-end",
        "tables": workload.bench_arguments(divisor),
        "rows_out": ours.rows_out,
        "verified": True,
        "engines": engines,
        "must": workload.must,
        "aim": workload.aim,
    }
    if rival:
        paired = ratios(rival, ours)
        fields |= {
            "rival": rival.engine.name,
            "ratio": rival.median / ours.median,
            "ratio_least": min(paired),
            "ratio_greatest": max(paired),
        }
    return fields


def seconds(value: float) -> str:
    return f"{value * 1e3:.1f} ms" if value < 1 else f"{value:.2f} s"


def time_cell(entry: dict) -> str:
    samples = entry["samples_s"]
    spread = f"{seconds(entry['median_s'])} ± {seconds(entry['mad_s'])} ({seconds(min(samples))} … {seconds(max(samples))})"
    return spread if entry["name"] in ("garuda", "pyarrow") else f"{spread}, {entry['way']}"


def ratio_cell(fields: dict) -> str:
    if "ratio" not in fields:
        return "–"
    return f"**{fields['ratio']:.2f}** ({fields['ratio_least']:.2f} … {fields['ratio_greatest']:.2f})"


def target_cell(fields: dict) -> str:
    return "–" if fields["must"] is None else f"≥ {fields['must']:g} / ≥ {fields['aim']:g}"


def table(records: list[dict]) -> str:
    """In Markdown: median ± MAD (least … greatest) of each engine, by its fastest way."""
    names = [entry["name"] for entry in records[0]["engines"]]
    lines = [["work", *names, "rival / garuda", "must / aim"]]
    lines.append(["---"] * len(lines[0]))
    for fields in records:
        times = [time_cell(entry) for entry in fields["engines"]]
        lines.append([fields["title"], *times, ratio_cell(fields), target_cell(fields)])
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)
