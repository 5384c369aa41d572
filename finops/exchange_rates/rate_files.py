"""Parsers of exchange rate files: the CSV that a person uploads, and the XML of the European Central Bank. Pure: text in,
rates or a clear error out."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterator, Sequence
from datetime import date, timedelta
from decimal import Decimal, InvalidOperation
from typing import Any, Final
from xml.parsers import expat

from finops.exchange_rates.models import ExchangeRate
from finops.exchange_rates.rates import EURO, SourceRate
from finops.lake.engine.conversion import RATE_LIMIT, RATE_SCALE
from finops.lib import clock
from finops.lib.currencies import ISO_4217, currency_code
from finops.lib.errors import UserError
from finops.lib.sentences import truncate

MAX_CSV_BYTES: Final = 5 * 1024**2
MAX_XML_BYTES: Final = 10 * 1024**2
MAX_LINES: Final = 100_000
NAMED_ERRORS: Final = 10
FIRST_DAY: Final = date(1990, 1, 1)
MAX_DAYS_AHEAD: Final = 366

_COLUMNS: Final = {
    "date": ("date", "day"),
    "from": ("from", "base", "from currency", "base currency"),
    "to": ("to", "quote", "to currency", "quote currency"),
    "rate": ("rate", "exchange rate"),
}
_DAY = re.compile(r"\d{4}-\d{2}-\d{2}")
_NUMBER = re.compile(r"\d{1,20}(\.\d{1,30})?")


class RateFileError(UserError):
    """A file that is not accepted; the message has a line for each problem."""


def rates_of_csv(content: bytes) -> list[SourceRate]:
    """Parse the rates of a CSV with the columns date, from, to, rate. Raises RateFileError with each invalid line: all of a
    file are accepted, or none."""
    rows = _csv_rows(_csv_text(content))
    places = _places(next(rows, (1, []))[1])
    rates: dict[tuple[date, str, str], tuple[int, SourceRate]] = {}
    problems = []
    for line, row in rows:
        if not any(cell.strip() for cell in row):
            continue
        if len(rates) >= MAX_LINES:
            raise RateFileError(f"The file has more than {MAX_LINES:,} rates. Split it.")
        try:
            rate = _rate_of_row([row[place] if place < len(row) else "" for place in places])
        except UserError as error:
            problems.append(f"Line {line}: {error.message}")
            continue
        first, _ = rates.setdefault((rate.day, rate.base, rate.quote), (line, rate))
        if first != line:
            problems.append(f"Line {line}: {rate.base} to {rate.quote} on {rate.day} is in line {first} too.")
    if problems or not rates:
        raise RateFileError(_problem_text(problems) or "The file has no rates.")
    return [rate for _, rate in rates.values()]


def _csv_text(content: bytes) -> str:
    if len(content) > MAX_CSV_BYTES:
        raise RateFileError(f"The file has more than {MAX_CSV_BYTES // 1024**2} MB. Split it.")
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise RateFileError("The file is not UTF-8 text. Save it as CSV UTF-8.") from error
    if "\x00" in text:
        raise RateFileError("The file is not text. Save it as CSV UTF-8.")
    return text


def _csv_rows(text: str) -> Iterator[tuple[int, list[str]]]:
    first = text.split("\n", 1)[0]
    delimiter = max(",;\t", key=first.count)
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True)
    try:
        for row in reader:
            yield reader.line_num, row
    except csv.Error as error:
        raise RateFileError(f"Line {reader.line_num}: not valid CSV ({error}).") from error


def _places(header: Sequence[str]) -> list[int]:
    names = [re.sub(r"[\s_]+", " ", name).strip().lower() for name in header]
    places, missing = [], []
    for column, spellings in _COLUMNS.items():
        place = next((names.index(each) for each in spellings if each in names), None)
        places.append(place if place is not None else -1)
        missing += [column] if place is None else []
    if missing:
        raise RateFileError(
            f"Line 1 lacks the column{'s' * (len(missing) > 1)} {', '.join(missing)}. Required: date, from, to, rate."
        )
    return places


def _rate_of_row(cells: Sequence[str]) -> SourceRate:
    day, base, quote, rate = (cell.strip() for cell in cells)
    return checked_rate(parse_day(day), base, quote, parse_rate(rate), ExchangeRate.Source.UPLOADED)


def parse_day(text: str) -> date:
    """Parse a day. Raises UserError for text that is no day in the form 2026-11-20."""
    try:
        if _DAY.fullmatch(text):
            return date.fromisoformat(text)
    except ValueError:
        pass
    raise UserError(f"{truncate(text, 30)!r} is not a date such as 2026-11-20.", field="day")


def parse_rate(text: str) -> Decimal:
    """Parse a rate. Raises UserError for text that is no plain number with a decimal point."""
    if not text.isascii() or not _NUMBER.fullmatch(text):
        raise UserError(f"{truncate(text, 30)!r} is not a rate such as 1.0876.", field="rate")
    return Decimal(text)


def checked_rate(day: date, base: str, quote: str, rate: Decimal, source: str) -> SourceRate:
    """Validate the rate of a pair and return it. Raises UserError, with the field, for an invalid one."""
    if not FIRST_DAY <= day <= clock.today() + timedelta(days=MAX_DAYS_AHEAD):
        raise UserError(f"{day} is before {FIRST_DAY} or more than a year ahead.", field="day")
    base, quote = currency_code(base, field="from"), currency_code(quote, field="to")
    if base == quote:
        raise UserError(f"The rate is from {base} to itself.", field="quote")
    exponent = rate.normalize().as_tuple().exponent
    if not isinstance(exponent, int) or not 0 < rate < RATE_LIMIT:
        raise UserError(f"A rate is more than 0 and less than {RATE_LIMIT:,}.", field="rate")
    if -exponent > RATE_SCALE:
        raise UserError(f"A rate has at most {RATE_SCALE} decimals.", field="rate")
    return SourceRate(day, base, quote, rate, source)


def _problem_text(problems: Sequence[str]) -> str:
    named = list(problems[:NAMED_ERRORS])
    more = len(problems) - len(named)
    return "\n".join([*named, f"{more} more lines have errors."] if more else named)


def rates_of_ecb(content: bytes) -> list[SourceRate]:
    """Parse the European Central Bank's file (eurofxref-daily.xml, -hist-90d.xml, -hist.xml), with rates from the euro.

    Raises RateFileError for any other XML, and for one with a document type: entities are never expanded. Currencies that
    ISO 4217 no longer has are left out.
    """
    if len(content) > MAX_XML_BYTES:
        raise RateFileError(f"The file has more than {MAX_XML_BYTES // 1024**2} MB.")
    reader = _EcbReader()
    parser = expat.ParserCreate()
    parser.SetParamEntityParsing(expat.XML_PARAM_ENTITY_PARSING_NEVER)
    parser.StartDoctypeDeclHandler = reader.refuse
    parser.EntityDeclHandler = reader.refuse
    parser.StartElementHandler = reader.start
    try:
        parser.Parse(content, True)
    except expat.ExpatError as error:
        raise RateFileError(f"The file is not XML: {error}.") from error
    except (InvalidOperation, ValueError) as error:
        raise RateFileError("The file has a day or a rate that cannot be read.") from error
    if not reader.rates:
        raise RateFileError("The file has no rates of the European Central Bank.")
    return list(reader.rates.values())


class _EcbReader:
    """Reads elements `Cube`: of a day, with `time`, and in it of a currency, with `currency` and `rate`."""

    def __init__(self) -> None:
        self.rates: dict[tuple[date, str], SourceRate] = {}
        self._day: date | None = None

    def refuse(self, *_: Any) -> None:
        """Raise RateFileError for a document type or entity."""
        raise RateFileError("The file has a document type or entities, not supported.")

    def start(self, name: str, attributes: dict[str, str]) -> None:
        if name.rpartition(":")[2] != "Cube":
            return
        if "time" in attributes:
            self._day = parse_day(attributes["time"])
        code = attributes.get("currency", "")
        if self._day is None or code not in ISO_4217 or code == EURO:
            return
        rate = parse_rate(attributes.get("rate", ""))
        self.rates[self._day, code] = checked_rate(self._day, EURO, code, rate, ExchangeRate.Source.ECB)
