"""Builds wheels on the library in build/wheel/prefix and tries each in a bare environment (`./dev wheel`).

    python python/build_wheels.py --reader FILE [--plugin FILE] [--all | PYTHON...]

Below 3.12 a version has a wheel of its own; from there on one serves all, built by the oldest that is there. --all takes
every supported version that the machine has, or that can be unpacked from Debian's other suites. --reader is the reader
of Parquet files, which wheels carry whose versions can have the pyarrow that it is linked against.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import os
import pathlib
import platform
import shutil
import subprocess
import sys
from collections.abc import Iterable
from typing import NamedTuple

import unpacked_pythons
from unpacked_pythons import run

ROOT = pathlib.Path(__file__).resolve().parents[1]
WORK = ROOT / "build/wheel"
DIST = ROOT / "build/dist"
REQUIREMENTS = ROOT / "python/requirements-wheel.txt"
ICD_FOLDER = pathlib.Path("/usr/share/vulkan/icd.d")
LIMIT_MB = 25.0  # of a wheel without CUDA
LEFT_OUT = "-"

Version = tuple[int, int]
OLDEST: Version = (3, 9)  # pyproject.toml: requires-python
STABLE: Version = (3, 12)  # pyproject.toml: wheel.py-api
NEWEST: Version = (3, 15)
READING: Version = (3, 11)  # pyproject.toml: the oldest with the pyarrow that the reader needs
ARROW = ("libarrow.so.*", "libparquet.so.*")  # the user's pyarrow brings these


class Wheel(NamedTuple):
    """One wheel: its tag, the version that builds it, the versions that it is tried with."""

    tag: str
    builder: Version
    users: tuple[Version, ...]


def tag_of(version: Version) -> str:
    """Interpreter and ABI, as in the wheel's name."""
    if version >= STABLE:
        return f"cp{STABLE[0]}{STABLE[1]}-abi3"
    return f"cp{version[0]}{version[1]}-cp{version[0]}{version[1]}"


def wheels_for(versions: Iterable[Version]) -> list[Wheel]:
    """The wheels that serve these versions, each built by its oldest: what that has later ones have, too."""
    users: dict[str, list[Version]] = {}
    for version in sorted(set(versions)):
        if version < OLDEST:
            raise ValueError(f"Python older than {text_of(OLDEST)}: {text_of(version)}")
        users.setdefault(tag_of(version), []).append(version)
    return [Wheel(tag, some[0], tuple(some)) for tag, some in users.items()]


def missing_of(versions: Iterable[Version]) -> list[Version]:
    """Supported versions that are not among these."""
    return sorted({(3, minor) for minor in range(OLDEST[1], NEWEST[1] + 1)} - set(versions))


def text_of(version: Version) -> str:
    return f"{version[0]}.{version[1]}"


# --- interpreters -------------------------------------------------------------------------------------------------------


def version_of(python: str) -> Version | None:
    """Version of an interpreter; None where it is no Python that makes environments."""
    code = "import ensurepip, sys, venv; print(*sys.version_info[:2])"
    done = subprocess.run([python, "-c", code], capture_output=True, text=True)
    if done.returncode:
        return None
    major, minor = map(int, done.stdout.split())
    return major, minor


def named_pythons(names: list[str]) -> dict[Version, str]:
    found: dict[Version, str] = {}
    for name in names:
        path = shutil.which(name)
        version = version_of(path) if path else None
        if path is None or version is None:
            raise SystemExit(f"error: no Python that makes environments: {name}")
        found[version] = path
    return found


def system_pythons() -> dict[Version, str]:
    found = {sys.version_info[:2]: sys.executable}
    for version in missing_of(found):
        path = shutil.which(f"python{text_of(version)}")
        if path and version_of(path) == version:
            found[version] = path
    return found


