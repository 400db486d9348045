"""The five tables of the Star Schema Benchmark as Parquet files, after its description.

Values are functions of the scale and the seed. Prices are whole cents in int32, as dbgen of the benchmark writes them.
Small scales keep 2,000 customers, suppliers and parts, so that every city and every brand has some.
"""

from __future__ import annotations

import datetime
import math
import pathlib
from collections.abc import Callable, Iterator

import numpy as np
import pyarrow as pa
from engines import files

SEED = 2009
BATCH_ORDERS = 1 << 18
LEAST_ROWS = 2_000
FIRST_DAY, LAST_DAY = datetime.date(1992, 1, 1), datetime.date(1998, 12, 31)
LAST_ORDER_DAYS = 2_405  # orders are of the days from the first one to 1998-08-02
REGIONS = {
    "AFRICA": ["ALGERIA", "ETHIOPIA", "KENYA", "MOROCCO", "MOZAMBIQUE"],
    "AMERICA": ["ARGENTINA", "BRAZIL", "CANADA", "PERU", "UNITED STATES"],
    "ASIA": ["CHINA", "INDIA", "INDONESIA", "JAPAN", "VIETNAM"],
    "EUROPE": ["FRANCE", "GERMANY", "ROMANIA", "RUSSIA", "UNITED KINGDOM"],
    "MIDDLE EAST": ["EGYPT", "IRAN", "IRAQ", "JORDAN", "SAUDI ARABIA"],
}
NATIONS = [(nation, region) for region, nations in REGIONS.items() for nation in nations]
SEGMENTS = ["AUTOMOBILE", "BUILDING", "FURNITURE", "HOUSEHOLD", "MACHINERY"]
PRIORITIES = ["1-URGENT", "2-HIGH", "3-MEDIUM", "4-NOT SPECI", "5-LOW"]
SHIP_MODES = ["AIR", "FOB", "MAIL", "RAIL", "REG AIR", "SHIP", "TRUCK"]
COLORS = ["almond", "azure", "beige", "black", "blue", "brown", "coral", "cream", "cyan", "green", "ivory", "khaki",
          "lemon", "linen", "navy", "olive", "orange", "pink", "plum", "red", "rose", "sienna", "snow", "tan", "white"]  # fmt: skip
KINDS = [f"{size} {finish} {metal}" for size in ("STANDARD", "SMALL", "MEDIUM", "LARGE", "ECONOMY", "PROMO")
         for finish in ("ANODIZED", "BURNISHED", "PLATED", "POLISHED", "BRUSHED")
         for metal in ("TIN", "NICKEL", "BRASS", "STEEL", "COPPER")]  # fmt: skip
CONTAINERS = [f"{size} {form}" for size in ("SM", "MED", "LG", "JUMBO", "WRAP")
              for form in ("CASE", "BOX", "BAG", "JAR", "PKG", "PACK", "CAN", "DRUM")]  # fmt: skip
SEASONS = {12: "Christmas", 11: "Christmas", 1: "Winter", 2: "Winter", 3: "Spring", 4: "Spring", 5: "Summer",
           6: "Summer", 7: "Summer", 8: "Summer", 9: "Fall", 10: "Fall"}  # fmt: skip


def customers(scale: float) -> int:
    return max(int(30_000 * scale), LEAST_ROWS)


def suppliers(scale: float) -> int:
    return max(int(2_000 * scale), LEAST_ROWS)


def parts(scale: float) -> int:
    return max(int(200_000 * (1 + math.log2(scale) if scale >= 1 else scale)), LEAST_ROWS)


def picked(words: list[str], numbers: np.ndarray) -> pa.Array:
    return pa.array(words).take(pa.array(numbers))


def numbered(name: str, keys: np.ndarray) -> pa.Array:
    return pa.array([f"{name}#{key:09}" for key in keys])


