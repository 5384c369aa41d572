"""Budget thresholds: when they fire, their texts, and that each is sent once. Today is 20 March 2026."""

from __future__ import annotations

from datetime import date, timedelta
from decimal import Decimal

import pytest

from accounts.models import Account
from finops.alerts import services
from finops.alerts.models import AlertDelivery, AlertFiring
from finops.budgets.models import Budget
from finops.budgets.services import change_budget
from finops.costs.models import CostSource
from finops.costs.services.cost_view import change_cost_view
from finops.lib import clock
from tests.cast import ACTOR
from tests.factories.alerts import evaluate, subscribe_to_budget
from tests.factories.budgets import budget_draft, create_budget, daily_cost, source_scope
from tests.factories.costs import add_source, cost, store_lines
from tests.factories.days import at

pytestmark = pytest.mark.django_db

JANUARY, MARCH = date(2026, 1, 1), date(2026, 3, 1)
YESTERDAY = date(2026, 3, 19)


@pytest.fixture
def bill(acme: Account) -> CostSource:
    """10 USD a day from January to yesterday: 190 in March, forecast 310."""
    return add_source(acme, daily_cost(JANUARY, YESTERDAY, 10))


def march_of(source: CostSource, amount: str | int) -> None:
    """Restate March: a line of that amount on each of its 19 days."""
    store_lines(source.account, source, daily_cost(MARCH, YESTERDAY, amount))


def test_a_threshold_that_is_reached_is_sent_once_with_figures_and_a_link(
    acme: Account, bill: CostSource
) -> None:
    budget = create_budget(acme, "Cloud", 230)
    subscribe_to_budget(acme, "Cloud", 80)

    (delivery,) = services.evaluate(acme)

    message = delivery.message
    assert message["title"] == "'Acme': budget 'Cloud' is at 82.6%"
    assert message["summary"] == (
        "$190.00 of $230.00 spent since Mar 1, at or above the threshold of 80%. The forecast "
        "for Mar 31 is $310.00."
    )
    assert [(fact["label"], fact["value"]) for fact in message["facts"]] == [
        ("Account", "Acme"),
        ("Threshold", "80% of the amount"),
        ("Amount", "$230.00"),
        ("Spent", "$190.00 (82.6%)"),
        ("Forecast", "$310.00 (134.8%)"),
        ("Period", "Mar 1 – 31"),
        ("Scope", "Whole account"),
        ("Data through", "Mar 19"),
    ]
    assert message["url"] == f"http://127.0.0.1:8000/a/acme/budgets/{budget.pk}/"
    assert (message["severity"], message["kind"]) == ("warning", "budget")
    assert message["data"]["spent"] == {"amount": 190.0, "currency": "USD"}
    assert services.evaluate(acme) == []


def test_below_its_thresholds_a_budget_is_silent(acme: Account, bill: CostSource) -> None:
    create_budget(acme, "Cloud", 230)
    subscribe_to_budget(acme, "Cloud", 83, 100)

    assert evaluate(acme) == []


def test_a_threshold_is_reached_exactly(acme: Account, bill: CostSource) -> None:
    create_budget(acme, "Cloud", "237.50")
    subscribe_to_budget(acme, "Cloud", 80)

    assert evaluate(acme) == ["budget 'Cloud' is at 80%"]


def test_several_thresholds_at_once_are_one_message_that_names_the_highest(
    acme: Account, bill: CostSource
) -> None:
    create_budget(acme, "Cloud", 180)
    subscribe_to_budget(acme, "Cloud", 120, 50, 100, 80)

    (delivery,) = services.evaluate(acme)

    assert "at or above the threshold of 100%" in delivery.message["summary"]
    assert delivery.message["severity"] == "critical"
    assert sorted(AlertFiring.objects.values_list("key", flat=True)) == sorted(
        f"budget:{Budget.objects.get().pk}:monthly:2026-03-01:actual:{each}" for each in (50, 80, 100)
    )


