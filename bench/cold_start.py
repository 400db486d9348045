"""Wall time of a command that uses a device, from its start to its end, beside that of the CPU path.

A small table in a CSV file is grouped by `garuda group-by`: on the host, by PATH with its pipelines cached (warm) and by
PATH with an empty cache folder (first), processes in turn. Between them one more process asks the loader for what PATH
opens, an instance and a device with one queue, and nothing else (driver alone; not of cuda): what remains beside these
two and the CPU path's time is garuda's. All that use the driver begin --pause seconds after the one before them has
ended: a GPU that has been idle for longer answers later. Needs nothing but Python, garuda and libvulkan.

    ./dev bench cold-start [--path compute] [--rows 1000] [--repeat 15] [--pause 0.25] [--output FILE.json]
"""

from __future__ import annotations

import argparse
import ctypes
import json
import os
import pathlib
import random
import statistics
import subprocess
import sys
import tempfile
import time

COMMAND = pathlib.Path(os.environ.get("GARUDA_COMMAND", pathlib.Path(__file__).parents[1] / "build/bin/garuda")).resolve()
DISTINCT_KEYS = 100
# In which the system takes down what a process had of the driver.
END_S = 0.1

STRUCTURE_APPLICATION, STRUCTURE_INSTANCE, STRUCTURE_QUEUE, STRUCTURE_DEVICE = 0, 1, 2, 3
VULKAN_1_3 = 1 << 22 | 3 << 12
GRAPHICS_AND_COMPUTE = 0x1 | 0x2
MOST_DEVICES, MOST_FAMILIES = 16, 32


class ApplicationInfo(ctypes.Structure):
    _fields_ = [
        ("sType", ctypes.c_int),
        ("pNext", ctypes.c_void_p),
        ("pApplicationName", ctypes.c_char_p),
        ("applicationVersion", ctypes.c_uint32),
        ("pEngineName", ctypes.c_char_p),
        ("engineVersion", ctypes.c_uint32),
        ("apiVersion", ctypes.c_uint32),
    ]


HEAD = [("sType", ctypes.c_int), ("pNext", ctypes.c_void_p), ("flags", ctypes.c_uint32)]
ENABLED = [
    ("enabledLayerCount", ctypes.c_uint32),
    ("ppEnabledLayerNames", ctypes.c_void_p),
    ("enabledExtensionCount", ctypes.c_uint32),
    ("ppEnabledExtensionNames", ctypes.c_void_p),
]


class InstanceInfo(ctypes.Structure):
    _fields_ = [*HEAD, ("pApplicationInfo", ctypes.POINTER(ApplicationInfo)), *ENABLED]


class QueueInfo(ctypes.Structure):
    _fields_ = [
        *HEAD,
        ("queueFamilyIndex", ctypes.c_uint32),
        ("queueCount", ctypes.c_uint32),
        ("pQueuePriorities", ctypes.POINTER(ctypes.c_float)),
    ]


class DeviceInfo(ctypes.Structure):
    _fields_ = [
        *HEAD,
        ("queueCreateInfoCount", ctypes.c_uint32),
        ("pQueueCreateInfos", ctypes.POINTER(QueueInfo)),
        *ENABLED,
        ("pEnabledFeatures", ctypes.c_void_p),
    ]


class QueueFamily(ctypes.Structure):
    _fields_ = [("queueFlags", ctypes.c_uint32), ("rest", ctypes.c_uint32 * 5)]


def check(result: int, call: str) -> None:
    if result != 0:
        sys.exit(f"{call}: VkResult {result}")


