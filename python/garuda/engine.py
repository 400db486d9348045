"""The engine: devices, joins and group-bys."""

from __future__ import annotations

import functools
import sys
import threading
from typing import TYPE_CHECKING, Any, List, Mapping, NamedTuple, Optional, Sequence, Union

from . import _arguments, _core, _sql
from ._arguments import Aggregate, Names, On
from ._progress import ProgressOption, reporting
from .errors import UsageError
from .plans import Plan
from .table import Data, JoinBuild, Right, StoredTable, Stream, Table, table_of

if TYPE_CHECKING:
    from typing_extensions import TypedDict, Unpack

    class Options(TypedDict, total=False):
        """How and where a call runs, none of which changes a result: what `garuda.Engine` takes, and `expected_rows`, about,
        for tables on a device."""

        path: str
        device: Union[str, int, None]
        tuning: Union[str, Mapping[str, Any], None]
        memory_limit: Union[str, int, None]
        device_memory_limit: Union[str, int, None]
        threads: Optional[int]
        allow_cuda: bool
        expected_rows: int
        strings: str


class Device(NamedTuple):
    """A device as found, usable or not. A GPU that Vulkan and CUDA know is listed twice.

    Attributes:
        number: what `device=` takes, beside a part of the name.
        name: as its driver says it.
        kind: discrete, integrated, virtual_gpu, cpu (a software driver) or other.
        api: vulkan or cuda.
        api_version: of the device.
        driver: its name and version.
        memory_bytes: the largest heap that it has for itself, or shares with the host.
        unified_memory: whether that is the host's.
        subgroup_size: invocations that run as one.
        usable: whether garuda can run on it.
        reason: why it is not usable, or why it would be chosen.
        same_gpu: of a CUDA device: the Vulkan device that is the same GPU.
        missing_optional: features it lacks, and what runs differently.
        traits: limits, features and formats that garuda uses.
    """

    number: int
    name: str
    kind: str
    api: str
    api_version: str
    driver: str
    memory_bytes: int
    unified_memory: bool
    subgroup_size: int
    usable: bool
    reason: str
    same_gpu: Optional[int]
    missing_optional: List[str]
    traits: Mapping[str, str]


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
        texts = [_arguments.aggregate_text(None, a) for a in aggregates]
        texts += [_arguments.aggregate_text(name, a) for name, a in named.items()]
        wanted = [*self._keys, *sorted(_arguments.columns_read(every) - set(self._keys))]
        rows = table_of("data", self._table, wanted)._held
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
            progress: True for a bar, or a function of a `garuda.Progress`, which stops the run by returning False
                (or what else is false, but None).

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
        """Gives agg()'s groups in batches while they are made."""
        return Stream(self._query(aggregates, named).stream(None))

    def __repr__(self) -> str:
        return f"<garuda.GroupBy by {', '.join(self._keys) or 'nothing'}: agg(name=(column, function)) gives the groups>"

    def explain(self, *aggregates: Aggregate, **named: Aggregate) -> Plan:
        """The plan that `agg` would run, without running it."""
        return Plan(*self._query(aggregates, named).explain())


