"""Simulations: each figure calculated by hand from a few lines."""

from __future__ import annotations

from datetime import date
from decimal import Decimal

import pytest

from accounts.models import Account
from finops.insights.simulation.schemas import UsageGrowth
from finops.lib.errors import UserError
from tests.factories.costs import cost
from tests.factories.usage import add_usage, event
from tests.finops.insights.commitments.test_commitments import commitment_line, on_demand
from tests.finops.insights.simulation.bills import DAY, simulate


def growth(percent: str, dimension: str = "", *values: str) -> UsageGrowth:
    return UsageGrowth(percent=Decimal(percent), dimension=dimension, values=list(values))


def test_usage_of_a_service_grows_and_the_rest_stays(acme: Account) -> None:
    lines = [on_demand("100"), cost(DAY, 50, service="Mail"), cost(DAY, 9, charge_category="Tax")]

    answer = simulate(acme, lines, growth=[growth("12.5", "service", "EC2")])

    (total,) = answer.totals
    assert [total.baseline, total.simulated] == [Decimal(159), Decimal("171.5")]
    assert "They are 9.00 USD here." in answer.assumptions[-1]


def test_the_first_rule_that_fits_a_line_counts(acme: Account) -> None:
    answer = simulate(
        acme,
        [on_demand("100"), cost(DAY, 50, service="Mail")],
        growth=[growth("-100", "service", "Mail"), growth("10")],
    )

    assert {each.assumption: each.change for each in answer.effects} == {
        "Usage of service 'Mail' -100 %": -50,
        "All usage +10 %": 10,
    }


def test_without_commitments_covered_usage_is_at_contracted_prices_and_nothing_is_unused(
    acme: Account,
) -> None:
    answer = simulate(
        acme,
        [commitment_line("75", "Used"), commitment_line("25", "Unused"), on_demand("10")],
        commitments="end",
    )

    (total,) = answer.totals
    assert [total.baseline, total.simulated] == [Decimal(110), Decimal(160)]


def test_more_usage_than_a_commitment_covers_is_at_contracted_prices(acme: Account) -> None:
    answer = simulate(acme, [commitment_line("75", "Used")], growth=[growth("10")])

    assert answer.totals[0].change == 15


def test_less_usage_leaves_a_commitment_unused_at_the_same_cost(acme: Account) -> None:
    answer = simulate(acme, [commitment_line("75", "Used")], growth=[growth("-40")])

    assert answer.totals[0].change == 0
    assert any("leaves them unused" in each for each in answer.assumptions)


def test_both_assumptions_together_add_up(acme: Account) -> None:
    answer = simulate(acme, [commitment_line("75", "Used")], commitments="end", growth=[growth("10")])

    assert answer.totals[0].simulated == 165


def test_usage_without_a_price_is_left_out_and_the_first_sentence_names_its_amount(acme: Account) -> None:
    unpriced = commitment_line("30", "Used") | {"contracted_cost": None}

    answer = simulate(acme, [unpriced, on_demand("10")], commitments="end")

    assert [answer.totals[0].baseline, answer.totals[0].simulated] == [Decimal(10), Decimal(10)]
    assert (answer.left_out[0].cost, answer.left_out[0].currency) == (Decimal(30), "USD")
    assert "30.00 USD covered by a commitment, without a contracted cost is left out" in answer.summary


def test_currencies_are_never_added(acme: Account) -> None:
    answer = simulate(acme, [on_demand("10"), cost(DAY, 5, currency="EUR")], growth=[growth("100")])

    assert {each.currency: each.simulated for each in answer.totals} == {"USD": 20, "EUR": 10}


@pytest.mark.parametrize(
    ("rule", "words"),
    [
        (growth("10", "service", "EC3"), "EC2"),
        (growth("10", "service"), "dimension with its values"),
        (growth("-101"), "-100 to 10000"),
        (growth("NaN"), "-100 to 10000"),
    ],
)
def test_an_impossible_simulation_is_refused_with_a_correction(
    acme: Account, rule: UsageGrowth, words: str
) -> None:
    with pytest.raises(UserError, match=words):
        simulate(acme, [on_demand("100")], growth=[rule])


def test_usage_grows_as_a_metric_of_usage_does(acme: Account) -> None:
    add_usage(acme, [event(DAY, "globex", 600), event(date(2026, 2, 1), "globex", 999)])
    as_metric = UsageGrowth(
        usage_metric="requests", quantity=Decimal(750), dimension="service", values=["EC2"]
    )

    answer = simulate(acme, [on_demand("100"), cost(DAY, 50, service="Mail")], growth=[as_metric])

    # 750 requests in place of 600: a quarter more.
    assert answer.totals[0].change == 25
    assert answer.effects[0].assumption == "Usage of service 'EC2' as 'requests' at 750"
    assert "'requests' is 600 in these days, of all customers." in answer.assumptions


@pytest.mark.parametrize("percent", [None, "10"])
def test_a_metric_needs_its_quantity_and_no_percent(acme: Account, percent: str | None) -> None:
    rule = UsageGrowth(usage_metric="requests", percent=Decimal(percent) if percent else None)

    with pytest.raises(UserError, match="the quantity that it grows to"):
        simulate(acme, [on_demand("100")], growth=[rule])


def test_a_metric_without_usage_in_these_days_says_nothing_of_growth(acme: Account) -> None:
    add_usage(acme, [event(date(2026, 2, 1), "globex", 999)])

    with pytest.raises(UserError, match="has no usage in these days"):
        simulate(acme, [on_demand("1")], growth=[UsageGrowth(usage_metric="requests", quantity=Decimal(1))])
