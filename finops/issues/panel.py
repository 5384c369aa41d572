"""The card of a saving's page: its issues, and the trackers that it can be sent to."""

from __future__ import annotations

from typing import Any

from accounts.models import Account
from finops.insights.savings.text import ACTED, OPEN
from finops.issues.models import IssueTracker, SavingIssue
from finops.issues.queries import issues_of_saving


def panel_context(account: Account, saving_key: str, status: str) -> dict[str, Any]:
    """Return the card's context. Two queries."""
    issues = issues_of_saving(account, saving_key, is_acted=status == ACTED)
    trackers = list(IssueTracker.objects.filter(account=account).order_by("name"))
    used_trackers = {issue.tracker_id for issue in issues}
    return {
        "saving_key": saving_key,
        "issues": issues,
        "trackers": [tracker for tracker in trackers if tracker.pk not in used_trackers]
        if status == OPEN
        else [],
        "has_trackers": bool(trackers),
        "is_open": status == OPEN,
        "is_waiting": any(issue.state == SavingIssue.IssueState.CREATING for issue in issues),
    }
