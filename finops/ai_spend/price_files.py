"""An account's own AI prices as entered in a form or CSV file. Pure: text in, prices or a clear error out."""

from __future__ import annotations

import csv
import io
import re
from dataclasses import dataclass
from datetime import date, timedelta
from decimal import Decimal
from typing import Final

from finops.ai_spend.models import MAX_MODEL, PRICE_DIGITS, PRICE_PLACES
from finops.ai_spend.naming import ALL_TOKEN_TYPES, model_keys
from finops.lib import clock
from finops.lib.currencies import currency_code
from finops.lib.errors import UserError
from finops.lib.sentences import truncate

COLUMNS: Final = ("model", "token_type", "price_per_million", "currency", "valid_from")
MAX_BYTES: Final = 1024**2
MAX_PRICES: Final = 5_000
"""Prices that an account may have."""
NAMED_ERRORS: Final = 10
FIRST_DAY: Final = date(2020, 1, 1)
MAX_DAYS_AHEAD: Final = 366
_NUMBER: Final = re.compile(rf"\d{{1,{PRICE_DIGITS - PRICE_PLACES}}}(\.\d{{1,{PRICE_PLACES}}})?")
_DAY: Final = re.compile(r"\d{4}-\d{2}-\d{2}")


@dataclass(frozen=True)
class EnteredPrice:
    """A validated price."""

    model: str
    token_type: str
    price_per_million: Decimal
    currency: str
    valid_from: date

    @property
    def model_key(self) -> str:
        return model_keys(self.model)[0]

    @property
    def key(self) -> tuple[str, str, date]:
        return self.model_key, self.token_type, self.valid_from


def checked_price(
    model: str, token_type: str, price_per_million: str, currency: str, valid_from: date
) -> EnteredPrice:
    """Validate a price. Raises UserError, with the field, if it is not valid."""
    name = model.strip()
    if not name or len(name) > MAX_MODEL or not name.isprintable() or not model_keys(name)[0]:
        raise UserError(f"Enter a model of up to {MAX_MODEL} characters.", field="model")
    kind = token_type.strip().lower()
    if kind not in ALL_TOKEN_TYPES:
        raise UserError(
            f"{truncate(kind, 30)!r} is no token type. Token types: {', '.join(ALL_TOKEN_TYPES)}.",
            field="token_type",
        )
    digits = price_per_million.strip()
    if not digits.isascii() or not _NUMBER.fullmatch(digits):
        raise UserError(
            f"{truncate(digits, 30)!r} is not a price such as 2.50, with {PRICE_PLACES} decimals at most.",
            field="price_per_million",
        )
    if not FIRST_DAY <= valid_from <= clock.today() + timedelta(days=MAX_DAYS_AHEAD):
        raise UserError(f"{valid_from} is before {FIRST_DAY} or more than a year ahead.", field="valid_from")
    return EnteredPrice(name, kind, Decimal(digits), currency_code(currency, field="currency"), valid_from)


def prices_of_csv(content: bytes) -> list[EnteredPrice]:
    """Parse the prices of a CSV with the columns COLUMNS. Raises UserError with each invalid line: a file is accepted
    as a whole or not at all."""
    if len(content) > MAX_BYTES:
        raise UserError(f"The file has more than {MAX_BYTES // 1024**2} MB. Split it.", field="file")
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise UserError("The file is not UTF-8 text. Save it as CSV UTF-8.", field="file") from error
    first = text.split("\n", 1)[0]
    reader = csv.DictReader(io.StringIO(text, newline=""), delimiter=max(",;\t", key=first.count))
    reader.fieldnames = [name.strip().lower().replace(" ", "_") for name in reader.fieldnames or []]
    if missing := [name for name in COLUMNS if name not in reader.fieldnames]:
        raise UserError(
            f"Line 1 lacks the column{'s' * (len(missing) > 1)} {', '.join(missing)}. Required: {', '.join(COLUMNS)}.",
            field="file",
        )
    return _prices_of_rows(reader)


def _prices_of_rows(reader: csv.DictReader[str]) -> list[EnteredPrice]:
    prices: dict[tuple[str, str, date], int] = {}
    entered_prices, problems = [], []
    try:
        for row in reader:
            if not any((row[name] or "").strip() for name in COLUMNS):
                continue
            try:
                price = _price_of_row(row)
            except UserError as error:
                problems.append(f"Line {reader.line_num}: {error.message}")
                continue
            if price.key in prices:
                problems.append(
                    f"Line {reader.line_num}: the same model, token type and date as line {prices[price.key]}."
                )
            prices.setdefault(price.key, reader.line_num)
            entered_prices.append(price)
            if len(entered_prices) > MAX_PRICES:
                raise UserError(f"The file has more than {MAX_PRICES:,} prices, the limit.", field="file")
    except csv.Error as error:
        raise UserError(f"Line {reader.line_num}: not valid CSV ({error}).", field="file") from error
    if problems or not entered_prices:
        more = len(problems) - NAMED_ERRORS
        lines = [*problems[:NAMED_ERRORS], *([f"{more} more lines have errors."] if more > 0 else [])]
        raise UserError("\n".join(lines) or "The file has no prices.", field="file")
    return entered_prices


def _price_of_row(row: dict[str, str]) -> EnteredPrice:
    model, token_type, price, currency, day = ((row[name] or "").strip() for name in COLUMNS)
    return checked_price(model, token_type, price, currency, _day(day))


def _day(text: str) -> date:
    try:
        if _DAY.fullmatch(text):
            return date.fromisoformat(text)
    except ValueError:
        pass
    raise UserError(f"{truncate(text, 30)!r} is not a date such as 2026-11-20.", field="valid_from")
