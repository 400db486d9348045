"""Interpreters of Debian's other suites, unpacked beside the system's: none is installed, each has its own libraries.

Where they come from is what apt of this machine says of its own archive; its lists stay as they are.
"""

from __future__ import annotations

import os
import pathlib
import re
import shutil
import subprocess

SUITES = ("bullseye", "trixie", "sid")
KEYRING = "/usr/share/keyrings/debian-archive-keyring.gpg"
WHEELS = "/usr/share/python-wheels"  # where pip is that environments get, named by its place in the system
MULTIARCH = {"x86_64": "x86_64-linux-gnu", "aarch64": "aarch64-linux-gnu"}
LOADERS = {"x86_64": "ld-linux-x86-64.so.2", "aarch64": "ld-linux-aarch64.so.1"}


def run(*command: object, **options: object) -> str:
    """The output of a command; a failure quotes it."""
    done = subprocess.run([str(part) for part in command], capture_output=True, text=True, **options)  # type: ignore[call-overload]
    if done.returncode:
        raise RuntimeError(f"{' '.join(map(str, command))} failed:\n{done.stdout}{done.stderr}")
    return str(done.stdout)


def debian_archive() -> str | None:
    """The archive that this machine's packages come from; None where it is no Debian."""
    if shutil.which("apt-get") is None or not pathlib.Path(KEYRING).exists():
        return None
    sites = run("apt-get", "indextargets", "--format", "$(SITE)", "Created-By: Packages", "Label: Debian")
    return next(iter(sites.split()), None)


class Suite:
    """A suite's packages, by lists of its own."""

    def __init__(self, name: str, archive: str, folder: pathlib.Path) -> None:
        self.name, self._folder = name, folder / name
        for part in ("parts", "lists/partial", "cache/archives/partial", "packages"):
            (self._folder / part).mkdir(parents=True, exist_ok=True)
        for made in (folder.parent, folder, self._folder, self._folder / "packages"):
            made.chmod(0o755)  # apt downloads as the user _apt where it may
        (self._folder / "status").touch()  # nothing is installed, so that all that is needed is named
        (self._folder / "parts/suite.sources").write_text(
            f"Types: deb\nURIs: {archive}\nSuites: {name}\nComponents: main\nSigned-By: {KEYRING}\n"
        )
        settings = {
            "Acquire::Retries": 3, "Dir::Etc::SourceList": "/dev/null", "Dir::Etc::SourceParts": self._folder / "parts",
            "Dir::State::Lists": self._folder / "lists", "Dir::Cache": self._folder / "cache",
            "Dir::State::status": self._folder / "status",
        }  # fmt: skip
        self._options = [text for name, value in settings.items() for text in ("-o", f"{name}={value}")]

    def update(self) -> None:
        run("apt-get", *self._options, "update", "--error-on=any")

    def versions(self) -> set[tuple[int, int]]:
        names = run("apt-cache", *self._options, "pkgnames", "python3.").split()
        return {(3, int(found[1])) for name in names if (found := re.fullmatch(r"python3\.(\d+)-venv", name))}

    def unpack(self, packages: list[str], target: pathlib.Path) -> None:
        """Unpacks the packages and the libraries that they need, the C library among them."""
        plan = run("apt-get", *self._options, "install", "--simulate", "--no-install-recommends", *packages)
        needed = {line.split()[1] for line in plan.splitlines() if line.startswith("Inst ")}
        wanted = sorted(name for name in needed if re.match(r"lib|python|zlib1g", name))
        self.unpack_only(wanted, target)

    def unpack_only(self, packages: list[str], target: pathlib.Path) -> None:
        folder = self._folder / "packages"
        run("apt-get", *self._options, "download", *packages, cwd=folder)
        for package in sorted(folder.glob("*.deb")):
            run("dpkg", "-x", package, target)
            package.unlink()


def libc_version(folder: pathlib.Path) -> tuple[int, ...]:
    """Version of the C library that was unpacked there."""
    library = next(path for path in folder.rglob("libc.so.6"))
    found = re.search(rb"stable release version (\d+)\.(\d+)", library.read_bytes())
    if found is None:
        raise RuntimeError(f"a C library that does not say its version: {library}")
    return tuple(map(int, found.groups()))


def bind_libraries(python: pathlib.Path, folder: pathlib.Path, patchelf: pathlib.Path) -> None:
    """Makes the interpreter find the libraries unpacked with it, from any environment made of it.

    A C library newer than the system's is run by its own loader. One that is older stays unused: the system's libraries
    need theirs, so that of the others, too, only those count that the system has not.
    """
    machine = os.uname().machine
    libraries = [path for part in ("lib", "usr/lib") if (path := folder / part / MULTIARCH[machine]).is_dir()]
    system = tuple(map(int, (os.confstr("CS_GNU_LIBC_VERSION") or "").split()[-1].split(".")))
    command: list[object] = [patchelf, "--force-rpath", "--set-rpath", ":".join(map(str, libraries))]
    if libc_version(folder) > system:
        command += ["--set-interpreter", next(path for path in folder.rglob(LOADERS[machine]) if path.exists()).resolve()]
    else:
        for library in (path for place in libraries for path in place.glob("*.so.*")):
            if any((pathlib.Path(place) / MULTIARCH[machine] / library.name).exists() for place in ("/lib", "/usr/lib")):
                library.unlink()
    run(*command, python)


def find_wheels_in(folder: pathlib.Path, library: pathlib.Path) -> None:
    """Makes the standard library find pip's wheel below the folder."""
    files = (library / "ensurepip/__init__.py", *library.glob("_sysconfigdata*.py"), *library.glob("_sysconfig_vars*.json"))
    for file in {file.resolve() for file in files}:  # some are links to others
        file.write_text(file.read_text().replace(WHEELS, str(folder) + WHEELS))


def copy_headers(version: str, folder: pathlib.Path) -> None:
    """Puts the machine's pyconfig.h in the place of the one that includes it from the system's folder."""
    shutil.copy(
        folder / "usr/include" / MULTIARCH[os.uname().machine] / f"python{version}/pyconfig.h",
        folder / f"usr/include/python{version}/pyconfig.h",
    )


def unpack_python(suite: Suite, version: str, target: pathlib.Path, *, headers: bool, patchelf: pathlib.Path) -> pathlib.Path:
    """The interpreter unpacked into the folder, once; with what compiles extensions where headers are asked for."""
    python = target / f"usr/bin/python{version}"
    done = target / "complete"
    if not done.exists() or done.read_text() != str(target):  # its libraries are named by where they are
        shutil.rmtree(target, ignore_errors=True)
        target.mkdir(parents=True)
        suite.unpack([f"python{version}-venv", f"python{version}-minimal"], target)
        find_wheels_in(target, target / f"usr/lib/python{version}")
        bind_libraries(python, target, patchelf)
        done.write_text(str(target))
    if headers and not (target / f"usr/include/python{version}/pyconfig.h").exists():
        suite.unpack_only([f"libpython{version}-dev"], target)
        copy_headers(version, target)
    return python
