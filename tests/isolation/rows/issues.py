"""Rows of issues."""

from __future__ import annotations

import secrets

from accounts.models import Account
from accounts.scoping import account_scope
from finops.issues.models import IssueTracker, SavingIssue
from finops.issues.tracker_configs import seal_secret
from tests.isolation.rows.insights import savings_dismissal


def issue_tracker(account: Account) -> int:
    with account_scope(account):
        tracker = IssueTracker(account=account, name=f"walk {secrets.token_hex(4)}", kind="linear")
        tracker.config, tracker.credentials = {"team_key": "ENG"}, seal_secret(tracker, "walk")
        tracker.save()
        return tracker.pk


def saving_issue(account: Account) -> int:
    with account_scope(account):
        return SavingIssue.objects.create(
            tracker_id=issue_tracker(account),
            saving_key=savings_dismissal(account),
            state="failed",
            next_attempt_at=None,
            content={"title": "walk"},
            saving={},
        ).pk
