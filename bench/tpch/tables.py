"""The tables of TPC-H as Parquet files, and `lineorder`, lineitem joined with orders (GARUDA §6.1.1)."""

from __future__ import annotations

import pathlib
import shutil
import subprocess
import sys

import duckdb

LINEORDER = "lineorder"


def generate(folder: pathlib.Path, scale: str, names: list[str]) -> None:
    """Makes the tables that are not there yet, by tpchgen-cli."""
    missing = [name for name in names if not (folder / f"{name}.parquet").exists()]
    if not missing:
        return
    generator = pathlib.Path(sys.executable).parent / "tpchgen-cli"
    unfinished = folder.with_name(f"{folder.name}.unfinished")
    shutil.rmtree(unfinished, ignore_errors=True)
    unfinished.mkdir(parents=True)
    subprocess.run(
        [generator, "parquet", "-s", scale, f"--tables={','.join(missing)}", f"--output-dir={unfinished}"],
        check=True,
        stdout=subprocess.DEVNULL,
    )
    folder.mkdir(exist_ok=True)
    for name in missing:
        (unfinished / f"{name}.parquet").rename(folder / f"{name}.parquet")
    shutil.rmtree(unfinished)


def join_lineorder(folder: pathlib.Path) -> None:
    path, unfinished = folder / f"{LINEORDER}.parquet", folder / f"unfinished-{LINEORDER}.parquet"
    if path.exists():
        return
    with duckdb.connect() as database:
        database.execute(
            f"COPY (FROM read_parquet('{folder}/lineitem.parquet')"
            f" JOIN read_parquet('{folder}/orders.parquet') ON l_orderkey = o_orderkey) TO '{unfinished}'"
        )
    unfinished.rename(path)


def make(data: pathlib.Path, scale: str, names: set[str]) -> dict[str, pathlib.Path]:
    folder = data / f"tpch-{scale}"
    needed = names - {LINEORDER} | ({"lineitem", "orders"} if LINEORDER in names else set())
    generate(folder, scale, sorted(needed))
    if LINEORDER in names:
        join_lineorder(folder)
    return {name: folder / f"{name}.parquet" for name in names}
