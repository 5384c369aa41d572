"""Amounts, numbers, shares and quantities in the reader's locale.

The symbols are CLDR's, loaded once a locale. This module and `static/js/lib/numbers.js` follow the same rules: halves are
rounded away from zero, and the sign, always U+2212, comes first.
"""

from __future__ import annotations

import functools
import re
from dataclasses import dataclass
from decimal import ROUND_HALF_UP, Context, Decimal
from typing import Any

from babel.numbers import get_currency_precision

from finops.lib.formats import locales

Number = Decimal | float

MINUS = "\N{MINUS SIGN}"
NO_BREAK_SPACE = "\N{NO-BREAK SPACE}"
PRICE_DIGITS = 4
"""Significant digits of the price of one unit."""

_SMALL_DIGITS = 3
_HEADLINE_FROM = 10_000
_LEVEL = Decimal("0.0005")
_TENTH = Decimal("0.1")
_WIDE = Context(prec=80, rounding=ROUND_HALF_UP)


@dataclass(frozen=True)
class Symbols:
    """A locale's number symbols. `compact` are (power of ten, suffix), largest first."""

    decimal: str
    group: str
    grouping: tuple[int, int]
    compact: tuple[tuple[int, str], ...]
    percent: tuple[str, str]


@dataclass(frozen=True)
class CurrencyAffixes:
    """The texts before and after an amount, and its decimals."""

    prefix: str
    suffix: str
    digits: int


@functools.cache
def symbols(locale: str) -> Symbols:
    """Return a locale's number symbols from CLDR."""
    data = locales.cldr(locale)
    signs = data.number_symbols["latn"]
    groups = re.split(r"[,.]", data.decimal_formats[None].pattern.partition(".")[0])
    primary = len(groups[-1])
    secondary = len(groups[-2]) if len(groups) > 2 else primary
    compact = data.compact_decimal_formats["short"]["other"]
    percent = re.match(r"([^#0]*)[#0,.]+(.*)", data.percent_formats[None].pattern)
    return Symbols(
        decimal=signs["decimal"],
        group=signs["group"],
        grouping=(primary, secondary),
        compact=tuple(
            (len(power) - 1, suffix)
            for power in sorted(compact, key=len, reverse=True)
            if (suffix := compact[power].pattern.lstrip("0"))
            and len(compact[power].pattern) == len(suffix) + 1
        ),
        percent=(percent[1], percent[2]) if percent else ("", "%"),
    )


@functools.cache
def currency_affixes(currency: str, locale: str) -> CurrencyAffixes:
    """Return the locale's symbol of a currency, else its code; without a currency the name of the unit, after the number."""
    data = locales.cldr(locale)
    if currency not in data.currencies:
        return CurrencyAffixes("", f"{NO_BREAK_SPACE}{currency}" if currency else "", 2)
    symbol = data.currency_symbols.get(currency, currency)
    pattern = data.currency_formats["standard"].pattern.partition(";")[0]
    before, after = re.split(r"[#0][#0,.]*", pattern, maxsplit=1)
    prefix, suffix = before.replace("¤", symbol), after.replace("¤", symbol)
    # CLDR's currencySpacing: letters do not touch digits.
    if prefix[-1:].isalpha():
        prefix += NO_BREAK_SPACE
    if suffix[:1].isalpha():
        suffix = NO_BREAK_SPACE + suffix
    return CurrencyAffixes(prefix, suffix, get_currency_precision(currency))


def browser_symbols() -> dict[str, Any]:
    """Return the reader's symbols for `setSymbols` of static/js/lib/numbers.js."""
    own = symbols(locales.active().locale)
    return {
        "decimal": own.decimal,
        "group": own.group,
        "grouping": own.grouping,
        "compact": own.compact,
        "percent": own.percent,
    }


def browser_unit(currency: str) -> dict[str, Any]:
    """Return the texts that charts show around the amounts of a currency."""
    affixes = currency_affixes(currency, locales.active().locale)
    return {"prefix": affixes.prefix, "suffix": affixes.suffix, "digits": affixes.digits}


