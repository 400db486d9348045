"""garuda joins and groups tables on any GPU that has a Vulkan driver, and on the CPU, with the same rows everywhere.

>>> import garuda
>>> people = {"id": [1, 2, 3], "name": ["Ada", "Bo", "Cy"]}
>>> visits = {"who": [1, 1, 3], "minutes": [30, 12, 45]}
>>> garuda.join(people, visits, on=("id", "who"), ordered=True).to_pydict()
{'id': [1, 1, 3], 'name': ['Ada', 'Ada', 'Cy'], 'minutes': [30, 12, 45]}
>>> garuda.group_by(visits, "who", ordered=True).agg(total=("minutes", "sum")).to_pydict()
{'who': [1, 3], 'total': [42, 45]}

`join`, `join_stream`, `join_count`, `explain_join`, `build`, `store`, `group_by`, `sql`, `explain_sql`, `upload` and `devices` are
those of one `Engine`, which looks for devices when it is first used. No GPU is touched, and no other library imported, before that.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ._core import version as __version__
from ._progress import Progress
from .engine import Device, Engine, GroupBy, default_engine
from .errors import (
    CancelledError,
    ColumnNotFoundError,
    DeviceFailureError,
    Error,
    ForkedError,
    InternalError,
    InvalidInputError,
    LimitExceededError,
    NoDeviceError,
    OutOfMemoryError,
    OutputError,
    UsageError,
)
from .files import Scan, read, read_csv, read_ipc, read_parquet, scan
from .patches import fallbacks, install, installed, uninstall
from .plans import Plan, Stats
from .table import JoinBuild, StoredTable, Stream, Table, table

if TYPE_CHECKING:
    from . import dask as dask
    from . import duckdb as duckdb
    from . import partial as partial
    from . import polars as polars
    from . import ray as ray

join = default_engine.join
join_stream = default_engine.join_stream
join_count = default_engine.join_count
explain_join = default_engine.explain_join
build = default_engine.build
store = default_engine.store
group_by = default_engine.group_by
upload = default_engine.upload
devices = default_engine.devices
sql = default_engine.sql
explain_sql = default_engine.explain_sql

__all__ = [
    "CancelledError", "ColumnNotFoundError", "Device", "DeviceFailureError", "Engine", "Error", "ForkedError",
    "GroupBy", "InternalError", "InvalidInputError", "JoinBuild", "LimitExceededError", "NoDeviceError",
    "OutOfMemoryError", "OutputError", "Plan", "Progress", "Scan", "Stats", "StoredTable", "Stream", "Table", "UsageError",
    "__version__", "build", "default_engine", "devices", "explain_join", "explain_sql", "fallbacks", "group_by", "install", "installed", "join", "join_count",
    "join_stream", "read", "read_csv", "read_ipc", "read_parquet", "scan", "sql", "store", "table", "uninstall", "upload",
]  # fmt: skip


def __getattr__(name: str) -> Any:
    """Submodules that import other libraries, when they are first asked for."""
    if name in ("dask", "duckdb", "partial", "polars", "ray"):
        import importlib

        return importlib.import_module(f"{__name__}.{name}")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
