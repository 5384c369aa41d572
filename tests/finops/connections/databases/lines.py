"""The bill that each database of the tests has."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from datetime import date
from decimal import Decimal

from accounts.models import Account
from finops.connections.models import CostConnection
from finops.costs.queries.spend import query_spend
from finops.costs.spend_query import SpendQuery
from tests.finops.connections.syncs.sync_steps import actions, sync_now

Line = tuple[str, str, str | None, str, str]
"""Billed and effective cost, billing period, charge period, service."""

ROWS: list[Line] = [
    ("12.340000000000000001", "10", "2026-05-01T00:00:00Z", "2026-05-03T00:00:00Z", "Storage"),
    ("0.000000000000000001", "0.5", "2026-05-01T00:00:00Z", "2026-05-04T00:00:00Z", "Storage"),
    ("-3.5", "-3.5", "2026-05-01T00:00:00Z", "2026-05-04T00:00:00Z", "Compute"),
    ("100", "99.99", "2026-06-01T00:00:00Z", "2026-06-02T00:00:00Z", "Compute"),
    # Of July in Berlin, where the month begins two hours before it does in UTC.
    ("7", "7", "2026-06-30T22:00:00Z", "2026-07-01T10:00:00Z", "Compute"),
]


def assert_sync_brings_rows(connection: CostConnection, account: Account) -> None:
    """Every month, to the last digit, with its tags."""
    sync = sync_now(connection)

    assert (sync.status, sync.error) == ("done", "")
    assert actions(sync) == {"2026-07": "imported", "2026-06": "imported", "2026-05": "imported"}
    expected: dict[str, Decimal] = defaultdict(Decimal)
    for billed, *_others, service in ROWS:
        expected[service] += Decimal(billed)
    query = SpendQuery(
        start_date=date(2026, 5, 1),
        end_date=date(2026, 7, 31),
        group_by=["service", "tag:team"],
        basis="billed",
    )
    answer = query_spend(account, query)
    assert {row.group["service"]: row.amount for row in answer.rows} == expected
    assert {row.group["tag:team"] for row in answer.rows} == {"core"}


def assert_only_changed_month_is_read(connection: CostConnection, change_june: Callable[[], object]) -> None:
    sync_now(connection)
    unchanged = sync_now(connection)
    change_june()
    changed = sync_now(connection)

    assert set(actions(unchanged).values()) == {"unchanged"}
    assert actions(changed) == {"2026-07": "unchanged", "2026-06": "imported", "2026-05": "unchanged"}
