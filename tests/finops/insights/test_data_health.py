from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, date, datetime

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from accounts.models import Account
from accounts.scoping import account_scope
from finops.costs.models import CostImport, CostSource
from finops.costs.queries import query_spend
from finops.costs.spend_query import SpendQuery
from finops.insights.queries import data_health
from finops.lib import clock
from tests.cast import Cast
from tests.finops.costs.rows import add_source, cost


@pytest.fixture
def acme(cast: Cast) -> Iterator[Account]:
    with account_scope(cast.account), clock.frozen(datetime(2026, 3, 20, 12, tzinfo=UTC)):
        yield cast.account


def an_import(account: Account, source: CostSource, status: str, error: str = "") -> None:
    CostImport.objects.create(
        account=account, source=source, file_name="march.csv", status=status, error=error
    )


def five_sources(account: Account) -> None:
    add_source(account, [cost(date(2026, 3, 19), 1)], name="A well")
    add_source(account, [cost(date(2026, 3, 10), 1)], name="B stale")
    failing = add_source(account, [cost(date(2026, 3, 19), 1)], name="C failing")
    an_import(account, failing, "done")
    an_import(account, failing, "failed", "row 7: no BilledCost")
    an_import(account, add_source(account, [], name="D importing"), "running")
    add_source(account, [], name="E empty")


def test_the_unhealthy_come_first_each_with_its_reason(acme: Account) -> None:
    five_sources(acme)

    health = data_health(acme)

    assert [(source.name, source.status) for source in health.sources] == [
        ("C failing", "failing"),
        ("B stale", "stale"),
        ("E empty", "no_data"),
        ("D importing", "importing"),
        ("A well", "healthy"),
    ]
    assert health.sources[0].last_error == "row 7: no BilledCost"
    assert health.sources[1].reason == "Its newest cost line is of 2026-03-10, 10 days ago."
    assert health.summary == (
        "3 of 5 connections of Acme need attention: C failing (failing), B stale (stale) and E empty (no data); "
        "cost data is complete through 2026-03-19."
    )


def test_health_takes_three_database_queries(acme: Account) -> None:
    five_sources(acme)

    with CaptureQueriesContext(connection) as queries:
        data_health(acme)

    assert len(queries) == 3


def test_answers_about_cost_warn_of_unhealthy_connections(acme: Account) -> None:
    five_sources(acme)

    warnings = query_spend(acme, SpendQuery(period="last_30_days")).warnings

    assert (
        "Source 'C failing' is failing: Its newest import (march.csv) failed; what it had before still counts."
        in warnings
    )
    assert "Source 'B stale' is stale: Its newest cost line is of 2026-03-10, 10 days ago." in warnings
    assert not [warning for warning in warnings if "A well" in warning or "E empty" in warning]


def test_a_source_that_ended_long_ago_is_no_news(acme: Account) -> None:
    add_source(acme, [cost(date(2024, 3, 19), 1)], name="Old sample")
    add_source(acme, [cost(date(2026, 3, 19), 1)], name="Live")

    assert query_spend(acme, SpendQuery(period="last_7_days")).warnings == []


def test_an_account_without_connections_is_told_how_to_begin(acme: Account) -> None:
    health = data_health(acme)

    assert health.summary == "Acme has no connection yet."
    assert "Connections page" in health.hint


def test_many_connections_are_cut_and_it_is_said(acme: Account) -> None:
    for n in range(53):
        CostSource.objects.create(account=acme, name=f"Source {n:02}")

    health = data_health(acme)

    assert len(health.sources) == 50
    assert health.truncated == "50 of 53 connections are listed, the unhealthy ones first."
