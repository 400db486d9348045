"""Arguments of calls: what each may be, in words, and as the extension takes them."""

from __future__ import annotations

import operator
import reprlib
from typing import Any, Iterable, KeysView, Mapping, Optional, Sequence, SupportsFloat, SupportsIndex, Tuple, Union

from .errors import UsageError

# One name for both sides, or (left, right), or several of these.
On = Union[str, Tuple[str, str], Sequence[Union[str, Tuple[str, str]]], None]
# One name, or several.
Names = Union[str, Sequence[str]]
# (column, function), (column, function, parameter or second column), or "count" of rows.
Aggregate = Union[str, Tuple[str, str], Tuple[str, str, Union[str, int, float]]]

_WITH_PARAMETER = {"covar", "covar_pop", "corr", "arg_min", "arg_max", "quantile", "min_n", "max_n"}
_AGGREGATE = '(column, function), (column, function, parameter), or "count" of rows'
_UNITS = {"": 1, "B": 1, "KB": 10**3, "MB": 10**6, "GB": 10**9, "TB": 10**12,
          "KIB": 2**10, "MIB": 2**20, "GIB": 2**30, "TIB": 2**40}  # fmt: skip
_SHOWN = 80  # characters of a value
# Kinds of joins whose rows can be divided by their keys.
_DIVISIBLE = ("inner", "left", "right", "full", "semi", "anti")

# The type of each option, and its name in words.
_TEXT: tuple[Any, str] = (str, "a str")
_SIZE: tuple[Any, str] = ((str, SupportsIndex, type(None)), "a str, an int or None")
_FLAG: tuple[Any, str] = (bool, "a bool")
_KINDS: dict[str, tuple[Any, str]] = {
    "path": _TEXT, "device": _SIZE, "tuning": ((str, Mapping, type(None)), "a mapping, 'key=value,…' or None"),
    "memory_limit": _SIZE, "device_memory_limit": _SIZE, "threads": ((SupportsIndex, type(None)), "an int or None"),
    "allow_cuda": _FLAG, "expected_rows": (SupportsIndex, "an int"), "strings": _TEXT}  # fmt: skip


def wrong(name: str, words: str, value: object) -> UsageError:
    """The error that says what an argument must be, and what it is, on one line."""
    text = repr(value) if isinstance(value, str) else " ".join(reprlib.repr(value).split())
    return UsageError(f"{name} must be {words}: {text if len(text) <= _SHOWN else text[: _SHOWN - 1] + '…'}")


def require(name: str, value: object, kinds: Any, words: str) -> None:
    """Raises UsageError unless `value` is of `kinds`. A bool is no number."""
    if not isinstance(value, kinds) or (isinstance(value, bool) and kinds is not bool):
        raise wrong(name, words, value)


def require_flags(**flags: object) -> None:
    for name, value in flags.items():
        if value is not True and value is not False:
            raise wrong(name, "a bool", value)


def require_options(options: Mapping[str, Any]) -> None:
    """Checks the options of a call. Raises TypeError for one that is unknown."""
    unknown = [name for name in options if name not in _KINDS]
    if unknown:
        raise TypeError(f"unknown option {unknown[0]!r}; options are {', '.join(_KINDS)}")
    for name, value in options.items():
        require(name, value, *_KINDS[name])


def whole_number(name: str, value: Any, least: int, below: int = 2**63) -> int:
    """`value` as an int. Raises UsageError unless it is an integer of [least, below)."""
    if isinstance(value, bool) or not hasattr(type(value), "__index__"):
        raise wrong(name, f"an int from {least} on", value)
    number = operator.index(value)
    if number < least:
        raise wrong(name, f"an int from {least} on", number)
    if number >= below:
        raise wrong(name, f"below 2**{below.bit_length() - 1}", number)
    return number


def bytes_of(size: Union[str, int, None], name: str) -> int:
    """Bytes that a size such as 10_000, "256MiB" or "1.5 GB" stands for; None stands for 0."""
    if size is None:
        return 0
    if isinstance(size, str):
        digits = size.rstrip("BKMGTIbkmgti ")
        try:
            number = int(float(digits) * _UNITS[size[len(digits) :].strip().upper()])
        except (KeyError, ValueError, OverflowError):
            raise UsageError(f"{name} must be bytes, as in 1_000_000, '256MiB' or '1.5GB': {size}") from None
    else:
        number = operator.index(size)
    if number <= 0:
        raise UsageError(f"{name} must be positive: {size}")
    if number >= 2**64:
        raise UsageError(f"{name} must be below 2**64 bytes: {size}")
    return number


def tuning_text(tuning: Union[str, Mapping[str, Any], None]) -> str:
    if tuning is None or isinstance(tuning, str):
        return tuning or ""
    return ",".join(f"{key}={value}" for key, value in tuning.items())


def worker_options(options: Optional[Mapping[str, Any]]) -> tuple[tuple[str, Any], ...]:
    """Options of an engine that is made elsewhere, in a form that can be hashed."""
    require("options", options, (Mapping, type(None)), "a mapping of garuda.Engine's options, or None")
    given = dict(options or {})
    require_options(given)
    if isinstance(given.get("tuning"), Mapping):
        given["tuning"] = tuning_text(given["tuning"])
    return tuple(sorted(given.items()))


