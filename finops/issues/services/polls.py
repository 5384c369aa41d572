"""Polling of trackers: reads the states of issues and updates their savings.

Closed as not planned: the saving is dismissed, with the issue as the reason. Closed as completed: it still counts, until
neither the bills nor a provider's recommendations show it; then it is marked as acted on, on the day the issue was closed.
Reopened: the effect of closing is undone. A person's mark of the saving is never changed.
"""

from __future__ import annotations

import logging
import random
from collections.abc import Mapping, Sequence
from datetime import timedelta
from typing import Any, Final

from django.db import transaction
from django.db.models import F, Q

from accounts import audit
from accounts.audit import Actor
from accounts.models import Account
from accounts.scoping import account_scope
from finops.issues.models import CLOSED_STATES, IssueTracker, SavingIssue
from finops.issues.services.marks import follow_state, verify_savings
from finops.issues.vendors import RemoteIssue, TrackerChanges, TrackerError, TrackerUnavailable, client_of
from finops.lib import clock
from finops.lib.sealing import Unsealable
from finops.worker.broker import publish

logger = logging.getLogger(__name__)

POLL_TASK: Final = "issues.poll"
INTERVAL: Final = timedelta(minutes=15)
LONGEST_INTERVAL: Final = timedelta(hours=6)
"""The longest interval between polls of a tracker that keeps failing."""
LEASE: Final = timedelta(minutes=20)
"""Longer than any poll: at most 45 requests of GitHub, 50 of the others, of 15 s."""
UNCHECKED: Final = timedelta(days=1)
FOLLOWED: Final = timedelta(days=90)
"""How long a closed issue is still read: it may be reopened."""
VERIFY_INTERVAL: Final = timedelta(hours=6)

State = SavingIssue.IssueState


def due_trackers() -> list[tuple[int, int]]:
    """Account and id of the trackers with an issue that are due for a poll."""
    # Unscoped: a sweep over all accounts.
    due = IssueTracker.objects.unscoped().filter(next_poll_at__lte=clock.now())
    with_issues = due.filter(Q(issues__isnull=False) & ~Q(issues__remote_id="")).distinct()
    return list(with_issues.order_by("next_poll_at").values_list("account_id", "pk")[:500])


def request_poll(*, tracker: IssueTracker) -> None:
    """Make the tracker due now, instead of within a quarter of an hour."""
    with account_scope(tracker.account):
        IssueTracker.objects.filter(pk=tracker.pk).update(next_poll_at=clock.now())
    publish(POLL_TASK, tracker.account_id, tracker.pk, expires=300)


def poll_tracker(*, account: Account, tracker_id: int) -> bool:
    """Read the states of a tracker's issues. Returns False when it is not due. Safe to call twice and at once. Call it
    outside a transaction."""
    with account_scope(account):
        tracker = _claim_tracker(tracker_id)
        if tracker is None:
            return False
        problem, wait, changes = "", 0.0, None
        try:
            changes = _read_changes(tracker)
        except TrackerUnavailable as error:
            problem, wait = error.message, error.retry_after
        except (TrackerError, Unsealable) as error:
            problem = error.message
        if changes is not None:
            _apply_changes(tracker, changes.issues)
            _verify_if_due(account, tracker)
        _record_look(tracker, changes, problem, wait)
    return True


@transaction.atomic
def _claim_tracker(tracker_id: int) -> IssueTracker | None:
    rows = IssueTracker.objects.select_for_update(skip_locked=True, of=("self",)).select_related("account")
    row = rows.filter(pk=tracker_id, next_poll_at__lte=clock.now()).first()
    if row is not None:
        row.next_poll_at = clock.now() + LEASE
        row.save(update_fields=["next_poll_at"])
    return row


def _read_changes(tracker: IssueTracker) -> TrackerChanges:
    now = clock.now()
    old = Q(state__in=CLOSED_STATES, closed_at__lt=now - FOLLOWED)
    rows = SavingIssue.objects.filter(tracker=tracker).exclude(Q(remote_id="") | old)
    ordered = list(
        rows.order_by(F("checked_at").asc(nulls_first=True)).values_list("remote_id", "checked_at")
    )
    unchecked = [remote_id for remote_id, checked in ordered if checked is None or checked < now - UNCHECKED]
    return client_of(tracker).changes([remote_id for remote_id, _ in ordered], unchecked, tracker.cursor)


def _apply_changes(tracker: IssueTracker, issues: Mapping[str, RemoteIssue]) -> None:
    ids: Sequence[int] = list(
        SavingIssue.objects.filter(tracker=tracker, remote_id__in=issues).values_list("pk", flat=True)
    )
    for pk in ids:
        with transaction.atomic():
            rows = SavingIssue.objects.select_for_update(of=("self",)).select_related("tracker", "account")
            row = rows.filter(pk=pk).first()
            if row is not None and row.remote_id in issues:
                _apply(row, issues[row.remote_id])


def _apply(row: SavingIssue, remote: RemoteIssue) -> None:
    before = row.state
    row.state, row.note, row.checked_at = State(remote.state), remote.note, clock.now()
    row.closed_at = remote.closed_at
    row.remote_status = remote.status[:100]
    if remote.state != "missing":
        row.remote_key, row.url = remote.key[:100], remote.url[:500]
    if row.state != before:
        detail = {"issue": row.remote_key, "from": before, "to": str(row.state), "saving": row.saving_key}
        actor = Actor(label=f"{row.tracker.get_kind_display()} issue {row.remote_key}")
        target = str(row.content.get("title", ""))
        audit.record(
            account=row.account, actor=actor, action="saving_issue.state", target=target, detail=detail
        )
        follow_state(row)
    row.save()


def _verify_if_due(account: Account, tracker: IssueTracker) -> None:
    if tracker.verified_at and clock.now() < tracker.verified_at + VERIFY_INTERVAL:
        return
    verify_savings(account, tracker)
    IssueTracker.objects.filter(pk=tracker.pk).update(verified_at=clock.now())


@transaction.atomic
def _record_look(tracker: IssueTracker, changes: TrackerChanges | None, problem: str, wait: float) -> None:
    """Record the poll, unless the tracker was changed meanwhile, which is polled again."""
    unchanged_trackers = IssueTracker.objects.select_for_update(of=("self",)).filter(
        next_poll_at=tracker.next_poll_at
    )
    row = unchanged_trackers.filter(pk=tracker.pk).first()
    if row is None:
        return
    now = clock.now()
    values: dict[str, Any] = {"error": problem, "failures": row.failures + 1, "next_poll_at": now + INTERVAL}
    if changes is not None:
        values |= {"failures": 0, "cursor": dict(changes.cursor), "polled_at": now}
    else:
        usual = min(INTERVAL * 2 ** min(row.failures, 10), LONGEST_INTERVAL)
        # Not cryptography: random jitter.
        spread = usual * random.uniform(1.0, 1.2)  # noqa: S311
        values["next_poll_at"] = now + max(spread, min(timedelta(seconds=wait), timedelta(days=1)))
        logger.info("issues: tracker %s could not be read: %s", tracker.pk, problem)
    IssueTracker.objects.filter(pk=row.pk).update(**values)
