"""An account that was renamed is called what its newest lines call it, wherever accounts are named."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any

import pytest

from accounts.models import Account
from finops.budgets.forecast_query import ForecastQuery
from finops.budgets.queries.forecasts import forecast_spend
from finops.costs.models import CostSource
from finops.costs.queries import query_spend
from finops.costs.queries.sources import load_sources
from finops.costs.queries.values import list_dimension_values
from finops.costs.spend_query import CostFilter, SpendQuery
from finops.insights.cost_scope import CostReader, CostScope, resolve_scope
from finops.insights.spend_change.queries import explain_spend_change
from finops.insights.spend_change.schemas import SpendChangeQuery
from tests.factories.costs import cost, store_lines
from tests.finops.lake.rollups.test_rollups import summarise

pytestmark = pytest.mark.django_db
TWO_DAYS = {
    "charge_period_start": datetime(2026, 3, 18, tzinfo=UTC),
    "charge_period_end": datetime(2026, 3, 20, tzinfo=UTC),
}
MARCH: dict[str, Any] = {"start_date": date(2026, 3, 1), "end_date": date(2026, 3, 19)}


def spend(acme: Account, **fields: Any) -> Any:
    query = SpendQuery(**MARCH, group_by=["account"], granularity="day", **fields)
    (row,) = query_spend(acme, query).rows
    return row.labels["account"]


def change(acme: Account) -> Any:
    query = SpendChangeQuery(
        **MARCH,
        previous_start_date=date(2026, 2, 1),
        previous_end_date=date(2026, 2, 28),
        group_by=["account"],
    )
    return explain_spend_change(acme, query).moves[0].labels["account"]


ASK: dict[str, Callable[[Account], Any]] = {
    "spend": spend,
    "spread": lambda acme: spend(acme, spread="charge_period"),
    "values": lambda acme: list_dimension_values(acme, "account").values[0].label,
    "change": change,
}


RENAMED = [
    cost(date(2026, 2, 1), 7, account_id="1", account_name="Zenith"),
    cost(date(2026, 2, 1), 1, account_id="3", account_name="Corona"),
    cost(date(2026, 3, 1), 5, account_id="1", account_name="Zenith"),
    cost(date(2026, 3, 2), 3, account_id="1", account_name="Aurora"),
    cost(date(2026, 3, 3), 2, account_id="2", account_name="Borealis"),
    # Another account has an earlier name of this one now.
    cost(date(2026, 3, 4), 9, account_id="3", account_name="Corona Prime"),
    cost(date(2026, 3, 4), 4, account_id="4", account_name="Corona"),
]
EARLIER = "account '{}' is an earlier name of 'Aurora' ('1'); all its names are included."


@pytest.mark.parametrize("summaries", [False, True])
def test_an_earlier_name_of_an_account_stands_for_the_account(
    acme: Account, source: CostSource, summaries: bool
) -> None:
    store_lines(acme, source, RENAMED)
    if summaries:
        summarise(acme)

    def spend_of(*values: str, op: Any = "in", start: int = 1) -> Any:
        item = CostFilter(dimension="account", op=op, values=list(values))
        march = {**MARCH, "start_date": date(2026, 3, start)}
        return query_spend(acme, SpendQuery(**march, filters=[item]))

    def amount(*values: str, op: Any = "in", start: int = 1) -> Decimal:
        return sum((total.amount for total in spend_of(*values, op=op, start=start).totals), Decimal(0))

    for name in ("Zenith", " zenith", "ZENITH"):
        answer = spend_of(name)
        assert answer.totals[0].amount == 8
        assert EARLIER.format(name) in answer.warnings
        assert answer.resolved_filters[0].values == ["1"]
        assert not [warning for warning in answer.warnings if "No cost" in warning]
    for name in ("Aurora", "1", "2", "Borealis", "Corona", "Corona Prime"):
        assert "earlier name" not in " ".join(spend_of(name).warnings)
    # Also in days of which no line has the earlier name.
    assert amount("Zenith", start=2) == 3
    assert [amount("Aurora"), amount("1"), amount("Corona Prime"), amount("Corona")] == [8, 8, 9, 4]
    assert amount("Zenith", op="not_in") == 15
    assert amount("Aurora", op="not_in") == 15
    assert [amount("enit", op="contains"), amount("enit", op="not_contains")] == [8, 15]
    assert [amount("zen", op="starts_with"), amount("ith", op="ends_with")] == [8, 8]

    assert [
        (each.value, each.label, [part.amount for part in each.amounts])
        for each in list_dimension_values(acme, "account", search="zenit").values
    ] == [("1", "Aurora", [Decimal(15)])]


def test_other_filters_by_account_accept_an_earlier_name_too(acme: Account, source: CostSource) -> None:
    store_lines(acme, source, RENAMED)
    sentence = EARLIER.format("Zenith")
    item = CostFilter(dimension="account", values=["Zenith"])

    change = explain_spend_change(
        acme,
        SpendChangeQuery(
            start_date=date(2026, 3, 1),
            end_date=date(2026, 3, 3),
            previous_start_date=date(2026, 2, 1),
            previous_end_date=date(2026, 2, 3),
            filters=[item],
        ),
    )
    (total,) = change.totals
    assert [total.current_amount, total.previous_amount] == [8, 7]
    assert sentence in change.warnings

    scope, warnings = resolve_scope(CostReader(acme, load_sources(acme)), CostScope(account="Zenith"))
    assert sentence in warnings
    assert scope[0].matches_value("1", "Aurora")
    assert not scope[0].matches_value("3", "Corona")

    forecast = forecast_spend(acme, ForecastQuery(filters=[item]))
    assert sentence in forecast.warnings


@pytest.mark.parametrize("dimension", ASK)
def test_a_renamed_account_shows_its_newest_name(acme: Account, source: CostSource, dimension: str) -> None:
    rows = [
        *(cost(date(2026, 2, day), 5, account_id="1", account_name="Zenith") for day in range(1, 20)),
        *(cost(date(2026, 3, day), 5, account_id="1", account_name="Zebra") for day in range(1, 10)),
        cost(date(2026, 3, 18), Decimal("0.1"), account_id="1", account_name="Aurora", **TWO_DAYS),
        cost(date(2026, 3, 19), Decimal("0.1"), account_id="1"),
        *(cost(date(2026, 3, 17), 5, account_id="1", account_name="Middle") for _ in range(20)),
    ]
    store_lines(acme, source, rows)

    assert ASK[dimension](acme) == "Aurora"
    summarise(acme)
    assert ASK[dimension](acme) == "Aurora"
