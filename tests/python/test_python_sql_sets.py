"""The public query sets by SQL: TPC-H's 22 queries, SSB's 13, ClickBench's 43 and db-benchmark's 15.

Every answer is one that SQL allows, by DuckDB, and has the same bits on every path and driver, with any number of
threads, from memory, stored tables and Parquet, with and without a limit of memory, and by the command, which runs the plan of
Substrait over files. `--full` takes scale 1 and all ways to run; otherwise a hash of the names chooses.
"""

from __future__ import annotations

import dataclasses
import functools
import itertools
import os
import pathlib
import subprocess
import sys
import zlib
from typing import Any

import duckdb
import garuda
import garuda._sql
import pyarrow
import pyarrow.ipc
import pyarrow.parquet
import pytest
from package import LAVAPIPE, ROOT, environment

sys.path.append(str(ROOT / "bench"))
from engines import files  # noqa: E402
from queries import answers, sets  # noqa: E402

pytest.importorskip("datafusion")

FULL = os.environ.get("GARUDA_TEST_FULL") == "1"
SWIFTSHADER = ROOT / ".deps/swiftshader/vk_swiftshader_icd.json"
COMMAND = pathlib.Path(os.environ.get("GARUDA_COMMAND", ROOT / "build/bin/garuda"))
SCALES = {"tpch": "0.01", "ssb": "0.01", "clickbench": "0.2", "db-group-bys": "0.01", "db-joins": "0.01"}
CASES = [(name, query) for name, chosen in sets.SETS.items() for query in chosen.texts]
DEVICES = {"lavapipe": "llvmpipe", "swiftshader": "SwiftShader"}
#: How many queries of a set put rows into files, at least, where a tenth of its data is the limit.
SPILLED = {"tpch": 4, "ssb": 1, "clickbench": 20, "db-group-bys": 9, "db-joins": 5}
#: Queries with a LIMIT and no ORDER BY: SQL leaves open which rows they give.
ANY_ROWS = {("clickbench", "q17")}


@dataclasses.dataclass(frozen=True)
class Way:
    """One way to run a query. `driver` is empty on the CPU path."""

    path: str
    driver: str
    threads: int
    source: str
    limited: bool

    @property
    def name(self) -> str:
        words = [self.path, self.driver, f"{self.threads}", self.source]
        return "-".join([word for word in words if word] + ["limited"] * self.limited)


PLACES = [("cpu", ""), *((path, driver) for driver in DEVICES for path in ("compute", "graphics"))]
WAYS = [Way(*place, *how) for place, how in itertools.product(PLACES, itertools.product((1, 2, 16), ("memory", "stored", "files"), (False, True)))]
PLAIN = Way("cpu", "", 2, "memory", False)
#: One in so many pairs of a way and a query is tried.
SHARES = {"": 12, "lavapipe": 48, "swiftshader": 360}


COMMAND_SHARE = 6


def takes(case: tuple[str, str], way: Way) -> bool:
    number = zlib.crc32(f"{case} {way.name}".encode())
    return way != PLAIN and (FULL or number % SHARES[way.driver] == 0)


@dataclasses.dataclass(frozen=True)
class Data:
    """A set's tables: in memory, stored, as files of few rows a row group, and in DuckDB."""

    tables: dict[str, pyarrow.Table]
    stored: dict[str, garuda.StoredTable]
    scans: dict[str, garuda.Scan]
    database: duckdb.DuckDBPyConnection

    @property
    def bytes(self) -> int:
        return sum(table.nbytes for table in self.tables.values())


