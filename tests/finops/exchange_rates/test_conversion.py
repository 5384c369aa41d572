"""Converted cost: every line by the rate of its day, one rule of rounding, so that parts add up to their total."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date, timedelta
from decimal import ROUND_HALF_UP, Decimal, localcontext
from typing import Any

from django.db import connection
from django.test.utils import CaptureQueriesContext
from hypothesis import HealthCheck, Phase, example, given, settings
from hypothesis import strategies as st

from accounts.models import Account
from finops.costs.models import CostSource
from finops.costs.queries import query_spend
from finops.costs.spend_query import Filter, SpendQuery
from finops.exchange_rates.display import display_of, display_scope, used_rates
from finops.exchange_rates.models import ExchangeRate
from finops.exchange_rates.services import enter_rate, upload_rates
from finops.lake.engine import conversion
from tests.cast import ACTOR, Cast
from tests.examples import examples
from tests.factories.costs import Line, add_source, cost, store_lines

START, END = date(2026, 1, 1), date(2026, 2, 28)
NEVER = "KRW"

amounts = st.decimals(min_value="-9e11", max_value="9e11", places=18, allow_nan=False)
rates = st.decimals(min_value="0.00000000000001", max_value="99", places=14, allow_nan=False)
lines = st.builds(
    lambda day, billed, effective, **columns: cost(day, billed, effective_cost=effective, **columns),
    st.dates(START, END),
    amounts,
    amounts,
    service=st.sampled_from(["EC2", "S3", None]),
    region=st.sampled_from(["eu-1", "us-1"]),
    currency=st.sampled_from(["USD", "EUR", "JPY", NEVER]),
)
PROPERTY = settings(
    max_examples=examples(75),
    deadline=None,
    phases=[Phase.explicit, Phase.reuse, Phase.generate],
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)


def enter(account: Account, day: date, base: str, quote: str, rate: str | Decimal | int) -> None:
    enter_rate(account=account, actor=ACTOR, day=day, base=base, quote=quote, rate=Decimal(rate))


def spend(account: Account, choice: str, **query: Any) -> Any:
    with display_scope(display_of(account, choice)):
        return query_spend(account, SpendQuery(start_date=START, end_date=END, **query))


def totals(answer: Any) -> dict[str, Decimal]:
    return {total.currency: total.amount for total in answer.totals}


@PROPERTY
@given(
    rows=st.lists(lines, min_size=1, max_size=30),
    by_day=st.dictionaries(st.sampled_from(["EUR", "JPY"]), st.lists(rates, min_size=9, max_size=9)),
    group_by=st.sampled_from([["service"], ["region"], ["service", "region"], ["currency"]]),
    basis=st.sampled_from(["billed", "amortized"]),
)
def test_parts_add_up_to_the_converted_total_and_to_a_plain_sum(
    acme: Account,
    source: CostSource,
    rows: list[Line],
    by_day: dict[str, list[Decimal]],
    group_by: list[str],
    basis: str,
) -> None:
    rows = [*rows, cost(START, 0), cost(END, 0)]
    store_lines(acme, source, rows)
    ExchangeRate.objects.all().delete()
    file = ["date,from,to,rate", "2020-01-01,CHF,USD,1"]
    for currency, values in by_day.items():
        days = [START + timedelta(days=7 * place) for place in range(len(values))]
        file += [f"{day},{currency},USD,{rate:f}" for day, rate in zip(days, values, strict=True)]
    upload_rates(account=acme, actor=ACTOR, content="\n".join(file).encode(), name="rates.csv")

    answer = spend(acme, "USD", group_by=group_by, granularity="week", basis=basis, limit=2)

    expected = plain_totals(rows, by_day, "billed_cost" if basis == "billed" else "effective_cost")
    assert {name: amount for name, amount in totals(answer).items() if amount} == {
        name: amount for name, amount in expected.items() if amount
    }
    for total in answer.totals:
        parts = [row for row in answer.rows if row.currency == total.currency]
        assert exact(row.amount for row in parts) == total.amount
        assert exact(amount or 0 for amount in total.series.values()) == total.amount
        for row in parts:
            assert exact(amount or 0 for amount in row.series.values()) == row.amount


def plain_totals(rows: Sequence[Line], by_day: dict[str, list[Decimal]], column: str) -> dict[str, Decimal]:
    """By plain Python, which shares no code: a line's rate is of its week's first day."""
    sums: dict[str, Decimal] = {}
    with localcontext(prec=80):
        for row in rows:
            currency, amount = row["currency"], row[column]
            if currency in by_day:
                rate = by_day[currency][(row["charge_date"] - START).days // 7]
                amount = (amount * rate).quantize(Decimal("1e-18"), rounding=ROUND_HALF_UP)
                currency = "USD"
            sums[currency] = sums.get(currency, Decimal(0)) + amount
    return sums


def exact(parts: Any) -> Decimal:
    with localcontext(prec=80):
        return sum(parts, Decimal(0))


def test_amounts_are_converted_only_on_request(acme: Account) -> None:
    add_source(acme, [cost(START, 10), cost(START, 10, currency="EUR")])
    enter(acme, START, "EUR", "USD", "1.1")
    assert totals(spend(acme, "")) == {"USD": 10, "EUR": 10}
    assert totals(spend(acme, "USD")) == {"USD": 21}
    assert totals(spend(acme, "own")) == {"USD": 10, "EUR": 10}


def test_the_account_s_display_currency_counts_until_the_reader_chooses_another(acme: Account) -> None:
    add_source(acme, [cost(START, 10), cost(START, 11, currency="EUR")])
    enter(acme, START, "EUR", "USD", "1.1")
    acme.display_currency = "USD"
    assert totals(spend(acme, "")) == {"USD": Decimal("22.1")}
    assert totals(spend(acme, "EUR")) == {"EUR": Decimal("20.0909090909091")}
    assert totals(spend(acme, "own")) == {"USD": 10, "EUR": 11}


def test_one_currency_alone_leaves_the_others_out(acme: Account) -> None:
    add_source(acme, [cost(START, 10), cost(START, 11, currency="EUR")])
    assert totals(spend(acme, "only-EUR")) == {"EUR": 11}


def test_a_line_without_a_rate_stays_in_its_currency(acme: Account) -> None:
    add_source(acme, [cost(START, 10), cost(START, 5, currency="EUR"), cost(END, 7, currency="EUR")])
    enter(acme, START, "EUR", "USD", 2)
    answer = spend(acme, "USD")
    assert totals(answer) == {"USD": 20, "EUR": 7}
    assert "spent 20.00 USD" in answer.summary
    assert "without 7.00 EUR for which there is no exchange rate to USD" in answer.summary
    assert [(each.amount, each.currency) for each in answer.own_amounts] == [(12, "EUR"), (10, "USD")]


def test_nothing_is_compared_without_rates_for_both_sides(acme: Account) -> None:
    days = [START + timedelta(days=number) for number in range(20)]
    add_source(acme, [cost(day, 5, currency="EUR") for day in days])
    enter(acme, days[10], "EUR", "USD", 2)
    with display_scope(display_of(acme, "USD")):
        query = SpendQuery(start_date=days[10], end_date=days[19], compare_to="previous_period")
        change = query_spend(acme, query).totals[0].change
    assert change is not None
    assert change.change is None
    assert change.reason == "Some days have no exchange rate to USD."


def test_the_dimension_currency_stays_what_the_bill_says(acme: Account) -> None:
    add_source(acme, [cost(START, 10), cost(START, 5, currency="EUR")])
    enter(acme, START, "EUR", "USD", 2)
    answer = spend(acme, "USD", group_by=["currency"])
    assert [(row.group, row.amount, row.currency) for row in answer.rows] == [
        ({"currency": "EUR"}, 10, "USD"),
        ({"currency": "USD"}, 10, "USD"),
    ]
    euro_spend = spend(acme, "USD", filters=[Filter(dimension="currency", values=["EUR"])])
    assert totals(euro_spend) == {"USD": 10}


def test_a_changed_rate_counts_from_the_next_answer_on(acme: Account) -> None:
    add_source(acme, [cost(START, 5, currency="EUR")])
    for rate in (2, 3):
        enter(acme, START, "EUR", "USD", rate)
        assert totals(spend(acme, "USD")) == {"USD": 5 * rate}


def test_rates_of_another_account_are_never_used(acme: Account, cast: Cast) -> None:
    add_source(acme, [cost(START, 5, currency="EUR")])
    enter(cast.other_account, START, "EUR", "USD", 2)
    assert totals(spend(acme, "USD")) == {"EUR": 5}


def test_the_rates_behind_an_answer_name_day_source_and_the_amounts_of_the_bill(acme: Account) -> None:
    add_source(acme, [cost(START, 10), cost(START, 5, currency="EUR"), cost(END, 7, currency="EUR")])
    enter(acme, START, "EUR", "USD", 2)
    display = display_of(acme, "USD")
    with display_scope(display):
        query_spend(acme, SpendQuery(start_date=START, end_date=END))
        used = used_rates(display)
    assert [(span.currency, span.rate_day, span.rate, span.source) for span in used.spans] == [
        ("EUR", START, Decimal(2), "entered")
    ]
    assert [(each.currency, each.billed, each.is_missing) for each in used.own] == [
        ("EUR", Decimal(5), False),
        ("EUR", Decimal(7), True),
    ]


def test_converting_costs_one_query_for_the_version_and_one_for_the_rates(acme: Account) -> None:
    add_source(acme, [cost(START, 10), cost(START, 5, currency="EUR")])
    enter(acme, START, "EUR", "USD", 2)
    spend(acme, "own")
    counts = []
    for choice in ("own", "", "EUR", "EUR"):
        with CaptureQueriesContext(
            connection,
        ) as queries:
            spend(acme, choice)
        counts.append(len(queries))
    assert counts[0] == counts[1]
    assert counts[2] <= counts[0] + 3
    assert counts[3] <= counts[0] + 1


@given(
    amount=st.decimals(min_value="-9e14", max_value="9e14", places=18, allow_nan=False)
    | st.decimals(min_value="-20", max_value="20", places=18, allow_nan=False),
    rate=st.decimals(min_value="0.00000000000001", max_value="1", places=14, allow_nan=False),
)
@example(amount=Decimal("0.000000000000000001"), rate=Decimal("0.5"))
@example(amount=Decimal("-0.000000000000000003"), rate=Decimal("0.5"))
@example(amount=Decimal("0.000000000999999999"), rate=Decimal("0.5"))
@example(amount=Decimal("-0.999999999999999999"), rate=Decimal("999999.99999999999999"))
@example(amount=Decimal("16.999999999500000001"), rate=Decimal("149.23000000000001"))
@example(amount=Decimal("886605.146457583650060000"), rate=Decimal("151614.34637590918462"))
@settings(max_examples=examples(500), deadline=None)
def test_the_engine_rounds_each_line_once_half_away_from_zero(amount: Decimal, rate: Decimal) -> None:
    import duckdb

    lines = f"SELECT CAST('{amount}' AS DECIMAL(38, 18)) AS amount, * FROM rates"
    for name, text in conversion.conversion_steps("amount"):
        columns = "*" if name != '"amount"' else "* EXCLUDE (amount)"
        lines = f"SELECT {columns}, {text} AS {name} FROM ({lines})"
    with duckdb.connect() as database:
        database.register("rates", conversion.rates_table([("EUR", START, rate)]))
        row = database.execute(f"SELECT amount FROM ({lines})").fetchone()
    assert row is not None
    assert row[0] == conversion.convert(amount, rate)
