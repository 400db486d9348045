"""A first use: devices, a join and a group-by with their plans, a progress bar, and the same rows on every device.

    python -m garuda.demo [ROWS]
"""

from __future__ import annotations

import array
import sys
import time

import garuda


def _tables(rows: int) -> tuple[garuda.Table, garuda.Table]:
    """Customers, and their orders: random by a multiplier, so that no other library is needed."""
    customers = max(rows // 8, 1)
    mixed = [i * 2_654_435_761 % 2**32 for i in range(rows)]
    orders = {
        "order": array.array("q", range(rows)),
        "customer": array.array("q", [value % customers for value in mixed]),
        "price": array.array("d", [(value >> 8) % 100_000 / 100 for value in mixed]),
    }
    people = {
        "customer": array.array("q", range(customers)),
        "region": array.array("i", [(i * 40_503) % 7 for i in range(customers)]),
    }
    return garuda.table(people), garuda.table(orders)


def _heading(text: str) -> None:
    print(f"\n== {text}")


def _ways() -> list[tuple[str, dict[str, object]]]:
    """Every path on every device that is usable, and the CPU."""
    ways: list[tuple[str, dict[str, object]]] = [("cpu", {"path": "cpu"})]
    for device in garuda.devices():
        kind = "software" if device.kind == "cpu" else device.kind
        print(f"{device.number}  {device.name} ({kind}): {device.reason}")
        if device.usable:
            ways += [(f"{path} on {device.name}", {"path": path, "device": device.number})
                     for path in ("graphics", "compute")]  # fmt: skip
    return ways


def main(rows: int = 200_000) -> int:
    """Runs the demo; the exit status is 1 when two devices' rows differ."""
    _heading("devices")
    ways = _ways()
    people, orders = _tables(rows)
    _heading(f"orders, {len(orders):,} rows")
    print(orders.head(3))
    _heading("what a join of customers and orders would do")
    print(garuda.explain_join(people, orders, on="customer"))

    answers: dict[str, bytes | str] = {}
    joined = people
    for name, where in ways:
        started = time.perf_counter()
        try:
            joined = garuda.join(people, orders, on="customer", progress=sys.stderr.isatty(), **where)  # type: ignore[arg-type]
            groups = garuda.group_by(joined, "region", **where)  # type: ignore[arg-type]
            summed = groups.agg("count", total=("price", "sum"), mean=("price", "mean"))
        except garuda.NoDeviceError as error:
            print(f"{name}: left out: {error}")
            continue
        milliseconds = 1000 * (time.perf_counter() - started)
        columns = summed.to_pydict()
        answers[name] = repr(sorted(zip(*columns.values())))
        print(f"{name}: {len(joined):,} rows joined, {len(summed)} groups, {milliseconds:.1f} ms")
    _heading("sales by region")
    print(garuda.group_by(joined, "region", ordered=True).agg("count", total=("price", "sum"), mean=("price", "mean")))
    equal = len(set(answers.values())) == 1
    print(f"\n{len(answers)} ways to run, {'the same rows to the last bit' if equal else 'and their rows DIFFER'}")
    return 0 if equal else 1


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]) if len(sys.argv) > 1 else 200_000))
