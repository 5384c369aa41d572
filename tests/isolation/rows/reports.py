"""Rows of reports."""

from __future__ import annotations

from accounts.models import Account
from accounts.scoping import account_scope
from finops.reports.models import ReportSchedule
from tests.isolation.rows.alerts import alert_channel


def report_schedule(account: Account) -> int:
    with account_scope(account):
        return ReportSchedule.objects.create(account=account, channel_id=alert_channel(account), day=5).pk
