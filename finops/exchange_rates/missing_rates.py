"""Texts about the amounts that an answer leaves out because their days have no exchange rate."""

from __future__ import annotations

from collections.abc import Mapping
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
    where every amount is converted."""
    left_out = _text(without_rate(amounts, target))
    if not left_out:
        return ""
    return f", without {left_out} for which there is no exchange rate to {target or display_currency()}"


def missing_rate_warnings(amounts: Mapping[str, Decimal], target: str = "") -> list[str]:
    """Return the same as a sentence."""
    left_out = _text(without_rate(amounts, target))
    if not left_out:
        return []
    return [f"No exchange rate to {target or display_currency()}: {left_out}. Not in the total."]


def _text(amounts: Mapping[str, Decimal]) -> str:
    return join_with_and(
        [money(amounts[code], code) for code in currencies_by_amount(amounts) if amounts[code]]
    )