def unpacked_suites(missing: set[Version]) -> dict[Version, unpacked_pythons.Suite]:
    """The first of Debian's suites that has each missing version."""
    archive = unpacked_pythons.debian_archive()
    if archive is None:
        print("Debian's other suites: left out, apt of this machine knows no archive of Debian")
        return {}
    found: dict[Version, unpacked_pythons.Suite] = {}
    for name in unpacked_pythons.SUITES:
        suite = unpacked_pythons.Suite(name, archive, ROOT / ".deps/pythons-work")
        try:
            suite.update()
        except RuntimeError as error:
            print(f"Debian's {name}: left out, its lists cannot be had: {str(error).strip().splitlines()[-1]}")
            continue
        for version in (suite.versions() & missing) - found.keys():
            found[version] = suite
    return found


def all_pythons() -> dict[Version, str]:
    found = system_pythons()
    suites = unpacked_suites(set(missing_of(found)))
    builders = {wheel.builder for wheel in wheels_for([*found, *suites])}
    for version, suite in sorted(suites.items()):
        name = text_of(version)
        folder = ROOT / ".deps" / f"python-{name}"
        found[version] = str(unpacked_pythons.unpack_python(
            suite, name, folder, headers=version in builders, patchelf=tools() / "patchelf"))  # fmt: skip
        print(f"Python {name}: unpacked from Debian's {suite.name}", flush=True)
    for version in missing_of(found):
        print(f"Python {text_of(version)}: left out, neither the machine nor Debian's {', '.join(unpacked_pythons.SUITES)} has it")
    return found


# --- build --------------------------------------------------------------------------------------------------------------


def make_environment(python: str, folder: pathlib.Path) -> pathlib.Path:
    shutil.rmtree(folder, ignore_errors=True)
    run(python, "-m", "venv", folder)
    return folder / "bin"


def tools() -> pathlib.Path:
    """The programs that look at wheels: one environment for all of them, kept while its requirements are the same."""
    folder, kept = WORK / "tools", WORK / "tools/requirements.txt"
    if not kept.exists() or kept.read_text() != REQUIREMENTS.read_text():
        run(make_environment(sys.executable, folder) / "pip", "install", "--requirement", REQUIREMENTS)
        shutil.copy(REQUIREMENTS, kept)
    return folder / "bin"


def libraries_of(wheel: Wheel, reader: str, plugin: str) -> list[str]:
    """The libraries that lie beside the extension."""
    return [*([reader] if wheel.builder >= READING else []), *([plugin] if plugin else [])]


def build(wheel: Wheel, python: str, libraries: list[str]) -> pathlib.Path:
    """The wheel as others can install it, in build/dist."""
    work = WORK / wheel.tag
    shutil.rmtree(work, ignore_errors=True)
    programs = make_environment(python, work / "environment")
    run(programs / "pip", "install", "build")
    run(programs / "python", "-m", "build", "--wheel", "--outdir", work, "-C", "cmake.source-dir=python",
        "-C", f"build-dir={work}/build", "-C", f"cmake.define.CMAKE_PREFIX_PATH={WORK}/prefix",
        "-C", f"cmake.define.GARUDA_PACKAGE_LIBRARIES={';'.join(libraries)}", cwd=ROOT)  # fmt: skip
    # Libraries that are older elsewhere go into the wheel; its name says which systems are new enough for the rest.
    repaired = work / "repaired"
    run(tools() / "auditwheel", "repair", *(f"--exclude={name}" for name in ARROW), "--wheel-dir", repaired, *work.glob("*.whl"),
        env={**os.environ, "PATH": f"{tools()}:{os.environ['PATH']}"})  # fmt: skip
    (made,) = repaired.glob("*.whl")
    if f"-{wheel.tag}-" not in made.name:
        raise RuntimeError(f"{made.name} is not the wheel that was asked for: {wheel.tag}")
    if wheel.builder >= STABLE:
        run(tools() / "abi3audit", "--strict", made)
    DIST.mkdir(parents=True, exist_ok=True)
    return made.replace(DIST / made.name)


# --- tries --------------------------------------------------------------------------------------------------------------


@dataclasses.dataclass
class Try:
    """A wheel in a bare environment of one version."""

    version: Version
    wheel: str
    megabytes: float
    cpu: str
    lavapipe: str
    parquet: str

    def problems(self, limit_mb: float | None) -> list[str]:
        about = f"{self.wheel} in Python {text_of(self.version)}"
        outcomes = {"cpu": self.cpu, "lavapipe": self.lavapipe, "parquet": self.parquet}
        found = [f"{about}, {name}: {said}" for name, said in outcomes.items() if said not in ("yes", LEFT_OUT)]
        if limit_mb is not None and self.megabytes > limit_mb:
            found.append(f"{about}: more than {limit_mb:g} MB: {self.megabytes:.1f}")
        return found


