"""How long change events stay, who sets it, and that a sweep deletes an account's by its own retention, once."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.core.exceptions import ValidationError

from accounts.models import Account, AuditEntry
from accounts.scoping import account_scope
from finops.change_events.models import DEFAULT_DAYS, ChangeEvent
from finops.change_events.services import retention
from finops.change_events.services.retention import retention_days, set_change_event_retention
from finops.change_events.tasks import sweep
from finops.lib import clock
from tests.cast import Cast, signed_in

URL = "/a/acme/events/retention/"


def add_events(account: Account, *days_ago: int) -> None:
    with account_scope(account):
        for days in days_ago:
            ChangeEvent.objects.create(
                account=account,
                origin="note",
                kind="note",
                title=f"{days} days ago",
                occurred_at=clock.now() - timedelta(days=days),
            )


def titles(account: Account) -> list[str]:
    with account_scope(account):
        return [event.title for event in ChangeEvent.objects.all()]


def test_each_accounts_events_go_by_its_own_retention(cast: Cast, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(retention, "SWEPT_AT_ONCE", 2)
    set_change_event_retention(account=cast.account, actor=cast.actor, days=400)
    add_events(cast.account, 1, 399, 402, 500, 900, 1_200)
    add_events(cast.other_account, 402, DEFAULT_DAYS - 1, DEFAULT_DAYS + 2)

    sweep()
    sweep()

    assert titles(cast.account) == ["1 days ago", "399 days ago"]
    assert titles(cast.other_account) == ["402 days ago", f"{DEFAULT_DAYS - 1} days ago"]


def test_an_admin_sets_it_and_the_audit_log_has_both(cast: Cast) -> None:
    admin = signed_in(cast.admin)

    assert signed_in(cast.member).post(URL, {"days": "500"}).status_code == 403
    assert admin.post(URL, {"days": "399"}).status_code == 422
    assert admin.post(URL, {"days": "500"}).status_code == 302
    with account_scope(cast.account):
        assert retention_days() == 500
        entry = AuditEntry.objects.get(action="change_event_retention.change")
    assert entry.detail == {"from": {"days": DEFAULT_DAYS}, "to": {"days": 500}}
    assert 'value="500"' in admin.get("/a/acme/events/").content.decode()
    assert "Days to keep" not in signed_in(cast.member).get("/a/acme/events/").content.decode()


@pytest.mark.parametrize("days", [399, 3_651])
def test_the_retention_is_400_to_3650_days(cast: Cast, days: int) -> None:
    with pytest.raises(ValidationError, match="Keep change events for 400 to 3,650 days"):
        set_change_event_retention(account=cast.account, actor=cast.actor, days=days)
