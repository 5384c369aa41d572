"""An account that was renamed is called what its newest lines call it, wherever accounts are named."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any

import pytest

from accounts.models import Account
from finops.costs.models import CostSource
from finops.costs.queries import query_spend
from finops.costs.queries.values import list_dimension_values
from finops.costs.spend_query import CostFilter, SpendQuery
from finops.insights.spend_change.queries import explain_spend_change
from finops.insights.spend_change.question import SpendChangeQuery
from tests.finops.costs.rows import cost, put
from tests.finops.lake.test_summaries import summarise

pytestmark = pytest.mark.django_db
TWO_DAYS = {
    "charge_period_start": datetime(2026, 3, 18, tzinfo=UTC),
    "charge_period_end": datetime(2026, 3, 20, tzinfo=UTC),
}
MARCH: dict[str, Any] = {"start_date": date(2026, 3, 1), "end_date": date(2026, 3, 19)}


def spend(acme: Account, **asked: Any) -> Any:
    query = SpendQuery(**MARCH, group_by=["account"], granularity="day", **asked)
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


def test_a_filter_by_name_says_that_it_leaves_lines_of_another_name_out(
    acme: Account, source: CostSource
) -> None:
    put(
        acme,
        source,
        [
            cost(date(2026, 3, 1), 5, account_id="1", account_name="Zenith"),
            cost(date(2026, 3, 2), 3, account_id="1", account_name="Aurora"),
            cost(date(2026, 3, 3), 2, account_id="2", account_name="Borealis"),
        ],
    )

    def asked(name: str) -> Any:
        item = CostFilter(dimension="account", op="in", values=[name])
        return query_spend(acme, SpendQuery(**MARCH, filters=[item]))

    for name, amount in (("Zenith", 5), ("aurora", 3)):
        answer = asked(name)
        assert answer.totals[0].amount == amount
        assert (
            "account '1' has lines under another name in these days, which a filter by name leaves out; its newest "
            "name is 'Aurora'. Filter by '1' for all of them." in answer.warnings
        )
    for name in ("1", "2", "Borealis"):
        assert not [warning for warning in asked(name).warnings if "another name" in warning]
    assert asked("1").totals[0].amount == 8


@pytest.mark.parametrize("asked", ASK)
def test_a_renamed_account_shows_its_newest_name(acme: Account, source: CostSource, asked: str) -> None:
    rows = [
        *(cost(date(2026, 2, day), 5, account_id="1", account_name="Zenith") for day in range(1, 20)),
        *(cost(date(2026, 3, day), 5, account_id="1", account_name="Zebra") for day in range(1, 10)),
        cost(date(2026, 3, 18), Decimal("0.1"), account_id="1", account_name="Aurora", **TWO_DAYS),
        cost(date(2026, 3, 19), Decimal("0.1"), account_id="1"),
        *(cost(date(2026, 3, 17), 5, account_id="1", account_name="Middle") for _ in range(20)),
    ]
    put(acme, source, rows)

    assert ASK[asked](acme) == "Aurora"
    summarise(acme)
    assert ASK[asked](acme) == "Aurora"
