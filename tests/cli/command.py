"""The garuda command as the tests run it: with one Vulkan driver, or none."""

from __future__ import annotations

import dataclasses
import os
import pathlib
import platform
import signal
import subprocess
import time

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
COMMAND = pathlib.Path(os.environ.get("GARUDA_COMMAND", ROOT / "build/bin/garuda"))
NO_DRIVER = "/nonexistent/no_driver.json"
ICD_FOLDER = pathlib.Path("/usr/share/vulkan/icd.d")
DRIVERS = {
    "lavapipe": [ICD_FOLDER / f"lvp_icd.{platform.machine()}.json", ICD_FOLDER / "lvp_icd.json"],
    "swiftshader": [ROOT / ".deps/swiftshader/vk_swiftshader_icd.json"],
}
SECONDS = 120


@dataclasses.dataclass(frozen=True)
class Garuda:
    """The command in a test's folder, with the manifest of one Vulkan driver and the path that it is told to take."""

    folder: pathlib.Path
    icd: str = NO_DRIVER
    path: str | None = None

    def environment(self) -> dict[str, str]:
        drivers = {"VK_ICD_FILENAMES": self.icd, "VK_DRIVER_FILES": self.icd, "GARUDA_CUDA_PLUGIN": NO_DRIVER}
        return {**os.environ, **drivers}

    def arguments(self, *arguments: object) -> list[str]:
        chosen = ["--path", self.path] if self.path and arguments[0] in ("join", "group-by", "run", "explain") else []
        return [str(COMMAND), *map(str, arguments), *chosen]

    def run(self, *arguments: object, **options: object) -> subprocess.CompletedProcess[str]:
        """Runs in the test's folder; the caller looks at the exit status. `options` are those of subprocess.run."""
        usual = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
        return subprocess.run(
            self.arguments(*arguments),
            cwd=self.folder,
            text=True,
            timeout=SECONDS,
            check=False,
            **{**usual, "env": self.environment(), **options},
        )

    def start(self, *arguments: object, **options: object) -> subprocess.Popen[str]:
        """Starts it in the test's folder. `options` are those of subprocess.Popen."""
        usual = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
        # A hang-up that whoever runs the tests ignores (nohup) would be ignored by the command, too.
        before = signal.signal(signal.SIGHUP, signal.SIG_DFL)
        try:
            return subprocess.Popen(
                self.arguments(*arguments),
                cwd=self.folder,
                env=self.environment(),
                text=True,
                **{**usual, **options},
            )
        finally:
            signal.signal(signal.SIGHUP, before)

    def peak(self, *arguments: object) -> int:
        """Most bytes of anonymous memory that a run, which must succeed, has at a time."""
        most = 0
        with self.start(*arguments) as process:
            while process.poll() is None:
                try:
                    status = pathlib.Path(f"/proc/{process.pid}/status").read_text()
                except OSError:
                    break
                sizes = [int(line.split()[1]) << 10 for line in status.splitlines() if line.startswith("RssAnon")]
                most = max([most, *sizes])
                time.sleep(0.003)
            assert process.wait() == 0, process.communicate()
        return most

    def join(self, *arguments: object) -> subprocess.CompletedProcess[str]:
        """`garuda join` that must succeed."""
        done = self.run("join", *arguments)
        assert done.returncode == 0, done.stderr
        return done

    def group_by(self, *arguments: object) -> subprocess.CompletedProcess[str]:
        """`garuda group-by` that must succeed."""
        done = self.run("group-by", *arguments)
        assert done.returncode == 0, done.stderr
        return done

    def refused(self, status: int, *arguments: object, **options: object) -> str:
        """Runs what must fail with `status` and one sentence; returns the sentence. No output file is left behind."""
        before = sorted(self.folder.iterdir())
        done = self.run(*arguments, **options)
        assert done.returncode == status, done.stderr
        assert sorted(self.folder.iterdir()) == before
        assert done.stdout == ""
        *notes, sentence = lines = done.stderr.splitlines()
        assert all(line.startswith("garuda: ") for line in lines), done.stderr
        # At most: the device and why, that it is a software rasteriser, why not the whole table at once.
        assert len(notes) <= 3, done.stderr
        return sentence


def icd_of(driver: str) -> str:
    for icd in DRIVERS[driver]:
        if icd.exists():
            return str(icd)
    pytest.skip(f"Vulkan driver not installed: {driver}")


def deleted_files(pid: int, folder: pathlib.Path) -> list[pathlib.Path]:
    """Files that a process has open in `folder`, not below, and that have no name."""
    found = []
    for link in pathlib.Path(f"/proc/{pid}/fd").iterdir():
        try:
            target = pathlib.Path(os.readlink(link))
        except OSError:
            continue
        if target.parent == folder and target.name.endswith(" (deleted)"):
            found.append(link)
    return found


def has_written(pid: int, folder: pathlib.Path) -> bool:
    """Whether some of a process's result is in the file that is to have its name in `folder`."""
    return any(path.stat().st_size > 0 for path in [*deleted_files(pid, folder), *folder.glob(".garuda.*.part")])
