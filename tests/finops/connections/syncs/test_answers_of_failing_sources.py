"""Answers about cost with sources whose syncs fail or are late: a clause in the first sentence, and the first
warning."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from django.test import Client
from pytest_django import DjangoAssertNumQueries

from accounts.scoping import account_scope
from finops.connections import services
from finops.connections.models import CostConnection
from finops.costs.queries.source_notes import source_notes
from finops.costs.queries.sources import load_sources
from finops.lib import clock
from finops.lib.formats.sentences import reader_text
from tests.cast import Cast
from tests.factories.budgets import create_budget
from tests.factories.costs import add_source, cost
from tests.finops.connections.syncs.sync_steps import month_rows, sync_now, write_month
from tests.finops.connections.syncs.test_sync_health import this_month
from tests.mcpserver.mcp_client import McpClient, mint
from tests.pages import get_page

pytestmark = pytest.mark.django_db

SINCE = datetime(2026, 5, 7, 9, 30, tzinfo=UTC)
FAILING = "syncs of 'Bills' have failed since 2026-05-07 09:30 UTC, so its newest cost may be missing"
EMPTY = "syncs of 'Bills' have failed since 2026-05-07 09:30 UTC, so it has no cost yet"

QUESTIONS: dict[str, dict[str, Any]] = {
    "querySpend": {"period": "month_to_date"},
    "explainSpendChange": {"period": "month_to_date"},
    "getCommitmentUtilization": {"period": "month_to_date"},
    "forecastSpend": {},
    "getInvoiceReconciliation": {},
    "getAccountContext": {},
    "listDimensionValues": {"dimension": "service"},
}


def fail() -> None:
    CostConnection.objects.unscoped().update(failures=2, failing_since=SINCE)


@pytest.mark.parametrize("tool", QUESTIONS)
def test_the_first_sentence_and_the_first_warning_name_a_source_whose_syncs_fail(
    cast: Cast, connection: CostConnection, export: Path, tool: str
) -> None:
    write_month(export, this_month(), "1")
    sync_now(connection)
    mcp_client = McpClient(mint(cast))
    before = mcp_client.ask(tool, **QUESTIONS[tool])
    assert "syncs of" not in before["summary"]
    assert not [each for each in before["warnings"] if "yncs of" in each]

    fail()
    answer = mcp_client.ask(tool, **QUESTIONS[tool])

    assert FAILING in answer["summary"]
    assert answer["warnings"][0] == f"S{FAILING[1:]}."


@pytest.mark.parametrize("tool", ["querySpend", "getAccountContext", "getInvoiceReconciliation"])
def test_syncs_that_fail_before_any_import_are_named_too(
    cast: Cast, connection: CostConnection, tool: str
) -> None:
    fail()
    assert EMPTY in McpClient(mint(cast)).ask(tool, **QUESTIONS[tool])["summary"]


@pytest.mark.parametrize("tool", [*QUESTIONS, "listBudgets", "create_budget"])
def test_a_source_whose_import_failed_in_a_sync_is_named_once(
    cast: Cast, connection: CostConnection, export: Path, tool: str
) -> None:
    write_month(export, this_month(), "1")
    sync_now(connection)
    write_month(export, this_month(), "pending")
    assert sync_now(connection).status == "failed"
    create_budget(cast.account, "Everything", 100)
    arguments = QUESTIONS.get(tool, {})
    if tool == "create_budget":
        arguments = {"name": "Second", "amount": 50, "currency": "USD"}

    answer = McpClient(mint(cast, "read_write")).ask(tool, **arguments)

    (warning,) = [each for each in answer["warnings"] if "'Bills'" in each]
    assert warning.startswith("Syncs of 'Bills' have failed since ")


def test_a_paused_source_whose_last_import_failed_is_named_by_it(
    cast: Cast, connection: CostConnection, export: Path
) -> None:
    write_month(export, this_month(), "1")
    sync_now(connection)
    write_month(export, this_month(), "pending")
    sync_now(connection)
    services.pause_connection(connection=connection, actor=cast.actor)

    answer = McpClient(mint(cast)).ask("querySpend", period="month_to_date")

    (warning,) = [each for each in answer["warnings"] if "'Bills'" in each]
    assert "is failing: The newest import" in warning


def test_a_page_shows_it_as_a_warning(connection: CostConnection, export: Path, member: Client) -> None:
    write_month(export, this_month(), "1")
    sync_now(connection)
    fail()
    assert reader_text(f"S{FAILING[1:]}.") in get_page(member, "/a/acme/cost-explorer/")


def test_a_sync_that_no_worker_does_is_named_after_half_an_hour(
    cast: Cast, connection: CostConnection, export: Path
) -> None:
    write_month(export, this_month(), "1")
    sync_now(connection)
    due = clock.now() - timedelta(minutes=29)
    CostConnection.objects.update(next_sync_at=due)
    assert source_notes(cast.account, load_sources(cast.account)).warnings == ()

    due = clock.now() - timedelta(minutes=31)
    CostConnection.objects.update(next_sync_at=due)

    (warning,) = source_notes(cast.account, load_sources(cast.account)).warnings
    expected = (
        f"A sync of 'Bills' has been due since {due:%Y-%m-%d %H:%M} UTC, so its newest cost may be missing."
    )
    assert warning == expected


def test_a_sync_that_runs_is_not_late_and_a_paused_source_neither_fails(
    cast: Cast, connection: CostConnection
) -> None:
    late = clock.now() - timedelta(hours=5)
    CostConnection.objects.update(next_sync_at=late)
    connection.syncs.update(status="running", heartbeat_at=clock.now())
    assert source_notes(cast.account, load_sources(cast.account)).warnings == ()
    connection.syncs.update(heartbeat_at=late)
    assert len(source_notes(cast.account, load_sources(cast.account)).warnings) == 1
    CostConnection.objects.update(paused_at=clock.now(), failures=1, failing_since=SINCE)
    assert source_notes(cast.account, load_sources(cast.account)).warnings == ()


def test_only_sources_whose_cost_the_filters_choose_are_named(
    cast: Cast, connection: CostConnection, export: Path
) -> None:
    month = this_month()
    (export / month).mkdir()
    (export / month / "a.csv").write_bytes(month_rows(month, "1", ServiceName="Synced"))
    sync_now(connection)
    add_source(cast.account, [cost(clock.today(), 2, service="Uploaded")], name="Files")
    fail()
    mcp_client = McpClient(mint(cast))

    def names_it(dimension: str, *values: str, op: str = "in") -> bool:
        filters = [{"dimension": dimension, "op": op, "values": list(values)}]
        return (
            "syncs of 'Bills'"
            in mcp_client.ask("querySpend", period="month_to_date", filters=filters)["summary"]
        )

    assert names_it("service", "Synced")
    assert not names_it("service", "Uploaded")
    assert names_it("source", "Bills")
    assert not names_it("source", "Files")
    assert not names_it("source", "Bills", op="not_in")


def test_a_source_without_cost_is_named_unless_a_filter_by_source_leaves_it_out(
    cast: Cast, connection: CostConnection
) -> None:
    add_source(cast.account, [cost(clock.today(), 2, service="Uploaded")], name="Files")
    fail()
    mcp_client = McpClient(mint(cast))

    def summary(dimension: str, value: str) -> str:
        filters = [{"dimension": dimension, "op": "in", "values": [value]}]
        return str(mcp_client.ask("querySpend", period="month_to_date", filters=filters)["summary"])

    assert EMPTY in summary("service", "Uploaded")
    assert EMPTY not in summary("source", "Files")


def test_another_account_gets_no_alert(cast: Cast, connection: CostConnection) -> None:
    fail()
    with account_scope(cast.other_account):
        assert source_notes(cast.other_account, load_sources(cast.other_account)).warnings == ()


def test_many_sources_are_counted_by_the_query_that_reads_sources(
    cast: Cast, connection: CostConnection, django_assert_max_num_queries: DjangoAssertNumQueries
) -> None:
    for number in range(6):
        services.create_connection(
            account=cast.account,
            actor=cast.actor,
            name=f"More {number}",
            connector=connection.connector,
            values={"folder": connection.config["folder"]},
        )
    fail()
    load_sources(cast.account)  # reads the manifest once

    with django_assert_max_num_queries(1):
        notes = source_notes(cast.account, load_sources(cast.account))

    assert len(notes.warnings) == 6
    assert notes.warnings[-1] == "2 more sources have problems. See Data health."
    assert notes.clause.endswith("; 5 more sources have problems (getDataHealth)")
