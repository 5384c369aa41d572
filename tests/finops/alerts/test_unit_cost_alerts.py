"""Unit costs above their target are sent once an episode, and their end once."""

from __future__ import annotations

from datetime import date, timedelta
from decimal import Decimal
from typing import Any

import pytest

from accounts.models import Account
from finops.alerts import services
from finops.alerts.models import AlertChannel, AlertSubscription
from finops.costs.models import CostSource
from finops.lib.errors import UserError
from finops.unitcosts.models import UnitMetric
from finops.unitcosts.services.unit_metrics import create_unit_metric, delete_unit_metric
from finops.unitcosts.unit_cost_query import UnitCostQuery
from tests.cast import ACTOR, Cast, signed_in
from tests.factories.alerts import evaluate, subscribe
from tests.factories.budgets import daily_cost
from tests.factories.costs import add_source, store_lines
from tests.factories.days import at, days
from tests.factories.usage import add_usage, event
from tests.finops.alerts.test_digests import MONDAY, SUNDAY

pytestmark = pytest.mark.django_db

FIRST = date(2026, 3, 2)


@pytest.fixture
def metric(acme: Account) -> UnitMetric:
    """Cost per 1,000 requests; there are 1,000 requests a day from 2 March to 12 April."""
    add_usage(acme, [event(day, "c1", 1000) for day in days(FIRST, date(2026, 4, 12))])
    question = UnitCostQuery(usage_metric="requests", per=1000)
    return create_unit_metric(account=acme, actor=ACTOR, name="Cost per 1k", question=question)


def subscribe_to_target(account: Account, target: str = "10", **options: Any) -> AlertSubscription:
    fields = {"frequency": "weekly", "currency": "USD", **options}
    return subscribe(account, "unit_cost", unit_metric="Cost per 1k", target=Decimal(target), **fields)


def add_spend(account: Account, through: date, amount: str | int) -> CostSource:
    return add_source(account, daily_cost(FIRST, through, amount))


def test_a_unit_cost_above_its_target_is_sent_with_cost_and_usage(acme: Account, metric: UnitMetric) -> None:
    subscribe_to_target(acme)
    add_spend(acme, SUNDAY, 12)

    with at(MONDAY, 6):
        (delivery,) = services.evaluate(acme)
        assert services.evaluate(acme) == []

    message = delivery.message
    assert message["title"] == "'Acme': 'Cost per 1k' is above its target: $12.00 per 1,000 requests"
    assert message["summary"].startswith(
        "'Cost per 1k' was $12.00 per 1,000 requests, Mar 16 – 22; the target is $10.00."
    )
    facts = {fact["label"]: fact["value"] for fact in message["facts"]}
    assert facts["Above target"] == "+$2.00 (20%)"
    assert facts["Cost"] == "$84.00"
    assert facts["Usage"] == "7,000"
    assert message["data"]["unit_cost"] == {"amount": 12.0, "currency": "USD"}
    assert (message["severity"], message["is_end"]) == ("warning", False)
    assert "start_date=2026-03-16&end_date=2026-03-22" in message["url"]
    chart = message["chart"]
    assert (chart["title"], chart["limit"], chart["limit_name"]) == (
        "Unit cost by day in USD",
        10.0,
        "Target",
    )
    assert chart["series"][0]["values"] == [12.0] * 7


def test_a_unit_cost_of_a_single_day_has_no_chart(acme: Account, metric: UnitMetric) -> None:
    subscribe_to_target(acme, frequency="daily")
    add_spend(acme, SUNDAY, 12)

    with at(MONDAY, 6):
        (delivery,) = services.evaluate(acme)

    assert "chart" not in delivery.message


def test_weeks_above_the_target_are_one_episode_and_its_end_is_sent(
    acme: Account, metric: UnitMetric
) -> None:
    subscribe_to_target(acme)
    source = add_spend(acme, SUNDAY, 12)
    with at(MONDAY, 6):
        assert len(evaluate(acme)) == 1

    second = SUNDAY + timedelta(days=7)
    store_lines(acme, source, daily_cost(FIRST, second, 13))
    with at(second + timedelta(days=1), 6):
        assert evaluate(acme) == []

    third = second + timedelta(days=7)
    store_lines(
        acme, source, [*daily_cost(FIRST, second, 13), *daily_cost(second + timedelta(days=1), third, 9)]
    )
    with at(third + timedelta(days=1), 6):
        (delivery,) = services.evaluate(acme)
        assert services.evaluate(acme) == []
    assert delivery.message["title"].endswith("is back within its target: $9.00 per 1,000 requests")
    assert (delivery.message["severity"], delivery.message["is_end"]) == ("info", True)

    fourth = third + timedelta(days=7)
    store_lines(
        acme, source, [*daily_cost(FIRST, third, 9), *daily_cost(third + timedelta(days=1), fourth, 20)]
    )
    with at(fourth + timedelta(days=1), 6):
        assert evaluate(acme) == ["'Cost per 1k' is above its target: $20.00 per 1,000 requests"]


def test_a_unit_cost_at_its_target_is_within_it(acme: Account, metric: UnitMetric) -> None:
    subscribe_to_target(acme, "12")
    add_spend(acme, SUNDAY, 12)

    with at(MONDAY, 6):
        assert evaluate(acme) == []


