"""Runs the quickstart in an environment with nothing but the wheel, on the CPU and on lavapipe, against its answers.

    python try_installed.py [--plugin | --parquet]

Prints JSON: for "cpu" and "lavapipe" "yes", or what went wrong. --plugin: the CUDA plug-in has to be there, too.
--parquet: the environment has the wheel with its extra `sql`, and "parquet" says whether a query reads a file by the
reader that the wheel carries.
"""

from __future__ import annotations

import json
import os
import shutil
import sys
from importlib.metadata import distributions
from typing import Any, Callable

import garuda

ORDERS = {"id": [1, 2, 3, 4], "customer": [7, 8, 7, 9], "price": [10.5, 3.25, 8.0, 1.0]}
CUSTOMERS = {"number": [7, 8], "name": ["Ada", "Bo"]}
JOINED = {**ORDERS, "name": ["Ada", "Bo", "Ada", None]}
GROUPED = {"name": ["Ada", "Bo", None], "count": [2, 1, 1], "total": [18.5, 3.25, 1.0], "dearest": [1, 2, 4]}
COMPILERS = ("cc", "c++", "gcc", "g++", "clang", "clang++")


def quickstart(**where: Any) -> None:
    joined = garuda.join(ORDERS, CUSTOMERS, on=("customer", "number"), how="left", ordered=True, **where)
    groups = garuda.group_by(joined, "name", ordered=True, **where)
    grouped = groups.agg("count", total=("price", "sum"), dearest=("id", "arg_max", "price"))
    for expected, table in ((JOINED, joined), (GROUPED, grouped)):
        if table.to_pydict() != expected:
            raise AssertionError(f"{table.to_pydict()} instead of {expected}")


def on_lavapipe() -> None:
    number = next((device.number for device in garuda.devices() if device.name.startswith("llvmpipe")), None)
    if number is None:
        raise AssertionError("the loader gives no lavapipe")
    for path in ("graphics", "compute"):
        quickstart(path=path, device=number)


def query_of_a_file() -> None:
    import pyarrow.parquet

    file = os.path.abspath("orders.parquet")
    pyarrow.parquet.write_table(pyarrow.table(ORDERS), file, row_group_size=2)
    table = garuda.sql(f"select name, sum(price) as total from '{file}' join c on customer = number where id > 2 group by name", c=CUSTOMERS)  # fmt: skip
    if table.to_pydict() != {"name": ["Ada"], "total": [8.0]}:
        raise AssertionError(f"{table.to_pydict()}")
    if reason := garuda._core.reader_failure():
        raise AssertionError(f"the reader of Parquet files is not there: {reason}")
    if "1 of 2 row groups" not in str(table.plan):
        raise AssertionError(f"the reader of Parquet files was not asked:\n{table.plan}")


def outcome(part: Callable[[], None]) -> str:
    try:
        part()
    except (garuda.Error, AssertionError) as error:
        return f"no: {error}"
    return "yes"


def find_plugin() -> None:
    """Fails where the plug-in is not found; where there is no driver, it is the plug-in that says so."""
    try:
        garuda.devices(cuda=True)
    except garuda.NoDeviceError as error:
        if "plug-in" in str(error):
            raise


def main() -> None:
    names = {(found.metadata["Name"] or "").lower().replace("_", "-") for found in distributions()}
    installed = names - {"pip", "setuptools", "pkg-resources"}  # what a new environment has itself
    if compilers := [name for name in COMPILERS if shutil.which(name)]:
        raise SystemExit(f"not a bare environment, compilers are found: {', '.join(compilers)}")
    if "--parquet" in sys.argv[1:]:
        print(json.dumps({"parquet": outcome(query_of_a_file)}))
        return
    if installed != {"garuda"}:
        raise SystemExit(f"not a bare environment: {', '.join(sorted(installed))}")
    if "--plugin" in sys.argv[1:]:
        find_plugin()
    print(json.dumps({"cpu": outcome(lambda: quickstart(path="cpu")), "lavapipe": outcome(on_lavapipe)}))


if __name__ == "__main__":
    main()
