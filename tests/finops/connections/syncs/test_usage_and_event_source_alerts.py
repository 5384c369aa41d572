"""Alerts about sources of usage and change events that are late or failing: as those of cost, once an episode and once at its end."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import pytest
from pytest_django import Settings

from accounts.scoping import account_scope
from finops.alerts.models import AlertDelivery
from finops.alerts.services.evaluation_runs import due_accounts, evaluate_if_due
from finops.change_events.models import EventSource
from finops.connections import services
from finops.connections.models import CostConnection, CostSync
from finops.lib import clock
from ingestion.models import UsageBatch, UsageSource
from tests.cast import Cast
from tests.factories.alerts import create_channel, evaluate, subscribe
from tests.factories.days import NOON
from tests.finops.connections.syncs.sync_steps import sync_now

pytestmark = pytest.mark.django_db


@pytest.fixture
def cast_with_subscription(cast: Cast) -> Iterator[Cast]:
    with clock.frozen(NOON), account_scope(cast.account):
        create_channel(cast.account)
        subscribe(cast.account, "source")
        yield cast


def event_connection(cast: Cast, folder: Path, settings: Settings) -> CostConnection:
    folder.mkdir()
    (folder / "2026-03.jsonl").write_text(
        '{"event_id": "d-1", "occurred_at": "2026-03-10T10:00:00Z", "kind": "deployment", "title": "checkout v1"}\n'
    )
    settings.CONNECTION_FOLDERS = [str(folder.parent)]
    return services.create_connection(
        account=cast.account,
        actor=cast.actor,
        name="Deployments",
        connector="folder_events",
        values={"folder": str(folder)},
    )


def receive(source: UsageSource, *days_ago: int) -> None:
    for days in days_ago:
        at = clock.now() - timedelta(days=days)
        UsageBatch.objects.create(
            account=source.account, source=source, received_at=at, accepted=3, rejected=0
        )


def test_an_event_source_that_fails_twice_is_alerted_once_and_its_end_once(
    cast_with_subscription: Cast, tmp_path: Path, settings: Settings
) -> None:
    folder = tmp_path / "events"
    connection = event_connection(cast_with_subscription, folder, settings)
    assert sync_now(connection).status == "done"
    assert evaluate_if_due(cast_with_subscription.account)
    folder.rename(tmp_path / "gone")
    for _ in range(2):
        assert sync_now(connection).status == "failed"

    assert due_accounts() == [cast_with_subscription.account.pk]
    assert evaluate(cast_with_subscription.account) == ["source 'Deployments' is failing"]
    assert evaluate(cast_with_subscription.account) == []
    message = AlertDelivery.objects.latest("pk").message
    assert "does not exist on this server" in message["summary"]
    assert message["url"].endswith(f"/a/acme/connections/events/{connection.target_id}/")
    (tmp_path / "gone").rename(folder)
    sync_now(connection)
    assert evaluate(cast_with_subscription.account) == ["source 'Deployments' recovered"]
    assert AlertDelivery.objects.latest("pk").message["summary"] == "Syncs succeed again."


def test_an_event_source_whose_sync_does_not_begin_is_late(
    cast_with_subscription: Cast, tmp_path: Path, settings: Settings
) -> None:
    connection = event_connection(cast_with_subscription, tmp_path / "events", settings)
    sync_now(connection)
    with clock.frozen(NOON + timedelta(hours=6)):
        assert evaluate(cast_with_subscription.account) == []
    with clock.frozen(NOON + timedelta(hours=9)):
        assert evaluate(cast_with_subscription.account) == ["source 'Deployments' is late"]
        assert "A sync was due" in AlertDelivery.objects.latest("pk").message["summary"]
        assert evaluate(cast_with_subscription.account) == []
        sync_now(connection)
        assert evaluate(cast_with_subscription.account) == ["source 'Deployments' recovered"]


def test_an_event_source_that_is_pushed_to_is_never_late(cast_with_subscription: Cast) -> None:
    EventSource.objects.create(account=cast_with_subscription.account, name="CI")

    with clock.frozen(NOON + timedelta(days=30)):
        assert evaluate(cast_with_subscription.account) == []


def create_pull(cast: Cast, **more: object) -> CostConnection:
    source = UsageSource.objects.create(account=cast.account, name="Stripe", kind=UsageSource.Kind.PULL)
    return CostConnection.objects.create(
        account=cast.account, usage_source=source, connector="stripe", next_sync_at=clock.now(), **more
    )


def test_pulled_usage_that_fails_twice_is_alerted_once_and_its_end_once(cast_with_subscription: Cast) -> None:
    connection = create_pull(cast_with_subscription, failures=1, failing_since=NOON - timedelta(hours=2))
    assert evaluate(cast_with_subscription.account) == []
    CostConnection.objects.update(failures=2)
    CostSync.objects.create(
        account=cast_with_subscription.account,
        connection=connection,
        status="failed",
        error="The key is wrong.",
        finished_at=NOON,
    )

    assert evaluate(cast_with_subscription.account) == ["source 'Stripe' is failing"]
    message = AlertDelivery.objects.latest("pk").message
    assert "The key is wrong." in message["summary"]
    assert message["url"].endswith(f"/a/acme/connections/usage/{connection.target_id}/")
    CostConnection.objects.update(failures=0, failing_since=None)
    assert evaluate(cast_with_subscription.account) == ["source 'Stripe' recovered"]


def test_pulled_usage_that_brings_nothing_new_is_late_and_recovers(cast_with_subscription: Cast) -> None:
    connection = create_pull(cast_with_subscription)
    source = connection.usage_source
    assert source is not None
    receive(source, 7, 6, 5, 4, 3)

    assert evaluate(cast_with_subscription.account) == ["source 'Stripe' is late"]
    assert "New data was expected by" in AlertDelivery.objects.latest("pk").message["summary"]
    assert evaluate(cast_with_subscription.account) == []
    receive(source, 0)
    assert evaluate(cast_with_subscription.account) == ["source 'Stripe' recovered"]


def test_a_paused_pull_is_neither_late_nor_recovered(cast_with_subscription: Cast) -> None:
    connection = create_pull(cast_with_subscription, paused_at=NOON)
    assert connection.usage_source is not None
    receive(connection.usage_source, 7, 6, 5, 4, 3)

    assert evaluate(cast_with_subscription.account) == []


def test_usage_that_is_pushed_to_is_late_by_the_rule_of_data_health(cast_with_subscription: Cast) -> None:
    source = UsageSource.objects.create(account=cast_with_subscription.account, name="Backend")
    receive(source, 7, 6, 5, 4, 3)

    assert evaluate(cast_with_subscription.account) == ["source 'Backend' is late"]


def test_usage_that_rests_at_weekends_is_not_late_on_sunday(cast_with_subscription: Cast) -> None:
    """The 20th of March is a Friday; two weeks of workdays before it."""
    source = UsageSource.objects.create(account=cast_with_subscription.account, name="Backend")
    receive(source, 11, 10, 9, 8, 7, 4, 3, 2, 1, 0)

    with clock.frozen(NOON + timedelta(days=2, hours=10)):
        assert evaluate(cast_with_subscription.account) == []
    with clock.frozen(NOON + timedelta(days=5)):
        assert evaluate(cast_with_subscription.account) == ["source 'Backend' is late"]


def test_sources_of_three_kinds_with_one_number_are_distinguished(cast_with_subscription: Cast) -> None:
    """Ids of usage and event sources may be equal: each has an episode and an end of its own."""
    events = EventSource.objects.create(
        account=cast_with_subscription.account, pk=999_001, name="GitHub", kind="pull"
    )
    usage = UsageSource.objects.create(
        account=cast_with_subscription.account, pk=999_001, name="Stripe", kind="pull"
    )
    failing = {"failures": 2, "failing_since": NOON - timedelta(hours=2)}
    for filled in ({"event_source": events}, {"usage_source": usage}):
        CostConnection.objects.create(
            account=cast_with_subscription.account, connector="github", **filled, **failing
        )
    assert sorted(evaluate(cast_with_subscription.account)) == [
        "source 'GitHub' is failing",
        "source 'Stripe' is failing",
    ]

    CostConnection.objects.filter(event_source=events).update(failures=0, failing_since=None)

    assert evaluate(cast_with_subscription.account) == ["source 'GitHub' recovered"]
