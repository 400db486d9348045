"""Bad input gives one sentence that names the thing, the exit code of its kind, and no file left behind."""

from __future__ import annotations

import os
import resource
import time

import pyarrow as pa
import pyarrow.parquet
import pytest
import tables
from command import Garuda, has_written

USAGE, BAD_INPUT, NO_DEVICE, NO_ROOM = 2, 3, 4, 5
NOBODY = 65534


@pytest.fixture
def files(garuda):
    """Two small tables, customers and orders."""
    customers = pa.table({"id": pa.array([1, 2, None], pa.int32()), "customer_name": ["a", "b", "c"]})
    orders = pa.table({"id": pa.array([2, 2, 3], pa.int32()), "total": [1.5, 2.5, 3.5]})
    tables.write(garuda.folder / "customers.parquet", customers)
    tables.write(garuda.folder / "orders.parquet", orders)
    tables.write(garuda.folder / "orders.arrow", orders)
    return garuda


def refused_join(garuda, status, *arguments, **options):
    return garuda.refused(status, "join", *arguments, **options)


def test_missing_file(files):
    for name in ("none.parquet", "none.arrow", "none.csv"):
        assert name in refused_join(files, BAD_INPUT, name, "orders.parquet", "--on", "id", "-o", "out.parquet")
        assert name in refused_join(files, BAD_INPUT, "orders.parquet", name, "--on", "id", "--count")


def test_folder_in_place_of_a_file(files):
    (files.folder / "folder.parquet").mkdir()
    assert "folder.parquet" in refused_join(files, BAD_INPUT, "folder.parquet", "orders.parquet", "--on", "id")


