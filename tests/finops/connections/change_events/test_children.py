"""Looks and fetches of change events in processes of their own: their cached pages come back from there."""

from __future__ import annotations

from datetime import date
from typing import Any

import pytest
from django.conf import settings

from accounts.scoping import account_scope
from finops.connections import services
from finops.connections.connector import BillMonth, Fetch
from finops.connections.connectors import connectors
from finops.connections.connectors.github import GitHub, GitHubEventsConfig
from finops.connections.models import CostSync
from finops.costs.focus.normalise import FocusFile
from finops.lib import clock
from tests.cast import ACTOR, Cast
from tests.finops.connections.change_events.code_hosts import GitHubHost, connect, titles
from tests.finops.connections.replay_server import ReplayServer

pytestmark = pytest.mark.django_db(transaction=True)


class LoopbackGitHub(GitHub):
    """May ask this machine, in whichever process."""

    def month(self, config: GitHubEventsConfig, month: date) -> BillMonth | None:
        settings.ALERT_ALLOWED_NETWORKS = ["127.0.0.0/8"]
        return super().month(config, month)

    def months(self, config: GitHubEventsConfig) -> list[BillMonth]:
        settings.ALERT_ALLOWED_NETWORKS = ["127.0.0.0/8"]
        return super().months(config)

    def fetch(self, config: GitHubEventsConfig, month: BillMonth, fetch: Fetch) -> list[FocusFile]:
        settings.ALERT_ALLOWED_NETWORKS = ["127.0.0.0/8"]
        return super().fetch(config, month, fetch)


def test_pages_come_back_from_the_process_that_read_them(
    cast: Cast, replay: ReplayServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(connectors(), "github", LoopbackGitHub())
    host = GitHubHost(replay, prefix="/api/v3")
    host.add_release(2, clock.now().replace(day=1))
    connection = connect(cast, url=replay.url)
    with account_scope(cast.account):
        first: Any = CostSync.objects.get()
        assert services.run_sync(first.pk, in_child=True)
        charged = len(host.charged)
        again = services.queue_sync(connection=connection, actor=ACTOR)
        assert services.run_sync(again.pk, in_child=True)
        first.refresh_from_db()
        again.refresh_from_db()

    assert (first.status, again.status) == ("done", "done"), first.error + again.error
    assert titles(cast) == ["checkout Version 2"]
    # A request a list; the fetch of each month asked again by ETag.
    assert charged == len(host.charged) == 3
    assert len(host.replay.requests) > 6
