"""Statuses of budgets, with days and amounts calculated by hand. Today is 20 March 2026."""

from __future__ import annotations

from datetime import date
from decimal import Decimal

import pytest

from accounts.models import Account
from finops.budgets.queries import budget_statuses
from finops.budgets.schemas import BudgetStatus
from finops.costs.answers import MoneyAmount
from finops.costs.services.cost_view import change_cost_view
from tests.cast import ACTOR
from tests.factories.budgets import create_budget, daily_cost, source_scope
from tests.factories.costs import add_source, cost

pytestmark = pytest.mark.django_db

YESTERDAY = date(2026, 3, 19)


def only_status(account: Account) -> BudgetStatus:
    (status,) = budget_statuses(account)
    return status


def test_a_budget_within_its_amount_is_ok(acme: Account) -> None:
    add_source(acme, daily_cost(date(2026, 1, 1), YESTERDAY, 10))
    create_budget(acme, "Everything", 1000)

    status = only_status(acme)

    assert (status.status, status.spent, status.spent_percent) == ("ok", Decimal(190), Decimal(19))
    assert (status.start_date, status.end_date, status.days_left) == (date(2026, 3, 1), date(2026, 3, 31), 11)
    assert status.forecast == Decimal(310)
    assert status.status_reason == (
        "Spent 190.00 USD (19.0 %); forecast for 2026-03-31: 310.00 USD (31.0 %)."
    )
    assert status.crosses_on is None
    assert status.data_through == YESTERDAY


def test_a_forecast_that_reaches_the_amount_warns_and_says_when(acme: Account) -> None:
    add_source(acme, daily_cost(date(2026, 1, 1), YESTERDAY, 10))
    create_budget(acme, "Everything", 300)

    status = only_status(acme)

    assert status.status == "warning"
    assert status.crosses_on == date(2026, 3, 30)
    assert status.status_reason == (
        "Forecast for 2026-03-31: 310.00 USD (103.3 %), at or above the amount, reached about 2026-03-30."
    )


def test_reaching_the_amount_exactly_exceeds_it(acme: Account) -> None:
    add_source(acme, daily_cost(date(2026, 1, 1), YESTERDAY, 10))
    create_budget(acme, "Everything", 190)

    status = only_status(acme)

    assert status.status == "exceeded"
    assert status.crosses_on == YESTERDAY
    assert status.status_reason == "Spent 190.00 USD (100.0 %), at or above the amount since 2026-03-19."


def test_cost_in_another_currency_is_named_and_not_counted(acme: Account) -> None:
    add_source(acme, [cost(date(2026, 3, 2), 5), cost(date(2026, 3, 2), 900, currency="EUR")])
    create_budget(acme, "Everything", 100)

    status = only_status(acme)

    assert status.spent == 5
    assert status.other_currencies == [MoneyAmount(amount=Decimal(900), currency="EUR")]


def test_a_budget_in_a_currency_without_cost_warns(acme: Account) -> None:
    create_budget(acme, "Everything", 100)
    add_source(acme, [cost(date(2026, 3, 2), 900, currency="EUR")])

    status = only_status(acme)

    assert (status.spent, status.status) == (Decimal(0), "ok")
    assert status.warnings == [("Whole account has no cost in USD, only in EUR, which is not counted.")]


def test_an_account_without_data_has_no_figures_and_says_why(acme: Account) -> None:
    create_budget(acme, "Everything", 100)

    status = only_status(acme)

    assert (status.spent, status.spent_reason) == (None, "There is no cost data yet.")
    assert status.forecast is None
    assert status.forecast_reason
    assert (status.status, status.status_reason) == ("ok", "No cost in this period yet.")


def test_a_source_has_its_own_last_day_of_data(acme: Account) -> None:
    """What it has not brought yet is forecast, not taken for nothing."""
    add_source(acme, daily_cost(date(2026, 1, 1), YESTERDAY, 10), name="Fresh")
    late = add_source(acme, daily_cost(date(2026, 1, 1), date(2026, 3, 9), 20), name="Late")
    create_budget(acme, "Late", 1000, scope=source_scope(late.pk))

    status = only_status(acme)

    assert (status.data_through, status.spent, status.forecast) == (
        date(2026, 3, 9),
        Decimal(180),
        Decimal(620),
    )


def test_a_period_that_data_has_not_reached_is_unknown_not_zero(acme: Account) -> None:
    add_source(acme, daily_cost(date(2026, 1, 1), date(2026, 2, 28), 10))
    create_budget(acme, "Everything", 300)

    status = only_status(acme)

    assert status.spent is None
    assert status.spent_reason == ("No cost data for 2026-03-01 to 2026-03-20 yet; data ends on 2026-02-28.")
    assert (status.forecast, status.status) == (Decimal(310), "warning")


def test_earlier_periods_are_listed_with_their_spend(acme: Account) -> None:
    add_source(acme, daily_cost(date(2026, 1, 1), YESTERDAY, 10))
    create_budget(acme, "Everything", 300, amounts={date(2026, 1, 1): Decimal(400)})

    past = only_status(acme).past

    assert [(each.start_date, each.amount, each.spent, each.exceeded) for each in past] == [
        (date(2026, 2, 1), Decimal(300), Decimal(280), False),
        (date(2026, 1, 1), Decimal(400), Decimal(310), False),
    ]


def test_earlier_periods_name_the_cost_that_they_do_not_count(acme: Account) -> None:
    first = date(2026, 2, 1)
    add_source(
        acme,
        [
            *daily_cost(date(2026, 1, 1), YESTERDAY, 10),
            cost(first, 50, charge_category="Tax"),
            cost(first, 7, currency="EUR"),
        ],
    )
    change_cost_view(account=acme, actor=ACTOR, basis="billed", charge_categories=["Usage"])
    create_budget(acme, "Everything", 300)

    february, january = only_status(acme).past

    assert (february.spent, february.reason) == (
        Decimal(280),
        "Not counted: 7.00 EUR in other currencies and 50.00 USD of charge categories outside the cost view.",
    )
    assert (january.spent, january.reason) == (Decimal(310), "")


def test_the_amount_of_the_current_period_goes_before_the_budgets_own(acme: Account) -> None:
    add_source(acme, daily_cost(date(2026, 1, 1), YESTERDAY, 10))
    create_budget(acme, "Everything", 5000, amounts={date(2026, 3, 1): Decimal(150)})

    assert (only_status(acme).amount, only_status(acme).status) == (Decimal(150), "exceeded")
