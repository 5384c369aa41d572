"""An account that was renamed is called what its newest lines call it, wherever accounts are named."""

from __future__ import annotations

from collections.abc import Callable
from datetime import date
from decimal import Decimal
from typing import Any

import pytest

from accounts.models import Account
from finops.costs.models import CostSource
from finops.costs.queries import query_spend
from finops.costs.queries.values import list_dimension_values
from finops.costs.spend_query import SpendQuery
from finops.insights.spend_change.queries import explain_spend_change
from finops.insights.spend_change.question import SpendChangeQuery
from tests.finops.costs.rows import cost, put
from tests.finops.lake.test_summaries import summarise

pytestmark = pytest.mark.django_db
MARCH: dict[str, Any] = {"start_date": date(2026, 3, 1), "end_date": date(2026, 3, 19)}


def spend(acme: Account) -> Any:
    (row,) = query_spend(acme, SpendQuery(**MARCH, group_by=["account"], granularity="day")).rows
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
    "values": lambda acme: list_dimension_values(acme, "account").values[0].label,
    "change": change,
}


@pytest.mark.parametrize("asked", ASK)
def test_a_renamed_account_shows_its_newest_name(acme: Account, source: CostSource, asked: str) -> None:
    rows = [
        *(cost(date(2026, 2, day), 5, account_id="1", account_name="Zenith") for day in range(1, 20)),
        *(cost(date(2026, 3, day), 5, account_id="1", account_name="Zebra") for day in range(1, 10)),
        cost(date(2026, 3, 18), Decimal("0.1"), account_id="1", account_name="Aurora"),
        cost(date(2026, 3, 19), Decimal("0.1"), account_id="1"),
        *(cost(date(2026, 3, 17), 5, account_id="1", account_name="Middle") for _ in range(20)),
    ]
    put(acme, source, rows)

    assert ASK[asked](acme) == "Aurora"
    summarise(acme)
    assert ASK[asked](acme) == "Aurora"