def places(random: np.random.Generator, rows: int, prefix: str) -> dict[str, pa.Array]:
    """Cities, each as often as the others: a nation's first nine letters and a digit; nations, regions, phones."""
    city = random.permutation(np.arange(rows) % (10 * len(NATIONS)))
    nation = city // 10
    cities = [f"{name[:9]:<9}{digit}" for name, _ in NATIONS for digit in range(10)]
    phone = random.integers(100, 1000, (rows, 3))
    return {
        f"{prefix}_city": picked(cities, city),
        f"{prefix}_nation": picked([name for name, _ in NATIONS], nation),
        f"{prefix}_region": picked([region for _, region in NATIONS], nation),
        f"{prefix}_phone": pa.array([f"{10 + n}-{a}-{b}-{c}0" for n, (a, b, c) in zip(nation, phone)]),
    }


def addresses(random: np.random.Generator, rows: int) -> pa.Array:
    return pa.array([f"{number:x}" for number in random.integers(1 << 40, 1 << 60, rows)])


def customer(scale: float) -> pa.Table:
    random, rows = np.random.default_rng([SEED, 1]), customers(scale)
    keys = np.arange(1, rows + 1, dtype=np.int32)
    columns = {"c_custkey": keys, "c_name": numbered("Customer", keys), "c_address": addresses(random, rows)}
    columns |= places(random, rows, "c")
    return pa.table({**columns, "c_mktsegment": picked(SEGMENTS, random.integers(0, len(SEGMENTS), rows))})


def supplier(scale: float) -> pa.Table:
    random, rows = np.random.default_rng([SEED, 2]), suppliers(scale)
    keys = np.arange(1, rows + 1, dtype=np.int32)
    columns = {"s_suppkey": keys, "s_name": numbered("Supplier", keys), "s_address": addresses(random, rows)}
    return pa.table(columns | places(random, rows, "s"))


def part(scale: float) -> pa.Table:
    random, rows = np.random.default_rng([SEED, 3]), parts(scale)
    brand = random.permutation(np.arange(rows) % 1000)  # five makers of five categories of 40 brands
    maker, category = brand // 200, brand // 40 % 5
    color, second = random.integers(0, len(COLORS), (2, rows))
    return pa.table(
        {
            "p_partkey": np.arange(1, rows + 1, dtype=np.int32),
            "p_name": pa.array([f"{COLORS[a]} {COLORS[b]}" for a, b in zip(color, second)]),
            "p_mfgr": pa.array([f"MFGR#{m + 1}" for m in maker]),
            "p_category": pa.array([f"MFGR#{m + 1}{c + 1}" for m, c in zip(maker, category)]),
            "p_brand1": pa.array([f"MFGR#{m + 1}{c + 1}{b % 40 + 1}" for m, c, b in zip(maker, category, brand)]),
            "p_color": picked(COLORS, color),
            "p_type": picked(KINDS, random.integers(0, len(KINDS), rows)),
            "p_size": random.integers(1, 51, rows, dtype=np.int32),
            "p_container": picked(CONTAINERS, random.integers(0, len(CONTAINERS), rows)),
        }
    )


def date_row(day: datetime.date) -> dict[str, object]:
    of_year = day.timetuple().tm_yday
    tomorrow = day + datetime.timedelta(days=1)
    return {
        "d_datekey": day.year * 10_000 + day.month * 100 + day.day,
        "d_date": f"{day:%B} {day.day}, {day.year}",
        "d_dayofweek": f"{day:%A}",
        "d_month": f"{day:%B}",
        "d_year": day.year,
        "d_yearmonthnum": day.year * 100 + day.month,
        "d_yearmonth": f"{day:%b}{day.year}",
        "d_daynuminweek": day.isoweekday() % 7 + 1,
        "d_daynuminmonth": day.day,
        "d_daynuminyear": of_year,
        "d_monthnuminyear": day.month,
        "d_weeknuminyear": (of_year - 1) // 7 + 1,
        "d_sellingseason": SEASONS[day.month],
        "d_lastdayinweekfl": int(day.isoweekday() == 6),
        "d_lastdayinmonthfl": int(tomorrow.month != day.month),
        "d_holidayfl": int((day.month, day.day) in {(1, 1), (7, 4), (12, 24), (12, 25)}),
        "d_weekdayfl": int(day.isoweekday() <= 5),
    }


