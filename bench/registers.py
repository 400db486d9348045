"""Registers, shared memory and scratch memory of every pipeline on AMD's families of GPUs, in Markdown.

Called by `./dev bench registers`. Runs the suites that compile all pipelines on RADV's null devices, which need no GPU
(tests/CMakeLists.txt lists them), and makes tables of what the driver says of the machine code
(VK_KHR_pipeline_executable_properties): a row a path, family and size of subgroups, and a row a pipeline with the most
that any variant takes on any family. Exit status 1 where a suite fails, as it does when code spills or takes scratch
memory; pipelines that may are named in tests/graphics/pipeline_figures.hpp, with a reason.
"""

from __future__ import annotations

import argparse
import collections
import json
import os
import pathlib
import re
import subprocess
import sys
from collections.abc import Callable, Iterable
from typing import NamedTuple

ROOT = pathlib.Path(__file__).resolve().parent.parent
SUITES = r"^(compute|graphics)_pipelines_test\.radv-"
# In the order of their generations, which Mesa names.
GENERATIONS = {
    "tahiti": "GFX6", "hawaii": "GFX7", "polaris10": "GFX8", "vega10": "GFX9", "raven": "GFX9", "renoir": "GFX9",
    "navi10": "GFX10", "navi21": "GFX10.3", "vangogh": "GFX10.3", "gfx1100": "GFX11", "gfx1201": "GFX12",
}  # fmt: skip
SPILLS = "spilled_sgprs", "spilled_vgprs", "scratch_bytes"


class Program(NamedTuple):
    """A program of one pipeline on one null device, as the suites write it."""

    driver: str  # radv-FAMILY[-wave32]
    version: str
    family: str  # of pipelines
    pipeline: str
    program: str  # "Compute Shader", of newer drivers "compute"
    may_spill: str  # why the suites let it; nothing where they do not
    subgroup: int
    sgprs: int
    vgprs: int
    lds_bytes: int
    scratch_bytes: int
    spilled_sgprs: int
    spilled_vgprs: int
    code_bytes: int

    @property
    def gpu(self) -> str:
        return self.driver.split("-")[1]

    @property
    def path(self) -> str:
        return "graphics" if self.family.startswith("graphics") else "compute"

    @property
    def stage(self) -> str:
        return self.program.split()[0].lower()

    @property
    def spills(self) -> bool:
        return any(getattr(self, name) for name in SPILLS)


def read(folder: pathlib.Path) -> list[Program]:
    """The suites' records in a folder, a file each. Raises ValueError where there is nothing, or something else."""
    files = sorted(folder.iterdir()) if folder.is_dir() else []
    try:
        programs = [Program(**json.loads(line)) for file in files for line in file.read_text().splitlines()]
    except (TypeError, json.JSONDecodeError) as error:
        raise ValueError(f"not what a suite writes: {error}") from error
    if not programs:
        raise ValueError(f"no suite has written what pipelines take: {folder}")
    if unknown := {program.gpu for program in programs} - GENERATIONS.keys():
        raise ValueError(f"families without a generation: {', '.join(sorted(unknown))}")
    return programs


def grouped(programs: Iterable[Program], key: Callable[[Program], object]) -> dict:
    groups = collections.defaultdict(list)
    for program in programs:
        groups[key(program)].append(program)
    return dict(sorted(groups.items()))


def most(programs: list[Program], name: str) -> int:
    return max(getattr(program, name) for program in programs)


def table(head: str, rows: Iterable[Iterable[object]]) -> list[str]:
    columns = head.count("|") - 1
    return [head, "|" + "---|" * columns, *("| " + " | ".join(map(str, row)) + " |" for row in rows)]