def test_truncated_or_foreign_files(files):
    for name in ("orders.parquet", "orders.arrow"):
        whole = (files.folder / name).read_bytes()
        for content in (b"", whole[:3], whole[: len(whole) // 2], whole[:-1], b"id,total\n1,2\n" * 100):
            bad = f"bad_{name}"
            (files.folder / bad).write_bytes(content)
            sentence = refused_join(files, BAD_INPUT, "customers.parquet", bad, "--on", "id", "-o", "out.csv")
            assert bad in sentence


def test_csv_with_a_wrong_number_of_columns(files):
    (files.folder / "ragged.csv").write_text("id,total\n1,2\n3\n")
    sentence = refused_join(files, BAD_INPUT, "customers.parquet", "ragged.csv", "--on", "id", "-o", "out.parquet")
    assert "ragged.csv" in sentence and "line 3 has 1 column instead of 2" in sentence
    (files.folder / "empty.csv").write_text("")
    assert "empty.csv" in refused_join(files, BAD_INPUT, "customers.parquet", "empty.csv", "--on", "id")


def test_unknown_columns(files):
    sentence = refused_join(files, BAD_INPUT, "customers.parquet", "orders.parquet", "--on", "idd")
    assert "idd" in sentence and "nearest name: id" in sentence
    for option in ("--columns=left.id,right.totl", "--columns=right.totl"):
        sentence = refused_join(files, BAD_INPUT, "customers.parquet", "orders.parquet", "--on", "id", option)
        assert "totl" in sentence and "nearest name: total" in sentence
        assert "orders.parquet" in sentence and "cannot read" not in sentence
        for limit in ([], ["--memory-limit=64MiB"]):
            counted = files.refused(
                BAD_INPUT, "join", "customers.parquet", "orders.parquet", "--on", "id", option, "--count", *limit
            )
            assert "orders.parquet" in counted and "totl" in counted and "nearest name: total" in counted


def test_a_count_may_name_columns(files):
    join = ["customers.parquet", "orders.parquet", "--on", "id", "--count"]
    for limit in ([], ["--memory-limit=64MiB"]):
        named = files.join(*join, "--columns=left.id,right.total", *limit)
        assert named.stdout == files.join(*join).stdout


@pytest.mark.parametrize(
    "values",
    [
        pa.array([(1, 2, 3)], pa.month_day_nano_interval()),
        pa.array([[1]], pa.list_(pa.int32())),
        pa.array([{"a": 1}], pa.struct([("a", pa.int32())])),
        pa.nulls(1),
    ],
)
def test_unsupported_key_types(files, values):
    tables.write(files.folder / "l.arrow", pa.table({"strange": values}))
    sentence = refused_join(files, BAD_INPUT, "l.arrow", "l.arrow", "--on", "strange", "--count")
    assert "'strange' cannot be a join key, whose types are integers, booleans, floats" in sentence


def test_columns_of_nulls_only(files):
    """Columns of nulls as pandas writes them."""
    rows = pa.table({"id": pa.array([2], pa.int32()), "remark": pa.nulls(1)})
    tables.write(files.folder / "n.arrow", rows)
    for options in ([], ["--memory-limit", "1GB"]):
        for join in (["n.arrow", "orders.parquet"], ["orders.parquet", "n.arrow"]):
            assert files.join(*join, "--on", "id", "-o", "out.arrow", *options).returncode == 0
            assert tables.read(files.folder / "out.arrow")["remark"].type == pa.null()


def test_types_that_the_output_cannot_hold(files):
    intervals = pa.table({"id": pa.array([2], pa.int32()), "span": pa.array([(1, 2, 3)], pa.month_day_nano_interval())})
    tables.write(files.folder / "i.arrow", intervals)
    sentence = refused_join(files, BAD_INPUT, "i.arrow", "orders.parquet", "--on", "id", "-o", "out.parquet")
    assert "out.parquet" in sentence and "interval" in sentence
    refused_join(files, BAD_INPUT, "i.arrow", "orders.parquet", "--on", "id", "-o", "out.csv")
    assert files.join("i.arrow", "orders.parquet", "--on", "id", "-o", "out.arrow").returncode == 0


def test_values_that_the_output_cannot_hold(files):
    columns = {
        "out.csv": pa.array([b"\xff\xfe"], pa.binary()),
        "out.parquet": pa.array([2**62], pa.timestamp("s")),
    }
    for output, values in columns.items():
        tables.write(files.folder / "v.arrow", pa.table({"id": pa.array([2], pa.int32()), "v": values}))
        sentence = refused_join(files, BAD_INPUT, "v.arrow", "orders.parquet", "--on", "id", "-o", output)
        assert output in sentence


def test_csv_that_is_not_what_it_seems(files):
    for text, words in {
        b'id,s\n1,"abc\n2,"def\n3,ghi\n': "in line 3 text follows",
        b"id,s\n1,x\n2,Z\xfcrich\n": "column s of line 3 is not UTF-8",
    }.items():
        (files.folder / "bad.csv").write_bytes(text)
        for options in ([], ["--memory-limit", "1GB"]):
            sentence = refused_join(files, BAD_INPUT, "bad.csv", "orders.parquet", "--on", "id", "-o", "o.csv", *options)
            assert "bad.csv" in sentence and words in sentence


def test_csv_keys_beyond_64_bits_with_sign(files):
    (files.folder / "big.csv").write_text("id,a\n18446744073709551615,1\n18446744073709551614,2\n")
    for options in ([], ["--memory-limit", "1GB"]):
        assert files.join("big.csv", "big.csv", "--on", "id", "--count", *options).stdout == "2\n"
    files.group_by("big.csv", "--keys", "id", "-o", "groups.parquet")
    assert tables.read(files.folder / "groups.parquet").num_rows == 2


@pytest.mark.parametrize(
    "arguments",
    [
        [],
        ["nonsense"],
        ["--nonsense"],
        ["join"],
        ["join", "customers.parquet", "orders.parquet"],
        ["join", "customers.parquet", "orders.txt", "--on", "id"],
        ["join", "customers.parquet", "orders.parquet", "--on", ""],
        ["join", "customers.parquet", "orders.parquet", "--on", "id="],
        ["join", "customers.parquet", "orders.parquet", "--on", "a=b=c"],
        ["join", "customers.parquet", "orders.parquet", "--on", "id,id"],
        ["join", "customers.parquet", "orders.parquet", "--on", "id", "surplus"],
        ["join", "customers.parquet", "orders.parquet", "--on", "id", "--columns", "total"],
        ["join", "customers.parquet", "orders.parquet", "--on", "id", "--columns", "right.total,"],
        ["join", "customers.parquet", "orders.parquet", "--on", "id", "--how", "sideways"],
        ["join", "customers.parquet", "orders.parquet", "--on", "id", "--path", "gpu"],
        ["join", "customers.parquet", "orders.parquet", "--on", "id", "--path", "cpu", "--device", "0"],
        ["join", "customers.parquet", "orders.parquet", "--on", "id", "--tuning", "speed=high"],
        ["join", "customers.parquet", "orders.parquet", "--on", "id", "--tuning", "address=maybe"],
        ["join", "customers.parquet", "orders.parquet", "--on", "id", "--memory-limit", "much"],
        ["join", "customers.parquet", "orders.parquet", "--on", "id", "--memory-limit", "0"],
        ["join", "customers.parquet", "orders.parquet", "--on", "id", "--device-memory-limit", "-1"],
        ["join", "customers.parquet", "orders.parquet", "--on", "id", "--threads", "0"],
        ["join", "customers.parquet", "orders.parquet", "--on", "id", "--threads", "many"],
        ["join", "customers.parquet", "orders.parquet", "--on", "id", "--stats=xml"],
        ["join", "customers.parquet", "orders.parquet", "--on", "id", "--count", "-o", "out.csv"],
        ["join", "customers.parquet", "orders.parquet", "--on", "id", "-o", "out.txt"],
        ["join", "customers.parquet", "orders.parquet", "--on", "id", "-o", ""],
        ["join", "customers.parquet", "orders.parquet", "--on", "id", "--columns", ""],
        ["join", "customers.parquet", "orders.parquet", "--on", "id", "--device", ""],
        ["join", "customers.parquet", "orders.parquet", "--on", "id", "--memory-limit", ""],
        ["join", "customers.parquet", "orders.parquet", "--on", "id", "--temp-folder", ""],
        ["join", "customers.parquet", "orders.parquet", "--on", "id\\"],
        ["devices", "surplus"],
        ["explain"],
    ],
)
def test_wrong_usage(files, arguments):
    files.refused(USAGE, *arguments)


def test_no_device_or_path(files, on_lavapipe):
    join = ["customers.parquet", "orders.parquet", "--on", "id", "-o", "out.parquet"]
    assert "graphics" in refused_join(files, NO_DEVICE, *join, "--path", "graphics")
    assert "device" in refused_join(files, NO_DEVICE, *join, "--device", "0")
    for path in ("compute", "cuda"):
        assert path in refused_join(files, NO_DEVICE, *join, "--path", path)
    with_driver = Garuda(files.folder, on_lavapipe.icd)
    assert "99" in refused_join(with_driver, NO_DEVICE, *join, "--path", "graphics", "--device", "99")
    assert "Voodoo" in refused_join(with_driver, NO_DEVICE, *join, "--device", "Voodoo")


def test_auto_without_a_device_is_the_cpu(files):
    done = files.join("customers.parquet", "orders.parquet", "--on", "id", "--count")
    assert done.stdout == "2\n" and "cpu path" in done.stderr


def test_memory_limits_that_cannot_be_kept(files, on_lavapipe):
    join = ["customers.parquet", "orders.parquet", "--on", "id", "-o", "out.parquet"]
    refused_join(files, NO_ROOM, *join, "--memory-limit", "1")
    for path in ("graphics", "compute"):
        on_device = Garuda(files.folder, on_lavapipe.icd, path)
        refused_join(on_device, NO_ROOM, *join, "--device-memory-limit", "1KiB")


def test_output_folder_missing(files):
    join = ["customers.parquet", "orders.parquet", "--on", "id", "-o"]
    assert "none/out.csv" in refused_join(files, NO_ROOM, *join, "none/out.csv")
    (files.folder / "folder.csv").mkdir()
    assert "folder.csv" in refused_join(files, NO_ROOM, *join, "folder.csv")


def test_output_folder_and_input_without_permission(files):
    user = {"user": NOBODY, "group": NOBODY, "extra_groups": []} if os.geteuid() == 0 else {}
    closed = files.folder / "closed"
    closed.mkdir()
    for folder in (files.folder, *files.folder.parents[:2]):
        folder.chmod(0o755)
    closed.chmod(0o555)
    secret = files.folder / "secret.parquet"
    secret.write_bytes((files.folder / "orders.parquet").read_bytes())
    secret.chmod(0)
    try:
        usable = files.run("--version", **user).returncode == 0
    except PermissionError:
        usable = False
    if not usable:
        pytest.skip("an ordinary user cannot run the command from where it was built")
    join = ["customers.parquet", "orders.parquet", "--on", "id", "-o", "closed/out.parquet"]
    assert "closed/out.parquet" in refused_join(files, NO_ROOM, *join, **user)
    assert list(closed.iterdir()) == []
    assert "secret.parquet" in refused_join(files, BAD_INPUT, "secret.parquet", "orders.parquet", "--on", "id", **user)


@pytest.mark.parametrize("output", ["out.parquet", "out.arrow", "out.csv"])
def test_full_disk(files, output):
    """A limit on the size of files stands for the disk: in both cases write(2) fails in the middle."""
    equal_keys = pa.table({"k": pa.array([1] * 1_000, pa.int32()), "a": range(1_000)})
    tables.write(files.folder / "equal.parquet", equal_keys)

    def small_files():
        resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, 100_000))

    join = ["equal.parquet", "equal.parquet", "--on", "k", "-o", output]
    sentence = refused_join(files, NO_ROOM, *join, preexec_fn=small_files)
    assert sentence.endswith(f"{output}: file too large")


