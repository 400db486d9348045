"""The engine: devices, joins and group-bys."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any, Iterable, List, Mapping, NamedTuple, Optional, Sequence, SupportsIndex, Tuple, Union

from . import _core
from ._progress import ProgressOption, reporting
from .errors import UsageError
from .plans import Plan
from .table import Data, Stream, Table, table

if TYPE_CHECKING:
    from typing_extensions import TypedDict, Unpack

    class Options(TypedDict, total=False):
        """How and where a call runs; none of these changes a result."""

        path: str
        device: Union[str, int, None]
        tuning: Union[str, Mapping[str, Any], None]
        memory_limit: Union[str, int, None]
        device_memory_limit: Union[str, int, None]
        threads: Optional[int]
        allow_cuda: bool
        expected_rows: int
        strings: str


# One name for both sides, or (left, right), or several of these.
On = Union[str, Tuple[str, str], Sequence[Union[str, Tuple[str, str]]], None]
# (column, function), (column, function, parameter or second column), or "count" of rows.
Aggregate = Union[str, Tuple[str, str], Tuple[str, str, Union[str, int, float]]]

_WITH_PARAMETER = {"covar", "covar_pop", "corr", "arg_min", "arg_max", "quantile", "min_n", "max_n"}
_UNITS = {"": 1, "B": 1, "KB": 10**3, "MB": 10**6, "GB": 10**9, "TB": 10**12,
          "KIB": 2**10, "MIB": 2**20, "GIB": 2**30, "TIB": 2**40}  # fmt: skip

# What options may be, and in words.
_TEXT: tuple[Any, str] = (str, "a str")
_SIZE: tuple[Any, str] = ((str, SupportsIndex, type(None)), "a str, an int or None")
_KINDS: dict[str, tuple[Any, str]] = {
    "path": _TEXT, "device": _SIZE, "tuning": ((str, Mapping, type(None)), "a mapping, 'key=value,…' or None"),
    "memory_limit": _SIZE, "device_memory_limit": _SIZE, "threads": ((SupportsIndex, type(None)), "an int or None"),
    "allow_cuda": (bool, "a bool"), "expected_rows": (SupportsIndex, "an int"), "strings": _TEXT}  # fmt: skip


class Device(NamedTuple):
    """A device as found, usable or not. A GPU that Vulkan and CUDA know is listed twice."""

    number: int  #: what `device=` takes, beside a part of the name
    name: str
    kind: str  #: discrete, integrated, virtual_gpu, cpu (a software driver) or other
    api: str  #: vulkan or cuda
    api_version: str
    driver: str
    memory_bytes: int
    unified_memory: bool
    subgroup_size: int
    usable: bool
    reason: str  #: why it is not usable, or why it would be chosen
    same_gpu: Optional[int]  #: of a CUDA device: the Vulkan device that is the same GPU
    missing_optional: List[str]  #: features it lacks, and what runs differently
    traits: Mapping[str, str]  #: limits, features and formats that garuda uses


def _bytes(size: Union[str, int, None], name: str) -> int:
    """Bytes of 10_000, "256MiB", "1.5 GB"; 0 of None."""
    if size is None:
        return 0
    if isinstance(size, str):
        digits = size.rstrip("BKMGTIbkmgti ")
        try:
            size = int(float(digits) * _UNITS[size[len(digits) :].strip().upper()])
        except (KeyError, ValueError, OverflowError):
            raise UsageError(f"{name} must be bytes, as in 1_000_000, '256MiB' or '1.5GB': {size}") from None
    if size <= 0:
        raise UsageError(f"{name} must be positive: {size}")
    return size


def _tuning(tuning: Union[str, Mapping[str, Any], None]) -> str:
    if tuning is None or isinstance(tuning, str):
        return tuning or ""
    return ",".join(f"{key}={value}" for key, value in tuning.items())


def _pairs(on: On, left_on: On, right_on: On) -> list[tuple[str, str]]:
    if on is not None:
        if left_on is not None or right_on is not None:
            raise UsageError("the keys are either on, or left_on and right_on")
        if isinstance(on, str):
            return [(on, on)]
        if isinstance(on, tuple) and len(on) == 2 and all(isinstance(name, str) for name in on):
            return [(str(on[0]), str(on[1]))]
        return [(key, key) if isinstance(key, str) else (key[0], key[1]) for key in on]
    left, right = (([names] if isinstance(names, str) else list(names or [])) for names in (left_on, right_on))
    if len(left) != len(right):
        raise UsageError(f"left_on and right_on must be as many columns: {len(left)} and {len(right)}")
    return [(str(a), str(b)) for a, b in zip(left, right)]


def _column_ref(column: str) -> str:
    """`left.NAME` as the library reads it: NAME stands as it is."""
    side, dot, name = column.partition(".")
    return side + dot + name.replace("\\", "\\\\")


def _escaped(name: str) -> str:
    return "".join("\\" + c if c in "\\,:=" else c for c in name)


def _aggregate(name: Optional[str], given: Aggregate) -> str:
    """FN[:COLUMN[:PARAMETER]][=NAME], as the library parses it."""
    if isinstance(given, str):
        parts = [given]
        if given != "count":
            raise UsageError(f'an aggregate is (column, function), or "count" of rows: {given!r}')
    else:
        column, function, *parameter = given
        if parameter and function not in _WITH_PARAMETER:
            raise UsageError(f"{function} has no third part; {', '.join(sorted(_WITH_PARAMETER))} have: {parameter[0]!r}")
        parts = [function, _escaped(column)]
        parts += [_escaped(p) if isinstance(p, str) else repr(p) for p in parameter]
    return ":".join(parts) + ("" if name is None else "=" + _escaped(name))


def _read_columns(aggregates: Iterable[Aggregate]) -> set[str]:
    read: set[str] = set()
    for given in aggregates:
        if not isinstance(given, str):
            read.add(given[0])
            read.update(p for p in given[2:] if isinstance(p, str))
    return read


class GroupBy:
    """A group-by that is to be given its aggregates: see `garuda.group_by`."""

    __slots__ = ("_engine", "_keys", "_ordered", "_settings", "_table")

    def __init__(self, engine: Engine, data: Data, keys: list[str], ordered: bool, settings: _core.Settings) -> None:
        self._engine = engine
        self._table = data
        self._keys = keys
        self._ordered = ordered
        self._settings = settings

    def _query(
        self, aggregates: tuple[Aggregate, ...], named: dict[str, Aggregate], states: Sequence[str] = ()
    ) -> _core.GroupBy:
        every = [*aggregates, *named.values()]
        texts = [_aggregate(None, a) for a in aggregates] + [_aggregate(name, a) for name, a in named.items()]
        wanted = [*self._keys, *sorted(_read_columns(every) - set(self._keys))]
        rows = table(self._table, columns=wanted)._held
        as_states = [False] * len(aggregates) + [name in states for name in named]
        return _core.GroupBy(
            self._engine._open(), rows, self._keys, ",".join(texts), as_states, self._ordered, self._settings
        )

    def agg(self, *aggregates: Aggregate, progress: ProgressOption = None, **named: Aggregate) -> Table:
        """The groups: a row each, the keys, then the aggregates.

        Args:
            aggregates: (column, function), named `function_column`; or "count" of rows.
            named: `name=(column, function)`. Functions are count, sum, min, max, mean, var, var_pop, std, std_pop,
                covar, covar_pop, corr, count_distinct, first, last, any, bool_and, bool_or, arg_min, arg_max, median,
                quantile, min_n, max_n and product. A third part is the second column of covar, corr, arg_min and
                arg_max, the q of quantile, the number of values of min_n and max_n. A column that is to be called
                `progress` needs the tuple form and a new name.
            progress: True for a bar, or a function of a `garuda.Progress`, which stops the run by returning False.

        Sums are exact: of floats the exact sum rounded once, whatever the order of rows. None at all: the distinct
        keys. Raises ColumnNotFoundError, InvalidInputError (a type, a sum beyond its type), and what `join` raises.

        >>> import garuda
        >>> sales = {"city": ["Goa", "Pune", "Goa"], "price": [1e300, 2.5, -1e300], "day": [1, 2, 3]}
        >>> garuda.group_by(sales, "city", ordered=True).agg(
        ...     "count", total=("price", "sum"), last=("price", "arg_max", "day"), p90=("day", "quantile", 0.9)
        ... ).to_pydict()
        {'city': ['Goa', 'Pune'], 'count': [2, 1], 'total': [0.0, 2.5], 'last': [-1e+300, 2.5], 'p90': [2.8, 2.0]}
        """
        with reporting(progress) as report:
            return Table(self._query(aggregates, named).run(report))

    def stream(self, *aggregates: Aggregate, **named: Aggregate) -> Stream:
        """The same in batches while they are made."""
        return Stream(self._query(aggregates, named).stream(None))

    def explain(self, *aggregates: Aggregate, **named: Aggregate) -> Plan:
        """What `agg` would do, without doing it."""
        return Plan(*self._query(aggregates, named).explain())


class Engine:
    """Devices, and how to run on them; the calls of this module use one engine of their own.

    Nothing is looked for before the first call. Safe to use from several threads. Each call takes the same options as
    the engine, and its own count.

    Args:
        device: index or part of a name; None: the fastest by estimate. Software drivers only run when asked for.
        path: "auto", "graphics", "compute", "cuda" or "cpu". An engine of path "cpu" looks for no device.
        memory_limit: memory of the host beside the inputs, in bytes, or as "2GB", "512MiB"; None: three quarters of
            what is free.
        threads: None: all.
        allow_cuda: whether "auto" may take CUDA where Vulkan has a GPU.
        device_memory_limit: None: what the device offers.
        tuning: {"key": value} or "key=value,…", as `garuda help tuning` lists them; None: nothing is tuned.
        strings: form of a result's columns of strings and binary: "utf8", or "view", which refers to the bytes of
            the inputs and keeps them: nothing is copied.
        validation: Vulkan's validation layer, for `validation_messages()`.

    >>> import garuda
    >>> engine = garuda.Engine(path="cpu", threads=2)
    >>> engine.join({"a": [1, 2], "b": [3, 4]}, {"a": [2], "c": ["x"]}, on="a").to_pydict()
    {'a': [2], 'b': [4], 'c': ['x']}
    """

    def __init__(
        self,
        device: Union[str, int, None] = None,
        *,
        path: str = "auto",
        memory_limit: Union[str, int, None] = None,
        threads: Optional[int] = None,
        allow_cuda: bool = False,
        device_memory_limit: Union[str, int, None] = None,
        tuning: Union[str, Mapping[str, Any], None] = None,
        strings: str = "utf8",
        validation: bool = False,
    ) -> None:
        self._options: dict[str, Any] = {
            "path": path, "device": device, "tuning": tuning, "memory_limit": memory_limit,
            "device_memory_limit": device_memory_limit, "threads": threads, "allow_cuda": allow_cuda,
            "expected_rows": 0, "strings": strings}  # fmt: skip
        self._validation = validation
        self._opened: Optional[_core.Engine] = None
        self._lock = threading.Lock()
        self._own = self._settings({})

    @property
    def path(self) -> str:
        """Of calls that name none."""
        return str(self._options["path"])

    def _open(self) -> _core.Engine:
        if self._opened is None:
            with self._lock:
                if self._opened is None:
                    wanted = self._options["path"] != "cpu"
                    self._opened = _core.Engine(vulkan=wanted, cuda=wanted, validation=self._validation)
        return self._opened

    def _settings(self, options: Mapping[str, Any]) -> _core.Settings:
        unknown = options.keys() - self._options.keys()
        if unknown:
            raise TypeError(f"unknown option {sorted(unknown)[0]!r}; options are {', '.join(self._options)}")
        all_ = {**self._options, **options}
        for name, value in (options or self._options).items():
            kinds, words = _KINDS[name]
            if not isinstance(value, kinds):
                raise UsageError(f"{name} must be {words}: {value!r}")
        threads = all_["threads"] or 0
        if threads < 0:
            raise UsageError(f"threads must be positive: {threads}")
        device = all_["device"]
        return _core.Settings(
            path=all_["path"],
            device=None if device is None else str(device),
            tuning=_tuning(all_["tuning"]),
            memory_limit=_bytes(all_["memory_limit"], "memory_limit"),
            device_memory_limit=_bytes(all_["device_memory_limit"], "device_memory_limit"),
            threads=threads,
            allow_cuda=all_["allow_cuda"],
            expected_rows=all_["expected_rows"],
            strings=all_["strings"],
        )

    def devices(self, *, cuda: bool = False) -> list[Device]:
        """The devices found; with `cuda` the CUDA ones, too, which takes tenths of a second where there is a driver.

        Raises NoDeviceError when `cuda` finds none, with what is missing.
        """
        if cuda:
            self._open().find_cuda_devices()
        return [Device(**described) for described in self._open().devices()]

    def upload(self, data: Data, *, device: Union[str, int, None] = None, progress: ProgressOption = None) -> Table:
        """Copies a table into the memory of a device, to be joined and grouped there.

        Columns are of fixed width, or strings or binary in any layout, dictionaries of them included. Results of such
        tables stay on the device; `Table.download`, or handing them to a library, brings them here.
        Raises NoDeviceError, InvalidInputError (a column of another type), OutOfMemoryError.
        """
        device = self._options["device"] if device is None else device
        with reporting(progress) as report:
            return Table(
                self._open().upload(table(data)._held, None if device is None else str(device), report)
            )

    def release_memory(self) -> None:
        """Gives back memory of devices and host that is kept for later calls."""
        if self._opened is not None:
            self._opened.release_memory()

    def validation_messages(self) -> list[str]:
        """What the validation layer said so far."""
        return self._open().validation_messages()

    def _join(
        self, left: Data, right: Data, on: On, left_on: On, right_on: On, how: str, where: Optional[str],
        columns: Optional[Sequence[str]], nulls_equal: bool, ordered: bool, allow_cross: bool,
        options: Mapping[str, Any],
    ) -> _core.Join:  # fmt: skip
        pairs = _pairs(on, left_on, right_on)
        refs = None if columns is None else [_column_ref(column) for column in columns]
        settings = self._settings(options) if options else self._own
        sides: list[_core.Table] = []
        for side, data in enumerate((left, right)):
            wanted = None
            if columns is not None and where is None:
                prefix = ("left.", "right.")[side]
                wanted = [pair[side] for pair in pairs]
                wanted += [c[len(prefix) :] for c in columns if c.startswith(prefix)]
            sides.append(table(data, columns=wanted and list(dict.fromkeys(wanted)))._held)
        return _core.Join(
            self._open(), sides[0], sides[1], pairs, how, where, refs, nulls_equal, ordered, allow_cross, settings
        )

    def join(
        self, left: Data, right: Data, on: On = None, *, left_on: On = None, right_on: On = None, how: str = "inner",
        where: Optional[str] = None, columns: Optional[Sequence[str]] = None, nulls_equal: bool = False,
        ordered: bool = False, allow_cross: bool = False, progress: ProgressOption = None,
        **options: Unpack[Options],
    ) -> Table:  # fmt: skip
        """Joins two tables.

        Args:
            left: a table, or what `garuda.table` makes one of: pyarrow, polars, pandas, DuckDB's relations, mappings.
            right: likewise.
            on: key columns, at most 16: a name of both tables, a pair (left, right), or a list of these.
            left_on: the left columns of the keys, where the names differ.
            right_on: the right ones, as many.
            how: inner, left, right, full, semi, anti or mark (all left rows and a boolean `mark`: has a match).
            where: what must be true of two rows, besides equal keys, for them to match, as SQL's ON has it:
                "left.a < right.b and not right.c = 'x'".
            columns: of the result, in order: "left.NAME" or "right.NAME"; None: left ones, then right ones without keys.
            nulls_equal: whether null keys match null keys; else they match nothing.
            ordered: rows sorted by (left row, right row); else in any order, but for semi, anti and mark joins of host tables.
            allow_cross: every left row with every right one, where there are neither keys nor `where`.
            progress: True for a bar, or a function of a `garuda.Progress`, which stops the run by returning False.
            options: those of `garuda.Engine` for this call, and `expected_rows`, about, for tables on a device.

        The lock of the interpreter is free while it runs; Ctrl-C stops it. Raises ColumnNotFoundError (a KeyError),
        UsageError and InvalidInputError (ValueErrors), NoDeviceError, OutOfMemoryError and LimitExceededError
        (MemoryErrors), DeviceFailureError, CancelledError: all of them `garuda.Error`.

        >>> import garuda
        >>> orders = {"id": [1, 2, 3], "customer": [7, 8, 7]}
        >>> customers = {"number": [7, 8, 9], "name": ["Ada", "Bo", "Cy"]}
        >>> garuda.join(orders, customers, on=("customer", "number"), ordered=True).to_pydict()
        {'id': [1, 2, 3], 'customer': [7, 8, 7], 'name': ['Ada', 'Bo', 'Ada']}
        >>> garuda.join(customers, orders, on=("number", "customer"), how="anti").to_pydict()
        {'number': [9], 'name': ['Cy']}
        >>> garuda.join(orders, orders, where="left.id < right.id", columns=["left.id", "right.id"], ordered=True)
           id  id_right
        int64     int64
            1         2
            1         3
            2         3
        3 rows
    """
        query = self._join(
            left, right, on, left_on, right_on, how, where, columns, nulls_equal, ordered, allow_cross, options
        )
        with reporting(progress) as report:
            return Table(query.run(report))

    def join_stream(
        self, left: Data, right: Data, on: On = None, *, left_on: On = None, right_on: On = None, how: str = "inner",
        where: Optional[str] = None, columns: Optional[Sequence[str]] = None, nulls_equal: bool = False,
        ordered: bool = False, allow_cross: bool = False, **options: Unpack[Options],
    ) -> Stream:  # fmt: skip
        """The rows of `join` in batches while they are made: what is not read is not kept.

        >>> import garuda
        >>> [len(batch) for batch in garuda.join_stream({"a": [1, 2]}, {"a": [2, 2]}, on="a", path="cpu")]
        [2]
    """
        query = self._join(
            left, right, on, left_on, right_on, how, where, columns, nulls_equal, ordered, allow_cross, options
        )
        return Stream(query.stream(None))

    def join_count(
        self, left: Data, right: Data, on: On = None, *, left_on: On = None, right_on: On = None, how: str = "inner",
        where: Optional[str] = None, nulls_equal: bool = False, allow_cross: bool = False,
        progress: ProgressOption = None, **options: Unpack[Options],
    ) -> int:  # fmt: skip
        """The number of rows that `join` would give; none is made.

        >>> import garuda
        >>> garuda.join_count({"a": [1, 2]}, {"a": [2, 2]}, on="a", how="left")
        3
    """
        query = self._join(
            left, right, on, left_on, right_on, how, where, None, nulls_equal, False, allow_cross, options
        )
        with reporting(progress) as report:
            return query.count(report)[0]

    def explain_join(
        self, left: Data, right: Data, on: On = None, *, left_on: On = None, right_on: On = None, how: str = "inner",
        where: Optional[str] = None, columns: Optional[Sequence[str]] = None, nulls_equal: bool = False,
        ordered: bool = False, allow_cross: bool = False, **options: Unpack[Options],
    ) -> Plan:  # fmt: skip
        """What `join` would do, without doing it: path, device, and a line a candidate with its estimate."""
        query = self._join(
            left, right, on, left_on, right_on, how, where, columns, nulls_equal, ordered, allow_cross, options
        )
        return Plan(*query.explain())

    def group_by(
        self, data: Data, keys: Union[str, Sequence[str]] = (), *, ordered: bool = False, **options: Unpack[Options]
    ) -> GroupBy:
        """Groups rows by `keys`, columns of any type; none: all rows are one group. `agg` of what this gives runs it.

        Args:
            data: a table, or what `garuda.table` makes one of.
            ordered: groups in the order of their first rows; else in any order.
            options: those of `garuda.Engine` for this call.

        Null keys form a group of their own; nulls of other columns are skipped.

        >>> import garuda
        >>> t = {"k": ["x", "y", "x"], "v": [1, 2, 3]}
        >>> garuda.group_by(t, "k", ordered=True).agg(total=("v", "sum"), n="count").to_pydict()
        {'k': ['x', 'y'], 'total': [4, 2], 'n': [2, 1]}
        >>> garuda.group_by(t).agg(mean=("v", "mean")).to_pydict()
        {'mean': [2.0]}
        >>> garuda.group_by(t, "k").explain(total=("v", "sum")).path
        'cpu'
    """
        settings = self._settings(options) if options else self._own
        return GroupBy(self, data, [keys] if isinstance(keys, str) else list(keys), ordered, settings)

    def __repr__(self) -> str:
        given = ", ".join(f"{key}={value!r}" for key, value in self._options.items() if value)
        return f"garuda.Engine({given})"


#: The engine of the calls of this module.
default_engine = Engine()
