"""The locale and time zone for a person; while a request is served, those of its user."""

from __future__ import annotations

import functools
import zoneinfo
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from datetime import UTC, tzinfo
from typing import Self

from babel import Locale

DEFAULT_LOCALE = "en-US"
DEFAULT_TIME_ZONE = "UTC"

LOCALES = {
    "en-US": "United States",
    "en-GB": "United Kingdom",
    "en-AU": "Australia",
    "en-AT": "Austria",
    "en-BE": "Belgium",
    "en-CA": "Canada",
    "en-DK": "Denmark",
    "en-FI": "Finland",
    "en-DE": "Germany",
    "en-IN": "India",
    "en-IE": "Ireland",
    "en-NL": "Netherlands",
    "en-NZ": "New Zealand",
    "en-SG": "Singapore",
    "en-ZA": "South Africa",
    "en-SE": "Sweden",
    "en-CH": "Switzerland",
}
"""English as it is written in each region: the formats are the region's, the words of the product stay English."""


@dataclass(frozen=True)
class ReaderFormats:
    """A reader's locale (a key of LOCALES) and time zone (an IANA name)."""

    locale: str = DEFAULT_LOCALE
    time_zone: str = DEFAULT_TIME_ZONE

    @classmethod
    def from_names(cls, locale: str, time_zone: str) -> Self:
        """Return the reader's formats, with the default where a name is empty or not supported."""
        return cls(
            locale if locale in LOCALES else DEFAULT_LOCALE,
            time_zone if time_zone in time_zones() else DEFAULT_TIME_ZONE,
        )


_DEFAULT = ReaderFormats()
_active: ContextVar[ReaderFormats | Callable[[], ReaderFormats]] = ContextVar(
    "reader_formats", default=_DEFAULT
)


def active() -> ReaderFormats:
    formats = _active.get()
    if isinstance(formats, ReaderFormats):
        return formats
    formats = formats()
    _active.set(formats)
    return formats


@contextmanager
def reader_formats(locale: str = "", time_zone: str = "") -> Iterator[None]:
    """Format texts inside the block in this locale and time zone; the default where one is empty or not supported."""
    token = _active.set(ReaderFormats.from_names(locale, time_zone))
    try:
        yield
    finally:
        _active.reset(token)


@contextmanager
def lazy_reader_formats(read: Callable[[], ReaderFormats]) -> Iterator[None]:
    """Call `read` for the formats when the first text inside the block is formatted: a block that formats none costs no
    query."""
    token = _active.set(read)
    try:
        yield
    finally:
        _active.reset(token)


@functools.cache
def time_zones() -> frozenset[str]:
    """IANA names of time zones that have a place, and UTC."""
    return frozenset(
        name for name in zoneinfo.available_timezones() if "/" in name and not name.startswith(_NOT_PLACES)
    ) | {DEFAULT_TIME_ZONE}


_NOT_PLACES = ("Etc/", "SystemV/", "posix/", "right/", "US/")


@functools.cache
def cldr(locale: str) -> Locale:
    """Return Babel's CLDR data of the locale."""
    return Locale.parse(locale, sep="-")


def zone(name: str) -> tzinfo:
    return UTC if name == DEFAULT_TIME_ZONE else zoneinfo.ZoneInfo(name)
