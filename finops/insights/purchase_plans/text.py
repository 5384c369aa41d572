"""Sentences of a purchase plan."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from decimal import Decimal
from typing import Final

from finops.insights.purchase_plans.figures import WINDOWS
from finops.insights.purchase_plans.schemas import PurchasePlan
from finops.lib.formats.sentences import without_warnings
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
EACH_PROVIDER: Final = "Each provider has a plan of its own, also the AWS rule. It is assumed that the provider sells hourly commitments for this usage."
_SECOND_SENTENCE: Final = re.compile(r"\. (?=Back-test of |There are too few days for a back-test)")
_FIGURES: Final = re.compile(r" \((?:[\d.]+ % used|unused) in the last 60 days, saving [^()]* on demand\)")
BY_DAY: Final = "Where bills have no hours, usage is spread evenly over the day. This overstates savings."


@dataclass(frozen=True)
class UnplannedUsage:
    """On-demand usage of the last 60 days whose discount is unknown."""

    provider: str
    currency: str
    on_demand: Decimal


def summary(
    plans: Sequence[PurchasePlan],
    unknown: Sequence[UnplannedUsage],
    days: DateRange,
    history: timedelta,
    clause: str,
) -> str:
    """The commitments and their caveats in the first sentence, the back-tests in the second. `unknown`: usage without a
    discount; `history`: complete days of bills without a gap."""
    if not plans:
        return f"{NO_USAGE.format(start=days.start, end=days.end)}{clause}."
    caveats = []
    if any(plan.per_hour for plan in plans) and len({plan.provider for plan in plans}) > 1:
        caveats.append("assuming that each provider sells hourly commitments for this usage")
    if unknown:
        left_out = [_on_demand_text(each) for each in unknown]
        caveats.append(f"without {join_with_and(left_out)}, whose discount is unknown")
    by_day = max(plan.days_by_day for plan in plans)
    if by_day:
        noun = "day has" if by_day == 1 else "days have"
        caveats.append(f"{by_day} {noun} no hourly usage, which overstates savings")
    caveats_clause = f"; {'; '.join(caveats)}" if caveats else ""
    return f"{_advice(plans, history.days)}{caveats_clause}{clause}. {_back_tests(plans)}"


def lead(answer_summary: str, warnings: Sequence[str]) -> str:
    """Return the first sentence of a summary for a page: with all caveats, without the figures in brackets of each
    commitment and without the clauses of `warnings`, which the page shows below it."""
    sentence = _SECOND_SENTENCE.split(without_warnings(answer_summary, warnings))[0]
    return f"{_FIGURES.sub('', sentence).removesuffix('.')}."


def _advice(plans: Sequence[PurchasePlan], history: int) -> str:
    """Plans with a commitment first; the others together by their reason."""
    commitments = [_commitment(plan) for plan in plans if plan.per_hour]
    without_commitment = [_on_demand_text(plan) for plan in plans if not plan.per_hour]
    advice = [f"Recommended: {', '.join(commitments)}"] if commitments else []
    if without_commitment and history < max(WINDOWS):
        noun = "day" if history == 1 else "days"
        advice.append(
            f"Too few days to recommend a commitment for {join_with_and(without_commitment)}: bills cover {history} {noun} without a gap, and "
            f"{max(WINDOWS)} are needed"
        )
    elif without_commitment:
        advice.append(
            f"No commitment would have paid off in each of the last 7, 30 and 60 days for {join_with_and(without_commitment)}"
        )
    return "; ".join([advice[0], *(f"{each[0].lower()}{each[1:]}" for each in advice[1:])])


def _commitment(plan: PurchasePlan) -> str:
    used = f"{percent_text(plan.utilization)} used" if plan.utilization is not None else "unused"
    return (
        f"{exact_number(plan.per_hour)} {plan.currency} per hour more for {plan.provider} ({used} in the last 60 days, saving "
        f"{money(plan.saving, plan.currency)} of {money(plan.on_demand, plan.currency)} on demand)"
    )


def _on_demand_text(usage: PurchasePlan | UnplannedUsage) -> str:
    return f"{usage.provider} ({money(usage.on_demand, usage.currency)} on demand)"


def later_start(provider: str, currency: str, start: date) -> str:
    return f"; on-demand usage of {provider} in {currency} begins on {start}, and earlier days count as none"


def _back_tests(plans: Sequence[PurchasePlan]) -> str:
    """What the plans and the AWS rule would have saved, in one sentence."""
    tests = [_back_test(plan) for plan in plans if any(month.saving is not None for month in plan.months)]
    if not tests:
        return "There are too few days for a back-test."
    return f"Back-test of this rule against doing nothing: {'; '.join(tests)}."


def _back_test(plan: PurchasePlan) -> str:
    tested = sum(month.saving is not None for month in plan.months)
    rules = [f"{money(each.saved, plan.currency)} by {each.days} days" for each in plan.vendor]
    noun = "month" if tested == 1 else "months"
    return f"{money(plan.saved, plan.currency)} saved for {plan.provider} in {tested} {noun} (AWS rule: {join_with_and(rules)})"


def assumptions(plans: Sequence[PurchasePlan]) -> list[str]:
    if not plans:
        return []
    return [
        RULE,
        BACK_TEST,
        BY_HOUR,
        EACH_PROVIDER,
        *(_discount(plan) for plan in plans),
        *([BY_DAY] if any(plan.days_by_day for plan in plans) else []),
    ]


def _discount(plan: PurchasePlan) -> str:
    reason = "as entered" if plan.is_discount_entered else "as usage that commitments cover now"
    return (
        f"{plan.provider}, {plan.currency}: {exact_number(plan.discount_percent)} % below on-demand prices, {reason}. Below "
        f"{percent_text(plan.break_even_utilization)} utilization it costs more than on demand."
    )


def hint(plans: Sequence[PurchasePlan]) -> str:
    if any(plan.per_hour for plan in plans):
        return "simulateCost with purchases shows it on other days or with usage growth."
    return "getCommitmentUtilization shows what commitments do now."
