"""The tables that the figures are run on: TPC-H's, generated ones, and two that only this paper has."""

from __future__ import annotations

import argparse

import numpy as np
import pyarrow as pa
from engines import engine, files
from rivals import workloads
from tpch import tables as tpch_tables

Tables = dict[str, pa.Table]


def of_tpch(operation: engine.Operation, arguments: argparse.Namespace) -> Tables:
    reads = operation.reads()
    paths = tpch_tables.make(arguments.data, f"{arguments.scale:g}", set(reads))
    return {name: files.read(path, reads[name]) for name, path in paths.items()}


def made(workload: workloads.Workload, arguments: argparse.Namespace) -> Tables:
    return workload.tables(arguments.garuda, 1)


def with_itself(workload: workloads.Workload, arguments: argparse.Namespace) -> Tables:
    """The right side, which draws its keys, twice."""
    drawn = made(workload, arguments)["right"]
    return {"left": drawn, "right": drawn.rename_columns(["key", "s0"])}


def both_skewed(rows: int, arguments: argparse.Namespace) -> Tables:
    """JO5: the keys of one half have 16 rows each on the left and one on the right, those of the other half the other
    way round, so that neither table is the better build side throughout (GARUDA §6.3.3)."""
    del arguments
    repeated, half = 16, max(rows // 2, 16)
    often = np.repeat(np.arange(half // repeated, dtype=np.int32), repeated)
    once = np.arange(half // repeated, dtype=np.int32)
    shift = np.int32(half)
    random = np.random.default_rng(1)
    keys = {"left": np.concatenate([often, once + shift]), "right": np.concatenate([once, often + shift])}
    columns = {"left": "r0", "right": "s0"}
    return {
        side: pa.table({"key": random.permutation(values), columns[side]: np.arange(len(values), dtype=np.int32)})
        for side, values in keys.items()
    }