class Engine:
    """Devices, and how to run on them; the calls of this module use one engine of their own.

    Nothing is looked for before the first call. Safe to use from several threads. Each call takes the same options as
    the engine, and its own count.

    Args:
        device: index or part of a name; None: the fastest by estimate. Software drivers only run when asked for.
        path: "auto", "graphics", "compute", "cuda" or "cpu". An engine of path "cpu" looks for no device.
        memory_limit: memory of the host beside the inputs and a result that is a table, in bytes, or as "2GB",
            "512MiB"; None: three quarters of what is free. A stream's result comes in batches that keep within it.
        threads: 4,096 at most; None: all.
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
        _arguments.require_flags(validation=validation)
        self._validation = validation
        self._opened: Optional[_core.Engine] = None
        self._lock = threading.Lock()
        self._own = self._settings({})

    @property
    def path(self) -> str:
        """The path of calls that name none."""
        return str(self._options["path"])

    def _open(self) -> _core.Engine:
        if self._opened is None:
            with self._lock:
                if self._opened is None:
                    wanted = self._options["path"] != "cpu"
                    self._opened = _core.Engine(vulkan=wanted, cuda=wanted, validation=self._validation)
        return self._opened

    def _settings(self, options: Mapping[str, Any]) -> _core.Settings:
        _arguments.require_options(options or self._options)
        all_ = {**self._options, **options}
        device = all_["device"]
        return _core.Settings(
            path=all_["path"],
            device=None if device is None else str(device),
            tuning=_arguments.tuning_text(all_["tuning"]),
            memory_limit=_arguments.bytes_of(all_["memory_limit"], "memory_limit"),
            device_memory_limit=_arguments.bytes_of(all_["device_memory_limit"], "device_memory_limit"),
            threads=_arguments.whole_number("threads", all_["threads"] or 0, 0, 2**32),
            allow_cuda=all_["allow_cuda"],
            expected_rows=_arguments.whole_number("expected_rows", all_["expected_rows"], 0, 2**64),
            strings=all_["strings"],
        )

    def devices(self, *, cuda: bool = False) -> list[Device]:
        """The devices found; with `cuda` the CUDA ones, too, which takes tenths of a second where there is a driver.

        Raises NoDeviceError when `cuda` finds none, with what is missing.
        """
        _arguments.require_flags(cuda=cuda)
        if cuda:
            self._open().find_cuda_devices()
        return [Device(**described) for described in self._open().devices()]

    def upload(self, data: Data, *, device: Union[str, int, None] = None, progress: ProgressOption = None) -> Table:
        """Copies a table into the memory of a device, to be joined and grouped there.

        Columns are of fixed width, or strings or binary in any layout, dictionaries of them included. Results of such
        tables stay on the device; `Table.download`, or handing them to a library, brings them here.
        Raises NoDeviceError, InvalidInputError (a column of another type), OutOfMemoryError.
        """
        _arguments.require_options({"device": device})
        device = self._options["device"] if device is None else device
        rows = table_of("data", data)._held
        with reporting(progress) as report:
            return Table(self._open().upload(rows, None if device is None else str(device), report))

    def build(
        self, data: Data, keys: Names, *, nulls_equal: bool = False, progress: ProgressOption = None,
        **options: Unpack[Options],
    ) -> JoinBuild:  # fmt: skip
        """Makes the build side of joins: what they take as `right`, and need not encode and index anew each time.

        Args:
            data: a table of the host, or what `garuda.table` makes one of.
            keys: its key columns, at most 16.
            nulls_equal: whether null keys match null keys in these joins.
            progress: as `join` takes it.
            options: threads, memory_limit, and radix_bits of tuning; others change nothing.

        Joins give the rows that they would give without it, on every path; on path "cpu" they look their left rows up
        in the tables that are there. Raises ColumnNotFoundError, UsageError, InvalidInputError, LimitExceededError.

        >>> import garuda
        >>> people = garuda.build({"id": [1, 2, 3], "name": ["Ada", "Bo", "Cy"]}, "id")
        >>> for who in ([1, 1], [3]):
        ...     garuda.join({"id": who}, people, path="cpu", ordered=True).to_pydict()
        {'id': [1, 1], 'name': ['Ada', 'Ada']}
        {'id': [3], 'name': ['Cy']}
        >>> people
        <garuda.JoinBuild of 3 rows by id>
        """
        _arguments.require_flags(nulls_equal=nulls_equal)
        names = _arguments.names_of("keys", keys)
        settings = self._settings(options) if options else self._own
        rows = table_of("data", data)._held
        with reporting(progress) as report:
            return JoinBuild(_core.JoinBuild(self._open(), rows, names, nulls_equal, settings, report), names, nulls_equal)

    def store(self, data: Data, *, progress: ProgressOption = None, **options: Unpack[Options]) -> StoredTable:
        """Makes a table that many queries read, in a form that is smaller than what it stands for.

        Args:
            data: a table of the host, or what `garuda.table` makes one of, whose columns have names of their own.
            progress: as `join` takes it.
            options: threads; others change nothing.

        Strings and binary become codes of a dictionary where they have at most a quarter as many values as rows: groups,
        joins and predicates then look at each value once. Decimals take 32 or 64 bits where their digits fit. Other columns
        are shared. `garuda.sql` scans it and gives the types and rows that it would give for `data`; other calls read it,
        which makes the columns anew. Raises InvalidInputError, OutOfMemoryError, UsageError.

        >>> import garuda
        >>> visits = garuda.store({"city": ["Pune", "Goa"] * 4, "count": range(8)})
        >>> visits
        <garuda.StoredTable of 8 rows: city, count>
        >>> visits.read("city").head(2).to_pydict()
        {'city': ['Pune', 'Goa']}
        """
        settings = self._settings(options) if options else self._own
        rows = table_of("data", data)
        if len(set(rows.column_names)) < rows.num_columns:
            raise UsageError("a stored table has columns of different names")
        with reporting(progress) as report:
            return StoredTable(_core.store(rows._held, settings.threads, report), self)

    def release_memory(self) -> None:
        """Gives back memory of devices and host that is kept for later calls."""
        if self._opened is not None:
            self._opened.release_memory()

    def validation_messages(self) -> list[str]:
        """Messages of the validation layer so far."""
        return self._open().validation_messages()

    def _join(
        self, left: Data, right: Right, on: On, left_on: On, right_on: On, how: str, where: Optional[str],
        columns: Optional[Names], nulls_equal: bool, ordered: bool, allow_cross: bool,
        options: Mapping[str, Any],
    ) -> _core.Join:  # fmt: skip
        _arguments.require_join(how, where, nulls_equal, ordered, allow_cross)
        build = right if isinstance(right, JoinBuild) else None
        if build is not None:
            nulls_equal = nulls_equal or build.nulls_equal
            if on is None and right_on is None:
                left_on, right_on = build.keys if left_on is None else left_on, build.keys
        pairs = _arguments.pairs_of(on, left_on, right_on)
        if not pairs and where is None and not allow_cross:
            raise UsageError("without keys (on) and a condition (where) each row of the left is joined with each of the right, "
                             "which has to be allowed: allow_cross=False")  # fmt: skip
        columns = _arguments.result_columns(columns)
        refs = None if columns is None else [_arguments.column_ref(column) for column in columns]
        settings = self._settings(options) if options else self._own
        sides: list[_core.Table] = []
        for side, (name, data) in enumerate((("left", left), ("right", right))):
            if isinstance(data, JoinBuild):
                if side == 0:
                    raise UsageError("a build side is the right side of a join: left")
                sides.append(data._held.table)
                continue
            wanted = None
            if columns is not None and where is None:
                wanted = [pair[side] for pair in pairs]
                wanted += [c[len(name) + 1 :] for c in columns if c.startswith(name + ".")]
            sides.append(table_of(name, data, wanted and list(dict.fromkeys(wanted)))._held)
        return _core.Join(
            self._open(), sides[0], sides[1], pairs, how, where, refs, nulls_equal, ordered, allow_cross, settings,
            None if build is None else build._held,
        )  # fmt: skip

    def join(
        self, left: Data, right: Right, on: On = None, *, left_on: On = None, right_on: On = None, how: str = "inner",
        where: Optional[str] = None, columns: Optional[Names] = None, nulls_equal: bool = False,
        ordered: bool = False, allow_cross: bool = False, progress: ProgressOption = None,
        **options: Unpack[Options],
    ) -> Table:  # fmt: skip
        """Joins two tables.

        Args:
            left: a table, or what `garuda.table` makes one of: pyarrow, polars, pandas, DuckDB's relations, mappings.
            right: likewise, or what `build` made of one; the keys are then its keys where none are named.
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
            progress: True for a bar, or a function of a `garuda.Progress`, which stops the run by returning False
                (or what else is false, but None).
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
        self, left: Data, right: Right, on: On = None, *, left_on: On = None, right_on: On = None, how: str = "inner",
        where: Optional[str] = None, columns: Optional[Names] = None, nulls_equal: bool = False,
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
        self, left: Data, right: Right, on: On = None, *, left_on: On = None, right_on: On = None, how: str = "inner",
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
        self, left: Data, right: Right, on: On = None, *, left_on: On = None, right_on: On = None, how: str = "inner",
        where: Optional[str] = None, columns: Optional[Names] = None, nulls_equal: bool = False,
        ordered: bool = False, allow_cross: bool = False, **options: Unpack[Options],
    ) -> Plan:  # fmt: skip
        """The plan that `join` would run, without running it: path, device, and a line a candidate with its estimate."""
        query = self._join(
            left, right, on, left_on, right_on, how, where, columns, nulls_equal, ordered, allow_cross, options
        )
        return Plan(*query.explain())

    def group_by(
        self, data: Data, keys: Names = (), *, ordered: bool = False, **options: Unpack[Options]
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
        _arguments.require_flags(ordered=ordered)
        settings = self._settings(options) if options else self._own
        return GroupBy(self, data, _arguments.names_of("keys", keys), ordered, settings)

    def sql(
        self, query: str, *, tables: Optional[Mapping[str, Data]] = None, strict: bool = False,
        progress: ProgressOption = None, **named: Any,
    ) -> Table:  # fmt: skip
        """The rows of a query in SQL, which DataFusion plans and this engine runs: `pip install garuda[sql]`.

        Args:
            query: one statement that only reads. Its tables are those given, files (`from 'orders/*.parquet'`), and
                variables of the caller, in another case, too.
            tables: tables by name, for names that are also options.
            strict: whether an operator that does not run on the path that was asked for is an error (NoDeviceError).
            progress: as `join` takes it.
            named: tables by name, and options. Raises UsageError for a query that cannot be planned or run.

        >>> import garuda
        >>> garuda.sql("select sum(price) as total from sales", sales={"price": [3, 4]}).to_pydict()
        {'total': [7]}
        """
        _arguments.require_flags(strict=strict)
        planned = _sql.planned(self, query, tables, named, sys._getframe(1))
        with reporting(progress) as report:
            return Table(planned.read(self, strict).run(report))

    def explain_sql(
        self, query: str, *, tables: Optional[Mapping[str, Data]] = None, strict: bool = False, **named: Any
    ) -> Plan:
        """The operators that `sql` would run with the same arguments, each with its path, device, reason and rows, about,
        and the query as it is written. Nothing runs; files are read."""
        _arguments.require_flags(strict=strict)
        return Plan(*_sql.planned(self, query, tables, named, sys._getframe(1)).read(self, strict).explain())

    def __repr__(self) -> str:
        given = ", ".join(f"{key}={value!r}" for key, value in self._options.items() if value)
        return f"garuda.Engine({given})"


#: The engine of the calls of this module.
default_engine = Engine()


@functools.lru_cache(maxsize=8)
def worker_engine(options: tuple[tuple[str, Any], ...]) -> Engine:
    """The engine of a worker of Dask or Ray: engines stay where they are."""
    return Engine(**dict(options))
