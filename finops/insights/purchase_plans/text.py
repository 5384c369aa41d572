"""Sentences of a purchase plan."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from finops.insights.purchase_plans.schemas import PurchasePlan
from finops.lib.periods import DateRange
from finops.lib.sentences import exact_number, join_with_and, money, percent_text

NO_COST: Final = "No complete day of cost yet, so nothing to plan."
NO_USAGE: Final = "No usage at standard prices that a commitment could cover from {start} to {end}"
RULE: Final = "Advice: the lowest of the hourly commitments that would have saved most in the last 7, 30 and 60 days. Existing commitments stay."
BACK_TEST: Final = (
    "Back-test: on the first day of each month the missing part of the advice is bought, from earlier days only, and stays for the "
    "rest of the 12 months. AWS rule: the same from the last 7, 30 or 60 days."
)
BY_HOUR: Final = "A commitment covers each hour separately and costs the same when unused. Usage at standard prices counts, not spot."
BY_DAY: Final = "Where bills have no hours, usage is spread evenly over the day. This overstates savings."


def summary(
    plans: Sequence[PurchasePlan],
    unknown: Sequence[str],
    several: Sequence[str],
    days: DateRange,
    clause: str,
) -> str:
    """The first sentence of the answer. `unknown`: currencies without a discount; `several`: currencies with usage of several
    providers."""
    if not plans:
        return f"{NO_USAGE.format(start=days.start, end=days.end)}{clause}."
    caveats = [f"without {join_with_and(list(unknown))}, whose discount is unknown"] if unknown else []
    if several:
        caveats.append(
            f"{join_with_and(list(several))} has usage of several providers, and a commitment covers one: filter by provider"
        )
    by_day = max(plan.days_by_day for plan in plans)
    if by_day:
        noun = "day has" if by_day == 1 else "days have"
        caveats.append(f"{by_day} {noun} no hourly usage, which overstates savings")
    rest = f"; {'; '.join(caveats)}" if caveats else ""
    return f"{'; '.join(map(_plan_text, plans))}{rest}{clause}."


def _plan_text(plan: PurchasePlan) -> str:
    rules = [f"{money(each.saved, plan.currency)} by {each.days} days" for each in plan.vendor]
    tested = sum(month.saving is not None for month in plan.months)
    past = (
        f"in {tested} months this rule would have saved {money(plan.saved, plan.currency)} against doing nothing (the AWS "
        f"rule {join_with_and(rules)})"
        if tested
        else "there are too few days for a back-test"
    )
    if not plan.per_hour:
        return f"No commitment in {plan.currency} would have paid off in each of the last 7, 30 and 60 days; {past}"
    used = f"{percent_text(plan.utilization)} used" if plan.utilization is not None else "unused"
    return (
        f"Commit {exact_number(plan.per_hour)} {plan.currency} per hour more: in the last 60 days it would have been {used} and "
        f"saved {money(plan.saving, plan.currency)}; {past}"
    )


def assumptions(plans: Sequence[PurchasePlan]) -> list[str]:
    if not plans:
        return []
    return [
        RULE,
        BACK_TEST,
        BY_HOUR,
        *(_discount(plan) for plan in plans),
        *([BY_DAY] if any(plan.days_by_day for plan in plans) else []),
    ]


def _discount(plan: PurchasePlan) -> str:
    reason = "as entered" if plan.is_discount_entered else "as usage that commitments cover now"
    return (
        f"{plan.currency}: {exact_number(plan.discount_percent)} % below on-demand prices, {reason}. Below "
        f"{percent_text(plan.break_even_utilization)} utilization it costs more than on demand."
    )


def hint(plans: Sequence[PurchasePlan]) -> str:
    if any(plan.per_hour for plan in plans):
        return "simulateCost with purchases shows it on other days or with usage growth."
    return "getCommitmentUtilization shows what commitments do now."