def test_full_standard_output(files):
    with open("/dev/full", "w", encoding="ascii") as full:
        done = files.run("join", "customers.parquet", "orders.parquet", "--on", "id", "--quiet", stdout=full)
    assert done.returncode == NO_ROOM and "no space left" in done.stderr


def test_reader_of_standard_output_gone(files):
    read_end, write_end = os.pipe()
    os.close(read_end)
    with os.fdopen(write_end) as closed:
        done = files.run("join", "customers.parquet", "orders.parquet", "--on", "id", "--quiet", stdout=closed)
    assert (done.returncode, done.stderr) == (NO_ROOM, "")


def test_an_existing_output_survives_a_failed_run(files):
    (files.folder / "out.parquet").write_text("precious")
    join = ["customers.parquet", "orders.parquet", "--on", "id", "-o", "out.parquet", "--memory-limit", "1"]
    refused_join(files, NO_ROOM, *join)
    assert (files.folder / "out.parquet").read_text() == "precious"


def test_a_mapped_file_that_becomes_shorter(garuda):
    """Reads of a mapped file that was cut off give a sentence, and no output."""
    equal_keys = pa.table({"k": pa.array([7] * 40_000, pa.int32()), "a": range(40_000)})
    tables.write(garuda.folder / "equal.arrow", equal_keys, batch_rows=40_000)
    with garuda.start("join", "equal.arrow", "equal.arrow", "--on", "k", "-o", "out.parquet") as process:
        for _ in range(600):
            if has_written(process.pid, garuda.folder):
                break
            assert process.poll() is None, process.communicate()
            time.sleep(0.05)
        os.truncate(garuda.folder / "equal.arrow", 0)
        _, messages = process.communicate(timeout=60)
    assert process.returncode == BAD_INPUT, messages
    assert messages.endswith("garuda: an input file became shorter while it was read\n")
    assert [path.name for path in garuda.folder.iterdir()] == ["equal.arrow"]