def test_each_further_threshold_has_its_own_message(acme: Account, bill: CostSource) -> None:
    create_budget(acme, "Cloud", 230)
    subscribe_to_budget(acme, "Cloud", 80, 100)

    assert evaluate(acme) == ["budget 'Cloud' is at 82.6%"]
    march_of(bill, 12)
    assert evaluate(acme) == []
    march_of(bill, 13)
    assert evaluate(acme) == ["budget 'Cloud' is at 107.4%"]


def test_a_bill_that_is_restated_under_and_over_again_fires_once(acme: Account, bill: CostSource) -> None:
    create_budget(acme, "Cloud", 230)
    subscribe_to_budget(acme, "Cloud", 80)
    evaluate(acme)

    march_of(bill, 5)
    assert evaluate(acme) == []
    march_of(bill, 11)

    assert evaluate(acme) == []


def test_another_amount_does_not_fire_the_same_threshold_of_the_period_again(
    acme: Account, bill: CostSource
) -> None:
    budget = create_budget(acme, "Cloud", 230)
    subscribe_to_budget(acme, "Cloud", 80, 100)
    evaluate(acme)

    change_budget(budget=budget, actor=ACTOR, draft=budget_draft("Cloud", 1000))
    assert evaluate(acme) == []
    change_budget(budget=budget, actor=ACTOR, draft=budget_draft("Cloud", 220))
    assert evaluate(acme) == []
    change_budget(budget=budget, actor=ACTOR, draft=budget_draft("Cloud", 190))

    assert evaluate(acme) == ["budget 'Cloud' is at 100%"]


def test_the_next_period_fires_again(acme: Account, bill: CostSource) -> None:
    create_budget(acme, "Cloud", 230)
    subscribe_to_budget(acme, "Cloud", 80)
    evaluate(acme)

    store_lines(acme, bill, daily_cost(date(2026, 3, 20), date(2026, 4, 22), 10))
    with at(date(2026, 4, 23)):
        assert evaluate(acme) == ["budget 'Cloud' is at 95.7%"]


def test_a_period_with_an_amount_of_its_own_is_measured_by_that(acme: Account, bill: CostSource) -> None:
    create_budget(acme, "Cloud", 100, amounts={MARCH: Decimal(200), date(2026, 4, 1): Decimal(50)})
    subscribe_to_budget(acme, "Cloud", 90, 100)

    assert evaluate(acme) == ["budget 'Cloud' is at 95%"]


def test_a_forecast_is_alerted_before_the_cost_is_there(acme: Account, bill: CostSource) -> None:
    create_budget(acme, "Cloud", 300)
    subscribe_to_budget(acme, "Cloud", 100)
    subscribe_to_budget(acme, "Cloud", 90, 100, measure="forecast")

    (delivery,) = services.evaluate(acme)

    assert delivery.message["title"] == "'Acme': budget 'Cloud' is forecast to end at 103.3%"
    assert delivery.message["summary"] == (
        "The forecast for Mar 31 is $310.00 of $300.00, at or above the threshold of 100%. "
        "Spent so far: $190.00."
    )
    assert delivery.message["severity"] == "warning"


def test_without_a_forecast_the_actual_spend_counts(acme: Account) -> None:
    add_source(acme, [cost(YESTERDAY, 500)])
    create_budget(acme, "Cloud", 400)
    subscribe_to_budget(acme, "Cloud", 100, measure="forecast")

    assert evaluate(acme) == ["budget 'Cloud' is at 125%"]


def test_a_budget_in_a_currency_without_cost_is_silent(acme: Account, bill: CostSource) -> None:
    create_budget(acme, "Euros", 1)
    Budget.objects.update(currency="EUR")  # it had cost in euros when it was made
    subscribe_to_budget(acme, "Euros", 1)
    subscribe_to_budget(acme, "Euros", 1, measure="forecast")

    assert evaluate(acme) == []


