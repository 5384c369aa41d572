"""kill -9 of the process that stores pulled usage: the next attempt continues, and nothing counts twice."""

from __future__ import annotations

from decimal import Decimal

import pytest
from pytest_django import Settings

from accounts.scoping import account_scope
from finops.connections import services
from finops.connections.models import CostSync
from ingestion.models import UsageDay
from tests.cast import Cast
from tests.finops.connections.databases.test_postgresql import ShopDatabase, shop_database
from tests.finops.connections.usage.killed_worker import run_killed_worker
from tests.finops.connections.usage.test_usage_postgresql import connect, metered_count, used_quantity

pytestmark = pytest.mark.slow

__all__ = ["shop_database"]


@pytest.mark.parametrize("checks", [2, 7])
def test_a_sync_that_is_killed_while_it_stores_a_day_resumes_and_stores_nothing_twice(
    cast: Cast, shop_database: ShopDatabase, settings: Settings, checks: int
) -> None:
    connect(cast, shop_database)
    sync = CostSync.objects.unscoped().get()
    run_killed_worker(sync.pk, checks)
    with account_scope(cast.account):
        assert UsageDay.objects.count() == checks // 3

    assert services.run_sync(sync.pk)

    sync.refresh_from_db()
    assert (sync.status, sync.error, sync.attempts) == ("done", "", 2)
    assert used_quantity(cast) == Decimal("12.000000000001")
    assert metered_count(cast) == 3
    with account_scope(cast.account):
        assert UsageDay.objects.count() == 3
