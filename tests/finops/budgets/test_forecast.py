"""Forecasts of spend, on days and amounts that can be reckoned by hand. Today is 20 March 2026, a Friday."""

from __future__ import annotations

from datetime import date, timedelta
from decimal import Decimal
from typing import Any

import pytest

from accounts.models import Account
from finops.budgets.forecast_answers import ForecastAnswer, ForecastTotal
from finops.budgets.forecast_query import ForecastQuery
from finops.budgets.queries import budget_statuses, forecast_spend
from finops.costs.models import CostView
from finops.costs.spend_query import CostFilter
from finops.lib.errors import UserError
from tests.factories.budgets import add_lines, create_budget, daily_cost
from tests.factories.costs import add_source, cost
from tests.factories.days import days

pytestmark = pytest.mark.django_db

YESTERDAY = date(2026, 3, 19)
FIRST = date(2025, 10, 1)


def forecast(account: Account, **params: Any) -> ForecastAnswer:
    return forecast_spend(account, ForecastQuery(**params))


def only_total(account: Account, **params: Any) -> ForecastTotal:
    (total,) = forecast(account, **params).totals
    return total


def test_a_month_is_what_was_spent_and_what_its_other_days_will_cost(acme: Account) -> None:
    add_source(acme, daily_cost(FIRST, YESTERDAY, 10))

    answer = forecast(acme)

    (total,) = answer.totals
    assert [total.actual, total.remaining, total.expected] == [190, 120, 310]
    assert [total.lower, total.upper] == [Decimal("309.4"), Decimal("310.6")]
    assert total.change is not None
    assert [total.change.previous_amount, total.change.change] == [280, 30]
    assert (answer.period.start_date, answer.period.end_date) == (date(2026, 3, 1), date(2026, 3, 31))
    assert answer.data_through == YESTERDAY
    assert answer.summary == (
        "'Acme' is forecast to spend 310.00 USD (80% range 309.40 USD to 310.60 USD, 190.00 USD "
        "of it spent, 10.7 % more than the 28 days before) from 2026-03-01 to 2026-03-31 "
        "(amortized, all charge categories)."
    )


@pytest.mark.parametrize(
    ("params", "start", "end", "expected"),
    [
        ({"period": "quarter"}, date(2026, 1, 1), date(2026, 3, 31), 900),
        ({"period": "year"}, date(2026, 1, 1), date(2026, 12, 31), 3650),
        ({"period": "next_days", "days": 7}, date(2026, 3, 20), date(2026, 3, 26), 70),
        ({"period": "next_days", "days": 365}, date(2026, 3, 20), date(2027, 3, 19), 3650),
    ],
    ids=["quarter", "year", "week", "year ahead"],
)
def test_a_horizon_is_a_period_or_so_many_days(
    acme: Account, params: dict[str, Any], start: date, end: date, expected: int
) -> None:
    add_source(acme, daily_cost(FIRST, YESTERDAY, 10))

    answer = forecast(acme, **params)

    assert (answer.period.start_date, answer.period.end_date) == (start, end)
    assert answer.totals[0].expected == expected


def test_lines_of_today_count_as_spent_and_a_day_costs_at_least_what_it_has(acme: Account) -> None:
    add_source(
        acme, [*daily_cost(FIRST, YESTERDAY, 10), cost(date(2026, 3, 20), 4), cost(date(2026, 3, 31), 50)]
    )

    total = only_total(acme)

    assert [total.actual, total.remaining, total.expected] == [194, 156, 350]


def test_a_budget_and_a_forecast_of_the_same_say_the_same(acme: Account) -> None:
    lines = [cost(day, 100 + 7 * day.weekday() + day.day % 5) for day in days(FIRST, YESTERDAY)]
    add_source(acme, [*lines, *[cost(date(2026, month, 1), 300) for month in (1, 2, 3)]])
    create_budget(acme, "Everything", 1000)

    total, (status,) = only_total(acme), budget_statuses(acme)

    assert [total.expected, total.lower, total.upper] == [
        status.forecast,
        status.forecast_low,
        status.forecast_high,
    ]


def test_each_currency_has_a_forecast_of_its_own(acme: Account) -> None:
    add_source(acme, [*daily_cost(FIRST, YESTERDAY, 10), *daily_cost(FIRST, YESTERDAY, 3, currency="EUR")])

    answer = forecast(acme)

    assert {total.currency: total.expected for total in answer.totals} == {"USD": 310, "EUR": 93}
    assert any("2 currencies" in warning for warning in answer.warnings)