def open_driver() -> dict[str, float]:
    """Milliseconds that the driver takes for an instance and for the first device's only queue."""
    begin = time.perf_counter()
    vulkan = ctypes.CDLL("libvulkan.so.1")
    application = ApplicationInfo(STRUCTURE_APPLICATION, apiVersion=VULKAN_1_3)
    wanted = InstanceInfo(STRUCTURE_INSTANCE, pApplicationInfo=ctypes.pointer(application))
    instance = ctypes.c_void_p()
    check(vulkan.vkCreateInstance(ctypes.byref(wanted), None, ctypes.byref(instance)), "vkCreateInstance")
    count = ctypes.c_uint32(MOST_DEVICES)
    devices = (ctypes.c_void_p * MOST_DEVICES)()
    check(vulkan.vkEnumeratePhysicalDevices(instance, ctypes.byref(count), devices), "vkEnumeratePhysicalDevices")
    if count.value == 0:
        sys.exit("no Vulkan device")
    made = time.perf_counter()
    count = ctypes.c_uint32(MOST_FAMILIES)
    families = (QueueFamily * MOST_FAMILIES)()
    vulkan.vkGetPhysicalDeviceQueueFamilyProperties(ctypes.c_void_p(devices[0]), ctypes.byref(count), families)
    flags = [family.queueFlags & GRAPHICS_AND_COMPUTE for family in families[: count.value]]
    priority = ctypes.c_float(1)
    queue = QueueInfo(STRUCTURE_QUEUE, queueFamilyIndex=flags.index(GRAPHICS_AND_COMPUTE), queueCount=1)
    queue.pQueuePriorities = ctypes.pointer(priority)
    wanted = DeviceInfo(STRUCTURE_DEVICE, queueCreateInfoCount=1, pQueueCreateInfos=ctypes.pointer(queue))
    device = ctypes.c_void_p()
    opened = vulkan.vkCreateDevice(ctypes.c_void_p(devices[0]), ctypes.byref(wanted), None, ctypes.byref(device))
    check(opened, "vkCreateDevice")
    return {"instance": (made - begin) * 1e3, "device": (time.perf_counter() - made) * 1e3}


def spread(values: list[float]) -> str:
    ordered = sorted(values)
    quartile = len(ordered) // 4
    return f"{statistics.median(ordered):.1f} ({ordered[quartile]:.1f} … {ordered[-1 - quartile]:.1f})"


class Commands:
    """The processes that are timed."""

    def __init__(self, folder: pathlib.Path, rows: int, path: str, pause: float) -> None:
        self._folder = folder
        self._path = path
        self._pause = pause
        self._driver_left = time.monotonic()
        draw = random.Random(1)
        lines = [f"{draw.randrange(DISTINCT_KEYS)},{i}" for i in range(rows)]
        (folder / "table.csv").write_text("k,v\n" + "\n".join(lines) + "\n")

    def _wait(self, seconds: float) -> None:
        """Until so long after the last process that used the driver."""
        time.sleep(max(0, self._driver_left + seconds - time.monotonic()))

    def group(self, path: str, cache: str) -> tuple[float, dict]:
        """Milliseconds of the process, and what its --stats=json say."""
        call = [COMMAND, "group-by", "table.csv", "--keys", "k", "--agg", "sum:v", "-o", f"{path}.csv", "--quiet"]
        environment = {**os.environ, "XDG_CACHE_HOME": str(self._folder / cache)}
        self._wait(END_S if path == "cpu" else self._pause)
        begin = time.perf_counter()
        done = subprocess.run(
            [*call, "--stats=json", "--path", path],
            cwd=self._folder,
            env=environment,
            capture_output=True,
            text=True,
            check=False,
        )
        took = (time.perf_counter() - begin) * 1e3
        if done.returncode != 0:
            sys.exit(done.stderr.strip())
        if path != "cpu":
            self._driver_left = time.monotonic()
        return took, json.loads(done.stderr.splitlines()[-1])

    def verify(self) -> None:
        read = [sorted((self._folder / f"{path}.csv").read_text().splitlines()) for path in ("cpu", self._path)]
        if read[0] != read[1]:
            sys.exit(f"{self._path} and cpu give different groups")

    def driver(self) -> dict[str, float]:
        """The lines that open_driver prints in a process of its own; none on the CUDA path."""
        if self._path == "cuda":
            return {}
        self._wait(self._pause)
        done = subprocess.run([sys.executable, __file__, "--driver"], capture_output=True, text=True, check=False)
        if done.returncode != 0:
            sys.exit(f"the driver alone: {done.stderr.strip()}")
        self._driver_left = time.monotonic()
        return json.loads(done.stdout)


