"""The currencies that bills and budgets can be in."""

from __future__ import annotations

import functools
import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from difflib import get_close_matches
from itertools import chain, product
from typing import Final
from unicodedata import category, normalize

from babel.numbers import get_currency_name, get_currency_symbol

from finops.lib.errors import UserError, nearest_choices

# ISO 4217, the active codes of national currencies (list one of the maintenance agency, 2026-01-01).
ISO_4217 = frozenset(
    """
    AED AFN ALL AMD AOA ARS AUD AWG AZN BAM BBD BDT BHD BIF BMD BND BOB BRL BSD BTN BWP BYN BZD CAD CDF CHF CLP CNY COP
    CRC CUP CVE CZK DJF DKK DOP DZD EGP ERN ETB EUR FJD FKP GBP GEL GHS GIP GMD GNF GTQ GYD HKD HNL HTG HUF IDR ILS INR
    IQD IRR ISK JMD JOD JPY KES KGS KHR KMF KPW KRW KWD KYD KZT LAK LBP LKR LRD LSL LYD MAD MDL MGA MKD MMK MNT MOP MRU
    MUR MVR MWK MXN MYR MZN NAD NGN NIO NOK NPR NZD OMR PAB PEN PGK PHP PKR PLN PYG QAR RON RSD RUB RWF SAR SBD SCR SDG
    SEK SGD SHP SLE SOS SRD SSP STN SVC SYP SZL THB TJS TMT TND TOP TRY TTD TWD TZS UAH UGX USD UYU UZS VED VES VND VUV
    WST XAF XCD XCG XOF XPF YER ZAR ZMW ZWG
    """.split()  # noqa: SIM905 a list of 154 strings is no easier to read
)


_MAX_NAMED: Final = 8
_SIMILAR: Final = 0.85
_LONGEST_MISTYPED: Final = 4
"""Length of a text up to which it is a mistyped code, and not a word."""
_WORD: Final = re.compile(r"\w+")
_LANGUAGES: Final = [
    "en",
    "sv",
    "nb",
    "da",
    "is",
    "pl",
    "cs",
    "hu",
    "ru",
    "uk",
    "kk",
    "tr",
    "ja",
    "zh",
    "th",
    "id",
    "ms",
    "en_NG",
    "en_PK",
    "en_ZA",
]
"""Languages of CLDR with symbols of their own for the currencies of their countries."""
_OTHER_NAMES: Final = {
    "bucks": "USD",
    "nis": "ILS",
    "quid": "GBP",
    "renminbi": "CNY",
    "rmb": "CNY",
    "sterling": "GBP",
}
"""Names that CLDR does not have."""


def named_currencies(text: str) -> list[str]:
    """Return the codes that a name or a symbol may mean, such as dollars, US dollars or €: by CLDR's symbols and English
    names, those with a symbol of their own first."""
    text = _plain(text)
    by_symbol, by_word = _codes_by_name()
    if text in by_symbol:
        return [*by_symbol[text]]
    words = chain(*(get_close_matches(word, by_word, 1, _SIMILAR) for word in _WORD.findall(text)))
    codes = [by_word[word] for word in words]
    common = [code for code in codes[0] if all(code in each for each in codes)] if codes else []
    return (common or [*dict.fromkeys(chain(*codes))])[:_MAX_NAMED]


def currency_of_unit(unit: str | None) -> str:
    """Return the currency that a unit of usage is, such as USD, usd or €; empty for another unit, also for one that is a
    currency's name or code by accident, such as pounds or all, or its symbol in its own country only, such as Ft."""
    text = (unit or "").strip()
    return text if text in ISO_4217 else _codes_of_units().get(text.casefold(), "")


@functools.cache
def _codes_of_units() -> Mapping[str, str]:
    """Codes by their symbol in English, and by themselves if they have one, in small letters."""
    with_symbol = [code for code in sorted(ISO_4217) if get_currency_symbol(code, "en") != code]
    codes = {code.casefold(): code for code in with_symbol}
    for language, code in product(("en", "en_CA"), with_symbol):
        codes.setdefault(get_currency_symbol(code, language).casefold(), code)
    return codes


def _plain(text: str) -> str:
    """Return a text without case, accents, marks and a full stop at its end."""
    letters = (each for each in normalize("NFKD", text) if category(each) not in ("Mn", "Cf"))
    return " ".join("".join(letters).casefold().split()).rstrip(".")


@functools.cache
def _codes_by_name() -> tuple[Mapping[str, Sequence[str]], Mapping[str, Sequence[str]]]:
    """Codes by symbol, and by each word of their names in singular and plural."""
    symbols = {code: get_currency_symbol(code, "en") for code in ISO_4217}
    by_symbol, by_word = defaultdict[str, list[str]](list), defaultdict[str, list[str]](list)
    in_order = sorted(ISO_4217, key=lambda each: (symbols[each] == each, len(symbols[each]), each))
    for language, code in product(_LANGUAGES, in_order):
        symbol = get_currency_symbol(code, language)
        if symbol != code and code not in by_symbol[_plain(symbol)]:
            by_symbol[_plain(symbol)].append(code)
    for code in in_order:
        names = f"{code} {get_currency_name(code, 1, 'en')} {get_currency_name(code, 2, 'en')}"
        for word in dict.fromkeys(_WORD.findall(_plain(names))):
            by_word[word].append(code)
    for name, code in _OTHER_NAMES.items():
        by_word[name].append(code)
    return by_symbol, by_word


def currency_code(text: str, *, field: str = "currency") -> str:
    """Return the currency code in capitals. Raises UserError, with the nearest codes, for a code that is not in ISO 4217."""
    code = text.strip().upper()
    if code in ISO_4217:
        return code
    close = named_currencies(text[:60])
    if not close and len(code) <= _LONGEST_MISTYPED:
        close = nearest_choices(code, sorted(ISO_4217))
    advice = f" Nearest: {', '.join(close)}." if close else ""
    raise UserError(
        f"{field}: {text[:20]!r} is not an ISO 4217 currency, such as USD or EUR.{advice}",
        field=field,
        value=text[:20],
    )
