"""kill -9 of the process that stores pulled change events: the next attempt continues, loses nothing, and counts
nothing twice."""

from __future__ import annotations

from datetime import timedelta

import pytest
from pytest_django import Settings

from accounts.scoping import account_scope
from finops.connections import services
from finops.connections.models import CostSync
from finops.lib import clock
from tests.cast import Cast
from tests.finops.connections.change_events.code_hosts import GitHubHost, connect, metered_count, titles
from tests.finops.connections.replay_server import ReplayServer
from tests.finops.connections.usage.killed_worker import run_killed_worker

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.slow]


@pytest.mark.parametrize(("checks", "stored"), [(0, 0), (1, 0), (3, 3)])
def test_a_sync_that_is_killed_while_it_stores_a_month_resumes_and_stores_nothing_twice(
    cast: Cast, replay: ReplayServer, settings: Settings, checks: int, stored: int
) -> None:
    """A month asks twice whether the sync goes on: before its events are written, and before they are committed."""
    first = clock.now().replace(day=1, hour=0, minute=0, second=0, microsecond=0)
    host = GitHubHost(replay, prefix="/api/v3")
    for number in range(2):
        host.add_release(10 + number, first - timedelta(days=3 - number))
    for number in range(3):
        host.add_release(20 + number, first + timedelta(seconds=number))
    connect(cast, url=replay.url)
    sync = CostSync.objects.unscoped().get()
    run_killed_worker(sync.pk, checks)
    assert (len(titles(cast)), metered_count(cast)) == (stored, stored)

    with account_scope(cast.account):
        assert services.run_sync(sync.pk)

    sync.refresh_from_db()
    assert (sync.status, sync.error, sync.attempts) == ("done", "", 2)
    assert titles(cast) == [f"checkout Version {number}" for number in (10, 11, 20, 21, 22)]
    assert metered_count(cast) == 5
