from __future__ import annotations

from datetime import UTC, date, datetime

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from accounts.models import Account
from finops.costs.models import CostImport, CostSource
from finops.costs.queries import query_spend
from finops.costs.spend_query import SpendQuery
from finops.insights.data_health import data_health
from finops.lib import clock
from ingestion.models import UsageBatch
from ingestion.services import create_usage_source, generate_usage_key
from tests.cast import Cast, signed_in
from tests.factories.costs import add_source, cost


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

    assert [(source.name, source.status) for source in health.connections] == [
        ("C failing", "failing"),
        ("B stale", "stale"),
        ("E empty", "no_data"),
        ("D importing", "importing"),
        ("A well", "healthy"),
    ]
    assert health.connections[0].last_error == "row 7: no BilledCost"
    assert health.connections[1].reason == "The newest cost line is of 2026-03-10, 10 days ago."
    assert health.summary == (
        "3 of 5 connections of 'Acme' need attention: 'C failing' (failing), 'B stale' (stale) and 'E empty' (no data); "
        "cost data is complete through 2026-03-19."
    )


def test_health_takes_at_most_twelve_database_queries(acme: Account) -> None:
    five_sources(acme)

    with CaptureQueriesContext(connection) as queries:
        data_health(acme)

    assert len(queries) <= 12


def test_answers_about_cost_warn_of_unhealthy_connections(acme: Account) -> None:
    five_sources(acme)

    warnings = query_spend(acme, SpendQuery(period="last_30_days")).warnings

    assert (
        "Source 'C failing' is failing: The newest import (march.csv) failed. Existing data is kept."
        in warnings
    )
    assert "Source 'B stale' is stale: The newest cost line is of 2026-03-10, 10 days ago." in warnings
    assert not [warning for warning in warnings if "A well" in warning or "E empty" in warning]


def test_a_source_that_ended_long_ago_is_no_news(acme: Account) -> None:
    add_source(acme, [cost(date(2024, 3, 19), 1)], name="Old sample")
    add_source(acme, [cost(date(2026, 3, 19), 1)], name="Live")

    assert query_spend(acme, SpendQuery(period="last_7_days")).warnings == []


def test_an_account_without_connections_sees_how_to_begin(acme: Account) -> None:
    health = data_health(acme)

    assert health.summary == "'Acme' has no connections."
    assert "Connections page" in health.hint


def test_many_connections_are_cut_and_it_is_said(acme: Account) -> None:
    for n in range(53):
        CostSource.objects.create(account=acme, name=f"Source {n:02}")

    health = data_health(acme)

    assert len(health.connections) == 50
    assert health.truncated == "50 of 53 connections listed, unhealthy ones first."


def add_delivery(account: Account, source: CostSource, day: date, *months: str) -> None:
    at = datetime(day.year, day.month, day.day, 6, tzinfo=UTC)
    CostImport.objects.create(
        account=account, source=source, file_name="bill", status="done", months=list(months), finished_at=at
    )


def test_the_next_delivery_is_expected_by_the_rhythm_of_the_past(acme: Account) -> None:
    source = add_source(acme, [cost(date(2026, 3, 18), 1)], name="Daily")
    for day in (15, 16, 17, 18):
        add_delivery(acme, source, date(2026, 3, day), "2026-03")

    (connection,) = data_health(acme).connections

    assert connection.last_success_at == datetime(2026, 3, 18, 6, tzinfo=UTC)
    assert connection.expected_by == datetime(2026, 3, 19, 18, tzinfo=UTC)
    assert connection.overdue
    assert "A delivery was expected by 2026-03-19 18:00 UTC." in connection.reason
    assert connection.what_to_do


def test_two_deliveries_are_no_rhythm_and_it_says_so(acme: Account) -> None:
    source = add_source(acme, [cost(date(2026, 3, 18), 1)])
    for day in (17, 18):
        add_delivery(acme, source, date(2026, 3, day), "2026-03")

    (connection,) = data_health(acme).connections

    assert (connection.expected_by, connection.overdue) == (None, False)
    assert "fewer than 3 deliveries on different days" in connection.expected_reason


def test_a_finished_month_that_comes_again_is_restated(acme: Account) -> None:
    source = add_source(acme, [cost(date(2026, 3, 19), 1)])
    add_delivery(acme, source, date(2026, 2, 20), "2026-01", "2026-02")
    add_delivery(acme, source, date(2026, 3, 2), "2026-02")
    add_delivery(acme, source, date(2026, 3, 9), "2026-01", "2026-02", "2026-03")
    add_delivery(acme, source, date(2026, 3, 12), "2026-02", "2026-03")

    (connection,) = data_health(acme).connections

    assert [(each.month, each.times, each.last_day) for each in connection.restated_months] == [
        ("2026-02", 2, date(2026, 3, 12)),
        ("2026-01", 1, date(2026, 3, 9)),
    ]


def test_days_and_months_without_lines_are_gaps(acme: Account) -> None:
    days = [date(2026, 2, day) for day in range(1, 29) if day not in (10, 11, 20)]
    days += [date(2026, 3, day) for day in range(1, 20)]
    add_source(acme, [cost(date(2025, 12, 5), 1), *(cost(day, 1) for day in days)])

    (connection,) = data_health(acme).connections

    assert connection.missing_months == ["2026-01"]
    assert connection.gaps == []  # since December most days are missing: that is no daily source


def test_a_daily_source_lists_its_missing_days(acme: Account) -> None:
    days = [date(2026, 2, day) for day in range(1, 29) if day not in (10, 11, 20)]
    add_source(acme, [cost(day, 1) for day in [*days, *(date(2026, 3, day) for day in range(1, 20))]])

    (connection,) = data_health(acme).connections

    assert [(gap.start_date.day, gap.end_date.day) for gap in connection.gaps] == [(10, 11), (20, 20)]


def test_a_source_with_a_line_a_month_has_no_gaps(acme: Account) -> None:
    add_source(acme, [cost(date(2026, month, 1), 1) for month in (1, 2, 3)])

    assert data_health(acme).connections[0].gaps == []


def test_usage_sources_are_next_to_cost_sources(acme: Account, cast: Cast) -> None:
    source = create_usage_source(account=acme, actor=cast.actor, name="Shop")

    (connection,) = data_health(acme).connections

    assert (connection.kind, connection.name, connection.status) == ("usage", "Shop", "no_data")
    assert connection.what_to_do == "Create an API key and push usage."
    assert connection.page == f"connections/usage/{source.pk}/"


@pytest.mark.parametrize(
    ("accepted", "rejected", "status"), [(10, 0, "healthy"), (10, 2, "healthy"), (1, 1, "failing")]
)
def test_a_usage_source_that_mostly_rejects_is_failing(
    acme: Account, cast: Cast, accepted: int, rejected: int, status: str
) -> None:
    source = create_usage_source(account=acme, actor=cast.actor, name="Shop")
    generate_usage_key(source=source, actor=cast.actor)
    UsageBatch.objects.create(
        account=acme,
        source=source,
        received_at=clock.now(),
        accepted=accepted,
        rejected=rejected,
    )

    (connection,) = data_health(acme).connections

    assert connection.status == status


def test_the_page_lists_every_connection_and_exports_it(acme: Account, cast: Cast) -> None:
    five_sources(acme)
    client = signed_in(cast.viewer)

    page = client.get("/a/acme/connections/health/").content.decode()
    exported = b"".join(client.get("/a/acme/connections/health/?format=csv")).decode()

    assert "row 7: no BilledCost" in page
    assert "import the corrected file" in page
    assert len(exported.strip().splitlines()) == 6
