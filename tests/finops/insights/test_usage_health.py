"""Usage that waits too long is reported in data health."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from django.test import Client
from pytest_django import Settings

from accounts.scoping import account_scope
from finops import health
from finops.insights.data_health import data_health
from finops.lake.usage.flush_scheduler import flush_if_due
from finops.lib import clock
from tests.cast import Cast
from tests.finops.lake.events import Event, push

pytestmark = pytest.mark.django_db


def test_data_health_says_since_when_and_why_usage_is_stuck(
    cast: Cast, settings: Settings, tmp_path: Path
) -> None:
    noon = datetime(2026, 3, 20, 12, tzinfo=UTC)
    (tmp_path / "lake").write_text("a file where the lake's folder should be")
    settings.LAKE_URL = str(tmp_path / "lake")
    with clock.frozen(noon):
        push(cast.account, [Event()])
    with clock.frozen(noon + timedelta(minutes=15)):
        flush_if_due(cast.account)
    with clock.frozen(noon + timedelta(hours=3)), account_scope(cast.account):
        health = data_health(cast.account)
    assert health.summary.endswith("Usage ingestion is delayed.")
    reason = (
        "Usage events are accepted and counted, but have not been written to the lake since "
        "2026-03-20 12:15 UTC: Not a directory. No event is lost; the server retries. If this "
        "persists, contact the operator of this server."
    )
    assert health.warnings == [reason]
    with account_scope(cast.other_account):
        assert data_health(cast.other_account).warnings == []


def test_readyz_says_that_usage_is_behind_and_stays_ready(cast: Cast, client: Client) -> None:
    health._usage_is_behind.cache_clear()
    with clock.frozen(datetime.now(UTC) - timedelta(minutes=61)):
        push(cast.account, [Event()])
    answer = client.get("/readyz")
    assert (answer.status_code, answer.json()["ready"], answer.json()["behind"]) == (200, True, ["usage"])
    flush_if_due(cast.account)
    health._usage_is_behind.cache_clear()
    assert "behind" not in client.get("/readyz").json()
