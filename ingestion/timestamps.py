"""Parses timestamps as senders write them, to the microsecond in UTC.

ISO 8601 in all its forms that name a day, else RFC 2822, else dateutil's formats, if the text itself has year, month
and day; or unix seconds or milliseconds. The default zone is UTC. A zone is an offset, an IANA name (Europe/Berlin)
or a name with one offset (CET); a name with several (IST) is rejected, as is a local time that its zone has twice or
never, and a date of two numbers of which either may be the month (03/04/2026); with dots the day is first. Digits
beyond the microsecond are cut off. Years 1 to 9999.
"""

from __future__ import annotations

import functools
import re
from datetime import UTC, datetime, timedelta, timezone, tzinfo
from typing import Final
from zoneinfo import ZoneInfo, available_timezones

from dateutil import parser as dateutil_parser

MAX_LENGTH = 128
"""Maximum length of a date; dateutil's time grows with the text."""

_DATE = r"""(?:\+00)?(?P<year>\d{4})
    (?: -(?P<month>\d\d)-(?P<day>\d\d) | (?P<basic_month>\d\d)(?P<basic_day>\d\d)
      | -?W(?P<week>\d\d)-?(?P<weekday>[1-7]) | -?(?P<ordinal>\d{3}) )"""
_TIME = r"(?P<hour>\d\d)(?: :?(?P<minute>\d\d)(?: :?(?P<second>\d\d))? )? (?:[.,](?P<fraction>\d+))?"
_OFFSET = r"(?P<sign>[+\-\u2212])(?P<offset_hours>\d\d)(?: :?(?P<offset_minutes>\d\d)(?: :?(?P<offset_seconds>\d\d))? )?"
_ISO = re.compile(
    rf"{_DATE} (?: (?:[Tt]|[ ]+) {_TIME} )? (?: [ ]? (?: Z|UTC|GMT | {_OFFSET} ) )?",
    re.ASCII | re.VERBOSE | re.IGNORECASE,
)

_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_RFC_2822 = re.compile(
    rf"""(?: (?:mon|tue|wed|thu|fri|sat|sun) ,? \s+ )? (?P<day>\d\d?) \s+ (?P<month>{"|".join(_MONTHS)}) \s+ (?P<year>\d{{4}})
    \s+ (?P<hour>\d\d?):(?P<minute>\d\d)(?: :(?P<second>\d\d) )?
    (?: \s+ (?: (?P<zone>[a-z]+) | (?P<sign>[+-])(?P<offset_hours>\d\d)(?P<offset_minutes>\d\d) ) )?""",
    re.ASCII | re.VERBOSE | re.IGNORECASE,
)

_ZONES = {
    **dict.fromkeys(("UTC", "UT", "GMT", "Z"), 0),
    "EST": -5,
    "EDT": -4,
    "CST": -6,
    "CDT": -5,
    "MST": -7,
    "MDT": -6,
    "PST": -8,
    "PDT": -7,
    "WET": 0,
    "WEST": 1,
    "CET": 1,
    "CEST": 2,
    "EET": 2,
    "EEST": 3,
    "MSK": 3,
    "JST": 9,
    "KST": 9,
    "AEST": 10,
    "AEDT": 11,
    "NZST": 12,
    "NZDT": 13,
    "HST": -10,
    "AKST": -9,
    "AKDT": -8,
}
"""Zone names that RFC 2822 defines, and names with one worldwide offset, with their hours. IST, BST, AST, ECT and the
like have several and are not included."""

EXAMPLE: Final = "write the offset, as in 2026-11-02T10:00:00+01:00"
_UNIX = re.compile(r"(?P<whole>\d{9,10}|\d{13})(?:[.,](?P<fraction>\d+))?", re.ASCII)
_DIGITS = re.compile(r"\d{9,}(?:[.,]\d+)?", re.ASCII)
_IN_ZONE = re.compile(
    r"(?P<local>.+?) (?: \s* \[ !? (?P<suffix>[A-Za-z][\w+\-/]*) \] | \s+ (?P<name>[A-Za-z][\w+\-]*/[\w+\-/]+) )",
    re.ASCII | re.VERBOSE,
)
_ENDS_IN_ZONE = re.compile(
    rf"(?:[)\]] | \s[\w+\-]+/[\w+\-/]+ | \b(?:{'|'.join(name for name in _ZONES if name not in ('UTC', 'GMT', 'Z'))}) )$",
    re.VERBOSE | re.IGNORECASE,
)
_OWN_OFFSET = re.compile(r"\s*(?:Z|UTC|GMT|[+\-\u2212]\d\d(?::?\d\d)?)$", re.ASCII | re.IGNORECASE)