def split(table: pyarrow.Table, folder: pathlib.Path) -> garuda.Scan:
    """The rows in three files, or fewer where there are not as many, of five row groups each; those that are there stay."""
    size = max(-(-table.num_rows // 3), 1)
    for first in range(0, 0 if folder.exists() else max(table.num_rows, 1), size):
        folder.mkdir(exist_ok=True)
        rows = table.slice(first, size)
        pyarrow.parquet.write_table(rows, folder / f"{first:09}.parquet", row_group_size=max(len(rows) // 5, 1))
    return garuda.scan(sorted(folder.iterdir()))


@pytest.fixture(scope="session")
def data_of(tmp_path_factory: pytest.TempPathFactory) -> Any:
    folder = tmp_path_factory.mktemp("sets")

    # The sets come one after the other, and one of scale 1 takes gigabytes: files stay, tables go.
    @functools.lru_cache(maxsize=2)
    def make(name: str, scale: str) -> Data:
        tables = {table: files.read(path) for table, path in sets.SETS[name].make(folder, scale).items()}
        scans = {table: split(rows, folder / f"{name}-{scale}-{table}") for table, rows in tables.items()}
        database = duckdb.connect()
        for table, rows in tables.items():
            database.register(table, rows)
        stored = {table: garuda.store(rows) for table, rows in tables.items()}
        return Data(tables, stored, scans, database)

    return make


@functools.cache
def engine_of(driver: str) -> garuda.Engine:
    return garuda.Engine(device=DEVICES[driver]) if driver else garuda.Engine(path="cpu")


def run(case: tuple[str, str], way: Way, data: Data) -> pyarrow.Table:
    limit = data.bytes // 10 if way.limited else None
    options = {"path": way.path, "threads": way.threads, "memory_limit": limit}
    tables: Any = {"memory": data.tables, "stored": data.stored, "files": data.scans}[way.source]
    query = sets.SETS[case[0]].texts[case[1]]
    return engine_of(way.driver).sql(query, tables=tables, **options).to_arrow()


@pytest.fixture(scope="session")
def answer_of(data_of: Any) -> Any:
    """The answer of the CPU path by two threads in memory, which all others equal."""
    return functools.cache(lambda case, scale: run(case, PLAIN, data_of(case[0], scale)))


@pytest.mark.parametrize("case", CASES, ids="-".join)
def test_answers_are_right(case: tuple[str, str], data_of: Any, answer_of: Any) -> None:
    query = sets.SETS[case[0]].texts[case[1]]
    for scale in (SCALES[case[0]], *(("1",) if FULL else ())):
        assert answers.difference(data_of(case[0], scale).database, query, answer_of(case, scale)) is None


@pytest.mark.parametrize(
    ("case", "way"), [pytest.param(c, w, id=f"{'-'.join(c)}-{w.name}") for c in CASES for w in WAYS if takes(c, w)]
)
def test_every_way_gives_the_same_bits(
    case: tuple[str, str], way: Way, data_of: Any, answer_of: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    drivers = {"lavapipe": LAVAPIPE, "swiftshader": str(SWIFTSHADER) if SWIFTSHADER.exists() else None}
    if way.driver and drivers[way.driver] is None:
        pytest.skip(f"{way.driver} is not installed")
    if way.driver:
        monkeypatch.setenv("VK_ICD_FILENAMES", str(drivers[way.driver]))
        monkeypatch.setenv("VK_DRIVER_FILES", str(drivers[way.driver]))
    scale = "1" if FULL and not way.driver else SCALES[case[0]]
    data, query = data_of(case[0], scale), sets.SETS[case[0]].texts[case[1]]
    found = run(case, way, data)
    if case in ANY_ROWS:
        assert answers.difference(data.database, query, found) is None
        return
    in_order = bool(answers.parse(query).keys)
    assert answers.bits(found, in_order) == answers.bits(answer_of(case, scale), in_order)


@pytest.mark.parametrize("name", SPILLED)
def test_a_tenth_of_the_data_is_memory_enough(name: str, data_of: Any, answer_of: Any) -> None:
    data, spilled = data_of(name, SCALES[name]), 0
    for query, text in sets.SETS[name].texts.items():
        table = engine_of("").sql(text, tables=data.tables, threads=2, memory_limit=data.bytes // 10)
        spilled += table.stats["counters"].get("spilled_bytes", 0) > 0
        found, in_order = table.to_arrow(), bool(answers.parse(text).keys)
        if (name, query) not in ANY_ROWS:
            assert answers.bits(found, in_order) == answers.bits(answer_of((name, query), SCALES[name]), in_order)
    assert spilled >= SPILLED[name]


@pytest.mark.parametrize(
    "case", [case for case in CASES if FULL or zlib.crc32(str(case).encode()) % COMMAND_SHARE == 0], ids="-".join
)
def test_the_command_gives_the_same_bits(
    case: tuple[str, str], data_of: Any, answer_of: Any, tmp_path: pathlib.Path
) -> None:
    data, query = data_of(case[0], SCALES[case[0]]), sets.SETS[case[0]].texts[case[1]]
    planned = garuda._sql.planned(engine_of(""), query, data.scans, {}, sys._getframe())
    (tmp_path / "plan").write_bytes(planned.plan.message)
    tables = [f"--table={name}={pathlib.Path(scan.paths[0]).parent}" for name, scan in data.scans.items()]
    call = [COMMAND, "run", tmp_path / "plan", *tables, "-o", tmp_path / "answer.arrow", "--path=cpu", "--threads=2"]
    for limit in ([], [f"--memory-limit={data.bytes // 10}"]):
        done = subprocess.run(list(map(str, call + limit)), env=environment(), capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        found = pyarrow.ipc.open_file(tmp_path / "answer.arrow").read_all()
        if case in ANY_ROWS:
            assert answers.difference(data.database, query, found) is None
            continue
        in_order = bool(answers.parse(query).keys)
        assert answers.bits(found, in_order) == answers.bits(answer_of(case, SCALES[case[0]]), in_order)
