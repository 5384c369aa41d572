"""Texts about the amounts that an answer leaves out because their days have no exchange rate."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from decimal import Decimal

from finops.lake.engine.conversion import display_currency
from finops.lib.money import currencies_by_amount
from finops.lib.sentences import join_with_and, money


def without_rate(amounts: Mapping[str, Decimal], target: str = "") -> dict[str, Decimal]:
    """Return the amounts by currency that are not converted to `target` (else the display currency); none where nothing is
    converted."""
    currency = display_currency() and (target or display_currency())
    return {code: amount for code, amount in amounts.items() if currency and code != currency}


def missing_rate_clause(amounts: Mapping[str, Decimal], target: str = "") -> str:
    """Return a clause of the first sentence, such as ", without 7.00 EUR for which there is no exchange rate to USD"; empty
    where every amount is converted. Where none is, the sentence has the amounts, so the clause says that they are not
    converted."""
    left_out = _text(without_rate(amounts, target))
    if not left_out:
        return ""
    if _is_nothing_converted(amounts, target):
        return f", not converted: there is no exchange rate to {target or display_currency()}"
    return f", without {left_out} for which there is no exchange rate to {target or display_currency()}"


def unconverted_clause(currencies: Iterable[str]) -> str:
    """Return a clause on the currencies of listed amounts that are not converted, each with its currency beside it;
    empty where every amount is converted."""
    codes = sorted(without_rate(dict.fromkeys(currencies, Decimal(0))))
    if not codes:
        return ""
    return f"; amounts in {join_with_and(codes)} are not converted: there is no exchange rate to {display_currency()}"


def missing_rate_warnings(amounts: Mapping[str, Decimal], target: str = "") -> list[str]:
    """Return the same as a sentence."""
    left_out = _text(without_rate(amounts, target))
    if not left_out:
        return []
    effect = "Not converted" if _is_nothing_converted(amounts, target) else "Not in the total"
    return [f"No exchange rate to {target or display_currency()}: {left_out}. {effect}."]


def _is_nothing_converted(amounts: Mapping[str, Decimal], target: str) -> bool:
    """Whether no amount is converted, although the sentence is about several; a `target` has an amount of its own."""
    return not target and without_rate(amounts) == dict(amounts)


def _text(amounts: Mapping[str, Decimal]) -> str:
    return join_with_and(
        [money(amounts[code], code) for code in currencies_by_amount(amounts) if amounts[code]]
    )