def date(scale: float) -> pa.Table:
    days = (FIRST_DAY + datetime.timedelta(days=i) for i in range((LAST_DAY - FIRST_DAY).days + 1))
    rows = pa.Table.from_pylist([date_row(day) for day in days])
    return rows.cast(pa.schema([(f.name, pa.int32() if pa.types.is_integer(f.type) else f.type) for f in rows.schema]))


def date_keys() -> np.ndarray:
    """The key of each day of the table `date`."""
    days = np.datetime64(FIRST_DAY) + np.arange((LAST_DAY - FIRST_DAY).days + 1)
    months = days.astype("datetime64[M]")
    year, month = months.astype(int) // 12 + 1970, months.astype(int) % 12 + 1
    return (year * 10_000 + month * 100 + (days - months).astype(int) + 1).astype(np.int32)


def order_lines(scale: float, first: int, orders: int) -> pa.RecordBatch:
    """The lines of orders from number `first` on; each order has one to seven lines."""
    random = np.random.default_rng([SEED, 4, first])
    counts = random.integers(1, 8, orders)
    order = np.repeat(np.arange(orders), counts)
    rows = len(order)
    line = np.arange(rows) - np.repeat(np.cumsum(counts) - counts, counts) + 1
    days, keys = random.integers(0, LAST_ORDER_DAYS, orders), date_keys()
    part_key = random.integers(1, parts(scale) + 1, rows)
    quantity, discount = random.integers(1, 51, rows), random.integers(0, 11, rows)
    retail = 90_000 + part_key // 10 % 20_001 + 100 * (part_key % 1_000)  # cents, as TPC-H prices its parts
    price = quantity * retail
    total = np.bincount(order, price, orders).astype(np.int64)
    columns = {
        "lo_orderkey": first + order + 1,
        "lo_linenumber": line,
        "lo_custkey": np.repeat(random.integers(1, customers(scale) + 1, orders), counts),
        "lo_partkey": part_key,
        "lo_suppkey": random.integers(1, suppliers(scale) + 1, rows),
        "lo_orderdate": keys[days[order]],
        "lo_orderpriority": picked(PRIORITIES, np.repeat(random.integers(0, len(PRIORITIES), orders), counts)),
        "lo_shippriority": picked(["0"], np.zeros(rows, np.int64)),
        "lo_quantity": quantity,
        "lo_extendedprice": price,
        "lo_ordtotalprice": total[order],
        "lo_discount": discount,
        "lo_revenue": price * (100 - discount) // 100,
        "lo_supplycost": 6 * retail // 10,
        "lo_tax": random.integers(0, 9, rows),
        "lo_commitdate": keys[days[order] + random.integers(30, 91, rows)],
        "lo_shipmode": picked(SHIP_MODES, random.integers(0, len(SHIP_MODES), rows)),
    }
    return pa.record_batch({name: c.astype(np.int32) if isinstance(c, np.ndarray) else c for name, c in columns.items()})


def lineorder(scale: float) -> Iterator[pa.RecordBatch]:
    orders = max(int(1_500_000 * scale), 1)
    for first in range(0, orders, BATCH_ORDERS):
        yield order_lines(scale, first, min(BATCH_ORDERS, orders - first))


DIMENSIONS: dict[str, Callable[[float], pa.Table]] = {
    "customer": customer, "date": date, "part": part, "supplier": supplier,
}  # fmt: skip


def make(data: pathlib.Path, scale: str, names: set[str]) -> dict[str, pathlib.Path]:
    """The tables as files; those are made that are not there yet."""
    folder = data / f"ssb-{scale}"
    folder.mkdir(parents=True, exist_ok=True)
    paths = {name: folder / f"{name}.parquet" for name in sorted(names)}
    for name, path in paths.items():
        if path.exists():
            continue
        unfinished = path.with_name(f"unfinished-{path.name}")
        if name == "lineorder":
            files.write_all(unfinished, lineorder(float(scale)))
        else:
            files.write(unfinished, DIMENSIONS[name](float(scale)))
        unfinished.rename(path)
    return paths
