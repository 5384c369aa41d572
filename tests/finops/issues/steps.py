"""Steps of tests with trackers and issues. They use the services, as pages and tasks do."""

from __future__ import annotations

from datetime import datetime

from accounts.models import Account
from finops.issues import services
from finops.issues.models import IssueTracker, SavingIssue
from finops.lib import clock
from tests.cast import ACTOR
from tests.finops.issues.fake_trackers import SECRET, FakeTracker


def add_tracker(account: Account, fake: FakeTracker, name: str = "Work") -> IssueTracker:
    return services.create_tracker(
        account=account, actor=ACTOR, name=name, kind=fake.kind, config=fake.config(), secret=SECRET
    )


def hand_over(account: Account, tracker: IssueTracker, saving_key: str) -> SavingIssue:
    return services.create_saving_issue(account=account, actor=ACTOR, tracker=tracker, saving_key=saving_key)[
        0
    ]


def run_creations(*, at: datetime | None = None) -> int:
    """What beat and workers do. How many were tried."""
    with clock.frozen(at or clock.now()):
        return sum(
            services.create_remote_issue(account=Account.objects.get(pk=account_id), issue_id=issue_id)
            for account_id, issue_id in services.create_due()
        )


def run_polls(fake: FakeTracker | None = None, *, at: datetime | None = None) -> int:
    """What beat and workers do, and the tracker's clock with it. How many trackers were looked at."""
    with clock.frozen(at or clock.now()):
        if fake is not None:
            fake.now = clock.now()
        return sum(
            services.poll_tracker(account=Account.objects.get(pk=account_id), tracker_id=tracker_id)
            for account_id, tracker_id in services.due_trackers()
        )


def issue_of(account: Account, tracker: IssueTracker, saving_key: str) -> SavingIssue:
    """Handed over and created."""
    row = hand_over(account, tracker, saving_key)
    run_creations()
    return reload(row)


def reload(row: SavingIssue) -> SavingIssue:
    # Unscoped: by its id.
    return SavingIssue.objects.unscoped().select_related("tracker", "account").get(pk=row.pk)
