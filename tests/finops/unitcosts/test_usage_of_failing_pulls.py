"""Unit cost, usage and AI spend with sources whose pulls fail: a clause in the first sentence, and the first
warning."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from pytest_django import DjangoAssertNumQueries

from accounts.models import Account
from finops.ai_spend.ai_spend_query import AiSpendQuery
from finops.ai_spend.queries import review_ai_spend
from finops.connections.models import CostConnection
from finops.costs.queries.sources import load_sources
from finops.lib import clock
from finops.unitcosts.answers import UnitCostAnswer
from ingestion.models import UsageMetric, UsageSource
from tests.cast import Cast
from tests.factories.days import NOON
from tests.factories.unit_costs import add_data, cost_line, cost_per_unit, march_query, usage_event
from tests.mcpserver.mcp_client import McpClient, mint

FAILING = "syncs of usage source 'Stripe' have failed since 2026-03-19 12:00 UTC, so its newest usage may be missing"


@pytest.fixture
def pull_connection(acme: Account) -> CostConnection:
    add_data(acme, [cost_line(1, 60, "acme")], [usage_event(1, "acme", 300)])
    source = UsageSource.objects.create(account=acme, name="Stripe", kind=UsageSource.Kind.PULL)
    return CostConnection.objects.create(
        account=acme, usage_source=source, connector="stripe", next_sync_at=NOON + timedelta(hours=1)
    )


def change(**more: Any) -> None:
    CostConnection.objects.unscoped().update(**more)


def fail(**more: Any) -> None:
    change(failures=2, failing_since=NOON - timedelta(days=1), **more)


def ask(account: Account) -> UnitCostAnswer:
    with clock.frozen(NOON):
        answer: UnitCostAnswer = cost_per_unit(account, march_query())
    return answer


def test_a_pull_that_fails_is_in_the_first_sentence_and_first_in_the_warnings(
    acme: Account, pull_connection: CostConnection
) -> None:
    before = ask(acme)
    assert "syncs of" not in before.summary

    fail(last_success_at=NOON - timedelta(days=12))
    answer = ask(acme)

    first = answer.summary.partition(". ")[0]
    assert FAILING in first
    assert answer.warnings[0] == f"S{FAILING[1:]}."
    assert answer.totals == before.totals


def test_a_pull_that_no_worker_takes_is_named_after_half_an_hour(
    acme: Account, pull_connection: CostConnection
) -> None:
    change(next_sync_at=NOON - timedelta(minutes=29))
    assert "has been due" not in ask(acme).summary

    change(next_sync_at=NOON - timedelta(minutes=31))

    assert (
        "a sync of usage source 'Stripe' has been due since 2026-03-20 11:29 UTC, so its newest usage may be missing"
        in ask(acme).summary
    )


def test_days_before_the_last_success_have_their_usage(
    acme: Account, pull_connection: CostConnection
) -> None:
    fail(last_success_at=NOON + timedelta(days=30))

    assert "syncs of" not in ask(acme).summary


def test_a_paused_pull_is_not_named(acme: Account, pull_connection: CostConnection) -> None:
    fail(paused_at=NOON)

    assert "syncs of" not in ask(acme).summary


def test_many_sources_are_counted_by_the_query_that_reads_sources_of_cost(
    acme: Account, pull_connection: CostConnection, django_assert_max_num_queries: DjangoAssertNumQueries
) -> None:
    for number in range(4):
        source = UsageSource.objects.create(account=acme, name=f"More {number}", kind=UsageSource.Kind.PULL)
        CostConnection.objects.create(account=acme, usage_source=source, connector="stripe")
    fail()
    load_sources(acme)  # reads the manifest once

    with django_assert_max_num_queries(1):
        load_sources(acme)

    assert "; 3 more usage sources have problems (getDataHealth)" in ask(acme).summary


def test_usage_alone_says_the_same_in_its_first_sentence(
    cast: Cast, acme: Account, pull_connection: CostConnection
) -> None:
    mcp_client, arguments = (
        McpClient(mint(cast)),
        {"usage_metric": "requests", "start_date": "2026-03-01", "end_date": "2026-03-31"},
    )
    with clock.frozen(NOON):
        assert "Stripe" not in mcp_client.ask("queryUsage", **arguments)["summary"]
        fail(last_success_at=NOON - timedelta(days=12))
        answer = mcp_client.ask("queryUsage", **arguments)
        before = mcp_client.ask("queryUsage", **{**arguments, "end_date": "2026-03-07"})

    assert FAILING in answer["summary"].partition(". ")[0]
    assert answer["warnings"][0] == f"S{FAILING[1:]}."
    assert "Stripe" not in before["summary"], "the source had its usage of these days"


def test_an_account_whose_only_usage_is_pulled_and_does_not_come_says_so(cast: Cast, acme: Account) -> None:
    source = UsageSource.objects.create(account=acme, name="Stripe", kind=UsageSource.Kind.PULL)
    CostConnection.objects.create(account=acme, usage_source=source, connector="stripe")
    fail()

    with clock.frozen(NOON):
        answer = McpClient(mint(cast)).ask("queryUsage")

    assert answer["summary"] == f"'Acme' has no usage yet; {FAILING}."


def test_ai_spend_says_it_where_usage_is_estimated(acme: Account, pull_connection: CostConnection) -> None:
    UsageMetric.objects.create(account=acme, name="ai_tokens")
    fail()

    with clock.frozen(NOON):
        answer = review_ai_spend(acme, AiSpendQuery())

    assert FAILING in answer.summary
    assert answer.warnings[0] == f"S{FAILING[1:]}."


def test_a_simulation_says_it_where_usage_grows_as_a_metric(
    cast: Cast, acme: Account, pull_connection: CostConnection
) -> None:
    mcp_client, days = McpClient(mint(cast)), {"start_date": "2026-03-01", "end_date": "2026-03-31"}
    as_metric, by_percent = [{"usage_metric": "requests", "quantity": 600}], [{"percent": 10}]
    fail(last_success_at=NOON - timedelta(days=12))

    with clock.frozen(NOON):
        answer = mcp_client.ask("simulateCost", **days, growth=as_metric)
        percent = mcp_client.ask("simulateCost", **days, growth=by_percent)

    first = answer["summary"].partition(". ")[0]
    assert "'requests' has events on 1 of 31 days" in first
    assert FAILING in first
    assert f"S{FAILING[1:]}." in answer["warnings"]
    assert "requests" not in percent["summary"]
    assert "Stripe" not in percent["summary"]


def test_cost_alone_says_nothing_of_usage(cast: Cast, acme: Account, pull_connection: CostConnection) -> None:
    fail()
    mcp_client = McpClient(mint(cast))

    assert "Stripe" not in mcp_client.ask("querySpend", period="month_to_date")["summary"]
    arguments = {"usage_metric": "requests", "start_date": "2026-03-01", "end_date": "2026-03-31"}
    assert "syncs of usage source 'Stripe'" in mcp_client.ask("queryUnitCost", **arguments)["summary"]
