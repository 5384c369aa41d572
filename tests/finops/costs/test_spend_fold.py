"""An answer that is too long is made shorter without losing a cent."""

from __future__ import annotations

from datetime import date
from decimal import Decimal

import pytest

from accounts.models import Account
from finops.costs.answers import SpendAnswer, SpendRow
from finops.costs.queries import fit_to_size, query_spend
from finops.costs.spend_query import SpendQuery
from tests.factories.costs import add_source, cost


@pytest.fixture
def answer(acme: Account) -> SpendAnswer:
    """Twelve services in two currencies over two months, the largest two credits among them."""
    lines = [
        cost(date(2026, month, 1), f"{sign}{n}.{month}", service=f"s{n:02}", currency=currency)
        for n, sign in [*((n, "") for n in range(1, 11)), (40, "-"), (50, "-")]
        for month in (2, 3)
        for currency in ("EUR", "USD")
    ]
    add_source(acme, lines)
    query = SpendQuery(
        period="month_to_date",
        granularity="week",
        group_by=["service"],
        compare_to="previous_period",
        limit=10,
    )
    return query_spend(acme, query)


def rows_of(answer: SpendAnswer, currency: str) -> list[SpendRow]:
    return [row for row in answer.rows if row.currency == currency]


@pytest.mark.parametrize("most", [1, 2, 3, 7, 11])
def test_folding_keeps_every_sum(answer: SpendAnswer, most: int) -> None:
    short = fit_to_size(answer, lambda tried: len(rows_of(tried, "USD")) <= most + 1)

    for total in answer.totals:
        rows = rows_of(short, total.currency)
        assert len(rows) <= most + 1
        assert sum((row.amount for row in rows), Decimal(0)) == total.amount
        assert sum(row.other_groups or 1 for row in rows) == 12
        changes = [row.change for row in rows if row.change and row.change.change is not None]
        assert total.change is not None
        assert sum((change.change or 0 for change in changes), Decimal(0)) == total.change.change
        for start, amount in total.series.items():
            assert sum((row.series[start] or 0 for row in rows), Decimal(0)) == (amount or 0)


def test_the_largest_stay_whatever_their_sign(answer: SpendAnswer) -> None:
    short = fit_to_size(answer, lambda tried: len(tried.rows) <= 6)

    assert {row.group["service"] for row in short.rows} == {"s50", "s40", "other"}
    assert "20 groups are in the row other" in short.truncated


def test_an_answer_that_fits_is_unchanged(answer: SpendAnswer) -> None:
    assert fit_to_size(answer, lambda _tried: True) is answer


def test_the_series_goes_last(answer: SpendAnswer) -> None:
    short = fit_to_size(answer, lambda tried: not tried.totals[0].series)

    assert short.rows
    assert not any(row.series for row in short.rows)
    assert short.truncated.startswith(
        "The series is omitted (25 KB limit). Use fewer days, a coarser granularity, or a filter."
    )
    assert [total.amount for total in short.totals] == [total.amount for total in answer.totals]
