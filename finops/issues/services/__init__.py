"""Writes on issue trackers and on the issues of savings."""

from __future__ import annotations

from finops.issues.services.polls import due_trackers, poll_tracker, request_poll
from finops.issues.services.saving_issues import (
    create_due,
    create_remote_issue,
    create_saving_issue,
    retry_saving_issue,
    unlink_saving_issue,
)
from finops.issues.services.trackers import (
    change_tracker,
    create_tracker,
    delete_tracker,
    reseal_credentials,
    test_tracker,
)

__all__ = [
    "change_tracker",
    "create_due",
    "create_remote_issue",
    "create_saving_issue",
    "create_tracker",
    "delete_tracker",
    "due_trackers",
    "poll_tracker",
    "request_poll",
    "reseal_credentials",
    "retry_saving_issue",
    "test_tracker",
    "unlink_saving_issue",
]
