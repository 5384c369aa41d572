"""Alerts about sources that are late or failing: once an episode, and once at its end."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path
from typing import Any

import msgspec
import pytest

from finops.alerts.channel_targets import PagerDutyTarget
from finops.alerts.messages import Message
from finops.alerts.models import AlertDelivery
from finops.alerts.senders import pagerduty
from finops.alerts.senders.outcome import Envelope
from finops.alerts.services.evaluation_runs import due_accounts, evaluate_if_due
from finops.connections import services
from finops.connections.models import CostConnection
from finops.costs.models import CostImport
from finops.lib import clock
from tests.cast import Cast, signed_in
from tests.factories.alerts import create_channel, evaluate, subscribe
from tests.finops.connections.syncs.sync_steps import sync_now, write_month
from tests.pages import get_page, text_of

pytestmark = pytest.mark.django_db

FAILS = "source 'Bills' is failing"
AGAIN = "source 'Bills' recovered"
LATE = "source 'Bills' is late"


def fail(connection: CostConnection, export: Path, times: int = 2) -> None:
    export.rename(export.with_name("gone"))
    for _ in range(times):
        assert sync_now(connection).status == "failed"
    export.with_name("gone").rename(export)


def deliver(connection: CostConnection, export: Path, *days_ago: int) -> None:
    """Imports that ended so many days ago, the last one given the newest."""
    for days in days_ago:
        write_month(export, "2026-05", *["1"] * (days + 1))
        sync_now(connection)
        newest = CostImport.objects.latest("pk").pk
        CostImport.objects.filter(pk=newest).update(finished_at=clock.now() - timedelta(days=days))


@pytest.fixture
def source_subscription(cast: Cast, connection: CostConnection) -> CostConnection:
    create_channel(cast.account)
    subscribe(cast.account, "source")
    return connection


def test_a_source_that_fails_twice_is_alerted_once_and_its_end_once(
    cast: Cast, source_subscription: CostConnection, export: Path
) -> None:
    fail(source_subscription, export, times=1)
    assert evaluate(cast.account) == []
    fail(source_subscription, export, times=1)
    assert evaluate(cast.account) == [FAILS]
    fail(source_subscription, export, times=1)
    assert evaluate(cast.account) == []
    sync_now(source_subscription)
    assert evaluate(cast.account) == [AGAIN]
    assert evaluate(cast.account) == []
    fail(source_subscription, export)
    assert evaluate(cast.account) == [FAILS], "another episode"


def test_the_message_says_why_and_what_to_do(
    cast: Cast, source_subscription: CostConnection, export: Path
) -> None:
    fail(source_subscription, export)
    evaluate(cast.account)
    message = AlertDelivery.objects.latest("pk").message
    assert "cannot be listed (No such file or directory). Allow reading it." in message["summary"]
    assert message["url"].endswith(f"/a/acme/connections/{source_subscription.source_id}/")
    assert message["data"]["state"] == "failing"


def test_a_failure_makes_its_account_due(
    cast: Cast, source_subscription: CostConnection, export: Path
) -> None:
    assert evaluate_if_due(cast.account)
    assert due_accounts() == []
    fail(source_subscription, export)
    assert due_accounts() == [cast.account.pk]


def test_a_late_delivery_is_alerted_once_and_the_next_one_ends_it(
    cast: Cast, source_subscription: CostConnection, export: Path
) -> None:
    deliver(source_subscription, export, 6, 5, 4, 3)
    assert evaluate(cast.account) == [LATE]
    assert evaluate(cast.account) == []
    deliver(source_subscription, export, 0)
    assert evaluate(cast.account) == [AGAIN]


def test_a_delivery_that_was_due_long_ago_is_no_news(
    cast: Cast, source_subscription: CostConnection, export: Path
) -> None:
    deliver(source_subscription, export, 43, 42, 41, 40)
    assert evaluate(cast.account) == []


def test_a_late_source_that_fails_then_does_not_deliver_again(
    cast: Cast, source_subscription: CostConnection, export: Path
) -> None:
    deliver(source_subscription, export, 6, 5, 4, 3)
    assert evaluate(cast.account) == [LATE]
    fail(source_subscription, export)
    assert evaluate(cast.account) == [FAILS]
    deliver(source_subscription, export, 0)
    assert evaluate(cast.account) == [AGAIN]


def test_a_paused_source_neither_fails_nor_ends(
    cast: Cast, source_subscription: CostConnection, export: Path
) -> None:
    fail(source_subscription, export)
    assert evaluate(cast.account) == [FAILS]
    services.pause_connection(connection=source_subscription, actor=cast.actor)
    assert evaluate(cast.account) == []


def test_pagerduty_closes_its_incident(cast: Cast, source_subscription: CostConnection, export: Path) -> None:
    fail(source_subscription, export)
    evaluate(cast.account)
    sync_now(source_subscription)
    evaluate(cast.account)
    begin, end = (pagerduty_event(row) for row in AlertDelivery.objects.order_by("pk"))
    assert (begin["event_action"], end["event_action"]) == ("trigger", "resolve")
    assert begin["dedup_key"] == end["dedup_key"]


def pagerduty_event(row: AlertDelivery) -> dict[str, Any]:
    envelope = Envelope(
        message=msgspec.convert(row.message, Message),
        delivery_id=row.pk,
        account_slug="acme",
        account_name="Acme",
        created_at=row.created_at,
    )
    return pagerduty.payload(PagerDutyTarget(routing_key="k" * 32), envelope)


def test_a_source_alert_is_created_on_the_page(cast: Cast, connection: CostConnection) -> None:
    create_channel(cast.account)
    row = subscribe(cast.account, "source")
    client = signed_in(cast.member)
    form = client.get("/a/acme/alerts/subscriptions/new/?trigger=source")
    assert "Sources that are late or failing" in text_of(form)
    assert (
        "Sources with two failed syncs in a row or late data. One alert, and one when it recovers."
    ) in text_of(form)
    page = get_page(client, f"/a/acme/alerts/subscriptions/{row.pk}/")
    assert "Sources with failing syncs or late data" in page