# `Fri Nov 20 2026 12:00:00 GMT+0100 (Central European Standard Time)`, as JavaScript writes it.
_COMMENT = re.compile(r"((?:[+-]\d\d:?\d\d|UTC|GMT|Z))\s*\([^()]*\)$")
# dateutil reads GMT+0100 as POSIX does, an hour behind UTC; senders mean an hour ahead.
_OF_UTC = re.compile(r"\b(?:UTC|GMT)(?=[+-]\d)")

# `2026-11-20 12:00:00 +0000 UTC m=+0.1`, as Go writes it.
_OF_GO = re.compile(
    r"(?P<iso>\d{4}-\d\d-\d\d\ \d\d:\d\d:\d\d(?:\.\d+)?\ [+-]\d{4}) \ (?:[A-Z]{1,5}|[+-]\d\d(?:\d\d)?) (?:\ m=[+-]\d+\.\d+)?",
    re.ASCII | re.VERBOSE,
)

# `15 Mar -44`: dateutil reads the sign as a separator, and the year 0000 as 2000.
_YEAR_BELOW_0 = re.compile(r"^[^:]*\s[-\u2212]\d")
_YEAR_0 = re.compile(r"\b0{3,}\b")

_DOTTED = re.compile(r"(?<![\d.:])\d{1,2}\.\s?(?P<month>\d{1,2})\.\s?(?:\d{4}|\d{2})(?![\d.:])", re.ASCII)
# dateutil takes the day first also after the year.
_YEAR_FIRST = re.compile(r"^\D*\d{4}\s+\d | (?<!\d)\d{4}\s?([./\-])\s?\d{1,2}\s?\1", re.ASCII | re.VERBOSE)

# Nobody writes 26 Nov 20 with the year first.
_MONTH_NAME = re.compile(rf"(?<![a-z])(?:{'|'.join(_MONTHS)})", re.IGNORECASE)

# Equal only in the time of day: the results differ if the text leaves out a part of the date.
_DEFAULTS = (datetime(2001, 2, 3), datetime(2004, 11, 28))  # noqa: DTZ001 the text may contain a zone


class AmbiguousTimestamp(ValueError):
    """A text with several possible times; the message says what to write instead."""


def parse_timestamp(text: str) -> datetime | None:
    """Return the time in UTC of a text, or None. About 0.3 µs for `2026-11-20T12:00:00Z`, 0.2 ms at worst."""
    # Only texts that fromisoformat reads correctly: it accepts any separator, and reads a fraction of an hour as one of a second.
    if text[16:17] == ":" and text[4] == "-" and text[10] in "Tt ":
        try:
            moment = datetime.fromisoformat(text)
            zone = moment.tzinfo
            if zone is UTC:
                return moment
            if zone is None:
                # Parsed again, because replace takes eight times as long.
                return datetime.fromisoformat(text + "Z")
            if text[-2:] < "60":  # no minute 60 of an offset
                return moment.astimezone(UTC)
        except ValueError:
            return _parse_short(text)
        except OverflowError:
            return None
    return _parse_short(text)


def _parse_short(text: str) -> datetime | None:
    stripped = text.strip()
    result = _parse_other(stripped) if len(stripped) <= MAX_LENGTH else None
    return result if isinstance(result, datetime) else None


def hint(text: str) -> str:
    """Return what to write instead of an ambiguous text; empty for any other."""
    stripped = text.strip()
    result = _parse_other(stripped) if len(stripped) <= MAX_LENGTH else None
    return result if isinstance(result, str) else ""


@functools.lru_cache(maxsize=4096)
def _parse_other(stripped: str) -> datetime | str | None:
    """Return the time; else, for an ambiguous text, what to write instead."""
    try:
        return _parse_moment(stripped)
    except AmbiguousTimestamp as unclear:
        return str(unclear)
    except (ValueError, OverflowError):
        return None


