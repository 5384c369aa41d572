"""A separate account whose cost has one spike, for the pages of anomalies."""

from __future__ import annotations

from datetime import timedelta

from accounts.models import User
from accounts.scoping import account_scope
from accounts.services import create_account
from finops.lib import clock
from tests.cast import PASSWORD
from tests.factories.costs import add_source
from tests.finops.insights.anomalies.bills import bill, run_detection, with_extra

DAYS = 240


def spiky() -> str:
    """Create spiky@example.com, the owner of Spiky, inside the server's process. Return the key of the account's only
    anomaly."""
    owner = User.objects.create_user("spiky@example.com", PASSWORD, name="Spiky")
    account = create_account(name="Spiky", owner=owner, slug="spiky")
    last = clock.today() - timedelta(days=1)
    day = last - timedelta(days=9)
    amount = with_extra(day, day, "400")
    with account_scope(account):
        add_source(account, bill(amount, first=last - timedelta(days=DAYS), last=last, resource_id="vm-1"))
        (anomaly,) = run_detection(account)
    return anomaly.key