def family_rows(programs: list[Program]) -> Iterable[tuple]:
    order = list(GENERATIONS)
    for (path, gpu, subgroup), own in grouped(
        programs, lambda one: (one.path, order.index(one.gpu), one.subgroup)
    ).items():
        name = order[gpu]
        version = re.sub(r"[-~+].*", "", own[0].version)
        spills = sum(program.spills for program in own)
        figures = (most(own, figure) for figure in ("sgprs", "vgprs", "lds_bytes", "scratch_bytes", "code_bytes"))
        yield (path, name, GENERATIONS[name], version, subgroup, len(own), *figures, spills)


def pipeline_rows(programs: list[Program]) -> Iterable[tuple]:
    for (family, pipeline, stage), own in grouped(
        programs, lambda one: (one.family, one.pipeline, one.stage)
    ).items():
        widths = grouped(own, lambda one: one.subgroup)
        vgprs = (most(widths[width], "vgprs") if width in widths else "–" for width in (32, 64))
        figures = (most(own, figure) for figure in ("sgprs", "lds_bytes", "scratch_bytes", "code_bytes"))
        yield (family, f"`{pipeline}`", stage, *vgprs, *figures)


def page(programs: list[Program]) -> str:
    spilling = grouped((program for program in programs if program.spills), lambda one: one.may_spill)
    names = {reason: sorted({program.pipeline for program in own}) for reason, own in spilling.items()}
    said = "; ".join(f"`{'`, `'.join(own)}` ({reason or 'which fails'})" for reason, own in names.items()) or "none"
    return "\n".join([
        "# What pipelines take on AMD's GPUs", "",
        "Made by `./dev bench registers --write docs/registers.md`: every pipeline of"
        f" {' and '.join(sorted({program.path for program in programs}))} is compiled by RADV's null devices, on which"
        " nothing runs. A program is a stage of a pipeline in one variant (key widths, sets of aggregates, kinds"
        " of join, …); figures are the most of any. The suites that compile them fail where code spills registers or"
        f" takes scratch memory; of these pipelines do: {said}.", "",
        "## By family", "",
        *table(
            "| path | family | generation | driver | subgroup | programs | SGPRs | VGPRs | LDS, bytes | scratch, bytes"
            " | code, bytes | that spill |",
            family_rows(programs),
        ),
        "", "## By pipeline", "",
        "VGPRs in subgroups of 32 and of 64; the rest over both.", "",
        *table(
            "| of | pipeline | stage | VGPRs, 32 | VGPRs, 64 | SGPRs | LDS, bytes | scratch, bytes | code, bytes |",
            pipeline_rows(programs),
        ), "",
    ])  # fmt: skip


def compile_all(build: pathlib.Path) -> int:
    """Runs the suites; what they wrote before is dropped. Gives the exit status of the runner."""
    for file in (build / "registers").glob("*"):
        file.unlink()
    jobs = os.environ.get("GARUDA_JOBS") or str(os.cpu_count() or 1)
    command = ["ctest", "--test-dir", str(build), "--tests-regex", SUITES, "--parallel", jobs, "--output-on-failure"]
    return subprocess.run([*command, "--no-tests=error"], stdout=sys.stderr, check=False).returncode


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="./dev bench registers", description=__doc__)
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build", help="where the suites are (%(default)s)")
    parser.add_argument("--kept", action="store_true", help="read what the suites wrote last, without running them")
    parser.add_argument("--write", type=pathlib.Path, help="a file for the tables (standard output)")
    options = parser.parse_args(arguments)
    status = 0 if options.kept else compile_all(options.build)
    try:
        programs = read(options.build / "registers")
    except ValueError as error:
        print(f"registers: {error}", file=sys.stderr)
        return 1
    if options.write:
        options.write.write_text(page(programs))
    else:
        print(page(programs), end="")
    spilling = sorted({f"{one.pipeline} on {one.driver}" for one in programs if one.spills and not one.may_spill})
    for name in spilling:
        print(f"registers: spills or takes scratch memory: {name}", file=sys.stderr)
    return 1 if spilling or status else 0


if __name__ == "__main__":
    sys.exit(main())
