"""Forecasts, budgets, unit cost and explained changes in a display currency, against plain Python that shares no code; and
what each says first of days without a rate. Today is 20 March 2026."""

from __future__ import annotations

from datetime import date, timedelta
from decimal import ROUND_HALF_UP, Decimal, localcontext

import msgspec
import pytest
from django.test import Client

from accounts.models import Account
from accounts.scoping import account_scope
from finops.budgets.forecast_query import ForecastQuery
from finops.budgets.queries import budget_statuses, forecast_spend
from finops.exchange_rates.display import display_of, display_scope
from finops.exchange_rates.services import enter_rate, upload_rates
from finops.insights.spend_change.queries import explain_spend_change
from finops.insights.spend_change.schemas import SpendChangeQuery
from tests.cast import ACTOR, Cast
from tests.factories.budgets import create_budget, daily_cost
from tests.factories.costs import Line, add_source, cost
from tests.factories.days import days
from tests.factories.unit_costs import add_data, cost_line, cost_per_unit, march_query, usage_event
from tests.finops.insights.anomalies.bills import SPIKE, bill, run_detection, with_extra
from tests.pages import get_page

FIRST, YESTERDAY = date(2025, 10, 1), date(2026, 3, 19)
UNIT = Decimal("1e-18")


def rate_of(day: date) -> Decimal:
    """Another one each week, with as many decimals as there may be."""
    return Decimal("1.08") + Decimal((day - FIRST).days // 7 * 1234567).scaleb(-14)


def upload(account: Account, first: date = FIRST) -> None:
    weeks = [FIRST + timedelta(days=7 * number) for number in range(26)]
    file = ["date,from,to,rate", *(f"{day},EUR,USD,{rate_of(day)}" for day in weeks if day >= first)]
    upload_rates(account=account, actor=ACTOR, content="\n".join(file).encode(), name="rates.csv")


def convert_line(line: Line) -> Line:
    """The same line as a bill in dollars has it."""
    if line["currency"] != "EUR":
        return line
    with localcontext(prec=80):
        product = line["billed_cost"] * rate_of(line["charge_date"])
        amount = product.quantize(UNIT, rounding=ROUND_HALF_UP)
    return {**line, "billed_cost": amount, "effective_cost": amount, "currency": "USD"}


def euros_and_dollars() -> list[Line]:
    euros = [
        cost(day, Decimal(100 + day.weekday() * 7) + Decimal(day.day).scaleb(-13), currency="EUR")
        for day in days(FIRST, YESTERDAY)
    ]
    return [*euros, *daily_cost(FIRST, YESTERDAY, "12.345678")]


def test_a_converted_forecast_is_that_of_the_same_bill_in_dollars(acme: Account, cast: Cast) -> None:
    lines = euros_and_dollars()
    add_source(acme, lines)
    upload(acme)
    query = ForecastQuery(period="month", granularity="day")
    with display_scope(display_of(acme, "USD")):
        answer = forecast_spend(acme, query)
    with account_scope(cast.other_account):
        add_source(cast.other_account, [convert_line(line) for line in lines])
        in_dollars = forecast_spend(cast.other_account, query)
    assert msgspec.to_builtins(answer.totals) == msgspec.to_builtins(in_dollars.totals)
    assert answer.totals[0].expected is not None


def test_a_budget_counts_the_same_and_has_the_same_forecast(acme: Account, cast: Cast) -> None:
    lines = euros_and_dollars()
    add_source(acme, lines)
    upload(acme)
    create_budget(acme, "All", 5000)
    with display_scope(display_of(acme, "EUR")):
        status = budget_statuses(acme)[0]
    with account_scope(cast.other_account):
        add_source(cast.other_account, [convert_line(line) for line in lines])
        create_budget(cast.other_account, "All", 5000)
        expected = budget_statuses(cast.other_account)[0]
    names = ("spent", "spent_percent", "forecast", "forecast_low", "forecast_high", "crosses_on", "currency")
    assert [getattr(status, name) for name in names] == [getattr(expected, name) for name in names]


def test_a_converted_unit_cost_is_the_converted_cost_of_its_days_by_the_usage(acme: Account) -> None:
    amounts = {1: "33.333333333333333333", 2: "0.000000000000000007", 9: "-4.5"}
    lines = [cost_line(day, amount, "acme", currency="EUR") for day, amount in amounts.items()]
    add_data(acme, [*lines, cost_line(3, 12, "acme")], [usage_event(day, "acme", 7) for day in range(1, 11)])
    upload(acme)
    with display_scope(display_of(acme, "USD")):
        (total,) = cost_per_unit(acme, march_query()).totals
    with localcontext(prec=80):
        parts = [
            (Decimal(amount) * rate_of(date(2026, 3, day))).quantize(UNIT, rounding=ROUND_HALF_UP)
            for day, amount in amounts.items()
        ]
        spent = sum(parts, Decimal(12))
        assert (total.cost, total.currency) == (spent, "USD")
        assert abs(total.unit_cost - spent / 70) < Decimal("1e-18")


@pytest.fixture
def late_rates(acme: Account) -> Account:
    """Rates from the middle of March on, as of an account whose rates are fetched from then on."""
    add_source(acme, euros_and_dollars())
    enter_rate(account=acme, actor=ACTOR, day=date(2026, 3, 15), base="EUR", quote="USD", rate=Decimal(2))
    return acme


def first_sentence(text: str) -> str:
    return text.partition(". ")[0]


def without_rates(first: date) -> str:
    """The euros of the days from the first to those with a rate."""
    amounts = [Decimal(100 + day.weekday() * 7) for day in days(first, date(2026, 3, 14))]
    return f"{sum(amounts):,.2f} EUR"


def test_a_forecast_says_first_what_it_was_made_without(late_rates: Account) -> None:
    with display_scope(display_of(late_rates, "USD")):
        answer = forecast_spend(late_rates, ForecastQuery(period="month"))
    left_out = without_rates(date(2026, 3, 1))
    assert f"without {left_out} for which there is no exchange rate to USD" in first_sentence(answer.summary)
    assert answer.warnings[0] == f"No exchange rate to USD: {left_out}. Not in the total."


def test_a_budget_says_what_it_does_not_count(late_rates: Account) -> None:
    create_budget(late_rates, "All", 5000)
    with display_scope(display_of(late_rates, "USD")):
        status = budget_statuses(late_rates)[0]
    warning = f"No exchange rate to USD: {without_rates(date(2026, 3, 1))}. Not in the total."
    assert status.warnings == [warning]
    assert status.status_reason.endswith(warning)


def test_a_budget_in_the_currency_of_its_lines_says_nothing_of_rates(late_rates: Account) -> None:
    create_budget(late_rates, "All", 5000)
    assert "exchange rate" not in budget_statuses(late_rates)[0].status_reason


def test_a_unit_cost_says_first_what_it_is_without(acme: Account) -> None:
    lines = [cost_line(1, 30, "acme", currency="EUR"), cost_line(3, 12, "acme")]
    add_data(acme, lines, [usage_event(day, "acme", 6) for day in range(1, 11)])
    with display_scope(display_of(acme, "USD")):
        answer = cost_per_unit(acme, march_query())
    assert "12.00 USD ÷ 60" in answer.summary
    assert "without 30.00 EUR for which there is no exchange rate to USD" in first_sentence(answer.summary)


def test_a_change_is_not_explained_where_days_lack_rates(late_rates: Account) -> None:
    with display_scope(display_of(late_rates, "USD")):
        answer = explain_spend_change(late_rates, SpendChangeQuery(period="last_7_days"))
    assert answer.moves == []
    assert "cannot be explained" in answer.summary
    assert "No exchange rate to USD: " in answer.summary


@pytest.mark.parametrize(
    ("choice", "text"), [("USD", "Compute"), ("own", "1 in EUR"), ("only-USD", "1 in EUR")]
)
def test_a_reader_s_choice_hides_no_anomaly_of_a_scope_in_silence(
    acme: Account, member: Client, choice: str, text: str
) -> None:
    add_source(
        acme, bill(with_extra(SPIKE, SPIKE + timedelta(days=1), "300"), currency="EUR", provider="Azure")
    )
    add_source(acme, [cost(YESTERDAY, 1)], name="Other")
    run_detection(acme)
    upload(acme)
    acme.currencies = ["USD", "EUR"]
    acme.save()
    member.get("/a/acme/cost-explorer/", {"currency": choice})

    page = get_page(member, "/a/acme/anomalies/", provider="Azure")

    assert text in page
