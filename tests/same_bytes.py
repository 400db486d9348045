"""Compares the files of results that two commands write, byte by byte: the native garuda and one of another processor.

    same_bytes.py COMMAND COMMAND        each with its words separated by spaces, such as "qemu-aarch64-static garuda"

Joins and group-bys of the CPU path over one random table with floats of all exponents, nulls and strings. Ends with 1
where a file differs, and says whether rows do.
"""

import os
import pathlib
import subprocess
import sys
import tempfile

import numpy as np
import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet

ROWS = 20_000
SPECIAL = (0.0, -0.0, 1.5, 5e-324, 1.7e308, np.inf, -np.inf, np.nan)
SPECIAL_SHARES = (0.3, 0.3, 0.2, 0.1, 0.0994, 0.0002, 0.0002, 0.0002)
AGGREGATES = {
    "sums": "sum:f64,sum:f32,mean:f64,mean:f32,sum:i64,mean:i64,sum:decimal",
    "sums of all exponents": "sum:wide,mean:wide",
    "moments": "var:f64,std:f32,var_pop:i64,std_pop:f64,covar:f64:f32,covar_pop:i64:f64,corr:f64:f32",
    "special floats": "sum:special,mean:special,var:special,std:special,corr:special:f64,min:special,max:special,"
    "median:special,count_distinct:special,first:special",
    "quantiles": "median:f64,quantile:f32:0.9,quantile:i64:0.25",
    "ends": "count,count:f64,min:f64,max:f32,first:f64,last:text,any:i64,arg_min:i64:f64,arg_max:text:f32",
    "lists": "min_n:f64:3,max_n:i64:2,count_distinct:f32,count_distinct:text",
}
KEYS = {
    "an integer": ["--keys", "key"],
    "text": ["--keys", "text"],
    "a float and text": ["--keys", "f_key,text"],
    "no key": [],
}
KINDS = ("inner", "left", "right", "full", "semi", "anti", "mark")
ENDINGS = (".arrow", ".parquet", ".csv")


def with_nulls(random: np.random.Generator, values) -> pa.Array:
    return pa.array(values, mask=random.random(len(values)) < 0.05)


def table(seed: int, rows: int) -> pa.Table:
    random = np.random.default_rng(seed)
    normal = random.standard_normal(rows)
    exponents = random.integers(-1000, 1000, rows)
    decimals = pa.array(random.integers(-(10**12), 10**12, rows)).cast(pa.decimal128(20, 0))
    return pa.table({
        "key": with_nulls(random, random.integers(0, 700, rows)),
        "f_key": with_nulls(random, random.integers(-3, 4, rows) / 2 * random.choice([-1.0, 1.0], rows)),
        "text": with_nulls(random, np.array([f"name {n * n}" for n in random.integers(0, 90, rows)], dtype=object)),
        "f64": with_nulls(random, normal * 1e6),
        "f32": with_nulls(random, random.standard_normal(rows).astype(np.float32)),
        "i64": with_nulls(random, random.integers(-(2**40), 2**40, rows)),
        "decimal": decimals,
        "wide": with_nulls(random, np.ldexp(normal, exponents)),
        "special": with_nulls(random, random.choice(SPECIAL, rows, p=SPECIAL_SHARES)),
    })


def cases(left: pathlib.Path, right: pathlib.Path) -> dict[str, tuple[list[str], str]]:
    """The arguments and the ending of the result's file, by name."""
    joins = ["join", str(left), str(right), "--ordered"]
    found = {f"{kind} join": ([*joins, "--on", "key", "--how", kind], ".arrow") for kind in KINDS}
    found["join by text and a float"] = ([*joins, "--on", "text,f_key"], ".arrow")
    condition = "left.f64 < right.f64 and left.i64 <> right.i64"
    found["join with a condition"] = ([*joins, "--on", "key", "--where", condition], ".arrow")
    found["join by a condition alone"] = ([*joins, "--where", "left.f64 >= right.wide and left.f32 < -2.5"], ".arrow")
    for keys, named in KEYS.items():
        for aggregates, text in AGGREGATES.items():
            found[f"{aggregates} by {keys}"] = (["group-by", str(left), *named, "--agg", text, "--ordered"], ".arrow")
    for ending in ENDINGS[1:]:
        found[f"join to {ending}"] = ([*joins, "--on", "key"], ending)
        sums = ["group-by", str(left), "--keys", "key", "--agg", AGGREGATES["sums"], "--ordered"]
        found[f"sums to {ending}"] = (sums, ending)
    found["distinct keys"] = (["group-by", str(left), "--keys", "key,f_key", "--ordered"], ".arrow")
    return found


def result(command: str, arguments: list[str], file: pathlib.Path) -> bytes:
    words = [*command.split(), *arguments, "--path", "cpu", "--threads", "2", "--quiet", "--output", str(file)]
    subprocess.run(words, check=True, env=os.environ | {"XDG_CACHE_HOME": str(file.parent / "cache")})
    return file.read_bytes()


def rows_of(file: pathlib.Path):
    match file.suffix:
        case ".arrow":
            return pa.feather.read_table(file)
        case ".parquet":
            return pa.parquet.read_table(file)
    return file.read_text(encoding="utf-8")


def bits(column: pa.ChunkedArray):
    """The bits by which columns are compared: by values NaNs would not be equal, and zeros of both signs would."""
    return column.to_numpy().tobytes() if pa.types.is_floating(column.type) else column.to_pylist()


def what_differs(files: list[pathlib.Path]) -> str:
    """What differs between two files that have different bytes."""
    one, other = (rows_of(file) for file in files)
    if isinstance(one, str):
        return "lines differ"
    if one.schema != other.schema:
        return f"schemas differ: {one.schema} | {other.schema}"
    columns = [name for name in one.column_names if bits(one[name]) != bits(other[name])]
    return f"columns differ: {', '.join(columns)}" if columns else "the same rows, other bytes of the file"


def main() -> int:
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    commands = sys.argv[1:]
    differing = 0
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        for seed, side, rows in ((1, "left", ROWS), (2, "right", ROWS // 20)):
            pa.parquet.write_table(table(seed, rows), folder / f"{side}.parquet")
        found = cases(folder / "left.parquet", folder / "right.parquet")
        for case, (arguments, ending) in found.items():
            files = [folder / f"{side}{ending}" for side in ("one", "other")]
            if result(commands[0], arguments, files[0]) != result(commands[1], arguments, files[1]):
                differing += 1
                print(f"{case}: {what_differs(files)}")
    print(f"{len(found) - differing} of {len(found)} results have the same bytes")
    return 1 if differing else 0


if __name__ == "__main__":
    sys.exit(main())
