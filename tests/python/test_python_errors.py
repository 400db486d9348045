"""Every class of error, from the calls that raise it."""

from __future__ import annotations

import importlib.util
import pathlib
import re
import subprocess
import sys
import threading
from typing import Any

import garuda
import numpy
import pytest
from package import LAVAPIPE, NO_FILE, environment
from garuda import errors

T = {"a": [1, 2], "s": ["x", "y"]}
BIG = 2**63 - 1


@pytest.mark.parametrize(
    ("call", "error", "builtin", "words"),
    [
        (lambda: garuda.join(T, T, on="z"), garuda.ColumnNotFoundError, KeyError, "z"),
        (lambda: garuda.join(T, T, on="a", columns=["left.z"]), garuda.ColumnNotFoundError, KeyError, "z"),
        (lambda: garuda.group_by(T, "z").agg(), garuda.ColumnNotFoundError, KeyError, "z"),
        (lambda: garuda.group_by(T, "a").agg(("z", "sum")), garuda.ColumnNotFoundError, KeyError, "z"),
        (lambda: garuda.group_by(T).agg(("a", "covar", "z")), garuda.ColumnNotFoundError, KeyError, "z"),
        (lambda: garuda.join(T, T, on="a", how="outer"), garuda.UsageError, ValueError, "full"),
        (lambda: garuda.join(T, T, on="a", path="gpu"), garuda.UsageError, ValueError, "graphics"),
        (lambda: garuda.join(T, T, on="a", tuning={"speed": "high"}), garuda.UsageError, ValueError, "speed"),
        (lambda: garuda.join(T, T, on="a", tuning=3), garuda.UsageError, ValueError, "tuning must be .* 3"),
        (lambda: garuda.join(T, T, on="a", path=None), garuda.UsageError, ValueError, "path must be a str: None"),
        (lambda: garuda.Engine(threads=1.5), garuda.UsageError, ValueError, "threads must be an int or None: 1.5"),
        (lambda: garuda.join(T, T, on="a", left_on="a"), garuda.UsageError, ValueError, "left_on"),
        (lambda: garuda.join(T, T, left_on=["a", "s"], right_on="a"), garuda.UsageError, ValueError, "as many"),
        (lambda: garuda.join(T, T, on="a", columns=["a"]), garuda.UsageError, ValueError, "left."),
        (lambda: garuda.join(T, T, on="a", memory_limit="lots"), garuda.UsageError, ValueError, "lots"),
        (lambda: garuda.join(T, T, on="a", memory_limit=-1), garuda.UsageError, ValueError, "-1"),
        (lambda: garuda.join(T, T, on="a", threads=-1), garuda.UsageError, ValueError, "-1"),
        (lambda: garuda.join(T, T, on=("a", "s")), garuda.InvalidInputError, ValueError, "int64"),
        (lambda: garuda.group_by({"a": [BIG, 1]}).agg(("a", "sum")), garuda.InvalidInputError, ValueError, "beyond"),
        (lambda: garuda.group_by(T).agg(("s", "sum")), garuda.InvalidInputError, ValueError, "s"),
        (lambda: garuda.join(T, T, on="a", path="cuda"), garuda.NoDeviceError, RuntimeError, "cuda"),
        (lambda: garuda.join(T, T, on="a", path="compute", device="none such"), garuda.NoDeviceError, RuntimeError, "none"),
        (lambda: garuda.devices(cuda=True), garuda.NoDeviceError, RuntimeError, "plug-in"),
    ],
)  # fmt: skip
def test_errors_of_calls(call, error: type[garuda.Error], builtin: type[Exception], words: str) -> None:
    with pytest.raises(error, match=words) as raised:
        call()
    assert isinstance(raised.value, builtin) and isinstance(raised.value, garuda.Error)
    assert str(raised.value).startswith(raised.value.message) and "\n" not in raised.value.message


def test_batches_of_a_stream_keep_within_a_limit() -> None:
    pyarrow = pytest.importorskip("pyarrow")
    limit, rows = 16 << 20, 60
    text = pyarrow.array(["x" * ((1 << 20) - i) for i in range(rows)])
    lists = pyarrow.ListArray.from_arrays(numpy.arange(rows + 1, dtype="int32"), text)
    structs = pyarrow.StructArray.from_arrays([text, lists], ["text", "lists"])
    keys = {"k": list(range(rows))}
    engine = garuda.Engine(path="cpu", memory_limit=limit)
    streams = [engine.join_stream({**keys, "v": values}, keys, on="k") for values in (text, lists, structs)]
    grouped = engine.group_by({**keys, "text": text}, "k")
    streams += [grouped.stream(("text", how)) for how in ("max", "first")]
    for stream in streams:
        batches = list(pyarrow.RecordBatchReader.from_stream(stream))
        assert sum(batch.num_rows for batch in batches) == rows
        assert max(batch.get_total_buffer_size() for batch in batches) < limit


def test_a_limit_that_cannot_be_kept() -> None:
    big = {"a": range(300_000)}
    with pytest.raises(garuda.LimitExceededError) as raised:
        garuda.join(big, big, on="a", memory_limit="64KiB", path="cpu")
    assert isinstance(raised.value, MemoryError)


