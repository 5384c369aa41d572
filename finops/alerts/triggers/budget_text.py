"""What is said of a budget whose thresholds are reached. Pure."""

from __future__ import annotations

from typing import Any

from accounts.models import Account
from finops.alerts.links import console_url
from finops.alerts.messages import Fact, Message
from finops.alerts.models import AlertSubscription
from finops.alerts.triggers.budget import Crossing
from finops.alerts.triggers.figures import amount, amount_with_share, share
from finops.lib import sentences

Measure = AlertSubscription.Measure


def message(account: Account, crossing: Crossing) -> Message:
    status = crossing.status
    return Message(
        title=f"{sentences.quote(account.name)}: budget {sentences.quote(status.name)} {_what(crossing)}",
        summary=" ".join(_sentences(crossing)),
        facts=tuple(_facts(account, crossing)),
        url=console_url(account, "budget", budget_id=status.id),
        severity="critical" if _is_spent(crossing) else "warning",
        kind="budget",
        dedup_key=f"account-{account.pk}:budget-{status.id}:{crossing.days.start}",
        data=_data(crossing),
    )


def _is_spent(crossing: Crossing) -> bool:
    """Whether all of the amount is gone: nothing is left to be done about it."""
    spent = crossing.figure if crossing.is_over else crossing.status.spent
    return crossing.highest >= 100 and spent is not None and spent >= crossing.amount


def _is_whole(crossing: Crossing) -> bool:
    """Whether the bill of all its days is there."""
    through = crossing.status.data_through
    return through is not None and through >= crossing.days.end


def _is_forecast(crossing: Crossing) -> bool:
    has_forecast = crossing.status.forecast is not None and not crossing.is_over
    return crossing.measure == Measure.FORECAST and has_forecast


def _what(crossing: Crossing) -> str:
    percent = share(crossing.figure, crossing.amount)
    if crossing.is_over:
        end = crossing.days.end
        return f"ended on {end} at {percent}" if _is_whole(crossing) else f"reached {percent} by {end}"
    return f"is forecast to end at {percent}" if _is_forecast(crossing) else f"is at {percent}"


def _sentences(crossing: Crossing) -> list[str]:
    status, days = crossing.status, crossing.days
    figure = sentences.money(crossing.figure, status.currency)
    of = f"of {sentences.money(crossing.amount, status.currency)}"
    threshold = f"at or above the threshold of {crossing.highest} %"
    if crossing.is_over:
        return [f"{figure} {of} were spent from {days.start} to {days.end}, {threshold}."]
    if not _is_forecast(crossing):
        return [f"{figure} {of} are spent since {days.start}, {threshold}.", *_outlook(crossing)]
    said = [f"The forecast for {days.end} is {figure} {of}, {threshold}."]
    if status.spent is not None:
        said.append(f"Spent so far: {sentences.money(status.spent, status.currency)}.")
    return said


def _outlook(crossing: Crossing) -> list[str]:
    status = crossing.status
    if status.forecast is None:
        return []
    return [f"The forecast for {crossing.days.end} is {sentences.money(status.forecast, status.currency)}."]


def _facts(account: Account, crossing: Crossing) -> list[Fact]:
    status, days, currency = crossing.status, crossing.days, crossing.status.currency
    spent = crossing.figure if crossing.is_over else status.spent
    facts = [
        Fact("Account", account.name),
        Fact("Threshold", f"{crossing.highest} % of the amount"),
        Fact("Amount", sentences.money(crossing.amount, currency)),
        Fact(
            "Spent",
            amount_with_share(spent, crossing.amount, currency) if spent is not None else "not known yet",
        ),
    ]
    if status.forecast is not None and not crossing.is_over:
        facts.append(Fact("Forecast", amount_with_share(status.forecast, crossing.amount, currency)))
    facts += [Fact("Period", f"{days.start} to {days.end}"), Fact("Of", status.scope_name)]
    if status.other_currencies and not crossing.is_over:
        amounts = [sentences.money(each.amount, each.currency) for each in status.other_currencies]
        facts.append(Fact("Not counted", sentences.join_with_and(amounts)))
    if status.data_through is not None:
        facts.append(Fact("Data through", str(status.data_through)))
    return facts


def _data(crossing: Crossing) -> dict[str, Any]:
    status, currency = crossing.status, crossing.status.currency
    forecast = None if crossing.is_over else status.forecast
    return {
        "budget_id": status.id,
        "budget": status.name,
        "period": {"start_date": str(crossing.days.start), "end_date": str(crossing.days.end)},
        "measure": crossing.measure,
        "threshold_percent": crossing.highest,
        "amount": amount(crossing.amount, currency),
        "spent": amount(crossing.figure if crossing.is_over else status.spent, currency),
        "forecast": amount(forecast, currency),
        "data_through": str(status.data_through) if status.data_through else None,
    }
