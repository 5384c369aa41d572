"""Rows of reports."""

from __future__ import annotations

from collections.abc import Callable

from accounts.models import Account
from accounts.scoping import account_scope
from finops.reports.models import ReportSchedule
from tests.isolation.rows.alerts import alert_channel


def _report_schedule(account: Account) -> int:
    with account_scope(account):
        return ReportSchedule.objects.create(account=account, channel_id=alert_channel(account), day=5).pk


MAKERS: dict[str, Callable[[Account], object]] = {
    "schedule_id": _report_schedule,
}