def money(amount: Number, currency: str) -> str:
    """`$1,234.50`, in the decimals of the currency; an amount below its smallest coin keeps three significant digits."""
    return _with_currency(Decimal(str(amount)), currency)


def signed_money(amount: Number, currency: str) -> str:
    """`+$1,234.50`, `−$3.00`; zero has no sign."""
    text = money(amount, currency)
    return f"+{text}" if amount > 0 else text


def headline(amount: Number, currency: str) -> str:
    """`$196.1K`: an amount for tiles and axes; below 10,000 formatted as `money` does."""
    value = Decimal(str(amount))
    if value.copy_abs() < _HEADLINE_FROM:
        return _with_currency(value, currency)
    affixes = currency_affixes(currency, locales.active().locale)
    return _around(_compact(value.copy_abs()), affixes.prefix, affixes.suffix, value)


def signed_headline(amount: Number, currency: str) -> str:
    """`+$196.1K`: a change, for tiles."""
    text = headline(amount, currency)
    return f"+{text}" if amount > 0 else text


def price(amount: Number, currency: str) -> str:
    """The price of one unit: four significant digits where two decimals would hide them, as in `$0.04213`."""
    value = Decimal(str(amount))
    affixes = currency_affixes(currency, locales.active().locale)
    if not value or value.copy_abs() >= 10:
        return _with_currency(value, currency)
    text = _significant(value.copy_abs(), PRICE_DIGITS, affixes.digits)
    return _around(text, affixes.prefix, affixes.suffix, value)


def number(value: Number, places: int = 6) -> str:
    """`1,234.5`: a count or quantity without trailing zeros; a number too small for `places` decimals keeps three
    significant digits."""
    exact = Decimal(str(value))
    size = exact.copy_abs()
    if size and size < Decimal(1).scaleb(-places):
        return _around(_significant(size, _SMALL_DIGITS, 0), "", "", exact)
    return _around(_digits(size, 0, places), "", "", exact)


def compact(value: Number) -> str:
    """`4.4M`; below 10,000 the number with at most two decimals."""
    exact = Decimal(str(value))
    if exact.copy_abs() < _HEADLINE_FROM:
        return number(exact, 2)
    return _around(_compact(exact.copy_abs()), "", "", exact)


def quantity(value: Number, unit: str | None, *, short: bool = False, places: int = 6) -> str:
    """`4,412,000 documents`, `1 document`; `short`: `4.4M documents`."""
    text = compact(value) if short else number(value, places)
    return f"{text} {plural(unit, value)}" if unit else text


def percent(ratio: Number) -> str:
    """0.3233 → `32.3%`; a share that would be rounded to nothing is `<0.1%`, one that would be rounded to all `>99.9%`."""
    value = Decimal(str(ratio)) * 100
    size = value.copy_abs()
    if size and size < _TENTH / 2:
        return f"{'<' if value > 0 else '>'}{_percent(_TENTH, value)}"
    if 100 - _TENTH / 2 <= size < 100:
        return f"{'>' if value > 0 else '<'}{_percent(100 - _TENTH, value)}"
    return _percent(size, value)


def _percent(size: Decimal, value: Decimal) -> str:
    return _around(_digits(size, 0, 1), *symbols(locales.active().locale).percent, value)


def change(ratio: Number) -> str:
    """`+4.2%`, `−4.2%`; `0%` for a change that rounds to zero at a tenth of a percent."""
    value = Decimal(str(ratio))
    if value.copy_abs() < _LEVEL:
        value = Decimal(0)
    return f"+{_percent(value * 100, value)}" if value > 0 else percent(value)


def is_level(ratio: Number) -> bool:
    """Whether a change is shown as 0%."""
    return Decimal(str(ratio)).copy_abs() < _LEVEL


def plural(unit: str, count: Number) -> str:
    """A unit after a count: `documents`, for one `document`. Symbols of units (`GB`, `kWh`) do not change."""
    if not _COUNTED.fullmatch(unit) or unit in _UNCOUNTED:
        return unit
    if count in (1, -1):
        return _IES.sub("y", unit) if unit.endswith("ies") else _PLURAL.sub("", unit)
    if unit.endswith("s"):
        return unit
    return f"{unit}es" if unit.endswith(("ch", "sh", "x")) else _Y.sub("ie", unit) + "s"


