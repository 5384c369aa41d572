"""Syncs and pushes that fail, in the console of everybody in the account."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

import pytest

from accounts.models import Membership
from finops.connections.models import CostConnection
from finops.lib import clock
from finops.notifications.models import Notification
from tests.cast import Cast, signed_in
from tests.finops.connections.pushes.push_steps import create_cost_client, row
from tests.finops.connections.syncs.sync_steps import sync_now
from tests.finops.connections.syncs.test_source_alerts import fail

pytestmark = pytest.mark.django_db


def test_syncs_that_fail_are_notified_of_once_until_one_succeeds(
    cast: Cast, connection: CostConnection, export: Path
) -> None:
    # Unscoped: the test looks at every account.
    rows = Notification.objects.unscoped()
    fail(connection, export, times=3)
    assert [each.title for each in rows] == ["Sync of Bills failed"]
    assert signed_in(cast.viewer).get(rows.get().path).status_code == 200

    assert sync_now(connection).status == "done"
    with clock.frozen(clock.now() + timedelta(minutes=5)):
        fail(connection, export, times=1)

    assert rows.all().count() == 2, "another episode"


def test_a_push_that_fails_is_notified_of(cast: Cast) -> None:
    Membership.objects.update(created_at=clock.now() - timedelta(days=1))
    cost_client = create_cost_client(cast)

    cost_client.push({"rows": [row("1", BillingPeriodStart="2026-06-01T00:00:00Z")]})

    notification = Notification.objects.unscoped().get()
    assert notification.title.startswith("Push of May 2026 to")
    assert "is not of 2026-05" in notification.text
    assert signed_in(cast.viewer).get(notification.path).status_code == 200
