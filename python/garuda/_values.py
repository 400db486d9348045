"""Values of the extension's cells as the objects that Python has for them, and as text."""

from __future__ import annotations

import datetime
import decimal
import re
import struct
from typing import Any, Callable, Optional

_TICKS = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}
_EPOCH = datetime.datetime(1970, 1, 1)
_DAY = datetime.date(1970, 1, 1).toordinal()
Convert = Callable[[Any], Any]


def _ticking(ticks: int, made: Callable[[datetime.timedelta], Any]) -> Convert:
    """A function that has `made` convert so many ticks, of which a second has `ticks`."""

    def convert(value: int) -> Any:
        if value * 10**6 % ticks:
            return value  # datetime has no nanoseconds
        try:
            return made(datetime.timedelta(microseconds=value * 10**6 // ticks))
        except OverflowError:
            return value

    return convert


def _timestamp(ticks: int, zone: Optional[datetime.tzinfo]) -> Convert:
    if zone is None:
        return _ticking(ticks, lambda since: _EPOCH + since)
    return _ticking(ticks, lambda since: (_EPOCH + since).replace(tzinfo=datetime.timezone.utc).astimezone(zone))


def _date(value: int) -> Any:
    try:
        return datetime.date.fromordinal(_DAY + value)
    except (OverflowError, ValueError):
        return value


def _time(ticks: int) -> Convert:
    def convert(value: int) -> Any:
        if value * 10**6 % ticks or not 0 <= value < 86_400 * ticks:
            return value
        return (_EPOCH + datetime.timedelta(microseconds=value * 10**6 // ticks)).time()

    return convert


def _decimal(scale: int) -> Convert:
    def convert(value: bytes) -> decimal.Decimal:
        number = int.from_bytes(value, "little", signed=True)
        return decimal.Decimal((int(number < 0), tuple(map(int, str(abs(number)))), -scale))

    return convert


def _zone(name: str) -> datetime.tzinfo:
    import zoneinfo

    try:
        return zoneinfo.ZoneInfo(name)
    except (zoneinfo.ZoneInfoNotFoundError, ValueError):
        return datetime.timezone.utc


def converter(type_name: str) -> Optional[Convert]:
    """The function that makes a cell of a type Python's object; None: it is one already."""
    if type_name.startswith("dictionary<"):
        return converter(type_name.split(", ", 1)[1].removesuffix(">"))
    if type_name.startswith("decimal"):
        return _decimal(int(type_name.rsplit(",", 1)[1].rstrip(") ")))
    if type_name == "float16":
        return lambda value: struct.unpack("<e", value)[0]
    if type_name.startswith("date32"):
        return _date
    if type_name.startswith("date64"):
        return lambda value: _date(value // 86_400_000)
    timed = re.match(r"(timestamp|time32|time64|duration)\[(s|ms|us|ns)(?:, tz=(.*))?\]", type_name)
    if timed is None:
        return None
    ticks = _TICKS[timed[2]]
    if timed[1] == "timestamp":
        return _timestamp(ticks, _zone(timed[3]) if timed[3] else None)
    return _ticking(ticks, lambda since: since) if timed[1] == "duration" else _time(ticks)


def is_number(type_name: str) -> bool:
    return type_name.startswith(("int", "uint", "float", "decimal")) and not type_name.startswith("interval")


def text(value: Any, width: int = 32) -> str:
    """A cell of a printed table: one line of at most `width` characters."""
    if value is None:
        shown = "null"
    elif value is ...:
        shown = "…"
    elif isinstance(value, bool):
        shown = "true" if value else "false"
    elif isinstance(value, bytes):
        shown = "0x" + value[:width].hex()
    else:
        shown = "".join(c if c.isprintable() else " " for c in str(value))
    return shown if len(shown) <= width else shown[: width - 1] + "…"
