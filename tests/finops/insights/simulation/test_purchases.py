"""Commitments that are bought or left to expire: each figure worked out by hand of a few hours."""

from __future__ import annotations

from collections import defaultdict
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from accounts.models import Account
from finops.insights.commitments.purchases import UsageSlot, covered_per_hour, purchase_outcome
from finops.insights.simulation.schemas import Purchase
from finops.lib.errors import UserError
from finops.lib.money import exact_sum
from tests.factories.costs import cost
from tests.finops.insights.commitments.test_commitments import commitment_line, on_demand
from tests.finops.insights.simulation.bills import DAY, decimals, hourly, simulate


def purchase(per_hour: str, percent: str | None = "50", **fields: Any) -> Purchase:
    discount = None if percent is None else Decimal(percent)
    return Purchase(per_hour=Decimal(per_hour), discount_percent=discount, **fields)


def test_an_hour_without_usage_costs_the_commitment_and_no_hour_pays_for_another(acme: Account) -> None:
    # 1 an hour covers usage worth 2 in each of the day's 24 hours: 2 of 10, 1 of 1, nothing else.
    answer = simulate(acme, [hourly(3, "10"), hourly(4, "1")], purchases=[purchase("1")])

    (result,) = answer.purchases
    assert (result.committed, result.covered_on_demand, result.eligible_on_demand) == decimals(24, 3, 11)
    assert (answer.totals[0].baseline, answer.totals[0].simulated) == decimals(11, 32)
    assert (result.utilization, result.break_even_utilization) == (Decimal(3) / 48, Decimal("0.5"))
    assert (result.days_by_hour, result.days_by_day) == (1, 0)
    assert "by day" not in answer.summary


def test_a_bill_without_hours_is_counted_by_day_and_the_first_sentence_says_so(acme: Account) -> None:
    answer = simulate(acme, [on_demand("30")], purchases=[purchase("1")])

    assert answer.totals[0].change == 24 - 30
    assert "count by day, not by hour, on 1 day, which overstates what they save" in answer.summary
    assert any("even over the day" in each for each in answer.assumptions)


def test_one_line_without_its_hour_makes_its_day_a_day(acme: Account) -> None:
    other = DAY + timedelta(days=1)
    lines = [hourly(3, "10"), on_demand("20"), hourly(1, "5", day=other), cost(other, 0, service="Mail")]

    (result,) = simulate(acme, lines, purchases=[purchase("1")]).purchases

    assert (result.days_by_hour, result.days_by_day) == (1, 1)
    assert result.covered_on_demand == 30 + 2


def test_spot_usage_fees_and_lines_of_a_month_are_not_covered(acme: Account) -> None:
    start = datetime(2026, 1, 1, tzinfo=UTC)
    month = {"charge_period_start": start, "charge_period_end": start + timedelta(days=31)}
    lines = [
        hourly(3, "10", pricing_category="Dynamic"),
        cost(DAY, 7, charge_category="Tax"),
        on_demand("40", **month),
        hourly(4, "1"),
    ]

    assert simulate(acme, lines, purchases=[purchase("1")]).purchases[0].eligible_on_demand == 1


def test_without_a_discount_that_of_covered_lines_counts(acme: Account) -> None:
    # Covered lines are worth twice their price, so the discount is half.
    answer = simulate(acme, [commitment_line("75", "Used"), hourly(3, "10")], purchases=[purchase("1", None)])

    assert answer.purchases[0].discount_percent == 50
    assert answer.totals[0].change == 24 - 2


def test_no_discount_is_made_up(acme: Account) -> None:
    with pytest.raises(UserError, match="Give discount_percent from the provider's price list"):
        simulate(acme, [hourly(3, "10")], purchases=[purchase("1", None)])


def test_one_commitment_ends_and_another_covers_its_usage(acme: Account) -> None:
    start = datetime(2026, 1, 5, 3, tzinfo=UTC)
    hour = {"charge_period_start": start, "charge_period_end": start + timedelta(hours=1)}
    lines = [
        commitment_line("75", "Used", **hour),
        commitment_line("25", "Unused", **hour),
        commitment_line("8", "Used", **hour, commitment_id="sp-2"),
    ]

    answer = simulate(acme, lines, ending=["sp-1"], purchases=[purchase("60")])

    # 150 on demand, of which 120 are covered, in one of 24 hours; sp-2 stays at 8.
    assert answer.totals[0].simulated == 8 + 150 - 120 + 60 * 24
    assert [each.assumption for each in answer.effects] == [
        "Commitments 'sp-1' end",
        "Purchase of 60 per hour",
    ]
    assert any("Commitments 'sp-1' end; others stay" in each for each in answer.assumptions)


def test_the_first_purchase_that_fits_a_line_covers_it(acme: Account) -> None:
    lines = [hourly(3, "10"), hourly(3, "10", service="Lambda")]
    bought = [purchase("1", dimension="service", values=["Lambda"]), purchase("3")]

    answer = simulate(acme, lines, purchases=bought)

    assert [each.covered_on_demand for each in answer.purchases] == [2, 6]


def test_currencies_have_to_be_named_and_are_never_added(acme: Account) -> None:
    lines = [hourly(3, "10"), hourly(3, "4", currency="EUR")]

    with pytest.raises(UserError, match="EUR or USD"):
        simulate(acme, lines, purchases=[purchase("1")])


def test_purchases_in_a_currency_leave_the_other_alone(acme: Account) -> None:
    lines = [hourly(3, "10"), hourly(3, "4", currency="EUR")]

    answer = simulate(acme, lines, purchases=[purchase("1", currency="eur")])

    assert {each.currency: each.change for each in answer.totals} == {"USD": 0, "EUR": 24 - 2}


@pytest.mark.parametrize(
    ("bought", "words"),
    [
        (purchase("0"), "per_hour is above 0"),
        (purchase("1", "100"), "discount_percent is above 0 and below 100"),
        (purchase("1", dimension="service"), "dimension with its values"),
    ],
)
def test_a_commitment_that_cannot_be_bought_is_refused(acme: Account, bought: Purchase, words: str) -> None:
    with pytest.raises(UserError, match=words):
        simulate(acme, [hourly(3, "10")], purchases=[bought])


AMOUNTS = st.decimals(0, 1000, places=4)
USAGE = st.lists(st.tuples(st.integers(0, 6), st.integers(0, 23), AMOUNTS), max_size=60)


@given(usage=USAGE, per_hour=st.decimals(Decimal("0.01"), 100, places=2), percent=st.integers(1, 99))
@settings(deadline=None)
def test_the_outcome_is_that_of_each_hour_by_itself(
    usage: list[tuple[int, int, Decimal]], per_hour: Decimal, percent: int
) -> None:
    by_hour: dict[tuple[int, int], Decimal] = defaultdict(Decimal)
    for day, hour, amount in usage:
        by_hour[day, hour] += amount
    capacity = covered_per_hour(per_hour, Decimal(percent) / 100)

    outcome = purchase_outcome([UsageSlot(1, each) for each in by_hour.values()], 7 * 24, per_hour, capacity)

    cost_of_each = [
        per_hour + max(by_hour[day, hour] - capacity, Decimal(0)) for day in range(7) for hour in range(24)
    ]
    assert exact_sum(by_hour.values()) - outcome.saving == sum(cost_of_each)
    days = [UsageSlot(24, exact_sum(by_hour[day, hour] for hour in range(24))) for day in range(7)]
    assert purchase_outcome(days, 7 * 24, per_hour, capacity).saving >= outcome.saving
