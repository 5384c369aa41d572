"""The rules for ok, at risk and exceeded budgets. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date
from decimal import Context, Decimal
from typing import Final

from finops.lib import sentences
from finops.lib.money import ratio

OK, WARNING, EXCEEDED = "ok", "warning", "exceeded"
STATUSES: Final = (OK, WARNING, EXCEEDED)

_EXACT: Final = Context(prec=80)
"""A context for amounts of up to 38 digits; Python's default context would round products to 28."""


@dataclass(frozen=True, kw_only=True)
class StatusInputs:
    """The inputs of a status. Amounts are in one currency, None where unknown."""

    amount: Decimal
    currency: str
    warning_percent: int
    spent: Decimal | None
    forecast: Decimal | None
    ends_on: date


def status_of(inputs: StatusInputs) -> str:
    """`exceeded`: spent ≥ amount; `warning`: spent ≥ the threshold, or the forecast ≥ amount; else `ok`.
    Exact. The product's own rule (module)."""
    spent = inputs.spent if inputs.spent is not None else Decimal(0)
    if spent >= inputs.amount:
        return EXCEEDED
    if _past_threshold(inputs) or _forecast_above(inputs):
        return WARNING
    return OK


def _past_threshold(inputs: StatusInputs) -> bool:
    if inputs.spent is None:
        return False
    threshold = _EXACT.multiply(inputs.amount, Decimal(inputs.warning_percent))
    return _EXACT.multiply(inputs.spent, Decimal(100)) >= threshold


def _forecast_above(inputs: StatusInputs) -> bool:
    return inputs.forecast is not None and inputs.forecast >= inputs.amount


def reason_of(inputs: StatusInputs, *, crosses_on: date | None) -> str:
    """Return why a budget has the status of `status_of`, in one or two sentences."""
    words = _ReasonText(inputs)
    if status_of(inputs) == EXCEEDED:
        since = f" since {crosses_on}" if crosses_on else ""
        return f"{words.spent}, at or above the amount{since}."
    parts = []
    if _past_threshold(inputs):
        parts.append(f"{words.spent}, at or above the warning threshold of {inputs.warning_percent}%.")
    if _forecast_above(inputs):
        on = f", reached about {crosses_on}" if crosses_on else ""
        parts.append(f"{words.forecast}, at or above the amount{on}.")
    if parts:
        return " ".join(parts)
    if inputs.spent is None:
        return "No cost in this period yet." + (f" {words.forecast}." if inputs.forecast is not None else "")
    return f"{words.spent}" + (
        f"; {words.forecast[0].lower()}{words.forecast[1:]}." if words.forecast else "."
    )


class _ReasonText:
    def __init__(self, inputs: StatusInputs) -> None:
        self.inputs = inputs

    @property
    def spent(self) -> str:
        return f"Spent {self._of_amount(self.inputs.spent)}"

    @property
    def forecast(self) -> str:
        if self.inputs.forecast is None:
            return ""
        return f"Forecast for {self.inputs.ends_on}: {self._of_amount(self.inputs.forecast)}"

    def _of_amount(self, value: Decimal | None) -> str:
        amount = value if value is not None else Decimal(0)
        text = sentences.money(amount, self.inputs.currency)
        share = ratio(amount, self.inputs.amount)
        return text if share is None else f"{text} ({sentences.percent_text(share)})"