def plural_of(noun: str) -> str:
    """The plural of a noun of ours, of several words too: `saved view`, `delivery`, `batch`, `alias`."""
    if noun.endswith(("ias", "ch", "sh", "x")):
        return f"{noun}es"
    return noun if noun.endswith("s") else _Y.sub("ie", noun) + "s"


# Words of at least four letters; shorter ones are symbols of units as often as words.
_COUNTED = re.compile(r"[a-z]{4,}|row|day|job|seat|user|call|hour")
_UNCOUNTED = frozenset(
    [
        "bytes",
        "storage",
        "traffic",
        "data",
        "info",
        "bandwidth",
        "usage",
        "gibibytes",
        "compute",
        "vcpu",
        "celsius",
    ]
)
_IES = re.compile(r"ies$")
_PLURAL = re.compile(r"(?<![su])s$")
_Y = re.compile(r"(?<![aeiou])y$")


def filesize(count: int) -> str:
    """Format bytes in the largest unit that leaves a whole part: `12.3 MB` (units of 1,000)."""
    size, unit = Decimal(count), "B"
    for larger in ("kB", "MB", "GB", "TB"):
        if size < 1000:
            break
        size, unit = size / 1000, larger
    return f"{_digits(size, int(unit != 'B'), int(unit != 'B'))} {unit}"


def _with_currency(value: Decimal, currency: str) -> str:
    affixes = currency_affixes(currency, locales.active().locale)
    size = value.copy_abs()
    if size and size < Decimal(1).scaleb(-affixes.digits):
        text = _significant(size, _SMALL_DIGITS, 0)
    else:
        text = _digits(size, affixes.digits, affixes.digits)
    return _around(text, affixes.prefix, affixes.suffix, value)


def _around(text: str, prefix: str, suffix: str, value: Decimal) -> str:
    """Add prefix, suffix and a minus, which a number shown as zero does not get."""
    is_negative = value < 0 and any(each in "123456789" for each in text)
    return f"{MINUS if is_negative else ''}{prefix}{text}{suffix}"


def _compact(size: Decimal) -> str:
    own = symbols(locales.active().locale)
    smaller: tuple[int, str] = (0, "")
    for power, suffix in reversed(own.compact):
        if size < Decimal(1).scaleb(power):
            break
        smaller = (power, suffix)
    power, suffix = smaller
    rounded = size.scaleb(-power, _WIDE).quantize(Decimal("0.1"), context=_WIDE)
    larger = next(((up, text) for up, text in reversed(own.compact) if up > power), None)
    if larger is not None and rounded >= Decimal(1).scaleb(larger[0] - power):
        rounded, suffix = rounded.scaleb(power - larger[0]), larger[1]
    return f"{_digits(rounded, 0, 1)}{suffix}"


def _significant(size: Decimal, digits: int, at_least: int) -> str:
    """Format with this many significant digits, without trailing zeros but with `at_least` decimals."""
    places = max(at_least, digits - 1 - size.adjusted())
    return _digits(size, at_least, places)


def _digits(size: Decimal, at_least: int, places: int) -> str:
    """Format a number without its sign, rounded to `places`; of its trailing zeros `at_least` decimals stay."""
    own = symbols(locales.active().locale)
    rounded = size.quantize(Decimal(1).scaleb(-places), context=_WIDE)
    whole, _point, decimals = f"{rounded:f}".partition(".")
    fraction = decimals[:at_least] + decimals[at_least:].rstrip("0")
    return (
        f"{_with_separators(whole, own)}{own.decimal}{fraction}" if fraction else _with_separators(whole, own)
    )


def _with_separators(whole: str, own: Symbols) -> str:
    primary, secondary = own.grouping
    if primary == secondary == 3:
        return f"{int(whole):,}".replace(",", own.group)
    head, tail = whole[:-primary], whole[-primary:]
    parts = [tail]
    while head:
        parts.append(head[-secondary:])
        head = head[:-secondary]
    return own.group.join(reversed(parts))
