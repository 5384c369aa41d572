"""Divide cost by usage. Pure: exact inputs, 38 digits of result, and a reason if there is no usage to divide by.

Usage may be money, such as revenue pushed as a usage metric; its unit is then a currency. Cost in that currency
divided by it is a plain ratio: 0.23 is 23 % of revenue. Cost in any other currency is not divided by it.
"""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Context, Decimal

from msgspec.structs import replace

from finops.lib.currencies import ISO_4217
from finops.lib.errors import UserError
from finops.lib.money import exact_difference, ratio
from finops.lib.sentences import join_with_and
from finops.unitcosts.answers import UnitCostAnswer, UnitCostRow, UnitCostTotal
from finops.unitcosts.unit_cost_query import UnitCostOrder

NOT_USED = "No usage on these days."
ZERO_USAGE = "Usage is 0 on these days."
NEGATIVE_USAGE = "Usage is negative on these days: corrections exceed usage."
NO_COST_DATA = "No cost data for these days."

SMALL = Decimal("0.001")
"""A unit cost below this loses significant digits when rounded to six places."""

MILLION = 6

_WIDE = Context(prec=60)


def divide_cost(
    cost: Decimal | None, usage: Decimal | None, *, per: int = 1, unused: str = NOT_USED
) -> tuple[Decimal | None, str]:
    """Return (cost of `per` units, "") or (None, reason). The product is exact, the quotient is rounded once.

    cost · per ÷ usage (FinOps Framework, capability Unit Economics). A cost that credits make 0 or negative is
    divided unchanged; usage of 0 or less has no unit cost, which is a rule of this program.
    """
    if usage is None:
        return None, unused
    if cost is None:
        return None, NO_COST_DATA
    if usage <= 0:
        return None, NEGATIVE_USAGE if usage else ZERO_USAGE
    return ratio(_WIDE.multiply(cost, Decimal(per)), usage), ""


def per_million(unit_cost: Decimal | None, *, per: int = 1) -> Decimal | None:
    """Return the cost of a million units, for unit costs (of one unit) that six places would round to 0."""
    if per > 1 or not unit_cost or unit_cost.copy_abs() >= SMALL:
        return None
    return _WIDE.scaleb(unit_cost, MILLION)


MARGIN = "share is cost ÷ revenue; 1 minus share is the margin."


def currency_of(unit: str | None) -> str:
    """Return the currency of a usage metric; empty for any other unit."""
    code = (unit or "").strip().upper()
    return code if code in ISO_4217 else ""


def with_shares(answer: UnitCostAnswer) -> UnitCostAnswer:
    """Return the answer; if usage is money, with shares for the cost in its currency, and a warning for any other."""
    money = currency_of(answer.unit)
    if not money:
        return answer
    other_currencies = [
        total.currency for total in answer.totals if total.currency != money and answer.usage_days
    ]
    warning = (
        f"{answer.usage_metric} is in {money} and some cost in {join_with_and(other_currencies)}. A share needs "
        "one currency; no exchange rate is applied."
    )
    return replace(
        answer,
        totals=[
            replace(
                total,
                share=_share(total.cost, total.currency, total.usage, money),
                margin=margin_of(total, money),
            )
            for total in answer.totals
        ],
        rows=[
            replace(
                row,
                share=_share(row.cost, row.currency, row.usage, money) if row.unit_cost is not None else None,
                margin=margin_of(row, money),
            )
            for row in answer.rows
        ],
        warnings=[*answer.warnings, *([warning] if other_currencies else [])],
        hint=f"{MARGIN} {answer.hint}",
    )


def margin_of(row: UnitCostRow | UnitCostTotal, money: str) -> Decimal | None:
    """Return revenue minus cost (gross margin, of this cost only); None if the usage is not money, or in another
    currency."""
    return exact_difference(row.usage, row.cost) if row.usage is not None and row.currency == money else None


def order_rows(rows: Sequence[UnitCostRow], order_by: UnitCostOrder, unit: str | None) -> list[UnitCostRow]:
    """Sort rows within their currency and status: by cost as given, by unit cost highest first, or by margin lowest
    first. Missing values come last. Raises UserError for a margin of usage that is not money."""
    if order_by == "cost":
        return list(rows)
    money = currency_of(unit)
    if order_by == "margin" and not money:
        raise UserError(
            "order_by: margin needs a usage metric with a currency as unit, such as revenue in USD. "
            "Use cost or unit_cost, or such a metric.",
            field="order_by",
            value=order_by,
        )
    currencies = list(dict.fromkeys(row.currency for row in rows))

    def place(row: UnitCostRow) -> tuple[int, bool, Decimal]:
        figure = margin_of(row, money) if order_by == "margin" else row.unit_cost
        number = Decimal(0) if figure is None else figure
        return (
            currencies.index(row.currency),
            figure is None,
            number if order_by == "margin" else number.copy_negate(),
        )

    return sorted(rows, key=place)


def _share(cost: Decimal, currency: str, usage: Decimal | None, money: str) -> Decimal | None:
    return divide_cost(cost, usage)[0] if currency == money else None