def worker_join(
    on: On, left_on: On, right_on: On, how: str, nulls_equal: bool, options: Optional[Mapping[str, Any]]
) -> tuple[list[tuple[str, str]], tuple[tuple[str, Any], ...]]:
    """The key columns of a join whose rows are divided among workers, and the options of these."""
    require_join(how, None, nulls_equal)
    pairs = pairs_of(on, left_on, right_on)
    if how not in _DIVISIBLE or not pairs:
        raise UsageError(f"how must be one of {', '.join(_DIVISIBLE)}, with keys: {how}")
    return pairs, worker_options(options)


def _listed(given: Any) -> Optional[list[Any]]:
    """The items of a list, or of an array or index of names; None for anything else, a mapping or a set included."""
    if isinstance(given, (list, tuple)):
        return list(given)
    if isinstance(given, (Sequence, KeysView)) or hasattr(given, "tolist"):
        return list(given)
    return None


def names_of(name: str, given: Any, words: str = "a column or a list of columns") -> list[str]:
    """A list of the names that are given: one, or several."""
    if isinstance(given, str):
        return [given]
    listed = _listed(given)
    if listed is None or not all(isinstance(item, str) for item in listed):
        raise wrong(name, words, given)
    return listed


def optional_names(name: str, given: Any) -> Optional[list[str]]:
    return None if given is None else names_of(name, given, "a column, a list of columns or None")


def pairs_of(on: On, left_on: On, right_on: On) -> list[tuple[str, str]]:
    """Names of the key columns on the left and on the right."""
    if on is not None:
        if left_on is not None or right_on is not None:
            raise UsageError("the keys are either on, or left_on and right_on")
        if isinstance(on, str):
            return [(on, on)]
        if isinstance(on, tuple) and len(on) == 2 and all(isinstance(name, str) for name in on):
            return [(str(on[0]), str(on[1]))]
        listed = _listed(on)
        if listed is None:
            raise wrong("on", "a column, a pair (left, right), or a list of these", on)
        return [_pair(key, on) for key in listed]
    left, right = (
        [] if names is None else names_of(name, names) for name, names in (("left_on", left_on), ("right_on", right_on))
    )
    if len(left) != len(right):
        raise UsageError(f"left_on and right_on must be as many columns: {len(left)} and {len(right)}")
    return list(zip(left, right))


def _pair(key: Any, on: object) -> tuple[str, str]:
    if isinstance(key, str):
        return key, key
    if isinstance(key, (list, tuple)) and len(key) == 2 and all(isinstance(name, str) for name in key):
        return key[0], key[1]
    raise wrong("on", "a column, a pair (left, right), or a list of these", on)


def require_join(
    how: object, where: object, nulls_equal: object, ordered: object = False, allow_cross: object = False
) -> None:
    if isinstance(how, str) and (where is None or isinstance(where, str)) and (
        type(nulls_equal) is type(ordered) is type(allow_cross) is bool
    ):  # fmt: skip
        return
    if not isinstance(how, str):
        raise wrong("how", "inner, left, right, full, semi, anti or mark", how)
    if where is not None and not isinstance(where, str):
        raise wrong("where", "a condition, as in 'left.a < right.b', or None", where)
    require_flags(nulls_equal=nulls_equal, ordered=ordered, allow_cross=allow_cross)


def column_ref(column: str) -> str:
    """`left.NAME` as the library reads it: NAME stands as it is."""
    side, dot, name = column.partition(".")
    return side + dot + name.replace("\\", "\\\\")


def result_columns(columns: Any) -> Optional[list[str]]:
    return None if columns is None else names_of("columns", columns, "a list of 'left.NAME' and 'right.NAME', or None")


def _escaped(name: str) -> str:
    return "".join("\\" + c if c in "\\,:=" else c for c in name)


def _parameter(given: Any, aggregate: object) -> str:
    """A number or a column."""
    if isinstance(given, str):
        return _escaped(given)
    if not isinstance(given, bool):
        if isinstance(given, SupportsIndex):
            return repr(operator.index(given))
        if isinstance(given, SupportsFloat):
            return repr(float(given))
    raise wrong("the third part of an aggregate", "a number or a column", aggregate)


def aggregate_text(name: Optional[str], given: Aggregate) -> str:
    """FN[:COLUMN[:PARAMETER]][=NAME], as the library parses it."""
    argument = "an aggregate" if name is None else name
    if isinstance(given, str):
        parts = [given]
        if given != "count":
            raise wrong(argument, _AGGREGATE, given)
    else:
        if not isinstance(given, (tuple, list)) or len(given) not in (2, 3) or not all(
            isinstance(part, str) for part in given[:2]
        ):  # fmt: skip
            raise wrong(argument, _AGGREGATE, given)
        column, function, *parameter = given
        if parameter and function not in _WITH_PARAMETER:
            raise UsageError(f"{function} has no third part; {', '.join(sorted(_WITH_PARAMETER))} have: {parameter[0]!r}")
        parts = [function, _escaped(column)]
        parts += [_parameter(p, given) for p in parameter]
    return ":".join(parts) + ("" if name is None else "=" + _escaped(name))


def columns_read(aggregates: Iterable[Aggregate]) -> set[str]:
    """Columns that aggregates read. Requires: each has passed aggregate_text."""
    read: set[str] = set()
    for given in aggregates:
        if not isinstance(given, str):
            read.add(given[0])
            read.update(p for p in given[2:] if isinstance(p, str))
    return read