def test_a_target_may_be_smaller_than_a_cent(acme: Account, metric: UnitMetric) -> None:
    subscribe_to_target(acme, "0.000000000001")
    add_spend(acme, SUNDAY, "0.01")

    with at(MONDAY, 6):
        (delivery,) = services.evaluate(acme)

    assert "the target is $0.000000000001." in delivery.message["summary"]


def test_days_without_usage_or_in_another_currency_change_nothing(acme: Account, metric: UnitMetric) -> None:
    subscribe_to_target(acme, currency="EUR")
    add_spend(acme, SUNDAY, 12)

    with at(MONDAY, 6):
        assert evaluate(acme) == []


def add_pounds(account: Account) -> None:
    """1 GBP a day, for which there is no exchange rate to the display currency."""
    account.display_currency = "USD"
    account.save()
    add_source(account, daily_cost(FIRST, SUNDAY, 1, currency="GBP"), name="Pounds")


def test_a_unit_cost_above_its_target_says_first_which_cost_has_no_exchange_rate(
    acme: Account, metric: UnitMetric
) -> None:
    subscribe_to_target(acme)
    add_spend(acme, SUNDAY, 12)
    add_pounds(acme)

    with at(MONDAY, 6):
        (delivery,) = services.evaluate(acme)

    assert delivery.message["summary"].startswith(
        "'Cost per 1k' was $12.00 per 1,000 requests, Mar 16 – 22, "
        "without £7.00 for which there is no exchange rate to USD; the target is $10.00."
    )


def test_a_unit_cost_without_all_exchange_rates_is_not_called_within_its_target(
    acme: Account, metric: UnitMetric
) -> None:
    subscribe_to_target(acme)
    source = add_spend(acme, SUNDAY, 12)
    with at(MONDAY, 6):
        assert len(evaluate(acme)) == 1

    store_lines(acme, source, daily_cost(FIRST, SUNDAY, 9))
    add_pounds(acme)

    with (
        at(MONDAY, 7),
        pytest.raises(UserError, match=r"Unit cost 'Cost per 1k': Not compared\. No exchange rate to USD: "),
    ):
        services.evaluate(acme)


def test_a_unit_cost_says_first_on_how_many_days_there_is_usage(acme: Account) -> None:
    add_usage(acme, [event(day, "c1", 1000) for day in days(FIRST, SUNDAY - timedelta(days=2))])
    question = UnitCostQuery(usage_metric="requests", per=1000)
    create_unit_metric(account=acme, actor=ACTOR, name="Cost per 1k", question=question)
    subscribe_to_target(acme)
    add_spend(acme, SUNDAY, 12)

    with at(MONDAY, 6):
        (delivery,) = services.evaluate(acme)

    assert delivery.message["summary"].startswith(
        "'Cost per 1k' was $16.80 per 1,000 requests, Mar 16 – 22, with usage on 5 of 7 days; "
    )


def test_a_deleted_unit_metric_takes_its_subscriptions_along_and_says_so_before(
    acme: Account, cast: Cast, metric: UnitMetric
) -> None:
    subscribe_to_target(acme)

    page = signed_in(cast.member).get(f"/a/acme/unit-economics/saved/{metric.pk}/edit/").content.decode()
    delete_unit_metric(metric=metric, actor=ACTOR)

    assert "Also deletes 1 alert subscription" in page
    assert not AlertSubscription.objects.exists()


@pytest.mark.parametrize(
    ("options", "expected_message"),
    [
        ({"target": None}, "target is missing"),
        ({"target": Decimal("-1")}, "is not an amount of 0 or more"),
        ({"target": Decimal("1e-13")}, "up to 12 decimal places"),
        ({"currency": ""}, "currency is missing"),
        ({"unit_metric": "Nobody"}, "unit_metric: 'Nobody' does not exist"),
        ({"minimum_percent": 3}, "minimum_percent is not allowed"),
    ],
    ids=str,
)
def test_a_draft_that_cannot_be_says_why(
    acme: Account, metric: UnitMetric, options: dict[str, Any], expected_message: str
) -> None:
    fields = {"unit_metric": metric.pk, "target": Decimal(1), "currency": "USD", "frequency": "daily"}

    with pytest.raises(UserError, match=expected_message):
        subscribe(acme, "unit_cost", **{**fields, **options})


def test_the_form_makes_one_and_its_target_is_changed(acme: Account, cast: Cast, metric: UnitMetric) -> None:
    member, ops = signed_in(cast.member), AlertChannel.objects.get()
    new = "/a/acme/alerts/subscriptions/new/"
    form = {"channel": ops.pk, "trigger": "unit_cost", "unit_metric": metric.pk, "frequency": "weekly"}

    assert "Enter a target." in member.post(new, form).content.decode()
    page = member.post(new, {**form, "target": "0.0125", "currency": "USD"}, follow=True).content.decode()
    assert "Unit cost Cost per 1k above $0.0125 in a week" in page
    assert "$0.0125" in page
    row = AlertSubscription.objects.get()
    edited = {"channel": ops.pk, "frequency": "weekly", "target": "0.02", "currency": "USD"}
    member.post(f"/a/acme/alerts/subscriptions/{row.pk}/edit/", edited)
    row.refresh_from_db()
    assert row.target == Decimal("0.02")
