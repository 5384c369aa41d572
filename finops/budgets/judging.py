"""When a budget is ok, at risk or exceeded. Pure: product.md, "Budgets, alerts, dashboards"."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date
from decimal import Context, Decimal
from typing import Final

from finops.lib import spoken
from finops.lib.money import ratio

OK, WARNING, EXCEEDED = "ok", "warning", "exceeded"
STATUSES: Final = (OK, WARNING, EXCEEDED)

_EXACT: Final = Context(prec=80)
"""An amount has up to 38 digits; Python's own context would round products to 28."""


@dataclass(frozen=True, kw_only=True)
class Standing:
    """What decides a status: amounts are of one currency, None where nothing is known."""

    amount: Decimal
    currency: str
    warning_percent: int
    spent: Decimal | None
    forecast: Decimal | None
    ends_on: date


def status_of(standing: Standing) -> str:
    """`exceeded`: spent ≥ amount; `warning`: spent ≥ the threshold, or the forecast ≥ amount; else `ok`. Exact."""
    spent = standing.spent if standing.spent is not None else Decimal(0)
    if spent >= standing.amount:
        return EXCEEDED
    if _past_threshold(standing) or _forecast_above(standing):
        return WARNING
    return OK


def _past_threshold(standing: Standing) -> bool:
    if standing.spent is None:
        return False
    threshold = _EXACT.multiply(standing.amount, Decimal(standing.warning_percent))
    return _EXACT.multiply(standing.spent, Decimal(100)) >= threshold


def _forecast_above(standing: Standing) -> bool:
    return standing.forecast is not None and standing.forecast >= standing.amount


def reason_of(standing: Standing, *, crosses_on: date | None) -> str:
    """Why a budget has the status that `status_of` gives, in a sentence or two."""
    words = _Words(standing)
    if status_of(standing) == EXCEEDED:
        since = f" since {crosses_on}" if crosses_on else ""
        return f"{words.spent}, at or above the amount{since}."
    parts = []
    if _past_threshold(standing):
        parts.append(f"{words.spent}, at or above the warning threshold of {standing.warning_percent} %.")
    if _forecast_above(standing):
        on = f", reached about {crosses_on}" if crosses_on else ""
        parts.append(f"{words.forecast}, at or above the amount{on}.")
    if parts:
        return " ".join(parts)
    if standing.spent is None:
        return "No cost of this period is known yet." + (
            f" {words.forecast}." if standing.forecast is not None else ""
        )
    return f"{words.spent}" + (
        f"; {words.forecast[0].lower()}{words.forecast[1:]}." if words.forecast else "."
    )


class _Words:
    def __init__(self, standing: Standing) -> None:
        self.standing = standing

    @property
    def spent(self) -> str:
        return f"Spent {self._of_amount(self.standing.spent)}"

    @property
    def forecast(self) -> str:
        if self.standing.forecast is None:
            return ""
        return f"Forecast for {self.standing.ends_on}: {self._of_amount(self.standing.forecast)}"

    def _of_amount(self, value: Decimal | None) -> str:
        known = value if value is not None else Decimal(0)
        said = spoken.money(known, self.standing.currency)
        share = ratio(known, self.standing.amount)
        return said if share is None else f"{said} ({spoken.percent(share)})"