def lavapipe_icd() -> pathlib.Path:
    names = (f"lvp_icd.{platform.machine()}.json", "lvp_icd.json")
    icd = next((path for name in names if (path := ICD_FOLDER / name).exists()), None)
    if icd is None:
        raise RuntimeError(f"lavapipe is not installed: no {' or '.join(names)} in {ICD_FOLDER}")
    return icd


def try_wheel(wheel: pathlib.Path, version: Version, python: str, plugin: str) -> Try:
    folder = WORK / "bare" / text_of(version)
    programs = make_environment(python, folder)
    run(programs / "pip", "install", "--no-index", "--no-deps", wheel)
    options = ["--plugin"] if plugin else []
    said = json.loads(try_installed(programs, *options))
    parquet = try_parquet(wheel, version, programs)
    return Try(version, wheel.name, wheel.stat().st_size / 1e6, said["cpu"], said["lavapipe"], parquet)


def try_installed(programs: pathlib.Path, *options: str) -> str:
    folder = programs.parent
    environment = {"PATH": str(programs), "HOME": str(folder), "VK_DRIVER_FILES": str(lavapipe_icd()), "GARUDA_CALIBRATION": "off"}
    # -I: the package that is installed, not the sources beside the script.
    return run(programs / "python", "-I", ROOT / "python/try_installed.py", *options, cwd=folder, env=environment)


def try_parquet(wheel: pathlib.Path, version: Version, programs: pathlib.Path) -> str:
    """A query over a Parquet file once the wheel's extra `sql` is installed, too. It is left out for versions that the
    reader is not made for, and for those that DataFusion or pyarrow have no wheels for yet."""
    if version < READING:
        return LEFT_OUT
    try:
        run(programs / "pip", "install", "--only-binary", ":all:", f"{wheel}[sql]")
    except RuntimeError as error:
        if "No matching distribution found" not in str(error):
            raise
        print(f"Python {text_of(version)}: no query over a file, for pip finds not all of garuda[sql]", flush=True)
        return LEFT_OUT
    return str(json.loads(try_installed(programs, "--parquet"))["parquet"])


def table(tries: list[Try]) -> str:
    rows = [("Python", "wheel", "MB", "cpu", "lavapipe", "parquet")]
    rows += [(text_of(it.version), it.wheel, f"{it.megabytes:.1f}", it.cpu, it.lavapipe, it.parquet) for it in tries]
    widths = [max(map(len, column)) for column in zip(*rows)]
    return "\n".join("  ".join(cell.ljust(width) for cell, width in zip(row, widths)).rstrip() for row in rows)


def main() -> int:
    parser = argparse.ArgumentParser(prog="./dev wheel")
    parser.add_argument("--reader", required=True)
    parser.add_argument("--plugin", default="")
    parser.add_argument("--all", action="store_true")
    parser.add_argument("pythons", nargs="*", metavar="PYTHON")
    arguments = parser.parse_args()
    if arguments.all and arguments.pythons:
        parser.error("--all leaves no interpreter to be named")
    pythons = all_pythons() if arguments.all else named_pythons(arguments.pythons or [sys.executable])
    tries: list[Try] = []
    for wheel in wheels_for(pythons):
        made = build(wheel, pythons[wheel.builder], libraries_of(wheel, arguments.reader, arguments.plugin))
        print(f"built by {text_of(wheel.builder)}: {made.relative_to(ROOT)}", flush=True)
        tries += [try_wheel(made, user, pythons[user], arguments.plugin) for user in wheel.users]
    print(table(tries))
    problems = [problem for it in tries for problem in it.problems(None if arguments.plugin else LIMIT_MB)]
    for problem in problems:
        print(f"error: {problem}", file=sys.stderr)
    return 1 if problems else 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except RuntimeError as error:
        sys.exit(f"error: {error}")
