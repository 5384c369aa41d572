"""Tasks of issues. A lost message does no harm: the database records what is due."""

from __future__ import annotations

from celery import shared_task

from accounts.models import Account
from finops.issues import services
from finops.issues.services.polls import POLL_TASK
from finops.issues.services.saving_issues import CREATE_TASK


@shared_task(name="issues.create_due")
def create_due() -> None:
    """Every 15 seconds: queue a task for each issue to create."""
    for account_id, issue_id in services.create_due():
        create.apply_async([account_id, issue_id], expires=15)


@shared_task(name=CREATE_TASK)
def create(account_id: int, issue_id: int) -> None:
    """Create an issue in its tracker; does nothing for one that is not due, or is being created elsewhere."""
    services.create_remote_issue(account=Account.objects.get(pk=account_id), issue_id=issue_id)


@shared_task(name="issues.poll_due")
def poll_due() -> None:
    """Every minute: queue a task for each tracker whose issues are due to be read."""
    for account_id, tracker_id in services.due_trackers():
        poll.apply_async([account_id, tracker_id], expires=60)


@shared_task(name=POLL_TASK)
def poll(account_id: int, tracker_id: int) -> None:
    """Read the states of a tracker's issues; does nothing for one that is not due."""
    services.poll_tracker(account=Account.objects.get(pk=account_id), tracker_id=tracker_id)


@shared_task(name="issues.sweep")
def sweep() -> None:
    """Daily: reseal tokens under the current key."""
    services.reseal_credentials()