ASK_FOR_A_PATH = """
import sys, garuda
T = {"a": [1, 2]}
engine = garuda.Engine(path=sys.argv[1])
for call in (lambda: engine.join(T, T, on="a"), lambda: engine.group_by(T, "a").agg("count")):
    try:
        call()
    except garuda.NoDeviceError as error:
        print(error)
assert garuda.join(T, T, on="a").to_pydict() == T
"""


@pytest.mark.parametrize("path", ["graphics", "compute", "cuda"])
@pytest.mark.parametrize("lacks", ["driver", "loader"])
def test_a_path_says_what_the_machine_lacks(path: str, lacks: str, tmp_path: pathlib.Path) -> None:
    """A query that names no path runs on the CPU where there is no device."""
    variables = environment(VK_ICD_FILENAMES=NO_FILE, VK_DRIVER_FILES=NO_FILE)
    words = "no Vulkan (driver|device) on this machine"  # some loaders make an instance without a driver
    if lacks == "loader":
        for name in ("libvulkan.so", "libvulkan.so.1"):
            (tmp_path / name).write_text("no library")
        variables["LD_LIBRARY_PATH"] = str(tmp_path)
        words = r"no Vulkan loader on this machine \(libvulkan\.so\.1 was not found\)"
    if path == "cuda":
        words = f"the CUDA plug-in cannot be loaded: {NO_FILE}.*"
    done = subprocess.run([sys.executable, "-c", ASK_FOR_A_PATH, path], env=variables, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert len(lines) == 2
    for line in lines:
        assert re.fullmatch(f"the {path} path cannot run: {words}", line)


def test_options_that_are_unknown() -> None:
    with pytest.raises(TypeError, match="ordred"):
        garuda.group_by(T, "a", ordred=True)


def test_options_that_are_none() -> None:
    """None stands for the default wherever an option has none of its own."""
    engine = garuda.Engine(None, tuning=None, memory_limit=None, threads=None, device_memory_limit=None)
    assert engine.join(T, T, on="a", tuning=None, device=None, memory_limit=None, threads=None).to_pydict()["a"] == [1, 2]
    assert garuda.group_by(T, "a", tuning=None).agg("count").to_pydict()["count"] == [1, 1]
    assert engine.path == "auto" and garuda.Engine(path="cpu").path == "cpu" and "tuning" not in repr(engine)


@pytest.mark.parametrize("kind", sorted(errors._CLASSES))
def test_every_kind_has_a_class(kind: str) -> None:
    error = errors.of_kind(kind, "it broke", ["a cause"])
    assert isinstance(error, garuda.Error) and str(error) == "it broke: a cause"
    assert error.message == "it broke" and error.causes == ("a cause",)
    assert type(error).__name__ in garuda.__all__


def test_progress_and_its_end() -> None:
    big = {"a": range(500_000)}
    seen: list[garuda.Progress] = []
    garuda.join(big, big, on="a", progress=seen.append, path="cpu")
    assert seen and all(isinstance(event, garuda.Progress) and event.phase for event in seen)

    with pytest.raises(ZeroDivisionError):
        garuda.join(big, big, on="a", progress=lambda progress: 1 // 0, path="cpu")

    cross = {"a": range(200_000)}

    def stopped(answer: Any) -> None:
        with pytest.raises(garuda.CancelledError):
            garuda.join_count(cross, cross, where="left.a <> right.a", progress=lambda progress: answer, path="cpu")

    for answer in (False, numpy.False_, numpy.bool_(0), 0):
        stopped(answer)
    thread = threading.Thread(target=stopped, args=(False,))
    thread.start()
    thread.join(30)
    assert not thread.is_alive()


def test_progress_bars(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """Progress is shown by tqdm and rich where they are installed, else by a line in a terminal."""
    from garuda import _progress

    big = garuda.table({"a": range(1_000_000)})

    def drawn() -> str:
        assert len(garuda.join(big, big, on="a", progress=True, path="cpu")) == 1_000_000
        return capsys.readouterr().err

    if importlib.util.find_spec("tqdm"):
        assert " rows" in drawn()
        monkeypatch.setattr(_progress, "_tqdm", lambda: None)
    if importlib.util.find_spec("rich"):
        assert "join" in drawn()
        monkeypatch.setattr(_progress, "_rich", lambda: None)
    assert drawn() == ""
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    line = drawn()
    assert line.startswith("\r\033[Kgaruda: ") and " rows" in line and line.endswith("\r\033[K")
    assert len(garuda.group_by(big, "a").agg("count", progress=True)) == 1_000_000


@pytest.mark.skipif(LAVAPIPE is None, reason="lavapipe is not installed")
def test_devices() -> None:
    engine = garuda.Engine()
    (device,) = engine.devices()
    assert "llvmpipe" in device.name and device.kind == "cpu" and device.api == "vulkan" and device.traits
    assert engine.validation_messages() == [] and "Engine" in repr(engine)
    assert garuda.Engine(path="cpu").devices() == []
