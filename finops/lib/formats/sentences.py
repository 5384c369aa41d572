"""Sentences of answers converted to the reader's formats.

Answers are the same for assistants and people: exact, days in ISO, currencies as codes. A page formats their amounts,
shares, days and times like the rest of the page. Quoted values come from the account's data and stay unchanged.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Final

from finops.lib.currencies import ISO_4217
from finops.lib.formats import dates, numbers

_QUOTED: Final = re.compile(r"""('(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*")""")
_QUANTITY: Final = re.compile(r"(?<![\w.,/-])(?P<number>\d[\d,]*(?:\.\d+)?) '(?P<unit>[a-z]+)'")
_DAY: Final = r"20\d\d-[01]\d-[0-3]\d"
_MONTH: Final = r"20\d\d-[01]\d"
_START: Final = r"(?<![\w.,/-])"
_END: Final = r"(?![\w/-]|\.\w)"


def reader_text(text: str) -> str:
    """`1.5 % less than the 1,234.50 USD of 2026-10-01 to 2026-10-22` → `1.5% less than the $1,234.50 of Oct 1 – 22`. The
    unit of a quantity gets its plural: `4,690,276 'document'` → `4,690,276 documents`. Names of tools are left out."""
    parts = _QUANTITY.sub(_quantity, text)
    return "".join(part if index % 2 else _rewrite(part) for index, part in enumerate(_QUOTED.split(parts)))


def without_warnings(summary: str, warnings: Iterable[str]) -> str:
    """Return the summary of an answer without the clauses that its warnings repeat, for pages that list the warnings
    below it."""
    for warning in warnings:
        summary = summary.replace(f"; {warning[:1].lower()}{warning[1:].removesuffix('.')}", "")
    return summary


def on_page(truncated: str) -> str:
    """Return what an answer leaves out without the name of a tool's argument: a page has a field for it."""
    text = truncated.replace(" is in the row other: ", " in Other: ").replace(
        " are in the row other: ", " in Other: "
    )
    return text.replace("raise limit", "list more")


def _rewrite(text: str) -> str:
    for pattern, write in _RULES:
        text = pattern.sub(write, text)
    return text


def _quantity(match: re.Match[str]) -> str:
    count = Decimal(match["number"].replace(",", ""))
    return f"{match['number']} {numbers.plural(match['unit'], count)}"


def _amount(match: re.Match[str]) -> str:
    if match["currency"] not in ISO_4217:
        return match[0]
    value = Decimal((match["sign"] or "") + match["number"].replace(",", ""))
    if match["sign"] == "+":
        return numbers.signed_money(value, match["currency"])
    is_price = len(match["number"].partition(".")[2]) > 2
    return (numbers.price if is_price else numbers.money)(value, match["currency"])


def _percent(match: re.Match[str]) -> str:
    value = Decimal((match["sign"] or "") + match["number"].replace(",", "")) / 100
    return f"+{numbers.percent(value)}" if match["sign"] == "+" else numbers.percent(value)


def _moment(match: re.Match[str]) -> str:
    return dates.moment(datetime.fromisoformat(match[1]).replace(tzinfo=UTC))


def _date(text: str) -> date:
    return date.fromisoformat(text if len(text) > 7 else f"{text}-01")


def _rule(pattern: str, write: Callable[[re.Match[str]], str]) -> tuple[re.Pattern[str], Callable[..., str]]:
    return re.compile(pattern), _or_as_it_is(write)


def _or_as_it_is(write: Callable[[re.Match[str]], str]) -> Callable[[re.Match[str]], str]:
    """Leave a day that is not in the calendar unchanged."""

    def careful(match: re.Match[str]) -> str:
        try:
            return write(match)
        except ValueError:
            return match[0]

    return careful


def _from_to(first: date, last: date) -> str:
    if first == last:
        return f"on {dates.day(first)}"
    return f"from {dates.day(first)} to {dates.day(last)}"


_RULES: Final = (
    _rule(r" \((?:get|list|query)[A-Z]\w*\)", lambda _tool: ""),
    _rule(r"\busage_filters\b", lambda _argument: "usage filters"),
    _rule(r"\bmode per_customer\b", lambda _argument: "by customer"),
    _rule(r"\buse mode total\b", lambda _argument: "show the total"),
    _rule(
        _START + r"(?P<sign>[+-])?(?P<number>\d[\d,]*\.\d{2,}) (?P<currency>[A-Z]{3})" + _END,
        _amount,
    ),
    _rule(_START + r"(?P<sign>[+-])?(?P<number>\d[\d,]*(?:\.\d+)?) %", _percent),
    _rule(
        rf"\bfrom ({_DAY}) to ({_DAY})" + _END,
        lambda each: _from_to(_date(each[1]), _date(each[2])),
    ),
    _rule(_START + rf"({_DAY} \d\d:\d\d) UTC" + _END, _moment),
    _rule(
        _START + rf"({_DAY}) to ({_DAY})" + _END, lambda each: dates.day_range(_date(each[1]), _date(each[2]))
    ),
    _rule(_START + rf"({_DAY})" + _END, lambda each: dates.day(_date(each[1]))),
    _rule(
        _START + rf"({_MONTH}) to ({_MONTH})" + _END,
        lambda each: dates.month_range(_date(each[1]), _date(each[2])),
    ),
    _rule(_START + rf"({_MONTH})" + _END, lambda each: dates.month(_date(each[1]))),
)