def test_groups_have_models_of_their_own_and_say_how_they_add_up(acme: Account) -> None:
    growing = [cost(day, 10 + place // 7, service="Up") for place, day in enumerate(days(FIRST, YESTERDAY))]
    falling = [cost(day, 60 - place // 7, service="Down") for place, day in enumerate(days(FIRST, YESTERDAY))]
    add_source(acme, add_lines(growing, falling, daily_cost(FIRST, YESTERDAY, 1, service="Small")))

    answer = forecast(acme, group_by=["service"], limit=2)

    assert [row.group["service"] for row in answer.rows] == ["Down", "Up", "other"]
    assert answer.rows[-1].other_groups == 1
    assert answer.rows[-1].expected == 31
    assert "1 group is in the row other" in answer.truncated
    together = sum(row.expected or 0 for row in answer.rows)
    expected = answer.totals[0].expected
    assert expected is not None
    assert abs(together - expected) < expected / 50


def test_too_little_history_gives_null_and_the_reason(acme: Account) -> None:
    add_source(acme, daily_cost(date(2026, 3, 10), YESTERDAY, 10))

    total = only_total(acme)

    assert [total.actual, total.remaining, total.expected, total.lower] == [100, None, None, None]
    assert total.reason == "A forecast needs at least 14 days with data; the history has 10 days."
    assert total.change is None


def test_a_short_history_warns_of_what_it_cannot_know(acme: Account) -> None:
    add_source(acme, daily_cost(date(2026, 2, 20), YESTERDAY, 10))

    assert any(
        ("days of history, so monthly charges are uncertain. The true range is wider than the 80% range.")
        in warning
        for warning in forecast(acme).warnings
    )


def test_data_that_ended_long_ago_is_not_forecast(acme: Account) -> None:
    add_source(acme, daily_cost(date(2025, 9, 1), date(2026, 1, 10), 10))

    assert only_total(acme).reason == (
        "The last complete day is 2026-01-10, 69 days ago: too old to forecast from."
    )


def test_no_cost_at_all_says_so(acme: Account) -> None:
    answer = forecast(acme)

    assert answer.totals == []
    assert answer.summary == "'Acme' has no cost, so nothing can be forecast from 2026-03-01 to 2026-03-31."
    assert "Connections" in answer.hint


def test_filters_and_the_cost_view_decide_what_is_forecast(acme: Account) -> None:
    usage = daily_cost(FIRST, YESTERDAY, 10, service="EC2")
    tax = daily_cost(FIRST, YESTERDAY, 2, service="EC2", charge_category="Tax")
    add_source(acme, add_lines(usage, tax, daily_cost(FIRST, YESTERDAY, 50, service="S3")))
    CostView.objects.create(account=acme, basis="billed", charge_categories=["Usage"])

    only = [CostFilter(dimension="service", values=["EC2"])]

    assert only_total(acme, filters=only).expected == 310
    assert only_total(acme, filters=only, charge_categories=["all"]).expected == 372


def test_a_monthly_fee_is_expected_on_its_day(acme: Account) -> None:
    fees = [cost(date(2025 + (month > 12), (month - 1) % 12 + 1, 25), 500) for month in range(10, 15)]
    add_source(acme, [*daily_cost(FIRST, YESTERDAY, 10), *fees])

    answer = forecast(acme, granularity="day")

    (total,) = answer.totals
    assert total.expected == 810
    assert total.series["2026-03-25"] == 510
    assert total.series["2026-03-19"] == 10
    assert "2026-03-19" not in total.lower_series
    assert total.back_test is not None
    assert total.back_test.error_share is not None


def test_series_add_up_to_the_whole(acme: Account) -> None:
    add_source(acme, [cost(day, 100 + day.day) for day in days(FIRST, YESTERDAY)])

    total = only_total(acme, period="year", granularity="month")

    assert list(total.series)[0::11] == ["2026-01-01", "2026-12-01"]
    assert sum(value or Decimal(0) for value in total.series.values()) == total.expected
    assert min(total.lower_series) == "2026-03-01"


def test_a_year_by_day_is_too_much(acme: Account) -> None:
    with pytest.raises(UserError, match="granularity day is limited to shorter periods than"):
        forecast(acme, period="year", granularity="day")


def test_an_unknown_dimension_is_named(acme: Account) -> None:
    with pytest.raises(UserError, match="group_by"):
        forecast(acme, group_by=["servise"])


def test_a_source_that_lags_by_days_leaves_them_to_the_forecast(acme: Account) -> None:
    add_source(acme, daily_cost(FIRST, YESTERDAY - timedelta(days=2), 10))

    total = only_total(acme)

    assert [total.actual, total.expected] == [170, 310]