def test_cost_in_other_currencies_is_named_and_not_counted(acme: Account) -> None:
    add_source(acme, [cost(YESTERDAY, 90), cost(YESTERDAY, 700, currency="EUR")])
    create_budget(acme, "Cloud", 100)
    subscribe_to_budget(acme, "Cloud", 80, 100)

    (delivery,) = services.evaluate(acme)

    facts = {fact["label"]: fact["value"] for fact in delivery.message["facts"]}
    assert (facts["Spent"], facts["Not counted"]) == ("$90.00 (90%)", "€700.00")


def test_charge_categories_outside_the_cost_view_are_named_and_not_counted(
    acme: Account, bill: CostSource
) -> None:
    add_source(acme, [cost(MARCH, 50, charge_category="Tax")], name="Taxes")
    change_cost_view(account=acme, actor=ACTOR, basis="billed", charge_categories=["Usage"])
    create_budget(acme, "Cloud", 230)
    subscribe_to_budget(acme, "Cloud", 80)

    (delivery,) = services.evaluate(acme)

    assert delivery.message["summary"].startswith(
        "$190.00 of $230.00 spent since Mar 1, without $50.00 of charge categories outside the cost view, at or above"
    )


def test_an_account_without_cost_is_silent(acme: Account) -> None:
    create_budget(acme, "Cloud", 1)
    subscribe_to_budget(acme, "Cloud", 1)

    assert evaluate(acme) == []


def test_the_last_days_of_a_period_are_sent_when_their_bill_arrives_in_the_next(
    acme: Account, bill: CostSource
) -> None:
    create_budget(acme, "Cloud", 310)
    subscribe_to_budget(acme, "Cloud", 100)
    store_lines(acme, bill, daily_cost(MARCH, date(2026, 3, 30), 10))
    assert evaluate(acme) == []

    store_lines(acme, bill, daily_cost(MARCH, date(2026, 3, 31), 10))
    with at(date(2026, 4, 2)):
        (delivery,) = services.evaluate(acme)

    assert delivery.message["title"] == "'Acme': budget 'Cloud' ended on Mar 31 at 100%"
    assert delivery.message["summary"] == (
        "Mar 1 – 31: $310.00 of $310.00 spent, at or above the threshold of 100%."
    )


def test_a_period_that_is_over_names_the_cost_that_it_does_not_count(acme: Account) -> None:
    create_budget(acme, "Cloud", 310)
    subscribe_to_budget(acme, "Cloud", 100)
    change_cost_view(account=acme, actor=ACTOR, basis="billed", charge_categories=["Usage"])
    add_source(
        acme,
        [
            *daily_cost(JANUARY, date(2026, 3, 31), 10),
            cost(MARCH, 50, charge_category="Tax"),
            cost(MARCH, 7, currency="EUR"),
        ],
    )

    with at(date(2026, 4, 2)):
        (delivery,) = services.evaluate(acme)

    assert delivery.message["summary"] == (
        "Mar 1 – 31: $310.00 of $310.00 spent, without €7.00 in other currencies, "
        "without $50.00 of charge categories outside the cost view, at or above the threshold of 100%."
    )
    facts = {fact["label"]: fact["value"] for fact in delivery.message["facts"]}
    assert facts["Not counted"] == "€7.00"


def test_a_period_that_is_over_is_not_called_ended_before_its_bill_is_whole(acme: Account) -> None:
    create_budget(acme, "Cloud", 280)
    subscribe_to_budget(acme, "Cloud", 100)
    add_source(acme, daily_cost(JANUARY, date(2026, 3, 29), 10))

    with at(date(2026, 4, 1)):
        (delivery,) = services.evaluate(acme)

    assert delivery.message["title"] == "'Acme': budget 'Cloud' reached 103.6% by Mar 31"
    assert delivery.message["summary"] == (
        "Mar 1 – 31: $290.00 of $280.00 spent, with data through Mar 29, at or above the threshold of 100%."
    )


