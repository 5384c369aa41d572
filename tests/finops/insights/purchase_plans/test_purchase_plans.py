"""Purchase plans and their back-test: calculated by hand on small bills, and compared with trying every commitment."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from accounts.models import Account
from finops.costs.spend_query import CostFilter
from finops.insights.commitments.purchases import UsageSlot, covered_per_hour, purchase_outcome
from finops.insights.purchase_plans.figures import best_capacity, tolerated_fall
from finops.insights.purchase_plans.queries import plan_purchase
from finops.insights.purchase_plans.schemas import PurchasePlan, PurchasePlanAnswer, PurchasePlanQuery
from finops.insights.purchase_plans.text import lead
from finops.lib.errors import UserError
from finops.lib.periods import DateRange, each_day
from tests.factories.costs import Line, add_source, cost
from tests.finops.insights.commitments.test_commitments import commitment_line, on_demand
from tests.finops.insights.simulation.bills import decimals

HALF = Decimal(50)
ALL = DateRange(date(2024, 11, 1), date(2025, 12, 31))
"""Fourteen whole months."""


def usage_of(days: DateRange, amount_of: Callable[[date, int], int], /, **columns: Any) -> list[Line]:
    """A line for each hour that has an amount."""
    lines = []
    for day in each_day(days):
        for hour in range(24):
            start = datetime(day.year, day.month, day.day, hour, tzinfo=UTC)
            period = {"charge_period_start": start, "charge_period_end": start + timedelta(hours=1)}
            if amount := amount_of(day, hour):
                lines.append(on_demand(str(amount), **{"charge_date": day, **period, **columns}))
    return lines


def answer_of(acme: Account, lines: list[Line], **query: Any) -> PurchasePlanAnswer:
    add_source(acme, lines)
    return plan_purchase(acme, PurchasePlanQuery(**{"discount_percent": HALF, **query}))


def plan_of(acme: Account, lines: list[Line], **query: Any) -> PurchasePlan:
    (plan,) = answer_of(acme, lines, **query).plans
    return plan


def test_steady_usage_is_committed_to_as_a_whole(acme: Account) -> None:
    plan = plan_of(acme, usage_of(ALL, lambda _day, _hour: 4))

    assert [plan.per_hour, plan.covers_per_hour, plan.utilization, plan.coverage] == list(
        decimals(2, 4, 1, 1)
    )
    assert plan.saving == 60 * 24 * 2
    assert plan.tolerated_fall == Decimal("0.5")
    # Twelve months of 2025, whole.
    assert plan.saved == 365 * 24 * 2
    assert [each.saved for each in plan.vendor] == [plan.saved] * 3
    assert [month.month for month in plan.months] == [f"2025-{number:02}" for number in range(1, 13)]


def test_each_provider_has_a_plan_of_its_own(acme: Account) -> None:
    lines = [
        line
        for provider, amount in (("AWS", 2), ("Google Cloud", 4))
        for line in usage_of(ALL, _every_hour(amount), provider=provider)
    ]
    of_aws = [CostFilter(dimension="provider", values=["AWS"])]

    answer = answer_of(acme, lines)
    plan_of_aws = plan_purchase(acme, PurchasePlanQuery(discount_percent=HALF, filters=of_aws))

    assert [(plan.provider, plan.per_hour, plan.saved) for plan in answer.plans] == [
        ("Google Cloud", Decimal(2), Decimal(365 * 24 * 2)),
        ("AWS", Decimal(1), Decimal(365 * 24)),
    ]
    assert plan_of_aws.plans == [answer.plans[1]]
    assert answer.summary.startswith("Recommended: 2 USD per hour more for Google Cloud (")
    assert ", 1 USD per hour more for AWS (" in answer.summary
    assumption = "assuming that each provider sells hourly commitments for this usage"
    assert [assumption in each.summary for each in (answer, plan_of_aws)] == [True, False]
    assert lead(answer.summary, answer.warnings) == (
        f"Recommended: 2 USD per hour more for Google Cloud, 1 USD per hour more for AWS; {assumption}."
    )


def _every_hour(amount: int) -> Callable[[date, int], int]:
    return lambda _day, _hour: amount


def test_plans_sum_up_to_the_raw_lines_of_each_provider_and_currency(acme: Account) -> None:
    scopes = [("AWS", "USD", 2), ("AWS", "EUR", 3), ("Google Cloud", "USD", 5), (None, "USD", 7)]
    lines = [
        line
        for provider, currency, amount in scopes
        for line in usage_of(ALL, _every_hour(amount), provider=provider, currency=currency)
    ]
    spot = [on_demand("1", charge_date=day, pricing_category="Dynamic") for day in each_day(ALL)]

    answer = answer_of(acme, [*lines, *spot])

    raw: dict[tuple[str, str, str], Fraction] = {}
    for line in lines:
        key = (line["provider"] or "(none)", line["currency"], f"{line['charge_date']:%Y-%m}")
        raw[key] = raw.get(key, Fraction(0)) + Fraction(Decimal(line["effective_cost"]))
    months = {
        (plan.provider, plan.currency, month.month): Fraction(month.on_demand)
        for plan in answer.plans
        for month in plan.months
    }
    assert months == {key: amount for key, amount in raw.items() if key[2] >= "2025-01"}


def test_the_discount_of_a_provider_is_no_other_providers(acme: Account) -> None:
    covered = [commitment_line("75", "Used", day=day, provider="AWS") for day in each_day(ALL)]
    usage = [
        line
        for provider in ("AWS", "Google Cloud")
        for line in usage_of(ALL, _every_hour(4), provider=provider)
    ]

    answer = answer_of(acme, [*covered, *usage], discount_percent=None)

    assert [plan.provider for plan in answer.plans] == ["AWS"]
    assert "without Google Cloud (5,760.00 USD on demand), whose discount is unknown" in answer.summary


def test_too_short_a_history_is_the_reason_for_no_commitment(acme: Account) -> None:
    days = DateRange(ALL.end - timedelta(days=18), ALL.end)

    answer = answer_of(acme, usage_of(days, _every_hour(4), provider="AWS"))

    assert answer.summary.startswith(
        "Too few days to recommend a commitment for AWS (1,824.00 USD on demand): bills cover 19 days without a gap, and "
        "60 are needed"
    )
    assert "paid off" not in answer.summary


def test_a_provider_whose_bills_begin_later_is_named(acme: Account) -> None:
    late = DateRange(ALL.end - timedelta(days=9), ALL.end)
    lines = [
        *usage_of(ALL, _every_hour(4), provider="AWS"),
        *usage_of(late, _every_hour(4), provider="Azure"),
    ]

    summary = answer_of(acme, lines).summary.partition(". ")[0]

    assert "on-demand usage of Azure in USD begins on 2025-12-22, and earlier days count as none" in summary
    assert "usage of AWS in USD begins" not in summary


def test_an_hour_a_day_is_not_worth_a_commitment_however_dear(acme: Account) -> None:
    answer = answer_of(acme, usage_of(ALL, lambda _day, hour: 1000 if hour == 3 else 0))

    assert answer.plans[0].per_hour == 0
    assert answer.summary.startswith("No commitment would have paid off in each of the last")


def test_growth_of_the_last_week_is_the_vendors_advice_and_not_ours(acme: Account) -> None:
    since = ALL.end - timedelta(days=6)

    plan = plan_of(acme, usage_of(ALL, lambda day, _hour: 10 if day >= since else 4))

    assert plan.per_hour == 2
    assert [each.per_hour for each in plan.vendor] == [5, 2, 2]


def test_usage_that_falls_leaves_what_was_bought_unused_in_the_back_test(acme: Account) -> None:
    plan = plan_of(acme, usage_of(ALL, lambda day, _hour: 4 if day < date(2025, 7, 1) else 1))

    june, july = plan.months[5], plan.months[6]
    # Bought: 2 per hour for 4. From July on 1 of 4 is used.
    assert june.saving == 30 * 24 * 2
    assert july.saving == 31 * 24 * (1 - 2)
    assert july.utilization == Decimal("0.25")
    assert plan.largest_fall == Decimal("0.75")
    assert plan.per_hour == Decimal("0.5")


def test_the_back_test_sees_no_day_of_its_month(acme: Account) -> None:
    december = usage_of(ALL, lambda day, _hour: 4 if day >= date(2025, 12, 10) else 0)

    # Spot usage of every day: bills without a gap, and nothing that a commitment could cover.
    spot = [on_demand("1", charge_date=day, pricing_category="Dynamic") for day in each_day(ALL)]

    plan = plan_of(acme, [*spot, *december])

    assert [month.saving for month in plan.months] == [0] * 12
    assert plan.per_hour == 0
    assert plan.vendor[0].per_hour == 2


def test_months_before_there_are_sixty_days_have_no_saving_and_are_not_counted(acme: Account) -> None:
    days = DateRange(date(2025, 7, 1), ALL.end)

    answer = answer_of(acme, usage_of(days, lambda _day, _hour: 4))

    (plan,) = answer.plans
    assert [month.month for month in plan.months] == [f"2025-{number:02}" for number in range(7, 13)]
    assert [month.saving is None for month in plan.months] == [True, True, False, False, False, False]
    assert [month.vendor_savings[0] is None for month in plan.months] == [True, *[False] * 5]
    assert "in 4 months (AWS rule: " in answer.summary


def test_months_without_bills_are_no_months_of_the_back_test(acme: Account) -> None:
    """A bill of a year before: the months between have no bill, which is not the same as no usage."""
    add_source(
        acme, [cost(day, 1) for day in each_day(DateRange(date(2024, 9, 1), date(2024, 9, 30)))], name="Old"
    )
    recent = DateRange(date(2025, 9, 1), date(2025, 12, 31))

    answer = answer_of(acme, usage_of(recent, lambda _day, _hour: 4))

    (plan,) = answer.plans
    assert plan.saved == (30 + 31) * 24 * 2
    assert "in 2 months (AWS rule: " in answer.summary
    assert [month.month for month in plan.months if month.saving is not None] == ["2025-11", "2025-12"]


def test_a_bill_by_day_is_counted_and_the_first_sentence_says_that_it_overstates(acme: Account) -> None:
    lines = [on_demand("96", charge_date=day) for day in each_day(ALL)]

    answer = answer_of(acme, lines)

    assert answer.plans[0].per_hour == 2
    assert "days have no hourly usage, which overstates savings" in answer.summary


def test_covered_usage_is_not_bought_again_and_gives_the_discount(acme: Account) -> None:
    lines = [commitment_line("75", "Used", day=day) for day in each_day(ALL)]

    plan = plan_of(acme, [*lines, *usage_of(ALL, lambda _day, _hour: 4)], discount_percent=None)

    assert plan.discount_percent == 50
    assert not plan.is_discount_entered
    assert plan.on_demand == 60 * 24 * 4


def test_without_any_discount_there_is_no_plan(acme: Account) -> None:
    with pytest.raises(UserError, match="Give it from the provider's price list"):
        answer_of(acme, usage_of(ALL, lambda _day, _hour: 4), discount_percent=None)


def test_a_currency_without_a_discount_is_named_first(acme: Account) -> None:
    lines = [commitment_line("75", "Used", day=day) for day in each_day(ALL)]
    usage = [
        on_demand("96", charge_date=day, currency=code) for day in each_day(ALL) for code in ("USD", "EUR")
    ]

    answer = answer_of(acme, [*lines, *usage], discount_percent=None)

    assert [plan.currency for plan in answer.plans] == ["USD"]
    assert "without AWS (5,760.00 EUR on demand), whose discount is unknown" in answer.summary


def test_a_plan_is_of_what_its_filters_choose(acme: Account) -> None:
    lines = usage_of(ALL, lambda _day, _hour: 4) + usage_of(ALL, lambda _day, _hour: 6, service="Lambda")

    plan = plan_of(acme, lines, filters=[CostFilter(dimension="service", values=["Lambda"])])

    assert plan.per_hour == 3


def test_spot_usage_and_an_account_without_usage_have_no_plan(acme: Account) -> None:
    answer = answer_of(acme, [cost(day, 5, pricing_category="Dynamic") for day in each_day(ALL)])

    assert answer.plans == []
    assert answer.summary.startswith("No usage at standard prices that a commitment could cover")


@pytest.mark.parametrize("percent", ["0", "100", "NaN"])
def test_a_discount_is_between_nothing_and_all(acme: Account, percent: str) -> None:
    with pytest.raises(UserError, match="above 0 and below 100"):
        answer_of(acme, [], discount_percent=Decimal(percent))


SLOTS = st.lists(
    st.builds(UsageSlot, st.sampled_from([1, 24]), st.decimals(-5, 500, places=3)), min_size=1, max_size=30
)


def saving(slots: list[UsageSlot], hours: int, capacity: Decimal, discount: Decimal) -> Fraction:
    used = sum(min(max(Fraction(o), Fraction(0)), Fraction(capacity) * count) for count, o in slots)
    return used - Fraction(1 - discount) * Fraction(capacity) * hours


@given(slots=SLOTS, idle=st.integers(0, 200), percent=st.integers(1, 99))
@settings(deadline=None)
def test_no_other_commitment_would_have_saved_more(slots: list[UsageSlot], idle: int, percent: int) -> None:
    hours, discount = sum(slot.hours for slot in slots) + idle, Decimal(percent) / 100

    best = best_capacity(slots, hours, discount)

    # The levels are rounded down to 18 places.
    tolerance = Fraction(hours, 10**17)
    for level in [Decimal(0), *(max(o, Decimal(0)) / count for count, o in slots)]:
        assert saving(slots, hours, best, discount) >= saving(slots, hours, level, discount) - tolerance


@given(slots=SLOTS, percent=st.integers(1, 99))
@settings(deadline=None)
def test_after_the_tolerated_fall_the_commitment_still_pays_and_not_much_later(
    slots: list[UsageSlot], percent: int
) -> None:
    hours, discount = sum(slot.hours for slot in slots), Decimal(percent) / 100
    capacity = best_capacity(slots, hours, discount)
    per_hour = capacity * (1 - discount)
    if covered_per_hour(per_hour, discount) == 0:
        return

    fall = tolerated_fall(slots, hours, per_hour, capacity)

    def saving_after(share: Decimal) -> Decimal:
        remaining_slots = [UsageSlot(count, o * (1 - share)) for count, o in slots]
        return purchase_outcome(remaining_slots, hours, per_hour, capacity).saving

    assert saving_after(fall) >= 0 or fall == 0
    assert fall == 1 or saving_after(fall + Decimal("0.001")) < 0