def _parse_moment(stripped: str) -> datetime | None:
    """Parse the text. Raises ValueError and OverflowError for a text that is not a time."""
    if stripped.startswith(("-", "\u2212")):
        raise ValueError("a year below 1, or a number")
    if match := _OF_GO.fullmatch(stripped):
        stripped = match["iso"]
    if match := _ISO.fullmatch(stripped):
        return _from_iso(match.groupdict())
    if _DIGITS.fullmatch(stripped) and not (stripped.isdecimal() and len(stripped) in _DIGITS_OF_DATES):
        return _from_unix(stripped)
    if match := _IN_ZONE.fullmatch(stripped):
        return _from_local(match["local"], match["suffix"] or match["name"], is_suffix=bool(match["suffix"]))
    without_comment = _OF_UTC.sub("", _COMMENT.sub(r"\1", stripped))
    if match := _RFC_2822.fullmatch(without_comment):
        return _from_rfc_2822(match.groupdict())
    return _from_dateutil(without_comment)


_DIGITS_OF_DATES: Final = (12, 14)
"""20261102 alone is ISO; with hours and minutes, or seconds too, dateutil parses it."""


def _from_unix(text: str) -> datetime:
    match = _UNIX.fullmatch(text)
    if not match:
        raise AmbiguousTimestamp("unix times are read in seconds (10 digits) or milliseconds (13)")
    whole, fraction = match["whole"], match["fraction"] or ""
    if len(whole) == 10 and whole[:2] in ("19", "20") and _is_day_and_hour(whole):
        raise AmbiguousTimestamp("it may be unix seconds or a date with its hour; write 2026-11-02T10:00:00Z")
    places = 3 if len(whole) == 13 else 0
    return _EPOCH + timedelta(microseconds=int(f"{whole}{fraction:0<6}"[: len(whole) + 6 - places]))


def _is_day_and_hour(digits: str) -> bool:
    try:
        datetime.strptime(f"{digits}Z", "%Y%m%d%H%z")
    except ValueError:
        return False
    return True


@functools.cache
def _zone_names() -> dict[str, str]:
    return {name.lower(): name for name in available_timezones() if name not in ("Factory", "localtime")}


def _offset_in(text: str) -> re.Match[str] | None:
    """Return the offset, Z, UTC or GMT at the end of a text."""
    match, iso = _OWN_OFFSET.search(text), _ISO.fullmatch(text)
    if iso:
        return match if iso["sign"] or text[-1].isalpha() else None
    return match if ":" in text else None


def _from_local(text: str, name: str, *, is_suffix: bool) -> datetime | None:
    """Return the time of a local time in an IANA zone. An offset beside the zone must be the zone's at that time;
    beside `Z` the zone is only informational (RFC 9557)."""
    zone_name = _zone_names().get(name.lower())
    if zone_name is None:
        raise AmbiguousTimestamp(f"{name[:40]!r} is no IANA time zone; {EXAMPLE}")
    zone, own_offset, moment = ZoneInfo(zone_name), _offset_in(text), _parse_moment(text)
    if _DIGITS.fullmatch(text) or _ENDS_IN_ZONE.search(text) or (own_offset and not is_suffix):
        raise AmbiguousTimestamp(f"it has a zone twice; {EXAMPLE}")
    if own_offset and moment and own_offset[0].strip().upper() in ("Z", "UTC", "GMT"):
        return moment
    local = _parse_moment(text[: own_offset.start()]) if own_offset else moment
    if local is None or moment is None:
        raise ValueError("no moment")
    if own_offset:
        if moment.astimezone(zone).utcoffset() != local - moment:
            raise AmbiguousTimestamp(f"its offset is not that of {zone_name} then; {EXAMPLE}")
        return moment
    offsets = [local.replace(tzinfo=zone, fold=fold).utcoffset() for fold in (0, 1)]
    if offsets[0] is None or offsets[0] != offsets[1]:
        raise AmbiguousTimestamp(f"clocks in {zone_name} show this time twice or never; {EXAMPLE}")
    return local - offsets[0]


def _in_utc(moment: datetime) -> datetime | None:
    try:
        return _EPOCH + (moment - _EPOCH)  # same as astimezone, in a third of the time
    except OverflowError:
        return None