@pytest.mark.parametrize(
    ("through", "today", "count"),
    [
        (date(2026, 4, 3), date(2026, 4, 5), 1),
        (date(2026, 4, 4), date(2026, 4, 5), 0),
        (date(2026, 3, 31), date(2026, 5, 1), 0),
    ],
    ids=["bill still coming in", "bill complete", "a month late"],
)
def test_a_period_that_is_over_is_alerted_while_it_is_recent(
    acme: Account, through: date, today: date, count: int
) -> None:
    create_budget(acme, "Cloud", 310)
    subscribe_to_budget(acme, "Cloud", 100)
    add_source(acme, daily_cost(JANUARY, through, 10))

    with at(today):
        assert len(evaluate(acme)) == count


def test_a_subscription_gets_no_alert_of_the_period_before_it_was_created(
    acme: Account, bill: CostSource
) -> None:
    store_lines(acme, bill, daily_cost(MARCH, date(2026, 3, 31), 10))
    with at(date(2026, 4, 1)):
        create_budget(acme, "Cloud", 100)
        subscribe_to_budget(acme, "Cloud", 100)

        assert evaluate(acme) == []


def test_a_year_that_is_over_is_alerted_too(acme: Account) -> None:
    create_budget(acme, "Year", 3650, period="yearly")
    subscribe_to_budget(acme, "Year", 100)
    add_source(acme, daily_cost(date(2026, 1, 1), date(2026, 12, 31), 10))

    with at(date(2027, 1, 2)):
        assert evaluate(acme) == ["budget 'Year' ended on Dec 31, 2026 at 100%"]


def test_a_first_import_of_a_year_alerts_for_the_current_period_only(acme: Account) -> None:
    create_budget(acme, "Cloud", 100)
    subscribe_to_budget(acme, "Cloud", 80, 100)

    add_source(acme, daily_cost(date(2025, 3, 1), YESTERDAY, 10))

    assert evaluate(acme) == ["budget 'Cloud' is at 190%"]


def test_a_paused_subscription_is_silent_until_it_is_resumed(acme: Account, bill: CostSource) -> None:
    create_budget(acme, "Cloud", 100)
    subscription = subscribe_to_budget(acme, "Cloud", 100)
    services.pause_alert_subscription(subscription=subscription, actor=ACTOR)
    assert evaluate(acme) == []

    services.resume_alert_subscription(subscription=subscription, actor=ACTOR)

    assert evaluate(acme) == ["budget 'Cloud' is at 190%"]


def test_a_budget_of_one_source_counts_its_own_cost(acme: Account, bill: CostSource) -> None:
    add_source(acme, [cost(YESTERDAY, 500)], name="Other")
    create_budget(acme, "Bill", 230, scope=source_scope("Bill"))
    subscribe_to_budget(acme, "Bill", 80, 100)

    (delivery,) = services.evaluate(acme)

    assert {fact["label"]: fact["value"] for fact in delivery.message["facts"]}["Scope"] == "Bill"
    assert AlertDelivery.objects.count() == 1


def test_two_subscriptions_to_one_budget_are_each_told(acme: Account, bill: CostSource) -> None:
    create_budget(acme, "Cloud", 230)
    subscribe_to_budget(acme, "Cloud", 80)
    subscribe_to_budget(acme, "Cloud", 50)

    assert evaluate(acme) == ["budget 'Cloud' is at 82.6%"] * 2


def test_data_of_the_day_before_decides_nothing_twice(acme: Account, bill: CostSource) -> None:
    """A later look on the same data, hours or days on, adds nothing."""
    create_budget(acme, "Cloud", 230)
    subscribe_to_budget(acme, "Cloud", 80)
    evaluate(acme)

    for hours in (1, 5, 24, 72):
        with clock.frozen(clock.now() + timedelta(hours=hours)):
            assert evaluate(acme) == []
