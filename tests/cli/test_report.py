"""`garuda report`: what its files hold and what they must not, and reports side by side."""

from __future__ import annotations

import copy
import html.parser
import json
import re
import socket
import subprocess
import sys

import jsonschema
import pytest
from command import ROOT, Garuda, icd_of

SCHEMA = json.loads((ROOT / "docs/report.schema.json").read_text())
KEPT = sorted((ROOT / "docs/reports").glob("*.json"))
OWNER = "jane-of-the-machine"
USAGE, BAD_INPUT, NO_DEVICE, REGRESSION = 2, 3, 4, 7


@pytest.fixture(scope="module", params=["none", "lavapipe"])
def made(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[str, Garuda, dict, str]:
    """The driver, the command in the report's folder, the JSON, and what was printed."""
    folder = tmp_path_factory.mktemp("report")
    garuda = Garuda(folder) if request.param == "none" else Garuda(folder, icd_of(request.param))
    home = folder / OWNER
    owned = {**garuda.environment(), "USER": OWNER, "LOGNAME": OWNER, "HOME": str(home), "XDG_CACHE_HOME": str(home)}
    done = garuda.run("report", "--quick", "--seconds", "3", "-o", "one.html", env=owned)
    assert done.returncode == 0, done.stderr
    return request.param, garuda, json.loads((folder / "one.json").read_text()), done.stdout


class Outline(html.parser.HTMLParser):
    """Collects what a page loads, and checks that its tags are closed."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.loads: list[str] = []

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        self.loads += [value or "" for name, value in attributes if name in ("src", "href")]
        if tag not in ("meta", "br"):
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


def test_what_a_report_holds(made):
    driver, garuda, report, printed = made
    jsonschema.validate(report, SCHEMA)
    cells = {cell["id"] for cell in report["cells"]}
    assert "join-16" in cells
    targets = {(r["path"], r["mode"]) for r in report["results"] if r["cell"] == "join-16"}
    on_device = {("graphics", "end-to-end"), ("compute", "end-to-end"), ("compute", "resident")}
    assert targets == {("cpu", "end-to-end")} | (set() if driver == "none" else on_device)
    for cell in cells:
        assert len({r["digest"] for r in report["results"] if r["cell"] == cell}) == 1
    for result in report["results"]:
        assert result["samples"] == sum(visit["samples"] for visit in result["visits"])
        assert result["min_ns"] <= min(visit["median_ns"] for visit in result["visits"])
    assert any("no Vulkan device" in one["reason"] for one in report["left_out"]) == (driver == "none")
    assert all(plan["regret"] is None or plan["regret"] >= 1 for plan in report["plans"])
    (line,) = printed.splitlines()
    assert line.startswith("| garuda ") and "same bits" in line and line.endswith("|")
    assert (garuda.folder / "one.json").stat().st_size < 200 << 10


@pytest.mark.parametrize("file", KEPT, ids=lambda file: file.stem)
def test_kept_reports_are_of_the_schema(file):
    jsonschema.validate(json.loads(file.read_text()), SCHEMA)
    assert file.stat().st_size < 200 << 10 and f"| {file.name} |" in (file.parent / "README.md").read_text()


def test_readme_has_the_table_of_the_kept_reports():
    script = ROOT / "docs/reports/device_table.py"
    table = subprocess.run([sys.executable, script], check=True, capture_output=True, text=True).stdout
    assert table.count("\n") == 2 + len(KEPT)
    assert table in (ROOT / "README.md").read_text()


def test_a_machine_without_a_device_or_a_loader(garuda):
    (loader := garuda.folder / "no-loader").mkdir()
    for name in ("libvulkan.so", "libvulkan.so.1"):
        (loader / name).write_text("no library")
    for folder in (None, loader):
        environment = {**garuda.environment(), **({"LD_LIBRARY_PATH": str(folder)} if folder else {})}
        done = garuda.run("report", "--quick", "--seconds", "1", env=environment)
        assert done.returncode == 0, done.stderr
        assert "garuda: left out: no Vulkan device was found: everything but the CPU path needs one\n" in done.stderr
        report = json.loads((garuda.folder / "garuda-report.json").read_text())
        assert report["devices"] == [] and {r["path"] for r in report["results"]} == {"cpu"}


def test_every_cell_is_measured_or_left_out(made):
    _, _, report, _ = made
    told = {cell["id"] for cell in report["cells"]} | {one["cell"] for one in report["left_out"]}
    assert {f"{op}-{power}" for op in ("join", "group") for power in (16, 18, 20, 22, 24)} <= told


def test_the_page_says_what_was_visited_once(made):
    _, garuda, report, _ = made
    once = sum(len(result["visits"]) == 1 for result in report["results"])
    sentence = f"{once} of {len(report['results'])} were measured once" if once else "Each was measured twice"
    assert sentence in (garuda.folder / "one.html").read_text()


def test_the_page_needs_nothing_else(made):
    _, garuda, report, _ = made
    text = (garuda.folder / "one.html").read_text()
    page = Outline()
    page.feed(text)
    assert page.open == [] and page.loads == []
    assert not re.search(r"https?://(?!www\.w3\.org/2000/svg)", text)
    assert "prefers-color-scheme: dark" in text and "@media print" in text and "<noscript>" in text
    for result in report["results"]:
        assert result["digest"] in text


def test_files_do_not_say_whose_machine_it_is(made):
    _, garuda, _, _ = made
    text = "".join((garuda.folder / name).read_text() for name in ("one.html", "one.json"))
    for secret in (OWNER, socket.gethostname(), str(garuda.folder), str(ROOT), "/nonexistent", "/home/"):
        assert len(secret) < 4 or secret not in text
    assert not re.search(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-", text)
    assert not re.search(r"(?<![0-9]:)\b[0-9a-f]{32}\b", text)


def test_only_what_was_asked_for(garuda):
    done = garuda.run("report", "--path", "cpu", "--seconds", "1", "--quiet")
    assert done.returncode == 0 and done.stderr == ""
    report = json.loads((garuda.folder / "garuda-report.json").read_text())
    assert {r["path"] for r in report["results"]} == {"cpu"} and report["devices"] == []
    assert not any(one["cell"] is None and "Vulkan" in one["reason"] for one in report["left_out"])


@pytest.mark.parametrize(
    ("status", "arguments"),
    [
        (USAGE, ["--path", "auto"]),
        (USAGE, ["--path", "sideways"]),
        (USAGE, ["--quick", "--full"]),
        (USAGE, ["--seconds", "0"]),
        (USAGE, ["-o", "page.pdf"]),
        (USAGE, ["surplus"]),
        (USAGE, ["compare", "one.json"]),
        (NO_DEVICE, ["--path", "graphics"]),
        (NO_DEVICE, ["--device", "0"]),
        (5, ["-o", "missing/page.html"]),
        (BAD_INPUT, ["compare", "missing.json", "missing.json"]),
    ],
)
def test_wrong_arguments(garuda, status, arguments):
    garuda.refused(status, "report", *arguments)


def a_report(**changes: object) -> dict:
    """A report as small as can be compared, of two cells."""
    result = dict(
        cell="join-20", path="compute", mode="end-to-end", device=0, median_ns=8_000_000, mad_ns=20_000, min_ns=7_900_000, max_ns=8_300_000, samples=5, rows_per_s=2.6e8,
        share=0.5, ceiling="bus", visits=[dict(median_ns=8_000_000, mad_ns=20_000, samples=5)], digest="5:" + "0" * 32,
    )
    cell = dict(id="join-20", title="join 2^20 ⋈ 2^20", series="growth", op="join", rows=2 << 20)
    report = dict(
        format="garuda report", format_version=2, suite=1, garuda="0.1.0", date="2026-11-01", host={"processor": "P"},
        devices=[{"name": "<b>GPU</b>"}], cells=[cell, {**cell, "id": "join-22"}],
        results=[result, {**result, "cell": "join-22"}, {**result, "path": "cpu", "device": None}],
    )
    return {**copy.deepcopy(report), **changes}


def timed(result: dict, **times: int) -> None:
    """Gives a result other times, and its only visit the same."""
    result.update(times)
    result["visits"] = [{name: result[name] for name in ("median_ns", "mad_ns", "samples")}]


def slower_by(result: dict, times: float) -> None:
    """Makes a result slower, each visit alike."""
    for one in (result, *result.get("visits", [])):
        one.update({name: round(times * one[name]) for name in one if name in ("median_ns", "mad_ns", "min_ns", "max_ns")})


@pytest.fixture
def compared(garuda):
    def run(*reports: dict, arguments: tuple = ()) -> object:
        names = [f"report{i}.json" for i in range(len(reports))]
        for name, report in zip(names, reports):
            (garuda.folder / name).write_text(json.dumps(report))
        return garuda.run("report", "compare", *names, *arguments)

    return run


def test_compare_finds_a_slower_cell_and_other_bits(compared, garuda):
    other = a_report()
    timed(other["results"][0], median_ns=9_600_000, min_ns=9_500_000, max_ns=9_900_000)
    other["results"][1]["digest"] = "5:" + "1" * 32
    done = compared(a_report(), other, arguments=("-o", "both.html"))
    assert done.returncode == 0, done.stderr
    assert "0 faster and 1 slower" in done.stdout and "1 with other bits" in done.stdout
    assert "+20 %" in done.stdout and "**other bits**: join 2^20" in done.stdout
    page = (garuda.folder / "both.html").read_text()
    assert "OTHER BITS" in page and "▼" in page and "<b>GPU" not in page and "&lt;b&gt;GPU" in page
    failed = compared(a_report(), other, arguments=("--regression", "15"))
    assert failed.returncode == REGRESSION and failed.stderr.count("garuda: ") == 2
    other["results"][1]["digest"] = "5:" + "0" * 32
    assert compared(a_report(), other, arguments=("--regression", "25")).returncode == 0


@pytest.mark.parametrize("file", KEPT, ids=lambda file: file.stem)
def test_compare_finds_what_is_doctored_in_a_kept_report(compared, file):
    report = json.loads(file.read_text())
    doctored = copy.deepcopy(report)
    digest = doctored["results"][-1]["digest"]
    doctored["results"][-1]["digest"] = digest[:-1] + ("1" if digest[-1] == "0" else "0")
    done = compared(report, doctored, arguments=("--regression", "15"))
    assert done.returncode == REGRESSION and "0 slower" in done.stdout and "1 with other bits" in done.stdout
    slower = copy.deepcopy(report)
    long_ones = [result for result in slower["results"] if result["median_ns"] > 1_000_000]
    steady = min(long_ones, key=lambda result: (result["max_ns"] - result["min_ns"]) / result["median_ns"])
    slower_by(steady, 3)
    assert "0 faster and 1 slower" in compared(report, slower).stdout
    assert "0 faster and 0 slower" in compared(report, report).stdout


def without_visits(report: dict) -> dict:
    """The report as format 1 has it."""
    results = [{name: value for name, value in result.items() if name != "visits"} for result in report["results"]]
    return {**report, "format_version": 1, "results": results}


def visited_twice(report: dict, drift: float) -> dict:
    """The report as if the time had allowed all second visits, slower by `drift` than the first."""
    twice = copy.deepcopy(report)
    for result in twice["results"]:
        first = result["visits"][0]
        second = {**first, "median_ns": round(first["median_ns"] * (1 + drift))}
        median = (first["median_ns"] + second["median_ns"]) // 2
        result.update(visits=[first, second], median_ns=median, samples=2 * first["samples"])
        result.update(min_ns=min(result["min_ns"], median), max_ns=max(result["max_ns"], median))
    return twice


def test_compare_finds_what_is_doctored_in_a_report_of_today(compared, made):
    report = visited_twice(made[2], 0.01)
    jsonschema.validate(report, SCHEMA)
    same = compared(report, copy.deepcopy(report), arguments=("--regression", "0"))
    assert same.returncode == 0 and "0 faster and 0 slower" in same.stdout and "0 with other bits" in same.stdout
    assert "drift" not in same.stdout
    doctored = copy.deepcopy(report)
    longest = max(doctored["results"], key=lambda result: result["median_ns"])
    for result in (longest, max(report["results"], key=lambda result: result["median_ns"])):
        result["visits"] = [{**visit, "mad_ns": visit["median_ns"] // 200} for visit in result["visits"]]
    slower_by(longest, 1.2)
    assert "0 faster and 1 slower" in compared(report, doctored).stdout
    assert "1 faster and 0 slower" in compared(doctored, report).stdout
    drifting = [visited_twice(made[2], 0.2), visited_twice(made[2], 0.2)]
    slower_by(max(drifting[1]["results"], key=lambda result: result["median_ns"]), 1.3)
    assert "0 faster and 0 slower" in compared(*drifting).stdout
    digest = doctored["results"][0]["digest"]
    doctored["results"][0]["digest"] = digest[:-1] + ("1" if digest[-1] == "0" else "0")
    assert "other bits" in compared(report, doctored, arguments=("--regression", "50")).stderr


def test_compare_reads_format_1_and_says_what_it_lacks(compared, garuda):
    old = without_visits(a_report())
    slower = a_report()
    timed(slower["results"][0], median_ns=9_600_000, min_ns=9_500_000, max_ns=9_900_000)
    for reports in ((old, slower), (a_report(), without_visits(slower)), (old, without_visits(slower))):
        done = compared(*reports, arguments=("-o", "both.html"))
        assert done.returncode == 0 and "0 faster and 1 slower" in done.stdout
        names = ", ".join(f"report{i}" for i in range(2) if reports[i]["format_version"] == 1)
        assert f"drift of the machine is not in their noise: {names}." in done.stdout
        assert "drift of the machine" in (garuda.folder / "both.html").read_text()


def test_noise_is_no_change(compared):
    other = a_report()
    timed(other["results"][0], median_ns=9_600_000, mad_ns=800_000)
    timed(other["results"][1], median_ns=9_600_000, max_ns=9_900_000)
    done = compared(a_report(), other, a_report(), arguments=("--regression", "0"))
    assert done.returncode == 0 and "0 faster and 0 slower" in done.stdout


def test_what_cannot_be_compared(compared):
    def sentence(other: dict) -> str:
        done = compared(a_report(), other)
        assert done.returncode == BAD_INPUT and done.stdout == ""
        return done.stderr

    assert "suite 1, report1 of 2" in sentence(a_report(suite=2))
    assert "format_version is neither 1 nor 2" in sentence(a_report(format_version=9))
    assert "not a garuda report" in sentence({"format": "something"})
    assert "no cell in common" in sentence(a_report(results=[]))
    (result, *_) = a_report()["results"]
    unvisited = {name: value for name, value in result.items() if name != "visits"}
    for visits in ([], [{}], None):
        assert "damaged" in sentence(a_report(results=[{**result, "visits": visits}]))
    assert "damaged" in sentence(a_report(results=[unvisited]))
    for damage in (dict(results=[{}]), dict(cells=[]), dict(devices=[]), dict(host=None), dict(suite="one")):
        assert "damaged" in sentence(a_report(**damage))


def test_a_report_that_is_cut_short(made):
    _, garuda, _, _ = made
    (garuda.folder / "cut.json").write_text((garuda.folder / "one.json").read_text()[:1000])
    assert "cut short" in garuda.refused(BAD_INPUT, "report", "compare", "one.json", "cut.json")
    same = garuda.run("report", "compare", "one.json", "one.json", "--regression", "0")
    assert same.returncode == 0 and "0 with other bits" in same.stdout