def parts_of(stats: dict) -> dict[str, float]:
    """Milliseconds of what a process on a device does, as its statistics name it."""
    phases = {phase["name"]: phase["ns"] for phase in stats["phases"]}
    parts = {
        "engine made": stats["engine_ns"],
        "device opened": stats["device_open_ns"] + phases.get("open device", 0),
        "pipelines": phases.get("pipelines", 0),
        "upload": phases.get("upload", 0),
        "download": phases.get("download", 0),
        "library for files (beside the device)": stats["library_ns"],
        "files read (beside the device)": stats["read_ns"],
        "file written": stats["write_ns"],
        "all, without the process": stats["elapsed_ns"],
    }
    return {name: ns / 1e6 for name, ns in parts.items()}


def measure(commands: Commands, path: str, repeat: int) -> dict:
    """Samples in milliseconds by what was timed, and of each part."""
    samples: dict[str, list[float]] = {"cpu": [], "warm": [], "first": []}
    parts: dict[str, list[float]] = {}
    driver: dict[str, list[float]] = {}
    for _ in range(2):  # the second has what the first compiled
        commands.group(path, "warm")
    for i in range(repeat):
        samples["cpu"].append(commands.group("cpu", "warm")[0])
        took, stats = commands.group(path, "warm")
        samples["warm"].append(took)
        for name, ms in parts_of(stats).items():
            parts.setdefault(name, []).append(ms)
        samples["first"].append(commands.group(path, f"first-{i}")[0])
        for name, ms in commands.driver().items():
            driver.setdefault(name, []).append(ms)
        commands.verify()
    return {"samples_ms": samples, "parts_ms": parts, "driver_ms": driver}


def page(measured: dict, path: str) -> str:
    samples, driver = measured["samples_ms"], measured["driver_ms"]
    more = {name: [ms - cpu for ms, cpu in zip(samples[name], samples["cpu"])] for name in ("warm", "first")}
    lines = [("process", "ms, median (quartiles)"), ("cpu", spread(samples["cpu"]))]
    lines += [(f"{path}, {name}", spread(samples[name])) for name in more]
    lines += [(f"{path}, {name}, more than cpu", spread(more[name])) for name in more]
    lines += [(f"driver alone: {name}", spread(values)) for name, values in driver.items()]
    lines += [(f"{path}, warm: {name}", spread(values)) for name, values in measured["parts_ms"].items()]
    width = max(len(name) for name, _ in lines)
    return "\n".join(f"{name:<{width}}  {text}" for name, text in lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--path", default="compute", choices=["compute", "graphics", "cuda"])
    parser.add_argument("--rows", type=int, default=1000)
    parser.add_argument("--repeat", type=int, default=15)
    parser.add_argument("--pause", type=float, default=0.25, help="seconds between processes that use the driver")
    parser.add_argument("--output", type=pathlib.Path, help="writes the samples, JSON")
    parser.add_argument("--driver", action="store_true", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.driver:
        print(json.dumps(open_driver()), flush=True)
        os._exit(0)
    if arguments.rows < 1 or arguments.repeat < 1:
        parser.error("--rows and --repeat are at least 1")
    if not END_S <= arguments.pause < float("inf"):
        parser.error(f"--pause is at least {END_S}")
    with tempfile.TemporaryDirectory() as folder:
        commands = Commands(pathlib.Path(folder), arguments.rows, arguments.path, arguments.pause)
        measured = measure(commands, arguments.path, arguments.repeat)
    print(page(measured, arguments.path))
    if arguments.output:
        arguments.output.write_text(json.dumps(measured))


if __name__ == "__main__":
    main()
