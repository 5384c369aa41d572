from __future__ import annotations

from collections.abc import Iterator

import pytest
from pytest_django import Settings

from accounts.models import Account
from accounts.scoping import account_scope
from finops.celery import app
from finops.costs.models import CostSource
from finops.insights.savings.queries import list_savings
from finops.insights.savings.schemas import SavingsQuery
from finops.issues.models import IssueTracker
from finops.lib import clock
from tests.cast import Cast
from tests.factories.costs import add_source
from tests.finops.insights.savings.bills import NOON, volume
from tests.finops.issues.fake_trackers import FakeTracker, fake_tracker
from tests.finops.issues.steps import add_tracker


@pytest.fixture
def acme(cast: Cast, monkeypatch: pytest.MonkeyPatch) -> Iterator[Account]:
    """Acme in scope, at noon of 1 March 2026; workers are told nothing."""
    monkeypatch.setattr(app, "send_task", lambda *_args, **_rest: None)
    with account_scope(cast.account), clock.frozen(NOON):
        yield cast.account


@pytest.fixture
def source(acme: Account) -> CostSource:
    """Ten USD a day of gp2: 60 of 300 USD a month to save."""
    return add_source(acme, volume("10", account_name="lab"))


@pytest.fixture
def saving_key(acme: Account, source: CostSource) -> str:
    (row,) = list_savings(acme, SavingsQuery()).recommendations
    return row.id


@pytest.fixture(params=["github", "jira", "linear"])
def fake(request: pytest.FixtureRequest, settings: Settings) -> Iterator[FakeTracker]:
    """Each of the three trackers."""
    settings.ALERT_ALLOWED_NETWORKS = ["127.0.0.0/8"]
    with fake_tracker(request.param) as served:
        settings.CONNECTOR_BASE_URLS = {"linear": served.url}
        yield served


@pytest.fixture
def tracker(acme: Account, fake: FakeTracker) -> IssueTracker:
    return add_tracker(acme, fake)
