"""Cost as a share of usage that is money, such as revenue that is pushed as a usage metric. Pure.

The unit of such a metric is a currency. Cost in that currency divided by it is a plain ratio: 0.23 is 23 % of revenue.
Cost in any other currency is not divided into one.
"""

from __future__ import annotations

from decimal import Decimal

from msgspec.structs import replace

from finops.lib.currencies import ISO_4217
from finops.lib.spoken import listed
from finops.unitcosts.answers import UnitCostAnswer, UnitCostRow
from finops.unitcosts.queries.division import divided

MARGIN = "share is cost ÷ what was earned; 1 minus share is the margin that this cost leaves."


def currency_of(unit: str | None) -> str:
    """The currency that a usage metric counts in; empty for any other unit."""
    code = (unit or "").strip().upper()
    return code if code in ISO_4217 else ""


def with_shares(answer: UnitCostAnswer) -> UnitCostAnswer:
    """The same answer; where usage is money, with shares for the cost of its currency, and a warning for any other."""
    money = currency_of(answer.unit)
    if not money:
        return answer
    others = [
        total.currency for total in answer.totals if total.currency != money and total.usage is not None
    ]
    return replace(
        answer,
        totals=[
            replace(total, share=_share(total.cost, total.currency, total.usage, money))
            for total in answer.totals
        ],
        rows=[replace(row, share=_row_share(row, money)) for row in answer.rows],
        warnings=[*answer.warnings, *_warned(answer, money, others)],
        hint=f"{MARGIN} {answer.hint}",
    )


def _row_share(row: UnitCostRow, money: str) -> Decimal | None:
    return None if row.unit_cost is None else _share(row.cost, row.currency, row.usage, money)


def _share(cost: Decimal, currency: str, usage: Decimal | None, money: str) -> Decimal | None:
    return divided(cost, usage)[0] if currency == money else None


def _warned(answer: UnitCostAnswer, money: str, others: list[str]) -> list[str]:
    if not others:
        return []
    said = f"{answer.usage_metric} is in {money} and some cost in {listed(others)}: amounts of two currencies make no share"
    return [f"{said}, and no exchange rate is applied."]