_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def _from_iso(parts: dict[str, str | None]) -> datetime:
    hour, minute, second = (int(parts[name] or 0) for name in ("hour", "minute", "second"))
    smallest = 1 if parts["second"] else 60 if parts["minute"] else 3600
    digits = parts["fraction"] or "0"
    if len(digits) == 2 and not parts["minute"]:
        raise AmbiguousTimestamp("its hour has minutes or a fraction; write 2026-11-02T10:00:00Z")
    fraction = timedelta(microseconds=int(digits) * smallest * 10**6 // 10 ** len(digits))
    # 24:00 is the end of the day, and second 60 a leap second: 00:00 of the next day, second 0 of the next minute.
    if minute > 59 or second > 60 or (hour, minute, second, fraction) > (24, 0, 0, timedelta()):
        raise ValueError("no such time of day")
    time = timedelta(hours=hour, minutes=minute, seconds=second) + fraction
    return _iso_day(parts).replace(tzinfo=UTC) + time - _offset(parts)


def _iso_day(parts: dict[str, str | None]) -> datetime:
    year = int(parts["year"] or 0)
    if parts["week"]:
        return datetime.fromisocalendar(year, int(parts["week"]), int(parts["weekday"] or 0))
    if parts["ordinal"]:
        day = datetime(year, 1, 1, tzinfo=UTC) + timedelta(days=int(parts["ordinal"]) - 1)
        if day.year != year:
            raise ValueError("no such day of the year")
        return day
    month, day_of_month = parts["month"] or parts["basic_month"], parts["day"] or parts["basic_day"]
    return datetime(year, int(month or 0), int(day_of_month or 0), tzinfo=UTC)


def _offset(parts: dict[str, str | None]) -> timedelta:
    if not parts["sign"]:
        return timedelta()
    hours, minutes, seconds = (
        int(parts.get(f"offset_{unit}") or 0) for unit in ("hours", "minutes", "seconds")
    )
    if hours > 23 or minutes > 59 or seconds > 59:
        raise ValueError("no such offset")
    size = timedelta(hours=hours, minutes=minutes, seconds=seconds)
    return size if parts["sign"] == "+" else -size


def _from_rfc_2822(parts: dict[str, str | None]) -> datetime:
    month = _MONTHS.index((parts["month"] or "").lower()) + 1
    second = int(parts["second"] or 0)
    if second > 60:
        raise ValueError("no such second")
    day, hour, minute = (int(parts[name] or 0) for name in ("day", "hour", "minute"))
    moment = datetime(int(parts["year"] or 0), month, day, hour, minute, tzinfo=UTC) + timedelta(
        seconds=second
    )
    zone = _zone(parts["zone"], None) if parts["zone"] else None
    return moment.replace(tzinfo=zone).astimezone(UTC) if zone else moment - _offset(parts)


def _from_dateutil(text: str) -> datetime | None:
    """Parse with dateutil. Raises ValueError if it fails, or if it had to add a part of the date, and
    AmbiguousTimestamp if either of two numbers may be the month."""
    if _YEAR_BELOW_0.search(text):
        raise ValueError("a year below 1")
    dotted = _DOTTED.search(text)
    if dotted and int(dotted["month"]) > 12:
        raise AmbiguousTimestamp("dates with dots begin with the day; write 2026-04-03")
    first, second = (_parse_date(text, default) for default in _DEFAULTS)
    if first != second:
        raise ValueError("no whole date")
    if first.year == 2000 and _YEAR_0.search(text) and "2000" not in text:
        raise ValueError("a year below 1")
    if not _YEAR_FIRST.search(text):
        orders = ("dayfirst",) if dotted or _MONTH_NAME.search(text) else ("dayfirst", "yearfirst")
        readings = [_other_reading(text, order) for order in orders]
        if days := [str(other.date()) for other in readings if other not in (None, first)]:
            raise AmbiguousTimestamp(
                f"it may be several days; write {' or '.join([*days, str(first.date())])}"
            )
    return _in_utc(first if first.tzinfo else first.replace(tzinfo=UTC))


def _parse_date(text: str, default: datetime, **order: bool) -> datetime:
    try:
        moment: datetime = dateutil_parser.parse(text, default=default, tzinfos=_zone, **order)
    except (TypeError, IndexError, AttributeError, ArithmeticError) as error:
        raise ValueError("not a date") from error  # dateutil raises these for some texts
    return moment


def _other_reading(text: str, order: str) -> datetime | None:
    try:
        return _parse_date(text, _DEFAULTS[0], **{order: True})
    except ValueError:
        return None


def _zone(name: str | None, offset: int | None) -> tzinfo | None:
    """Return the zone of a name, an offset in seconds, or both (`GMT+0100`); None for neither."""
    if name is not None and name.upper() not in _ZONES:
        raise AmbiguousTimestamp(f"the zone {name[:40]!r} may mean several offsets, or none; {EXAMPLE}")
    hours = _ZONES[name.upper()] if name else 0
    if offset is None:
        return timezone(timedelta(hours=hours)) if name else None
    if hours:
        raise ValueError("a zone and an offset")
    return timezone(timedelta(seconds=offset))
